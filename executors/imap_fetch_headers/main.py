"""Lists the newest messages of a mailbox: who they say they are from, what about, and when they came; or those alone that wait for the
person who asks."""

from metnos_mail import answer, listing, waiting


def run(args, ctx):
    return answer(waiting if args.get("waiting") else listing, args, ctx)
