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
        case("columns are chosen in their order", SPENT, good(columns=["amount", "date"], rows__0=["3.10", "2026-01-02"]), columns=["AMOUNT", "date"]),
        case("rows are chosen by number", SPENT, good(matched=1, rows__0__1="Rossi, Figli"), where=[{"column": "amount", "op": ">", "value": 3.5}]),
        case(
            "conditions all hold, and letters may be large or small", SPENT, good(matched=2, read=4),
            where=[{"column": "shop", "op": "=", "value": "bar"}, {"column": "amount", "op": "filled"}],
        ),
        case("rows are ordered by number, what is empty last", SPENT, good(rows__0__2="20", rows__3__2=""), order_by="amount", descending=True),
        case("numbers are added up exactly", SPENT, good(columns=["sum(amount)"], rows=[[23.3]], total=1, matched=4), aggregate=total),
        case(
            "groups are added up and ordered", SPENT, good(columns=["shop", "sum(amount)", "count"], rows=[["Rossi, Figli", 20, 1], ["Bar", 3.1, 2], ["bar", 0.2, 1]]),
            group_by=["shop"], aggregate=[*total, {"op": "count"}], order_by="sum(amount)", descending=True,
        ),
        case("semicolons and decimal commas are found out", SPESE, good(rows=[[1023.1]], separator="semicolon", decimal="comma"), aggregate=[{"op": "sum", "column": "importo"}]),
        case("a value is compared as the table writes numbers", SPESE, good(matched=1), where=[{"column": "importo", "op": ">=", "value": "1.000,5"}]),
        case("without names columns are numbered", "1,2\n3,4\n", good(columns=["1", "2"], total=2, header=False)),
        case("what is no number is said", "a\nx\n2\n", good(rows=[[2]], no_numbers=1), aggregate=[{"op": "avg", "column": "a"}]),
        case("nothing to add up is null", "a\nx\n", good(rows=[[None]]), aggregate=[{"op": "max", "column": "a"}]),
        case("rows of another length are filled up, cut and counted", "a,b\n1\n1,2,3\n", good(rows=[["1", ""], ["1", "2"]], failed=2)),
        case("a quote inside quotes, and a line in a cell", 'a;b\n"say ""hi""";"two\nlines"\n', good(rows=[['say "hi"', "two\nlines"]])),
        case("a quote that is never closed is a plain sign", 'a,b\n"x,y\n', good(rows=[['"x', "y"]])),
        case("a mark of byte order is no part of a name", "\ufeffa,b\r\n1,2\r\n", good(columns=["a", "b"], rows=[["1", "2"]])),
        case("a limit hides rows and says so", SPENT, good(total=4, returned=2, truncated=True), limit=2),
        case("a formula in a cell is text", "a\n=cmd|'/c calc'!A1\n", good(rows=[["=cmd|'/c calc'!A1"]]), separator=","),
        case("a column that is not there is named", SPENT, bad("NoColumn"), columns=["none"]),
        case("a comparison with nothing is none", SPENT, bad("BadQuery"), where=[{"column": "shop", "op": "="}]),
        case("a text of nothing has no row", "\n\n", bad("BadCsv")),
        case("a NUL is no CSV", "a\0b", bad("BadCsv")),
        case("more columns than anybody has are too much", "," * 2000, bad("TooMuch")),
        case("many quotes take no time", 'a\n' + '"' * 50_001 + "\n", good(read=1)),
    ]
