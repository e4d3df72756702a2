"""What fs_count promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "what lies below a folder is counted, links not followed",
            "files": {"a/b": {"text": "xy"}, "a/c/d": {"text": "z"}, "a/l": {"link": "c"}},
            "args": {"path": "a"},
            "expect": {"ok": True, "values": {"/path": "a", "/files": 3, "/folders": 1, "/bytes": 3, "/covered": 0, "/complete": True}},
        },
        {
            "name": "what an act on a folder would touch is all of it, itself too",
            "files": {"a/b": {"text": "xy"}, "a/.c/d": {"text": "z"}, "a/id_rsa": {"text": "x"}},
            "args": {"path": "a", "all": True},
            "expect": {"ok": True, "values": {"/path": "a", "/files": 3, "/folders": 2, "/covered": 0}},
        },
        {
            "name": "without a path the workspace is counted, and neither what is hidden nor the executors",
            "files": {"a.md": {"text": "x"}, ".trash/b": {"text": "x"}, ".trash-1-c": {"text": "x"}, "executors/d": {"text": "x"}},
            "args": {},
            "expect": {"ok": True, "values": {"/path": ".", "/files": 1, "/folders": 0, "/bytes": 1}},
        },
        {
            "name": "what is hidden and the executors are counted when they are asked for",
            "files": {"a.md": {"text": "x"}, ".trash/b": {"text": "x"}, "executors/d": {"text": "x"}},
            "args": {"hidden": True},
            "expect": {"ok": True, "values": {"/files": 3, "/folders": 2}},
        },
        {
            "name": "a folder that is named is counted, whatever its name",
            "files": {".trash/b": {"text": "x"}},
            "args": {"path": ".trash"},
            "expect": {"ok": True, "values": {"/files": 1}},
        },
        {
            "name": "names of secrets are left out and counted as such",
            "files": {"a.md": {"text": "x"}, "id_rsa": {"text": "x"}, ".env": {"text": "x"}},
            "args": {},
            "expect": {"ok": True, "values": {"/files": 1, "/omitted": 1}},
        },
        {
            "name": "photos are known by their endings",
            "files": {"a.jpg": {"text": "x"}, "b/c.PNG": {"text": "x"}, "d.md": {"text": "x"}},
            "args": {"type": "image"},
            "expect": {"ok": True, "values": {"/files": 2, "/folders": 0}},
        },
        {
            "name": "a pattern counts what it fits",
            "files": {"a.pdf": {"text": "x"}, "b/c.pdf": {"text": "x"}, "d.md": {"text": "x"}},
            "args": {"name": "*.pdf"},
            "expect": {"ok": True, "values": {"/files": 2, "/folders": 0, "/bytes": 2}},
        },
        {
            "name": "a file is one",
            "files": {"a": {"text": "xyz"}},
            "args": {"path": "a"},
            "expect": {"ok": True, "values": {"/files": 1, "/folders": 0, "/bytes": 3}},
        },
        {
            "name": "what is not there is not found",
            "files": {},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "nothing outside is counted",
            "files": {},
            "args": {"path": "../x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "no act touches the workspace itself",
            "files": {},
            "args": {"path": ".", "all": True},
            "expect": {"ok": False, "class": "BadPath"},
        },
        {
            "name": "a tree deeper than a call has descriptors is counted",
            "files": {"d/" * 80 + "end": {"text": "xyz"}},
            "args": {"path": "d", "all": True},
            "expect": {"ok": True, "values": {"/files": 1, "/folders": 80, "/bytes": 3}},
        },
        {
            "name": "where a tree is too deep for one call, that is said",
            "files": {"d/" * 80 + "end": {"text": "xyz"}},
            "args": {"path": "d"},
            "expect": {"ok": True, "values": {"/files": 0, "/complete": False}},
        },
    ]
