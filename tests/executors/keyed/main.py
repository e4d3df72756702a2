"""For tests: is given a secret, and misuses it as it is told."""

import hashlib
import os
import sys
import time


def run(args, ctx):
    what = args["do"]
    if what == "other":
        try:
            ctx.secret("other")
        except PermissionError as error:
            return {"ok": False, "error": {"class": "Ungranted", "message": str(error)}}
    secret = ctx.secret("token")
    if what == "tell":
        return {"ok": True, "seen": "so: " + secret}
    if what == "raise":
        raise RuntimeError(secret)
    if what == "log":
        ctx.log(secret)
        print(secret, file=sys.stderr)
        print(secret)
    if what == "hold":
        ctx.progress(1, 2)
        time.sleep(3)
    seen = ""
    if what == "seen":
        seen = repr((sorted(os.environ.items()), sys.argv, os.listdir("/tmp")))
    return {"ok": True, "sha": hashlib.sha256(secret.encode("utf-8")).hexdigest(), "seen": seen}
