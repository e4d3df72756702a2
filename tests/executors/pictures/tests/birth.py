"""What the executor for tests promises."""


def cases():
    files = {"~/Pictures/a.txt": {"text": "a picture"}, "~/Pictures/deep/b.txt": {"text": "another"}}
    return [
        {
            "name": "a file of the folder is read",
            "files": files,
            "args": {"path": "~/Pictures/deep/../a.txt"},
            "expect": {"ok": True, "values": {"/text": "a picture"}},
        },
        {
            "name": "the folder is there although a case has nothing in it",
            "files": {},
            "args": {"path": "~/Pictures"},
            "expect": {"ok": True, "values": {"/names": []}},
        },
        {
            "name": "what lies outside of it is not to be had",
            "files": {"~/Secrets/key": {"text": "swordfish"}, **files},
            "args": {"path": "~/Secrets/key"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "nothing that must fail can be done",
            "files": {"~/Secrets/key": {"text": "swordfish"}, "~/Pictures/link": {"link": "/etc"}, **files},
            "args": {"path": "~/Pictures", "do": "escape"},
            "expect": {"ok": True, "values": {"/got": []}},
        },
    ]
