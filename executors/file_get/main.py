"""Fetches one file of the workspace, of any kind, as bytes in base64, or says exactly why not.

It walks down from the workspace folder by folder and follows no link, so the file that is
opened is the file that was named.
"""

import base64
import os

from metnos_files import FILE, answer, open_below, read_whole, split_file

# `hashlib` would load OpenSSL's library, which is not part of this sandbox, and cost more than the reading.
try:
    from _sha256 import sha256
except ImportError:
    try:
        from _sha2 import sha256
    except ImportError:
        from hashlib import sha256

# In base64 it fits into one result.
MOST_BYTES = 3_000_000


def act(args, ctx):
    path = args["path"]
    names = split_file(path)
    file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    try:
        data = read_whole(file, path, MOST_BYTES, "be sent")
    finally:
        os.close(file)
    return {
        "ok": True,
        "path": "/".join(names),
        "content": base64.b64encode(data).decode("ascii"),
        "size": len(data),
        "sha": sha256(data).hexdigest(),
    }


def run(args, ctx):
    return answer(act, args, ctx)
