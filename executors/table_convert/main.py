"""Makes a CSV or JSON file of a table of the workspace: of CSV, JSON, XLSX or ODS. The table itself stays as it is.

What is made lies beside it, replaces nothing, and is read back before it is said to be there.
"""

import os

from metnos_documents import TABLES, Document, opened, rows_of, sheet_of
from metnos_files import Refused, answer, beside, place_new, read_whole, walk_to
from metnos_tables import csv_of, json_of, rows_of_csv, rows_of_json, text_of_bytes

MOST_TEXT_BYTES = 8_000_000
FORMATS = ("csv", "json")


def rows_at(file, path, args):
    """The rows of a table, and the sheet they come from."""
    if os.pread(file, 4, 0) == b"PK\x03\x04":
        document = Document(file, path)
        if document.kind not in TABLES:
            raise Refused("NotATable", f"{path} is a text, and no table")
        _, name, sheet = sheet_of(document, args.get("sheet"))
        rows, cut = rows_of(document, sheet)
        if cut:
            raise Refused("TooLarge", f"the sheet {name} of {path} is too large to be converted")
        return rows, name
    if "sheet" in args:
        raise Refused("NoSheet", f"{path} is no workbook, so it has no sheets")
    text = text_of_bytes(read_whole(file, path, MOST_TEXT_BYTES, "be converted"), path)
    return (rows_of_json(text, path) if text.lstrip()[:1] in ("[", "{") else rows_of_csv(text, path)), ""


def format_of(args):
    """What shall be made: as it is said, else as the new name ends."""
    wanted = args.get("format") or args["to"].rpartition(".")[2].casefold()
    if wanted not in FORMATS:
        raise Refused("BadFormat", f"{args['to']}: I can make .csv and .json of a table")
    return wanted


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        wanted = format_of(args)
        made = beside(names, args["to"])
        rows, sheet = rows_at(file, path, args)
    finally:
        os.close(file)
    text, kept = (csv_of if wanted == "csv" else json_of)(rows)
    if kept < len(rows):
        raise Refused("TooLarge", f"{path} is too large to be converted")
    content = text.encode("utf-8", "replace")
    folder = walk_to(ctx.workspace, made[:-1], args["to"])
    try:
        place_new(folder, content, made, path, "table_convert", args, ctx)
    finally:
        os.close(folder)
    return {
        "ok": True, "path": "/".join(names), "made": "/".join(made), "format": wanted, "sheet": sheet, "rows": len(rows),
        "columns": max(map(len, rows), default=0), "bytes": len(content),
    }


def run(args, ctx):
    return answer(act, args, ctx)
