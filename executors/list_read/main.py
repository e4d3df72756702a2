"""Reads the lists of the workspace: what is on one, whether a thing is on it, or which lists there are.

A list is a text file with a thing on each line. Things that are marked as done are no more on it, unless they are asked for.
It follows no link and changes nothing.
"""

import os
import stat

from metnos_files import FILE, Refused, answer, is_secret_content, open_below, read_whole, split, split_file
from metnos_lists import is_list, items_of, naming
from metnos_walk import OWN, Walk

MOST_BYTES = 1_000_000
# Without a path: how much is looked at, how deep, how large a list is, and how many there are.
MOST_SEEN = 20_000
MOST_DEPTH = 16
MOST_CPU = 2
MOST_LIST = 65_536
MOST_ALL = 16_000_000
MOST_LISTS = 100
DEFAULT_LIMIT = 100
# How many letters of things a result has.
MOST_TEXT = 200_000
ENDINGS = (".md", ".txt")


class Found:
    """The lists that are told, as far as there is room."""

    def __init__(self, args):
        self.item = args.get("item", "")
        self.done = args.get("done", False)
        self.limit = args.get("limit", DEFAULT_LIMIT)
        self.lists, self.items, self.told, self.cut = [], 0, 0, False

    def add(self, path, text, empty):
        """Adds what is asked for of one list; one with nothing of the kind only where `empty` ones are asked for."""
        items = items_of(text)
        there = [item for item in items if self.done or not item.done]
        if self.item:
            there = naming(there, self.item)
        if not there and (self.item or not empty):
            return
        if len(self.lists) >= MOST_LISTS:
            self.cut = True
            return
        shown = []
        for item in there[:self.limit]:
            self.told += len(item.text)
            if self.told > MOST_TEXT:
                break
            shown.append(item.text)
        self.cut = self.cut or len(shown) < len(there)
        self.items += len(there)
        done = sum(item.done for item in items)
        self.lists.append({"path": path, "name": name_of(path), "items": shown, "total": len(there), "done": done})


def name_of(path):
    """What a person calls a list, by its file."""
    return path.rsplit("/", 1)[-1].rpartition(".")[0].replace("-", " ").replace("_", " ") or path


def text_of(data, path):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("NotText", f"{path} is not text in UTF-8") from None


def one(args, ctx, found):
    """The list at a path."""
    path = args["path"]
    names = split_file(path)
    file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    try:
        data = read_whole(file, path, MOST_BYTES, "be read as a list")
    finally:
        os.close(file)
    found.add("/".join(names), text_of(data, path), False)
    return {"failed": 0, "complete": True}


def every(ctx, found):
    """All lists of the workspace."""
    top = open_below(ctx.workspace, split(".", top=True), ".")
    try:
        walk = Walk(top, [], ctx, depth=MOST_DEPTH, most=MOST_SEEN, cpu=MOST_CPU)
    finally:
        os.close(top)
    read = 0
    for path, name, folder, status in walk.entries():
        small = stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_size <= MOST_LIST
        if not small or not name.lower().endswith(ENDINGS) or path in OWN:
            continue
        if read > MOST_ALL:
            walk.stop("there is too much for one call", name)
            break
        text = content(name, folder, path, walk)
        read += status.st_size
        if text is not None and (is_list(text) or is_called_list(path)):
            found.add(path, text, True)
    return walk.said()


def content(name, folder, path, walk):
    """The text of a file that may be a list; nothing when it is none, or cannot be read."""
    try:
        file = os.open(name, FILE, dir_fd=folder)
    except OSError:
        walk.failed += 1
        return None
    try:
        data = read_whole(file, path, MOST_LIST)
    except (Refused, OSError):
        return None
    finally:
        os.close(file)
    if is_secret_content(data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def is_called_list(path):
    """Whether the name of a file says that it is a list."""
    return bool({"list", "lista", "elenco", "shopping", "spesa", "groceries", "todo"} & set(name_of(path).lower().split()))


def act(args, ctx):
    found = Found(args)
    said = one(args, ctx, found) if "path" in args else every(ctx, found)
    return {
        "ok": True,
        "path": found.lists[0]["path"] if len(found.lists) == 1 else args.get("path", "."),
        "lists": found.lists,
        "total": len(found.lists),
        "items": found.items,
        "truncated": found.cut,
        **said,
    }


def run(args, ctx):
    return answer(act, args, ctx)
