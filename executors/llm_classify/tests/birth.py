"""What llm_classify promises, case by case: what a model says is given by the case."""


def said(text, stop="end"):
    return {"text": text, "calls": [], "stop": stop}


def cases():
    letter = {"text": "Dear all, the meeting is on Monday.", "labels": ["work", "private", "not sure"]}
    return [
        {
            "name": "the label that the model names",
            "files": {},
            "args": letter,
            "thought": said("work"),
            "expect": {"ok": True, "values": {"/label": "work"}},
        },
        {
            "name": "case, quotes and a full stop do not matter, and the label comes as it was given",
            "files": {},
            "args": {**letter, "labels": ["Work", "Private"], "question": "Whom does it concern?"},
            "thought": said(" \"**private**.\"\n"),
            "expect": {"ok": True, "values": {"/label": "Private"}},
        },
        {
            "name": "the only label in a sentence",
            "files": {},
            "args": letter,
            "thought": said("The label is: not sure, I think."),
            "expect": {"ok": True, "values": {"/label": "not sure"}},
        },
        {
            "name": "a label that was not given is none",
            "files": {},
            "args": letter,
            "thought": said("advertisement"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
        {
            "name": "two labels are none",
            "files": {},
            "args": letter,
            "thought": said("work or private"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
        {
            "name": "a part of a word is no label",
            "files": {},
            "args": letter,
            "thought": said("workshop"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
        {
            "name": "a model that refuses has chosen nothing, whatever it says",
            "files": {},
            "args": letter,
            "thought": said("work", "refused"),
            "expect": {"ok": False, "class": "NoAnswer"},
        },
    ]
