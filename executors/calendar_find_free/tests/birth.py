"""What calendar_find_free promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden"),
        refused("nor for free times", "Forbidden", gaps=True, minutes=60),
        refused("an invalid time is refused before connecting", "BadTime", when="2026-12-01T00:00:00+01:00/2026-13-02T00:00:00+01:00"),
    ]
