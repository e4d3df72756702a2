"""Puts a file that a person has sent into the workspace, and replaces nothing.

Its bytes come beside the call and are written as they come; the file has no name before it is whole. Where a file of that
name is, it gets a number; one with the same content is not put there twice.
"""

from metnos_files import Refused, answer, keep_sent, split_change


def act(args, ctx):
    path = args["path"]
    if ctx.file_size != args["bytes"]:
        raise Refused("BadContent", f"{args['bytes']} bytes were to come, and {ctx.file_size} have come")
    return keep_sent(split_change(path), ctx, path, args, "inbox_add")


def run(args, ctx):
    return answer(act, args, ctx)
