"""Tells sandboxd what the interpreter consists of. Runs once at start, outside any sandbox,
as `python3 -I -S -B -c`; prints one JSON object and touches nothing."""
import sys

EXTENSIONS = (
    "_json", "_contextvars", "_queue", "_zoneinfo", "_decimal",
    # Part of the program where Debian builds it, files of their own elsewhere: executors have the same everywhere.
    "_datetime", "_struct", "math", "unicodedata", "binascii", "array", "fcntl", "_bisect", "_heapq", "_random", "_csv", "_pickle",
    "_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2", "_socket", "select", "zlib", "_posixsubprocess",
    "pyexpat",
)
# The compiled parts of what an executor with network may import (socket, ssl, http.client, urllib.request, hashlib): all of
# them are loaded before the seal. Those modules themselves would make a start a fifth slower.
NET = ("_socket", "select", "_ssl", "zlib", "_hashlib", "_struct", "binascii", "math")

import os
from importlib.machinery import EXTENSION_SUFFIXES


def mapped():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        lines = [line.rstrip("\n").split(None, 5) for line in maps]
    return {line[5] for line in lines if len(line) == 6 and "x" in line[1] and line[5].startswith("/")}


def compiled(names):
    """The modules among these that have a file of their own, with it."""
    found = []
    for name in names:
        path = getattr(sys.modules.get(name), "__file__", None)
        if path and path.endswith(tuple(EXTENSION_SUFFIXES)):
            found.append((name, os.path.realpath(path)))
    return found


def load(names):
    for name in names:
        try:
            __import__(name)
        except ImportError:
            continue


load(EXTENSIONS)
# And what they have loaded: `_zoneinfo` needs `_datetime`, which is a file of its own in some builds of Python.
base = compiled(dict.fromkeys([*EXTENSIONS, *sys.modules]))
BASE = [name for name, _ in base]
libraries = mapped()

# Unpackers that nothing on the net needs, and that their users do without.
for name in ("_bz2", "_lzma"):
    sys.modules.setdefault(name, None)
load(NET)
net = compiled(name for name in list(sys.modules) if name not in BASE)
net_libraries = mapped() - libraries

import json

print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "abi": EXTENSION_SUFFIXES[0].strip(".").removesuffix(".so"),
    "stdlib": os.path.dirname(os.path.realpath(os.__file__)),
    "extensions": [path for _, path in base],
    "modules": [name for name, _ in base],
    "libraries": sorted(libraries),
    "net_extensions": [path for _, path in net],
    "net_modules": [name for name, _ in net],
    "net_libraries": sorted(net_libraries),
}))
