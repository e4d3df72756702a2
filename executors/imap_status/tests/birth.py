"""What imap_status promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden"),
        refused("nor for another folder", "Forbidden", folder="Posta & più"),
        refused("nor for another account", "Forbidden", account="work"),
    ]
