"""Renames one file or folder of the workspace within its folder, in one step, and looks that it has arrived.

It follows no link and replaces nothing that is there.
"""

import os
import stat

from metnos_files import TRASH, Refused, answer, is_draft, look, record, refused, rename_new, same, split, walk_to


def act(args, ctx):
    path, to = args["path"], args["to"]
    names, targets = split(path), split(to)
    # What lies in the trash may be given a name outside of it, and that is all.
    if TRASH in names or any(name.startswith(TRASH) for name in targets):
        raise Refused("PermissionDenied", f"{path} to {to} is about the trash; what lies there is kept for taking acts back")
    if any(map(is_draft, (*names, *targets))):
        raise Refused("PermissionDenied", f"{path} to {to} is about a draft, whose name no file may have")
    if targets == names:
        raise Refused("BadPath", f"{to} is {path} itself")
    if targets[:-1] != names[:-1]:
        raise Refused("OtherFolder", f"{to} lies in another folder than {path}; this only gives a new name")
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        what = look(names[-1], folder, path)
        if what is None:
            raise Refused("NotFound", f"there is no {path} in the workspace")
        there = Refused("Exists", f"{to} is there already; nothing was renamed")
        if look(targets[-1], folder, to) is not None:
            raise there
        record(ctx.workspace, args.get("keep", ""), path, {"of": "fs_move", "ino": what.st_ino})
        if not rename_new(names[-1], targets[-1], folder, path):
            raise there
        if not same(what, look(targets[-1], folder, to)):
            # Others had put something else there; it gets its name back.
            if rename_new(targets[-1], names[-1], folder, path):
                raise Refused("NotFound", f"{path} was changed by others at this very moment; nothing was renamed")
            raise Refused("NotFound", f"{path} was changed by others at this very moment; what was there is {to} now")
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    kind = "file" if stat.S_ISREG(what.st_mode) else "folder" if stat.S_ISDIR(what.st_mode) else "other"
    return {"ok": True, "path": "/".join(names), "to": "/".join(targets), "kind": kind}


def run(args, ctx):
    return answer(act, args, ctx)
