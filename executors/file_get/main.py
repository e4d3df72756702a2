"""Gives one file of the workspace, of any kind, or says exactly why not.

It walks down from the workspace folder by folder and follows no link, so the file that is opened is the file that was
named. Its bytes leave beside the result, in pieces.
"""

import os

from metnos_files import FILE, Refused, answer, one_name, open_below, sha256, split_file

# What the manifest says.
MOST_BYTES = 20 << 20
PIECE = 1 << 16


def give(file, path, ctx):
    """Gives the bytes of an open file; how many, and their digest. Looked at before and after the reading: a name can be
    given to it meanwhile."""
    one_name(file, path)
    digest, size = sha256(), 0
    while piece := os.read(file, PIECE):
        size += len(piece)
        if size > MOST_BYTES:
            raise Refused("TooLarge", f"{path} has grown to more than {MOST_BYTES} bytes while it was read")
        digest.update(piece)
        ctx.give_file(piece)
    one_name(file, path)
    return size, digest.hexdigest()


def act(args, ctx):
    path = args["path"]
    names = split_file(path)
    file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    found = {"ok": True, "path": "/".join(names)}
    try:
        size = one_name(file, path).st_size
        if size > MOST_BYTES:
            return {**found, "given": False, "size": size}
        size, sha = give(file, path, ctx)
    finally:
        os.close(file)
    return {**found, "given": True, "size": size, "sha": sha}


def run(args, ctx):
    return answer(act, args, ctx)
