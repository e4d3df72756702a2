"""Cancels an event in a calendar of the person who asks: it stays there as a cancelled one, so that it can be put back as it was."""

from metnos_calendar import Account, answer, span_of
from metnos_changes import change, replaced, single

# In which days to come an event is looked for that no time was said of.
AHEAD = 183


def act(args, ctx):
    begin, end, ahead = span_of(args, AHEAD, "on")
    account = Account(ctx)
    try:
        found = single(account, args, begin, end, ahead)
        text, mark = replaced(found, args["keep"], ["STATUS:CANCELLED"])
        change(account, found, text, mark)
    finally:
        account.close()
    return {"ok": True, "account": account.name, "calendar": found.calendar.name} | {name: found.happens[name] for name in ("title", "place", "all_day", "start", "end")}


def run(args, ctx):
    return answer(act, args, ctx)
