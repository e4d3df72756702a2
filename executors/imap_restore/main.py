"""Takes back what was done to mails: gives them the marks that they had, and moves them back where they were."""

from metnos_mail import Mailbox, Refused, answer
from metnos_mailbox import move, new_ones


def marked(box, before):
    """Gives messages the mark again that they had: those that are still there."""
    _, validity = box.open(before["folder"], True)
    if validity != before["uidvalidity"]:
        raise Refused("Changed", "the server has numbered its messages anew")
    return len(box.mark(before["uids"], before["flag"], not before["set"]))


def moved(box, before):
    """Moves messages back: those that still lie where they were moved to."""
    there = new_ones(box, before["into"], before["following"])
    uids = [there[known] for known in before["known"] if known in there]
    if not uids:
        return 0
    box.open(before["into"], True)
    left = move(box, uids, before["folder"])
    if len(left) == len(uids):
        raise Refused("ServerError", f"{box.place} did not move them back")
    return len(uids) - len(left)


def act(args, ctx):
    before = ctx.before()
    if before is None:
        # Nothing was changed before it was kept.
        return {"ok": True, "what": "nothing", "count": 0}
    box = Mailbox(ctx)
    try:
        # Where none is named, the oldest account is meant, which may be another one by now.
        if box.name != before["account"]:
            raise Refused("Changed", f"it was done in the account {before['account']}")
        count = (marked if args["of"] == "imap_flag" else moved)(box, before)
    finally:
        box.close()
    return {"ok": True, "what": "restored" if count else "nothing", "count": count}


def run(args, ctx):
    return answer(act, args, ctx)
