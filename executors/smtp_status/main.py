"""Says whether mail can be sent from the account: logs in to the server that takes it, and sends nothing."""

from metnos_sending import Sender
from metnos_web import answer, plain


def act(args, ctx):
    sender = Sender(ctx)
    try:
        return {"ok": True, "account": ctx.account()["name"], "address": plain(sender.address), "server": plain(sender.place)}
    finally:
        sender.close()


def run(args, ctx):
    return answer(act, args, ctx)
