"""What fs_read promises, case by case. sandboxd makes the files in a workspace of the case's own."""

WELCOME = "Benvenuto.\nperché no? 😀\n"


def cases():
    return [
        {
            "name": "a text is returned whole, with its size, lines and digest",
            "files": {"notes/welcome.md": {"text": WELCOME}},
            "args": {"path": "notes/welcome.md"},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "notes/welcome.md",
                    "/content": WELCOME,
                    "/size": len(WELCOME.encode("utf-8")),
                    "/lines": 2,
                },
            },
        },
        {
            "name": "an empty file is a text of no lines",
            "files": {"empty": {"text": ""}},
            "args": {"path": "./empty"},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "empty",
                    "/content": "",
                    "/lines": 0,
                    "/sha": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                },
            },
        },
        {
            "name": "dots inside the workspace lead where they say",
            "files": {"a/x": {"text": "x"}, "b/y": {"text": "y"}},
            "args": {"path": "a/../b//y"},
            "expect": {"ok": True, "values": {"/path": "b/y", "/content": "y"}},
        },
        {
            "name": "a file that is not there is not found",
            "files": {},
            "args": {"path": "notes/none.md"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a folder is not a file",
            "files": {"notes/a": {"text": "a"}},
            "args": {"path": "notes"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a pipe is not waited for",
            "files": {"pipe": {"fifo": True}},
            "args": {"path": "pipe"},
            "expect": {"ok": False, "class": "NotAFile"},
        },
        {
            "name": "a file of exactly four million bytes is read",
            "files": {"large": {"text": "0123456789abcdef", "times": 250_000}},
            "args": {"path": "large"},
            "expect": {"ok": True, "values": {"/size": 4_000_000}},
        },
        {
            "name": "a file of five million bytes is too large",
            "files": {"huge": {"text": "0123456789", "times": 500_000}},
            "args": {"path": "huge"},
            "expect": {"ok": False, "class": "TooLarge"},
        },
        {
            "name": "a text that would not fit once it is escaped is too large",
            "files": {"control": {"text": "\u0001", "times": 1_000_000}},
            "args": {"path": "control"},
            "expect": {"ok": False, "class": "TooLarge"},
        },
        {
            "name": "bytes that are not UTF-8 are not text",
            "files": {"bytes": {"base64": "/////w=="}},
            "args": {"path": "bytes"},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a NUL in the path is a bad path",
            "files": {},
            "args": {"path": "a\0b"},
            "expect": {"ok": False, "class": "BadPath"},
        },
        {
            "name": "a link to a system file is not followed",
            "files": {"link": {"link": "/etc/passwd"}},
            "args": {"path": "link"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a link to a folder outside is not walked through",
            "files": {"out": {"link": "/etc"}},
            "args": {"path": "out/passwd"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../../../etc/passwd"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "an absolute path is denied",
            "files": {},
            "args": {"path": "/etc/passwd"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
