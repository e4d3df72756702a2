"""Runs one listed program on the workspace, which it can only read, and returns what it printed.

There is no shell: the words are the program's own, one by one. Which programs there are is not decided here: no other
file can be executed in this process's sandbox. Whatever still runs when this process ends, ends with it.
"""

import errno
import os
import stat

from metnos_files import Refused, answer
from metnos_programs import run_program

LONGEST_NAME = 255


def program(name, commands):
    """The path of a listed program, called by its bare name or by that path."""
    path = commands.get(name.rpartition("/")[2])
    if path is None or name not in (path, path.rpartition("/")[2]):
        known = ", ".join(sorted(commands)) or "none"
        raise Refused("NotListed", f"{name[:100]} is not one of the programs that can be run here: {known}")
    return path


def folder(path, workspace):
    """Goes to the folder that the program runs in; no name of it may leave the workspace."""
    names = []
    for name in (path or "").split("/"):
        if name == "..":
            if not names:
                raise Refused("PermissionDenied", f"{path} leads out of the workspace")
            names.pop()
        elif len(name.encode("utf-8", "replace")) > LONGEST_NAME or "\0" in name:
            raise Refused("BadArgument", "cwd holds a name that no folder can have")
        elif name not in ("", "."):
            names.append(name)
    if (path or "").startswith(("/", "~")):
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name it from there, such as notes")
    try:
        os.chdir("/".join([workspace, *names]))
    except OSError as error:
        if error.errno == errno.ENOENT:
            raise Refused("NotFound", f"there is no folder {path} in the workspace") from None
        if error.errno == errno.ENOTDIR:
            raise Refused("NotAFolder", f"{path} is not a folder") from None
        raise Refused("PermissionDenied", f"{path} cannot be entered: {error.strerror}") from None


def look_at(words):
    """A file of a second name may be any file of the disk: it is not handed to a program that is told its name."""
    for word in words:
        for path in {word, word.partition("=")[2]} - {""}:
            try:
                known = os.lstat(path)
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(known.st_mode) and known.st_nlink > 1:
                raise Refused("PermissionDenied", f"{path} has {known.st_nlink} names, and may be any file of this disk")


def act(args, ctx):
    argv = args["argv"]
    path = program(argv[0], ctx.commands)
    folder(args.get("cwd"), ctx.workspace)
    look_at(argv[1:])
    ran = run_program(path, argv, ctx, args.get("stdin", "").encode("utf-8", "replace"))
    return {"ok": True, "exit_code": ran.code, "stdout": ran.out, "stderr": ran.err, "truncated": ran.truncated}


def run(args, ctx):
    try:
        return answer(act, args, ctx)
    except UnicodeEncodeError:
        return {"ok": False, "error": {"class": "BadArgument", "message": "a word holds what is no character"}}
