"""What text_search promises, case by case. sandboxd makes the files in a workspace of the case's own."""

FILES = {
    "notes/a.md": {"text": "Milk and bread\nnothing\nmore milk\r\n"},
    "notes/sub/b.txt": {"text": "milkshake\n"},
    "notes/bytes": {"base64": "AAAAbWlsaw=="},
    "notes/.secret": {"text": "milk\n"},
    "notes/link.md": {"link": "a.md"},
    "notes/pipe": {"fifo": True},
}


def cases():
    return [
        {
            "name": "a PDF is no text, whatever it is made of",
            "files": {"a.pdf": {"text": "%PDF-1.4\n<< /Pages 2 >>\n"}, "a.md": {"text": "pages\n"}},
            "args": {"pattern": "pages"},
            "expect": {"ok": True, "values": {"/total": 1, "/searched": 1, "/skipped": 1}},
        },
        {
            "name": "words are found whatever their case, in files below the folder",
            "files": FILES,
            "args": {"pattern": "milk", "path": "notes"},
            "expect": {
                "ok": True,
                "values": {
                    "/matches/0": {"path": "notes/a.md", "line": 1, "column": 1, "text": "Milk and bread"},
                    "/matches/1": {"path": "notes/a.md", "line": 3, "column": 6, "text": "more milk"},
                    "/matches/2/path": "notes/sub/b.txt",
                    "/files/0": {"path": "notes/a.md", "count": 2},
                    "/total": 3,
                    "/returned": 3,
                    "/truncated": False,
                    "/found_in": 2,
                    "/searched": 2,
                    "/skipped": 1,
                    "/failed": 0,
                    "/complete": True,
                },
            },
        },
        {
            "name": "lines around a match are told",
            "files": FILES,
            "args": {"pattern": "nothing", "path": "notes/a.md", "context": 1},
            "expect": {
                "ok": True,
                "values": {"/matches/0/before": ["Milk and bread"], "/matches/0/after": ["more milk\r"]},
            },
        },
        {
            "name": "a limit hides lines and says so",
            "files": FILES,
            "args": {"pattern": "milk", "limit": 2},
            "expect": {"ok": True, "values": {"/returned": 2, "/total": 3, "/truncated": True}},
        },
        {
            "name": "a regular expression is one only when it is said to be",
            "files": FILES,
            "args": {"pattern": "^m.re", "regex": True},
            "expect": {"ok": True, "values": {"/total": 1}},
        },
        {
            "name": "words are found each by itself, in any order and any plain form",
            "files": {"n.md": {"text": "The dentists, on Monday\nmonday only\nLe fatture della città\n"}},
            "args": {"pattern": "the monday dentist", "words": True},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/line": 1, "/matches/0/column": 5}},
        },
        {
            "name": "a word in a file's name counts for each of its lines, and one stands in the line",
            "files": {"notes/pancakes.md": {"text": "250 g flour\n2 eggs\n"}, "notes/bread.md": {"text": "500 g flour\n"}},
            "args": {"pattern": "flour pancakes", "words": True},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/text": "250 g flour", "/matches/0/path": "notes/pancakes.md"}},
        },
        {
            "name": "words are found in Italian, with and without an accent",
            "files": {"n.md": {"text": "The dentists, on Monday\nLe fatture della città\nla fattoria\n"}},
            "args": {"pattern": "la fattura della citta", "words": True},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/line": 2}},
        },
        {
            "name": "words and a regular expression at once are a bad pattern",
            "files": {},
            "args": {"pattern": "a", "words": True, "regex": True},
            "expect": {"ok": False, "class": "BadPattern"},
        },
        {
            "name": "the best passage is the line with its heading, and what stands nowhere lowers how much it covers",
            "files": {
                "cakes.md": {"text": "# Apple cake\nflour 200 g\nsugar 120 g\neggs 3\n\n# Bread\nflour 500 g\n"},
                "shopping.md": {"text": "- sugar\n- apples\n"},
            },
            "args": {"pattern": "sugar apple cake oven", "best": True},
            "expect": {
                "ok": True,
                "values": {
                    "/matches/0": {"path": "cakes.md", "line": 3, "column": 1, "text": "Apple cake: sugar 120 g", "covered": 75, "named": True},
                    "/total": 1,
                    "/truncated": False,
                },
            },
        },
        {
            "name": "below a title that says it all stand the first lines",
            "files": {"party.md": {"text": "Party on Saturday\nAnna and Luca come.\nBring a cake.\n"}},
            "args": {"pattern": "party saturday", "best": True},
            "expect": {
                "ok": True,
                "values": {"/matches/0/text": "Party on Saturday: Anna and Luca come. / Bring a cake.", "/matches/0/covered": 100, "/matches/0/named": False},
            },
        },
        {
            "name": "a bare word of a list and a row of a table are about nothing, and Metnos's own files are left out",
            "files": {
                "SOUL.md": {"text": "Milk is good.\n"},
                "notes/welcome.md": {"text": "Milk: welcome\n"},
                "list.md": {"text": "- milk\n"},
                "spent.csv": {"text": "what,much\nmilk,3\n"},
            },
            "args": {"pattern": "milk price", "best": True, "limit": 10},
            "expect": {
                "ok": True,
                "values": {"/total": 2, "/matches/0/named": False, "/matches/1/named": False, "/matches/0/covered": 50},
            },
        },
        {
            "name": "lines that have none of the words are about nothing, whatever their file is called",
            "files": {"shopping.md": {"text": "bread\nlemons, two\n"}},
            "args": {"pattern": "christmas shopping", "best": True},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/covered": 50, "/matches/0/named": False}},
        },
        {
            "name": "forms of one word are one, and a few letters in common are not enough",
            "files": {"a.md": {"text": "Insurance: until March\nInternet: fibre\n"}},
            "args": {"pattern": "insured interest", "best": True, "limit": 9},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/line": 1, "/matches/0/covered": 50}},
        },
        {
            "name": "a long text without lines is one passage",
            "files": {"a.md": {"text": "word " * 200_000 + "milk\n"}},
            "args": {"pattern": "milk", "best": True},
            "expect": {"ok": True, "values": {"/total": 1, "/matches/0/covered": 100}},
        },
        {
            "name": "two ways to read a pattern are a bad one",
            "files": {},
            "args": {"pattern": "a", "best": True, "words": True},
            "expect": {"ok": False, "class": "BadPattern"},
        },
        {
            "name": "a pattern without a word is a bad one where words are looked for",
            "files": {},
            "args": {"pattern": "...", "words": True},
            "expect": {"ok": False, "class": "BadPattern"},
        },
        {
            "name": "a regular expression that is none is a bad pattern",
            "files": {},
            "args": {"pattern": "(", "regex": True},
            "expect": {"ok": False, "class": "BadPattern"},
        },
        {
            "name": "a pipe is not waited for",
            "files": FILES,
            "args": {"pattern": "milk", "path": "notes/pipe"},
            "expect": {"ok": False, "class": "NotText"},
        },
        {
            "name": "a link to a system file is not followed",
            "files": {"link": {"link": "/etc/passwd"}},
            "args": {"pattern": "root", "path": "link"},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "a path that climbs out of the workspace is denied",
            "files": {},
            "args": {"pattern": "x", "path": "../.."},
            "expect": {"ok": False, "class": "PermissionDenied"},
        },
        {
            "name": "names of secrets are left out and counted, also among hidden ones",
            "files": {".env": {"text": "x"}, "id_rsa": {"text": "x"}, "a.md": {"text": "x"}},
            "args": {"pattern": "x", "hidden": True},
            "expect": {"ok": True, "values": {"/total": 1, "/omitted": 2}},
        },
        {
            "name": "neither the executors nor what is hidden is searched unless it is asked for",
            "files": {"executors/main.py": {"text": "milk"}, ".env": {"text": "milk"}, ".trash-1-a": {"text": "milk"}, "a.md": {"text": "milk"}},
            "args": {"pattern": "milk"},
            "expect": {"ok": True, "values": {"/total": 1, "/searched": 1, "/matches/0/path": "a.md"}},
        },
        {
            "name": "the executors are searched when their folder is named",
            "files": {"executors/main.py": {"text": "milk"}},
            "args": {"pattern": "milk", "path": "executors"},
            "expect": {"ok": True, "values": {"/total": 1}},
        },
    ]
