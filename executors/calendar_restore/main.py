"""Takes back what was done to an event: deletes the one that was added, and puts the one back that was cancelled or moved, unless
it was changed since."""

import datetime

from metnos_calendar import DAY, MARK, UTC, Account, Refused, answer, event_of, fingerprint, instant_of, span_of
from metnos_changes import KEEP, change, put_back, standing

# Around now, in which days an event is looked for of which no time was said.
BEFORE, AHEAD = 40, 220
# How many days more, before and behind, where it is not found there.
WIDE = 370


def added(args, account):
    """Deletes the event of this name."""
    for calendar in account.calendars():
        path = f"{calendar.path.rstrip('/')}/{args['keep']}.ics"
        status, said, body = account.ask("GET", path)
        if status != 200:
            continue
        event = event_of(body.decode("utf-8", "replace"))
        if event is None or event.uid != args["keep"] or event.text(MARK) != fingerprint(event):
            raise Refused("Changed", "the event was changed since, so it is left as it is")
        headers = {"If-Match": said["ETag"]} if said.get("ETag") else {}
        status, _, _ = account.ask("DELETE", path, **headers)
        if status == 412:
            raise Refused("Changed", "the event was changed in this moment, so it is left as it is")
        if account.ask("GET", path)[0] == 200:
            raise Refused("ServerError", f"{account.site.place} answered {status}, and the event still stands there")
        return event.text("SUMMARY")
    # It never came to stand there, or somebody has removed it.
    return None


def span(args):
    """In which time the event stands now."""
    if "when" in args:
        first = args["when"].partition(";")[0].partition("/")[0]
        day = first if "T" in first else first + "T12:00:00Z"
        return instant_of(day) - 2 * DAY, instant_of(day) + 2 * DAY
    if "on" in args:
        begin, end, _ = span_of(args, 0, "on")
        return begin, end
    now = datetime.datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    return now - BEFORE * DAY, now + AHEAD * DAY


def changed(args, account):
    """Puts the event back that this call has changed."""
    begin, end = span(args)
    for calendar in account.chosen(args.get("calendar", "")):
        # A series of which a time was left out has none there, and is found by the others.
        for wide in (0, WIDE):
            for href, text in account.objects(calendar, begin - wide * DAY, end + wide * DAY)[0]:
                event = event_of(text)
                if event is None or event.text(KEEP) != args["keep"]:
                    continue
                if event.text(MARK) != fingerprint(event):
                    raise Refused("Changed", "the event was changed since, so it is left as it is")
                found = standing(account, account.within(href, calendar), calendar, series=True)
                change(account, found, *put_back(found))
                return event.text("SUMMARY")
    # It was never changed, or somebody has removed or rewritten it.
    return None


def act(args, ctx):
    account = Account(ctx)
    try:
        title = (added if args["of"] == "calendar_add" else changed)(args, account)
    finally:
        account.close()
    return {"ok": True, "title": title or "", "what": "nothing" if title is None else "restored", "removed": args["of"] == "calendar_add"}


def run(args, ctx):
    return answer(act, args, ctx)
