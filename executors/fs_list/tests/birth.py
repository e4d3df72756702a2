"""What fs_list promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "a folder is listed in order, with kinds and sizes",
            "files": {
                "notes/b.md": {"text": "four"},
                "notes/a": {"folder": True},
                "notes/link": {"link": "b.md"},
                "notes/pipe": {"fifo": True},
            },
            "args": {"path": "notes"},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "notes",
                    "/entries": [
                        {"name": "a", "path": "notes/a", "kind": "folder", "size": 0},
                        {"name": "b.md", "path": "notes/b.md", "kind": "file", "size": 4},
                        {"name": "link", "path": "notes/link", "kind": "link", "size": 0},
                        {"name": "pipe", "path": "notes/pipe", "kind": "other", "size": 0},
                    ],
                    "/total": 4,
                    "/returned": 4,
                    "/truncated": False,
                    "/failed": 0,
                },
            },
        },
        {
            "name": "without a path the workspace itself is listed",
            "files": {"one": {"text": "1"}},
            "args": {},
            "expect": {"ok": True, "values": {"/path": ".", "/entries/0/name": "one", "/total": 1}},
        },
        {
            "name": "an empty folder is an empty list, not an error",
            "files": {"empty": {"folder": True}},
            "args": {"path": "empty/"},
            "expect": {"ok": True, "values": {"/entries": [], "/total": 0, "/truncated": False}},
        },
        {
            "name": "a limit is kept and what it hides is said",
            "files": {"a": {"text": ""}, "b": {"text": ""}, "c": {"text": ""}},
            "args": {"limit": 2},
            "expect": {"ok": True, "values": {"/total": 3, "/returned": 2, "/truncated": True, "/failed": 0}},
        },
        {
            "name": "a limit of exactly the number of entries hides nothing",
            "files": {"a": {"text": ""}, "b": {"text": ""}},
            "args": {"limit": 2},
            "expect": {"ok": True, "values": {"/total": 2, "/returned": 2, "/truncated": False}},
        },
        {
            "name": "a file is not a folder",
            "files": {"a": {"text": ""}},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "NotAFolder"},
        },
        {
            "name": "a folder that is not there is not found",
            "files": {},
            "args": {"path": "none"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a NUL in the path is a bad path",
            "files": {},
            "args": {"path": "a\0b"},
            "expect": {"ok": False, "class": "BadPath"},
        },
        {
            "name": "a link to a folder outside is not walked through",
            "files": {"out": {"link": "/etc"}},
            "args": {"path": "out"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "a/../.."},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "names of secrets are left out and counted, also among hidden ones",
            "files": {".env": {"text": "x"}, "id_rsa": {"text": "x"}, "a.md": {"text": "x"}},
            "args": {"hidden": True},
            "expect": {"ok": True, "values": {"/total": 1, "/omitted": 2}},
        },
        {
            "name": "what begins with a dot and the executors are not listed, and not counted as left out",
            "files": {".trash-1-a": {"text": "x"}, ".env": {"text": "x"}, "executors/b": {"text": "x"}, "id_rsa": {"text": "x"}, "a.md": {"text": "x"}},
            "args": {},
            "expect": {"ok": True, "values": {"/entries": [{"name": "a.md", "path": "a.md", "kind": "file", "size": 1}], "/total": 1, "/omitted": 1, "/truncated": False}},
        },
        {
            "name": "what is hidden is listed when it is asked for",
            "files": {".trash-1-a": {"text": "x"}, "executors/b": {"text": "x"}, "a.md": {"text": "x"}},
            "args": {"hidden": True},
            "expect": {"ok": True, "values": {"/entries/0/name": ".trash-1-a", "/entries/2/name": "executors", "/total": 3}},
        },
        {
            "name": "the executors are listed by their very name, and a folder of that name elsewhere is like any",
            "files": {"executors/b": {"text": "x"}},
            "args": {"path": "executors"},
            "expect": {"ok": True, "values": {"/entries/0/name": "b", "/total": 1}},
        },
    ]
