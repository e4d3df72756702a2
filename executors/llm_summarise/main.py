"""Turns what a model said about a text into a summary: plain text, in lines that a terminal and a note can hold. The model was
asked before this began; whether its words are true is not known here."""

LONGEST = 8_000


def plain(text):
    """Without what cannot be seen or moves a cursor; white space in each line made single; empty lines dropped."""
    lines = []
    for line in text.splitlines():
        kept = "".join(c if c.isprintable() else " " for c in line)
        kept = " ".join(kept.split())
        if kept:
            lines.append(kept)
    return lines


def run(args, ctx):
    thought = ctx.thought()
    lines = plain(thought["text"])
    if thought["stop"] == "refused" or not lines:
        return {"ok": False, "error": {"class": "NoAnswer", "message": "the model gave no summary"}}
    # One sentence is one line, so that lists of summaries stay lists.
    summary = " ".join(lines) if args.get("sentences", 1) == 1 else "\n".join(lines)
    truncated = thought["stop"] == "length" or len(summary) > LONGEST
    return {"ok": True, "summary": summary[:LONGEST], "truncated": truncated}
