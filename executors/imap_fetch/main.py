"""Reads one message: by its number, or the newest that fits. It stays unread, and what is attached is named and not opened."""

from metnos_mail import INBOX, MOST_MESSAGE, MOST_TEXT, Mailbox, Refused, answer, content, criteria_of, header, parsed, plain, summary


def act(args, ctx):
    asked = criteria_of(args)
    box = Mailbox(ctx)
    try:
        folder = args.get("folder", INBOX)
        _, validity = box.open(folder)
        if args.get("uidvalidity", validity) != validity:
            raise Refused("NotFound", "the server has numbered its messages anew; list them again")
        uid = args.get("uid") or next(iter(box.search(*asked)), None)
        found = {} if uid is None else box.fetch([uid], f"BODY.PEEK[]<0.{MOST_MESSAGE}>")
        if uid not in found:
            raise Refused("NotFound", "there is no such message")
        said, raw = found[uid]
        message = parsed(raw)
        text, attached = content(message)
        return {
            "ok": True, "account": box.name, "folder": plain(folder), "uidvalidity": validity, **summary(uid, said, raw),
            "to": header(message.get("To")), "text": text[:MOST_TEXT], "attachments": attached,
            "attached": [file["name"] for file in attached], "truncated": len(text) > MOST_TEXT or said.get("size", 0) > len(raw),
        }
    finally:
        box.close()


def run(args, ctx):
    return answer(act, args, ctx)
