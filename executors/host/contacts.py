"""Contacts as a household writes them, part of the file library (`files.py`): who is on a line, what is said of each, and who is meant
by a name. `host.py` makes it the module `metnos_contacts`. It opens nothing.
"""

import re

from metnos_files import Refused
from metnos_lists import ITEM, NO_ITEM, WORD, folded, wide

# Where contacts stand unless another place is named; `fs_restore` knows it, too.
CONTACTS = "notes/contacts.md"

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


# A name of at most three words.
A_NAME = r"[^\W\d_]+(?:[ -][^\W\d_]+){0,2}"
# How people write such a thing into a note: who it is about comes first in English, and behind what it is in Italian.
SENTENCES = tuple(re.compile(form, re.IGNORECASE) for form in (
    rf"(?:^|[-*+•:.,;]\s*|\bthat\s+)(?:the\s+|my\s+|our\s+)?(?P<name>{A_NAME})['’]s\s+(?P<label>{ANY_LABEL})\s+is\s+(?:on\s+)?"
    r"(?P<value>[^;]{1,200})",
    rf"\b(?:il|la|lo|l['’])\s*(?P<label>{ANY_LABEL})\s+(?:di|del|della|dello|dell['’]|d['’])\s*(?P<name>{A_NAME})\s+(?:è|e['’])\s+"
    r"(?:il\s+|l['’]\s*)?(?P<value>[^;]{1,200})",
))


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


def said_of(text):
    """The contacts that sentences tell of: `Luca's birthday is on 3 May`, `il numero di Anna è 333 1234567`."""
    found, fields = [], 0
    for at, line in enumerate(text.split("\n")):
        told = [form.search(line) for form in SENTENCES] if len(line) <= LONGEST_LINE else []
        for one in filter(None, told):
            contact = Contact(at, line, len(line), 0)
            contact.name = one["name"].strip(MARKS)
            kind, value = KIND[one["label"].lower()], one["value"].strip(MARKS).rstrip(".!")
            if fits(kind, value) and (kind != "birthday" or day_of(value, True)):
                contact.fields, contact.text = [(kind, value, one["label"].lower(), at, *one.span("value"))], line.strip()
                found.append(contact)
                fields += 1
        if fields > MOST_FIELDS:
            raise Refused("TooLarge", "the file says more than can be read at once")
    return found


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
