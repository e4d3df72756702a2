"""What file_get promises, case by case. sandboxd makes the files in a workspace of the case's own."""


def asked(path):
    return {"path": path, "channel": "telegram"}


def cases():
    return [
        {
            "name": "bytes of any kind are given whole, with their number and digest",
            "files": {"pictures/cat.jpg": {"base64": "/9j/4A=="}},
            "args": asked("pictures/cat.jpg"),
            "expect": {
                "ok": True,
                "values": {"/path": "pictures/cat.jpg", "/given": True, "/size": 4},
                "file": {"base64": "/9j/4A=="},
            },
        },
        {
            "name": "an empty file is one, too",
            "files": {"empty": {"text": ""}},
            "args": asked("./empty"),
            "expect": {
                "ok": True,
                "values": {
                    "/path": "empty",
                    "/given": True,
                    "/sha": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                },
            },
        },
        {
            "name": "a file of exactly 20 MiB is given",
            "files": {"large": {"text": "0123456789abcdef", "times": 1_310_720}},
            "args": asked("large"),
            "expect": {
                "ok": True,
                "values": {"/given": True, "/size": 20_971_520},
                "file": {"text": "0123456789abcdef", "times": 1_310_720},
            },
        },
        {
            "name": "of a larger one only the size is told",
            "files": {"huge": {"text": "0123456789abcdef", "times": 1_310_721}},
            "args": asked("huge"),
            "expect": {"ok": True, "values": {"/given": False, "/size": 20_971_536}},
        },
        {
            "name": "a file that is not there is not found",
            "files": {},
            "args": asked("notes/none.pdf"),
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a folder is not a file",
            "files": {"notes/a": {"text": "a"}},
            "args": asked("notes"),
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a pipe is not waited for",
            "files": {"pipe": {"fifo": True}},
            "args": asked("pipe"),
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a link to a system file is not followed",
            "files": {"link": {"link": "/etc/passwd"}},
            "args": asked("link"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a link to a folder outside is not walked through",
            "files": {"out": {"link": "/etc"}},
            "args": asked("out/passwd"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": asked("../../../etc/passwd"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
