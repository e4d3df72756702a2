"""What csv_query promises, case by case."""

SPENT = 'date,shop,amount\n2026-01-02,Bar,3.10\n2026-01-03,"Rossi, Figli",20\n2026-01-04,bar,0.2\n2026-01-05,Bar,\n'
SPESE = 'data;negozio;importo\n02/01/2026;Bar;3,10\n03/01/2026;Rossi;1.020,00\n'
YEARS = 'date,what,amount\n2025-03-02,bread,4\n2026-03-05,milk,2.50\n2026-03-09,bread,3\n2026-04-01,milk,9\nTotal,,18.5\n'
MESI = 'data;cosa;importo\n05/03/2026;pane;3,10\n09/03/2026;latte;1,00\n04/05/2026;luce;61,20\n'


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
        case("a month of a year is added up, and what has no date is counted", YEARS, good(value=5.5, matched=2, period="March 2026", no_dates=1), month="march", year=2026, aggregate=total),
        case("a month may be named in Italian, and the day stands first where commas are decimal", MESI, good(value=4.1, column="importo", period="marzo 2026"), month="marzo", aggregate=[{"op": "sum", "column": "#"}]),
        case(
            "conditions hold beside a month", YEARS, good(value=3, matched=1), month="march", year=2026, aggregate=total,
            where=[{"column": "*", "op": "contains", "value": "bread"}],
        ),
        case("a year alone chooses rows", YEARS, good(returned=3, period="2026"), year=2026),
        case("a month without rows has none", YEARS, good(matched=0, period="July", total=0), month="july"),
        case("a month of several years is not added up", YEARS, bad("Ambiguous"), month="march", aggregate=total),
        case("a column of names of months is one of dates", "when,a\n3 March 2026,1\n4 apr 2026,2\n", good(rows=[["4 apr 2026", "2"]], period="April 2026"), month="april"),
        case("days over twelve say which number is the month", "when,a\n1/3/2026,1\n3/14/2026,2\n", good(returned=1, period="March 2026"), month="march"),
        case("dates of two readings are not guessed", "when,a\n1/3/2026,1\n3/4/2026,2\n", bad("Ambiguous"), month="march"),
        case("two columns of dates are not guessed", "made,paid\n2026-01-01,2026-02-01\n", bad("Ambiguous"), month="january"),
        case("a column of dates may be named", "made,paid\n2026-01-01,2026-02-01\n", good(returned=1), month="february", dates="paid"),
        case(
            "the newest row is found by the column of dates", MESI, good(rows=[["04/05/2026", "luce", "61,20"]], returned=1), order_by="@when", descending=True, limit=1,
        ),
        case("days are ordered by their numbers and rows without a date stand last", YEARS, good(rows__0__1="bread", rows__1__1="milk", rows__2__0="2026-03-09", rows__4__0="Total"), order_by="@when"),
        case(
            "rows that are not wanted show which number is the month", "when,what\n1/9/2026,bread\n3/14/2026,milk\n2/5/2026,bread\n", good(rows=[["2/5/2026", "bread"]]),
            where=[{"column": "*", "op": "contains", "value": "bread"}], order_by="@when", descending=True, limit=1,
        ),
        case("a table without dates has no newest row", "a,b\nx,1\n", bad("NoDates"), order_by="@when", descending=True, limit=1),
        case(
            "the column that says who is found by its name", "date,Paid by,amount\n2026-01-01,Ann,3\n2026-01-02,Ben,9\n2026-01-03,Ann,5\n",
            good(columns=["Paid by", "amount"], rows=[["Ben", 9], ["Ann", 8]]), group_by=["@who"], aggregate=[{"op": "sum", "column": "#"}], order_by="#", descending=True,
        ),
        case("where no column says who, nobody is named", SPENT, bad("NoColumn"), group_by=["@who"], aggregate=total),
        case("a thing is found by one or many of it", "what,amount\nlemons,2\nlemonade,9\n", good(value=2, matched=1), where=[{"column": "*", "op": "contains", "value": "lemons"}], aggregate=[{"op": "sum", "column": "#"}]),
        case("a table without dates is none to be asked by month", "a,b\nx,1\n", bad("NoDates"), month="march"),
        case("a text of nothing has no row", "\n\n", bad("BadCsv")),
    ]
