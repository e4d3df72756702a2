"""What inbox_add promises, case by case. sandboxd makes the files in a workspace of the case's own."""

# "milk" in base64.
MILK = "bWlsaw=="


def cases():
    return [
        {
            "name": "a file is put there, with its folder",
            "files": {},
            "args": {"path": "inbox/list.txt", "content": MILK},
            "expect": {"ok": True, "values": {"/path": "inbox/list.txt", "/bytes": 4, "/was_there": False}},
        },
        {
            "name": "an empty file is one, too",
            "files": {},
            "args": {"path": "inbox/empty", "content": ""},
            "expect": {"ok": True, "values": {"/path": "inbox/empty", "/bytes": 0}},
        },
        {
            "name": "what lies there stays, and the new one gets a number before its ending",
            "files": {"inbox/list.txt": {"text": "bread"}, "inbox/list (2).txt": {"text": "eggs"}},
            "args": {"path": "inbox/list.txt", "content": MILK},
            "expect": {"ok": True, "values": {"/path": "inbox/list (3).txt", "/was_there": False}},
        },
        {
            "name": "the very same file is not put there twice",
            "files": {"inbox/list.txt": {"text": "bread"}, "inbox/list (2).txt": {"text": "milk"}},
            "args": {"path": "inbox/list.txt", "content": MILK},
            "expect": {"ok": True, "values": {"/path": "inbox/list (2).txt", "/was_there": True}},
        },
        {
            "name": "a link is neither read nor written through",
            "files": {"a": {"text": "milk"}, "inbox/list.txt": {"link": "../a"}},
            "args": {"path": "inbox/list.txt", "content": MILK},
            "expect": {"ok": True, "values": {"/path": "inbox/list (2).txt", "/was_there": False}},
        },
        {
            "name": "a folder that is a link is not walked through",
            "files": {"real/a": {"text": ""}, "inbox": {"link": "real"}},
            "args": {"path": "inbox/list.txt", "content": MILK},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "what is no base64 is no content",
            "files": {},
            "args": {"path": "inbox/list.txt", "content": "milk!"},
            "expect": {"ok": False, "class": "BadContent"},
        },
        {
            "name": "the trash is no inbox",
            "files": {},
            "args": {"path": ".trash/list.txt", "content": MILK},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "../list.txt", "content": MILK},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
