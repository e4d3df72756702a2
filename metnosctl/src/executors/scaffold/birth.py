"""What it promises. Each case runs in its own sandbox before the executor is signed; one that fails stops that."""


def cases():
    return [
        {"name": "words are counted", "files": {}, "args": {"text": "three plain words"}, "expect": {"ok": True, "values": {"/words": 3}}},
        {"name": "a large text is counted", "files": {}, "args": {"text": "word " * 10_000}, "expect": {"ok": True, "values": {"/words": 10_000}}},
        {"name": "white space is no word", "files": {}, "args": {"text": " \n "}, "expect": {"ok": False, "class": "BadText"}},
    ]
