"""Takes one earlier act back, by the note that the act has left, and on exactly what it has touched.

It destroys nothing and replaces nothing: what was changed since stays as it is, and that is said.
"""

import json
import os
import stat
import time

from metnos_files import MOST_LOCKED, TRASH, Draft, Refused, answer, is_draft, lock, look, read_whole, refused, rename_new, seen, split, trash_name, walk_to
from metnos_walk import state

MOST_BYTES = 8_000_000
# The largest file that lines are taken out of where others have added to it since.
MOST_SHARED = 16_000_000
# Where these put what names no place.
USUAL = {"note_add": "notes/notes.md", "contact_add": "notes/contacts.md", "attachment_add": "inbox/attachment"}


def open_note(workspace, names, keep):
    """Opens the note of an act in the trash of this folder; nothing when it is not there."""
    try:
        trash = walk_to(workspace, [*names, TRASH], TRASH)
    except Refused:
        return None
    try:
        return os.open(f"{keep}.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=trash)
    except OSError:
        return None
    finally:
        os.close(trash)


def note_of(workspace, names, keep, of):
    """What the act has noted before it changed anything: at the top of the workspace, or of what its call was shown."""
    notes = (open_note(workspace, names[:depth], keep) for depth in range(len(names)))
    note = next((note for note in notes if note is not None), None)
    if note is None:
        raise Refused("NotFound", f"the trash holds no note of this act ({keep}): it did not begin, or the trash was emptied")
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
    if not rename_new(name, new_name, folder, path):
        raise Refused("Exists", f"something has the name {new_name} already; nothing was changed")


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


def gone(folder, made, path):
    """Says so when what was made there has another name in its folder now: it is not nothing that there is to take back."""
    number = made.get("ino") if isinstance(made, dict) else None
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.inode() == number and not is_draft(entry.name):
                raise Refused("Changed", f"what was made as {path} is called {entry.name} now; nothing was changed")
    return "nothing", ""


def unwrite(folder, name, path, keep, note):
    here, kept = look(name, folder, path), look(trash_name(name, keep), folder, path)
    before = note.get("before")
    if before is None:
        if here is None:
            return gone(folder, note.get("made"), path)
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
    if before is not None and not rename_new(trash_name(name, keep), name, folder, path):
        where = f"what it was before is {trash_name(name, keep)}" + (f", and what was written {aside}" if aside else "")
        raise Refused("Exists", f"{path} was made anew by others at this very moment; {where}")
    return "restored", aside


def unmake(folder, path, keep, note):
    """Puts aside what was made beside something; a folder only when all in it is as it was made."""
    name = note.get("name")
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise Refused("Changed", f"the record of what was made of {path} cannot be read; nothing was changed")
    here, aside = look(name, folder, name), trash_name(f"undone-{name}", keep)
    made = note.get("made") if isinstance(note.get("made"), dict) else {}
    before = look(aside, folder, name)
    if before is not None and before.st_ino == made.get("ino"):
        return "nothing", aside
    if here is None or here.st_ino != made.get("ino"):
        return gone(folder, made, name)
    is_folder = stat.S_ISDIR(here.st_mode)
    if is_folder and state(name, folder, name) != made.get("state") or not is_folder and seen(here) != made:
        raise Refused("Changed", f"{name} was changed since it was made; nothing was changed back")
    give(name, aside, folder, name)
    return "restored", aside


def unkeep(folder, path, keep, note):
    """Puts a file that was sent aside, under whichever name it was kept; one that was there before stays."""
    name = note.get("name")
    if not isinstance(name, str) or "/" in name or name in ("", ".", ".."):
        raise Refused("Changed", f"the record of what was kept as {path} cannot be read; nothing was changed")
    if note.get("made") is None:
        return "nothing", ""
    return unwrite(folder, name, path, keep, note)


def unnote(folder, name, path, keep, note, ctx):
    """Takes what was added out again; a file that was made for it, and holds nothing else, goes aside with it."""
    if not note.get("made"):
        return unappend(folder, name, path, keep, note, ctx)
    added = note.get("added")
    if not isinstance(added, str):
        raise Refused("Changed", f"the record of what was noted in {path} cannot be read; nothing was changed")
    if look(name, folder, path) is None:
        return gone(folder, note, path)
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        status = os.fstat(file)
        added = added.encode("utf-8")
        other = note.get("ino") not in (status.st_ino, None)
        is_short = stat.S_ISREG(status.st_mode) and status.st_size <= len(added)
        if note.get("of") == "fs_append" and not is_short:
            return unappend(folder, name, path, keep, note, ctx)
        if other or not is_short or not added.startswith(os.pread(file, len(added), 0)):
            raise Refused("Changed", f"{path} was changed since it was made for this; nothing was changed back")
    finally:
        os.close(file)
    aside = trash_name(f"undone-{name}", keep)
    give(name, aside, folder, path)
    return "restored", aside


def own_lines(data, added, at):
    """Where the lines that were added stand, when others have added theirs behind them: whole lines, as they were added, where they were
    put or, once something before them was taken out, nearer to the top. Nothing when that is not certain."""
    lines = added.removeprefix(b"\n")
    if not lines.endswith(b"\n"):
        return None

    def stands(place):
        return (place == 0 or data[place - 1:place] == b"\n") and data.startswith(lines, place)

    put = at + len(added) - len(lines)
    if not stands(put):
        places, place = [], data.find(lines)
        while place >= 0 and len(places) < 2:
            places += [place] if stands(place) else []
            place = data.find(lines, place + 1)
        if len(places) != 1 or places[0] > put:
            return None
        put = places[0]
    # An empty line that was put before them, as in a notebook, goes with them.
    begin = put - 1 if added.startswith(b"\n") and put > 1 and data[put - 2:put] == b"\n\n" else put
    return begin, put + len(lines)


def take_out(file, data, folder, name, path, keep, span):
    """Takes a part out of an open and locked file, of which a copy stays aside: the file stays the same one, so that what others have
    added can be taken back by them."""
    begin, end = span
    aside = trash_name(f"undone-{name}", keep)
    with Draft(folder, data, path) as draft:
        if os.fstat(file).st_size != len(data):
            raise Refused("Changed", f"{path} was changed by others at this very moment; nothing was taken out")
        if not draft.place(aside):
            raise Refused("Exists", f"something has the name {aside} already; nothing was changed")
    rest, at = data[end:], begin
    while rest:
        wrote = os.pwrite(file, rest, at)
        rest, at = rest[wrote:], at + wrote
    os.ftruncate(file, at)
    os.fsync(file)
    return aside


def unappend(folder, name, path, keep, note, ctx):
    added = note.get("added")
    size = note.get("size")
    if not isinstance(added, str) or not isinstance(size, int):
        raise Refused("Changed", f"the note of what was added to {path} cannot be read; nothing was changed")
    added = added.encode("utf-8")
    file = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        lock(file, time.monotonic() + min(MOST_LOCKED, ctx.remaining() / 2), path)
        status = os.fstat(file)
        other = note.get("ino") not in (status.st_ino, None)
        if other or not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            raise Refused("Changed", f"{path} is another file now; nothing was changed")
        if status.st_size == size and note.get("mtime_ns") in (status.st_mtime_ns, None):
            return "nothing", ""
        if status.st_size != size + len(added) or os.pread(file, len(added), size) != added:
            data = read_whole(file, path, MOST_SHARED, "be changed back")
            span = own_lines(data, added, size)
            if span is None:
                raise Refused("Changed", f"{path} was changed since text was added to it; nothing was taken out")
            return "restored", take_out(file, data, folder, name, path, keep, span)
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
    if "path" not in args and of not in USUAL:
        raise Refused("BadPath", f"what {of} has done is taken back at a path")
    path = args.get("path") or USUAL[of]
    names = split(path)
    to = split(args["to"]) if "to" in args else names
    if to[:-1] != names[:-1]:
        raise Refused("BadPath", f"{args['to']} lies in another folder than {path}")
    note = note_of(ctx.workspace, names, keep, of)
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        if of == "fs_delete":
            what, aside = undelete(folder, names[-1], path, keep, note)
        elif of == "fs_move":
            what, aside = unmove(folder, names[-1], path, to[-1], note)
        elif of in ("fs_write", "list_remove", "contact_add"):
            what, aside = unwrite(folder, names[-1], path, keep, note)
        elif of in ("archive_pack", "archive_unpack", "table_convert"):
            what, aside = unmake(folder, path, keep, note)
        elif of in ("inbox_add", "attachment_add"):
            what, aside = unkeep(folder, path, keep, note)
        else:
            what, aside = unnote(folder, names[-1], path, keep, note, ctx)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    aside = "/".join([*names[:-1], aside]) if aside else ""
    return {"ok": True, "path": "/".join(names), "what": what, "aside": aside}


def run(args, ctx):
    return answer(act, args, ctx)
