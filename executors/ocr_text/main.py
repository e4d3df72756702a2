"""Reads what is written in an image of the workspace, such as the photo of a receipt, with the program `tesseract`, which the
owner lists.

The program gets the open file and nothing else. A word that it is not sure of is left out: what it sees in leaves and
wallpaper is none.
"""

import os

from metnos_documents import opened
from metnos_files import Refused, answer, is_secret_content, one_name
from metnos_programs import text_of_picture

MOST_BYTES = 64_000_000
# How the images begin that Tesseract's library reads: JPEG, PNG, GIF, BMP, TIFF and the portable formats; WebP beside them.
BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"P4", b"P5", b"P6")
# Seconds that are kept to give the answer.
KEPT = 1.0


def is_image(head):
    return head.startswith(BEGINNINGS) or head[:4] == b"RIFF" and head[8:12] == b"WEBP"


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        size = one_name(file, path).st_size
        if size > MOST_BYTES:
            raise Refused("TooLarge", f"{path} has {size} bytes; at most {MOST_BYTES} can be read")
        head = os.pread(file, 256, 0)
        if is_secret_content(head):
            raise Refused("PermissionDenied", f"{path} holds a secret")
        if not is_image(head):
            raise Refused("NotAnImage", f"{path} is no image of a kind that can be read: JPEG, PNG, WebP, GIF, BMP, TIFF")
        text, sure, cut = text_of_picture(path, ctx, file=file, keep=KEPT)
        one_name(file, path)
    finally:
        os.close(file)
    return {"ok": True, "path": "/".join(names), "content": f"{text}\n" if text else "", "sure": sure, "truncated": cut}


def run(args, ctx):
    return answer(act, args, ctx)
