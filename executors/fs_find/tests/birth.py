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
            "name": "kinds are told apart, and a link is not followed",
            "files": FILES,
            "args": {"kind": "link"},
            "expect": {"ok": True, "values": {"/total": 1, "/entries/0/path": "notes/link.md", "/entries/0/size": 0}},
        },
        {
            "name": "sizes bound what is found",
            "files": FILES,
            "args": {"min_size": 4, "max_size": 30},
            "expect": {"ok": True, "values": {"/total": 2, "/entries/0/size": 4, "/entries/1/size": 30}},
        },
        {
            "name": "what was just made has changed within an hour",
            "files": {"a": {"text": ""}},
            "args": {"changed_within": "PT1H"},
            "expect": {"ok": True, "values": {"/total": 1}},
        },
        {
            "name": "nothing of now was changed before 2020",
            "files": {"a": {"text": ""}},
            "args": {"changed_before": "2020-02-29"},
            "expect": {"ok": True, "values": {"/entries": [], "/total": 0, "/complete": True}},
        },
        {
            "name": "a pattern with a slash is about the path, and only ** crosses folders",
            "files": FILES,
            "args": {"name": "notes/*.md"},
            "expect": {"ok": True, "values": {"/total": 3}},
        },
        {
            "name": "two stars reach every depth",
            "files": FILES,
            "args": {"name": "notes/**.md"},
            "expect": {"ok": True, "values": {"/total": 4}},
        },
        {
            "name": "sets of characters, also turned around",
            "files": {"a1": {"text": ""}, "b2": {"text": ""}, "c": {"text": ""}},
            "args": {"name": "[!a][0-9]"},
            "expect": {"ok": True, "values": {"/total": 1, "/entries/0/path": "b2"}},
        },
        {
            "name": "what is hidden is shown only when it is asked for",
            "files": FILES,
            "args": {"name": "hidden", "hidden": True},
            "expect": {"ok": True, "values": {"/total": 1, "/entries/0/path": "notes/.hidden.md"}},
        },
        {
            "name": "a depth of one stays in the folder",
            "files": FILES,
            "args": {"path": "notes", "kind": "file", "depth": 1},
            "expect": {"ok": True, "values": {"/total": 3}},
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
            "name": "a day that is not in the calendar is a bad time",
            "files": {},
            "args": {"changed_after": "2026-02-30"},
            "expect": {"ok": False, "class": "BadTime"},
        },
        {
            "name": "a file is no folder to look in",
            "files": {"a": {"text": ""}},
            "args": {"path": "a"},
            "expect": {"ok": False, "class": "NotAFolder"},
        },
        {
            "name": "a folder that is not there is not found",
            "files": {},
            "args": {"path": "none"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a link to a folder outside is not walked through",
            "files": {"out": {"link": "/etc"}},
            "args": {"path": "out"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a link to a folder outside is found and not entered",
            "files": {"out": {"link": "/etc"}},
            "args": {"name": "passwd"},
            "expect": {"ok": True, "values": {"/total": 0, "/failed": 0}},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"path": "a/../.."},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a NUL in the path is a bad path",
            "files": {},
            "args": {"path": "a\0b"},
            "expect": {"ok": False, "class": "BadPath"},
        },
    ]
