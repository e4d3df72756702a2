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


