"""What fs_count promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "a folder is counted with everything below it, links not followed",
            "files": {"a/b": {"text": "xy"}, "a/c/d": {"text": "z"}, "a/l": {"link": "c"}},
            "args": {"path": "a"},
            "expect": {"ok": True, "values": {"/path": "a", "/files": 3, "/folders": 2, "/bytes": 3, "/covered": 0}},
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
            "name": "a tree deeper than a call has descriptors is counted",
            "files": {"d/" * 80 + "end": {"text": "xyz"}},
            "args": {"path": "d"},
            "expect": {"ok": True, "values": {"/files": 1, "/folders": 80, "/bytes": 3}},
        },
    ]
