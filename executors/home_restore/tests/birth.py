"""What home_restore promises: where nothing was kept, nothing is done, and no house is reached."""


def cases():
    kept = "01HZZZZZZZZZZZZZZZZZZZZZZZ"
    nothing = {"ok": True, "values": {"/what": "nothing", "/count": 0}}
    return [
        {"name": "nothing was switched", "files": {}, "args": {"of": "home_act", "keep": kept}, "expect": nothing},
        {"name": "also of another", "files": {}, "args": {"of": "x", "keep": kept}, "expect": nothing},
        {"name": "also in a house by its name", "files": {}, "args": {"of": "home_act", "keep": kept, "account": "main"}, "expect": nothing},
    ]
