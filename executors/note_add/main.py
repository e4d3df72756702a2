"""Adds a note to the end of a notebook of the workspace, under a heading with the time, and says where it stands.

A notebook that is not there yet is made. It follows no link, and what was there before stays as it was.
"""

import errno
import json
import os
import stat
import time

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_NAME = 255
TRASH = ".trash"
MOST_BYTES = 16_000_000
# Where notes go that name no place; `fs_restore` knows it, too.
NOTEBOOK = "notes/notes.md"


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


def write_all(file, content, path):
    """Writes everything, to the disk."""
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[os.write(file, rest):]
        os.fsync(file)
    except OSError as error:
        raise refused(error, path) from None


def open_notebook(name, folder, path):
    """Opens the notebook for adding, and says whether it was made for it."""
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder), False
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise Refused("NotAFile", f"{path} is no file") from None
        raise refused(error, path) from None
    try:
        return os.open(name, flags | os.O_CREAT | os.O_EXCL, 0o640, dir_fd=folder), True
    except OSError as error:
        raise refused(error, path) from None


def entry(args, notebook, size):
    """The note as it is added: a heading of its own, so that notes stay apart."""
    now = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    heading = " ".join(args.get("heading", "").split())
    title = f"## {now} · {heading}" if heading else f"## {now}"
    between = ""
    if size:
        between = "\n" if os.pread(notebook, 1, size - 1) == b"\n" else "\n\n"
    return title, f"{between}{title}\n\n{args['text'].strip()}\n"


def act(args, ctx):
    path = args.get("path", NOTEBOOK)
    names = split(path)
    if any(name.startswith(TRASH) for name in names):
        raise Refused("PermissionDenied", f"{path} is in the trash; what lies there is kept for taking acts back")
    try:
        (args["text"] + args.get("heading", "")).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadText", "the note holds a character that no text file can have") from None
    if not args["text"].strip():
        raise Refused("BadText", "the note holds nothing but white space")
    folder = walk(ctx.workspace, names[:-1], path, make=True)
    try:
        notebook, made = open_notebook(names[-1], folder, path)
        try:
            before = os.fstat(notebook)
            if not stat.S_ISREG(before.st_mode):
                raise Refused("NotAFile", f"{path} is no file")
            title, added = entry(args, notebook, before.st_size)
            content = added.encode("utf-8")
            if before.st_size + len(content) > MOST_BYTES:
                raise Refused("TooLarge", f"{path} would have more than {MOST_BYTES} bytes")
            way_back = {"of": "note_add", "size": before.st_size, "mtime_ns": before.st_mtime_ns, "added": added, "made": made}
            record(ctx.workspace, args.get("keep", ""), way_back)
            write_all(notebook, content, path)
            after = os.fstat(notebook).st_size
            if os.pread(notebook, len(content), after - len(content)) != content:
                raise Refused("NoSpace", f"{path} does not end with the note after it was written")
        finally:
            os.close(notebook)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {
        "ok": True, "path": "/".join(names), "heading": title[3:], "made": made, "bytes_before": before.st_size, "bytes": after,
    }


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
