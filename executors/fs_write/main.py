"""Writes one text file of the workspace, whole or not at all, and reads back what it says it wrote.

It follows no link, replaces only when it is told to, and puts what it replaces into the trash, beside it. Of several at
once that make one file, one makes it and the others say that it is there.
"""

import os
import stat

from metnos_files import Draft, Refused, answer, look, record, refused, split_change, to_trash, walk_to

# How often it looks again when others change the file at the very moment.
TRIES = 8


def text_of(args):
    """The content as bytes."""
    content = args["content"].encode("utf-8", "surrogatepass")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("BadPath", "the content holds a character that no text file can have") from None
    return content


def may_stand(there, path, args):
    """Refuses what is there and may not be replaced."""
    if there is None:
        return
    if not stat.S_ISREG(there.st_mode):
        raise Refused("PermissionDenied", f"{path} is there and is no file")
    if not args.get("overwrite", False):
        raise Refused("Exists", f"{path} is there already; nothing was written")


def put(draft, name, folder, args, ctx):
    """Gives the draft its name; what was there is in the trash then: the name of that, or nothing."""
    path, keep = args["path"], args.get("keep", "")
    for _ in range(TRIES):
        there = look(name, folder, path)
        may_stand(there, path, args)
        before = None if there is None else there.st_ino
        record(ctx.workspace, keep, path, {"of": "fs_write", "made": draft.made, "before": before})
        if there is None:
            if draft.place(name):
                return ""
            continue
        place = to_trash(name, there, keep, folder, path)
        if not place:
            continue
        if draft.place(name):
            return place
        raise Refused("Exists", f"{path} was made anew by others at this very moment; what it was before is {place} now")
    raise Refused("Exists", f"{path} is changed by others all the time; nothing was written")


def act(args, ctx):
    path = args["path"]
    content = text_of(args)
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        name = names[-1]
        may_stand(look(name, folder, path), path, args)
        with Draft(folder, content, path) as draft:
            place = put(draft, name, folder, args, ctx)
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    if size != len(content):
        raise Refused("NoSpace", f"{path} has {size} bytes after writing {len(content)}")
    trashed = "/".join([*names[:-1], place]) if place else ""
    return {"ok": True, "path": "/".join(names), "bytes": size, "replaced": bool(place), "trashed": trashed}


def run(args, ctx):
    return answer(act, args, ctx)
