"""What calendar_cancel promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", title="dentist", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor by the name of an account", "Forbidden", title="dentist", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ", account="work"),
        refused("an end before the begin is refused before connecting", "BadTime", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ", title="dentist", on="2026-12-02T00:00:00Z/2026-12-01T00:00:00Z"),
    ]
