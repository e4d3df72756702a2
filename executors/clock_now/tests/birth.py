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
            "name": "a zone is told by its name",
            "files": {},
            "args": {"zone": "Asia/Kolkata"},
            "expect": {"ok": True, "values": {"/zone": "Asia/Kolkata", "/offset": "+05:30", "/rules": "2025b"}},
        },
        {
            "name": "a city is enough, whatever its case",
            "files": {},
            "args": {"zone": "tokyo"},
            "expect": {"ok": True, "values": {"/zone": "Asia/Tokyo", "/offset": "+09:00"}},
        },
        {
            "name": "a city has its Italian name, too",
            "files": {},
            "args": {"zone": "Pechino"},
            "expect": {"ok": True, "values": {"/zone": "Asia/Shanghai", "/offset": "+08:00"}},
        },
        {
            "name": "a name of two words is one",
            "files": {},
            "args": {"zone": "Buenos Aires"},
            "expect": {"ok": True, "values": {"/offset": "-03:00"}},
        },
        {
            "name": "an offset is a zone",
            "files": {},
            "args": {"zone": "UTC-3:30"},
            "expect": {"ok": True, "values": {"/zone": "UTC", "/offset": "-03:30"}},
        },
        {
            "name": "a place that nobody knows is unknown",
            "files": {},
            "args": {"zone": "Atlantis"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
        {
            "name": "a path is no zone",
            "files": {},
            "args": {"zone": "../../../etc/localtime"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
        {
            "name": "an offset beyond all zones is none",
            "files": {},
            "args": {"zone": "+99:99"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
        {
            "name": "strange characters are no zone",
            "files": {},
            "args": {"zone": "+٣ \u0000|"},
            "expect": {"ok": False, "class": "UnknownZone"},
        },
    ]
