"""Marks mails of the person who asks: as read or unread, as important or not. What is marked so already stays as it is."""

from metnos_mail import Mailbox, Refused, answer, criteria_of, plain
from metnos_mailbox import chosen, opened

# For each mark the flag, whether it is set, and which messages do not have it yet.
MARKS = {"read": ("\\Seen", True, "UNSEEN"), "unread": ("\\Seen", False, "SEEN"), "important": ("\\Flagged", True, "UNFLAGGED"), "ordinary": ("\\Flagged", False, "FLAGGED")}
MOST = 500


def act(args, ctx):
    flag, is_set, without = MARKS[args["set"]]
    # Check the arguments before connecting.
    criteria_of(args)
    box = Mailbox(ctx)
    try:
        folder, validity = opened(box, args)
        taken, more = chosen(box, args, MOST, [without])
        if not taken:
            raise Refused("Already" if chosen(box, args, 1)[0] else "NotFound", "there is no such message that is not marked so")
        uids = [mail["uid"] for mail, _ in taken]
        ctx.keep({"account": box.name, "folder": folder, "uidvalidity": validity, "flag": flag, "set": is_set, "uids": uids})
        done = box.mark(uids, flag, is_set)
        if not done:
            raise Refused("ServerError", f"{box.place} did not mark them")
    finally:
        box.close()
    first = taken[0][0]
    return {
        "ok": True, "account": box.name, "folder": plain(folder), "set": args["set"], "count": len(done), "failed": len(uids) - len(done), "more": more,
        "from": first["from"], "subject": first["subject"], "several": args.get("all", False),
    }


def run(args, ctx):
    return answer(act, args, ctx)
