"""What is in office documents: the text of DOCX, ODT, PPTX and ODP, the tables of XLSX and ODS. Part of the file library;
`host.py` makes it the module `metnos_documents`, for code that names it.

A document is a ZIP archive of XML. Of both, only what is wanted is unpacked, piece by piece and bounded; a document that
declares entities is refused, so none can grow while it is read.
"""

import os
import re
from datetime import datetime, timedelta

from metnos_files import FILE, Refused, is_secret_content, one_name, open_below, split_file

# The largest document, how much of it is unpacked, and how many parts it may have.
MOST_FILE_BYTES = 16_000_000
MOST_UNPACKED = 64_000_000
MOST_PARTS = 5_000
PIECE = 1 << 16
# How deep elements may lie in each other.
MOST_DEPTH = 256
# The most characters of text, and the most rows, columns and cells of a table.
MOST_TEXT = 1_000_000
MOST_ROWS, MOST_COLUMNS, MOST_CELLS = 50_000, 500, 400_000
# The most sheets of a workbook that are named.
MOST_SHEETS = 100

TEXTS = frozenset(("docx", "odt", "pptx", "odp"))
TABLES = frozenset(("xlsx", "ods"))
# How the formats that were there before them begin, and those that are locked with a password.
OLD_OR_LOCKED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def opened(workspace, path):
    """The names of a file, and the file, opened for reading."""
    names = split_file(path)
    return names, open_below(workspace, names, path, last=FILE, what="be read", not_a_folder="NotFound")


class Document:
    """An open document, and what is left of the bounds of unpacking it."""

    def __init__(self, file, path):
        import zipfile
        import zlib
        self.path, self.left = path, MOST_UNPACKED
        # A place in the archive that lies before its beginning is an error of the system.
        self.broken = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, KeyError, OSError)
        status = one_name(file, path)
        if status.st_size > MOST_FILE_BYTES:
            raise Refused("TooLarge", f"{path} has {status.st_size} bytes; at most {MOST_FILE_BYTES} can be read")
        head = os.pread(file, 256, 0)
        if head.startswith(OLD_OR_LOCKED):
            raise self.fault("is of an older format, or locked with a password; save it as DOCX, XLSX, ODT or ODS without one")
        if is_secret_content(head):
            raise Refused("PermissionDenied", f"{path} holds a secret")
        try:
            self.archive = zipfile.ZipFile(os.fdopen(file, "rb", closefd=False))
            parts = self.archive.infolist()
        except self.broken as error:
            raise self.fault(f"is no office document: {error}") from None
        if len(parts) > MOST_PARTS:
            raise Refused("TooLarge", f"{path} has {len(parts)} parts; at most {MOST_PARTS} are looked at")
        self.parts = {part.filename: part for part in parts}
        self.kind = self.kind_of()

    def fault(self, what):
        return Refused("NotADocument", f"{self.path} {what}")

    def kind_of(self):
        """What it is, by what it holds and not by its name."""
        for kind, part in (("docx", "word/document.xml"), ("xlsx", "xl/workbook.xml"), ("pptx", "ppt/presentation.xml")):
            if part in self.parts:
                return kind
        if "mimetype" in self.parts and "content.xml" in self.parts:
            said = b"".join(self.pieces("mimetype"))[:200].decode("ascii", "replace").strip()
            known = {"text": "odt", "presentation": "odp", "spreadsheet": "ods"}
            # A template is read as what is made of it.
            kind = known.get(said.removeprefix("application/vnd.oasis.opendocument.").removesuffix("-template"))
            if kind:
                return kind
        raise self.fault("is an archive, but no document of a kind that I know: DOCX, XLSX, PPTX, ODT, ODS, ODP")

    def pieces(self, name):
        """A part of it, unpacked piece by piece; it may hold less than it says, or more."""
        try:
            with self.archive.open(self.parts[name]) as part:
                while piece := part.read(PIECE):
                    self.left -= len(piece)
                    if self.left < 0:
                        raise Refused("TooLarge", f"{self.path} holds more than {MOST_UNPACKED} bytes")
                    yield piece
        except self.broken as error:
            raise self.fault(f"is broken: {error}") from None

    def read(self, name, begin, end, text):
        """Parses a part as XML: calls `begin`, `end` and `text` for start tags, end tags and character data, with local names."""
        from pyexpat import ExpatError, ParserCreate
        # Whatever it says of itself: other encodings are looked for by their name, as modules of Python.
        parser = ParserCreate("utf-8", " ")
        parser.buffer_text = True
        depth = 0

        def refuse(*_):
            raise self.fault("declares a document type, which no office document does")

        def into(name, attributes):
            nonlocal depth
            depth += 1
            if depth > MOST_DEPTH:
                raise self.fault("has elements too deep in each other")
            begin(local(name), attributes)

        def out(name):
            nonlocal depth
            depth -= 1
            end(local(name))

        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
        parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = into, out, text
        try:
            for piece in self.pieces(name):
                parser.Parse(piece, False)
            parser.Parse(b"", True)
        except Enough:
            return
        except ExpatError as error:
            raise self.fault(f"is broken: {error}") from None


class Enough(Exception):
    """As much was read as is kept."""


def nothing(*_):
    """Takes no part in reading XML."""


def local(name):
    """The name of an element or attribute without its namespace."""
    return name.rpartition(" ")[2]


def value(attributes, name, default=""):
    """An attribute by its local name."""
    for known, text in attributes.items():
        if local(known) == name:
            return text
    return default


def count(attributes, name):
    """A number that says how often something is repeated."""
    text = value(attributes, name, "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1


# Texts.

#: Elements whose end ends a line, cells, and those whose text is none of the document.
LINES = frozenset(("p", "h", "tr", "table-row"))
CELLS = frozenset(("tc", "table-cell"))
HIDDEN = frozenset(("tracked-changes", "annotation", "delText", "instrText", "del"))
#: For each kind, the elements in which text is text (elsewhere it is what lies between elements), those in which an element
#: stands for a character, and these elements. Behind a paragraph's own mark, a tab is where tabs stop.
INSIDE = {"docx": ("t",), "pptx": ("t",), "odt": ("p", "h"), "odp": ("p", "h")}
RUNS = {"docx": ("r",), "pptx": ("p",), "odt": ("p", "h"), "odp": ("p", "h")}
OF_ODF = {"tab": "\t", "line-break": "\n"}
SIGNS = {
    "docx": {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}, "pptx": {"br": "\n"}, "odt": OF_ODF, "odp": OF_ODF,
}


class Text:
    """Collects the text of a document."""

    def __init__(self, kind):
        self.inside, self.runs, self.signs = INSIDE[kind], RUNS[kind], SIGNS[kind]
        self.parts, self.size, self.shown, self.running, self.hidden = [], 0, 0, 0, 0
        self.truncated = False

    def add(self, text):
        left = MOST_TEXT - self.size
        self.size += len(text)
        self.parts.append(text[:left])
        if self.size > MOST_TEXT:
            self.truncated = True
            raise Enough

    def begin(self, name, attributes):
        self.hidden += name in HIDDEN
        self.shown += name in self.inside
        self.running += name in self.runs
        if self.hidden or not self.running:
            return
        if name in self.signs:
            self.add(self.signs[name])
        elif name == "s":
            self.add(" " * min(count(attributes, "c"), 100))

    def end(self, name):
        if not self.hidden:
            if name in CELLS and self.parts and self.parts[-1] == "\n":
                self.parts[-1] = "\t"
            elif name in LINES:
                self.add("\n")
        self.hidden -= name in HIDDEN
        self.shown -= name in self.inside
        self.running -= name in self.runs

    def text(self, text):
        if self.shown and not self.hidden:
            self.add(text)

    def whole(self):
        lines = [line.rstrip() for line in "".join(self.parts).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def text_of(document):
    """The text of a document, and whether that is not all of it."""
    if document.kind == "pptx":
        found = [re.fullmatch(r"ppt/slides/slide(\d{1,5})\.xml", name) for name in document.parts]
        names = [match.group() for match in sorted(filter(None, found), key=lambda match: int(match.group(1)))]
    else:
        names = ["word/document.xml" if document.kind == "docx" else "content.xml"]
    told = Text(document.kind)
    for name in names:
        document.read(name, told.begin, told.end, told.text)
        if told.truncated:
            break
        told.parts.append("\n")
    return told.whole(), told.truncated


# Tables.

class Rows:
    """The rows of a table, as texts; as many as are kept."""

    def __init__(self):
        self.rows, self.cells = [], 0
        self.truncated = False

    def add(self, row, times=1):
        while row and row[-1] == "":
            row.pop()
        # Behind the last row with something in it, files have thousands without.
        if not row and times > 1:
            times = 1
        for _ in range(times):
            self.cells += len(row) + 1
            if len(self.rows) >= MOST_ROWS or self.cells > MOST_CELLS:
                self.truncated = True
                raise Enough
            self.rows.append(list(row))

    def whole(self):
        """The rows without empty ones around them, all of one length."""
        rows = self.rows
        while rows and not rows[-1]:
            rows.pop()
        while rows and not rows[0]:
            rows.pop(0)
        width = max((len(row) for row in rows), default=0)
        return [row + [""] * (width - len(row)) for row in rows]


def sheets(document):
    """The names of the sheets of a workbook, in order, each with what finds it."""
    return xlsx_sheets(document) if document.kind == "xlsx" else ods_sheets(document)


def sheet_of(document, wanted):
    """The names of all sheets, the name of the wanted one (without a name the first), and what finds it."""
    known = sheets(document)
    names = [name for name, _ in known]
    if not known:
        raise document.fault("has no sheet")
    if wanted is None:
        return names, *known[0]
    for fold in (str, str.casefold):
        for name, sheet in known:
            if fold(name.strip()) == fold(wanted.strip()):
                return names, name, sheet
    raise Refused("NoSheet", f"{document.path} has no sheet {wanted}; it has {', '.join(names)[:500]}")


def rows_of(document, sheet):
    """The rows of a sheet, as `sheets` gives it, and whether they are not all."""
    rows = Rows()
    if document.kind == "xlsx":
        XlsxSheet(document, rows).read(sheet)
    else:
        OdsSheets(document, rows, sheet).read()
    return rows.whole(), rows.truncated


def number(text):
    """A number as a person writes it: 12 and not 12.0, nor a last digit that only a computer sees."""
    try:
        found = float(text)
    except ValueError:
        return text
    if found != found or found in (float("inf"), float("-inf")):
        return text
    if found == int(found) and abs(found) < 1e15:
        return str(int(found))
    return f"{found:.15g}"


# Excel counts days from here, and holds 1900 for a leap year; some files count from 1904 (ECMA-376 part 1, 18.17.4).
DAYS_FROM, DAYS_FROM_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
# The numbers of formats that show a day or a time (ECMA-376 part 1, 18.8.30).
DAY_FORMATS = frozenset((*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)))
# What a format says beside that: texts in quotes, characters behind a backslash, colours and conditions.
BESIDE = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]|_.|\*.', re.IGNORECASE)


def shows_day(code):
    """Whether a format shows a day or a time."""
    return bool(re.search(r"[dymhs]", BESIDE.sub("", code), re.IGNORECASE))


def day(text, origin):
    """A day or time that is counted in days, as ISO 8601; as it stands where it is none."""
    try:
        days = float(text)
        if not -0.5 < days < 3_000_000:
            return text
        when = origin + timedelta(seconds=round(days * 86_400))
    except (ValueError, OverflowError):
        return text
    if 0 <= days < 1:
        return when.strftime("%H:%M:%S").removesuffix(":00")
    return when.strftime("%Y-%m-%d") if when.time() == datetime.min.time() else when.strftime("%Y-%m-%d %H:%M")


def xlsx_sheets(document):
    """Names of the sheets, each with the part it lies in."""
    targets, named = {}, []

    def relation(name, attributes):
        if name == "Relationship":
            target = value(attributes, "Target").lstrip("/")
            targets[value(attributes, "Id")] = target if target.startswith("xl/") else f"xl/{target}"

    def sheet(name, attributes):
        if name == "sheet" and len(named) < MOST_SHEETS:
            # `id` is both a number of its own and, in the namespace of relations, the one that is meant.
            ids = [text for known, text in attributes.items() if local(known) == "id"]
            named.append((value(attributes, "name")[:200], ids[0] if ids else ""))

    if "xl/_rels/workbook.xml.rels" in document.parts:
        document.read("xl/_rels/workbook.xml.rels", relation, nothing, nothing)
    document.read("xl/workbook.xml", sheet, nothing, nothing)
    return [(name, targets[number]) for name, number in named if targets.get(number) in document.parts]


class XlsxSheet:
    """Reads a sheet of an XLSX workbook (ECMA-376 part 1, 18.3)."""

    def __init__(self, document, rows):
        self.document, self.rows = document, rows
        self.texts, self.days, self.origin = [], set(), DAYS_FROM
        self.row, self.column, self.kind, self.style, self.parts, self.inside = [], 0, "", 0, [], False
        self.last = self.spoken = 0

    def read(self, part):
        document = self.document
        document.read("xl/workbook.xml", self.workbook, nothing, nothing)
        if "xl/styles.xml" in document.parts:
            self.styles()
        if "xl/sharedStrings.xml" in document.parts:
            document.read("xl/sharedStrings.xml", self.text_begins, self.text_ends, self.text)
        self.parts, self.inside = [], False
        document.read(part, self.begin, self.end, self.text)

    def workbook(self, name, attributes):
        if name == "workbookPr" and value(attributes, "date1904") in ("1", "true"):
            self.origin = DAYS_FROM_1904

    def styles(self):
        """Which styles show a day."""
        own, formats, inside = set(), [], False

        def begin(name, attributes):
            nonlocal inside
            if name == "numFmt" and shows_day(value(attributes, "formatCode")):
                own.add(value(attributes, "numFmtId"))
            elif name == "cellXfs":
                inside = True
            elif name == "xf" and inside:
                formats.append(value(attributes, "numFmtId"))

        def end(name):
            nonlocal inside
            inside = inside and name != "cellXfs"

        self.document.read("xl/styles.xml", begin, end, nothing)
        builtin = {str(number) for number in DAY_FORMATS}
        self.days = {at for at, number in enumerate(formats) if number in own or number in builtin}

    def text_begins(self, name, _):
        # What is spoken beside a text (`rPh`) is none of it.
        self.spoken += name == "rPh"
        self.inside = name == "t" and not self.spoken

    def text_ends(self, name):
        self.inside = False
        self.spoken -= name == "rPh"
        if name == "si":
            self.texts.append("".join(self.parts))
            self.parts = []

    def text(self, text):
        if self.inside:
            self.parts.append(text)

    def begin(self, name, attributes):
        if name == "row":
            # Rows without anything in them are left out of the file.
            at = count(attributes, "r") if value(attributes, "r") else self.last + 1
            if self.last < at - 1 and self.rows.rows:
                self.rows.add([])
            self.row, self.column, self.last = [], 0, at
        elif name == "c":
            self.column = column(value(attributes, "r"), len(self.row))
            self.kind, self.parts = value(attributes, "t", "n"), []
            style = value(attributes, "s", "0")
            self.style = int(style) if style.isascii() and style.isdigit() and len(style) < 7 else 0
        elif name in ("v", "t"):
            self.inside = True

    def end(self, name):
        if name in ("v", "t"):
            self.inside = False
        elif name == "c" and self.column < MOST_COLUMNS:
            self.row.extend([""] * (self.column - len(self.row)))
            self.row[self.column:] = [self.cell("".join(self.parts))]
        elif name == "row":
            self.rows.add(self.row)

    def cell(self, text):
        if self.kind == "s":
            return self.texts[int(text)] if text.isascii() and text.isdigit() and int(text) < len(self.texts) else ""
        if self.kind == "b":
            return "true" if text.strip() == "1" else "false"
        if self.kind in ("str", "inlineStr", "e"):
            return text
        if self.kind == "d":
            return text.replace("T", " ").removesuffix(" 00:00:00")
        return day(text, self.origin) if text and self.style in self.days else number(text) if text else ""


def column(reference, following):
    """The place of a cell in its row, by a reference such as `AB12`, from 0."""
    place = 0
    for sign in reference:
        if not "A" <= sign <= "Z":
            break
        place = place * 26 + ord(sign) - 64
    return min(place - 1, MOST_COLUMNS) if place else following


def ods_sheets(document):
    """Names of the sheets, each with its place."""
    named = []

    def begin(name, attributes):
        if name == "table" and len(named) < MOST_SHEETS:
            named.append((value(attributes, "name")[:200], len(named)))

    document.read("content.xml", begin, nothing, nothing)
    return named


class OdsSheets:
    """Reads one sheet of an ODS workbook (OpenDocument 1.3 part 3, 9.1)."""

    def __init__(self, document, rows, wanted):
        self.document, self.rows, self.wanted = document, rows, wanted
        self.sheet, self.row, self.times = -1, [], 1
        self.cell, self.kind, self.parts, self.inside, self.hidden = None, "", [], 0, 0

    def read(self):
        self.document.read("content.xml", self.begin, self.end, self.text)

    def begin(self, name, attributes):
        if name == "table":
            self.sheet += 1
        if self.sheet != self.wanted:
            return
        self.hidden += name in HIDDEN
        if name == "table-row":
            self.row, self.times = [], count(attributes, "number-rows-repeated")
        elif name in ("table-cell", "covered-table-cell"):
            self.cell, self.kind, self.parts = attributes, value(attributes, "value-type"), []
        elif name == "p":
            if self.parts:
                self.parts.append("\n")
            self.inside += 1
        elif name in ("s", "tab", "line-break") and self.inside:
            self.parts.append({"s": " ", "tab": "\t"}.get(name, "\n"))

    def end(self, name):
        if self.sheet != self.wanted:
            return
        if name == "table":
            raise Enough
        if name in ("table-cell", "covered-table-cell"):
            times = min(count(self.cell, "number-columns-repeated"), MOST_COLUMNS - len(self.row))
            self.row.extend([self.shown()] * max(0, times))
        elif name == "table-row":
            self.rows.add(self.row, self.times)
        elif name == "p":
            self.inside -= 1
        self.hidden -= name in HIDDEN

    def text(self, text):
        if self.sheet == self.wanted and self.inside and not self.hidden:
            self.parts.append(text)

    def shown(self):
        """What a cell holds: numbers and days as they are, not as they are formatted."""
        if self.kind in ("float", "currency", "percentage"):
            return number(value(self.cell, "value"))
        if self.kind == "date":
            return value(self.cell, "date-value").replace("T", " ").removesuffix(" 00:00:00")
        if self.kind == "boolean":
            return value(self.cell, "boolean-value")
        return "".join(self.parts)
