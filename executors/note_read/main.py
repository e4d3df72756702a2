"""Reads the notes that `note_add` has made, those of a day or about something, and says how many there are.

Where no notebook is named these are the notes of the household, and those of the person who asks, in the order of their times.
Each note stands under a heading with its time, on the clock of the house at that time. It follows no link and changes nothing.
"""

import os
import re
import time

from metnos_files import FILE, Refused, answer, open_below, read_whole, split_file
from metnos_find import DAY, ahead, begin_of, days_from, period
from metnos_lists import folded, stems

MOST_BYTES = 16_000_000
DEFAULT_LIMIT = 20
# How many letters of notes a result has.
MOST_TEXT = 400_000
# The notebook of the household.
NOTEBOOK = "notes/notes.md"
HEADING = re.compile(r"## (([0-9]{4})-([0-9]{2})-([0-9]{2}) [0-9]{2}:[0-9]{2}(?: UTC)?)(?: · (.*))?")


def notes_of(text):
    """The notes of a notebook, oldest first: their time, their day, their heading, their text."""
    notes = []
    for line in text.split("\n"):
        match = HEADING.fullmatch(line.rstrip("\r"))
        if match:
            day = days_from(int(match[2]), int(match[3]), int(match[4]))
            notes.append({"time": match[1], "day": day, "heading": match[5] or "", "lines": []})
        elif notes:
            notes[-1]["lines"].append(line)
    return notes


def days(args):
    """The days that are asked for: the first, and the one behind the last; nothing where all are."""
    offset = args.get("offset", "+00:00")
    shift = ahead(offset)
    spans = []
    if "on" in args:
        begin = begin_of(args["on"], offset)
        spans.append((begin, begin + DAY))
    if "during" in args:
        spans.append(period(args["during"], offset, time.time()))
    return [tuple((second + shift) // DAY for second in span) for span in spans]


def read(path, ctx, named):
    """The text of the notebook; nothing when none was named and the usual one is not there."""
    names = split_file(path)
    try:
        file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    except Refused as refusal:
        if refusal.error_class == "NotFound" and not named:
            return ""
        raise
    try:
        data = read_whole(file, path, MOST_BYTES)
    finally:
        os.close(file)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("NotText", f"{path} is not text in UTF-8") from None


def act(args, ctx):
    paths = [args["path"]] if "path" in args else [NOTEBOOK, *([args["own"]] if "own" in args else [])]
    all_notes = [note for path in paths for note in notes_of(read(path, ctx, "path" in args))]
    if len(paths) > 1:
        all_notes.sort(key=lambda note: note["time"][:16])
    spans, about = days(args), set(stems(folded(args.get("about", ""))))
    wanted = []
    for note in all_notes:
        text = "\n".join(note["lines"]).strip()
        is_then = all(begin <= note["day"] < end for begin, end in spans)
        if is_then and about <= set(stems(folded(f"{note['heading']} {text}"))):
            wanted.append({"time": note["time"], "heading": note["heading"], "text": text})
    shown, room = [], MOST_TEXT
    # The latest ones, in the order in which they were made.
    for note in reversed(wanted[-args.get("limit", DEFAULT_LIMIT):]):
        room -= len(note["text"]) + len(note["heading"])
        if room < 0:
            break
        shown.insert(0, note)
    return {
        "ok": True,
        "path": "/".join(split_file(paths[-1])),
        "notes": shown,
        "total": len(wanted),
        "returned": len(shown),
        "truncated": len(shown) < len(wanted),
    }


def run(args, ctx):
    return answer(act, args, ctx)
