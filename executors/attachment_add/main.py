"""Keeps a file that another call of the same turn has fetched, such as what is attached to a mail, in the inbox of the person.

Its bytes come beside the call and are written as they come; the file has no name before it is whole. What the file is called is
text of somebody else: only a plain name of it is left, and it leads nowhere. Nothing is replaced.
"""

from metnos_files import LONGEST_NAME, Refused, answer, keep_sent, split_change

# Where it is kept without a private folder. Of `own`, which policyd sets, the folder counts alone.
INBOX = "inbox/attachment"
# What has another meaning to some system or program, and what cannot be seen.
SIGNS = frozenset('/\\:*?"<>|~')


def plain_name(text):
    """The last part of a name, without signs of paths, hidden names and what cannot be seen."""
    last = text.replace("\\", "/").rpartition("/")[2]
    kept = "".join(sign if sign.isprintable() and sign not in SIGNS else " " for sign in last)
    name = " ".join(kept.split()).lstrip(". -")
    while len(name.encode("utf-8")) > LONGEST_NAME - 60:
        stem, dot, ending = name.rpartition(".")
        name = f"{stem[:-1]}{dot}{ending}" if stem and len(ending) < 20 else name[:-1]
    return name or "attachment"


def act(args, ctx):
    if ctx.file_size is None:
        raise Refused("BadContent", "no file came with this call")
    place = args.get("own", INBOX).rpartition("/")[0]
    path = f"{place}/{plain_name(args['name'])}"
    return keep_sent(split_change(path), ctx, path, args, "attachment_add")


def run(args, ctx):
    return answer(act, args, ctx)
