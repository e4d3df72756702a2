"""What pdf_text promises, case by case. Where `pdftotext` is not there, what needs it is not tried."""

import base64
import zlib

PROGRAM = "/usr/bin/pdftotext"
READER = "/usr/bin/tesseract"
# "Invoice number 42", and below it "The total is 135 euro", black on white: 272 by 73 pixels of one bit, as in a PNG.
WRITING = (
    "eNrt1E1um0AUB3CsqcSudJmFFQ6RTSIhOEKv0CM06sZIxEOUhXd1l12ZK/QEaawsvAtHqCOkzhLILDIjv/D6xsbmw1a9TauwgBH6ifd/DA8Ljx7WP0qg"
    "uafr668dqfhBAmN2jKho0CPYJ8WVPkaeuGrI1SJ9ngO4j7ia5vmPQk/A/Y6/OTQkYkLEoJwYlZ2n8aeQKedbj1wKMYzK/JSrLE+/vh9dysUEH9qFIi1S"
    "P8rQD7TM0+T0XGdiSkR3yIPvCQw2JDgHIRKc8bJFXuQD90TFA71qyC3P9olVkwtYsgR9Ljpk1iN2gh5P20SvCcctEZig5SaHidhkWRO3QwI/oo62RBtS"
    "jYM2ASISXUOmREL5TCTiXRJD4cQUd+kQYYVtiNUhfE57dMf1qvhIcW+gR/7XUXstpBnWfDN3SY8oyzOrn/hSkxtghXOIJGZQ14TBoEcwhYaY1RmWEv9O"
    "JOp9cl+5yO6LoZtXkVuTZQWrU3dHrpVTDeLixMmrkVOTuwiehvaOhCV90MNwtcirLzmRsghw5kGhsh0ZyQwTP0RBxGQxTbselOtMGwJS4mwcoqyJ/TzB"
    "gIhsEWHIBbK8ujTkEYUhUpYNWTL6WVwoIqPAxCViDYnoPimpUORsidcl9J8gIonwKREwhWCfjEOZEUmJqC1pd0TEv1oTURcKIJJli1DyxIvkff2UEheY"
    "3I6kbl4dKIbXFnygjj47GJ+zJZ19S6pmAwBsnF9XJ2dEXIw9u3BxGbyT4LwN7Bt5reQPx3jBTw=="
)


def pdf(*pages):
    """A PDF with lines of text on each page, as a file of a case."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        lines = b" T* ".join(b"(%s) Tj" % line.encode("latin-1") for line in text.split("\n"))
        small = len(text) > 1_000
        stream = zlib.compress(b"BT /F1 %d Tf %d TL 10 830 Td %s ET" % (1 if small else 12, 1 if small else 14, lines))
        objects.append(b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        resources = b"<< /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources %s >>" % (len(objects), resources))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(kids), len(kids))
    return file_of(objects)


def scan(pages):
    """A PDF of pages that are one picture each, as a scanner makes it."""
    picture, paint = base64.b64decode(WRITING), b"q %d 0 0 %d 40 600 cm /I Do Q"
    shape = b"/Width 272 /Height 73 /ColorSpace /DeviceGray /BitsPerComponent 1"
    packed = b"/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors 1 /BitsPerComponent 1 /Columns 272 >>"
    image = b"<< /Type /XObject /Subtype /Image %s %s /Length %d >>\nstream\n%s\nendstream" % (shape, packed, len(picture), picture)
    paint %= (2 * 272 // 3, 2 * 73 // 3)
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /I 3 0 R >> >> >>"
    kids = b" ".join(b"%d 0 R" % (5 + number) for number in range(pages))
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, pages), image]
    objects += [b"<< /Length %d >>\nstream\n%s\nendstream" % (len(paint), paint), *[page] * pages]
    return file_of(objects)


def file_of(objects):
    """The objects of a PDF as a file of a case."""
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, at = len(objects) + 1, len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, table, size, at)
    return {"base64": base64.b64encode(out).decode("ascii")}


SCANNED = "Invoice number 42\nThe total is 135 euro\n"


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    two = {"documents/a.pdf": pdf("Invoice 2026/42", "Second page")}
    return [
        {
            "name": "the text of all pages is read",
            "needs": PROGRAM,
            "files": two,
            "args": {"path": "documents/a.pdf"},
            "expect": {"ok": True, "values": {"/content": "Invoice 2026/42\n\nSecond page\n", "/pages": 2, "/truncated": False}},
        },
        {
            "name": "one page is read when it is named",
            "needs": PROGRAM,
            "files": two,
            "args": {"path": "documents/a.pdf", "page": 2},
            "expect": {"ok": True, "values": {"/content": "Second page\n", "/pages": 1}},
        },
        {
            "name": "a page without text is read, and has none",
            "needs": PROGRAM,
            "files": {"a.pdf": pdf("")},
            "args": {"path": "a.pdf"},
            "expect": {"ok": True, "values": {"/content": "", "/pages": 1}},
        },
        {
            "name": "a long one is cut, and that is said",
            "needs": PROGRAM,
            "files": {"a.pdf": pdf(*["\n".join(["word " * 150] * 800)] * 12)},
            "args": {"path": "a.pdf"},
            "expect": {"ok": True, "values": {"/truncated": True}},
        },
        {
            "name": "pages of a scan are read off their pictures",
            "needs": READER,
            "files": {"scan.pdf": scan(2)},
            "args": {"path": "scan.pdf"},
            "expect": {"ok": True, "values": {"/content": SCANNED + "\n" + SCANNED, "/pages": 2, "/scanned": True, "/left": 0}},
        },
        {
            "name": "one page of a scan is read when it is named",
            "needs": READER,
            "files": {"scan.pdf": scan(3)},
            "args": {"path": "scan.pdf", "page": 3},
            "expect": {"ok": True, "values": {"/content": SCANNED, "/pages": 1, "/scanned": True}},
        },
        refused("NoSuchPage", name="a page that it does not have is not read", needs=PROGRAM, files=two, args={"path": "documents/a.pdf", "page": 9}),
        refused("NoSuchPage", name="pages are counted upwards", files=two, args={"path": "documents/a.pdf", "page": 2, "to_page": 1}),
        refused("NotAPdf", name="what is no PDF is not handed to the program", files={"a.pdf": {"text": "hello"}}, args={"path": "a.pdf"}),
        refused("NotAPdf", name="a broken one is refused", needs=PROGRAM, files={"a.pdf": {"text": "%PDF-1.4\n1 0 obj\n<< /Length 9999999999 >>"}}, args={"path": "a.pdf"}),
        refused("NotAFile", name="a folder is no PDF", files={"a.pdf": {"folder": True}}, args={"path": "a.pdf"}),
        refused("NotAFile", name="a pipe is not waited for", files={"a.pdf": {"fifo": True}}, args={"path": "a.pdf"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.pdf": {"link": "/etc/passwd"}}, args={"path": "a.pdf"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files={}, args={"path": "../a.pdf"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.pdf"}),
    ]
