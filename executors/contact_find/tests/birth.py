"""What contact_find promises, case by case. sandboxd makes the files in a workspace of the case's own."""

HERE = "notes/contacts.md"
LIST = """# Contacts

- Luca Rossi: birthday 3 May 2015, phone 333 1234567, mail luca@example.org, address Via Roma 1, 00100 Roma
- Luca Bianchi: compleanno 8 maggio, cellulare +39 333 999, squadra: Roma
* Anna, telefono: 06 555 1234; scarpe 38
- **plumber**: 06 555 9999
- Zoé
  - born on 29 Feb 2016
  - phone: 112 118
Grandma: 3 June 1948
Whatever else: it is no contact.
"""
MANY = "- Anna Verdi: birthday 3 May, phone 333 1234567, mail anna@example.org, address Via Roma 1\n"


def one(field, told, name, text=LIST, **values):
    """What is told of one contact."""
    return {
        "files": {HERE: {"text": text}},
        "args": {"name": name, "field": field},
        "expect": {"ok": True, "values": {"/total": 1, "/several": False, "/contacts/0/tells": told, **values}},
    }


def refused(error_class, **case):
    return {"expect": {"ok": False, "class": error_class}, **case}


def cases():
    return [
        {
            "name": "a contact without a birthday is reported when asked whether it is that birthday",
            "files": {HERE: {"text": LIST}},
            "args": {"name": "anna", "birthdays": "today"},
            "expect": {"ok": True, "values": {"/due": 1, "/contacts/0/tells": "none"}},
        },
        {
            "name": "nor of a person who is no contact",
            "files": {HERE: {"text": LIST}},
            "args": {"name": "Bruno", "birthdays": "tomorrow"},
            "expect": {"ok": True, "values": {"/due": 1, "/known": False, "/total": 0}},
        },
        {"name": "a birthday is told as it is said in both languages", **one(
            "birthday", "birthday", "Luca Rossi", **{
                "/contacts/0/day_en": "3 May", "/contacts/0/day_it": "il 3 maggio", "/contacts/0/born": "2015",
                "/contacts/0/addresses": ["Via Roma 1, 00100 Roma"], "/contacts/0/mails": ["luca@example.org"],
            })},
        {"name": "Italian labels and a birthday without a year are read", **one(
            "birthday", "birthday", "luca bianchi", **{
                "/contacts/0/day_en": "8 May", "/contacts/0/day_it": "l’8 maggio", "/contacts/0/born": "",
                "/contacts/0/phones": ["+39 333 999"],
            })},
        {"name": "a name is known without capitals and accents", **one("phone", "phone", "ZOE", **{
            "/contacts/0/name": "Zoé", "/contacts/0/phones": ["112 118"], "/contacts/0/day_en": "29 February"})},
        {"name": "fields behind semicolons, and unknown ones, are no trouble", **one("phone", "phone", "anna", **{
            "/contacts/0/phones": ["06 555 1234"]})},
        {"name": "an article is no part of a name", **one("phone", "phone", "the plumber", **{
            "/contacts/0/name": "plumber", "/contacts/0/owner": "The plumber", "/contacts/0/phones": ["06 555 9999"]})},
        {"name": "a field that is not there is told as none", **one("mail", "none", "Anna", **{"/contacts/0/mails": []})},
        {"name": "a line without a mark is a contact when it says something known", **one("birthday", "birthday", "grandma", **{
            "/contacts/0/day_en": "3 June", "/contacts/0/born": "1948"})},
        {"name": "Windows line ends are no part of a value", **one("phone", "phone", "Anna", LIST.replace("\n", "\r\n"), **{
            "/contacts/0/phones": ["06 555 1234"]})},
        {"name": "a day that may be two is told as it is written", **one("birthday", "birthday", "Ida", "- Ida: birthday 4/5/2001\n", **{
            "/contacts/0/day_en": "4/5/2001", "/contacts/0/born": ""})},
        {
            "name": "two of one first name are both named, and nothing more is told",
            "files": {HERE: {"text": LIST}},
            "args": {"name": "Luca", "field": "phone"},
            "expect": {"ok": True, "values": {
                "/several": True, "/total": 2, "/contacts/0/name": "Luca Rossi", "/contacts/1/name": "Luca Bianchi",
                "/contacts/0/tells": "candidate", "/contacts/0/phones": [], "/contacts/0/text": "Luca Rossi",
            }},
        },
        {
            "name": "nobody of a name is nobody, and no line of words is a contact",
            "files": {HERE: {"text": LIST}},
            "args": {"name": "Whatever else", "field": "phone"},
            "expect": {"ok": True, "values": {"/total": 0, "/contacts": [], "/known": False}},
        },
        {
            "name": "all contacts are told with what stands there",
            "files": {HERE: {"text": LIST}},
            "args": {},
            "expect": {"ok": True, "values": {"/total": 6, "/truncated": False, "/contacts/3/text": "**plumber**: 06 555 9999"}},
        },
        {
            "name": "what other files and sentences in notes say of somebody counts",
            "files": {
                HERE: {"text": "- Anna: phone 333 444\n"},
                "notes/birthdays.md": {"text": "Grandma: 3 June 1948\nAnna: 8 May\n"},
                "notes/notes.md": {"text": "- Luca's birthday is on 3 May\n- il compleanno di Eva è l'11 aprile\n- Anna's birthday is on 1 July\n"},
            },
            "args": {},
            "expect": {"ok": True, "values": {
                "/total": 4, "/contacts/0/name": "Anna", "/contacts/0/birthday": "8 May", "/contacts/0/phones": ["333 444"],
                "/contacts/1/name": "Grandma", "/contacts/2/name": "Luca", "/contacts/2/day_en": "3 May",
                "/contacts/3/name": "Eva", "/contacts/3/day_it": "l’11 aprile",
            }},
        },
        {
            "name": "a file beside it that cannot be read is no trouble",
            "files": {HERE: {"text": LIST}, "notes/birthdays.md": {"base64": "/w=="}, "notes/notes.md": {"fifo": True}},
            "args": {"name": "Anna", "field": "phone"},
            "expect": {"ok": True, "values": {"/known": True, "/contacts/0/phones": ["06 555 1234"]}},
        },
        {
            "name": "those of a month come in the order of its days",
            "files": {HERE: {"text": "- B: birthday 9 May\n- A: birthday 3 maggio 1999\n- C: birthday 1 June\n- D: phone 333 444\n"}},
            "args": {"month": "maggio"},
            "expect": {"ok": True, "values": {"/total": 2, "/contacts/0/name": "A", "/contacts/1/name": "B", "/contacts/0/tells": "day"}},
        },
        {
            "name": "of one birthday that is the next one",
            "files": {HERE: {"text": "- A: birthday 29 February\n- B: phone 333 444\n"}},
            "args": {"birthdays": "next", "offset": "+01:00"},
            "expect": {"ok": True, "values": {"/total": 1, "/contacts/0/name": "A", "/contacts/0/tells": "next"}},
        },
        {
            "name": "without a file there are no contacts",
            "files": {},
            "args": {"birthdays": "today"},
            "expect": {"ok": True, "values": {"/total": 0, "/dated": True, "/path": HERE}},
        },
        {
            "name": "an empty file has no contacts",
            "files": {HERE: {"text": ""}},
            "args": {},
            "expect": {"ok": True, "values": {"/total": 0}},
        },
        {
            "name": "ten thousand contacts are read, and some of them are told",
            "files": {HERE: {"text": MANY, "times": 10_000}},
            "args": {"limit": 5},
            "expect": {"ok": True, "values": {"/total": 10_000, "/returned": 5, "/truncated": True}},
        },
        refused("TooLarge", name="a file that is too large is refused", files={HERE: {"text": MANY, "times": 30_000}}, args={}),
        refused("TooLarge", name="lines of nothing but commas are refused",
                files={HERE: {"text": "- a, , , , ,\n", "times": 100_000}}, args={}),
        {
            "name": "long lines and marks without end cost no more than their length",
            "files": {HERE: {"text": "- a" + " *_" * 600 + ":" + " phone" * 30 + "\n", "times": 300}},
            "args": {"name": "b"},
            "expect": {"ok": True, "values": {"/total": 0}},
        },
        refused("NotText", name="bytes are no contacts", files={HERE: {"base64": "/w=="}}, args={}),
        refused("NotAFile", name="a pipe is no file of contacts", files={HERE: {"fifo": True}}, args={}),
        refused("PermissionDenied", name="a link is not followed", files={"a.md": {"text": LIST}, HERE: {"link": "../a.md"}}, args={}),
        refused("NotFound", name="a file that was named must be there", files={}, args={"path": "a.md"}),
        refused("PermissionDenied", name="a path that climbs out of the workspace is denied", files={}, args={"path": "../a.md"}),
    ]
