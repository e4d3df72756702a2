"""Moves mails of the person who asks to another folder, and looks whether they lie there."""

from metnos_mail import Mailbox, Refused, answer, criteria_of, plain
from metnos_mailbox import chosen, folder_called, folder_for, move, new_ones, next_number, opened

MOST = 200


def act(args, ctx):
    # Check the arguments before connecting.
    criteria_of(args)
    box = Mailbox(ctx)
    try:
        into = folder_called(box, args["into"]) if "into" in args else folder_for(box, args.get("to", "archive"))
        folder, validity = opened(box, args)
        if folder.casefold() == into.casefold():
            raise Refused("Already", f"they lie in {plain(into)} already")
        taken, more = chosen(box, args, MOST)
        if not taken:
            raise Refused("NotFound", "there is no such message")
        following = next_number(box, into)
        known = [known for _, known in taken]
        ctx.keep({"account": box.name, "folder": folder, "uidvalidity": validity, "into": into, "following": following, "known": known})
        left = move(box, [mail["uid"] for mail, _ in taken], into)
        there = new_ones(box, into, following)
        done = [mail for mail, known in taken if mail["uid"] not in left and known in there]
        if not done:
            raise Refused("ServerError", f"{box.place} did not move them")
    finally:
        box.close()
    first = done[0]
    return {
        "ok": True, "account": box.name, "folder": plain(folder), "into": plain(into), "count": len(done), "failed": len(taken) - len(done), "more": more,
        "from": first["from"], "subject": first["subject"], "several": args.get("all", False),
    }


def run(args, ctx):
    return answer(act, args, ctx)
