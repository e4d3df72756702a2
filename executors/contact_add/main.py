"""Adds a contact of the household, or a field of one that is there: a birthday, a phone number, a mail address, an address.

Contacts are list items of one text file that people write by hand. It is replaced in one step; what it was before goes to the trash, beside
it. Every other line and field stays as it was, which is looked at before anything is written.
"""

import os
import re
import time

from metnos_files import (
    Draft, Refused, answer, look, open_locked, open_there, read_whole, record, refused, rename_new, seen, split_change, to_trash, walk_to,
)
from metnos_lists import ITEM, NO_ITEM, WORD, folded, wide

MOST_BYTES = 2_000_000
LONGEST_NAME = 100
# Where contacts stand unless another place is named; `contact_find` and `fs_restore` know it, too.
CONTACTS = "notes/contacts.md"
MARK = re.compile(r"[ \t]*[-*+•][ \t]+")

# What stands in the file of contacts: contact_add and contact_find have this part alike, down to the last line.

# What a field is called, of each kind; the first of each language is what contact_add writes.
LABELS = {
    "birthday": ("birthday, bday, birth, date of birth, born, born on",
                 "compleanno, nascita, data di nascita, nato, nata, nato il, nata il"),
    "phone": ("phone, phone number, telephone, tel, mobile, mobile number, mobile phone, cell, cellphone, number",
              "telefono, numero di telefono, numero, cellulare, fisso"),
    "mail": ("mail, e-mail, email, mail address, email address, e-mail address",
             "mail, posta, posta elettronica, indirizzo mail, indirizzo email"),
    "address": ("address, home address, lives at", "indirizzo, indirizzo di casa, abita in"),
}
KIND = {label: kind for kind, both in LABELS.items() for labels in both for label in labels.split(", ")}
ANY_LABEL = "|".join(re.escape(label) for label in sorted(KIND, key=len, reverse=True))
LABEL = re.compile(rf"[*_]*({ANY_LABEL})(?:[*_]*\s*[:=][*_]*\s*|\.?\s+)", re.IGNORECASE)
# A field ends at a comma or semicolon with white space behind it.
FIELD = re.compile(r"(?:[^,;]|[,;](?=\S))+")
# What parts a name from its fields.
COLON = re.compile(r"(?<!\s)\s*:(?=[\s*_]|$)")
SEPARATOR = re.compile(r"(?<!\s)\s*(?:[,;](?=\s|$)|(?<=\s)[-–—]\s)")
LABEL_LAST = re.compile(rf"(?:^|[\s,;])({ANY_LABEL})$", re.IGNORECASE)
# A field that follows a name without a mark: `Anna 333 1234567`.
UNMARKED = re.compile(rf"(?<!\s)\s+(?=(?:{ANY_LABEL})\.?\s+\S|\+?[0-9][0-9 ./-]{{4,}}|\S+@\S)", re.IGNORECASE)
PHONE = re.compile(r"\+?[0-9(][0-9 ()./-]*[0-9]")
MAIL = re.compile(r"[^\s@,;<>]+@[^\s@,;<>]+\.[^\s@,;<>]+")
MARKS = " \t*_`"
# A line that is longer is no contact.
LONGEST_LINE = 2_000
# A file with more fields is not read to its end.
MOST_FIELDS = 100_000

MONTHS = ("January February March April May June July August September October November December".split(),
          "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre".split())
MONTH = {name: at % 12 + 1 for at, name in enumerate(
    "jan feb mar apr may jun jul aug sep oct nov dec gen feb mar apr mag giu lug ago set ott nov dic".split())}
MONTH.update({"sept": 9, "sett": 9}, **{name.lower(): at + 1 for names in MONTHS for at, name in enumerate(names)})
LAST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
# What stands around a day and says nothing of it.
AROUND = frozenset("the of on st nd rd th º ª il l lo di del nel".split())
NUMBERS = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})(?:\2([0-9]{4}))?")
ISO = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
YEARS = range(1800, 2200)
ARTICLES = frozenset("the a an my our il lo la i gli le l un uno una mio mia miei mie nostro nostra".split())


class Contact:
    """A contact: its name, its first line and how many it has, and what is said of it. A field is its kind (empty where nobody knows
    it), its value, its label, its line, and where the value stands in that."""

    __slots__ = ("name", "at", "lines", "indent", "parted", "fields", "text")

    def __init__(self, at, line, begin, indent):
        end, rest = head(line[begin:])
        self.name, self.at, self.lines, self.indent = line[begin:begin + end].strip(MARKS), at, 1, indent
        #: Whether something parts the name from what follows, be it there or not.
        self.parted = rest > end
        self.fields, self.text = fields_of(line, begin + rest, at), line[begin:].strip()

    def take(self, at, line, begin):
        """Takes a line below the first one."""
        self.fields += fields_of(line, begin, at)
        if len(self.text) < LONGEST_LINE:
            self.text += (" " if self.lines == 1 and self.text.endswith(":") else ", ") + line[begin:].strip()
        self.lines = at - self.at + 1

    def of(self, kind):
        return [field for field in self.fields if field[0] == kind]


def contacts_of(text):
    """The contacts of a file, in their order: each list item, and each other line with a name and a field that is known."""
    found, now, fenced, fields = [], None, False, 0
    for at, line in enumerate(text.split("\n")):
        line = line.rstrip()
        item = ITEM.fullmatch(line)
        begin = item.start(3) if item else len(line) - len(line.lstrip())
        if line.startswith("```", begin) or fenced or not line.strip() or len(line) > LONGEST_LINE:
            fenced, now = fenced != line.startswith("```", begin), None
        elif now and wide(line) > now.indent and not is_whole(line[begin:]):
            now.take(at, line, begin)
        elif item or is_whole(line[begin:]) and not NO_ITEM.match(line):
            now = Contact(at, line, begin, wide(line))
            found.append(now)
        else:
            now = None
        fields += line.count(",") + line.count(";") + 1
        if fields > MOST_FIELDS:
            raise Refused("TooLarge", "the file says more than can be read at once")
    return [contact for contact in found if contact.name]


def is_whole(text):
    """Whether a line is a contact by itself: a name, and behind it something that is known."""
    end, rest = head(text)
    return not LABEL.match(text) and bool(text[:end].strip(MARKS)) and any(field[0] for field in fields_of(text, rest, 0))


def head(text):
    """Where the name ends that a text begins with, and where what is said of it begins."""
    colon, stop = COLON.search(text), SEPARATOR.search(text)
    if colon:
        label = LABEL_LAST.search(text, 0, colon.start())
        if not label:
            return colon.start(), colon.end()
        if not stop or stop.start() > label.start():
            return label.start(), label.start(1)
    first = stop.start() if stop else len(text)
    bare = UNMARKED.search(text, 0, first)
    if bare:
        return bare.start(), bare.end()
    return first, stop.end() if stop else first


def fields_of(line, begin, at):
    """What is said of a contact on a line, from `begin` on."""
    found = []
    for part in FIELD.finditer(line, begin):
        first = part.start() + len(part[0]) - len(part[0].lstrip(MARKS))
        last = max(first, part.start() + len(part[0].rstrip(MARKS)))
        label = LABEL.match(line, first, last)
        value = line[label.end():last] if label else line[first:last]
        kind = KIND[label[1].lower()] if label else kind_of(value)
        if not value or not fits(kind, value):
            kind = ""
        if not kind and found and found[-1][0] == "address" and ":" not in value:
            # An address goes on behind a comma.
            found[-1] = (*found[-1][:5], last)
            found[-1] = ("address", line[found[-1][4]:last], *found[-1][2:])
        elif first < last:
            found.append((kind, value, label[1].lower() if label else "", at, label.end() if label else first, last))
    return found


def kind_of(value):
    """The kind of a field without a label, by what it says."""
    if MAIL.fullmatch(value):
        return "mail"
    if day_of(value, False):
        return "birthday"
    return "phone" if PHONE.fullmatch(value) and digits(value) not in (0, 1, 2, 4) else ""


def digits(value):
    """How many digits a text has."""
    return sum(sign in "0123456789" for sign in value)


def fits(kind, value):
    """Whether a value can be what its label says."""
    return {"phone": digits(value) > 2, "mail": "@" in value}.get(kind, True)


def day_of(text, italian):
    """The year (0 where none is said), month and day of a birthday; nothing where that is not certain."""
    text = text.strip()
    iso, numbers = ISO.fullmatch(text), NUMBERS.fullmatch(text)
    if iso:
        return day(int(iso[1]), int(iso[2]), int(iso[3]))
    if numbers:
        one, other, year = int(numbers[1]), int(numbers[3]), int(numbers[4] or 0)
        if italian or numbers[2] == "." or one > 12 or one == other:
            return day(year, other, one)
        return day(year, one, other) if other > 12 else None
    year = month = number = 0
    for word in WORD.findall(text.lower()):
        if word in MONTH and not month:
            month = MONTH[word]
        elif word.isdecimal() and len(word) == 4 and not year:
            year = int(word)
        elif word.isdecimal() and len(word) < 3 and not number:
            number = int(word)
        elif word not in AROUND:
            return None
    return day(year, month, number)


def day(year, month, number):
    """These three when there is such a day."""
    is_there = 1 <= month <= 12 and 1 <= number <= LAST_DAYS[month - 1] and (not year or year in YEARS)
    if is_there and year and (month, number) == (2, 29):
        is_there = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (year, month, number) if is_there else None


def is_italian(label):
    """Whether a label is an Italian word."""
    return any(label in labels[1].split(", ") and label not in labels[0].split(", ") for labels in LABELS.values())


def called(name):
    """A name as it is compared: without capitals, accents and the article before it."""
    words = list(folded(name))
    while len(words) > 1 and words[0] in ARTICLES:
        words.pop(0)
    return tuple(words)


def named(contacts, name):
    """The contacts of this name; where none has just that, all whose names have these words."""
    wanted = called(name)
    same = [contact for contact in contacts if called(contact.name) == wanted]
    return same or [contact for contact in contacts if wanted and set(wanted) <= set(called(contact.name))]


def text_of(data, path):
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Refused("NotText", f"{path} is not text in UTF-8") from None

# As far as both have it alike.


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
    """A birthday as it is written. A day that is still to come says the year of the next one, and not that of the birth."""
    found = day_of(plain(text, "BadBirthday", "birthday"), italian)
    if not found:
        raise Refused("BadBirthday", f"{text} is no day and month for sure")
    year, month, number = found
    today = time.gmtime()
    if ISO.fullmatch(text.strip()) and (year, month, number) > (today.tm_year, today.tm_mon, today.tm_mday):
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
