"""Runs one listed program on the workspace, which it can only read, and returns what it printed.

There is no shell: the words are the program's own, one by one. Which programs there are is not decided here: no other
file can be executed in this process's sandbox. Whatever still runs when this process ends, ends with it.
"""

import errno
import os
import select
import stat
import time

MOST_OUT = 500_000
MOST_ERR = 60_000
PIECE = 65_536
# The seconds that are kept to say that the time is over.
SHARE = 0.4
LONGEST_NAME = 255
# Python ignores these; a program expects them as they are.
SIGNALS = (13, 25)


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def program(name, commands):
    """The path of a listed program, called by its bare name or by that path."""
    path = commands.get(name.rpartition("/")[2])
    if path is None or name not in (path, path.rpartition("/")[2]):
        known = ", ".join(sorted(commands)) or "none"
        raise Refused("NotListed", f"{name[:100]} is not one of the programs that can be run here: {known}")
    return path


def folder(path, workspace):
    """Goes to the folder that the program runs in; no name of it may leave the workspace."""
    names = []
    for name in (path or "").split("/"):
        if name == "..":
            if not names:
                raise Refused("PermissionDenied", f"{path} leads out of the workspace")
            names.pop()
        elif len(name.encode("utf-8", "replace")) > LONGEST_NAME or "\0" in name:
            raise Refused("BadArgument", "cwd holds a name that no folder can have")
        elif name not in ("", "."):
            names.append(name)
    if (path or "").startswith(("/", "~")):
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name it from there, such as notes")
    try:
        os.chdir("/".join([workspace, *names]))
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise Refused("NotFound", f"there is no folder {path} in the workspace") from None
        if error.errno == errno.ENOTDIR:
            raise Refused("NotAFolder", f"{path} is not a folder") from None
        raise Refused("PermissionDenied", f"{path} cannot be entered: {error.strerror}") from None


def look_at(words):
    """A file of a second name may be any file of the disk: it is not handed to a program that is told its name."""
    for word in words:
        for path in {word, word.partition("=")[2]} - {""}:
            try:
                known = os.lstat(path)
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(known.st_mode) and known.st_nlink > 1:
                raise Refused("PermissionDenied", f"{path} has {known.st_nlink} names, and may be any file of this disk")


def start(path, argv, commands):
    """Starts it with a pipe for each of its standard descriptors; returns its number and our ends."""
    pipes = [os.pipe() for _ in range(3)]
    theirs = (pipes[0][0], pipes[1][1], pipes[2][1])
    actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(theirs)]
    # The channel to sandboxd is not the program's.
    actions.append((os.POSIX_SPAWN_CLOSE, 3))
    folders = dict.fromkeys(one.rpartition("/")[0] for one in commands.values())
    env = {name: os.environ[name] for name in ("HOME", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "TZ") if name in os.environ}
    env["PATH"] = ":".join(folders)
    try:
        pid = os.posix_spawn(path, argv, env, file_actions=actions, setsigdef=SIGNALS)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            # sandboxd knows what that means.
            raise
        raise Refused("PermissionDenied", f"{argv[0]} cannot be started: {error.strerror}") from None
    except ValueError:
        raise Refused("BadArgument", "a word holds a NUL character, which no argument can have") from None
    for fd in theirs:
        os.close(fd)
    return pid, pipes[0][1], pipes[1][0], pipes[2][0]


class Pipes:
    """What goes in and what comes out, as much of it as is kept."""

    def __init__(self, into, out, err, text):
        self.text = memoryview(text)
        self.kept = {out: bytearray(), err: bytearray()}
        self.most = {out: MOST_OUT, err: MOST_ERR}
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
            # Its next word ends it.
            self.truncated = True
            del kept[self.most[fd]:]
            piece = b""
        if not piece:
            self.close(fd)


def text_of(kept, most):
    """As text; what is cut within a character, and what is none, is replaced."""
    return bytes(kept).decode("utf-8", "replace")[:most]


def wait_for(pid, pipes, ctx, name):
    """Serves it to its end; what it left running is not waited for."""
    ended = 0
    while not ended:
        if ctx.remaining() < SHARE:
            raise Refused("Timeout", f"{name} was still running when its time was over, and was ended")
        if pipes.open:
            pipes.move(0.05)
        else:
            time.sleep(0.005)
        ended, status = os.waitpid(pid, os.WNOHANG)
    # What it has written before its end lies in the pipes.
    while pipes.open - {pipes.into} and pipes.move(0):
        pass
    return os.waitstatus_to_exitcode(status)


def run(args, ctx):
    argv = args["argv"]
    try:
        path = program(argv[0], ctx.commands)
        folder(args.get("cwd"), ctx.workspace)
        look_at(argv[1:])
        text = args.get("stdin", "").encode("utf-8", "replace")
        pid, into, out, err = start(path, argv, ctx.commands)
        pipes = Pipes(into, out, err, text)
        code = wait_for(pid, pipes, ctx, argv[0])
    except Refused as refused:
        return {"ok": False, "error": {"class": refused.error_class, "message": str(refused)}}
    except UnicodeEncodeError:
        return {"ok": False, "error": {"class": "BadArgument", "message": "a word holds what is no character"}}
    return {
        "ok": True,
        "exit_code": code if code >= 0 else 128 - code,
        "stdout": text_of(pipes.kept[out], MOST_OUT),
        "stderr": text_of(pipes.kept[err], MOST_ERR),
        "truncated": pipes.truncated,
    }
