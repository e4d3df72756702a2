"""Puts a file that a person has sent into the workspace, and replaces nothing.

Its bytes come beside the call and are written as they come; the file has no name before it is whole. Where a file of that
name is, it gets a number; one with the same content is not put there twice.
"""

import os

from metnos_files import FILE, LONGEST_NAME, Draft, Refused, answer, look, one_name, record, refused, split_change, walk_to

# How many files of one name are kept beside each other.
MOST_OF_ONE_NAME = 1_000
PIECE = 1 << 16


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


def pieces(ctx):
    """The bytes that have come with the call."""
    while piece := ctx.read_file(PIECE):
        yield piece


def holds(name, folder, draft, size):
    """Whether a file with exactly the draft's content is there."""
    try:
        file = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        if one_name(file, name).st_size != size:
            return False
        at = 0
        while at < size:
            piece = os.pread(file, PIECE, at)
            if not piece or piece != os.pread(draft, len(piece), at):
                return False
            at += len(piece)
        return True
    except (OSError, Refused):
        return False
    finally:
        os.close(file)


def put(workspace, folder, name, ctx, path, keep):
    """Puts the content there under the first name that is free; that name, and whether it was there already."""
    with Draft(folder, pieces(ctx), path) as draft:
        whole = os.open(draft.name, FILE, dir_fd=folder)
        try:
            if os.fstat(whole).st_size != ctx.file_size:
                raise Refused("NoSpace", f"not all of {path} could be written")
            for number in range(1, MOST_OF_ONE_NAME + 1):
                place = numbered(name, number)
                if holds(place, folder, whole, ctx.file_size):
                    record(workspace, keep, path, {"of": "inbox_add", "name": place, "made": None, "before": None})
                    return place, True
                if look(place, folder, path) is not None:
                    continue
                record(workspace, keep, path, {"of": "inbox_add", "name": place, "made": draft.made, "before": None})
                if draft.place(place):
                    return place, False
        finally:
            os.close(whole)
    raise Refused("Exists", f"{MOST_OF_ONE_NAME} files of the name {path} are there already")


def act(args, ctx):
    path = args["path"]
    if ctx.file_size != args["bytes"]:
        raise Refused("BadContent", f"{args['bytes']} bytes were to come, and {ctx.file_size} have come")
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        name, was_there = put(ctx.workspace, folder, names[-1], ctx, path, args.get("keep", ""))
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join([*names[:-1], name]), "bytes": size, "was_there": was_there}


def run(args, ctx):
    return answer(act, args, ctx)
