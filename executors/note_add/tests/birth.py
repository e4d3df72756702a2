"""What note_add promises, case by case. sandboxd makes the files in a workspace of the case's own."""

# "## 2026-11-22 12:00 UTC" and two line ends.
HEAD = 25


def cases():
    return [
        {
            "name": "a note goes to the end of its notebook, apart from what is there",
            "files": {"n.md": {"text": "old\n"}},
            "args": {"path": "n.md", "text": "milk"},
            "expect": {
                "ok": True,
                "values": {"/path": "n.md", "/made": False, "/bytes_before": 4, "/bytes": 4 + 1 + HEAD + 5},
            },
        },
        {
            "name": "a last line without an end gets one first",
            "files": {"n.md": {"text": "old"}},
            "args": {"path": "n.md", "text": "milk\n\n"},
            "expect": {"ok": True, "values": {"/bytes_before": 3, "/bytes": 3 + 2 + HEAD + 5}},
        },
        {
            "name": "a notebook that is not there is made, with its folders",
            "files": {},
            "args": {"text": "milk"},
            "expect": {
                "ok": True,
                "values": {"/path": "notes/notes.md", "/made": True, "/bytes_before": 0, "/bytes": HEAD + 5},
            },
        },
        {
            "name": "a house that says where its clock stands has its own time, without UTC behind it",
            "files": {},
            "args": {"text": "milk", "offset": "+01:00"},
            "expect": {"ok": True, "values": {"/bytes": HEAD - len(" UTC") + 5}},
        },
        {
            "name": "a note of a person's own goes to the own notebook, and to the household's when it is for everybody",
            "files": {},
            "args": {"text": "a ring", "own": "mine/notes.md"},
            "expect": {"ok": True, "values": {"/path": "mine/notes.md", "/own": True, "/made": True}},
        },
        {
            "name": "a named notebook is taken",
            "files": {},
            "args": {"text": "milk", "path": "n.md", "everybody": True},
            "expect": {"ok": True, "values": {"/path": "n.md", "/own": False}},
        },
        {
            "name": "a note of nothing is none",
            "files": {},
            "args": {"text": " \n\t"},
            "expect": {"ok": False, "class": "BadText"},
        },
        {
            "name": "a pipe is no notebook",
            "files": {"n": {"fifo": True}},
            "args": {"path": "n", "text": "x"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a link is not written through",
            "files": {"b": {"text": ""}, "n.md": {"link": "b"}},
            "args": {"path": "n.md", "text": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../n.md", "text": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
