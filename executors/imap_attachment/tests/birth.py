"""What imap_attachment promises where there is no net: at its birth no mailbox can be reached."""


def refused(case, **args):
    return {"name": case, "files": {}, "args": args, "expect": {"ok": False, "class": "Forbidden"}}


def cases():
    return [
        refused("a server that was not decided on cannot be reached"),
        refused("nor for a file by its name", name="invoice.pdf"),
        refused("nor that of an account by its name", account="work"),
    ]
