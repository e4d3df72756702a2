"""Finds the PDFs, office documents and texts of the workspace that hold some words, and shows the lines where they stand.

A document is found when it has all the words, anywhere in it or in its name. PDFs are read by `pdftotext`, which the owner
lists; what could not be read is counted and said.
"""

import os
import stat

from metnos_documents import TABLES, TEXTS, Document, rows_of, sheets, text_of
from metnos_files import FILE, Refused, answer, is_secret_content, one_name, open_below, read_whole, split
from metnos_find import ENDINGS as FILE_ENDINGS
from metnos_find import Words
from metnos_programs import text_of_pdf
from metnos_walk import Walk

# How much is looked at in one call.
MOST_SEEN, MOST_DEPTH, MOST_DOCUMENTS = 100_000, 64, 400
# Seconds of a processor, of this process and of the programs it has run, and seconds that are kept to tell what was found.
MOST_CPU, SHARE = 25, 2.0
# What one document may take, in seconds.
MOST_WAIT = 10.0
# How much of a document is shown.
MOST_LINES, MOST_SHOWN = 3, 300
DEFAULT_LIMIT = 20
MOST_PLAIN = 4_000_000
PDF, PLAIN = "pdf", frozenset(FILE_ENDINGS["text"])
ENDINGS = frozenset((PDF, *TEXTS, *TABLES, *PLAIN))


def shown(line):
    line = " ".join(line.split())
    return line if len(line) <= MOST_SHOWN else line[:MOST_SHOWN - 1] + "…"


class Search:
    """One search, and what it has found."""

    def __init__(self, args, ctx):
        self.words, self.ctx = Words(args["words"]), ctx
        self.limit = args.get("limit", DEFAULT_LIMIT)
        self.found, self.total = [], 0
        self.searched = self.unread = self.locked = 0
        self.no_pdf = False

    def text(self, file, path):
        """The text of an open document."""
        one_name(file, path)
        if is_secret_content(os.pread(file, 256, 0)):
            raise Refused("PermissionDenied", f"{path} holds a secret")
        ending = path.rpartition(".")[2].casefold()
        if ending in PLAIN:
            return read_whole(file, path, MOST_PLAIN).decode("utf-8", "replace")
        if ending == PDF:
            keep = max(SHARE, self.ctx.remaining() - MOST_WAIT)
            return text_of_pdf(file, path, self.ctx, most=2_000_000, keep=keep)[0]
        document = Document(file, path)
        if document.kind in TEXTS:
            return text_of(document)[0]
        rows = [row for _, sheet in sheets(document) for row in rows_of(document, sheet)[0]]
        return "\n".join("\t".join(row) for row in rows)

    def one(self, file, path):
        """Searches one open document."""
        try:
            text = self.text(file, path)
        except Refused as refusal:
            self.no_pdf = self.no_pdf or refusal.error_class == "NotInstalled"
            self.locked += refusal.error_class == "Locked"
            self.unread += refusal.error_class != "Locked"
            return
        except OSError:
            self.unread += 1
            return
        self.searched += 1
        lines = self.words.lines_of(text, path)
        if lines is not None:
            self.total += 1
            if len(self.found) < self.limit:
                lines = [shown(line) for line in lines[:MOST_LINES]]
                self.found.append({"path": path, "text": lines[0] if lines else "", "lines": lines})

    def late(self):
        spent = os.times()
        return self.ctx.remaining() < SHARE + 1 or spent.user + spent.system + spent.children_user + spent.children_system > MOST_CPU

    def walk(self, walk):
        """Searches the documents that a walk comes to, as far as there is time."""
        looked_at = 0
        for path, name, folder, status in walk.entries():
            if not stat.S_ISREG(status.st_mode) or name.rpartition(".")[2].casefold() not in ENDINGS:
                continue
            if looked_at >= MOST_DOCUMENTS or self.late():
                walk.stop("there is too much for one call", name)
                return
            looked_at += 1
            self.ctx.progress(looked_at)
            try:
                file = os.open(name, FILE, dir_fd=folder)
            except OSError:
                self.unread += 1
                continue
            try:
                self.one(file, path)
            finally:
                os.close(file)


def act(args, ctx):
    path = args.get("path", ".")
    names = split(path, top=True, example="documents")
    search = Search(args, ctx)
    top = open_below(ctx.workspace, names, path, last=FILE, what="be searched", no_file="NotADocument")
    said = {"failed": 0, "complete": True}
    try:
        if stat.S_ISDIR(os.fstat(top).st_mode):
            walk = Walk(top, names, ctx, deepest=MOST_DEPTH, most=MOST_SEEN, cpu=MOST_CPU)
            search.walk(walk)
            said = walk.said()
        elif names[-1].rpartition(".")[2].casefold() not in ENDINGS:
            raise Refused("NotADocument", f"{path} is no document that I can read")
        else:
            search.one(top, "/".join(names))
    finally:
        os.close(top)
    result = {
        "ok": True, "path": "/".join(names) or ".", "documents": search.found, "total": search.total,
        "truncated": search.total > len(search.found), "searched": search.searched, "locked": search.locked, **said,
    }
    result["failed"] = search.unread + said["failed"]
    if search.no_pdf:
        result["no_pdf"] = True
    return result


def run(args, ctx):
    return answer(act, args, ctx)
