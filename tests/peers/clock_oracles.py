"""When cron expressions and recurrence rules are due, by libraries of others: croniter, `systemd-analyze calendar` and python-dateutil.

Reads one JSON list from standard input, each item with `of` (`croniter`, `systemd` or `dateutil`), what it is asked, the time after
which, and how many; prints the list of their times on the wall clock, as `2026-11-27T09:00:00`.
"""
import datetime
import itertools
import json
import os
import re
import subprocess
import sys

from croniter import croniter
from dateutil.rrule import rrulestr

NEXT = re.compile(r"(?:Next elapse|Iter\. #\d+|Iteration #\d+): \w{3} (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)")
# The last day that is asked about: a library looks for ever for what never happens.
LAST = datetime.datetime(2060, 1, 1)


def by_croniter(ask, after):
    found = croniter(ask["cron"], after, max_years_between_matches=40)
    return [found.get_next(datetime.datetime) for _ in range(ask["count"])]


def by_systemd(ask, after):
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C"}
    command = ["systemd-analyze", "calendar", f"--iterations={ask['count']}", f"--base-time={after} UTC", ask["calendar"]]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    # Where the clock of the machine is another one, the line behind says the same in UTC.
    return [datetime.datetime.fromisoformat(f"{day}T{hour}") for day, hour in NEXT.findall(said)]


def by_dateutil(ask, after):
    rule = rrulestr(ask["rule"], dtstart=datetime.datetime.fromisoformat(ask["start"]))
    later = itertools.dropwhile(lambda at: at <= after, itertools.takewhile(lambda at: at < LAST, rule))
    return list(itertools.islice(later, ask["count"]))


def told(ask):
    after = datetime.datetime.fromisoformat(ask["after"])
    by = {"croniter": by_croniter, "systemd": by_systemd, "dateutil": by_dateutil}[ask["of"]]
    try:
        return [at.isoformat() for at in by(ask, after) if at < LAST]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


print(json.dumps([told(ask) for ask in json.load(sys.stdin)]))
