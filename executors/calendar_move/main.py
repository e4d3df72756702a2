"""Moves an event in a calendar of the person who asks to another day or time, and tells what happens at the same time."""

import datetime

from metnos_calendar import DAY, Account, Refused, answer, instant_of, near, plain, span_of, time_of
from metnos_changes import change, replaced, single

# In which days to come an event is looked for that no time was said of.
AHEAD = 183
HOUR = datetime.timedelta(hours=1)


def day_of(text):
    try:
        return near(datetime.datetime.strptime(text, "%Y-%m-%d"))
    except ValueError:
        raise Refused("BadTime", f"{plain(text, 60)} is no day; write one such as 2026-12-01, or an instant such as 2026-12-01T15:00:00+01:00") from None


def goal_of(text):
    """Where it is to go: its begin, its end where one is said, and whether that is a day alone."""
    first, slash, last = text.partition("/")
    if "T" not in first:
        return day_of(first), None, True
    to, until = instant_of(first), instant_of(last) if slash else None
    if until and not to < until <= to + 7 * DAY:
        raise Refused("BadTime", "an event ends after it begins, and within 7 days")
    return to, until, False


def times(happens, goal, ahead):
    """The new begin and end, as `DTSTART` and `DTEND` write them, and whether it takes whole days. To another day it goes with its time."""
    (to, until, is_day), takes, was_day = goal, happens["until"] - happens["at"], happens["all_day"]
    if not is_day:
        return to, until or to + (HOUR if was_day else takes), False
    if was_day:
        return to, to + takes, True
    clock = happens["at"] + ahead
    start = to + (clock - clock.replace(hour=0, minute=0, second=0)) - ahead
    return start, start + takes, False


def act(args, ctx):
    to, until, is_day = goal_of(args["when"])
    begin, end, ahead = span_of(args, AHEAD, "on")
    account = Account(ctx)
    try:
        found = single(account, args, begin, end, ahead)
        start, upto, is_day = times(found.happens, (to, until, is_day), ahead)
        first, last = (start - ahead, upto - ahead) if is_day else (start, upto)
        same, _, _ = account.events(first, max(last, first + datetime.timedelta(minutes=1)), ahead)
        text, mark = replaced(found, args["keep"], [time_of("DTSTART", start, is_day), time_of("DTEND", upto, is_day)])
        change(account, found, text, mark)
    finally:
        account.close()
    clashes = [other["title"] or "?" for other in same if other["busy"] and other["uid"] != found.event.uid and not (other["all_day"] or is_day)]
    return {
        "ok": True, "account": account.name, "calendar": found.calendar.name, "title": found.happens["title"], "place": found.happens["place"], "all_day": is_day,
        "was": found.happens["start"], "start": start.date().isoformat() if is_day else start.isoformat() + "Z",
        "end": (upto - DAY).date().isoformat() if is_day else upto.isoformat() + "Z", "clashes": clashes[:10],
    }


def run(args, ctx):
    return answer(act, args, ctx)
