"""Fetches one file of the workspace, of any kind, as bytes in base64, or says exactly why not.

It walks down from the workspace folder by folder and follows no link, so the file that is
opened is the file that was named.
"""

import base64
import errno
import os
import stat

# `hashlib` would load OpenSSL's library, which is not part of this sandbox, and cost more than the reading.
try:
    from _sha256 import sha256
except ImportError:
    try:
        from _sha2 import sha256
    except ImportError:
        from hashlib import sha256

# In base64 it fits into one result.
MOST_BYTES = 3_000_000
LONGEST_NAME = 255

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for a writer for ever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def split(path):
    """The names that lead from the workspace to the file."""
    if "\0" in path:
        raise Refused("BadPath", "the path holds a NUL character, which no file name can have")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadPath", "the path holds a character that no file name can have") from None
    if path.startswith(("/", "~/")) or path == "~":
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name the file from there, such as notes/welcome.md")
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
    if path.endswith("/") or path.endswith("/.") or not names:
        raise Refused("NotAFile", f"{path} names a folder; name a file")
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
        return Refused("NotFound", f"there is no {path} in the workspace: {name} is not a folder")
    if error.errno == errno.ENAMETOOLONG:
        return Refused("BadPath", "the path is too long")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return Refused("NotAFile", f"{path} is a socket or a device, not a file")
    if error.errno in (errno.EACCES, errno.EPERM):
        return Refused("PermissionDenied", f"the file system does not let {path} be read")
    return None


def open_below(workspace, names, path):
    """Opens the file by walking down to it."""
    folder = os.open(workspace, FOLDER)
    try:
        for depth, name in enumerate(names, 1):
            last = depth == len(names)
            try:
                below = os.open(name, FILE if last else FOLDER, dir_fd=folder)
            except OSError as error:
                refused = why_not(error, path, name, folder)
                if refused is None:
                    raise
                raise refused from None
            os.close(folder)
            folder = below
        opened, folder = folder, None
        return opened
    finally:
        if folder is not None:
            os.close(folder)


def read_file(file, path):
    """The bytes of an opened file that is a file and not too large."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "no file")
        raise Refused("NotAFile", f"{path} is {kind}, not a file")
    too_large = Refused("TooLarge", f"{path} has {status.st_size} bytes; at most {MOST_BYTES} can be sent")
    if status.st_size > MOST_BYTES:
        raise too_large
    parts = []
    left = MOST_BYTES + 1
    while left:
        part = os.read(file, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    if not left:
        # It has grown since it was measured.
        raise too_large
    return b"".join(parts)


def run(args, ctx):
    path = args["path"]
    try:
        names = split(path)
        file = open_below(ctx.workspace, names, path)
        try:
            data = read_file(file, path)
        finally:
            os.close(file)
    except Refused as refused:
        return {"ok": False, "error": {"class": refused.error_class, "message": str(refused)}}
    return {
        "ok": True,
        "path": "/".join(names),
        "content": base64.b64encode(data).decode("ascii"),
        "size": len(data),
        "sha": sha256(data).hexdigest(),
    }
