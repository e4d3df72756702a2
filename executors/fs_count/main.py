"""Counts what lies at and below one place of the workspace.

It follows no link, opens no file and changes nothing.
"""

import errno
import os
import stat

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_NAME = 255
MOST = 1_000_000


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def split(path):
    """The names that lead from the workspace to what is named."""
    if "\0" in path:
        raise Refused("BadPath", "the path holds a NUL character, which no file name can have")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadPath", "the path holds a character that no file name can have") from None
    if path.startswith(("/", "~/")) or path == "~":
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name it from there, such as notes/a.md")
    names = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if not names:
                raise Refused("PermissionDenied", f"{path} leads out of the workspace")
            names.pop()
        elif len(name.encode("utf-8")) > LONGEST_NAME:
            raise Refused("BadPath", f"a name in the path is longer than {LONGEST_NAME} bytes")
        else:
            names.append(name)
    if not names:
        raise Refused("BadPath", f"{path} names the workspace itself")
    return names


def why_not(error, path, what="be looked at"):
    """Turns what the kernel said into an error of the contract."""
    if error.errno == errno.ENOENT:
        return Refused("NotFound", f"there is no {path} in the workspace")
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return Refused("PermissionDenied", f"something in {path} is a link or no folder, and is not walked through")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV):
        return Refused("PermissionDenied", f"the file system does not let {path} {what}")
    if error.errno == errno.ENAMETOOLONG:
        return Refused("BadPath", "the path is too long")
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Refused("NoSpace", f"there is no room for {path}")
    return None


def refused(error, path):
    """The error of the contract for what the kernel said; what is not foreseen stays a crash."""
    found = why_not(error, path)
    if found is None:
        raise error
    return found


def walk(workspace, names, path):
    """Opens the folder that `names` lead to, step by step, following no link."""
    folder = os.open(workspace, FOLDER)
    try:
        for name in names:
            below = os.open(name, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
    except OSError as error:
        os.close(folder)
        raise refused(error, path) from None
    return folder


def look(name, folder, path):
    """What lies there, or nothing."""
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused(error, path) from None


def count(name, folder, path, found):
    """Adds what lies at and below a place to `found`: files, folders, bytes."""
    status = look(name, folder, path)
    if status is None:
        return
    if sum(found[:2]) >= MOST:
        raise Refused("TooMany", f"more than {MOST} files and folders lie below {path}")
    if not stat.S_ISDIR(status.st_mode):
        found[0] += 1
        found[2] += status.st_size if stat.S_ISREG(status.st_mode) else 0
        return
    found[1] += 1
    below = os.open(name, FOLDER, dir_fd=folder)
    try:
        for entry in os.listdir(below):
            count(entry, below, path, found)
    finally:
        os.close(below)


def act(args, ctx):
    path = args["path"]
    names = split(path)
    folder = walk(ctx.workspace, names[:-1], path)
    found = [0, 0, 0]
    try:
        if look(names[-1], folder, path) is None:
            raise Refused("NotFound", f"there is no {path} in the workspace")
        count(names[-1], folder, path, found)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join(names), "files": found[0], "folders": found[1], "bytes": found[2]}


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
