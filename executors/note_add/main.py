"""Adds a note to the end of a notebook of the workspace, under a heading with the time, and says where it stands.

A note that names no place goes to the notebook of the person who makes it, which nobody else is shown; where Metnos knows nobody by
name, or the note is for everybody, to that of the household. A notebook that is not there yet is made. It follows no link, and what was there before stays as it was.
"""

import time

from metnos_files import Refused, add, answer

MOST_BYTES = 16_000_000
# The notebook of the household; `fs_restore` knows it, too.
NOTEBOOK = "notes/notes.md"


def ahead(offset):
    """`+01:00` in seconds."""
    seconds = int(offset[1:3]) * 3600 + int(offset[4:]) * 60
    return -seconds if offset[0] == "-" else seconds


def act(args, ctx):
    try:
        (args["text"] + args.get("heading", "")).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadText", "the note holds a character that no text file can have") from None
    if not args["text"].strip():
        raise Refused("BadText", "the note holds nothing but white space")
    offset = args.get("offset")
    here = time.gmtime(time.time() + (ahead(offset) if offset else 0))
    now = time.strftime("%Y-%m-%d %H:%M" if offset else "%Y-%m-%d %H:%M UTC", here)
    heading = " ".join(args.get("heading", "").split())
    title = f"{now} · {heading}" if heading else now

    def entry(end):
        """The note as it is added: a heading of its own, so that notes stay apart."""
        between = "" if not end else "\n" if end.endswith(b"\n") else "\n\n"
        return f"{between}## {title}\n\n{args['text'].strip()}\n"

    path = args.get("path", args.get("own", NOTEBOOK))
    return {**add(args, ctx, path, "note_add", MOST_BYTES, entry), "heading": title, "own": "own" in args}


def run(args, ctx):
    return answer(act, args, ctx)
