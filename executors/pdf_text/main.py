"""Reads the text of a PDF of the workspace with the program `pdftotext` of Poppler, which the owner lists.

The program gets the open file and nothing else; what it returns is the text of the pages, in the columns they show.
"""

import os

from metnos_documents import opened
from metnos_files import Refused, answer, is_secret_content, one_name
from metnos_programs import text_of_pdf


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
        one_name(file, path)
    finally:
        os.close(file)
    return {"ok": True, "path": "/".join(names), "content": f"{text}\n" if text else "", "pages": pages, "truncated": cut}


def run(args, ctx):
    return answer(act, args, ctx)
