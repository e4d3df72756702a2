"""Reads one text file of the workspace, whole, or says exactly why not.

It walks down from the workspace folder by folder and follows no link, so the file that is
opened is the file that was named.
"""

import os

from metnos_files import FILE, Refused, answer, open_below, read_whole, sha256, split_file

MOST_BYTES = 4_000_000
MOST_RESULT_BYTES = 4 * 1024 * 1024 - 16_384


def written_length(content):
    """How many bytes the content takes in the result, where some characters are escaped."""
    escaped = sum(content.count(character) for character in "\"\\\n\r\t\b\f")
    others = sum(content.count(chr(code)) for code in range(32) if chr(code) not in "\n\r\t\b\f")
    return escaped + 5 * others


def act(args, ctx):
    path = args["path"]
    names = split_file(path)
    file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    try:
        data = read_whole(file, path, MOST_BYTES)
    finally:
        os.close(file)
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused("NotText", f"{path} is not text in UTF-8: byte {error.start} does not fit") from None
    if len(data) + written_length(content) > MOST_RESULT_BYTES:
        raise Refused("TooLarge", f"{path} has {len(data)} bytes, too many once its special characters are written out")
    lines = content.count("\n") + (0 if content.endswith("\n") or not content else 1)
    return {
        "ok": True,
        "path": "/".join(names),
        "content": content,
        "size": len(data),
        "lines": lines,
        "sha": sha256(data).hexdigest(),
    }


def run(args, ctx):
    return answer(act, args, ctx)
