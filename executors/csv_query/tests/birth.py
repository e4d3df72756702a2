"""What csv_query promises, case by case."""

SPENT = 'date,shop,amount\n2026-01-02,Bar,3.10\n2026-01-03,"Rossi, Figli",20\n2026-01-04,bar,0.2\n2026-01-05,Bar,\n'
SPESE = 'data;negozio;importo\n02/01/2026;Bar;3,10\n03/01/2026;Rossi;1.020,00\n'


def case(name, text, expect, **more):
    return {"name": name, "files": {}, "args": {"text": text, **more}, "expect": expect}


def good(**values):
    return {"ok": True, "values": {"/" + key.replace("__", "/"): value for key, value in values.items()}}


def bad(error_class):
    return {"ok": False, "class": error_class}


def cases():
    total = [{"op": "sum", "column": "amount"}]
    return [
        case(
            "a table is read with its names, and quotes hold separators together", SPENT,
            good(columns=["date", "shop", "amount"], rows__1=["2026-01-03", "Rossi, Figli", "20"], total=4, returned=4, truncated=False, failed=0, read=4, separator="comma", header=True),
        ),
        case("rows are chosen by number", SPENT, good(matched=1, rows__0__1="Rossi, Figli"), where=[{"column": "amount", "op": ">", "value": 3.5}]),
        case(
            "groups are added up and ordered", SPENT, good(columns=["shop", "sum(amount)", "count"], rows=[["Rossi, Figli", 20, 1], ["Bar", 3.1, 2], ["bar", 0.2, 1]]),
            group_by=["shop"], aggregate=[*total, {"op": "count"}], order_by="sum(amount)", descending=True,
        ),
        case("semicolons and decimal commas are found out", SPESE, good(rows=[[1023.1]], separator="semicolon", decimal="comma"), aggregate=[{"op": "sum", "column": "importo"}]),
        case("rows of another length are filled up, cut and counted", "a,b\n1\n1,2,3\n", good(rows=[["1", ""], ["1", "2"]], failed=2)),
        case("a limit hides rows and says so", SPENT, good(total=4, returned=2, truncated=True), limit=2),
        case("a column that is not there is named", SPENT, bad("NoColumn"), columns=["none"]),
        case("a column is found in any case, and by one or many", SPENT, good(op="sum", column="amount", value=23.3), aggregate=[{"op": "sum", "column": "Amounts"}]),
        case("the only column of numbers needs no name", SPENT, good(rows__0__2="20", returned=1), order_by="#", descending=True, limit=1),
        case("a column of texts is none of numbers", "a,b\nx,1\n", good(value=1), aggregate=[{"op": "sum", "column": "#"}]),
        case("where two columns are of numbers one must be named", "a,b\n1,2\n", bad("NoColumn"), aggregate=[{"op": "sum", "column": "#"}], header="yes"),
        case(
            "what is added up over all rows is told as one value", SPENT, good(op="max", column="amount", value=3.1, matched=3),
            where=[{"column": "*", "op": "contains", "value": "bar"}], aggregate=[{"op": "max", "column": "#"}],
        ),
        case("what has no numbers is told without a value", SPENT, good(rows=[[None]], matched=0), where=[{"column": "shop", "op": "=", "value": "x"}], aggregate=[{"op": "max", "column": "#"}]),
        case("a text of nothing has no row", "\n\n", bad("BadCsv")),
    ]
