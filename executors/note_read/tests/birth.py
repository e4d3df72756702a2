"""What note_read promises, case by case. sandboxd makes the files in a workspace of the case's own."""

BOOK = (
    "# Notes\n\n## 2026-11-23 09:15\n\nthe rent is due\n\n## 2026-11-24 18:00 · boiler\n\nthe code is 4471\n\n- turn left\n\n"
    "## 2026-11-24 19:30 UTC\n\nAnna comes on Sunday\n"
)


def cases():
    return [
        {
            "name": "notes are read with their times and headings, oldest first",
            "files": {"notes/notes.md": {"text": BOOK}},
            "args": {},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "notes/notes.md",
                    "/notes/0": {"time": "2026-11-23 09:15", "heading": "", "text": "the rent is due"},
                    "/notes/1": {"time": "2026-11-24 18:00", "heading": "boiler", "text": "the code is 4471\n\n- turn left"},
                    "/notes/2/time": "2026-11-24 19:30 UTC",
                    "/total": 3,
                    "/truncated": False,
                },
            },
        },
        {
            "name": "notes of a day are those under its date, whatever the zone",
            "files": {"notes/notes.md": {"text": BOOK}},
            "args": {"on": "2026-11-24", "offset": "-08:00"},
            "expect": {"ok": True, "values": {"/total": 2, "/notes/0/heading": "boiler"}},
        },
        {
            "name": "without a notebook, the notes of the household and the person's own are read in the order of their times",
            "files": {
                "notes/notes.md": {"text": BOOK},
                "mine/notes.md": {"text": "## 2026-11-24 09:00\n\na ring\n\n## 2026-11-25 09:00\n\na cake\n"},
            },
            "args": {"own": "mine/notes.md"},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "mine/notes.md",
                    "/total": 5,
                    "/notes/1/text": "a ring",
                    "/notes/4/text": "a cake",
                },
            },
        },
        {
            "name": "a person who has noted nothing yet has the notes of the household",
            "files": {"notes/notes.md": {"text": BOOK}},
            "args": {"own": "mine/notes.md", "about": "boiler"},
            "expect": {"ok": True, "values": {"/total": 1}},
        },
        {
            "name": "notes of another time are not those of today",
            "files": {"notes/notes.md": {"text": BOOK.replace("2026", "2001")}},
            "args": {"during": "today"},
            "expect": {"ok": True, "values": {"/notes": [], "/total": 0}},
        },
        {
            "name": "the last note is the latest, and more is said to be there",
            "files": {"notes/notes.md": {"text": BOOK}},
            "args": {"limit": 1},
            "expect": {"ok": True, "values": {"/notes/0/text": "Anna comes on Sunday", "/total": 3, "/truncated": True}},
        },
        {
            "name": "notes about something have all its words, in the heading or the text",
            "files": {"notes/notes.md": {"text": BOOK}},
            "args": {"about": "boiler codes"},
            "expect": {"ok": True, "values": {"/total": 1, "/notes/0/heading": "boiler"}},
        },
        {
            "name": "where nothing was ever noted there is no note",
            "files": {},
            "args": {},
            "expect": {"ok": True, "values": {"/notes": [], "/total": 0}},
        },
        {
            "name": "a notebook that is named and not there is not found",
            "files": {},
            "args": {"path": "notes/work.md"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a day that no calendar has is no day",
            "files": {},
            "args": {"on": "2026-02-30"},
            "expect": {"ok": False, "class": "BadTime"},
        },
        {
            "name": "bytes are no notebook",
            "files": {"notes/notes.md": {"base64": "/w=="}},
            "args": {},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a link is not followed",
            "files": {"notes/notes.md": {"link": "/etc/passwd"}},
            "args": {},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../notes.md"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
