"""Counts the lines, words and characters of a text it is given. It touches nothing."""

STEP = 1 << 16


def count_words(text):
    """Runs of characters between white space, counted piece by piece so that memory stays flat."""
    words = 0
    inside = False
    for start in range(0, len(text), STEP):
        piece = text[start:start + STEP]
        words += len(piece.split())
        if inside and not piece[0].isspace():
            # The word that the last piece ended in goes on.
            words -= 1
        inside = not piece[-1].isspace()
    return words


def run(args, ctx):
    text = args["text"]
    lines = text.count("\n") + (0 if text.endswith("\n") or not text else 1)
    return {"ok": True, "lines": lines, "words": count_words(text), "characters": len(text)}
