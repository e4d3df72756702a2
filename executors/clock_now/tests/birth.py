"""What clock_now promises, case by case. The time itself is another each time; places without summer time show their offset."""


def cases():
    return [
        {
            "name": "without a zone it is UTC",
            "files": {},
            "args": {},
            "expect": {"ok": True, "values": {"/zone": "UTC", "/offset": "+00:00", "/summer_time": False}},
        },
        {
            "name": "what is told changes nothing of the result",
            "files": {},
            "args": {"tell": "week"},
            "expect": {"ok": True, "values": {"/zone": "UTC", "/offset": "+00:00"}},
        },
        {
            "name": "days are counted between two days, whichever is first",
            "files": {},
            "args": {"from": "2027-05-10", "to": "2027-03-03", "tell": "days"},
            "expect": {"ok": True, "values": {"/from": "2027-05-10", "/to": "2027-03-03", "/days": 68}},
        },
        {
            "name": "a day that there is not is unknown also where the days are counted from it",
            "files": {},
            "args": {"from": "2027-02-30", "to": "2027-03-03"},
            "expect": {"ok": False, "class": "UnknownDay"},
        },
        {
            "name": "a city is enough, whatever its case",
            "files": {},
            "args": {"zone": "tokyo"},
            "expect": {"ok": True, "values": {"/zone": "Asia/Tokyo", "/offset": "+09:00"}},
        },
        {
            "name": "an offset is a zone",
            "files": {},
            "args": {"zone": "UTC-3:30"},
            "expect": {"ok": True, "values": {"/zone": "UTC-03:30", "/offset": "-03:30"}},
        },
        {
            "name": "a place may bring its rule",
            "files": {},
            "args": {"zone": "Here/There (ABC-3:30)"},
            "expect": {"ok": True, "values": {"/zone": "Here/There", "/offset": "+03:30", "/summer_time": False}},
        },
        {
            "name": "a rule that is none is unknown",
            "files": {},
            "args": {"zone": "Here/There (ABC,DEF)"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
        {
            "name": "a past day has its weekday",
            "files": {},
            "args": {"day": "2020-04-25"},
            "expect": {"ok": True, "values": {"/day": "2020-04-25", "/day_weekday": "saturday", "/past": True}},
        },
        {
            "name": "a day before 1970 has its weekday",
            "files": {},
            "args": {"day": "1900-02-28"},
            "expect": {"ok": True, "values": {"/day_weekday": "wednesday", "/past": True}},
        },
        {
            "name": "a day that the calendar has not is unknown",
            "files": {},
            "args": {"day": "2026-02-29"},
            "expect": {"ok": False, "class": "UnknownDay"},
        },
        {
            "name": "a place that nobody knows is unknown",
            "files": {},
            "args": {"zone": "Atlantis"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
    ]
