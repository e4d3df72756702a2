"""Reports whether the person who asks is free at a time, or the free times. All-day events are listed, and do not count as busy."""

import datetime

from metnos_calendar import Account, answer, shown, span_of

# The part of a day in which somebody is asked for, where a whole day or more is meant.
FIRST, LAST = 8, 20
MOST_GAPS = 50


def gaps(busy, begin, end, ahead, least):
    """The times of at least this length that nothing takes, by day and only while people are up."""
    found, day = [], (begin + ahead).date()
    while datetime.datetime.combine(day, datetime.time()) - ahead < end and len(found) < MOST_GAPS:
        first = datetime.datetime.combine(day, datetime.time(FIRST)) - ahead
        last = datetime.datetime.combine(day, datetime.time(LAST)) - ahead
        at, upto = max(first, begin), min(last, end)
        for start, until in busy:
            if start < upto and until > at:
                if start - at >= least:
                    found.append((at, start))
                at = max(at, until)
        if upto - at >= least:
            found.append((at, upto))
        day += datetime.timedelta(days=1)
    return [{"start": start.isoformat() + "Z", "end": until.isoformat() + "Z"} for start, until in found[:MOST_GAPS]]


def act(args, ctx):
    begin, end, ahead = span_of(args, 7)
    account = Account(ctx)
    try:
        events, unclear, total = account.events(begin, end, ahead)
    finally:
        account.close()
    unclear += total - len(events)
    timed = [event for event in events if not event["all_day"] and event["busy"]]
    free = gaps([(event["at"], event["until"]) for event in timed], begin, end, ahead, datetime.timedelta(minutes=args.get("minutes", 30)))
    when = args.get("gaps", False)
    return {
        "ok": True, "account": account.name, "begin": begin.isoformat() + "Z", "end": end.isoformat() + "Z", "free": not timed,
        "taken": [] if when else [shown(event) for event in timed[:100]], "gaps": free if when else [],
        "whole_days": [event["title"] or "?" for event in events if event["all_day"]][:20],
        "unclear": unclear, "complete": not unclear,
    }


def run(args, ctx):
    return answer(act, args, ctx)
