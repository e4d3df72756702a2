"""What fs_write promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "a new file is written and read back",
            "files": {"notes/a": {"folder": True}},
            "args": {"path": "notes/new.md", "content": "perché no"},
            "expect": {"ok": True, "values": {"/path": "notes/new.md", "/bytes": 10, "/replaced": False, "/trashed": ""}},
        },
        {
            "name": "folders that are missing are made",
            "files": {},
            "args": {"path": "a/b/c.txt", "content": ""},
            "expect": {"ok": True, "values": {"/path": "a/b/c.txt", "/bytes": 0}},
        },
        {
            "name": "what is there is not replaced unasked",
            "files": {"a.md": {"text": "old"}},
            "args": {"path": "a.md", "content": "new"},
            "expect": {"ok": False, "class": "Exists"},
        },
        {
            "name": "what is there is replaced when told so",
            "files": {"a.md": {"text": "old"}},
            "args": {"path": "a.md", "content": "new!", "overwrite": True},
            "expect": {"ok": True, "values": {"/bytes": 4, "/replaced": True}},
        },
        {
            "name": "a folder is no file",
            "files": {"a": {"folder": True}},
            "args": {"path": "a", "content": "x", "overwrite": True},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a link is not written through",
            "files": {"a": {"link": "/etc/passwd"}},
            "args": {"path": "a", "content": "x", "overwrite": True},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a folder that is a link is not walked through",
            "files": {"out": {"link": "/tmp"}},
            "args": {"path": "out/a", "content": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out is denied",
            "files": {},
            "args": {"path": "a/../../x", "content": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a NUL in the path is a bad path",
            "files": {},
            "args": {"path": "a\0b", "content": "x"},
            "expect": {"ok": False, "class": "BadPath"},
        },
        {
            "name": "no note of the trash is written",
            "files": {".trash/a.json": {"text": "{}"}},
            "args": {"path": "./.trash/a.json", "content": "{}", "overwrite": True},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "what was replaced is kept as it was",
            "files": {"n/.trash-1-a": {"text": "x"}},
            "args": {"path": "n/.trash-1-a", "content": "y", "overwrite": True},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "no file is given the name of a draft",
            "files": {},
            "args": {"path": ".metnos-" + "0" * 32 + ".draft", "content": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
