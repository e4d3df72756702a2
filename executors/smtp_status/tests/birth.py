"""What smtp_status promises where there is no net: at its birth no server can be reached."""


def cases():
    return [
        {"name": "a server that was not decided on cannot be reached", "files": {}, "args": {}, "expect": {"ok": False, "class": "Forbidden"}},
        {"name": "however often it is asked for", "files": {}, "args": {}, "expect": {"ok": False, "class": "Forbidden"}},
        {"name": "nor that of an account by its name", "files": {}, "args": {"account": "work"}, "expect": {"ok": False, "class": "Forbidden"}},
    ]
