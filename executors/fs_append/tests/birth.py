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
            "name": "a file that is not there is made, with its folder",
            "files": {},
            "args": {"path": "lists/a.md", "content": "eggs"},
            "expect": {"ok": True, "values": {"/made": True, "/bytes_before": 0, "/bytes": 5}},
        },
        {
            "name": "what is added stands on a line of its own",
            "files": {"a.md": {"text": "milk"}},
            "args": {"path": "a.md", "content": "eggs"},
            "expect": {"ok": True, "values": {"/made": False, "/bytes_before": 4, "/bytes": 10}},
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
