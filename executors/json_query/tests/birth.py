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
        case("a path goes by names and numbers, also from the end", BOOKS, "$.books[-1].t", good(matches__0__at="/books/2/t", matches__0__value="Z")),
        case("a name at every depth, in the order of the document", BOOKS, "$..p", good(total=4, text="5\n15\n?\nnull\n")),
        case("a name alone is looked for at every depth", BOOKS, "tags", good(total=1, text='["n"]\n')),
        case("items for which something holds", BOOKS, "$.books[?@.p < 10].t", good(text="X\n", total=1)),
        case("a limit hides values and says so", "[1, 2, 3]", "$[*]", good(total=3, returned=2, truncated=True), limit=2),
        case("half a document is none", '{"a": ', "/a", bad("BadJson")),
        case("a document nested beyond reason is too deep", "[" * 100_000, "/0", bad("TooDeep")),
        case("code in a query is no query", BOOKS, "$[?__import__('os').system('id')]", bad("BadQuery")),
        case("depths of depths are too much", "[" * 300 + "]" * 300, "$" + "..*" * 6, bad("TooMuch")),
    ]
