"""Reads a sheet of a workbook (XLSX or ODS) of the workspace as CSV, which the executors for tables take."""

import os

from metnos_documents import TABLES, Document, opened, rows_of, sheet_of
from metnos_files import answer
from metnos_tables import csv_of


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        document = Document(file, path)
        if document.kind not in TABLES:
            raise document.fault("is a text; doc_text reads it")
        known, name, sheet = sheet_of(document, args.get("sheet"))
        rows, cut = rows_of(document, sheet)
    finally:
        os.close(file)
    content, kept = csv_of(rows)
    return {
        "ok": True, "path": "/".join(names), "content": content, "sheet": name, "sheets": known, "rows": kept,
        "columns": len(rows[0]) if rows else 0, "truncated": cut or kept < len(rows),
    }


def run(args, ctx):
    return answer(act, args, ctx)
