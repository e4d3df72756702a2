"""What json_query promises, case by case."""

BOOKS = '{"a b": 1, "books": [{"t": "X", "p": 5}, {"t": "Y", "p": 15, "tags": ["n"]}, {"t": "Z", "p": "?"}], "n": {"p": null}}'


def case(name, text, query, expect, **more):
    return {"name": name, "files": {}, "args": {"text": text, "query": query, **more}, "expect": expect}


def good(**values):
    return {"ok": True, "values": {"/" + key.replace("__", "/"): value for key, value in values.items()}}


def bad(error_class):
    return {"ok": False, "class": error_class}


def cases():
    return [
        case("a pointer finds one value", BOOKS, "/books/1/t", good(matches=[{"at": "/books/1/t", "kind": "string", "value": "Y"}], total=1, text="Y\n")),
        case("the empty pointer is the whole document", "[1, 2]", "", good(matches__0__value=[1, 2], text="[1, 2]\n")),
        case("signs in a pointer are written ~0 and ~1", '{"a/b": {"~": 7}}', "/a~1b/~0", good(matches__0__value=7)),
        case("what is not there is found nowhere, and that is no error", BOOKS, "/books/9", good(matches=[], total=0, truncated=False)),
        case("a path goes by names and numbers, also from the end", BOOKS, "$.books[-1].t", good(matches__0__at="/books/2/t", matches__0__value="Z")),
        case("a path may leave out its $", BOOKS, "books[0].t", good(matches__0__value="X")),
        case("a name in quotes", BOOKS, "$['a b']", good(matches__0__value=1)),
        case("all items and a range", BOOKS, "$.books[*].t", good(total=3, text="X\nY\nZ\n")),
        case("a range counts from both ends", "[0, 1, 2, 3, 4]", "$[1:-1:2]", good(text="1\n3\n")),
        case("a name at every depth, in the order of the document", BOOKS, "$..p", good(total=4, text="5\n15\n?\nnull\n")),
        case("items for which something holds", BOOKS, "$.books[?@.p < 10].t", good(text="X\n", total=1)),
        case("conditions are joined", BOOKS, "$.books[?@.p > 10 && @.t == 'Y' || @.p == '?'].t", good(text="Y\nZ\n")),
        case("items that have something, and that have it not", BOOKS, "$.books[?!@.tags].t", good(text="X\nZ\n")),
        case("a number is no truth", "[1, true, 0, false]", "$[?@ == 1]", good(total=1, matches__0__at="/0")),
        case("a limit hides values and says so", "[1, 2, 3]", "$[*]", good(total=3, returned=2, truncated=True), limit=2),
        case("a name that stands twice is counted", '{"a": 1, "a": 2}', "/a", good(matches__0__value=2, repeated_names=1)),
        case("half a document is none", '{"a": ', "/a", bad("BadJson")),
        case("what is no number of JSON is none here", "[NaN]", "/0", bad("BadJson")),
        case("a number beyond all others is refused", "[1e999]", "/0", bad("BadJson")),
        case("half a character is refused", '["\\ud800"]', "/0", bad("BadJson")),
        case("a number of ten thousand digits is refused", "[" + "1" * 10_000 + "]", "/0", bad("BadJson")),
        case("a place far beyond the end is nowhere", "[1]", "$[99999999999999]", good(total=0)),
        case("a document nested beyond reason is too deep", "[" * 100_000, "/0", bad("TooDeep")),
        case("a value that is deep is told as its text", "[" * 40 + "]" * 40, "$", good(matches__0__value="[" * 40 + "]" * 40)),
        case("code in a query is no query", BOOKS, "$[?__import__('os').system('id')]", bad("BadQuery")),
        case("a quotation without an end is no query", BOOKS, "$['a", bad("BadQuery")),
        case("a tilde that stands for nothing is no pointer", BOOKS, "/a~2", bad("BadQuery")),
        case("a step of nothing is no range", "[1]", "$[::0]", bad("BadQuery")),
        case("depths of depths are too much", "[" * 300 + "]" * 300, "$" + "..*" * 6, bad("TooMuch")),
    ]
