"""Lists one folder of the workspace, and says honestly what is missing from the list.

It walks down from the workspace folder by folder, follows no link and opens no file.
"""

import errno
import os
import stat

DEFAULT_LIMIT = 200
LONGEST_NAME = 255
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def split(path):
    """The names that lead from the workspace to the folder; none for the workspace itself."""
    if "\0" in path:
        raise Refused("BadPath", "the path holds a NUL character, which no file name can have")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadPath", "the path holds a character that no file name can have") from None
    if path.startswith(("/", "~/")) or path == "~":
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name the folder from there, such as notes")
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
    return names


def why_not(error, path, name, folder):
    """Turns what the kernel said into an error of the contract."""
    if error.errno == errno.ENOENT:
        return Refused("NotFound", f"there is no {path} in the workspace")
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        try:
            mode = os.lstat(name, dir_fd=folder).st_mode
        except OSError:
            mode = 0
        if stat.S_ISLNK(mode):
            return Refused("PermissionDenied", f"{name} in {path} is a link, and links are not followed")
        return Refused("NotAFolder", f"{name} in {path} is not a folder")
    if error.errno == errno.ENAMETOOLONG:
        return Refused("BadPath", "the path is too long")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused("PermissionDenied", f"the file system does not let {path} be listed")
    return None


def open_below(workspace, names, path):
    """Opens the folder by walking down to it."""
    folder = os.open(workspace, FOLDER)
    for name in names:
        try:
            below = os.open(name, FOLDER, dir_fd=folder)
        except OSError as error:
            refused = why_not(error, path, name, folder)
            os.close(folder)
            if refused is None:
                raise
            raise refused from None
        os.close(folder)
        folder = below
    return folder


def describe(name, folder):
    """One entry of the list, or nothing when it cannot be described."""
    try:
        name.encode("utf-8")
        status = os.lstat(name, dir_fd=folder)
    except (OSError, UnicodeEncodeError):
        return None
    if stat.S_ISREG(status.st_mode):
        return {"name": name, "kind": "file", "size": status.st_size}
    if stat.S_ISDIR(status.st_mode):
        return {"name": name, "kind": "folder", "size": 0}
    if stat.S_ISLNK(status.st_mode):
        return {"name": name, "kind": "link", "size": 0}
    return {"name": name, "kind": "other", "size": 0}


def run(args, ctx):
    path = args.get("path", ".")
    limit = args.get("limit", DEFAULT_LIMIT)
    try:
        names = split(path)
        folder = open_below(ctx.workspace, names, path)
    except Refused as refused:
        return {"ok": False, "error": {"class": refused.error_class, "message": str(refused)}}
    try:
        found = sorted(os.listdir(folder))
        entries = []
        failed = 0
        looked_at = 0
        for name in found:
            if len(entries) == limit:
                break
            looked_at += 1
            entry = describe(name, folder)
            if entry is None:
                failed += 1
            else:
                entries.append(entry)
    finally:
        os.close(folder)
    return {
        "ok": True,
        "path": "/".join(names) or ".",
        "entries": entries,
        "total": len(found),
        "returned": len(entries),
        "truncated": looked_at < len(found),
        "failed": failed,
    }
