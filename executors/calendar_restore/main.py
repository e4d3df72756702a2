"""Deletes an event that calendar_add created, unless it was changed since."""

from metnos_calendar import MARK, Account, Refused, answer, event_of, fingerprint


def act(args, ctx):
    account = Account(ctx)
    try:
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
            return {"ok": True, "title": event.text("SUMMARY"), "what": "restored"}
    finally:
        account.close()
    # It never came to stand there, or somebody has removed it.
    return {"ok": True, "title": "", "what": "nothing"}


def run(args, ctx):
    return answer(act, args, ctx)
