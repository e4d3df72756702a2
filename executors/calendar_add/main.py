"""Puts an event into a calendar of the person who asks, looks whether it stands there, and tells what happens at the same time."""

import datetime
import re

from metnos_calendar import DAY, Account, Refused, Series, ahead_of, answer, event_of, fingerprint, happenings, instant_of, length, near, plain, written

SHORTEST, LONGEST = datetime.timedelta(minutes=5), 7 * DAY
# How long after the first event of a series the next ones are looked for, to be told.
AFTER = 1_200


def times(args):
    """Begin and end, whether it takes whole days, and how far the clock is ahead."""
    when, ahead = args["when"].partition(";")[0], ahead_of(args)
    if "T" in when:
        first, slash, last = when.partition("/")
        start = instant_of(first)
        takes = length(args["lasts"]) if "lasts" in args else datetime.timedelta(minutes=args.get("minutes", 60))
        end = instant_of(last) if slash else start + takes
        if not SHORTEST <= end - start <= LONGEST:
            raise Refused("BadTime", "an event with a time takes from 5 minutes to 7 days")
        return start, end, False, ahead
    try:
        day = near(datetime.datetime.strptime(when, "%Y-%m-%d"))
    except ValueError:
        raise Refused("BadTime", f"{plain(when, 60)} is no day; write one such as 2026-12-01, or an instant such as 2026-12-01T15:00:00+01:00") from None
    return day, day + DAY, True, ahead


def series_of(args, ahead, is_day):
    """How often it happens; nothing for what happens once. The clock is as far ahead of UTC as its first time says."""
    first, _, rule = args["when"].partition(";")
    rule, _, zone = rule.partition(";TZ=")
    distance = re.search(r"[+-]\d\d:\d\d$", first)
    return Series(rule, zone, ahead_of({"offset": distance.group()}) if distance else ahead, is_day) if rule else None


def following(text, start, ahead):
    """When the second and the third event of a series begin, as what stands on the server has it."""
    found, _ = happenings(text, start, start + AFTER * DAY, ahead)
    found.sort(key=lambda event: event["at"])
    return dict(zip(("second", "third"), (event["start"] for event in found[1:3])))


def act(args, ctx):
    start, end, is_day, ahead = times(args)
    series = series_of(args, ahead, is_day)
    title, place = plain(args["title"], 200), plain(args.get("place", ""), 200)
    if not title:
        raise Refused("BadArgument", "the event has no name")
    account = Account(ctx)
    try:
        own = [calendar for calendar in account.chosen(args.get("calendar", "")) if calendar.writable]
        if not own:
            raise Refused("NotWritable", "none of these calendars can be written with this account")
        begin, upto = (start - ahead, end - ahead) if is_day else (start, end)
        same, _, _ = account.events(begin, upto, ahead)
        path = f"{own[0].path.rstrip('/')}/{args['keep']}.ics"
        text = written(args["keep"], title, place, start, end, is_day, series)
        headers = {"Content-Type": "text/calendar; charset=utf-8", "If-None-Match": "*"}
        status, _, _ = account.ask("PUT", path, text, **headers)
        # Whatever it says: what stands there counts.
        there, _, body = account.ask("GET", path)
        event = event_of(body.decode("utf-8", "replace")) if there == 200 else None
        if event is None or event.uid != args["keep"] or fingerprint(event) != fingerprint(event_of(text)):
            raise Refused("ServerError", f"{account.site.place} answered {status}, and the event does not stand there as it was written")
    finally:
        account.close()
    later = following(body.decode("utf-8", "replace"), begin, ahead) if series else {}
    clashes = [other["title"] or "?" for other in same if other["busy"] and not (other["all_day"] or is_day)]
    return {
        "ok": True, "account": account.name, "calendar": own[0].name, "title": title, "place": place, "all_day": is_day,
        "start": start.date().isoformat() if is_day else start.isoformat() + "Z",
        "end": (end - DAY).date().isoformat() if is_day else end.isoformat() + "Z", "clashes": clashes[:10], "uid": args["keep"],
        "repeats": series is not None,
    } | later


def run(args, ctx):
    return answer(act, args, ctx)
