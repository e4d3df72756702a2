"""What list_remove promises, case by case. sandboxd makes the files in a workspace of the case's own."""

LIST = "# Shopping\n\n- milk\n- [ ] 2 lemons\n- [x] bread\n  - brown\n- lemons for the cake\n- mezzo litro di panna\n- paté\n"


def taken(*removed, missing=(), left=4):
    return {"ok": True, "values": {"/removed": list(removed), "/missing": list(missing), "/count": len(removed), "/left": left}}


def cases():
    return [
        {
            "name": "a thing is taken off, and the rest stays",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "content": "- milk"},
            "expect": taken("milk"),
        },
        {
            "name": "several are taken off, and what is not there is told",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "content": "- Milk\n- eggs\n- the bread"},
            "expect": taken("milk", "bread", missing=["eggs"]),
        },
        {
            "name": "how much of a thing and one or several of it make no other thing",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "content": "- lemon"},
            "expect": taken("2 lemons"),
        },
        {
            "name": "accents and amounts in Italian make no other thing",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "content": "- la panna\n- pate"},
            "expect": taken("mezzo litro di panna", "paté", left=3),
        },
        {
            "name": "what is said of a thing behind it makes no other thing",
            "files": {"a.md": {"text": "- milk (2)\n- lemons for the cake\n"}},
            "args": {"path": "a.md", "content": "lemons\nmilk"},
            "expect": taken("lemons for the cake", "milk (2)", left=0),
        },
        {
            "name": "another thing with the same word is not taken off",
            "files": {"a.md": {"text": "- almond milk\n- milk chocolate\n"}},
            "args": {"path": "a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "NotOnList"},
        },
        {
            "name": "of several things that may be meant none is taken off",
            "files": {"a.md": {"text": "- 2 lemons\n- 3 lemons\n"}},
            "args": {"path": "a.md", "content": "- lemons"},
            "expect": {"ok": False, "class": "Ambiguous"},
        },
        {
            "name": "the same thing twice is taken off twice",
            "files": {"a.md": {"text": "- milk\n- Milk\n- eggs\n"}},
            "args": {"path": "a.md", "content": "milk"},
            "expect": {"ok": True, "values": {"/removed": ["milk", "Milk"], "/count": 2, "/left": 1}},
        },
        {
            "name": "everything is taken off when that is said",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "all": True},
            "expect": {"ok": True, "values": {"/count": 7, "/left": 0}},
        },
        {
            "name": "what is done is taken off when that is said",
            "files": {"a.md": {"text": "- [x] milk\n- [ ] eggs\n"}},
            "args": {"path": "a.md", "done": True},
            "expect": taken("milk", left=1),
        },
        {
            "name": "of an empty list nothing is taken off, and nothing changes",
            "files": {"a.md": {"text": "# Shopping\n"}},
            "args": {"path": "a.md", "all": True},
            "expect": {"ok": True, "values": {"/removed": [], "/count": 0, "/trashed": ""}},
        },
        {
            "name": "who names nothing takes nothing off",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md"},
            "expect": {"ok": False, "class": "BadItem"},
        },
        {
            "name": "what is not on the list is not taken off",
            "files": {"a.md": {"text": LIST}},
            "args": {"path": "a.md", "content": "- rice"},
            "expect": {"ok": False, "class": "NotOnList"},
        },
        {
            "name": "a list that is not there is not found",
            "files": {},
            "args": {"path": "a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a folder is no list",
            "files": {"a": {"folder": True}},
            "args": {"path": "a", "content": "- milk"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a pipe is no list",
            "files": {"a": {"fifo": True}},
            "args": {"path": "a", "content": "- milk"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "bytes are no list",
            "files": {"a.md": {"base64": "/w=="}},
            "args": {"path": "a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a link is not written through",
            "files": {"b.md": {"text": "- milk\n"}, "a.md": {"link": "b.md"}},
            "args": {"path": "a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "nothing is taken off what is in the trash",
            "files": {".trash-1-a.md": {"text": "- milk\n"}},
            "args": {"path": ".trash-1-a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../a.md", "content": "- milk"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
