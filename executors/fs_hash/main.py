"""Computes the SHA-256 of a file of the workspace, and whether another file holds the same."""

import os

from metnos_files import FILE, Refused, answer, one_name, open_below, sha256, split_file

MOST_BYTES = 1_000_000_000
PIECE = 1 << 20
# The seconds that are kept to say that the time is over.
SHARE = 0.5


def digest_of(path, ctx):
    """The names that lead to a file, its digest, and its size. Looked at before and after the reading."""
    names = split_file(path)
    file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    digest, size = sha256(), 0
    try:
        if one_name(file, path).st_size > MOST_BYTES:
            raise Refused("TooLarge", f"{path} has more than {MOST_BYTES} bytes")
        while piece := os.read(file, PIECE):
            size += len(piece)
            if size > MOST_BYTES or ctx.remaining() < SHARE:
                raise Refused("TooLarge", f"{path} is too large for one call")
            digest.update(piece)
        one_name(file, path)
    finally:
        os.close(file)
    return "/".join(names), digest.hexdigest(), size


def act(args, ctx):
    path, sha, size = digest_of(args["path"], ctx)
    result = {"ok": True, "path": path, "sha": sha, "size": size}
    if "other" in args:
        other, other_sha, _ = digest_of(args["other"], ctx)
        result |= {"other": other, "other_sha": other_sha, "same": sha == other_sha}
    return result


def run(args, ctx):
    return answer(act, args, ctx)
