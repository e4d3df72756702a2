"""What fs_delete promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "a file goes to the trash",
            "files": {"a.md": {"text": "x"}},
            "args": {"path": "a.md"},
            "expect": {"ok": True, "values": {"/path": "a.md", "/files": 1, "/folders": 0}},
        },
        {
            "name": "a folder is not deleted unless that was said",
            "files": {"a/b": {"text": "x"}},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "IsAFolder"},
        },
        {
            "name": "a folder goes whole, and how much went is said",
            "files": {"a/b": {"text": "x"}, "a/c/d": {"text": "y"}, "a/l": {"link": "b"}},
            "args": {"path": "a", "folder": True},
            "expect": {"ok": True, "values": {"/files": 3, "/folders": 2}},
        },
        {
            "name": "what is not there is not found",
            "files": {},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a link is left alone, and so is what it leads to",
            "files": {"b": {"text": "x"}, "a": {"link": "b"}},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "what is in the trash is not deleted again",
            "files": {".trash-1-a": {"text": "x"}},
            "args": {"path": ".trash-1-a"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "nothing outside is deleted",
            "files": {},
            "args": {"path": "../x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "no note of the trash is deleted",
            "files": {".trash/a.json": {"text": "{}"}},
            "args": {"path": ".trash/a.json"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
