"""What fs_find promises, case by case. sandboxd makes the files in a workspace of the case's own."""

FILES = {
    "notes/long.md": {"text": "0123456789", "times": 10},
    "notes/short.md": {"text": "1"},
    "notes/Report-2026.txt": {"text": "four"},
    "notes/deep/er/report.md": {"text": "0123456789", "times": 3},
    "notes/.hidden.md": {"text": "x"},
    "notes/link.md": {"link": "long.md"},
    "notes/pipe": {"fifo": True},
}


def cases():
    return [
        {
            "name": "a plain word is found anywhere in a name, whatever its case",
            "files": FILES,
            "args": {"name": "report"},
            "expect": {
                "ok": True,
                "values": {
                    "/entries/0/path": "notes/Report-2026.txt",
                    "/entries/1/path": "notes/deep/er/report.md",
                    "/total": 2,
                    "/returned": 2,
                    "/truncated": False,
                    "/failed": 0,
                    "/complete": True,
                },
            },
        },
        {
            "name": "the longest come first, and a limit hides the rest and says so",
            "files": FILES,
            "args": {"path": "notes", "name": "*.md", "kind": "file", "sort": "longest", "limit": 2},
            "expect": {
                "ok": True,
                "values": {
                    "/path": "notes",
                    "/entries/0/path": "notes/long.md",
                    "/entries/0/size": 100,
                    "/entries/1/path": "notes/deep/er/report.md",
                    "/total": 3,
                    "/returned": 2,
                    "/truncated": True,
                },
            },
        },
        {
            "name": "sizes bound what is found",
            "files": FILES,
            "args": {"min_size": 4, "max_size": 30},
            "expect": {"ok": True, "values": {"/total": 2, "/entries/0/size": 4, "/entries/1/size": 30}},
        },
        {
            "name": "a pattern with a slash is about the path, and only ** crosses folders",
            "files": FILES,
            "args": {"name": "notes/*.md"},
            "expect": {"ok": True, "values": {"/total": 3}},
        },
        {
            "name": "what is hidden is shown only when it is asked for",
            "files": FILES,
            "args": {"name": "hidden", "hidden": True},
            "expect": {"ok": True, "values": {"/total": 1, "/entries/0/path": "notes/.hidden.md"}},
        },
        {
            "name": "a pattern made to take for ever takes no time",
            "files": {"a" * 200: {"text": ""}},
            "args": {"name": "*a" * 120 + "b"},
            "expect": {"ok": True, "values": {"/total": 0, "/complete": True}},
        },
        {
            "name": "a set that is not closed is a bad pattern",
            "files": {},
            "args": {"name": "a["},
            "expect": {"ok": False, "class": "BadPattern"},
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
            "name": "the executors are not among the files, and no hidden secret is counted as left out",
            "files": {"executors/long.md": {"text": "0123456789"}, ".env": {"text": "x"}, "notes/executors/a.md": {"text": "x"}},
            "args": {"kind": "file", "sort": "longest"},
            "expect": {"ok": True, "values": {"/entries/0/path": "notes/executors/a.md", "/total": 1, "/complete": True}},
        },
        {
            "name": "the executors are found when their folder is named",
            "files": {"executors/long.md": {"text": "0123456789"}},
            "args": {"path": "executors"},
            "expect": {"ok": True, "values": {"/entries/0/path": "executors/long.md", "/total": 1}},
        },
        {
            "name": "photos are known by their endings, whatever the case",
            "files": {"a.JPG": {"text": "x"}, "b.heic": {"text": "x"}, "c.md": {"text": "x"}, "jpg": {"text": "x"}, "d.jpg/e": {"text": "x"}},
            "args": {"type": "image"},
            "expect": {"ok": True, "values": {"/total": 2, "/entries/0/path": "a.JPG", "/entries/1/path": "b.heic"}},
        },
        {
            "name": "what was just made was changed today and not yesterday",
            "files": {"a.md": {"text": "x"}},
            "args": {"changed": "yesterday"},
            "expect": {"ok": True, "values": {"/total": 0}},
        },
        {
            "name": "what was just made was changed this year",
            "files": {"a.md": {"text": "x"}},
            "args": {"changed": "this_year", "offset": "+00:00"},
            "expect": {"ok": True, "values": {"/total": 1}},
        },
        {
            "name": "a day that no calendar has is no day",
            "files": {},
            "args": {"changed_on": "2026-02-30"},
            "expect": {"ok": False, "class": "BadTime"},
        },
    ]
