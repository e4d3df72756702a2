"""What the executors that change a mailbox share: which messages are meant, which folder, and what is kept to put them back."""

import base64
import hashlib
import re

from metnos_mail import FIELDS, INBOX, MOST_HEADERS, criteria_of, number, parsed, quoted, summary
from metnos_web import Refused, plain

# The most folders that are looked at, and the most new messages of one in which moved ones are looked for.
MOST_FOLDERS, MOST_NEW = 1_000, 2_000
# The folders that servers mark for these uses (RFC 6154), and what they are called where nothing is marked; the first name is that of
# a new one.
USES = {
    "archive": (b"\\archive", ("Archive", "Archives", "Archivio", "[Gmail]/All Mail", "[Gmail]/Tutti i messaggi")),
    "trash": (b"\\trash", ("Trash", "Deleted Items", "Deleted Messages", "Deleted", "Cestino", "Posta eliminata", "[Gmail]/Trash", "[Gmail]/Cestino")),
    "sent": (b"\\sent", ("Sent", "Sent Items", "Sent Messages", "Sent Mail", "Posta inviata", "Inviati", "INBOX.Sent", "[Gmail]/Sent Mail", "[Gmail]/Posta inviata")),
    "spam": (b"\\junk", ("Junk", "Spam", "Junk E-mail", "Bulk Mail", "Posta indesiderata", "[Gmail]/Spam")),
}
LISTED = re.compile(rb'\(([^)]*)\) (?:"\\?.?"|NIL) (.*)', re.S)


def opened(box, args):
    """Opens the folder of the arguments to change it; its name and its numbering."""
    folder = args.get("folder", INBOX)
    _, validity = box.open(folder, True)
    if args.get("uidvalidity", validity) != validity:
        raise Refused("NotFound", "the server has numbered its messages anew; list them again")
    return folder, validity


def chosen(box, args, most, besides=()):
    """The messages that are meant, the newest first, as (summary, identity); and how many more fit than are taken. One, unless all
    are asked for."""
    criteria, literal = criteria_of(args)
    who, several = args.get("from", ""), args.get("all", False)
    if "uid" in args:
        criteria.append(f"UID {args['uid']}")
    uids = box.search([*besides, *criteria], literal)
    # A sender's name that is not ASCII is compared here.
    plain_name = not who or who.isascii()
    looked = uids[:(most if several else 1) if plain_name else max(most, 200)]
    found = box.fetch(looked, f"BODY.PEEK[HEADER.FIELDS ({FIELDS} MESSAGE-ID)]<0.{MOST_HEADERS}>") if looked else {}
    all_of = [(summary(uid, *found[uid]), identity(*found[uid])) for uid in looked if uid in found]
    if not plain_name:
        all_of = [one for one in all_of if who.casefold() in f"{one[0]['from']} {one[0]['address']}".casefold()]
    taken = all_of[:most if several else 1]
    return taken, max(0, (len(uids) if plain_name else len(all_of)) - len(taken)) if several else 0


def identity(said, raw):
    """What is the same of a message in any folder, as a digest: the identifier that it was sent with, or else its size and its date."""
    sent_as = plain(str(parsed(raw).get("Message-ID") or ""))
    text = sent_as or f"{said.get('size', 0)} {said['date']}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:20]


def unquoted(name):
    """A folder's name as it is read: out of its quotation marks and of modified UTF-7 (RFC 3501 §5.1.3)."""
    text = name.strip().decode("ascii", "replace")
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        text = re.sub(r"\\(.)", r"\1", text[1:-1])

    def shifted(match):
        coded = match.group(1).replace(",", "/")
        try:
            return base64.b64decode(coded + "=" * (-len(coded) % 4), validate=True).decode("utf-16-be") if coded else "&"
        except ValueError:
            return match.group(0)

    return re.sub(r"&([A-Za-z0-9+,]*)-", shifted, text)


def folders(box):
    """The folders of the mailbox: name and marks of each."""
    found = []
    for item in (box.ask(box.imap.list) or [])[:MOST_FOLDERS]:
        line = b" ".join(item) if isinstance(item, tuple) else item or b""
        # A name that comes as a literal stands behind its length.
        match = LISTED.match(re.sub(rb"\{\d+\} ", b"", line))
        if match and b"\\noselect" not in match.group(1).lower():
            found.append((unquoted(match.group(2)), match.group(1).lower()))
    return found


def folder_called(box, name):
    """The folder that is called so, by its whole name or the last part of it."""
    wanted, all_of = name.casefold(), [folder for folder, _ in folders(box)]
    whole = [folder for folder in all_of if folder.casefold() == wanted]
    last = whole or [folder for folder in all_of if re.split(r"[/.]", folder)[-1].casefold() == wanted]
    if not last:
        raise Refused("NoFolder", f"there is no folder called {plain(name)}; there are: {', '.join(map(plain, all_of[:30])) or 'none'}")
    if len(last) > 1:
        raise Refused("Several", f"several folders are called {plain(name)}: {', '.join(map(plain, last[:8]))}")
    return last[0]


def folder_for(box, use):
    """The folder for this use (RFC 6154 mark, else a usual name); creates it if the mailbox has none."""
    if use == "inbox":
        return INBOX
    mark, names = USES[use]
    all_of = folders(box)
    marked = [folder for folder, marks in all_of if mark in marks.split()]
    known = [folder for name in names for folder, _ in all_of if folder.casefold() == name.casefold()]
    if marked or known:
        return (marked or known)[0]
    if box.ask(box.imap.create, quoted(names[0])) is None:
        raise Refused("NoFolder", f"{box.place} has no folder for that, and lets none be made")
    return names[0]


def next_number(box, folder):
    """The number that the next message of a folder will have."""
    data = box.ask(box.imap.status, quoted(folder), "(UIDNEXT)")
    match = re.search(rb"UIDNEXT (\d{1,10})", b" ".join(part for part in data or () if isinstance(part, bytes)))
    if match is None:
        raise Refused("NoFolder", f"{box.place} says nothing of the folder {plain(folder)}")
    return number(match.group(1))


def new_ones(box, folder, following):
    """The messages of a folder from this number on, by their identity: the last one of each."""
    box.open(folder)
    uids = [uid for uid in box.search([f"UID {max(1, following)}:*"]) if uid >= following][:MOST_NEW]
    found = box.fetch(uids, f"BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]<0.{MOST_HEADERS}>") if uids else {}
    return {identity(*found[uid]): uid for uid in sorted(found)}


def move(box, uids, into):
    """Moves messages of the opened folder; those that are still there afterwards."""
    numbers = ",".join(map(str, uids))
    # What a server can do it says anew to whom it knows.
    can = b" ".join(part for part in box.ask(box.imap.capability) or () if isinstance(part, bytes)).upper().split()
    if b"MOVE" in can:
        box.ask(box.imap.uid, "MOVE", numbers, quoted(into))
    elif b"UIDPLUS" in can:
        if box.ask(box.imap.uid, "COPY", numbers, quoted(into)) is not None:
            box.ask(box.imap.uid, "STORE", numbers, "+FLAGS.SILENT", "(\\Deleted)")
            box.ask(box.imap.uid, "EXPUNGE", numbers)
    else:
        raise Refused("NotWritable", f"{box.place} has no way to move a message alone")
    return set(box.search([f"UID {numbers}"])) & set(uids)
