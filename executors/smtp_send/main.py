"""Sends a mail from the account of the person who asks, once, and looks whether a copy lies in the folder of sent mail."""

import time

from metnos_mail import INBOX, MOST_HEADERS, Mailbox, Refused, answer, parsed, plain, quoted
from metnos_mailbox import folder_for
from metnos_sending import Sender, message_of

# How long a server has to put a copy there by itself, in seconds.
COPY_WITHIN = 1.0


def answered(box, args):
    """The head of the mail that this one answers; nothing where it answers none."""
    if "reply" not in args:
        return None
    _, validity = box.open(args.get("folder", INBOX))
    if args.get("uidvalidity", validity) != validity:
        raise Refused("NotFound", "the server has numbered its messages anew; list them again")
    found = box.fetch([args["reply"]], f"BODY.PEEK[HEADER.FIELDS (SUBJECT MESSAGE-ID REFERENCES)]<0.{MOST_HEADERS}>")
    if args["reply"] not in found:
        raise Refused("NotFound", "the mail that is to be answered is not there")
    return parsed(found[args["reply"]][1])


def lies_in(box, folder, called):
    box.open(folder)
    return bool(box.search([f'HEADER Message-ID "{called}"']))


def copy_kept(box, folder, called, message):
    """Whether a copy lies in the folder of sent mail: the server's own, or else the one that is put there."""
    if lies_in(box, folder, called):
        return True
    time.sleep(COPY_WITHIN)
    if lies_in(box, folder, called):
        return True
    box.ask(box.imap.append, quoted(folder), "(\\Seen)", None, message)
    return lies_in(box, folder, called)


def act(args, ctx):
    if not args["body"].strip():
        raise Refused("BadText", "there is nothing in the mail")
    # Both servers let the person in before anything is done.
    sender = Sender(ctx)
    try:
        box = Mailbox(ctx)
        try:
            return sent(args, ctx, sender, box)
        finally:
            box.close()
    finally:
        sender.close()


def sent(args, ctx, sender, box):
    message, called, subject = message_of(sender.address, args, answered(box, args))
    folder = folder_for(box, "sent")
    if lies_in(box, folder, called):
        raise Refused("Already", f"the same mail went to {args['recipient']} today; it lies in {plain(folder)}")
    refused = sender.hand_over([args["recipient"], *args.get("cc", [])], message)
    try:
        kept = copy_kept(box, folder, called, message)
    except Refused:
        # It is sent: a copy that cannot be put away does not undo that.
        kept = False
    return {
        "ok": True, "account": box.name, "from": sender.address, "to": args["recipient"], "subject": plain(subject),
        "failed": [{"address": address, "why": why} for address, why in refused], "kept": kept, "folder": plain(folder), "identifier": called,
    }


def run(args, ctx):
    return answer(act, args, ctx)
