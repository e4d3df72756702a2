"""What list_read promises, case by case. sandboxd makes the files in a workspace of the case's own."""

LIST = "# Shopping\n\n- milk\n- [ ] 2 lemons\n- [x] bread\n* almond milk\n"


def cases():
    return [
        {
            "name": "a list is what stands on lines of its own, without what is done",
            "files": {"notes/shopping.md": {"text": LIST}},
            "args": {"path": "notes/shopping.md"},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "notes/shopping.md",
                    "/lists": [
                        {"path": "notes/shopping.md", "name": "shopping", "items": ["milk", "2 lemons", "almond milk"], "total": 3, "done": 1}
                    ],
                    "/total": 1,
                    "/items": 3,
                    "/truncated": False,
                },
            },
        },
        {
            "name": "what is done is read when it is asked for",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "done": True},
            "expect": {"ok": True, "values": {"/items": 4, "/lists/0/done": 1}},
        },
        {
            "name": "a thing is found by its words, whatever their number and case",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "item": "Lemon"},
            "expect": {"ok": True, "values": {"/lists/0/items": ["2 lemons"], "/items": 1}},
        },
        {
            "name": "words find each thing in which they all stand",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "item": "milk"},
            "expect": {"ok": True, "values": {"/lists/0/items": ["milk", "almond milk"]}},
        },
        {
            "name": "a thing that is not on the list, or done, is on none",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "item": "bread"},
            "expect": {"ok": True, "values": {"/lists": [], "/total": 0, "/items": 0}},
        },
        {
            "name": "a part of a word is no word",
            "files": {"a.md": {"text": "- ricotta\n"}},
            "args": {"path": "a.md", "item": "rice"},
            "expect": {"ok": True, "values": {"/lists": []}},
        },
        {
            "name": "the first thing is the first, and more is said to be there",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "limit": 1},
            "expect": {"ok": True, "values": {"/lists/0/items": ["milk"], "/lists/0/total": 3, "/truncated": True}},
        },
        {
            "name": "without marks each line is a thing",
            "files": {"spesa.txt": {"text": "# Spesa\nlatte\r\nmezzo litro d'olio\n\n"}},
            "args": {"path": "spesa.txt"},
            "expect": {"ok": True, "values": {"/lists/0/items": ["latte", "mezzo litro d'olio"]}},
        },
        {
            "name": "what was added with a mark to a list without marks does not hide the rest",
            "files": {"spesa.txt": {"text": "latte\npane\nuova\n- burro\n"}},
            "args": {"path": "spesa.txt"},
            "expect": {"ok": True, "values": {"/lists/0/items": ["latte", "pane", "uova", "burro"]}},
        },
        {
            "name": "what stands above a list with marks is no thing on it",
            "files": {"a.md": {"text": "Please buy\n- milk\n- eggs\n"}},
            "args": {"path": "a.md"},
            "expect": {"ok": True, "values": {"/lists/0/items": ["milk", "eggs"]}},
        },
        {
            "name": "lists are found by what they say or are called, and notes are none",
            "files": {
                "notes/shopping.md": {"text": ""},
                "notes/packing.md": {"text": "- tent\n- rope\n"},
                "notes/trip.md": {"text": "We went by train.\nIt rained.\nIt was good.\n- really\n"},
                "USER.md": {"text": "- Time zone: Europe/Rome\n"},
                "executors/x.md": {"text": "- a\n"},
                ".trash-1-a.md": {"text": "- a\n"},
            },
            "args": {},
            "expect": {
                "ok": True,
                "values": {"/total": 2, "/lists/0/name": "packing", "/lists/0/total": 2, "/lists/1/name": "shopping", "/lists/1/total": 0},
            },
        },
        {
            "name": "a thing is found on whichever list it is",
            "files": {"notes/shopping.md": {"text": "- milk\n"}, "notes/packing.md": {"text": "- tent\n"}},
            "args": {"item": "tents"},
            "expect": {"ok": True, "values": {"/total": 1, "/lists/0/path": "notes/packing.md"}},
        },
        {
            "name": "a list that is not there is not found",
            "files": {},
            "args": {"path": "notes/shopping.md"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "bytes are no list",
            "files": {"a.md": {"base64": "/w=="}},
            "args": {"path": "a.md"},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a link is not followed",
            "files": {"a.md": {"link": "/etc/passwd"}},
            "args": {"path": "a.md"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../a.md"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
