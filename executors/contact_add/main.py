"""Adds a contact of the household, or a field of one that is there: a birthday, a phone number, a mail address, an address.

Contacts are list items of one text file that people write by hand. It is replaced in one step; what it was before goes to the trash, beside
it. Every other line and field stays as it was, which is looked at before anything is written.
"""

import os
import re
import time

from metnos_contacts import (
    ARTICLES, CONTACTS, ISO, LABELS, MAIL, MONTHS, PHONE, called, contacts_of, day, day_of, digits, is_italian, named,
)
from metnos_files import (
    Draft, Refused, answer, look, open_locked, open_there, read_whole, record, refused, rename_new, seen, split_change, to_trash, walk_to,
)
from metnos_lists import folded

MOST_BYTES = 2_000_000
LONGEST_NAME = 100
MARK = re.compile(r"[ \t]*[-*+•][ \t]+")


def plain(text, error_class, what):
    """A text of one line; what would make another line, or draws on a terminal, is refused."""
    text = text.strip()
    if not text.isprintable() or not text:
        raise Refused(error_class, f"the {what} is empty, or holds a line end or a character that cannot be printed")
    return text


def name_of(args):
    """The name, without an article, and what of the phone number belongs to it: `il numero di Luca Rossi 333 1234567`."""
    parts = [plain(part, "BadPhone", "phone number") for part in args.get("phone", ())]
    name = plain(args["name"], "BadName", "name").split()
    while len(name) > 1 and folded(name[0]) and folded(name[0])[0] in ARTICLES:
        first = name[0].replace("’", "'").partition("'")
        name[:1] = [first[2]] if first[2] else []
    while len(parts) > 1 and parts[0].isalpha() and parts[0][0].isupper():
        name.append(parts.pop(0))
    name = " ".join(name)
    if not folded(name) or len(name) > LONGEST_NAME or not name[0].isalnum():
        raise Refused("BadName", "that is no name of a contact")
    return name, " ".join(parts)


def birthday_of(text, italian):
    """A birthday as it is written. Today, or a day that is still to come, says the year of the next one, and not that of the birth."""
    found = day_of(plain(text, "BadBirthday", "birthday"), italian)
    if not found:
        raise Refused("BadBirthday", f"{text} is no day and month for sure")
    year, month, number = found
    today = time.gmtime()
    if ISO.fullmatch(text.strip()) and (year, month, number) >= (today.tm_year, today.tm_mon, today.tm_mday):
        year = 0
    if year > today.tm_year:
        raise Refused("BadBirthday", f"{text} is still to come")
    return f"{number} {MONTHS[italian][month - 1]}" + (f" {year}" if year else "")


def wanted(args):
    """The name, and the fields that are to be written, by their kind."""
    name, phone = name_of(args)
    fields = {}
    if "birthday" in args:
        fields["birthday"] = birthday_of(args["birthday"], args.get("lang") == "it")
    if phone:
        if not PHONE.fullmatch(phone) or digits(phone) < 3:
            raise Refused("BadPhone", f"{phone} is no phone number")
        fields["phone"] = phone
    if "mail" in args:
        fields["mail"] = plain(args["mail"], "BadMail", "mail address")
        if not MAIL.fullmatch(fields["mail"]):
            raise Refused("BadMail", f"{args['mail']} is no mail address")
    if "address" in args:
        fields["address"] = plain(args["address"], "BadText", "address")
    return name, fields


def meant(contacts, name, fields):
    """The contact of this name; nothing where a new one is to be made. One whose name only begins so is taken where nothing of it would
    be replaced: it may be somebody else."""
    wanted_name = called(name)
    same = [contact for contact in contacts if called(contact.name) == wanted_name]
    if len(same) == 1:
        return same[0]
    found = same or [contact for contact in contacts if called(contact.name)[:len(wanted_name)] == wanted_name]
    if len(found) > 1:
        raise Refused("Ambiguous", f"{name} may be {' or '.join(contact.name for contact in found[:5])}; nothing was changed")
    if found and any(field for kind in fields for field in found[0].of(kind) if not is_same(kind, field, fields[kind])):
        raise Refused("Other", f"{found[0].name} is there and has another {' and '.join(fields)}; nothing was changed")
    return found[0] if found else None


def is_same(kind, field, value):
    """Whether a field says this already."""
    if kind == "phone":
        return [sign for sign in field[1] if sign.isdigit()] == [sign for sign in value if sign.isdigit()]
    if kind == "birthday":
        there, said = day_of(field[1], is_italian(field[2])), day_of(value, False)
        # Who says no year does not deny one.
        return there is not None and said[1:] == there[1:] and said[0] in (0, there[0])
    return folded(field[1]) == folded(value)


def put(lines, contact, kind, value, label):
    """Writes a field of a contact into the lines: in the place of the one that is there, else behind the others. What it was before."""
    there = contact.of(kind)
    if len(there) > 1:
        raise Refused("Several", f"{contact.name} has several fields of that kind; nothing was changed")
    if there:
        _, before, own, at, begin, end = there[0]
        born = day_of(before, is_italian(own)) if kind == "birthday" else None
        if born and born[0] and not day_of(value, False)[0]:
            value = f"{value} {born[0]}"
        lines[at] = lines[at][:begin] + value + lines[at][end:]
        return before
    first, last = lines[contact.at], lines[contact.at + contact.lines - 1]
    body = first.rstrip()
    mark = MARK.match(last)
    if contact.lines > 1 and mark and not any(field[3] == contact.at for field in contact.fields):
        # Its fields stand on lines of their own.
        lines.insert(contact.at + contact.lines, f"{mark[0]}{label}: {value}" + last[len(last.rstrip()):])
    elif any(field[3] == contact.at for field in contact.fields):
        lines[contact.at] = f"{body.rstrip(',;')}, {label} {value}{first[len(body):]}"
    else:
        lines[contact.at] = f"{body}{' ' if contact.parted else ': '}{label} {value}{first[len(body):]}"
    return ""


def add(lines, contacts, line):
    """Puts a new contact behind the last one, else at the end."""
    end = "\r" if any(line.endswith("\r") for line in lines) else ""
    if contacts:
        mark = MARK.match(lines[contacts[-1].at])
        line, at = (mark[0] if mark else "- ") + line, contacts[-1].at + contacts[-1].lines
    else:
        line, at = "- " + line, len(lines) - (not lines[-1].strip())
        if at and lines[at - 1].strip():
            lines.insert(at, end)
            at += 1
    if at == len(lines):
        lines[-1] = lines[-1].rstrip("\r") + end
        lines.append(line)
    else:
        lines.insert(at, line + end)


def changed(text, contacts, name, fields, italian):
    """The text with the fields: the text, the name of the contact as it stands there, whether it is new, and what the fields were."""
    contact = meant(contacts, name, fields)
    labels = {kind: both[italian].split(", ")[0] for kind, both in LABELS.items()}
    lines = text.split("\n")
    if contact is None:
        said = ", ".join(f"{labels[kind]} {value}" for kind, value in fields.items())
        add(lines, contacts, f"{name}: {said}" if said else name)
        return "\n".join(lines), name, True, []
    before = []
    for kind, value in fields.items():
        if before:
            # What was put before it has moved what stands behind that.
            contact = next(other for other in contacts_of("\n".join(lines)) if other.at == contact.at)
        if not any(is_same(kind, field, value) for field in contact.of(kind)):
            before.append(put(lines, contact, kind, value, labels[kind]))
    return "\n".join(lines), contact.name, False, [value for value in before if value]


def check(was, new, name, fields):
    """Refuses a text in which anything but these fields of this contact is read otherwise than before."""
    now = contacts_of(new)

    def all_of(contacts):
        return [(contact.name, sorted(field[:2] for field in contact.fields)) for contact in contacts if contact.name != name]

    whole = [contact for contact in now if contact.name == name]
    here = [contact for contact in was if contact.name == name]
    others = sorted(field[:2] for contact in here for field in contact.fields if field[0] not in fields)
    kept = sorted(field[:2] for contact in whole for field in contact.fields if field[0] not in fields)
    said = [field for contact in whole for field in contact.fields]
    written = all(any(field[0] == kind and is_same(kind, field, value) for field in said) for kind, value in fields.items())
    if not whole or all_of(was) != all_of(now) or others != kept or not written or len(whole) != max(1, len(here)):
        raise Refused("BadText", "written into the list, that would be read as something else; nothing was changed")


def replace(file, read, content, name, folder, ctx, where):
    """Puts the new text in the place of the old one, which is in the trash then: its name there. `read` is what was known of the
    old one when it was read."""
    path, keep = where
    late = Refused("PermissionDenied", f"{path} was changed by others at this very moment; nothing was changed")
    with Draft(folder, content, path) as draft:
        what = os.fstat(file)
        record(ctx.workspace, keep, path, {"of": "contact_add", "made": draft.made, "before": what.st_ino})
        if seen(os.fstat(file)) != read:
            raise late
        place = to_trash(name, what, keep, folder, path)
        if not place:
            raise late
        # Who does not lock may have written to it until now.
        if seen(os.fstat(file)) != read and rename_new(place, name, folder, path):
            raise late
        if not draft.place(name):
            raise Refused("Exists", f"{path} was made anew by others at this very moment; what it was before is {place} now")
    return place


def written(text, name, fields, italian):
    """The text with the fields, as bytes, and what is told of it."""
    bare = text.removeprefix("\ufeff")
    contacts = contacts_of(bare)
    new, full, made, before = changed(bare, contacts, name, fields, italian)
    check(contacts, new, full, fields)
    content = (text[:len(text) - len(bare)] + new).encode("utf-8")
    if len(content) > MOST_BYTES:
        raise Refused("TooLarge", f"the contacts would have more than {MOST_BYTES} bytes")
    what = "added" if made else "same" if new == bare else "changed"
    return content, {"name": full, "what": what, "before": ", ".join(before), **{kind: fields.get(kind, "") for kind in LABELS}}


def make(name, folder, path, ctx, said, keep):
    """Makes the file for its first contact."""
    content, told = written("", *said)
    with Draft(folder, content, path) as draft:
        record(ctx.workspace, keep, path, {"of": "contact_add", "made": draft.made, "before": None})
        if not draft.place(name):
            raise Refused("Exists", f"{path} was made by others at this very moment; nothing was changed")
    return {**told, "trashed": ""}


def change(file, name, folder, path, ctx, said, keep):
    """Changes the open and locked file: what is told of it, and where the old one is."""
    read = seen(os.fstat(file))
    try:
        text = read_whole(file, path, MOST_BYTES, "be changed as contacts").decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("NotText", f"{path} is not text in UTF-8") from None
    content, told = written(text, *said)
    if told["what"] == "same":
        # So that taking it back finds that there is nothing to take back.
        record(ctx.workspace, keep, path, {"of": "contact_add", "made": read, "before": read["ino"]})
        return {**told, "trashed": ""}
    return {**told, "trashed": replace(file, read, content, name, folder, ctx, (path, keep))}


def act(args, ctx):
    path, keep = args.get("path", CONTACTS), args.get("keep", "")
    names, said = split_change(path), (*wanted(args), args.get("lang") == "it")
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        if look(names[-1], folder, path) is None:
            done = make(names[-1], folder, path, ctx, said, keep)
        else:
            file, _ = open_locked(open_there, names[-1], folder, ctx, path)
            try:
                done = change(file, names[-1], folder, path, ctx, said, keep)
            finally:
                os.close(file)
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    if done["trashed"]:
        done["trashed"] = "/".join([*names[:-1], done["trashed"]])
    return {"ok": True, "path": "/".join(names), **done}


def run(args, ctx):
    return answer(act, args, ctx)
