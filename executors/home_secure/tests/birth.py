"""What home_secure promises where there is no net: at its birth no house can be reached."""


def refused(case, **args):
    return {"name": case, "files": {}, "args": args, "expect": {"ok": False, "class": "Forbidden"}}


def cases():
    return [
        refused("a house that was not decided on cannot be reached", do="unlock", name="door"),
        refused("nor to arm it", do="arm", name="alarm"),
        refused("nor to open it", do="open", name="garage"),
    ]
