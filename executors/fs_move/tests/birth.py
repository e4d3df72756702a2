"""What fs_move promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "a file is renamed",
            "files": {"a.md": {"text": "x"}},
            "args": {"path": "a.md", "to": "b.md"},
            "expect": {"ok": True, "values": {"/path": "a.md", "/to": "b.md", "/kind": "file"}},
        },
        {
            "name": "a folder is renamed with what lies in it",
            "files": {"n/a/b.md": {"text": "x"}},
            "args": {"path": "n/a", "to": "n/c"},
            "expect": {"ok": True, "values": {"/to": "n/c", "/kind": "folder"}},
        },
        {
            "name": "nothing goes into another folder",
            "files": {"a": {"text": "x"}, "b/c": {"text": "y"}},
            "args": {"path": "a", "to": "b/a"},
            "expect": {"ok": False, "class": "OtherFolder"},
        },
        {
            "name": "nothing that is there is replaced",
            "files": {"a": {"text": "x"}, "b": {"text": "y"}},
            "args": {"path": "a", "to": "b"},
            "expect": {"ok": False, "class": "Exists"},
        },
        {
            "name": "a name is not its own new name",
            "files": {"a": {"folder": True}},
            "args": {"path": "a", "to": "./a"},
            "expect": {"ok": False, "class": "BadPath"},
        },
        {
            "name": "what is not there is not found",
            "files": {},
            "args": {"path": "a", "to": "b"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "nothing is moved out of the workspace",
            "files": {"a": {"text": "x"}},
            "args": {"path": "a", "to": "../a"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a folder that is a link is not walked through",
            "files": {"out": {"link": "/tmp"}},
            "args": {"path": "out/a", "to": "out/b"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "the notes of the trash stay where they are",
            "files": {".trash/a.json": {"text": "{}"}},
            "args": {"path": ".trash", "to": "t"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "nothing takes the place of what is in the trash",
            "files": {"a": {"text": "x"}},
            "args": {"path": "a", "to": ".trash-1-a"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "what is in the trash may have a name again",
            "files": {".trash-1-a": {"text": "x"}},
            "args": {"path": ".trash-1-a", "to": "a"},
            "expect": {"ok": True, "values": {"/to": "a", "/kind": "file"}},
        },
    ]
