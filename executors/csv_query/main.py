"""Chooses, orders and adds up the rows of a CSV text. It touches nothing, and runs nothing that stands in a query.

Which character separates the cells, whether the first row names the columns and whether 1.234,5 or 1,234.5 is a number is found out
from the text, unless it is said. Numbers are added up exactly, to twelve places. A month chooses rows by the column of dates; where the
order of day and month, the year or the column leaves a doubt, nothing is added up.
"""

import re

DEFAULT_LIMIT = 100
MOST_ROWS = 500_000
MOST_COLUMNS = 1_000
MOST_GROUPS = 50_000
# How much one call tells, in characters.
MOST_TEXT = 1_000_000
# What is looked at to find out how a text is written.
SAMPLE_CHARACTERS = 65_536
SAMPLE_ROWS = 50
SEPARATORS = (",", ";", "\t", "|")
PLACES = 12
ONE = 10 ** PLACES

NUMBERS = {
    ".": re.compile(r"([+-]?)(\d{1,30}|\d{1,3}(?:,\d{3}){1,9})(?:\.(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?"),
    ",": re.compile(r"([+-]?)(\d{1,30}|\d{1,3}(?:\.\d{3}){1,9})(?:,(\d{1,30}))?(?:[eE]([+-]?\d{1,2}))?"),
}
SIGNS = re.compile(r"[,.]\d+$")
MONTHS = {
    "en": ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"),
    "it": ("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"),
}
DATES = (
    ("ymd", re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ].{0,40})?")),
    ("ymd", re.compile(r"(\d{4})([-/])(\d{1,2})()")),
    ("open", re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[ ,].{0,40})?")),
    ("named", re.compile(r"(?:(\d{1,2})\.?\s+)?([^\W\d_]{3,10})\.?,?\s+(?:(\d{1,2}),\s+)?(\d{4})")),
)
# The longest cell that is read as a date.
MOST_DATE = 60
# What share of the cells of a column of dates may be none.
STRAY = 4
# Names of columns that stand for another: the only one of numbers, the one of dates, the one that says who, and whichever.
NUMERIC = "#"
WHEN = "@when"
WHO = "@who"
ANY = "*"
# What the column is called that says who.
PERSONS = (
    "who", "person", "people", "name", "member", "payer", "buyer", "spender", "paid by", "bought by", "by", "by whom",
    "chi", "persona", "persone", "nome", "membro", "pagato da", "comprato da", "speso da", "acquistato da", "da chi", "utente", "user",
)


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def records(text, separator):
    """The rows of a text, each as its cells. A quoted cell may hold everything; a quote that is not closed is a plain sign."""
    if '"' not in text:
        for line in text.split("\n"):
            line = line[:-1] if line.endswith("\r") else line
            if line:
                yield line.split(separator)
        return
    plain = re.compile(f"[^{re.escape(separator)}\r\n]*")
    quoted = re.compile('"([^"]*(?:""[^"]*)*)"')
    at, row, hopeless = 0, [], False
    while at < len(text):
        found = None if hopeless or text[at] != '"' else quoted.match(text, at)
        if text[at] == '"' and found is None:
            # From here on nothing closes a quote, and nothing is searched again for one that does.
            hopeless = True
        if found is not None:
            cell, at = found.group(1).replace('""', '"'), found.end()
        else:
            cell = ""
        found = plain.match(text, at)
        row.append(cell + found.group())
        at = found.end()
        if at < len(text) and text[at] == separator:
            at += 1
            if at < len(text):
                continue
            row.append("")
        if text.startswith("\r\n", at):
            at += 2
        elif at < len(text) and text[at] in "\r\n":
            at += 1
        if row != [""]:
            yield row
        row = []
    if row:
        yield row


def head(text, separator):
    rows = []
    for row in records(text[:SAMPLE_CHARACTERS], separator):
        rows.append(row)
        if len(rows) > SAMPLE_ROWS:
            break
    # The last one may be cut in the middle.
    return rows[:-1] if len(rows) > 1 and len(text) > SAMPLE_CHARACTERS else rows


def separator_of(text):
    """The character that cuts the rows into the same number of cells, and into most."""
    best = (0.0, 0, ",")
    for place, separator in enumerate(SEPARATORS):
        widths = [len(row) for row in head(text, separator)]
        usual = max(set(widths), key=lambda width: (widths.count(width), width), default=1)
        if usual > 1:
            best = max(best, (widths.count(usual) / len(widths), usual, separator), key=lambda one: one[:2])
    return best[2]


def decimal_of(rows):
    """The sign before the decimals, by the cells that leave no doubt."""
    comma = point = 0
    for row in rows:
        for cell in row:
            comma_fits, point_fits = (NUMBERS[sign].fullmatch(cell.strip(" \t€$£")) for sign in ",.")
            if SIGNS.search(cell.strip()) and bool(comma_fits) != bool(point_fits):
                comma, point = comma + bool(comma_fits), point + bool(point_fits)
            elif re.fullmatch(r"\D*\d+,\d{1,2}\D*", cell):
                comma += 1
    return "," if comma > point else "."


def number(text, sign):
    """A number, as so many of its last places; nothing when it is none."""
    found = NUMBERS[sign].fullmatch(text.strip(" \t\u00a0€$£"))
    if found is None:
        return None
    minus, whole, rest, power = found.groups()
    whole, rest = re.sub(r"[.,]", "", whole), rest or ""
    shift = PLACES - len(rest) + int(power or 0)
    value = int(whole + rest)
    value = value * 10 ** shift if shift >= 0 else value // 10 ** -shift
    return -value if minus == "-" else value


def plain(value):
    """A number as JSON has it."""
    return value // ONE if value % ONE == 0 else value / ONE


def mean(value, count):
    """The mean of so many numbers as JSON has it."""
    return value // (count * ONE) if value % (count * ONE) == 0 else value / (count * ONE)


def stem(word):
    """What the plain forms of a word share: one and many, in English and Italian."""
    word = word.strip().casefold()
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    while len(word) > 3 and word[-1] in "aeioyàèéìò":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith(("ch", "gh")) else word


class Table:
    """A text read as a table."""

    def __init__(self, args):
        text = args["text"].removeprefix("\ufeff")
        if "\0" in text:
            raise Refused("BadCsv", "the text holds a NUL character, which no CSV text has")
        self.separator = args.get("separator") or separator_of(text)
        sample = head(text, self.separator)
        if not sample:
            raise Refused("BadCsv", "the text has no row")
        self.decimal = args.get("decimal") or decimal_of(sample)
        self.rows = records(text, self.separator)
        first = sample[0]
        if len(first) > MOST_COLUMNS:
            raise Refused("TooMuch", f"the text has more than {MOST_COLUMNS} columns")
        header = args.get("header", "auto")
        names = [cell.strip() for cell in first]
        tells = all(names) and len(set(names)) == len(names) and not any(self.number(name) is not None for name in names)
        self.header = header == "yes" or header == "auto" and tells
        if self.header:
            next(self.rows)
            self.columns = [name or str(at) for at, name in enumerate(names, 1)]
        else:
            self.columns = [str(at) for at in range(1, len(first) + 1)]
        self.sample = sample[1:] if self.header else sample
        self.read = self.ragged = 0
        # Year, month and day by row, where rows are ordered by them.
        self.days = {}

    def number(self, text):
        return number(text, self.decimal)

    def column(self, name):
        """The place of a column."""
        if name in self.columns:
            return self.columns.index(name)
        if name == NUMERIC:
            return self.numeric()
        if name == WHEN:
            return the_dates(self, {})
        if name == WHO:
            return self.persons()
        wanted = name.strip().casefold()
        for at, column in enumerate(self.columns):
            if column.casefold() == wanted:
                return at
        alike = [at for at, column in enumerate(self.columns) if stem(column) == stem(name)]
        if len(alike) == 1:
            return alike[0]
        names = ", ".join(self.columns[:20]) + (", …" if len(self.columns) > 20 else "")
        raise Refused("NoColumn", f"there is no column {name}; there are {names}"[:900])

    def numeric(self):
        """The place of the only column of numbers."""
        found = []
        for at in range(len(self.columns)):
            cells = [row[at] for row in self.sample if at < len(row) and row[at].strip()]
            if cells and all(self.number(cell) is not None for cell in cells):
                found.append(at)
        if len(found) != 1:
            names = ", ".join(self.columns[at] for at in found[:20]) or "none"
            raise Refused("NoColumn", f"name the column; the columns of numbers: {names}"[:900])
        return found[0]

    def persons(self):
        """The place of the column that says who."""
        found = [at for at, column in enumerate(self.columns) if column.replace("_", " ").strip().casefold() in PERSONS]
        if len(found) != 1:
            names = ", ".join(self.columns[:20])
            raise Refused("NoColumn", f"no column says who, or several do; there are {names}"[:900])
        return found[0]

    def __iter__(self):
        width = len(self.columns)
        for row in self.rows:
            self.read += 1
            if self.read > MOST_ROWS:
                raise Refused("TooMuch", f"the text has more than {MOST_ROWS} rows")
            if len(row) != width:
                self.ragged += 1
                row = (row + [""] * (width - len(row)))[:width]
            yield row


def compare(table, op, cell, wanted, wanted_number):
    """Whether one condition holds for a cell: by number where both are numbers, else by letters, large or small."""
    if op in ("empty", "filled"):
        return (cell.strip() == "") == (op == "empty")
    text = cell.strip().casefold()
    if op == "contains":
        return wanted in text
    if op == "starts":
        return text.startswith(wanted)
    if op == "ends":
        return text.endswith(wanted)
    here = table.number(cell) if wanted_number is not None else None
    one, other = (text, wanted) if here is None else (here, wanted_number)
    if here is None and wanted_number is not None and op not in ("=", "!="):
        # A cell that is no number is neither larger nor smaller than one.
        return False
    return {
        "=": one == other, "!=": one != other, "<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other,
    }[op]


def conditions(table, args):
    made = []
    for one in args.get("where", []):
        value = one.get("value", "")
        text = value.strip() if isinstance(value, str) else ("true" if value is True else "false" if value is False else repr(value))
        if one["op"] not in ("empty", "filled") and "value" not in one:
            raise Refused("BadQuery", f"the condition {one['op']} needs a value")
        known = number(text, "." if not isinstance(value, str) else table.decimal)
        if known is None and isinstance(value, str):
            known = number(text, ".")
        at = None if one["column"] == ANY and ANY not in table.columns else table.column(one["column"])
        made.append((at, one["op"], text.casefold(), known))
    return made


def fits(table, row, condition):
    """Whether a condition holds for a row; one about no column in particular for any of its cells."""
    at, op, text, known = condition
    if at is not None:
        return compare(table, op, row[at], text, known)
    if op == "contains" and text:
        # Somebody who names a thing says one or many of it.
        wanted = [stem(word) for word in text.split()]
        if any(all(word in [stem(one) for one in cell.casefold().split()] for word in wanted) for cell in row):
            return True
    return any(compare(table, op, cell, text, known) for cell in row)


def month_of(name):
    """The number of a month by its name or the first letters of it; nothing when it is none."""
    name = name.casefold()
    found = {at for names in MONTHS.values() for at, full in enumerate(names, 1) if full == name or len(name) >= 3 and full.startswith(name)}
    return found.pop() if len(found) == 1 else None


def date_of(cell):
    """How a cell gives a day: its year, its month and its day; of `1/2/2026` both numbers that may be the month, and no day. Nothing when it gives none."""
    cell = cell.strip()
    if not 6 <= len(cell) <= MOST_DATE:
        return None
    for kind, form in DATES:
        found = form.fullmatch(cell)
        if found is None:
            continue
        if kind == "named":
            month = month_of(found.group(2))
            return None if month is None else ("known", int(found.group(4)), month, month, int(found.group(1) or found.group(3) or 0))
        if kind == "ymd":
            month = int(found.group(3))
            return ("known", int(found.group(1)), month, month, int(found.group(4) or 0)) if 1 <= month <= 12 else None
        first, sign, second, year = int(found.group(1)), found.group(2), int(found.group(3)), int(found.group(4))
        year += 2000 if year < 100 else 0
        if not (1 <= min(first, second) <= 12 and max(first, second) <= 31):
            return None
        # With dots the day stands first everywhere.
        return ("known", year, second, second, first) if sign == "." and second <= 12 else ("open", year, first, second, None)
    return None


def the_dates(table, args):
    """The place of the column of dates."""
    def is_of_dates(at):
        cells = [row[at] for row in table.sample if at < len(row) and row[at].strip()]
        bad = sum(date_of(cell) is None for cell in cells)
        return len(cells) > bad and bad * STRAY <= len(cells)

    if "dates" in args:
        return table.column(args["dates"])
    columns = [at for at in range(len(table.columns)) if is_of_dates(at)]
    if len(columns) > 1:
        names = ", ".join(table.columns[at] for at in columns[:20])
        raise Refused("Ambiguous", f"several columns hold dates: {names}; name one as dates"[:900])
    if not columns:
        raise Refused("NoDates", "no column of the table holds dates")
    return columns[0]


def dated(table, rows, args):
    """Year, month and day of each row; nothing for a row without a date."""
    at = the_dates(table, args)
    found = [date_of(row[at]) for row in rows]
    if not any(found):
        raise Refused("NoDates", "no column of the table holds dates")
    unsure = [one for one in found if one is not None and one[0] == "open"]
    day_first, month_first = (any(one[part] > 12 for one in unsure) for part in (2, 3))
    if day_first and month_first or unsure and not (day_first or month_first or table.decimal == "," or all(one[2] == one[3] for one in unsure)):
        raise Refused("Ambiguous", "it is not clear whether the day or the month stands first in the dates")
    part = 2 if month_first else 3
    return [None if one is None else (one[1], one[part], one[5 - part] if one[4] is None else one[4]) for one in found]


def during(table, rows, args):
    """The rows of a month, of a year, or of both; what time that is; and how many rows have no date."""
    name, year = args.get("month"), args.get("year")
    wanted = None if name is None else month_of(name)
    dates = dated(table, rows, args)
    fitting = [(row, date) for row, date in zip(rows, dates) if date is not None and wanted in (None, date[1]) and year in (None, date[0])]
    years = {date[0] for _, date in fitting}
    if year is None and len(years) > 1:
        raise Refused("Ambiguous", f"the table has that month in {', '.join(map(str, sorted(years)[:10]))}; say the year")
    year = year if year is not None else next(iter(years), None)
    name = name if name is None or name in MONTHS["it"] else name.capitalize()
    period = " ".join(str(part) for part in (name, year) if part is not None)
    return [row for row, _ in fitting], {"period": period, "no_dates": sum(date is None for date in dates)}


class Tally:
    """What is added up for one group."""

    def __init__(self):
        self.count, self.sum, self.numbers, self.least, self.most, self.others = 0, 0, 0, None, None, 0
        self.texts = set()

    def take(self, op, cell, value):
        if cell.strip() == "":
            return
        self.count += 1
        if op == "distinct":
            self.texts.add(cell)
        elif op != "count":
            if value is None:
                self.others += 1
                return
            self.numbers += 1
            self.sum += value
            self.least = value if self.least is None else min(self.least, value)
            self.most = value if self.most is None else max(self.most, value)

    def tell(self, op):
        if op == "count":
            return self.count
        if op == "distinct":
            return len(self.texts)
        if op == "sum":
            return plain(self.sum)
        if not self.numbers:
            return None
        if op == "avg":
            return mean(self.sum, self.numbers)
        return plain(self.least if op == "min" else self.most)


def grouped(table, rows, args):
    """Columns and rows of the groups, and how many cells were no numbers where numbers were wanted."""
    by = [table.column(name) for name in args.get("group_by", [])]
    wanted = []
    for one in args.get("aggregate", []) or [{"op": "count"}]:
        if "column" not in one and one["op"] != "count":
            raise Refused("BadQuery", f"{one['op']} needs a column")
        wanted.append((one["op"], table.column(one["column"]) if "column" in one else None))
    groups = {}
    if not by:
        groups[()] = [Tally() for _ in wanted]
    for row in rows:
        key = tuple(row[at] for at in by)
        if key not in groups:
            if len(groups) >= MOST_GROUPS:
                raise Refused("TooMuch", f"there are more than {MOST_GROUPS} groups")
            groups[key] = [Tally() for _ in wanted]
        for tally, (op, at) in zip(groups[key], wanted):
            cell = "row" if at is None else row[at]
            tally.take(op, cell, table.number(cell) if op not in ("count", "distinct") else None)
    names = [op if at is None else f"{op}({table.columns[at]})" for op, at in wanted]
    others = sum(tally.others for tallies in groups.values() for tally in tallies)
    told = [[*key, *(tally.tell(op) for tally, (op, _) in zip(tallies, wanted))] for key, tallies in groups.items()]
    return [table.columns[at] for at in by] + names, told, others


def order(table, columns, rows, args):
    """Puts rows in order by one column: numbers by size and before texts, what is empty at the end."""
    if "order_by" not in args:
        return rows
    name = args["order_by"]
    if name == WHEN and name not in columns and columns is table.columns:
        known = [row for row in rows if table.days[id(row)] is not None]
        known.sort(key=lambda row: table.days[id(row)], reverse=args.get("descending", False))
        return known + [row for row in rows if table.days[id(row)] is None]
    if name in columns:
        at = columns.index(name)
    elif columns is table.columns:
        at = table.column(name)
    else:
        folded = [column.casefold() for column in columns]
        added_up = len(args.get("aggregate", [])) == 1
        if name == NUMERIC and added_up:
            at = len(columns) - 1
        elif name.strip().casefold() in folded:
            at = folded.index(name.strip().casefold())
        else:
            raise Refused("NoColumn", f"there is no column {name} to order by; there are {', '.join(columns[:20])}"[:900])
    full, empty = [], []
    for row in rows:
        cell = row[at]
        if cell is None or cell == "":
            empty.append(row)
            continue
        value = table.number(cell) if isinstance(cell, str) else cell * ONE
        full.append(((1, 0, cell.casefold()) if value is None else (0, value, ""), row))
    full.sort(key=lambda one: one[0], reverse=args.get("descending", False))
    return [row for _, row in full] + empty


def single(table, rows, args):
    """What came out, where one value over all rows was asked for."""
    wanted = args.get("aggregate", [])
    if len(wanted) != 1 or args.get("group_by") or len(rows) != 1 or rows[0][0] is None:
        return {}
    one = wanted[0]
    of = {"column": table.columns[table.column(one["column"])]} if "column" in one else {}
    return {"op": one["op"], **of, "value": rows[0][0]}


def act(args):
    table = Table(args)
    wanted = conditions(table, args)
    rows, when = table, {}
    if args.get("order_by") == WHEN and WHEN not in table.columns:
        # Of all rows, also of those that are not wanted: they may show which number is the month.
        rows = list(table)
        table.days = {id(row): day for row, day in zip(rows, dated(table, rows, args))}
    if "month" in args or "year" in args:
        rows, when = during(table, list(rows), args)
    rows = [row for row in rows if all(fits(table, row, one) for one in wanted)]
    matched, others = len(rows), 0
    columns = table.columns
    if args.get("group_by") or args.get("aggregate"):
        columns, rows, others = grouped(table, rows, args)
    told = single(table, rows, args)
    rows = order(table, columns, rows, args)
    added = args.get("aggregate", [])
    if args.get("group_by") and len(added) == 1 and "column" in added[0]:
        # What was added up for each is what a person takes it for; where several things were, each says what it is.
        columns = columns[:-1] + [table.columns[table.column(added[0]["column"])]]
    if args.get("columns"):
        if args.get("group_by") or args.get("aggregate"):
            raise Refused("BadQuery", "columns chooses cells of rows; of groups name group_by and aggregate")
        chosen = [table.column(name) for name in args["columns"]]
        columns, rows = [table.columns[at] for at in chosen], [[row[at] for at in chosen] for row in rows[:1000]] + rows[1000:]
    shown, size = [], 0
    for row in rows[:args.get("limit", DEFAULT_LIMIT)]:
        size += sum(len(cell) if isinstance(cell, str) else 24 for cell in row) + 4 * len(row)
        if size > MOST_TEXT:
            break
        shown.append(row)
    if rows and not shown:
        raise Refused("TooMuch", "the first row alone is too large to be told; choose columns")
    return {
        "ok": True,
        "columns": columns,
        "rows": shown,
        "total": len(rows),
        "returned": len(shown),
        "truncated": len(shown) < len(rows),
        "failed": table.ragged,
        "matched": matched,
        **told,
        **when,
        "read": table.read,
        "no_numbers": others,
        "separator": {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}[table.separator],
        "decimal": "comma" if table.decimal == "," else "point",
        "header": table.header,
    }


def run(args, ctx):
    try:
        return act(args)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
    except MemoryError:
        return {"ok": False, "error": {"class": "TooMuch", "message": "the text has more cells than there is memory for"}}
