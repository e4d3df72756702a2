"""Fetches one file that is attached to a mail: the newest that fits, by who sent it, by words, or by the file's name.

The file leaves beside the result, in pieces, and is kept by another call. It is not opened, and nothing that it says of itself is
believed: its name is text.
"""

import hashlib
import re

from metnos_mail import INBOX, MOST_ATTACHMENTS, MOST_PARTS, Mailbox, Refused, Server, answer, criteria_of, header, parsed, plain, sender

# The largest message that is fetched whole: a file in it takes four bytes for three.
MOST_WHOLE = 14_500_000
MOST_SAID = 15_500_000
# How many of the newest messages are looked through for one with a file.
MOST_LOOKED = 30
# The largest file, as the manifest has it.
MOST_FILE = 10 << 20
PIECE = 1 << 16
# What a server tells of a message that has a file (RFC 3501 §7.4.2): a part's disposition, or its name.
FILE = re.compile(rb'"(?:attachment|filename\*?|name\*?)"', re.IGNORECASE)


def with_files(box, uids):
    """Which of these messages seem to have a file, by what the server says of their structure; newest first."""
    said = box.ask(box.imap.uid, "FETCH", ",".join(map(str, uids)), "(UID BODYSTRUCTURE)") or []
    # A name that is not plain comes in a piece of its own: its line goes on behind it.
    texts = (b" ".join(item) if isinstance(item, tuple) else item for item in said if item)
    lines = b"\n".join(texts).split(b"\n")
    found, here = set(), None
    for line in lines:
        number = re.search(rb"\bUID (\d{1,10})\b", line)
        here = int(number.group(1)) if number else here
        if here is not None and FILE.search(line):
            found.add(here)
    return [uid for uid in uids if uid in found]


def files_of(message):
    """The files of a message: name, kind and content. A picture that only stands in the text is none where there are others."""
    found, shown = [], []
    try:
        for at, part in enumerate(message.walk()):
            if at >= MOST_PARTS or len(found) >= MOST_ATTACHMENTS:
                break
            if part.is_multipart():
                continue
            name, kind, way = part.get_filename(), part.get_content_type(), part.get_content_disposition()
            if name is None and way != "attachment":
                continue
            within = way == "inline" and kind.startswith("image/") or way != "attachment" and part.get("Content-ID") is not None
            (shown if within else found).append((header(name) or "attachment", plain(kind, 80), part))
    except Exception:
        # What is built to break a parser has the files that could be read.
        pass
    return found or shown


def content_of(part):
    try:
        return part.get_payload(decode=True) or b""
    except Exception:
        raise Refused("ServerError", "the file cannot be taken out of the message") from None


def is_called(name, wanted):
    """Whether a file is called so: each word stands in its name."""
    name = name.casefold()
    return all(word in name for word in re.findall(r"\w+", wanted.casefold()))


def whole(box, uid):
    found = box.fetch([uid], f"BODY.PEEK[]<0.{MOST_WHOLE}>")
    if uid not in found:
        raise Refused("NotFound", "there is no such message")
    said, raw = found[uid]
    return said, raw


def looked_for(box, args, validity):
    """The newest message that fits and has a file that is called so: what the server says of it, the message, its files."""
    if args.get("uidvalidity", validity) != validity:
        raise Refused("NotFound", "the server has numbered its messages anew; list them again")
    uids = [args["uid"]] if "uid" in args else box.search(*criteria_of(args))[:MOST_LOOKED]
    if not uids:
        raise Refused("NotFound", "there is no such message")
    for uid in with_files(box, uids)[:MOST_LOOKED if "name" in args else 1]:
        said, raw = whole(box, uid)
        message = parsed(raw)
        files = [file for file in files_of(message) if is_called(file[0], args.get("name", ""))]
        if files:
            return uid, said, raw, message, files
    raise Refused("NoAttachment", "no mail that fits has a file attached")


def act(args, ctx):
    Server.most = MOST_SAID
    box = Mailbox(ctx)
    try:
        folder = args.get("folder", INBOX)
        _, validity = box.open(folder)
        uid, said, raw, message, files = looked_for(box, args, validity)
    finally:
        box.close()
    who, _ = sender(message)
    told = {
        "ok": True, "account": box.name, "folder": plain(folder), "uidvalidity": validity, "uid": uid, "from": who,
        "subject": header(message.get("Subject")), "names": [name for name, _, _ in files],
    }
    if len(files) > 1:
        return {**told, "given": False}
    name, kind, part = files[0]
    content = content_of(part)
    if said.get("size", 0) > len(raw) or len(content) > MOST_FILE:
        raise Refused("TooLarge", f"{name} is too large: at most {MOST_FILE} bytes are fetched")
    for at in range(0, len(content), PIECE):
        ctx.give_file(content[at:at + PIECE])
    digest = hashlib.sha256(content).hexdigest()
    return {**told, "given": True, "name": name, "type": kind, "size": len(content), "sha": digest}


def run(args, ctx):
    return answer(act, args, ctx)
