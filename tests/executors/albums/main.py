"""For tests: copies a picture into an album, both in folders outside the workspace."""

import os


def run(args, ctx):
    try:
        with open(ctx.inside(args["from"]), "rb") as file:
            data = file.read()
        place = ctx.inside(args["to"])
        with open(place, "wb") as file:
            file.write(data)
        return {"ok": True, "size": os.stat(place).st_size, "folders": [os.path.basename(folder) for folder in ctx.folders]}
    except FileNotFoundError as error:
        return {"ok": False, "error": {"class": "NotFound", "message": str(error)}}
    except OSError as error:
        return {"ok": False, "error": {"class": "PermissionDenied", "message": str(error)}}
