"""What the executor for tests promises."""


def cases():
    return [
        {
            "name": "a birth is given no real secret",
            "files": {},
            "args": {"do": "hash"},
            "expect": {
                "ok": True,
                "values": {"/sha": "0a190be86168ba0cf2c4e12698116440687df7335fc8bce636793b2b801bbd90"},
            },
        },
        {
            "name": "what was not granted is not given",
            "files": {},
            "args": {"do": "other"},
            "expect": {"ok": False, "class": "Ungranted"},
        },
        {
            "name": "what it logs is its own business",
            "files": {},
            "args": {"do": "log"},
            "expect": {"ok": True, "values": {"/seen": ""}},
        },
    ]
