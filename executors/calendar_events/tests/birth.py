"""What calendar_events promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden"),
        refused("nor for a time", "Forbidden", when="2026-12-01T00:00:00+01:00/2026-12-02T00:00:00+01:00", words="dentist"),
        refused("an invalid date is refused before connecting", "BadTime", when="2026-12-01T00:00:00+01:00/2026-12-32T00:00:00+01:00"),
        refused("so is a time that ends before it begins", "BadTime", when="2026-12-02T00:00:00+01:00/2026-12-01T00:00:00+01:00"),
        refused("and the last days of all", "BadTime", when="9999-12-30T00:00:00Z/9999-12-31T00:00:00Z"),
        refused("and one of more than a year", "BadTime", when="2026-12-01T00:00:00+01:00/2028-12-02T00:00:00+01:00"),
    ]
