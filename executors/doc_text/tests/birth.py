"""What doc_text promises, case by case."""

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


def docx(body, head=""):
    name = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    return zipped({"word/document.xml": f'{head}<w:document xmlns:w="{name}"><w:body>{body}</w:body></w:document>'})


def odt(body):
    names = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    text = f"<office:document-content {names}><office:body><office:text>{body}</office:text></office:body></office:document-content>"
    return zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": text})


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    entities = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    return [
        {
            "name": "paragraphs, tabs and line ends of a DOCX are read, and no text that was deleted",
            "files": {"a.docx": docx(
                "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>perché</w:t><w:tab/><w:t>no</w:t><w:br/><w:t>b</w:t></w:r></w:p>"
                "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p><w:p><w:r><w:t>c</w:t></w:r></w:p>")},
            "args": {"path": "a.docx"},
            "expect": {"ok": True, "values": {"/kind": "docx", "/content": "perché\tno\nb\n\nc\n", "/truncated": False}},
        },
        {
            "name": "headings and spaces of an ODT are read",
            "files": {"a.odt": odt('<text:h>Title</text:h><text:p>a<text:s text:c="3"/>b<text:line-break/><text:span>c</text:span></text:p>')},
            "args": {"path": "a.odt"},
            "expect": {"ok": True, "values": {"/kind": "odt", "/content": "Title\na   b\nc\n"}},
        },
        {
            "name": "an empty document has no text",
            "files": {"a.docx": docx("")},
            "args": {"path": "a.docx"},
            "expect": {"ok": True, "values": {"/content": ""}},
        },
        {
            "name": "a long one is cut, and that is said",
            "files": {"a.docx": docx("<w:p><w:r><w:t>" + "x" * 1_200_000 + "</w:t></w:r></w:p>")},
            "args": {"path": "a.docx"},
            "expect": {"ok": True, "values": {"/truncated": True}},
        },
        refused("TooLarge", name="what unpacks to more than a document has is not unpacked",
                files={"a.docx": zipped({"word/document.xml": " " * 70_000_000})}, args={"path": "a.docx"}),
        refused("NotADocument", name="entities are refused", files={"a.docx": docx("<w:p>&b;</w:p>", entities)}, args={"path": "a.docx"}),
        refused("NotADocument", name="broken XML is refused", files={"a.docx": zipped({"word/document.xml": "<w:document><w:p>"})}, args={"path": "a.docx"}),
        refused("NotADocument", name="an archive without a document is none", files={"a.docx": zipped({"a.txt": "x"})}, args={"path": "a.docx"}),
        refused("NotADocument", name="what is no archive is no document", files={"a.docx": {"text": "hello"}}, args={"path": "a.docx"}),
        refused("NotADocument", name="one of a format from before is said to be that", files={"a.docx": {"base64": "0M8R4KGxGuE="}}, args={"path": "a.docx"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.docx": {"link": "/etc/passwd"}}, args={"path": "a.docx"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.docx"}),
    ]
