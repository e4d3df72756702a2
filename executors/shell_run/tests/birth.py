"""What shell_run promises, case by case. What the owner does not list is not tried: a case says which program it needs."""

TEXT = "due\nuno\ntre\n"


def cases():
    return [
        {
            "name": "a program reads the workspace, and what it prints comes back",
            "needs": "/usr/bin/wc",
            "files": {"notes/a.txt": {"text": TEXT}},
            "args": {"argv": ["wc", "-l", "notes/a.txt"]},
            "expect": {"ok": True, "values": {"/exit_code": 0, "/stdout": "3 notes/a.txt\n", "/stderr": "", "/truncated": False}},
        },
        {
            "name": "it may be called by its path, in a folder, with something to read",
            "needs": "/usr/bin/sort",
            "files": {"notes/a.txt": {"text": TEXT}},
            "args": {"argv": ["/usr/bin/sort", "-", "a.txt"], "cwd": "notes", "stdin": "zero\n"},
            "expect": {"ok": True, "values": {"/exit_code": 0, "/stdout": "due\ntre\nuno\nzero\n"}},
        },
        {
            "name": "how it ended is told, and that is no error of ours",
            "needs": "/usr/bin/grep",
            "files": {"a": {"text": TEXT}},
            "args": {"argv": ["grep", "quattro", "a"]},
            "expect": {"ok": True, "values": {"/exit_code": 1, "/stdout": "", "/stderr": ""}},
        },
        {
            "name": "what it prints without end is cut, and it ends by that",
            "needs": "/usr/bin/seq",
            "files": {},
            "args": {"argv": ["seq", "1000000000"]},
            "expect": {"ok": True, "values": {"/exit_code": 141, "/truncated": True}},
        },
        {
            "name": "words are words: no shell reads them",
            "needs": "/usr/bin/basename",
            "files": {"a": {"text": "a"}},
            "args": {"argv": ["basename", "$(cat a); `id` | * > b"]},
            "expect": {"ok": True, "values": {"/exit_code": 0, "/stdout": "$(cat a); `id` | * > b\n"}},
        },
        {
            "name": "nothing of the workspace is written",
            "needs": "/usr/bin/sort",
            "files": {"a": {"text": TEXT}},
            "args": {"argv": ["sort", "-o", "a", "a"]},
            "expect": {"ok": True, "values": {"/exit_code": 2, "/stdout": ""}},
        },
        {
            "name": "what is not listed is not run, whatever it is called",
            "files": {"wc": {"text": "#!/bin/sh\n"}},
            "args": {"argv": ["./wc"]},
            "expect": {"ok": False, "class": "NotListed"},
        },
        {
            "name": "a shell is not there unless the owner lists it by its own name",
            "files": {},
            "args": {"argv": ["/bin/no-such-shell", "-c", "id"]},
            "expect": {"ok": False, "class": "NotListed"},
        },
        {
            "name": "a folder that is not there is not found",
            "needs": "/usr/bin/ls",
            "files": {},
            "args": {"argv": ["ls"], "cwd": "none"},
            "expect": {"ok": False, "class": "NotFound"},
        },
        {
            "name": "a file is not a folder to run in",
            "needs": "/usr/bin/ls",
            "files": {"a": {"text": "a"}},
            "args": {"argv": ["ls"], "cwd": "a"},
            "expect": {"ok": False, "class": "NotAFolder"},
        },
        {
            "name": "no folder outside the workspace is run in",
            "needs": "/usr/bin/ls",
            "files": {},
            "args": {"argv": ["ls"], "cwd": "notes/../../etc"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
    ]
