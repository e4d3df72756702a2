"""What home_state promises where there is no net: at its birth no house can be reached."""


def refused(case, **args):
    return {"name": case, "files": {}, "args": args, "expect": {"ok": False, "class": "Forbidden"}}


def cases():
    return [
        refused("a house that was not decided on cannot be reached", name="light"),
        refused("nor for a long name", name="light " * 20),
        refused("nor for a strange one", name="\u0000\u202e../light.*"),
    ]
