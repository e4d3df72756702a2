"""Counts the files and folders at one place of the workspace, as people mean them, or everything that an act on it would touch.

It follows no link, opens no file and changes nothing. What is hidden, and the executors, are counted when they are asked for;
with `all` it counts all there is, also what no list shows, and says how many folders it could not look into: a card about a
folder shows these numbers.
"""

import os
import stat

from metnos_files import FOLDER, Refused, answer, look, refused, split, walk_to
from metnos_find import Wanted, kind_of
from metnos_walk import COVER_MODE, Walk, count

MOST_SEEN = 100_000
MOST_DEPTH = 64
MOST_CPU = 3


def touched(names, folder, path, ctx):
    """Everything at and below the place."""
    files, folders, size, covered = count(names[-1], folder, path, ctx)
    return {"files": files, "folders": folders, "bytes": size, "covered": covered, "failed": 0, "complete": True}


def one(wanted, status, path):
    """A place that is no folder."""
    kind = kind_of(status.st_mode)
    is_wanted = wanted.fits(path, status, kind)
    size = status.st_size if is_wanted and kind == "file" else 0
    return {"files": int(is_wanted), "folders": 0, "bytes": size, "covered": 0, "failed": 0, "complete": True}


def below(top, wanted, names, args, ctx):
    """What lies below a folder and is wanted."""
    device = os.fstat(top).st_dev
    files = folders = size = covered = 0
    walk = Walk(top, names, ctx, hidden=args.get("hidden", False), deepest=MOST_DEPTH, most=MOST_SEEN, cpu=MOST_CPU)
    for path, _, _, status in walk.entries():
        kind = kind_of(status.st_mode)
        if kind == "folder":
            # The sandbox puts something empty in the place of what no call looks into.
            covered += status.st_dev != device and stat.S_IMODE(status.st_mode) == COVER_MODE
        if not wanted.fits(path, status, kind):
            continue
        if kind == "folder":
            folders += 1
        else:
            files += 1
            size += status.st_size if kind == "file" else 0
    return {"files": files, "folders": folders, "bytes": size, "covered": covered, **walk.said()}


def found(names, path, args, ctx):
    wanted = Wanted(args)
    if not names:
        top = os.open(ctx.workspace, FOLDER)
    else:
        folder = walk_to(ctx.workspace, names[:-1], path)
        try:
            status = look(names[-1], folder, path)
            if status is None:
                raise Refused("NotFound", f"there is no {path} in the workspace")
            if not stat.S_ISDIR(status.st_mode):
                return one(wanted, status, "/".join(names))
            top = os.open(names[-1], FOLDER, dir_fd=folder)
        except OSError as error:
            raise refused(error, path, "be looked at") from None
        finally:
            os.close(folder)
    try:
        return below(top, wanted, names, args, ctx)
    finally:
        os.close(top)


def act(args, ctx):
    path = args.get("path", ".")
    if not args.get("all", False):
        names = split(path, top=True, example="notes")
        return {"ok": True, "path": "/".join(names) or ".", **found(names, path, args, ctx)}
    names = split(path)
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        return {"ok": True, "path": "/".join(names), **touched(names, folder, path, ctx)}
    finally:
        os.close(folder)


def run(args, ctx):
    return answer(act, args, ctx)
