"""What home_act promises where there is no net: at its birth no house can be reached."""


def refused(case, **args):
    return {"name": case, "files": {}, "args": args, "expect": {"ok": False, "class": "Forbidden"}}


def cases():
    return [
        refused("a house that was not decided on cannot be reached", do="on", name="light", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for a level", do="set", name="light", level=30, keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for all", do="off", name="lights", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
    ]
