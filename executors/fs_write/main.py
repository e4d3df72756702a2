"""Writes one text file of the workspace, whole or not at all, and reads back what it says it wrote.

It follows no link, replaces only when it is told to, and puts what it replaces into the trash, beside it.
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


def trash_name(name, keep):
    """What it is called in the trash."""
    place = f"{TRASH}-{keep or os.urandom(8).hex()}-{name}"
    while len(place.encode("utf-8")) > LONGEST_NAME:
        place = place[:-1]
    return place


def to_trash(name, place, names, folder, path):
    """Renames what lies there, in one step and in its own folder; where it is now, below the workspace."""
    try:
        os.rename(name, place, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        raise refused(error, path) from None
    return "/".join([*names[:-1], place])


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


def act(args, ctx):
    path = args["path"]
    content = args["content"].encode("utf-8", "surrogatepass")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("BadPath", "the content holds a character that no text file can have") from None
    names = split(path)
    if any(name.startswith(TRASH) for name in names):
        raise Refused("PermissionDenied", f"{path} is in the trash; what lies there is kept for taking acts back")
    folder = walk(ctx.workspace, names[:-1], path, make=True)
    trashed = ""
    try:
        name = names[-1]
        there = look(name, folder, path)
        if there is not None:
            if not stat.S_ISREG(there.st_mode):
                raise Refused("PermissionDenied", f"{path} is there and is no file")
            if not args.get("overwrite", False):
                raise Refused("Exists", f"{path} is there already; nothing was written")
        # Beside its place first, so that half a file never stands there.
        draft = f".{os.urandom(6).hex()}.draft"
        file = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640, dir_fd=folder)
        try:
            try:
                write_all(file, content, path)
                made = seen(os.fstat(file))
            finally:
                os.close(file)
            keep = args.get("keep", "")
            before = None if there is None else there.st_ino
            record(ctx.workspace, keep, {"of": "fs_write", "made": made, "before": before})
            if there is not None:
                trashed = to_trash(name, trash_name(name, keep), names, folder, path)
            os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            if look(draft, folder, path) is not None:
                os.unlink(draft, dir_fd=folder)
            raise
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    if size != len(content):
        raise Refused("NoSpace", f"{path} has {size} bytes after writing {len(content)}")
    return {"ok": True, "path": "/".join(names), "bytes": size, "replaced": there is not None, "trashed": trashed}


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
