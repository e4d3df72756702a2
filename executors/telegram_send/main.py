"""Says what was sent. Metnos itself passes the message on, once the call is allowed; this process reaches nobody."""


def run(args, ctx):
    message = args["message"].strip()
    if not message:
        return {"ok": False, "error": {"class": "BadText", "message": "it holds nothing but white space"}}
    return {"ok": True, "message": message, "characters": len(message)}
