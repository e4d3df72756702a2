"""Runs a listed program for the executors that may, part of the file library. `host.py` makes it the module
`metnos_programs`, for code that names it.

There is no shell: the words are the program's own, one by one. What it prints is bounded, and so is the time that is
waited for it. Which programs there are is not decided here: no other file can be executed in the sandbox, and what still
runs when the executor ends, ends with it.
"""

import os
import select
import time

from metnos_files import Refused

MOST_OUT = 500_000
MOST_ERR = 60_000
PIECE = 65_536
# The seconds that are kept to say that the time is over.
SHARE = 0.4
# Python ignores these; a program expects them as they are.
SIGNALS = (13, 25)


def start(path, argv, commands, file=None):
    """Starts a program with a pipe for each of its standard descriptors, or an open file to read; its number and our ends."""
    pipes = [os.pipe() for _ in range(3)]
    theirs = (pipes[0][0] if file is None else file, pipes[1][1], pipes[2][1])
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)]
    # The channel to sandboxd is not the program's.
    actions.append((os.POSIX_SPAWN_CLOSE, 3))
    folders = dict.fromkeys(one.rpartition("/")[0] for one in commands.values())
    env = {name: os.environ[name] for name in ("HOME", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TZ") if name in os.environ}
    env["PATH"] = ":".join(folders)
    # Threads count as processes of the call, and its processor time is what it has.
    env["OMP_THREAD_LIMIT"] = "1"
    try:
        pid = os.posix_spawn(path, argv, env, file_actions=actions, setsigdef=SIGNALS)
    except OSError as error:
        if isinstance(error, BlockingIOError):
            # sandboxd knows what that means.
            raise
        raise Refused("PermissionDenied", f"{argv[0]} cannot be started: {error.strerror}") from None
    except ValueError:
        raise Refused("BadArgument", "a word holds a NUL character, which no argument can have") from None
    for fd in (pipes[0][0], pipes[1][1], pipes[2][1]):
        os.close(fd)
    return pid, pipes[0][1], pipes[1][0], pipes[2][0]


class Pipes:
    """What goes in and what comes out, as much of it as is kept."""

    def __init__(self, into, out, err, text, most):
        self.text = memoryview(text)
        self.kept = {out: bytearray(), err: bytearray()}
        self.most = {out: most, err: MOST_ERR}
        self.into, self.out, self.err = into, out, err
        self.truncated = False
        self.poll = select.poll()
        for fd in self.kept:
            os.set_blocking(fd, False)
            self.poll.register(fd, select.POLLIN)
        self.open = set(self.kept)
        os.set_blocking(into, False)
        if text:
            self.poll.register(into, select.POLLOUT)
            self.open.add(into)
        else:
            os.close(into)

    def close(self, fd):
        self.poll.unregister(fd)
        os.close(fd)
        self.open.discard(fd)

    def move(self, wait_s):
        """Moves what can be moved; whether anything was."""
        events = self.poll.poll(wait_s * 1000)
        for fd, _ in events:
            if fd == self.into:
                self.feed()
            elif fd in self.open:
                self.read(fd)
        return bool(events)

    def feed(self):
        try:
            self.text = self.text[os.write(self.into, self.text[:PIECE]):]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It wants no more.
            self.text = self.text[:0]
        if not self.text:
            self.close(self.into)

    def read(self, fd):
        try:
            piece = os.read(fd, PIECE)
        except BlockingIOError:
            return
        kept = self.kept[fd]
        kept += piece[:self.most[fd] - len(kept) + 1]
        if len(kept) > self.most[fd]:
            self.truncated = True
            del kept[self.most[fd]:]
            # Its next word ends it; what it complains of without end is let go.
            piece = piece if fd == self.err else b""
        if not piece:
            self.close(fd)


class Ran:
    """What became of a program: how it ended (128 and the number of a signal that ended it), what it printed as text and as
    bytes, and whether something of that, or of its output alone, is not here."""

    def __init__(self, code, out, err, truncated, cut, most):
        self.code, self.raw, self.truncated, self.cut = code, bytes(out), truncated, cut
        self.err, self.most = text_of(err, MOST_ERR), most

    @property
    def out(self):
        return text_of(self.raw, self.most)


def wait_for(pid, pipes, ctx, name, keep=SHARE):
    """Serves a program to its end; what it left running is not waited for."""
    ended = 0
    while not ended:
        if ctx.remaining() < keep:
            raise Refused("Timeout", f"{name} was still running when its time was over, and was ended")
        if pipes.open:
            pipes.move(0.05)
        else:
            time.sleep(0.005)
        ended, status = os.waitpid(pid, os.WNOHANG)
    # What it has written before its end lies in the pipes.
    while pipes.open - {pipes.into} and pipes.move(0):
        pass
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def text_of(kept, most):
    """As text; what is cut within a character, and what is none, is replaced."""
    return bytes(kept).decode("utf-8", "replace")[:most]


def run_program(path, argv, ctx, text=b"", file=None, most=MOST_OUT, keep=SHARE):
    """Runs the program at `path` with these words: on `text`, or on an open file. It may take what is left of the call, less
    `keep` seconds."""
    pid, into, out, err = start(path, argv, ctx.commands, file)
    pipes = Pipes(into, out, err, text, most)
    try:
        code = wait_for(pid, pipes, ctx, argv[0], keep)
    finally:
        for fd in list(pipes.open):
            pipes.close(fd)
    cut = pipes.truncated and len(pipes.kept[out]) == most
    return Ran(code, pipes.kept[out], pipes.kept[err], pipes.truncated, cut, most)


# PDFs, which a program of Poppler reads.

PDFTOTEXT = "/usr/bin/pdftotext"
MOST_PDF_BYTES = 64_000_000
MOST_LINE = 4_000


def pdf_program(ctx):
    """The program that reads PDFs; where it is not there, what to do about that."""
    path = ctx.commands.get(PDFTOTEXT.rpartition("/")[2])
    if path is None:
        raise Refused("NotInstalled", f"{PDFTOTEXT} is not installed here: it comes with the package poppler-utils")
    return path


def text_of_pdf(file, path, ctx, first=1, last=None, most=MOST_OUT, keep=SHARE):
    """The text of pages of an open PDF, how many pages those are, and whether the text is cut."""
    size = os.fstat(file).st_size
    if size > MOST_PDF_BYTES:
        raise Refused("TooLarge", f"{path} has {size} bytes; at most {MOST_PDF_BYTES} can be read")
    if b"%PDF-" not in os.pread(file, 1024, 0):
        raise Refused("NotAPdf", f"{path} is no PDF")
    words = ["pdftotext", "-layout", "-enc", "UTF-8", "-f", str(first), *(["-l", str(last)] if last else []), "-", "-"]
    ran = run_program(pdf_program(ctx), words, ctx, file=file, most=most, keep=keep)
    if ran.code and not ran.cut and not ran.out.strip():
        if "password" in ran.err.lower():
            raise Refused("Locked", f"{path} is locked with a password")
        if "page range" in ran.err.lower():
            raise Refused("NoSuchPage", f"{path} has no page {first}")
        raise Refused("NotAPdf", f"{path} cannot be read as a PDF: it is broken")
    pages = ran.out.split("\f")
    if not ran.cut and not pages[-1].strip():
        pages.pop()
    return "\n\n".join(filter(None, map(tidy, pages))), len(pages), ran.cut


def tidy(page):
    """The lines of a page without the room around them, in the columns they stand in."""
    lines = [line.rstrip()[:MOST_LINE] for line in page.split("\n")]
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line), default=0)
    kept = []
    for line in lines:
        if line or kept and kept[-1]:
            kept.append(line[indent:])
    return "\n".join(kept).strip("\n")


# Writing in pictures, which Tesseract reads; pages of a PDF are painted for it by a program of Poppler.

TESSERACT = "/usr/bin/tesseract"
PDFTOPPM = "/usr/bin/pdftoppm"
# Where Debian's packages put what Tesseract knows of languages: a folder for each of its versions.
TESSDATA = "/usr/share/tesseract-ocr"
# These first, and no more than so many: each more makes it slower, and less sure of the others.
FIRST_LANGUAGES = ("ita", "eng")
MOST_LANGUAGES = 3
# No languages, though they lie among them.
NO_LANGUAGES = frozenset(("osd", "equ"))
# The longer side of a painted page, in pixels, about 200 to the inch of A4; and the most bytes of such a page in grey.
LONG_SIDE = 2_400
MOST_PAINTED = LONG_SIDE * LONG_SIDE + 64
# A word of which Tesseract is less sure, in percent, is not one: so it reads leaves and wallpaper.
LEAST_SURE = 30
MOST_WORDS = 4_000_000


def can_read_pictures(ctx):
    """Whether the programs are there that read the pages of a scan."""
    return all(one.rpartition("/")[2] in ctx.commands for one in (TESSERACT, PDFTOPPM))


def languages():
    """The folder of Tesseract's languages, those that it is asked to read, and whether it can tell how a page is turned."""
    try:
        versions = sorted(os.listdir(TESSDATA), reverse=True)
    except OSError:
        versions = []
    for version in versions:
        folder = f"{TESSDATA}/{version}/tessdata"
        try:
            names = {name.removesuffix(".traineddata") for name in os.listdir(folder) if name.endswith(".traineddata")}
        except OSError:
            continue
        others = sorted(names - NO_LANGUAGES - set(FIRST_LANGUAGES))
        known = ([one for one in FIRST_LANGUAGES if one in names] + others)[:MOST_LANGUAGES]
        if known:
            return folder, known, "osd" in names
    raise Refused("NotInstalled", f"{TESSDATA} holds no languages: they come with tesseract-ocr-eng and tesseract-ocr-ita")


def text_of_picture(path, ctx, file=None, image=b"", keep=SHARE):
    """The writing in a picture, an open file or its bytes: the text, how sure of its words Tesseract is, in percent, and
    whether the text is cut."""
    program = ctx.commands.get(TESSERACT.rpartition("/")[2])
    if program is None:
        raise Refused("NotInstalled", f"{TESSERACT} is not installed here: it comes with the package tesseract-ocr")
    folder, known, turns = languages()
    words = ["tesseract", "stdin", "stdout", "--tessdata-dir", folder, "-l", "+".join(known), "--psm", "1" if turns else "3"]
    words += ["-c", "tessedit_create_tsv=1"]
    ran = run_program(program, words, ctx, text=image, file=file, most=MOST_WORDS, keep=keep)
    if ran.code and not ran.cut:
        raise Refused("NotAnImage", f"{path} cannot be read as an image: it is broken, or of another kind")
    text, sure = written(ran.out)
    return text[:MOST_OUT], sure, ran.cut or len(text) > MOST_OUT


def written(table):
    """The words of Tesseract's table in their lines, a blank line between blocks; and how sure it is of them."""
    lines, place, sure, count = [], None, 0.0, 0
    for row in table.split("\n")[1:]:
        # level, page, block, paragraph, line, word, left, top, width, height, how sure, text
        cells = row.split("\t")
        if len(cells) != 12 or not cells[11].strip():
            continue
        certain = float(cells[10])
        if certain < LEAST_SURE:
            continue
        here = cells[1:5]
        if here != place:
            if place and here[:2] != place[:2]:
                lines.append([])
            lines.append([])
        lines[-1].append(cells[11].strip())
        place, sure, count = here, sure + certain, count + 1
    return "\n".join(" ".join(line)[:MOST_LINE] for line in lines), round(sure / count) if count else 0


def painted(file, path, page, ctx, keep=SHARE):
    """A page of an open PDF as a picture in grey; none where there is no such page."""
    program = ctx.commands[PDFTOPPM.rpartition("/")[2]]
    words = ["pdftoppm", "-gray", "-scale-to", str(LONG_SIDE), "-f", str(page), "-l", str(page), "-singlefile", "-"]
    os.lseek(file, 0, os.SEEK_SET)
    ran = run_program(program, words, ctx, file=file, most=MOST_PAINTED, keep=keep)
    if ran.cut:
        raise Refused("TooLarge", f"page {page} of {path} is too large to be painted")
    return ran.raw
