"""Puts one file or folder of the workspace into the trash, in one step, and says how much went.

The trash is a hidden name in the same folder, because nothing moves between folders in one step here.
Nothing is lost by it: `fs_restore` brings it back, and so can a person, from where the result says it is.
"""

import os
import stat

from metnos_files import Refused, answer, look, record, refused, split_change, to_trash, walk_to
from metnos_walk import count


def act(args, ctx):
    path = args["path"]
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        what = look(names[-1], folder, path)
        if what is None:
            raise Refused("NotFound", f"there is no {path} in the workspace")
        if stat.S_ISLNK(what.st_mode):
            raise Refused("PermissionDenied", f"{path} is a link, and links are left alone")
        if stat.S_ISDIR(what.st_mode) and not args.get("folder", False):
            raise Refused("IsAFolder", f"{path} is a folder; say folder=true to delete it with everything in it")
        files, folders, _, covered = count(names[-1], folder, path, ctx)
        keep = args.get("keep", "")
        record(ctx.workspace, keep, path, {"of": "fs_delete", "ino": what.st_ino})
        place = to_trash(names[-1], what, keep, folder, path)
        if not place:
            raise Refused("NotFound", f"{path} was changed by others at this very moment; nothing was deleted")
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    done = {"ok": True, "path": "/".join(names), "trashed": "/".join([*names[:-1], place]), "files": files, "folders": folders}
    return {**done, "covered": covered} if covered else done


def run(args, ctx):
    return answer(act, args, ctx)
