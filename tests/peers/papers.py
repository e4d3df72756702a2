"""Makes documents as a household has them, with the libraries that others use to write them: `papers.py FOLDER`."""

import datetime
import io
import struct
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import docx
import openpyxl
from odf.opendocument import OpenDocumentSpreadsheet, OpenDocumentText
from odf.table import Table, TableCell, TableRow
from odf.text import H, P


def pdf(*pages, turned=0):
    """A PDF with the lines of a text on each page, which is shown turned by so many degrees."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        lines = b" T* ".join(b"(%s) Tj" % line.encode("latin-1") for line in text.split("\n"))
        stream = b"BT /F1 12 Tf 20 TL 72 700 Td %s ET" % lines
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        resources = b"<< /Font << /F1 3 0 R >> >>"
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d /Contents %d 0 R /Resources %s >>"
        objects.append(page % (turned, len(objects), resources))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return file_of(objects)


def file_of(objects):
    """The objects of a PDF as a file."""
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, at = len(objects) + 1, len(out)
    return out + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        size, table, size, at)


def photographed(place, *lines, turned=0):
    """Writing as a picture."""
    painter = ["pdftoppm", "-singlefile", "-r", "150", {".jpg": "-jpeg", ".png": "-png"}[place.suffix], "-", str(place.with_suffix(""))]
    subprocess.run(painter, input=pdf("\n".join(lines), turned=turned), check=True)


def scan(place, picture):
    """A PDF of two pages that are one picture each, as a scanner makes it: a JPEG stands in it as it is."""
    image = picture.read_bytes()
    at = image.index(b"\xff\xc0")
    height, width = struct.unpack(">HH", image[at + 5:at + 9])
    shape = b"/Width %d /Height %d /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode" % (width, height)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /I 3 0 R >> >> >>"
    paint = b"q 595 0 0 842 0 0 cm /I Do Q"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [5 0 R 6 0 R] /Count 2 >>",
        b"<< /Type /XObject /Subtype /Image %s /Length %d >>\nstream\n%s\nendstream" % (shape, len(image), image),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(paint), paint), page, page,
    ]
    place.write_bytes(file_of(objects))


def letter(place):
    document = docx.Document()
    document.add_heading("Insurance", 0)
    document.add_paragraph("The deductible is ").add_run("500 euros").bold = True
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Policy", "A-17"
    document.save(place)


def guarantee(place):
    document = OpenDocumentText()
    document.text.addElement(H(outlinelevel=1, text="Garanzia"))
    document.text.addElement(P(text="La lavatrice è coperta fino al 2029."))
    document.save(place)


def budget(place):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "May"
    for row in (["date", "what", "amount"], [datetime.date(2026, 5, 2), "bread", 2.5], [datetime.date(2026, 5, 9), "school trip", 120]):
        sheet.append(row)
    book.create_sheet("June")["A1"] = "nothing yet"
    book.save(place)


def accounts(place):
    book = OpenDocumentSpreadsheet()
    table = Table(name="Conti")
    for what, amount in (("voce", "importo"), ("pane", "2.50"), ("gas", "81.40")):
        row = TableRow()
        for kind, text in (("string", what), ("string" if amount == "importo" else "float", amount)):
            cell = TableCell(valuetype=kind, **({"value": text} if kind == "float" else {}))
            cell.addElement(P(text=text.replace(".", ",")))
            row.addElement(cell)
        row.addElement(TableCell(numbercolumnsrepeated=1000))
        table.addElement(row)
    rest = TableRow(numberrowsrepeated=1_000_000)
    rest.addElement(TableCell(numbercolumnsrepeated=1024))
    table.addElement(rest)
    book.spreadsheet.addElement(table)
    book.save(place)


def archives(folder):
    with zipfile.ZipFile(folder / "pictures.zip", "w") as archive:
        archive.writestr("sea/a.md", "a")
        archive.writestr("sea/b.md", "b")
    with zipfile.ZipFile(folder / "climbs.zip", "w") as archive:
        archive.writestr("good.md", "good")
        archive.writestr("../../climbed.md", "bad")
    with tarfile.open(folder / "links.tar.gz", "w:gz") as archive:
        link = tarfile.TarInfo("passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with tarfile.open(folder / "files.tar", "w") as archive:
        for name in ("a.md", "b/c.md"):
            one = tarfile.TarInfo(name)
            one.size = 4
            archive.addfile(one, io.BytesIO(b"text"))
    with tarfile.open(folder / "large.tgz", "w:gz") as archive:
        large = tarfile.TarInfo("zeros")
        large.size = 200_000_000
        archive.addfile(large, io.BytesIO(bytes(large.size)))


def exif():
    """What a camera writes: its name, which side is up, the time and the place."""
    texts = b"Camera\0\0" + b"2026:08:14 18:30:05\0" + struct.pack("<6I", 45, 1, 30, 1, 0, 1) + struct.pack("<6I", 9, 1, 15, 1, 0, 1)
    begin = 8 + 2 + 12 * 4 + 4 + 2 + 12 + 4 + 2 + 12 * 4 + 4
    main = struct.pack("<H", 4) + struct.pack("<HHII", 0x110, 2, 7, begin) + struct.pack("<HHIHH", 0x112, 3, 1, 6, 0)
    main += struct.pack("<HHII", 0x8769, 4, 1, 62) + struct.pack("<HHII", 0x8825, 4, 1, 80) + bytes(4)
    taken = struct.pack("<H", 1) + struct.pack("<HHII", 0x9003, 2, 20, begin + 8) + bytes(4)
    place = struct.pack("<H", 4) + struct.pack("<HHI4s", 1, 2, 2, b"N") + struct.pack("<HHII", 2, 5, 3, begin + 28)
    place += struct.pack("<HHI4s", 3, 2, 2, b"E") + struct.pack("<HHII", 4, 5, 3, begin + 52) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + main + taken + place + texts


def pictures(folder):
    """The beginnings of pictures, as far as their sizes: nobody looks at more of them."""
    written = exif()
    jpeg = b"\xff\xd8\xff\xe1" + struct.pack(">H", len(written) + 8) + b"Exif\0\0" + written
    (folder / "sea.jpg").write_bytes(jpeg + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, 480, 640, 3) + bytes(20))
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(9)
    (folder / "sea.png").write_bytes(png + struct.pack(">I4s", len(written), b"eXIf") + written)
    webp = b"RIFF" + bytes(4) + b"WEBPVP8X" + struct.pack("<II", 10, 0) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
    (folder / "sea.webp").write_bytes(webp + b"EXIF" + struct.pack("<I", len(written)) + written)
    sizes = struct.pack("<H", 2) + b"".join(struct.pack("<HHIHH", tag, 3, 1, side, 0) for tag, side in ((0x100, 640), (0x101, 480)))
    (folder / "sea.tif").write_bytes(b"II*\0" + struct.pack("<I", 8) + sizes + bytes(4))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "electricity-bill.pdf").write_bytes(pdf("Invoice 2026/0042: 84,30 euros", "To be paid by 15 December"))
    (folder / "bolletta-gas.pdf").write_bytes(pdf("Fattura 77: 61,20 euro"))
    (folder / "blank.pdf").write_bytes(pdf(""))
    shop = ("Calzature Rossi di Maria Rossi", "Scontrino numero 118 del 14 agosto", "Scarpe da bambino  39,90 euro",
            "Lacci neri  3,50 euro", "Totale da pagare  43,40 euro", "Grazie per la visita e arrivederci a presto")
    photographed(folder / "scontrino.jpg", *shop)
    photographed(folder / "receipt-on-its-side.png", *shop, turned=90)
    scan(folder / "lease.pdf", folder / "scontrino.jpg")
    letter(folder / "insurance.docx")
    guarantee(folder / "garanzia.odt")
    budget(folder / "budget.xlsx")
    accounts(folder / "conti.ods")
    (folder / "rows.csv").write_text("what;amount\npane;2,5\n", "utf-8")
    (folder / "rows.json").write_text('[{"what": "pane", "amount": 2.5}, {"what": "latte", "more": [1]}]', "utf-8")
    pictures(folder)
    archives(folder)


main(Path(sys.argv[1]))
