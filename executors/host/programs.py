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
    """What became of a program: how it ended (128 and the number of a signal that ended it), what it printed, and whether
    something of that, or of its output alone, is not here."""

    def __init__(self, code, out, err, truncated, cut):
        self.code, self.out, self.err, self.truncated, self.cut = code, out, err, truncated, cut


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
    return Ran(code, text_of(pipes.kept[out], most), text_of(pipes.kept[err], MOST_ERR), pipes.truncated, cut)


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
