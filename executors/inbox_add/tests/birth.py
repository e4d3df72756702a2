"""What inbox_add promises, case by case. sandboxd makes the files in a workspace of the case's own."""

MILK = {"text": "milk"}
# Nobody compares it here: that the file is the one that was decided on is sandboxd's to see.
DIGEST = "blake3:" + "0" * 64


def sent(path, number=4):
    return {"path": path, "bytes": number, "blake3": DIGEST}


def cases():
    return [
        {
            "name": "a file is put there, with its folder",
            "files": {},
            "file": MILK,
            "args": sent("inbox/list.txt"),
            "expect": {"ok": True, "values": {"/path": "inbox/list.txt", "/bytes": 4, "/was_there": False}},
        },
        {
            "name": "an empty file is one, too",
            "files": {},
            "file": {"text": ""},
            "args": sent("inbox/empty", 0),
            "expect": {"ok": True, "values": {"/path": "inbox/empty", "/bytes": 0}},
        },
        {
            "name": "what lies there stays, and the new one gets a number before its ending",
            "files": {"inbox/list.txt": {"text": "bread"}, "inbox/list (2).txt": {"text": "eggs"}},
            "file": MILK,
            "args": sent("inbox/list.txt"),
            "expect": {"ok": True, "values": {"/path": "inbox/list (3).txt", "/was_there": False}},
        },
        {
            "name": "the very same file is not put there twice",
            "files": {"inbox/list.txt": {"text": "bread"}, "inbox/list (2).txt": {"text": "milk"}},
            "file": MILK,
            "args": sent("inbox/list.txt"),
            "expect": {"ok": True, "values": {"/path": "inbox/list (2).txt", "/was_there": True}},
        },
        {
            "name": "a link is neither read nor written through",
            "files": {"a": {"text": "milk"}, "inbox/list.txt": {"link": "../a"}},
            "file": MILK,
            "args": sent("inbox/list.txt"),
            "expect": {"ok": True, "values": {"/path": "inbox/list (2).txt", "/was_there": False}},
        },
        {
            "name": "a folder that is a link is not walked through",
            "files": {"real/a": {"text": ""}, "inbox": {"link": "real"}},
            "file": MILK,
            "args": sent("inbox/list.txt"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a file of twenty million bytes is put there whole",
            "files": {},
            "file": {"text": "0123456789", "times": 2_000_000},
            "args": sent("inbox/large", 20_000_000),
            "expect": {"ok": True, "values": {"/path": "inbox/large", "/bytes": 20_000_000}},
        },
        {
            "name": "another number of bytes than was said is no content",
            "files": {},
            "file": MILK,
            "args": sent("inbox/list.txt", 5),
            "expect": {"ok": False, "class": "BadContent"},
        },
        {
            "name": "the trash is no inbox",
            "files": {},
            "file": MILK,
            "args": sent(".trash/list.txt"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "file": MILK,
            "args": sent("../list.txt"),
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
