"""Tells what stands in the calendars of the person who asks: in a day, a week, or the next days."""

from metnos_calendar import Account, answer, plain, shown, span_of


def act(args, ctx):
    words = args.get("words", "").casefold()
    invitations = args.get("invitations", False)
    begin, end, ahead = span_of(args, 60 if words or invitations else 7)
    account = Account(ctx)
    try:
        events, unclear, total = account.events(begin, end, ahead, args.get("calendar", ""))
    finally:
        account.close()
    if words or invitations:
        events = [event for event in events if words in f"{event['title']} {event['place']}".casefold()]
        events = [event for event in events if not invitations or event["invited"] == "open"]
        total = len(events)
    events = events[:args.get("limit", 100)]
    return {
        "ok": True, "account": account.name, "user": plain(account.user), "begin": begin.isoformat() + "Z", "end": end.isoformat() + "Z",
        "events": [{**shown(event), "invited": event["invited"], "by": event["by"] if event["invited"] else ""} for event in events], "total": total, "returned": len(events), "unclear": unclear,
        "truncated": len(events) < total, "complete": not unclear,
    }


def run(args, ctx):
    return answer(act, args, ctx)
