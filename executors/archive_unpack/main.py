"""Unpacks an archive of the workspace (ZIP, TAR or TAR.GZ) into a new folder beside it: all of it, or nothing.

An archive that holds a link, a device, a name that leads out of the folder or stands twice, or more than one call may write, is
refused as a whole. What is unpacked stands under the name of a draft until all of it is there.
"""

import errno
import gzip
import os
import stat
import tarfile
import time
import zipfile
import zlib

from metnos_documents import opened
from metnos_files import (
    DRAFT, DRAFT_DEAD, DRAFT_END, DRAFT_RANDOM, FILE_MODE, FOLDER_MODE, LONGEST_NAME, NEW, Refused, answer, beside, is_draft,
    look, one_name, record, refused, rename_new, same, walk_to, write_all,
)
from metnos_walk import descend, state

MOST_BYTES = 64_000_000
# What a call may write (docs/sandbox.md), less some room for the records.
MOST_ENTRIES, MOST_OUT, MOST_ONE, MOST_DEPTH = 900, 30_000_000, 15_000_000, 30
# How much of the whole of a compressed TAR is unpacked while it is read: names and headers come on top.
MOST_STREAM = MOST_OUT + 2 * MOST_ENTRIES * 1024
PIECE = 1 << 16
MOST_SWEPT = 8
#: What the libraries say of an archive that is not what it should be.
BROKEN = (
    zipfile.BadZipFile, zipfile.LargeZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError,
    ValueError, KeyError,
)


class Entry:
    """One entry of an archive: the names that lead to it, whether it is a folder, how large it says to be, and how to read it."""

    def __init__(self, names, folder, size, read):
        self.names, self.folder, self.size, self.read = names, folder, size, read


def names_of(text, path):
    """The names that lead to an entry; refuses every name that could lead elsewhere."""
    bad = Refused("BadArchive", f"{path} holds an entry with the name {text[:100]!r}, which leads out of its folder or is no name; nothing was unpacked")
    if not text or text.startswith(("/", "\\", "~")) or "\0" in text or "\\" in text or text[1:2] == ":":
        raise bad
    names = [name for name in text.split("/") if name not in ("", ".")]
    try:
        too_long = any(len(name.encode("utf-8")) > LONGEST_NAME for name in names)
    except UnicodeEncodeError:
        raise bad from None
    if ".." in names or too_long or any(is_draft(name) or name.startswith(".trash") for name in names):
        raise bad
    if len(names) > MOST_DEPTH:
        raise Refused("BadArchive", f"{path} holds folders more than {MOST_DEPTH} deep; nothing was unpacked")
    return names


def zip_entries(file, path):
    """The entries of a ZIP archive."""
    archive = zipfile.ZipFile(os.fdopen(file, "rb", closefd=False))
    parts = archive.infolist()
    if len(parts) > MOST_ENTRIES:
        raise Refused("TooLarge", f"{path} holds {len(parts)} entries; at most {MOST_ENTRIES} can be unpacked")
    found = []
    for part in parts:
        kind = stat.S_IFMT(part.external_attr >> 16)
        if part.flag_bits & 1:
            raise Refused("Locked", f"{path} is locked with a password")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise Refused("BadArchive", f"{path} holds a link or a device, {part.filename[:100]!r}; nothing was unpacked")
        found.append(Entry(names_of(part.filename, path), part.is_dir(), part.file_size, lambda part=part: archive.open(part)))
    return found


class Stream:
    """A compressed TAR that is read no further than its bounds."""

    def __init__(self, file, path):
        self.inner, self.path = gzip.GzipFile(fileobj=os.fdopen(file, "rb", closefd=False)), path

    def read(self, count):
        piece = self.inner.read(count)
        if self.inner.tell() > MOST_STREAM:
            raise Refused("TooLarge", f"{self.path} holds more than {MOST_OUT} bytes, which is more than can be unpacked at once")
        return piece


def tar_entries(file, path, compressed):
    """The entries of a TAR archive, one after the other: each must be read before the next is asked for."""
    source = {"fileobj": Stream(file, path), "mode": "r|"} if compressed else {"fileobj": os.fdopen(file, "rb", closefd=False), "mode": "r:"}
    archive = tarfile.open(**source)
    for number, part in enumerate(archive, 1):
        if number > MOST_ENTRIES:
            raise Refused("TooLarge", f"{path} holds more than {MOST_ENTRIES} entries")
        if not part.isreg() and not part.isdir():
            raise Refused("BadArchive", f"{path} holds a link or a device, {part.name[:100]!r}; nothing was unpacked")
        yield Entry(names_of(part.name, path), part.isdir(), part.size, lambda part=part: archive.extractfile(part))


def entries(file, path):
    """The entries of an archive, of whichever kind it is."""
    head = os.pread(file, 512, 0)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return zip_entries(file, path)
    if head.startswith(b"\x1f\x8b"):
        return tar_entries(file, path, True)
    if head[257:262] == b"ustar":
        return tar_entries(file, path, False)
    raise Refused("NotAnArchive", f"{path} is no archive of a kind that I can unpack: ZIP, TAR or TAR.GZ")


class Unpacking:
    """The folder that is made of an archive."""

    def __init__(self, folder, path, ctx):
        self.folder, self.path, self.ctx = folder, path, ctx
        self.name = f"{DRAFT}{os.urandom(DRAFT_RANDOM // 2).hex()}{DRAFT_END}"
        os.mkdir(self.name, FOLDER_MODE, dir_fd=folder)
        self.files = self.bytes = self.made = 0

    def into(self, names):
        """Opens the folder for an entry, which is made where it is missing."""
        here = descend(self.folder, [self.name])
        for name in names:
            try:
                os.mkdir(name, FOLDER_MODE, dir_fd=here)
                self.made += 1
            except FileExistsError:
                pass
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = below
        if self.made + self.files > MOST_ENTRIES:
            raise Refused("TooLarge", f"{self.path} holds more than {MOST_ENTRIES} files and folders")
        return here

    def pieces(self, entry):
        """What is in an entry, as long as it is as much as it says and not too much."""
        size = 0
        with entry.read() as source:
            while piece := source.read(PIECE):
                size, self.bytes = size + len(piece), self.bytes + len(piece)
                if size > MOST_ONE or self.bytes > MOST_OUT:
                    raise Refused("TooLarge", f"{self.path} holds more than {MOST_OUT} bytes, or a file of more than {MOST_ONE}")
                if size > entry.size:
                    break
                yield piece
        if size != entry.size:
            raise Refused("BadArchive", f"{self.path} holds an entry of another size than it says; nothing was unpacked")

    def add(self, entry):
        if entry.folder:
            os.close(self.into(entry.names))
            return
        if not entry.names:
            raise Refused("BadArchive", f"{self.path} holds a file without a name; nothing was unpacked")
        here = self.into(entry.names[:-1])
        try:
            file = os.open(entry.names[-1], NEW, FILE_MODE, dir_fd=here)
            try:
                write_all(file, self.pieces(entry), self.path)
                if os.fstat(file).st_size != entry.size:
                    raise Refused("NoSpace", f"{'/'.join(entry.names)} did not become as long as it is")
            finally:
                os.close(file)
        except FileExistsError:
            raise Refused("BadArchive", f"{self.path} holds {'/'.join(entry.names)[:100]!r} twice; nothing was unpacked") from None
        finally:
            os.close(here)
        self.files += 1
        if self.files % 16 == 0:
            self.ctx.progress(self.files)


def remove(folder, name):
    """Removes a folder that was made here, and all in it."""
    pending = [[name]]
    empty = []
    while pending:
        names = pending.pop()
        empty.append(names)
        here = descend(folder, names)
        try:
            for below in os.listdir(here):
                if stat.S_ISDIR(os.lstat(below, dir_fd=here).st_mode):
                    pending.append([*names, below])
                else:
                    os.unlink(below, dir_fd=here)
        finally:
            os.close(here)
    for names in reversed(empty):
        above = descend(folder, names[:-1])
        try:
            os.rmdir(names[-1], dir_fd=above)
        finally:
            os.close(above)


def sweep(folder):
    """Removes what killed calls have left of what they unpacked in this folder."""
    swept = 0
    with os.scandir(folder) as listed:
        old = [entry.name for entry in listed if is_draft(entry.name) and entry.is_dir(follow_symlinks=False)]
    for name in old:
        status = os.lstat(name, dir_fd=folder)
        if swept < MOST_SWEPT and status.st_uid == os.getuid() and time.time() - status.st_mtime > DRAFT_DEAD:
            swept += 1
            try:
                remove(folder, name)
            except OSError:
                # The next call tries again.
                continue


def unpack(file, path, made, folder, args, ctx):
    """Unpacks all of it under the name of a draft, and gives that its name; what was made."""
    shown = "/".join(made)
    if look(made[-1], folder, shown) is not None:
        raise Refused("Exists", f"{shown} is there already; nothing was unpacked")
    sweep(folder)
    unpacking = Unpacking(folder, path, ctx)
    placed = False
    try:
        for entry in entries(file, path):
            unpacking.add(entry)
        if not unpacking.files and not unpacking.made:
            raise Refused("BadArchive", f"there is nothing in {path}")
        status = os.lstat(unpacking.name, dir_fd=folder)
        note = {"ino": status.st_ino, "state": state(unpacking.name, folder, shown)}
        record(ctx.workspace, args.get("keep", ""), path, {"of": "archive_unpack", "name": made[-1], "made": note})
        if not rename_new(unpacking.name, made[-1], folder, shown):
            raise Refused("Exists", f"{shown} was made by others at this very moment; nothing was unpacked")
        placed = True
        if not same(status, look(made[-1], folder, shown)) or state(made[-1], folder, shown) != note["state"]:
            raise Refused("NoSpace", f"{shown} is not what was unpacked")
    finally:
        if not placed:
            remove(folder, unpacking.name)
    return unpacking


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        size = one_name(file, path).st_size
        if size > MOST_BYTES:
            raise Refused("TooLarge", f"{path} has {size} bytes; at most {MOST_BYTES} can be unpacked")
        made = beside(names, args["to"])
        folder = walk_to(ctx.workspace, names[:-1], path)
        try:
            unpacking = unpack(file, path, made, folder, args, ctx)
        except BROKEN as error:
            raise Refused("BadArchive", f"{path} is broken: {error}; nothing was unpacked"[:500]) from None
        except OSError as error:
            if error.errno == errno.EINVAL:
                raise Refused("BadArchive", f"{path} is broken: it names a place before its beginning; nothing was unpacked") from None
            raise refused(error, path) from None
        finally:
            os.close(folder)
    finally:
        os.close(file)
    return {"ok": True, "path": "/".join(names), "made": "/".join(made), "files": unpacking.files, "bytes": unpacking.bytes}


def run(args, ctx):
    return answer(act, args, ctx)
