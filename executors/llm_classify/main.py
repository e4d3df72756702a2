"""Turns what a model said into one of the labels it was given, or into none: a label that was not given is never returned. The
model was asked before this began; whether it chose well is not known here."""


def bare(text):
    """As labels are compared: without case, quotes, marks and white space around."""
    return " ".join(text.split()).strip("\"'`*.:;,!“”«» ").casefold()


def chosen(said, labels):
    """The label that was said: alone, else the only one that stands in what was said."""
    by_name = {bare(label): label for label in labels}
    said = bare(said)
    if said in by_name:
        return by_name[said]
    words = f" {''.join(c if c.isalnum() else ' ' for c in said)} "
    words = f" {' '.join(words.split())} "
    there = []
    for name, label in by_name.items():
        plain = " ".join("".join(c if c.isalnum() else " " for c in name).split())
        if plain and f" {plain} " in words:
            there.append(label)
    return there[0] if len(there) == 1 else None


def run(args, ctx):
    thought = ctx.thought()
    label = None if thought["stop"] == "refused" else chosen(thought["text"], args["labels"])
    if label is None:
        return {"ok": False, "error": {"class": "NoAnswer", "message": "the model chose none of the labels"}}
    return {"ok": True, "label": label}
