"""Finds contacts of the household: what is known of a person, whose birthday is when, or who is there at all.

Contacts are list items of one text file that people write by hand, with what is said of each in any order. It follows no link, changes
nothing, and tells all candidates where a name may be of several.
"""

import os
import re
import time

from metnos_contacts import CONTACTS, MONTHS, called, contacts_of, day_of, is_italian, named, said_of, text_of
from metnos_files import FILE, Refused, answer, open_below, read_whole, split_file
from metnos_find import ahead, days_from
from metnos_lists import folded

MOST_BYTES = 2_000_000
DEFAULT_LIMIT = 100
# The longest text of a contact that is told.
LONGEST = 1_000
# Where people write such things as well; looked into only when no file was named.
OTHERS = ("notes/contatti.md", "notes/rubrica.md", "notes/birthdays.md", "notes/compleanni.md")
# Where notes are put that no place was named for: what sentences in it say counts.
NOTES = "notes/notes.md"
# A mail address as it stands in what is written of a contact.
ADDRESS = re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9.-]{1,180}[A-Za-z0-9]", re.ASCII)
# What the fields are called of which there may be several.
MANY = {"phone": "phones", "mail": "mails", "address": "addresses"}


def read(path, ctx, told):
    """The text of the file; nothing when none was named and the usual one is not there."""
    names = split_file(path)
    try:
        file = open_below(ctx.workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")
    except Refused as refusal:
        if refusal.error_class == "NotFound" and not told:
            return ""
        raise
    try:
        return text_of(read_whole(file, path, MOST_BYTES), path)
    finally:
        os.close(file)


def birthday_of(fields):
    """The birthday among these fields and its day; the day is nothing where none is written, or it cannot be read as one."""
    field = next((field for field in fields if field[0] == "birthday"), None)
    return (field[1], day_of(field[1], is_italian(field[2]))) if field else ("", None)


def in_english(month, number):
    return f"{number} {MONTHS[0][month - 1]}"


def in_italian(month, number):
    """With its article: `il 3 maggio`, `l’8 maggio`."""
    if number in (8, 11):
        return f"l’{number} {MONTHS[1][month - 1]}"
    return f"il {number}{'°' if number == 1 else ''} {MONTHS[1][month - 1]}"


def entry(contact, tells, args):
    """A contact as it is told; of one that may be another, its name alone."""
    fields = [] if tells == "candidate" else contact.fields
    written, birthday = birthday_of(fields)
    both = (in_english(*birthday[1:]), in_italian(*birthday[1:])) if birthday else (written, written)
    article = {"the": "the ", "my": "your ", "our": "your "}.get(next(iter(folded(args.get("name", ""))), ""), "")
    who = article + contact.name
    return {
        "name": contact.name,
        "who": who,
        "owner": who[0].upper() + who[1:] if article else who,
        "tells": tells,
        "birthday": written,
        "day_en": both[0],
        "day_it": both[1],
        "born": str(birthday[0]) if birthday and birthday[0] else "",
        **{names: [field[1] for field in fields if field[0] == kind] for kind, names in MANY.items()},
        "text": contact.text[:LONGEST] if fields else contact.name,
    }


def by_name(contacts, args):
    """The contacts of a name, each with what is told of it."""
    found, field = named(contacts, args["name"]), args.get("field", "")
    if len(found) == 1:
        return [(found[0], "all" if not field else field if found[0].of(field) else "none")]
    # Those of one name are told apart by what else is known of them.
    names = [called(contact.name) for contact in found]
    return [(contact, "candidate" if names.count(called(contact.name)) == 1 else "all") for contact in found]


def span(when, today):
    """The days of a period, as numbers of days since 1970: the first and the one behind the last."""
    monday = today - (today + 3) % 7
    return {
        "today": (today, today + 1),
        "tomorrow": (today + 1, today + 2),
        "this_week": (monday, monday + 7),
        "next_week": (monday + 7, monday + 14),
    }[when]


def by_birthday(contacts, args):
    """The contacts with a birthday at the time that is asked for, in the order of the calendar."""
    now = time.gmtime(time.time() + ahead(args.get("offset", "+00:00")))
    today = days_from(now.tm_year, now.tm_mon, now.tm_mday)
    dated = [(contact, birthday[1:]) for contact in contacts for birthday in [birthday_of(contact.fields)[1]] if birthday]
    when, names = args.get("birthdays", ""), [month.lower() for months in MONTHS for month in months]
    if "month" in args or when in ("this_month", "next_month"):
        month = names.index(args["month"]) % 12 + 1 if "month" in args else (now.tm_mon - 1 + (when == "next_month")) % 12 + 1
        found = sorted((place for place in dated if place[1][0] == month), key=lambda place: place[1])
        return [(contact, "day") for contact, _ in found]
    begin, end = (today, today + 367) if when == "next" else span(when, today)
    comes = [(min(at for year in range(now.tm_year - 1, now.tm_year + 9) for at in [days_from(year, *there)] if at >= begin), contact)
             for contact, there in dated]
    if when == "next":
        end = min((at for at, _ in comes), default=begin) + 1
    found = sorted((place for place in comes if place[0] < end), key=lambda place: place[0])
    return [(contact, "next" if when == "next" else "day") for _, contact in found]


def on_time(contact, args):
    """A contact with its birthday, and 1 where that is at the time that is asked for, else 0."""
    due = bool(by_birthday([contact], args))
    return [(contact, {"today": "today", "tomorrow": "tomorrow"}.get(args.get("birthdays"), "birthday") if due else "birthday")], int(due)


def only_mail(args, shown):
    """The mail address of the one contact that is meant; nothing where several could be, or none or several addresses are written."""
    mails = shown[0]["mails"] if "name" in args and len(shown) == 1 else []
    written = ADDRESS.findall(mails[0]) if len(mails) == 1 else []
    return {"mail": written[0]} if len(written) == 1 else {}


def known(args, ctx):
    """All contacts there are: of the named file, else of all where people write them. What other places say of a contact is added
    where its own line does not say it."""
    if "path" in args:
        return contacts_of(read(args["path"], ctx, True))
    contacts = contacts_of(read(CONTACTS, ctx, False))
    by_names = {}
    for contact in contacts:
        by_names.setdefault(called(contact.name), contact)
    for more in [contacts_of(beside(path, ctx)) for path in OTHERS] + [said_of(beside(path, ctx)) for path in (CONTACTS, NOTES)]:
        for contact in more:
            there = by_names.setdefault(called(contact.name), contact)
            if there is contact:
                contacts.append(contact)
            else:
                fresh = [field for field in contact.fields if not there.of(field[0])]
                there.fields = there.fields + fresh
                there.text = ", ".join([there.text, contact.text][:1 + bool(fresh)])[:LONGEST]
    return contacts


def beside(path, ctx):
    """The text of a file that nobody has asked for: one that cannot be read says nothing."""
    try:
        return read(path, ctx, False)
    except Refused:
        return ""


def act(args, ctx):
    path = args.get("path", CONTACTS)
    contacts = known(args, ctx)
    dated = "birthdays" in args or "month" in args
    due = None
    if "name" in args:
        found = by_name(contacts, {**args, "field": "birthday"} if dated else args)
        if dated and len(found) == 1 and found[0][1] == "birthday":
            found, due = on_time(found[0][0], args)
        elif dated and not found:
            # An unknown name is reported, so that a scheduled question does not stay silent for ever.
            due = 1
    elif dated:
        found = by_birthday(contacts, args)
    else:
        found = [(contact, "all") for contact in contacts]
    shown = [entry(contact, tells, args) for contact, tells in found[:args.get("limit", DEFAULT_LIMIT)]]
    return {
        "ok": True,
        "path": "/".join(split_file(path)),
        **only_mail(args, shown),
        "contacts": shown,
        "several": "name" in args and len(found) > 1,
        "dated": dated,
        "known": bool(found) and all(tells != "none" for _, tells in found),
        "total": len(found),
        "due": len(found) if due is None else due,
        "returned": len(shown),
        "truncated": len(shown) < len(found),
    }


def run(args, ctx):
    return answer(act, args, ctx)
