"""What doc_find promises, case by case. Where `pdftotext` is not there, what needs it is not tried."""

import base64
import io
import zipfile


def zipped(parts):
    """A ZIP archive of these parts, as a file of a case."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return {"base64": base64.b64encode(made.getvalue()).decode("ascii")}


def docx(text):
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return zipped({"word/document.xml": f'<w:document xmlns:w="{name}"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:document>'})


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    files = {"documents/washing-machine.docx": docx("The warranty is three years."), "documents/b.docx": docx("rent"), "notes/c.md": {"text": "no guarantee\nwarranties"}}
    return [
        {
            "name": "a document is found by words in it and in its name, in any form",
            "files": files,
            "args": {"words": "washing machine warranties"},
            "expect": {"ok": True, "values": {"/total": 1, "/searched": 3, "/documents/0/path": "documents/washing-machine.docx",
                                                "/documents/0/text": "The warranty is three years.", "/complete": True, "/failed": 0}},
        },
        {
            "name": "texts are documents, too, and a limit keeps the rest back",
            "files": files,
            "args": {"words": "warranty", "limit": 1},
            "expect": {"ok": True, "values": {"/total": 2, "/truncated": True}},
        },
        {
            "name": "one folder is searched when it is named",
            "files": files,
            "args": {"words": "warranty", "path": "notes"},
            "expect": {"ok": True, "values": {"/total": 1, "/searched": 1, "/documents/0/text": "warranties"}},
        },
        {
            "name": "what cannot be read is counted, and the others are searched",
            "files": {**files, "documents/broken.docx": {"text": "x"}, "documents/l.docx": {"link": "/etc/passwd"}},
            "args": {"words": "rent"},
            "expect": {"ok": True, "values": {"/total": 1, "/failed": 1}},
        },
        {
            "name": "a broken PDF is counted, too",
            "needs": "/usr/bin/pdftotext",
            "files": {**files, "a.pdf": {"text": "%PDF-1.4\n"}},
            "args": {"words": "rent"},
            "expect": {"ok": True, "values": {"/total": 1, "/failed": 1, "/locked": 0}},
        },
        {"name": "an empty workspace holds nothing", "files": {}, "args": {"words": "rent"}, "expect": {"ok": True, "values": {"/total": 0, "/searched": 0}}},
        refused("BadPattern", name="signs alone are no words", files=files, args={"words": "!!!"}),
        refused("NotADocument", name="a picture is no document", files={"a.png": {"text": "x"}}, args={"words": "x", "path": "a.png"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files={}, args={"words": "x", "path": "../a"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"words": "x", "path": "a"}),
    ]
