"""Finds messages by who they say they are from, by words in them, or by when they came."""

from metnos_mail import answer, listing


def run(args, ctx):
    return answer(listing, args, ctx)
