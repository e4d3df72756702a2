"""Cancels an event in a calendar of the person who asks: it stays there as a cancelled one, so that it can be put back as it was. Of a
series one time is left out, and the others stay, unless all of it is meant."""

from metnos_calendar import DAY, Account, Endless, Refused, answer, events_in, span_of
from metnos_changes import change, lines_of, replaced, single

# In which days to come an event is looked for that no time was said of.
AHEAD = 183


def left_out(found, ahead):
    """The lines that leave this one time out of a series, those included that left others out before."""
    at = found.happens["at"]
    try:
        event = events_in(found.text, at + DAY, ahead)[0]
        local = event.clock_at(at)
    except (Endless, OverflowError):
        local = None
    if local is None:
        raise Refused("Repeats", "this time of the series does not follow its rule, and changing it is not done here")
    start = event.of["DTSTART"]
    if event.is_day:
        line = f"EXDATE;VALUE=DATE:{local:%Y%m%d}"
    else:
        zone = start.parameters.get("TZID", "")
        line = f"EXDATE{';TZID=' + zone if zone else ''}:{local:%Y%m%dT%H%M%S}{'Z' if event.start[2] else ''}"
    return [*(raw for raw, name in lines_of(found.text) if name == "EXDATE"), line]


def act(args, ctx):
    begin, end, ahead = span_of(args, AHEAD, "on")
    account = Account(ctx)
    try:
        found = single(account, args, begin, end, ahead, series=True)
        repeats = "RRULE" in found.event.of and not args.get("series", False)
        text, mark = replaced(found, args["keep"], left_out(found, ahead) if repeats else ["STATUS:CANCELLED"])
        change(account, found, text, mark)
    finally:
        account.close()
    return {"ok": True, "account": account.name, "calendar": found.calendar.name, "repeats": repeats} | {name: found.happens[name] for name in ("title", "place", "all_day", "start", "end")}


def run(args, ctx):
    return answer(act, args, ctx)
