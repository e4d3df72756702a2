"""Searches the text files of the workspace for words, a pattern, or the passages that share most words with a text, and says
honestly what it has not searched.

It walks down folder by folder and follows no link. A pattern that would take too long is ended by an alarm of its own, so
that it ends as an error and not with the process.
"""

import _signal
import os
import re
import stat

from metnos_files import FILE, Refused, answer, is_secret_content, open_below, split
from metnos_find import Glob, Passages, Words
from metnos_walk import FIRST_NOTES, OWN, Walk

DEFAULT_LIMIT, DEFAULT_BEST = 100, 3
# How much is looked at in one call, and how deep.
MOST_SEEN = 100_000
MOST_DEPTH = 64
MOST_CPU = 8
MOST_FILE_BYTES = 4_000_000
MOST_ALL_BYTES = 256_000_000
# How much of a line is shown, in characters, and of all lines together.
MOST_SHOWN = 400
MOST_TEXT = 600_000
# The seconds that a call takes for itself out of those it has, so that it can still say what it has found.
SHARE = 0.6


class Late(Exception):
    """The time that a call takes for itself is over."""


def ring(_number, _frame):
    raise Late


def compiled(args):
    """The pattern as `re` reads it. Words are looked for as they stand."""
    pattern = args["pattern"]
    ways = [way for way in ("words", "regex", "best") if args.get(way, False)]
    if len(ways) > 1:
        raise Refused("BadPattern", f"{' and '.join(ways)} are different ways to read a pattern; say one of them")
    if ways == ["words"]:
        return Words(pattern)
    if ways == ["best"]:
        return Passages(pattern)
    case = args.get("case", "smart")
    if not args.get("regex", False):
        pattern = re.escape(pattern)
    if args.get("whole_word", False):
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    flags = re.IGNORECASE if case == "insensitive" or case == "smart" and args["pattern"] == args["pattern"].lower() else 0
    try:
        return re.compile(pattern, flags)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise Refused("BadPattern", f"the pattern cannot be read: {str(error) or 'it is too deep'}") from None


def shown(line, start=0):
    """A line as it is shown: of a long one what surrounds the match."""
    if len(line) <= MOST_SHOWN:
        return line
    begin = max(0, min(start - MOST_SHOWN // 4, len(line) - MOST_SHOWN))
    return ("…" if begin else "") + line[begin:begin + MOST_SHOWN] + ("…" if begin + MOST_SHOWN < len(line) else "")


class Search:
    """One search, and what it has found."""

    def __init__(self, args, ctx):
        self.pattern = compiled(args)
        self.glob = Glob(args["name"], False) if "name" in args else None
        self.context = args.get("context", 0)
        self.best = args.get("best", False)
        self.limit = args.get("limit", DEFAULT_BEST if self.best else DEFAULT_LIMIT)
        self.ctx = ctx
        self.matches, self.files = [], []
        self.total = self.searched = self.skipped = self.failed = self.bytes = self.told = 0
        #: The time that was left when the file at hand was begun.
        self.began = ctx.remaining()

    def text_of(self, file):
        """The text of an open file, or nothing when it is none that is searched."""
        status = os.fstat(file)
        # What has a second name may be any file of this disk, also one that nobody has granted.
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1 or status.st_size > MOST_FILE_BYTES:
            return None
        parts, size = [], 0
        while size <= MOST_FILE_BYTES:
            part = os.read(file, 1 << 20)
            if not part:
                break
            parts.append(part)
            size += len(part)
        self.bytes += size
        content = b"".join(parts)
        if size > MOST_FILE_BYTES or b"\0" in content[:8192] or os.fstat(file).st_nlink > 1 or is_secret_content(content):
            return None
        if content.startswith(b"%PDF-"):
            # Some are made of plain characters, and none of them is what its pages say.
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return None

    def one(self, file, path):
        """Searches one open file."""
        try:
            text = self.text_of(file)
        except OSError:
            self.failed += 1
            return
        if text is None:
            self.skipped += 1
            return
        self.searched += 1
        if isinstance(self.pattern, Words):
            self.pattern.of_file(path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        self.began = self.ctx.remaining()
        if self.best:
            try:
                self.pattern.read(path, lines)
            except Late:
                raise Late(path) from None
            return
        count, at = 0, 0
        try:
            for at, line in enumerate(lines):
                line = line[:-1] if line.endswith("\r") else line
                found = self.pattern.search(line)
                if found is not None:
                    count += 1
                    self.note(path, lines, at, line, found.start())
        except Late:
            raise Late(f"{path}, line {at + 1}") from None
        finally:
            self.total += count
            if count:
                self.files.append({"path": path, "count": count})

    def note(self, path, lines, at, line, start):
        if len(self.matches) >= self.limit or self.told >= MOST_TEXT:
            return
        before = [shown(one) for one in lines[max(0, at - self.context):at]]
        after = [shown(one) for one in lines[at + 1:at + 1 + self.context]]
        text = shown(line, start)
        self.told += len(text) + sum(map(len, before)) + sum(map(len, after)) + len(path)
        match = {"path": path, "line": at + 1, "column": start + 1, "text": text}
        if self.context:
            match["before"], match["after"] = before, after
        self.matches.append(match)

    def rank(self):
        """Keeps the best passages as what was found."""
        for one, covered in self.pattern.best(self.limit):
            match = {"path": one.path, "line": one.line, "column": 1, "text": shown(one.text), "covered": covered, "named": one.named}
            self.matches.append(match)
        paths = [match["path"] for match in self.matches]
        self.files = [{"path": path, "count": paths.count(path)} for path in dict.fromkeys(paths)]
        self.total = len(paths)

    def walk(self, walk):
        """Searches what a walk comes to, as far as there is room."""
        for path, name, folder, status in walk.entries():
            if self.bytes >= MOST_ALL_BYTES:
                walk.stop("there is too much for one call", name)
                return
            if not stat.S_ISREG(status.st_mode) or self.glob is not None and not self.glob.fits(path):
                continue
            if self.best and (path in OWN or path in FIRST_NOTES):
                continue
            try:
                file = os.open(name, FILE, dir_fd=folder)
            except OSError:
                self.failed += 1
                continue
            try:
                self.one(file, path)
            finally:
                os.close(file)


def as_many_as_fit(files):
    """The first of them, as far as their paths fit into one result."""
    left = MOST_TEXT
    for number, one in enumerate(files):
        left -= len(one["path"])
        if left < 0:
            return files[:number]
    return files


def act(args, ctx):
    path = args.get("path", ".")
    names = split(path, top=True, example="notes")
    _signal.signal(_signal.SIGALRM, ring)
    mine = max(0.05, ctx.remaining() * SHARE)
    _signal.setitimer(_signal.ITIMER_REAL, mine)
    try:
        search = Search(args, ctx)
    except Late:
        raise Refused("TooSlow", "reading the pattern took too long; write a simpler one") from None
    top = open_below(ctx.workspace, names, path, last=FILE, what="be searched", no_file="NotText")
    said = {"failed": 0, "complete": True}
    walk = None
    try:
        if stat.S_ISDIR(os.fstat(top).st_mode):
            limits = {"deepest": MOST_DEPTH, "most": MOST_SEEN, "cpu": MOST_CPU}
            walk = Walk(top, names, ctx, hidden=args.get("hidden", False), **limits)
            search.walk(walk)
        else:
            search.one(top, "/".join(names))
            if search.skipped:
                raise Refused("NotText", f"{path} is no text of at most {MOST_FILE_BYTES} bytes")
    except Late as where:
        # Of what one file took most of, the pattern is the reason; of what many took, their number.
        if search.began - ctx.remaining() > mine / 2:
            raise Refused("TooSlow", f"the pattern took too long at {where}; write one without repetitions inside repetitions") from None
        said = {"failed": 0, "complete": False}
        if walk is not None:
            walk.stop("there is too much for the time of one call")
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        os.close(top)
    if walk is not None:
        said = walk.said()
    if search.best:
        search.rank()
    files = sorted(search.files, key=lambda one: (-one["count"], one["path"]))
    shown = as_many_as_fit(files[:search.limit])
    return {
        "ok": True,
        "path": "/".join(names) or ".",
        "matches": [] if args.get("counts", False) else search.matches,
        "files": shown,
        "total": search.total,
        "returned": 0 if args.get("counts", False) else len(search.matches),
        "truncated": len(files) > len(shown) or not args.get("counts", False) and len(search.matches) < search.total,
        "found_in": len(files),
        "searched": search.searched,
        "skipped": search.skipped,
        **said,
        "failed": search.failed + said["failed"],
    }


def run(args, ctx):
    try:
        return answer(act, args, ctx)
    except Late:
        return {"ok": False, "error": {"class": "TooSlow", "message": "the search took too long; search a smaller folder"}}
