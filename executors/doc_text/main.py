"""Reads the text of an office document of the workspace: DOCX, ODT, PPTX or ODP."""

import os

from metnos_documents import TEXTS, Document, opened, text_of
from metnos_files import answer


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        document = Document(file, path)
        if document.kind not in TEXTS:
            raise document.fault("is a table; table_read reads it")
        text, cut = text_of(document)
    finally:
        os.close(file)
    return {"ok": True, "path": "/".join(names), "kind": document.kind, "content": f"{text}\n" if text else "", "truncated": cut}


def run(args, ctx):
    return answer(act, args, ctx)
