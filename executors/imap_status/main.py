"""Says how many messages are in a mailbox, and how many of them nobody has read."""

from metnos_mail import INBOX, Mailbox, answer, plain


def act(args, ctx):
    box = Mailbox(ctx)
    try:
        folder = args.get("folder", INBOX)
        total, validity = box.open(folder)
        unread = len(box.search(["UNSEEN"])) if total else 0
        return {"ok": True, "account": box.name, "user": plain(box.user), "folder": plain(folder), "uidvalidity": validity,
                "total": total, "unread": unread}
    finally:
        box.close()


def run(args, ctx):
    return answer(act, args, ctx)
