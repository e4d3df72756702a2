"""What calendar_add promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", title="dentist", when="2026-12-01T15:00:00+01:00", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for a series", "Forbidden", title="yoga", when="2026-12-01T18:00:00+01:00;FREQ=WEEKLY;BYDAY=TU;TZ=Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("a rule that no calendar reckons is refused before connecting", "BadTime", title="yoga", when="2026-12-01;FREQ=WEEKLY;BYHOUR=8", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for a whole day", "Forbidden", title="trip", when="2026-12-01", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("an invalid day is refused before connecting", "BadTime", title="trip", when="2026-02-30", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("so is a day at the end of all calendars", "BadTime", title="trip", when="9999-12-31", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("so is an end before the begin", "BadTime", title="trip", when="2026-12-01T15:00:00Z/2026-12-01T14:00:00Z", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("and one that is longer than a week", "BadTime", title="trip", when="2026-12-01T15:00:00Z", lasts="P30D", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("so is an invalid time", "BadTime", title="trip", when="2026-12-01T25:00:00Z", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("a name of nothing that can be seen is none", "BadArgument", title="\u200b", when="2026-12-01", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
    ]
