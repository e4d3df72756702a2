"""What attachment_add promises, case by case. sandboxd makes the files in a workspace of the case's own."""

MILK = {"text": "milk"}


def kept(case, name, path, files=None, **args):
    expect = {"ok": True, "values": {"/path": path, "/bytes": 4, "/was_there": False}}
    return {"name": case, "files": files or {}, "file": MILK, "args": {"name": name, **args}, "expect": expect}


def cases():
    own = "people/anna/inbox/attachment"
    return [
        kept("a file is kept in the inbox, which is made", "invoice 42.pdf", "inbox/invoice 42.pdf"),
        kept("in the inbox of the person where there is one", "a.pdf", "people/anna/inbox/a.pdf", own=own),
        kept("a name that climbs is a plain one", "../../etc/passwd", "inbox/passwd"),
        kept("one of another system as well", "C:\\Windows\\a.txt", "inbox/a.txt"),
        kept("a hidden name is shown", ".bashrc", "inbox/bashrc"),
        kept("what cannot be seen is left out", "a\u202efdp.exe\0\n", "inbox/a fdp.exe"),
        kept("a name of nothing has one", "...", "inbox/attachment"),
        kept("a long name keeps its ending", "x" * 900 + ".pdf", "inbox/" + "x" * 191 + ".pdf"),
        kept("what lies there stays", "list.txt", "inbox/list (2).txt", {"inbox/list.txt": {"text": "bread"}}),
        {
            "name": "the very same file is not kept twice",
            "files": {"inbox/list.txt": MILK},
            "file": MILK,
            "args": {"name": "list.txt"},
            "expect": {"ok": True, "values": {"/path": "inbox/list.txt", "/was_there": True}},
        },
        {
            "name": "a folder that is a link is not walked through",
            "files": {"real/a": {"text": ""}, "inbox": {"link": "real"}},
            "file": MILK,
            "args": {"name": "list.txt"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
