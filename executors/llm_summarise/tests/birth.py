"""What llm_summarise promises, case by case: what a model says is given by the case."""


def said(text, stop="end"):
    return {"text": text, "calls": [], "stop": stop}


def cases():
    text = {"text": "Whales are large. They sing. Some live for two hundred years."}
    return [
        {
            "name": "a summary of one sentence stands on one line",
            "files": {},
            "args": text,
            "thought": said("\n Whales are large,\n  sing and live long. \n"),
            "expect": {"ok": True, "values": {"/summary": "Whales are large, sing and live long.", "/truncated": False}},
        },
        {
            "name": "several sentences keep their lines",
            "files": {},
            "args": {**text, "sentences": 3, "focus": "age"},
            "thought": said("They are large.\n\nThey sing."),
            "expect": {"ok": True, "values": {"/summary": "They are large.\nThey sing."}},
        },
        {
            "name": "what was cut off says so",
            "files": {},
            "args": text,
            "thought": said("Whales are", "length"),
            "expect": {"ok": True, "values": {"/summary": "Whales are", "/truncated": True}},
        },
        {
            "name": "a model that says nothing has no summary",
            "files": {},
            "args": text,
            "thought": said(" \n\u200b\n"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
        {
            "name": "a model that refuses has no summary, whatever it says",
            "files": {},
            "args": text,
            "thought": said("I would rather not.", "refused"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
        {
            "name": "nothing that moves a cursor comes out",
            "files": {},
            "args": text,
            "thought": said("a\u001b[2J\u202eb\u0007 c\td"),
            "expect": {"ok": True, "values": {"/summary": "a [2J b c d"}},
        },
        {
            "name": "a model that goes on and on is cut",
            "files": {},
            "args": text,
            "thought": said("word " * 4000),
            "expect": {"ok": True, "values": {"/truncated": True}},
        },
    ]
