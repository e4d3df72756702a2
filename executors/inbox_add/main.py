"""Puts a file that somebody has sent into the workspace, and replaces nothing.

Where a file of that name lies already, it gets a number; one with the very same content is not put there twice.
"""

import base64
import binascii
import os

from metnos_files import FILE, LONGEST_NAME, Draft, Refused, answer, look, one_name, record, refused, split_change, walk_to

# How many files of one name are kept beside each other.
MOST_OF_ONE_NAME = 1_000


def numbered(name, number):
    """The name with a number before its ending: `a.pdf`, `a (2).pdf`."""
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    mark = f" ({number})"
    while len(f"{stem}{mark}{dot}{ending}".encode("utf-8")) > LONGEST_NAME and stem:
        stem = stem[:-1]
    return f"{stem}{mark}{dot}{ending}"


def holds(name, folder, content):
    """Whether a file with exactly this content lies there."""
    try:
        file = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        if one_name(file, name).st_size != len(content):
            return False
        read = b""
        while len(read) < len(content):
            piece = os.read(file, len(content) - len(read))
            if not piece:
                break
            read += piece
        return read == content
    except (OSError, Refused):
        return False
    finally:
        os.close(file)


def put(workspace, folder, name, content, path, keep):
    """Puts the content there under the first name that is free; that name, and whether it was there already."""
    with Draft(folder, content, path) as draft:
        for number in range(1, MOST_OF_ONE_NAME + 1):
            place = numbered(name, number)
            if holds(place, folder, content):
                record(workspace, keep, {"of": "inbox_add", "name": place, "made": None, "before": None})
                return place, True
            if look(place, folder, path) is not None:
                continue
            record(workspace, keep, {"of": "inbox_add", "name": place, "made": draft.made, "before": None})
            if draft.place(place):
                return place, False
    raise Refused("Exists", f"{MOST_OF_ONE_NAME} files of the name {path} are there already")


def act(args, ctx):
    path = args["path"]
    try:
        content = base64.b64decode(args["content"], validate=True)
    except (binascii.Error, ValueError):
        raise Refused("BadContent", "the content is not written in base64") from None
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        name, was_there = put(ctx.workspace, folder, names[-1], content, path, args.get("keep", ""))
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join([*names[:-1], name]), "bytes": size, "was_there": was_there}


def run(args, ctx):
    return answer(act, args, ctx)
