"""Renames one file or folder of the workspace within its folder, in one step, and looks that it has arrived.

It follows no link and replaces nothing that is there.
"""

import errno
import json
import os
import stat

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_NAME = 255
TRASH = ".trash"


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


def why_not(error, path, what="be changed"):
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


def walk(workspace, names, path, make=False):
    """Opens the folder that `names` lead to, step by step, following no link; makes what is missing when told to."""
    folder = os.open(workspace, FOLDER)
    try:
        for name in names:
            if make:
                try:
                    os.mkdir(name, 0o750, dir_fd=folder)
                except FileExistsError:
                    pass
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


def same(one, other):
    """Whether two looks were at one thing."""
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def record(workspace, keep, what):
    """Notes, before anything is changed, what `fs_restore` needs to take it back."""
    if not keep:
        return
    body = json.dumps(what, ensure_ascii=True).encode("ascii")
    try:
        root = os.open(workspace, FOLDER)
        try:
            try:
                os.mkdir(TRASH, 0o700, dir_fd=root)
            except FileExistsError:
                pass
            trash = os.open(TRASH, FOLDER, dir_fd=root)
        finally:
            os.close(root)
        try:
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            note = os.open(f"{keep}.json", flags, 0o600, dir_fd=trash)
            try:
                rest = memoryview(body)
                while rest:
                    rest = rest[os.write(note, rest):]
                os.fsync(note)
            finally:
                os.close(note)
            os.fsync(trash)
        finally:
            os.close(trash)
    except OSError as error:
        raise refused(error, TRASH) from None


def act(args, ctx):
    path, to = args["path"], args["to"]
    names, targets = split(path), split(to)
    # What lies in the trash may be given a name outside of it, and that is all.
    if TRASH in names or any(name.startswith(TRASH) for name in targets):
        raise Refused("PermissionDenied", f"{path} to {to} is about the trash; what lies there is kept for taking acts back")
    if targets == names:
        raise Refused("BadPath", f"{to} is {path} itself")
    if targets[:-1] != names[:-1]:
        raise Refused("OtherFolder", f"{to} lies in another folder than {path}; this only gives a new name")
    folder = walk(ctx.workspace, names[:-1], path)
    try:
        what = look(names[-1], folder, path)
        if what is None:
            raise Refused("NotFound", f"there is no {path} in the workspace")
        if look(targets[-1], folder, to) is not None:
            raise Refused("Exists", f"{to} is there already; nothing was renamed")
        record(ctx.workspace, args.get("keep", ""), {"of": "fs_move", "ino": what.st_ino})
        os.rename(names[-1], targets[-1], src_dir_fd=folder, dst_dir_fd=folder)
        if not same(what, look(targets[-1], folder, to)) or same(what, look(names[-1], folder, path)):
            raise Refused("NotFound", f"{path} did not arrive at {to}")
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    kind = "file" if stat.S_ISREG(what.st_mode) else "folder" if stat.S_ISDIR(what.st_mode) else "other"
    return {"ok": True, "path": "/".join(names), "to": "/".join(targets), "kind": kind}


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
