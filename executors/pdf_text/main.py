"""Reads the text of a PDF of the workspace with the program `pdftotext` of Poppler, which the owner lists.

The program gets the open file and nothing else; what it returns is the text of the pages, in the columns they show. Where
they have none, as those of a scan, each is painted and read by Tesseract, page by page for as long as there is time.
"""

import os

from metnos_documents import opened
from metnos_files import Refused, answer, is_secret_content, one_name
from metnos_programs import can_read_pictures, painted, text_of_pdf, text_of_picture

# Seconds that are kept: to give the answer, and for another page at least.
KEPT = 1.0
LEAST_FOR_A_PAGE = 4.0
MOST_TEXT = 500_000


def read_off(file, path, ctx, pages):
    """The writing on pages that are pictures; how many of them were read, and how sure the words are."""
    read, sure, slowest = [], [], LEAST_FOR_A_PAGE
    for page in pages:
        before = ctx.remaining()
        if before < slowest + KEPT or sum(map(len, read)) > MOST_TEXT:
            break
        picture = painted(file, path, page, ctx, KEPT)
        text, certain, _ = text_of_picture(path, ctx, image=picture, keep=KEPT)
        read.append(text)
        sure += [certain] if text else []
        # What a page has taken, and half as much again, is what the next may take.
        slowest = max(slowest, 1.5 * (before - ctx.remaining()))
    return read, round(sum(sure) / len(sure)) if sure else 0


def act(args, ctx):
    path = args["path"]
    first = args.get("page", 1)
    last = args.get("to_page", args.get("page"))
    if last is not None and last < first:
        raise Refused("NoSuchPage", f"to_page is {last}, which lies before page, {first}")
    names, file = opened(ctx.workspace, path)
    try:
        one_name(file, path)
        if is_secret_content(os.pread(file, 256, 0)):
            raise Refused("PermissionDenied", f"{path} holds a secret")
        text, pages, cut = text_of_pdf(file, path, ctx, first, last)
        scanned = not text and can_read_pictures(ctx)
        told = {"pages": pages, "truncated": cut, "scanned": scanned, "left": 0, "sure": 100, "complete": not scanned}
        if scanned:
            read, told["sure"] = read_off(file, path, ctx, range(first, first + pages))
            text = "\n\n".join(filter(None, read))
            told["pages"], told["left"] = len(read), pages - len(read)
        one_name(file, path)
    finally:
        os.close(file)
    return {"ok": True, "path": "/".join(names), "content": f"{text}\n" if text else "", **told}


def run(args, ctx):
    return answer(act, args, ctx)
