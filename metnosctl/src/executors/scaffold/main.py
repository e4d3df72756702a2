"""Counts the words of a text."""


def run(args, ctx):
    """`args` fits the schema, or the call would not be here. What is returned must fit it as well."""
    words = args["text"].split()
    if not words:
        return {"ok": False, "error": {"class": "BadText", "message": "it holds nothing but white space"}}
    return {"ok": True, "words": len(words)}
