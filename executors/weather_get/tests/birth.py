"""What weather_get promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("without a town it asks for one", "NoPlace"),
        refused("the service cannot be reached at birth", "Forbidden", place="Milano"),
        refused("nor for the place of the household", "Forbidden", home="Milano", day="tomorrow"),
        refused("an invalid date is refused before connecting", "BadTime", place="Milano", date="2026-02-30"),
    ]
