"""Breaks documents in thousands of ways, and looks whether the executors that read them still end as their contract says.

`broken.py EXECUTORS PAPERS SEED COUNT` runs their code as it is, with the file library around it and without a sandbox. It
prints a line for each exception that is not an error class of the contract, and for each draft file that remains.
"""

import gzip
import io
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
import types
import zipfile
from pathlib import Path

LIBRARY = ("files", "walk", "find", "programs", "documents", "tables")
READ_BY = {
    "doc_text": ("insurance.docx", "garanzia.odt"),
    "table_read": ("budget.xlsx", "conti.ods"),
    "table_convert": ("budget.xlsx", "conti.ods", "rows.json", "rows.csv"),
    "image_info": ("sea.jpg", "sea.png", "sea.webp", "sea.tif"),
    "archive_unpack": ("pictures.zip", "links.tar.gz", "files.tar"),
}
MADE = {"table_convert": "made.csv", "archive_unpack": "made"}
# What holds most of what is read.
CONTENT = ("document.xml", "content.xml", "sheet1.xml", "sharedStrings.xml", "styles.xml", "workbook.xml")
PLACES = (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"9999", b"-1e9")
CALL_S = 30


def load(name, path):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(path.read_text("utf-8"), str(path), "exec"), module.__dict__)
    return module


def rename_new(folder, name, new_folder, new_name):
    """The rename of the seal, which never replaces."""
    try:
        os.stat(new_name, dir_fd=new_folder, follow_symlinks=False)
    except FileNotFoundError:
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)
        return 0
    return -17


class Context:
    """What an executor may know of its surroundings."""

    def __init__(self, workspace):
        self.workspace, self.commands = str(workspace), {}
        self.deadline = time.monotonic() + CALL_S

    def remaining(self):
        return self.deadline - time.monotonic()

    def progress(self, *_):
        pass


def broken(chance, data):
    """Some bytes changed, doubled, put in or left out."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        if not data:
            break
        at, other = chance.randrange(len(data)), chance.randrange(len(data))
        kind = chance.randrange(6)
        if kind == 0:
            data[at] = chance.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[at:at + chance.randrange(1, 40)]
        elif kind == 3:
            data[at:at] = chance.randbytes(chance.randrange(1, 8))
        elif kind == 4:
            data[at:at] = data[other:other + chance.randrange(1, 60)]
        else:
            data[at:at + 4] = chance.choice(PLACES)
    return bytes(data)


def broken_file(chance, data):
    """A file that is broken inside of what it is packed in, or outside of it."""
    if chance.random() < 0.3:
        return broken(chance, data)
    if data.startswith(b"PK"):
        packed = zipfile.ZipFile(io.BytesIO(data))
        names = packed.namelist()
        hit = chance.choice([name for name in names if name.endswith(CONTENT)] or names)
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as again:
            for name in names:
                again.writestr(name, broken(chance, packed.read(name)) if name == hit else packed.read(name))
        return made.getvalue()
    if data.startswith(b"\x1f\x8b"):
        return gzip.compress(broken(chance, gzip.decompress(data)), 1)
    return broken(chance, data)


def main(executors, papers, seed, count):
    for name in LIBRARY:
        load(f"metnos_{name}", executors / "host" / f"{name}.py")
    sys.modules["metnos_files"]._rename = rename_new
    mains = {name: load(f"main_{name}", executors / name / "main.py") for name in READ_BY}
    whole = {name: (papers / name).read_bytes() for names in READ_BY.values() for name in names}
    workspace = Path(tempfile.mkdtemp())
    chance, said = random.Random(seed), set()
    for number in range(count):
        name = chance.choice(list(READ_BY))
        paper = chance.choice(READ_BY[name])
        (workspace / paper).write_bytes(broken_file(chance, whole[paper]))
        try:
            result = mains[name].run({"path": paper, "to": MADE.get(name, "")}, Context(workspace))
            if not isinstance(result.get("ok"), bool):
                said.add(f"{name} {paper}: {result}")
        except Exception:
            said.add(f"{name} {paper}: {' | '.join(traceback.format_exc().splitlines()[-3:])}")
        left = [one for one in os.listdir(workspace) if one.startswith(".metnos-")]
        said.update(f"{name} {paper}: left {one[:8]}… behind" for one in left)
        for one in workspace.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    workspace.rmdir()
    print(*sorted(said), sep="\n", end="")


main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
