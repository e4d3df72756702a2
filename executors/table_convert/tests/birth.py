"""What table_convert promises, case by case."""

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


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    csv = {"data/a.csv": {"text": "what;amount\npane;2,5\n\"latte; due\";12\n"}}
    return [
        {
            "name": "a workbook becomes CSV beside it",
            "files": {"data/a.xlsx": xlsx(ROWS)},
            "args": {"path": "data/a.xlsx", "to": "data/a.csv"},
            "expect": {"ok": True, "values": {"/made": "data/a.csv", "/format": "csv", "/sheet": "May", "/rows": 3, "/columns": 3, "/bytes": 57}},
        },
        {
            "name": "a CSV becomes JSON, by its own separator",
            "files": csv,
            "args": {"path": "data/a.csv", "to": "data/a.json"},
            "expect": {"ok": True, "values": {"/made": "data/a.json", "/format": "json", "/rows": 3, "/columns": 2}},
        },
        {
            "name": "a list of objects becomes CSV, under a name of one's own",
            "files": {"a.json": {"text": '[{"a": 1, "b": "x"}, {"b": true, "c": null}]'}},
            "args": {"path": "a.json", "to": "b.csv"},
            "expect": {"ok": True, "values": {"/made": "b.csv", "/rows": 3, "/columns": 3, "/bytes": 18}},
        },
        {
            "name": "an empty table is one",
            "files": {"a.csv": {"text": ""}},
            "args": {"path": "a.csv", "format": "json", "to": "a.json"},
            "expect": {"ok": True, "values": {"/rows": 0, "/bytes": 3}},
        },
        refused("Exists", name="what is there is not replaced", files={**csv, "data/a.json": {"text": "[]"}}, args={"path": "data/a.csv", "to": "data/a.json"}),
        refused("OtherFolder", name="what is made lies in the same folder", files=csv, args={"path": "data/a.csv", "to": "a.json"}),
        refused("BadFormat", name="other formats are not made", files=csv, args={"path": "data/a.csv", "to": "data/a.xlsx"}),
        refused("NoSheet", name="a text has no sheets", files=csv, args={"path": "data/a.csv", "sheet": "May", "to": "data/a.json"}),
        refused("NotATable", name="bytes are no table", files={"a.csv": {"base64": "AAEC"}}, args={"path": "a.csv", "to": "b.json"}),
        refused("NotATable", name="JSON that is deeper than one can look is no table", files={"a.json": {"text": "[" * 100_000}}, args={"path": "a.json", "to": "b.csv"}),
        refused("TooLarge", name="a row of a thousand cells is too long", files={"a.csv": {"text": "," * 1_000}}, args={"path": "a.csv", "to": "b.json"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.csv": {"link": "/etc/passwd"}}, args={"path": "a.csv", "to": "b.json"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files=csv, args={"path": "data/a.csv", "to": "../a.csv"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.csv", "to": "b.json"}),
    ]
