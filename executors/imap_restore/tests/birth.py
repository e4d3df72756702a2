"""What imap_restore promises where nothing was kept: there is nothing to take back, and no server is asked."""


def nothing(name, **args):
    return {"name": name, "files": {}, "args": args, "expect": {"ok": True, "values": {"/what": "nothing", "/count": 0}}}


def cases():
    return [
        nothing("what kept nothing has changed nothing", of="imap_flag", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ"),
        nothing("nor has it moved anything", of="imap_move", keep="01HZZZZZZZZZZZZZZZZZZZZZZZ", account="work"),
        nothing("and asking again changes nothing", of="imap_move", keep="01HZZZZZZZZZZZZZZZZZZZZZZ9"),
    ]
