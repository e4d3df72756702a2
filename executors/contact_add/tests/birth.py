"""What contact_add promises, case by case. sandboxd makes the files in a workspace of the case's own."""

HERE = "notes/contacts.md"
LIST = "# Contacts\n\n- Luca Rossi: birthday 3 May 2015, phone 333 1234567, squadra: Roma\n- Zoé\n  - phone: 112 118\n\nThe end.\n"
MANY = "- Anna Verdi: birthday 3 May, phone 333 1234567, mail anna@example.org, address Via Roma 1\n"


def done(name, text, args, what, **values):
    """A call that does what is asked for."""
    files = {} if text is None else {HERE: {"text": text}}
    return {"name": name, "files": files, "args": args, "expect": {"ok": True, "values": {"/what": what, **values}}}


def refused(error_class, name, args, text=LIST):
    return {"name": name, "files": {HERE: {"text": text}}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        done("the file is made for its first contact", None, {"name": "Anna", "phone": ["333", "1234567"]}, "added", **{
            "/path": HERE, "/name": "Anna", "/phone": "333 1234567", "/trashed": "", "/before": ""}),
        done("a contact that is not there is added", LIST, {"name": "the plumber", "phone": ["06 555 1234"]}, "added", **{
            "/name": "plumber"}),
        done("a field is added to a contact, whatever its capitals and accents", LIST, {"name": "ZOE", "mail": "z@example.org"},
             "changed", **{"/name": "Zoé", "/mail": "z@example.org", "/before": ""}),
        done("a field that is there is changed", LIST, {"name": "luca rossi", "phone": ["333 999"]}, "changed", **{
            "/name": "Luca Rossi", "/before": "333 1234567"}),
        done("several fields are written at once", LIST, {
            "name": "Luca Rossi", "birthday": "4 May 2015", "mail": "l@example.org", "address": "Via Roma 1, Roma"}, "changed", **{
            "/birthday": "4 May 2015", "/before": "3 May 2015"}),
        done("a birthday without its year is the same, and takes no year away", LIST, {"name": "Luca Rossi", "birthday": "3 May"}, "same"),
        done("what is there already is not written again", LIST, {"name": "Luca Rossi", "phone": ["3331234567"]}, "same", **{
            "/trashed": ""}),
        done("a first name that only one has is his, where nothing is replaced", LIST, {"name": "Luca", "mail": "l@example.org"},
             "changed", **{"/name": "Luca Rossi"}),
        done("a birthday is written in the language of the house", LIST, {"name": "Ida", "birthday": "the 3rd of May", "lang": "it"},
             "added", **{"/birthday": "3 maggio"}),
        done("a day that is still to come says no year of birth", LIST, {"name": "Ida", "birthday": "2199-05-03"}, "added", **{
            "/birthday": "3 May"}),
        done("a surname that stands before the number belongs to the name", LIST, {"name": "Anna", "phone": ["Verdi", "333", "44"]},
             "added", **{"/name": "Anna Verdi", "/phone": "333 44"}),
        done("an empty file is no trouble", "", {"name": "Anna", "mail": "a@example.org"}, "added"),
        done("Windows line ends are no trouble", LIST.replace("\n", "\r\n"), {"name": "Luca Rossi", "mail": "a@example.org"}, "changed"),
        done("a file without a last line end is no trouble", "- Luca: phone 333 444", {"name": "Anna", "mail": "a@example.org"}, "added"),
        done("a contact without fields is one", LIST, {"name": "Anna"}, "added"),
        {
            "name": "one of ten thousand contacts is changed",
            "files": {HERE: {"text": MANY, "times": 10_000}},
            "args": {"name": "Ugo", "phone": ["333 999"]},
            "expect": {"ok": True, "values": {"/what": "added"}},
        },
        refused("Other", "somebody of whom only the first name was said keeps his number", {"name": "Luca", "phone": ["333 999"]}),
        refused("Ambiguous", "of two with one first name none is changed", {"name": "Luca", "mail": "l@example.org"},
                "- Luca Rossi\n- Luca Bianchi\n"),
        refused("Several", "of two numbers none is replaced", {"name": "Luca", "phone": ["333 999"]},
                "- Luca: phone 333 444, cell 333 555\n"),
        refused("BadName", "a name is of one line", {"name": "Eva\n- Bob", "phone": ["333 999"]}),
        refused("BadName", "a name draws nothing", {"name": "Eva\u001b[2J", "phone": ["333 999"]}),
        refused("BadName", "a name begins with no mark", {"name": "- Eva", "phone": ["333 999"]}),
        refused("BadText", "a name that would be read as a field is refused", {"name": "Eva: phone 333 444, x", "mail": "e@example.org"}),
        refused("BadText", "an address that would be read as a number is refused",
                {"name": "Luca Rossi", "address": "Via A, phone 666 777"}),
        refused("BadText", "an address is of one line", {"name": "Luca Rossi", "address": "Via A\u2028- Bob"}),
        refused("BadPhone", "a number is of one line", {"name": "Luca Rossi", "phone": ["333\n- Bob: 444"]}),
        refused("BadPhone", "words are no number", {"name": "Luca Rossi", "phone": ["to", "the", "list"]}),
        refused("BadMail", "what has no place is no mail address", {"name": "Luca Rossi", "mail": "luca"}),
        refused("BadBirthday", "a day that the calendar does not have is refused", {"name": "Luca Rossi", "birthday": "30 February"}),
        refused("BadBirthday", "a day that may be two is refused", {"name": "Luca Rossi", "birthday": "4/5/2001"}),
        {
            "name": "a file that is too large stays as it is",
            "files": {HERE: {"text": MANY, "times": 30_000}},
            "args": {"name": "Ugo", "phone": ["333 999"]},
            "expect": {"ok": False, "class": "TooLarge"},
        },
        {
            "name": "bytes stay as they are",
            "files": {HERE: {"base64": "/w=="}},
            "args": {"name": "Ugo", "phone": ["333 999"]},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a link is not written through",
            "files": {"a.md": {"text": LIST}, HERE: {"link": "../a.md"}},
            "args": {"name": "Ugo", "phone": ["333 999"]},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a pipe is no file of contacts",
            "files": {HERE: {"fifo": True}},
            "args": {"name": "Ugo", "phone": ["333 999"]},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "nothing is written into the trash",
            "files": {},
            "args": {"name": "Ugo", "phone": ["333 999"], "path": ".trash-1-a.md"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"name": "Ugo", "phone": ["333 999"], "path": "../a.md"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
