"""Packs a file or a folder of the workspace into a new ZIP archive beside it, and reads it back before it says so.

It follows no link, leaves out what is hidden and what is named like a secret, and replaces nothing.
"""

import io
import os
import stat
import time
import zipfile

from metnos_files import (
    FILE, FOLDER, Refused, answer, beside, is_secret_content, is_secret_name, look, one_name, place_new, split_change, walk_to,
)
from metnos_walk import Walk

# What one archive may hold, and how large it may become: a call writes no more.
MOST_ENTRIES, MOST_IN, MOST_OUT = 5_000, 64_000_000, 15_000_000
MOST_DEPTH, MOST_CPU = 64, 20
PIECE = 1 << 18
# The earliest time that a ZIP archive can hold.
EARLIEST = (1980, 1, 1, 0, 0, 0)


class Sizes(io.BytesIO):
    """What is packed, as long as it is not too much."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def write(self, piece):
        if self.tell() + len(piece) > MOST_OUT:
            raise Refused("TooLarge", f"the archive of {self.path} would have more than {MOST_OUT} bytes")
        return super().write(piece)


class Packing:
    """One archive, as it is made."""

    def __init__(self, path, ctx):
        self.path, self.ctx = path, ctx
        self.out = Sizes(path)
        self.archive = zipfile.ZipFile(self.out, "w", zipfile.ZIP_DEFLATED)
        self.files = self.skipped = self.bytes = 0

    def entry(self, name, status):
        when = max(EARLIEST, time.gmtime(status.st_mtime)[:6])
        info = zipfile.ZipInfo(name, when)
        info.external_attr = (stat.S_IFREG | 0o640) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        return info

    def add_folder(self, name, status):
        info = self.entry(f"{name}/", status)
        info.external_attr = (stat.S_IFDIR | 0o750) << 16 | 0x10
        info.compress_type = zipfile.ZIP_STORED
        self.archive.writestr(info, b"")

    def add(self, file, name, path):
        """Adds an open file; what is a secret, or has a second name, is left out."""
        status = os.fstat(file)
        secret = is_secret_content(os.pread(file, 256, 0)) if stat.S_ISREG(status.st_mode) else True
        if secret or status.st_nlink > 1:
            self.skipped += 1
            return
        with self.archive.open(self.entry(name, status), "w") as into:
            while piece := os.read(file, PIECE):
                self.bytes += len(piece)
                if self.bytes > MOST_IN:
                    raise Refused("TooLarge", f"{path} and what comes before it have more than {MOST_IN} bytes")
                into.write(piece)
        one_name(file, path)
        self.files += 1


def pack_folder(packing, folder, names, ctx):
    """Packs a folder with all that people mean by what is in it; how many of its entries were left out, and why it stopped."""
    top = names[-1]
    walk = Walk(folder, names, ctx, deepest=MOST_DEPTH, most=MOST_ENTRIES, cpu=MOST_CPU)
    above = len("/".join(names)) + 1
    packing.add_folder(top, os.fstat(folder))
    for path, name, inside, status in walk.entries():
        below = f"{top}/{path[above:]}"
        if stat.S_ISDIR(status.st_mode):
            packing.add_folder(below, status)
        elif stat.S_ISREG(status.st_mode):
            try:
                file = os.open(name, FILE, dir_fd=inside)
            except OSError:
                walk.failed += 1
                continue
            try:
                packing.add(file, below, path)
            finally:
                os.close(file)
        else:
            packing.skipped += 1
        if packing.files % 16 == 0:
            ctx.progress(packing.files)
    if walk.stopped or walk.failed:
        why = walk.why or "something in it could not be read"
        raise Refused("TooMany", f"{packing.path} is not packed: {why}")
    return walk.omitted


def pack(names, path, folder, ctx):
    """The finished archive, and how many entries were omitted because of their names."""
    name, packing = names[-1], Packing(path, ctx)
    there = look(name, folder, path)
    if there is None:
        raise Refused("NotFound", f"there is no {path} in the workspace")
    omitted = 0
    if stat.S_ISDIR(there.st_mode):
        opened = os.open(name, FOLDER, dir_fd=folder)
        try:
            omitted = pack_folder(packing, opened, names, ctx)
        finally:
            os.close(opened)
    elif not stat.S_ISREG(there.st_mode) or is_secret_name(name):
        raise Refused("PermissionDenied", f"{path} is no plain file, or is named like a secret; it is not packed")
    else:
        opened = os.open(name, FILE, dir_fd=folder)
        try:
            one_name(opened, path)
            packing.add(opened, name, path)
        finally:
            os.close(opened)
    packing.archive.close()
    return packing, omitted


def act(args, ctx):
    path = args["path"]
    names = split_change(path)
    if names[0] == "people" and len(names) < 3:
        raise Refused("PermissionDenied", "a private folder is not packed as a whole: the archive would lie outside of it")
    made = beside(names, args["to"])
    if not made[-1].casefold().endswith(".zip"):
        raise Refused("BadPath", f"{'/'.join(made)} must end in .zip: that is what I can pack")
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        packing, omitted = pack(names, path, folder, ctx)
        content = packing.out.getvalue()
        place_new(folder, content, made, path, "archive_pack", args, ctx)
    finally:
        os.close(folder)
    return {
        "ok": True, "path": "/".join(names), "made": "/".join(made), "files": packing.files, "bytes": len(content),
        "skipped": packing.skipped + omitted,
    }


def run(args, ctx):
    return answer(act, args, ctx)
