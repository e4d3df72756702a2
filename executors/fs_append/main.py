"""Adds text to the end of one file of the workspace, on lines of its own, and says how long the file was and is.

It follows no link, makes the file and its folder when they are missing, and leaves what was there before as it was.
"""

from metnos_files import Refused, add, answer

MOST_BYTES = 16_000_000


def act(args, ctx):
    text = args["content"]
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadPath", "the content holds a character that no text file can have") from None

    def lines(end):
        before = "\n" if end and not end.endswith(b"\n") else ""
        return before + text + ("" if text.endswith("\n") else "\n")

    return add(args, ctx, args["path"], "fs_append", MOST_BYTES, lines)


def run(args, ctx):
    return answer(act, args, ctx)
