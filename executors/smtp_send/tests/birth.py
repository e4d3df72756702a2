"""What smtp_send promises where there is no net: at its birth no server can be reached, and nothing is sent."""


def refused(name, error_class, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": False, "class": error_class}}


def cases():
    long = "word " * 799
    return [
        refused("a server that was not decided on cannot be reached", "Forbidden", recipient="anna@example.org", body="I am late."),
        refused("with everything that can be said", "Forbidden", recipient="anna@example.org", cc=["b@example.org"], subject="Cena è", body=long,
                reply=7, uidvalidity=1, folder="INBOX", account="work"),
        refused("a mail without words is none", "BadText", recipient="anna@example.org", body=" \n "),
    ]
