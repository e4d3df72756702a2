"""Lists the newest messages of a mailbox: who they say they are from, what about, and when they came."""

from metnos_mail import answer, listing


def run(args, ctx):
    return answer(listing, args, ctx)
