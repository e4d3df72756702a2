"""Tells sandboxd what the interpreter consists of. Runs once at start, outside any sandbox,
as `python3 -I -S -B -c`; prints one JSON object and touches nothing."""
import sys

EXTENSIONS = ("_json", "_contextvars", "_queue", "_zoneinfo", "_decimal")

import os
from importlib.machinery import EXTENSION_SUFFIXES

extensions, modules = [], []
for name in EXTENSIONS:
    try:
        module = __import__(name)
    except ImportError:
        continue
    path = getattr(module, "__file__", None)
    if path:
        extensions.append(os.path.realpath(path))
        modules.append(name)

libraries = set()
with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
    for line in maps:
        fields = line.rstrip("\n").split(None, 5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            libraries.add(fields[5])

import json

print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "version": "%d.%d.%d" % sys.version_info[:3],
    "abi": EXTENSION_SUFFIXES[0].strip(".").removesuffix(".so"),
    "stdlib": os.path.dirname(os.path.realpath(os.__file__)),
    "extensions": extensions,
    "modules": modules,
    "libraries": sorted(libraries),
}))
