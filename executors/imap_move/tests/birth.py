"""What imap_move promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", to="trash", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for a folder by its name", "Forbidden", into="Posta & più", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("an invalid date is refused before connecting", "BadTime", since="2026-02-30", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
    ]
