"""Takes things off a list of the workspace, and says which ones, and which were not on it.

A list is a text file with a thing on each line. It is replaced in one step; what it was before goes to the trash, beside it.
What the words do not surely name stays.
"""

import os

from metnos_files import (
    Draft, Refused, answer, open_locked, open_there, read_whole, record, refused, rename_new, seen, split_change, to_trash, walk_to,
)
from metnos_lists import folded, items_of, meant, naming

MOST_BYTES = 1_000_000
MOST_SAID = 64


def said_of(args):
    """The things that are named, a line each, without the marks of a list."""
    lines = (line.strip().lstrip("-*+•").strip() for line in args.get("content", "").split("\n"))
    return [line for line in lines if folded(line)]


def chosen(items, args, path):
    """The things to take off, and the words that name none."""
    if args.get("all", False):
        return items, []
    if args.get("done", False):
        return [item for item in items if item.done], []
    said = said_of(args)
    if not said:
        raise Refused("BadItem", "nothing is named that should be taken off the list")
    if len(said) > MOST_SAID:
        raise Refused("BadItem", f"at most {MOST_SAID} things are taken off at once")
    gone, missing = [], []
    for words in said:
        found = meant(items, words)
        names = list(dict.fromkeys(item.text for item in found))
        if len({folded(name) for name in names}) > 1:
            raise Refused("Ambiguous", f"{words} may be {' or '.join(names[:5])} on {path}; nothing was taken off")
        gone.extend(found)
        if not found:
            missing.append(words)
    if not gone:
        near = next((item.text for words in missing for item in naming(items, words)), "")
        raise Refused("NotOnList", f"{', '.join(missing)} is not on {path}" + (f"; {near} is" if near else ""))
    return gone, missing


def without(text, gone):
    """The text without the lines of these things."""
    lines = text.split("\n")
    away = {at for item in gone for at in range(item.at, item.at + item.lines)}
    return "\n".join(line for at, line in enumerate(lines) if at not in away)


def change(file, name, folder, args, ctx):
    """Takes the things off the open and locked file: what of them, and where the old list is."""
    path, keep = args["path"], args.get("keep", "")
    read = seen(os.fstat(file))
    data = read_whole(file, path, MOST_BYTES, "be changed as a list")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("NotText", f"{path} is not text in UTF-8") from None
    items = items_of(text)
    gone, missing = chosen(items, args, path)
    rest = without(text, gone)
    left = sum(not item.done for item in items_of(rest)) if rest.strip() else 0
    names = list(dict.fromkeys(item.text for item in gone))
    place = replace(file, read, rest.encode("utf-8"), name, folder, ctx, (path, keep)) if gone else ""
    return {"removed": names, "missing": missing, "count": len(gone), "left": left, "trashed": place}


def replace(file, read, content, name, folder, ctx, where):
    """Puts the new list in the place of the old one, which is in the trash then: its name there. `read` is what was known of the
    old one when it was read."""
    path, keep = where
    changed = Refused("PermissionDenied", f"{path} was changed by others at this very moment; nothing was taken off")
    with Draft(folder, content, path) as draft:
        what = os.fstat(file)
        record(ctx.workspace, keep, path, {"of": "list_remove", "made": draft.made, "before": what.st_ino})
        if seen(os.fstat(file)) != read:
            raise changed
        place = to_trash(name, what, keep, folder, path)
        if not place:
            raise changed
        # Who does not lock may have written to it until now.
        if seen(os.fstat(file)) != read and rename_new(place, name, folder, path):
            raise changed
        if not draft.place(name):
            raise Refused("Exists", f"{path} was made anew by others at this very moment; what it was before is {place} now")
    return place


def act(args, ctx):
    path = args["path"]
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path)
    try:
        file, _ = open_locked(open_there, names[-1], folder, ctx, path)
        try:
            done = change(file, names[-1], folder, args, ctx)
        finally:
            os.close(file)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    if done["trashed"]:
        done["trashed"] = "/".join([*names[:-1], done["trashed"]])
    return {"ok": True, "path": "/".join(names), **done}


def run(args, ctx):
    return answer(act, args, ctx)
