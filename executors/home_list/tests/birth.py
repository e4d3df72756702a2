"""What home_list promises where there is no net: at its birth no house can be reached."""


def refused(case, **args):
    return {"name": case, "files": {}, "args": args, "expect": {"ok": False, "class": "Forbidden"}}


def cases():
    return [
        refused("a house that was not decided on cannot be reached"),
        refused("nor for one kind", kind="light", on=True),
        refused("nor by its name", account="main"),
    ]
