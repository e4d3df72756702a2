"""What must fail in every sandbox. Says what each attempt came to; sandboxd knows what should have come."""

import errno
import os
import socket
import sys


def attempt(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "done"


def fork():
    if os.fork() == 0:
        os._exit(0)


def run(args, ctx):
    create = os.O_CREAT | os.O_WRONLY
    library = os.path.dirname(os.__file__)
    acts = {
        "open_passwd": lambda: os.open("/etc/passwd", os.O_RDONLY),
        "open_proc": lambda: os.open("/proc/self/status", os.O_RDONLY),
        "write_library": lambda: os.open(library + "/canary.py", create),
        "write_root": lambda: os.open("/canary", create),
        "write_code": lambda: os.open("/metnos/host.py", os.O_WRONLY),
        "inet_socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
        "unix_socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM),
        "fork": fork,
        "exec": lambda: os.execv(sys.executable, [sys.executable, "-c", "0"]),
        "exec_shell": lambda: os.execv("/bin/sh", ["sh", "-c", "exit 0"]),
        "signal_all": lambda: os.kill(-1, 0),
        "memory_file": lambda: os.memfd_create("canary"),
        "become_root": lambda: os.setuid(0),
    }
    return {"ok": True, "canaries": {name: attempt(act) for name, act in acts.items()}}
