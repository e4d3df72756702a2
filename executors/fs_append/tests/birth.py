"""What fs_append promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def cases():
    return [
        {
            "name": "text is added at the end",
            "files": {"a.md": {"text": "one\n"}},
            "args": {"path": "a.md", "content": "two\n"},
            "expect": {"ok": True, "values": {"/bytes_before": 4, "/bytes": 8}},
        },
        {
            "name": "a file that is not there is not made",
            "files": {},
            "args": {"path": "a.md", "content": "x"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a folder is no file",
            "files": {"a": {"folder": True}},
            "args": {"path": "a", "content": "x"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a pipe is no file",
            "files": {"a": {"fifo": True}},
            "args": {"path": "a", "content": "x"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a link is not written through",
            "files": {"b": {"text": ""}, "a": {"link": "b"}},
            "args": {"path": "a", "content": "x"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "nothing is added to what is in the trash",
            "files": {".trash-1-a": {"text": "x"}},
            "args": {"path": ".trash-1-a", "content": "y"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
