"""Tables as text: rows as CSV and as JSON, and back. Part of the file library; `host.py` makes it the module
`metnos_tables`, for code that names it.
"""

import csv
import io
import json
import re

from metnos_files import Refused

# The most bytes of a table as text: what csv_query takes.
MOST_BYTES = 4_000_000
MOST_ROWS, MOST_COLUMNS, MOST_CELLS = 50_000, 500, 400_000
# The most characters of a cell.
MOST_CELL = 100_000
SEPARATORS = (",", ";", "\t", "|")
# How many lines are looked at to find the separator.
LINES_LOOKED_AT = 20
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


def line_of(row):
    """One row as CSV (RFC 4180, with a plain line end)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return text.getvalue()


def csv_of(rows, most=MOST_BYTES):
    """The rows as CSV, as many as fit, and how many those are."""
    lines, size = [], 0
    for row in rows:
        line = line_of(row)
        size += len(line.encode("utf-8", "replace"))
        if size > most:
            break
        lines.append(line)
    return "".join(lines), len(lines)


def json_of(rows, most=MOST_BYTES):
    """The rows below the first as JSON objects with its names, as many as fit, and how many rows those are."""
    names = []
    for at, name in enumerate(rows[0] if rows else (), 1):
        name = name.strip() or f"column {at}"
        while name in names:
            name += "'"
        names.append(name)
    texts, size = [], 0
    for row in rows[1:]:
        text = json.dumps(dict(zip(names, map(plain, row))), ensure_ascii=False)
        size += len(text.encode("utf-8", "replace")) + 3
        if size > most:
            break
        texts.append(text)
    body = ",\n ".join(texts)
    return f"[{body}]\n" if texts else "[]\n", len(texts) + bool(rows)


def plain(cell):
    """A cell as JSON has it: what is written like a number is one, what is empty is nothing."""
    if NUMBER.fullmatch(cell):
        return float(cell) if "." in cell else int(cell)
    return {"": None, "true": True, "false": False}.get(cell, cell)


def separator_of(text):
    """What separates the cells: what each line has, and as often as the others."""
    lines = [line for line in text[:200_000].split("\n")[:LINES_LOOKED_AT] if line.strip()]

    def fits(sign):
        counts = [line.count(sign) for line in lines]
        return sum(number == counts[0] for number in counts) if counts and counts[0] else 0, counts[0] if counts else 0

    return max(SEPARATORS, key=fits)


def rows_of_csv(text, path):
    """The rows of a CSV text."""
    csv.field_size_limit(MOST_CELL)
    rows, cells = [], 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text)):
            cells += len(row)
            if len(rows) >= MOST_ROWS or cells > MOST_CELLS or len(row) > MOST_COLUMNS:
                raise Refused("TooLarge", f"{path} has more than {MOST_ROWS} rows, {MOST_COLUMNS} columns or {MOST_CELLS} cells")
            rows.append(row)
    except csv.Error as error:
        raise Refused("NotATable", f"{path} is no table: {error}") from None
    return rows


def rows_of_json(text, path):
    """The rows of a JSON text: a list of objects, whose names become the first row, or a list of lists."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("NotATable", f"{path} is no JSON: {str(error)[:200]}") from None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else None
    if not isinstance(found, list) or not found:
        raise Refused("NotATable", f"{path} holds no list of rows")
    if len(found) > MOST_ROWS:
        raise Refused("TooLarge", f"{path} has more than {MOST_ROWS} rows")
    if all(isinstance(row, list) for row in found):
        return bounded([list(map(cell_of, row)) for row in found], path)
    if not all(isinstance(row, dict) for row in found):
        raise Refused("NotATable", f"the list in {path} holds other things than rows")
    names = list(dict.fromkeys(name for row in found for name in row))
    if len(names) > MOST_COLUMNS:
        raise Refused("TooLarge", f"{path} has more than {MOST_COLUMNS} columns")
    return bounded([names, *([cell_of(row.get(name)) for name in names] for row in found)], path)


def bounded(rows, path):
    if sum(map(len, rows)) > MOST_CELLS or any(len(row) > MOST_COLUMNS for row in rows):
        raise Refused("TooLarge", f"{path} has more than {MOST_CELLS} cells, or {MOST_COLUMNS} columns")
    return rows


def cell_of(value):
    """A value of JSON as a cell."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value[:MOST_CELL]
    return json.dumps(value, ensure_ascii=False)[:MOST_CELL]


def text_of_bytes(content, path):
    """The text of a file of a table: UTF-8, UTF-16 that says so, else as Windows writes it in Western Europe."""
    if b"\0" in content and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused("NotATable", f"{path} is no text")
    for encoding in ("utf-16",) if content.startswith((b"\xff\xfe", b"\xfe\xff")) else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise Refused("NotATable", f"{path} is no text")
