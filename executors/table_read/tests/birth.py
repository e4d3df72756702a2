"""What table_read promises, case by case."""

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


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def xlsx(rows, more=""):
    """A workbook with a sheet of these cells, and an empty one; styles 0 and 1 are a number and a day."""
    return zipped({
        "xl/workbook.xml": f'{more}<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="May" sheetId="1" r:id="r1"/>'
                           '<sheet name="June" sheetId="2" r:id="r2"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/>'
                                      '<Relationship Id="r2" Target="/xl/worksheets/sheet2.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si><t>what</t></si><si><r><t>ca</t></r><r><t>ffè, “due”</t></r></si></sst>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{MAIN}"><sheetData/></worksheet>',
    })


ROWS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>on</t></is></c><c r="C1" t="str"><v>amount</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>46082</v></c><c r="C2"><v>2.50</v></c></row>'
    '<row r="3"><c r="C3" t="b"><v>1</v></c></row>'
)


def ods(rows):
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text", "table"))
    text = f'<office:document-content {names}><table:table table:name="Maggio">{rows}</table:table></office:document-content>'
    return zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": text})


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    files = {"data/a.xlsx": xlsx(ROWS)}
    cell = '<table:table-cell office:value-type="{0}" office:{0}="{1}"><text:p>shown</text:p></table:table-cell>'
    return [
        {
            "name": "texts, days, numbers and answers of an XLSX become CSV",
            "files": files,
            "args": {"path": "data/a.xlsx"},
            "expect": {"ok": True, "values": {
                "/content": "what,on,amount\n\"caffè, “due”\",2026-03-01,2.5\n,,true\n", "/sheet": "May", "/rows": 3, "/columns": 3, "/truncated": False}},
        },
        {
            "name": "a sheet is found by its name, in large or small letters, and may be empty",
            "files": files,
            "args": {"path": "data/a.xlsx", "sheet": "june"},
            "expect": {"ok": True, "values": {"/content": "", "/sheet": "June", "/rows": 0, "/columns": 0}},
        },
        {
            "name": "the values of an ODS are read, and the thousand empty cells behind them are not",
            "files": {"a.ods": ods(
                '<table:table-row><table:table-cell office:value-type="string"><text:p>pane</text:p></table:table-cell>'
                '<table:table-cell office:value-type="float" office:value="2.50"><text:p>2,50 €</text:p></table:table-cell>'
                '<table:table-cell office:value-type="date" office:date-value="2026-03-01"><text:p>1/3</text:p></table:table-cell>'
                '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
                '<table:table-row table:number-rows-repeated="1048576"><table:table-cell/></table:table-row>')},
            "args": {"path": "a.ods"},
            "expect": {"ok": True, "values": {"/content": "pane,2.5,2026-03-01\n", "/rows": 1, "/columns": 3}},
        },
        {
            "name": "rows without end are cut, and that is said",
            "files": {"a.ods": ods('<table:table-row table:number-rows-repeated="999999999"><table:table-cell table:number-columns-repeated="999999999"'
                                   ' office:value-type="string"><text:p>x</text:p></table:table-cell></table:table-row>')},
            "args": {"path": "a.ods"},
            "expect": {"ok": True, "values": {"/truncated": True}},
        },
        refused("NoSheet", name="a sheet that is not there is not read", files=files, args={"path": "data/a.xlsx", "sheet": "July"}),
        refused("NotADocument", name="entities are refused", files={"a.xlsx": xlsx(ROWS, "<!DOCTYPE x>")}, args={"path": "a.xlsx"}),
        refused("NotADocument", name="what is no workbook is refused", files={"a.xlsx": {"text": "a,b"}}, args={"path": "a.xlsx"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.xlsx": {"link": "/etc/passwd"}}, args={"path": "a.xlsx"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.xlsx"}),
    ]
