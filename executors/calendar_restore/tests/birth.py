"""What calendar_restore promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", of="calendar_add", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor by the name of an account", "Forbidden", of="calendar_add", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ", account="work"),
        refused("and asking again changes nothing", "Forbidden", of="calendar_add", keep="01HZZZZZZZZZZZZZZZZZZZZZZ9"),
    ]
