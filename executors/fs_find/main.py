"""Finds files and folders of the workspace by name, kind, type, size and time, and says honestly what is missing from the list.

It walks down folder by folder, follows no link and opens no file. A pattern is matched in one pass over the name,
so that none can take longer than the name and itself are long.
"""

import os
import time

from metnos_files import answer, open_below, split
from metnos_find import Wanted, kind_of
from metnos_walk import Walk

DEFAULT_LIMIT = 100
# How much is looked at in one call, and how deep; how many seconds of a processor, and how many letters a list has.
MOST_SEEN = 100_000
MOST_DEPTH = 64
MOST_CPU = 6
MOST_TEXT = 400_000


def stamp(seconds):
    """A moment as people and programs read it."""
    try:
        now = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00Z"
    if not 1 <= now.tm_year <= 9999:
        return "1970-01-01T00:00:00Z"
    return f"{now.tm_year:04}-{now.tm_mon:02}-{now.tm_mday:02}T{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}Z"


# Equal ones by path, so that two calls give one order.
ORDERS = {
    "path": lambda one: one[0],
    "name": lambda one: (one[0].rsplit("/", 1)[-1].casefold(), one[0]),
    "largest": lambda one: (-one[2], one[0]),
    "longest": lambda one: (-one[2], one[0]),
    "smallest": lambda one: (one[2], one[0]),
    "shortest": lambda one: (one[2], one[0]),
    "newest": lambda one: (-one[3], one[0]),
    "oldest": lambda one: (one[3], one[0]),
}


def as_many_as_fit(found):
    """The first of them, as far as their paths fit into one result."""
    left = MOST_TEXT
    for number, (path, *_) in enumerate(found):
        left -= len(path)
        if left < 0:
            return found[:number]
    return found


def act(args, ctx):
    path = args.get("path", ".")
    names = split(path, top=True, example="notes")
    wanted, found = Wanted(args), []
    folder = open_below(ctx.workspace, names, path)
    try:
        limits = {"depth": args.get("depth"), "deepest": MOST_DEPTH, "most": MOST_SEEN, "cpu": MOST_CPU}
        walk = Walk(folder, names, ctx, hidden=args.get("hidden", False), **limits)
    finally:
        os.close(folder)
    for at, _, _, status in walk.entries():
        kind = kind_of(status.st_mode)
        if wanted.fits(at, status, kind):
            found.append((at, kind, status.st_size if kind == "file" else 0, int(status.st_mtime)))
    found.sort(key=ORDERS[args.get("sort", "path")])
    shown = as_many_as_fit(found[:args.get("limit", DEFAULT_LIMIT)])
    return {
        "ok": True,
        "path": "/".join(names) or ".",
        "entries": [{"path": path, "kind": kind, "size": size, "modified": stamp(at)} for path, kind, size, at in shown],
        "total": len(found),
        "returned": len(shown),
        "truncated": len(shown) < len(found),
        **walk.said(),
    }


def run(args, ctx):
    return answer(act, args, ctx)
