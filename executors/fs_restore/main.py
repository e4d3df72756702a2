"""Takes one earlier act back, by the note that the act has left, and on exactly what it has touched.

It destroys nothing and replaces nothing: what was changed since stays as it is, and that is said.
"""

import errno
import json
import os
import stat

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LONGEST_NAME = 255
TRASH = ".trash"
MOST_BYTES = 8_000_000
# Where `note_add` puts what names no place.
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


def seen(status):
    """What tells a thing from any other, and from itself after a change."""
    return {"ino": status.st_ino, "size": status.st_size, "mtime_ns": status.st_mtime_ns}


def note_of(workspace, keep, of):
    """What the act has noted before it changed anything."""
    gone = Refused("NotFound", f"the trash holds no note of this act ({keep}): it did not begin, or the trash was emptied")
    folder = walk(workspace, [], TRASH)
    try:
        trash = os.open(TRASH, FOLDER, dir_fd=folder)
    except OSError:
        raise gone from None
    finally:
        os.close(folder)
    try:
        note = os.open(f"{keep}.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=trash)
    except OSError:
        raise gone from None
    finally:
        os.close(trash)
    try:
        text = b""
        while len(text) <= MOST_BYTES:
            piece = os.read(note, 1 << 20)
            if not piece:
                break
            text += piece
    finally:
        os.close(note)
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("of") != of:
        raise Refused("Changed", f"the note of this act ({keep}) is not what {of} has written; nothing was changed")
    return found


def give(name, new_name, folder, path):
    """Gives a new name in the same folder, where nothing has that name."""
    if look(new_name, folder, path) is not None:
        raise Refused("Exists", f"something has the name {new_name} already; nothing was changed")
    try:
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        raise refused(error, path) from None


def undelete(folder, name, path, keep, note):
    kept, here = look(trash_name(name, keep), folder, path), look(name, folder, path)
    if here is not None and here.st_ino == note.get("ino"):
        return "nothing", ""
    if kept is None:
        raise Refused("NotFound", f"{path} is not in the trash any more; it cannot be brought back")
    give(trash_name(name, keep), name, folder, path)
    return "restored", ""


def unmove(folder, name, path, to, note):
    here, there = look(name, folder, path), look(to, folder, path)
    if here is not None and here.st_ino == note.get("ino"):
        return "nothing", ""
    if there is None or there.st_ino != note.get("ino"):
        raise Refused("Changed", f"{to} is not what was renamed any more; nothing was changed")
    give(to, name, folder, path)
    return "restored", ""


def unwrite(folder, name, path, keep, note):
    here, kept = look(name, folder, path), look(trash_name(name, keep), folder, path)
    before = note.get("before")
    if before is None:
        if here is None:
            return "nothing", ""
    elif here is not None and here.st_ino == before:
        return "nothing", ""
    elif kept is None:
        raise Refused("NotFound", f"what {path} was before is not in the trash any more; nothing was changed")
    aside = ""
    if here is not None:
        if seen(here) != note.get("made"):
            raise Refused("Changed", f"{path} was changed since it was written; nothing was changed back")
        aside = trash_name(f"undone-{name}", keep)
        give(name, aside, folder, path)
    if before is not None:
        give(trash_name(name, keep), name, folder, path)
    return "restored", aside


def unkeep(folder, path, keep, note):
    """Puts a file that was sent aside, under whichever name it was kept; one that was there before stays."""
    name = note.get("name")
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise Refused("Changed", f"the record of what was kept as {path} cannot be read; nothing was changed")
    if note.get("made") is None:
        return "nothing", ""
    return unwrite(folder, name, path, keep, note)


def unnote(folder, name, path, keep, note):
    """Takes a note out again; a notebook that was made for it, and holds nothing else, goes aside with it."""
    if not note.get("made"):
        return unappend(folder, name, path, note)
    added = note.get("added")
    if not isinstance(added, str):
        raise Refused("Changed", f"the record of what was noted in {path} cannot be read; nothing was changed")
    if look(name, folder, path) is None:
        return "nothing", ""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(file)
        added = added.encode("utf-8")
        if not stat.S_ISREG(status.st_mode) or status.st_size > len(added) or not added.startswith(os.pread(file, len(added), 0)):
            raise Refused("Changed", f"{path} was changed since it was made for a note; nothing was changed back")
    finally:
        os.close(file)
    aside = trash_name(f"undone-{name}", keep)
    give(name, aside, folder, path)
    return "restored", aside


def unappend(folder, name, path, note):
    added = note.get("added")
    size = note.get("size")
    if not isinstance(added, str) or not isinstance(size, int):
        raise Refused("Changed", f"the note of what was added to {path} cannot be read; nothing was changed")
    added = added.encode("utf-8")
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Refused("Changed", f"{path} is no file any more; nothing was changed")
        if status.st_size == size:
            return "nothing", ""
        if status.st_size != size + len(added) or os.pread(file, len(added), size) != added:
            raise Refused("Changed", f"{path} was changed since text was added to it; nothing was taken out")
        os.ftruncate(file, size)
        if isinstance(note.get("mtime_ns"), int):
            # As it was before: so that what was written earlier is found unchanged, too.
            os.utime(file, ns=(status.st_atime_ns, note["mtime_ns"]))
        os.fsync(file)
        if os.fstat(file).st_size != size:
            raise Refused("NoSpace", f"{path} did not become as long as it was")
    finally:
        os.close(file)
    return "restored", ""


def act(args, ctx):
    of, keep = args["of"], args["keep"]
    if "path" not in args and of != "note_add":
        raise Refused("BadPath", f"what {of} has done is taken back at a path")
    path = args.get("path", NOTEBOOK)
    names = split(path)
    to = split(args["to"]) if "to" in args else names
    if to[:-1] != names[:-1]:
        raise Refused("BadPath", f"{args['to']} lies in another folder than {path}")
    note = note_of(ctx.workspace, keep, of)
    folder = walk(ctx.workspace, names[:-1], path)
    try:
        if of == "fs_delete":
            what, aside = undelete(folder, names[-1], path, keep, note)
        elif of == "fs_move":
            what, aside = unmove(folder, names[-1], path, to[-1], note)
        elif of == "fs_write":
            what, aside = unwrite(folder, names[-1], path, keep, note)
        elif of == "inbox_add":
            what, aside = unkeep(folder, path, keep, note)
        elif of == "note_add":
            what, aside = unnote(folder, names[-1], path, keep, note)
        else:
            what, aside = unappend(folder, names[-1], path, note)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    aside = "/".join([*names[:-1], aside]) if aside else ""
    return {"ok": True, "path": "/".join(names), "what": what, "aside": aside}


def run(args, ctx):
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
