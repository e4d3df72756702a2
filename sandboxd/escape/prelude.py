# What hostile code begins with: `attempt` says which error stopped an act, or that it was done.
import errno
import os
import socket
import sys
import time


def attempt(act, *args):
    try:
        act(*args)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "done"


def syscall(number, *args):
    """Any system call at all. Needs the armed interpreter."""
    import _ctypes

    class Long(_ctypes._SimpleCData):
        _type_ = "l"

    class Function(_ctypes.CFuncPtr):
        _flags_ = 1 | 8  # C calling convention, keep errno
        _restype_ = Long

    function = Function(_ctypes.dlsym(_ctypes.dlopen(None, 2), "syscall"))
    values = [value if isinstance(value, bytes) else Long(value) for value in args]
    if function(Long(number), *values) != -1:
        return "done"
    return errno.errorcode[_ctypes.get_errno()]


def answer(value):
    return {"ok": True, "answer": value}


def loader():
    return "/lib64/ld-linux-x86-64.so.2" if os.uname().machine == "x86_64" else "/lib/ld-linux-aarch64.so.1"


def written(path, source):
    """A copy that could be executed, were it let."""
    with open(source, "rb") as file:
        content = file.read()
    with open(os.open(path, os.O_CREAT | os.O_WRONLY, 493), "wb") as file:
        file.write(content)
    return path


def spawned(argv, **env):
    """What a program ends with, and what it says of what went wrong."""
    out, into = os.pipe()
    null = os.open("/dev/null", os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, into, 2)]
    pid = os.posix_spawn(argv[0], argv, {**os.environ, **env}, file_actions=actions)
    os.close(into)
    said = b"".join(iter(lambda: os.read(out, 4096), b""))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), said.decode("utf-8", "replace")


def in_a_child(act, *args):
    """What an act comes to in a child."""
    out, into = os.pipe()
    if os.fork() == 0:
        os.write(into, attempt(act, *args).encode())
        os._exit(0)
    os.close(into)
    return os.read(out, 100).decode()


