"""Puts a file that somebody has sent into the workspace, and replaces nothing.

Where a file of that name lies already, it gets a number; one with the very same content is not put there twice.
"""

import base64
import binascii
import errno
import json
import os
import stat

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_NAME = 255
TRASH = ".trash"
# How many files of one name are kept beside each other.
MOST_OF_ONE_NAME = 1_000


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


def record(workspace, keep, what):
    """Notes what `fs_restore` needs to take it back."""
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


def seen(status):
    """What tells a thing from any other, and from itself after a change."""
    return {"ino": status.st_ino, "size": status.st_size, "mtime_ns": status.st_mtime_ns}


def write_all(file, content, path):
    """Writes everything, to the disk."""
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[os.write(file, rest):]
        os.fsync(file)
    except OSError as error:
        raise refused(error, path) from None


def numbered(name, number):
    """The name with a number before its ending: `a.pdf`, `a (2).pdf`."""
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    mark = f" ({number})"
    while len(f"{stem}{mark}{dot}{ending}".encode("utf-8")) > LONGEST_NAME and stem:
        stem = stem[:-1]
    return f"{stem}{mark}{dot}{ending}"


def holds(name, folder, content):
    """Whether a file with exactly this content lies there."""
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return False
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size != len(content):
            return False
        read = b""
        while len(read) < len(content):
            piece = os.read(file, len(content) - len(read))
            if not piece:
                break
            read += piece
        return read == content
    finally:
        os.close(file)


def put(workspace, folder, name, content, path, keep):
    """Puts the content there under the first name that is free; that name, and whether it was there already."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    for number in range(1, MOST_OF_ONE_NAME + 1):
        place = numbered(name, number)
        try:
            file = os.open(place, flags, 0o640, dir_fd=folder)
        except FileExistsError:
            if holds(place, folder, content):
                record(workspace, keep, {"of": "inbox_add", "name": place, "made": None, "before": None})
                return place, True
            continue
        try:
            try:
                write_all(file, content, path)
                made = seen(os.fstat(file))
            finally:
                os.close(file)
            record(workspace, keep, {"of": "inbox_add", "name": place, "made": made, "before": None})
        except BaseException:
            # Half a file is none.
            os.unlink(place, dir_fd=folder)
            raise
        return place, False
    raise Refused("Exists", f"{MOST_OF_ONE_NAME} files of the name {path} are there already")


def act(args, ctx):
    path = args["path"]
    try:
        content = base64.b64decode(args["content"], validate=True)
    except (binascii.Error, ValueError):
        raise Refused("BadContent", "the content is not written in base64") from None
    names = split(path)
    if any(name.startswith(TRASH) for name in names):
        raise Refused("PermissionDenied", f"{path} is in the trash; what lies there is kept for taking acts back")
    folder = walk(ctx.workspace, names[:-1], path, make=True)
    try:
        name, was_there = put(ctx.workspace, folder, names[-1], content, path, args.get("keep", ""))
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join([*names[:-1], name]), "bytes": size, "was_there": was_there}


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
