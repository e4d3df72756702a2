"""For tests: reads what lies in a folder outside the workspace, and tries to get further."""

import os


def attempts(folder):
    """What must fail, each with its name. `folder` is the granted one, as seen from inside."""
    above = os.path.dirname(folder)

    def make(flags, *names):
        return lambda: os.close(os.open(os.path.join(*names), flags))

    reading, writing = os.O_RDONLY, os.O_WRONLY | os.O_CREAT
    places = ["/workspace/notes", "/etc/passwd", "/proc/self", above + "/Secrets/key", above + "/.ssh/id", above + "/Albums/one.txt"]
    tries = [("read " + place, make(reading, place)) for place in places]
    tries += [("read " + name, make(reading, folder, name)) for name in (
        "link", "link/passwd", "up/Secrets/key", "../Secrets/key", ".ssh/id", ".netrc",
    )]
    tries += [("write " + name, make(writing, folder, name)) for name in ("new", "a.txt")]
    tries += [
        ("remove", lambda: os.remove(os.path.join(folder, "a.txt"))),
        ("rename", lambda: os.rename(os.path.join(folder, "a.txt"), os.path.join(folder, "b.txt"))),
        ("link", lambda: os.link(os.path.join(folder, "a.txt"), "/tmp/a.txt")),
        ("symlink", lambda: os.symlink("/etc", "/tmp/etc")),
        ("chmod", lambda: os.chmod(os.path.join(folder, "a.txt"), 0o777)),
        ("make a folder", lambda: os.mkdir(os.path.join(folder, "folder"))),
        ("execute", lambda: os.execv(os.path.join(folder, "run"), ["run"])),
        ("write above", make(writing, above, "new")),
        ("write beside", make(writing, "/outside", "new")),
    ]
    return tries


def escape(folder):
    """The names of what could be done all the same, and how much was tried."""
    got = []
    tries = attempts(folder)
    for name, attempt in tries:
        try:
            attempt()
        except OSError:
            continue
        got.append(name)
    # Of what is above, only the way down is there.
    place = folder
    while place not in ("/outside", "/"):
        place, name = os.path.split(place)
        try:
            if os.listdir(place) != [name]:
                got.append("list " + place)
        except OSError:
            pass
    return got, len(tries)


def run(args, ctx):
    try:
        place = ctx.inside(args["path"])
        if args.get("do") == "escape":
            got, tried = escape(place)
            return {"ok": True, "got": got, "tried": tried}
        if os.path.isdir(place):
            return {"ok": True, "names": sorted(os.listdir(place))}
        with open(place, encoding="utf-8") as file:
            return {"ok": True, "text": file.read()}
    except FileNotFoundError as error:
        return {"ok": False, "error": {"class": "NotFound", "message": str(error)}}
    except OSError as error:
        return {"ok": False, "error": {"class": "PermissionDenied", "message": str(error)}}
