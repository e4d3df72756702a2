"""What imap_flag promises where there is no net: at its birth no server can be reached."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", set="read", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("nor for all that somebody sent", "Forbidden", set="unread", **{"from": "Anna", "all": True}, keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        refused("an invalid date is refused before connecting", "BadTime", set="important", since="2026-02-30", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
    ]
