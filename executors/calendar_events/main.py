"""Tells what stands in the calendars of the person who asks: in a day, a week, or the next days."""

from metnos_calendar import Account, answer, plain, shown, span_of


def act(args, ctx):
    words = args.get("words", "").casefold()
    begin, end, ahead = span_of(args, 60 if words else 7)
    account = Account(ctx)
    try:
        events, unclear, total = account.events(begin, end, ahead, args.get("calendar", ""))
    finally:
        account.close()
    if words:
        events = [event for event in events if words in f"{event['title']} {event['place']}".casefold()]
        total = len(events)
    events = events[:args.get("limit", 100)]
    return {
        "ok": True, "account": account.name, "user": plain(account.user), "begin": begin.isoformat() + "Z", "end": end.isoformat() + "Z",
        "events": [shown(event) for event in events], "total": total, "returned": len(events), "unclear": unclear,
        "truncated": len(events) < total, "complete": not unclear,
    }


def run(args, ctx):
    return answer(act, args, ctx)
