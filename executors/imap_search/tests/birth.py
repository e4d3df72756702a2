"""What imap_search promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden"),
        refused("nor for another folder", "Forbidden", folder="Posta & più"),
        refused("a day that no calendar has is told before anything is asked", "BadTime", since="2026-02-30"),
    ]
