"""Holds the recurrences and zones of `executors/host/calendar.py` against python-dateutil and the system's own database of zones.

Prints one JSON object: how many rules and times were compared, and those that differ.
"""
import datetime
import json
import pathlib
import random
import sys
import types
import zoneinfo

from dateutil.rrule import rrulestr

HOST = pathlib.Path(__file__).resolve().parent.parent.parent / "executors/host"
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def load(name, file):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile((HOST / file).read_text(), file, "exec"), module.__dict__)
    return module


load("metnos_web", "web.py")
calendar = load("metnos_calendar", "calendar.py")


def rule(chance, start):
    """A rule as people's programs write them, which ends: the other library looks for ever for what never happens."""
    every = chance.choice(("DAILY", "WEEKLY", "MONTHLY", "YEARLY"))
    parts = [f"FREQ={every}"]
    if chance.random() < 0.5:
        parts.append(f"INTERVAL={chance.choice((1, 2, 3, 4))}")
    if chance.random() < 0.3:
        parts.append("BYMONTH=" + ",".join(map(str, sorted(chance.sample(range(1, 13), 3)))))
    by_day = chance.random() < 0.6
    if by_day:
        days = chance.sample(DAYS, 2)
        numbered = every in ("MONTHLY", "YEARLY") and chance.random() < 0.6
        parts.append("BYDAY=" + ",".join(str(chance.choice((1, 2, -1))) + day if numbered else day for day in days))
    elif every != "WEEKLY" and chance.random() < 0.5:
        parts.append("BYMONTHDAY=" + ",".join(map(str, chance.sample((1, 2, 13, 28, -1, -2), 2))))
    if by_day and every == "MONTHLY" and chance.random() < 0.2:
        parts.append("BYSETPOS=" + chance.choice(("1", "-1")))
    if chance.random() < 0.3:
        parts.append("WKST=" + chance.choice(DAYS))
    if chance.random() < 0.4:
        parts.append(f"COUNT={chance.randint(1, 30)}")
    else:
        parts.append("UNTIL=" + (start + datetime.timedelta(days=chance.choice((30, 400, 1100)))).strftime("%Y%m%dT%H%M%S"))
    return ";".join(parts)


def rules(chance, count):
    compared, differ = 0, []
    limit = datetime.datetime(2032, 1, 1)
    for _ in range(count):
        start = datetime.datetime(chance.randint(2018, 2026), chance.randint(1, 12), chance.randint(1, 28), chance.randint(0, 23), 30)
        text = rule(chance, start)
        wanted = [at for at in rrulestr(text, dtstart=start) if at < limit]
        found = list(calendar.Rule.read(text).occurrences(start, start, limit, lambda at: at))
        # From the middle on: what happened before need not be reckoned.
        middle = start + (limit - start) / 2
        late = [at for at in calendar.Rule.read(text).occurrences(start, middle, limit, lambda at: at) if at >= middle]
        compared += len(wanted)
        if found != wanted or late != [at for at in wanted if at >= middle]:
            differ.append(f"{start} {text}")
    return compared, differ


def zone(name, changes):
    """A zone as calendars describe it."""
    lines = ["BEGIN:VCALENDAR", "BEGIN:VTIMEZONE", f"TZID:{name}"]
    for kind, before, after, start, of in changes:
        lines += [f"BEGIN:{kind}", f"TZOFFSETFROM:{before}", f"TZOFFSETTO:{after}", f"DTSTART:{start}", f"RRULE:FREQ=YEARLY;{of}", f"END:{kind}"]
    text = "\n".join([*lines, "END:VTIMEZONE", "END:VCALENDAR"])
    return calendar.Zone(calendar.parts_of(text).of("VCALENDAR")[0].of("VTIMEZONE")[0].parts, datetime.datetime(2032, 1, 1))


ZONES = {
    "Europe/Rome": [("DAYLIGHT", "+0100", "+0200", "19960331T020000", "BYMONTH=3;BYDAY=-1SU"), ("STANDARD", "+0200", "+0100", "19961027T030000", "BYMONTH=10;BYDAY=-1SU")],
    "America/New_York": [("DAYLIGHT", "-0500", "-0400", "20070311T020000", "BYMONTH=3;BYDAY=2SU"), ("STANDARD", "-0400", "-0500", "20071104T020000", "BYMONTH=11;BYDAY=1SU")],
    "Australia/Sydney": [("STANDARD", "+1100", "+1000", "20080406T030000", "BYMONTH=4;BYDAY=1SU"), ("DAYLIGHT", "+1000", "+1100", "20081005T020000", "BYMONTH=10;BYDAY=1SU")],
}


def zones(chance, count):
    compared, differ = 0, []
    for name, changes in ZONES.items():
        own, known = zone(name, changes), zoneinfo.ZoneInfo(name)
        for _ in range(count):
            local = datetime.datetime(2010, 1, 1) + datetime.timedelta(minutes=chance.randrange(20 * 365 * 24 * 60))
            there = local.replace(tzinfo=known).astimezone(datetime.timezone.utc)
            # What the clock leaves out is no time to compare.
            if there.astimezone(known).replace(tzinfo=None) != local:
                continue
            compared += 1
            if own.utc(local) != there.replace(tzinfo=None):
                differ.append(f"{name} {local}")
    return compared, differ


# The rules of a clock as the household's zone has them, and as the system knows them.
CLOCKS = {
    "Europe/Rome": "CET-1CEST,M3.5.0,M10.5.0/3",
    "America/New_York": "EST5EDT,M3.2.0,M11.1.0",
    "Australia/Sydney": "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "Asia/Kolkata": "IST-5:30",
    "America/Sao_Paulo": "<-03>3",
}


def series(chance, count):
    """What is written as a series happens at the same time of day, in winter and in summer."""
    compared, differ = 0, []
    for name, rules in CLOCKS.items():
        known = zoneinfo.ZoneInfo(name)
        for _ in range(count):
            local = datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=chance.randrange(365 * 24), minutes=30)
            there = local.replace(tzinfo=known).astimezone(datetime.timezone.utc)
            if there.astimezone(known).replace(tzinfo=None) != local or 0 <= local.hour <= 3:
                continue
            start, ahead = there.replace(tzinfo=None), local - there.replace(tzinfo=None)
            of = calendar.Series("FREQ=WEEKLY", f"{name} ({rules})", ahead, False)
            text = calendar.written("u", "yoga", "", start, start + datetime.timedelta(hours=1), False, of)
            found, unclear = calendar.happenings(text, start, start + datetime.timedelta(days=400), datetime.timedelta())
            wanted = [(local + datetime.timedelta(weeks=week)).replace(tzinfo=known).astimezone(datetime.timezone.utc) for week in range(58)]
            compared += len(found)
            if unclear or [event["at"] for event in found] != [at.replace(tzinfo=None) for at in wanted]:
                differ.append(f"{name} {local}")
    return compared, differ


def main():
    chance = random.Random(int(sys.argv[1]))
    compared, differ = rules(chance, 400)
    times, others = zones(chance, 500)
    written, kept = series(chance, 40)
    print(json.dumps({"occurrences": compared, "times": times, "written": written, "differ": [*differ, *others, *kept][:20]}))


main()
