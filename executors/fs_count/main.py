"""Counts what lies at and below one place of the workspace.

It follows no link, opens no file and changes nothing. It counts all there is, also what no list shows, and says how many
folders it could not look into: a card about a folder shows these numbers.
"""

import os

from metnos_files import answer, split, walk_to
from metnos_walk import count


def act(args, ctx):
    path = args["path"]
    names = split(path)
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        files, folders, size, covered = count(names[-1], folder, path, ctx)
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join(names), "files": files, "folders": folders, "bytes": size, "covered": covered}


def run(args, ctx):
    return answer(act, args, ctx)
