"""Finds values in a JSON text by a JSON Pointer or by a path. It touches nothing, and runs nothing that stands in a query.

A query that begins with `/`, or is empty, is a JSON Pointer (RFC 6901). Any other is a path, in words of RFC 9535; `$` may be left out:
  $.name  $['name']  $["a b"]    a value of an object
  $[0]  $[-1]  $[1:3]  $[::2]    items of a list, also from its end, also a range
  $.*  $[*]                      all values
  $..name  $..*                  at every depth
  $[?@.price < 10]               items for which it holds: == != < <= > >=, with a number, a text in quotes, true, false, null
  $[?@.tags]                     items that have it
  [?@.a == 1 && @.b != 'x']      both; with || either, && binding first
"""

import json
import re

DEFAULT_LIMIT = 100
# How much one call looks at and tells.
MOST_VISITS = 1_000_000
MOST_FOUND = 100_000
MOST_TEXT = 1_000_000
MOST_STEPS = 64
MOST_DIGITS = 300
# What a result may be deep; a value that is deeper is told as its text.
MOST_DEPTH = 24

NAME = re.compile(r"[^\W\d][\w-]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})(?:\.[0-9]{1,15})?(?:[eE][+-]?[0-9]{1,3})?")
WHOLE = re.compile(r"-?[0-9]{1,15}")
SPACE = re.compile(r"\s*")
COMPARISON = re.compile(r"==|!=|<=|>=|<|>")
WORDS = {"true": True, "false": False, "null": None}


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


class Reader:
    """Reads a path into steps: (everywhere, selectors)."""

    def __init__(self, text):
        self.text = text
        self.at = 0

    def bad(self, what):
        raise Refused("BadQuery", f"at character {self.at + 1} of the query {what}")

    def sees(self, text):
        """Whether this comes next; then it is passed."""
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def space(self):
        self.at = SPACE.match(self.text, self.at).end()

    def take(self, pattern):
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        return found.group()

    def path(self, stops=""):
        """The steps up to the end, or to one of `stops`."""
        steps = []
        while self.at < len(self.text) and self.text[self.at] not in stops:
            if len(steps) == MOST_STEPS:
                self.bad(f"there are more than {MOST_STEPS} steps")
            everywhere = self.sees("..")
            if not everywhere:
                self.sees(".")
            if self.sees("["):
                steps.append((everywhere, self.bracket()))
            elif self.sees("*"):
                steps.append((everywhere, [("all",)]))
            else:
                name = self.take(NAME)
                if name is None:
                    self.bad("a name, [ or * should stand; names with other signs are written ['a b']")
                steps.append((everywhere, [("name", name)]))
        return steps

    def bracket(self):
        """What stands in brackets: selectors with commas."""
        selectors = []
        while True:
            self.space()
            selectors.append(self.selector())
            self.space()
            if self.sees("]"):
                return selectors
            if not self.sees(",") or len(selectors) == MOST_STEPS:
                self.bad("] should stand")

    def selector(self):
        if self.sees("*"):
            return ("all",)
        if self.sees("?"):
            return ("where", self.condition())
        if self.text[self.at:self.at + 1] in ("'", '"'):
            return ("name", self.quoted())
        parts = [self.take(WHOLE)]
        while len(parts) < 3 and self.sees(":"):
            parts.append(self.take(WHOLE))
        if len(parts) == 1:
            if parts[0] is None:
                self.bad("a name in quotes, a number, * or ? should stand")
            return ("at", int(parts[0]))
        first, last, step = ([None if part is None else int(part) for part in parts] + [None])[:3]
        if step == 0:
            self.bad("the step of a range is 0")
        return ("range", slice(first, last, step))

    def quoted(self):
        mark = self.text[self.at]
        self.at += 1
        out = []
        while True:
            if self.at >= len(self.text):
                self.bad("the quotation does not end")
            sign = self.text[self.at]
            self.at += 1
            if sign == mark:
                return "".join(out)
            if sign == "\\":
                sign = self.text[self.at:self.at + 1]
                self.at += 1
                if sign not in ("\\", "'", '"', "/"):
                    self.bad("after a backslash a quotation mark or a backslash should stand")
            out.append(sign)

    def condition(self):
        """Alternatives, each of terms that must all hold."""
        either = [[]]
        while True:
            self.space()
            either[-1].append(self.term())
            self.space()
            if self.sees("||"):
                either.append([])
            elif not self.sees("&&"):
                return either
            if sum(map(len, either)) >= MOST_STEPS:
                self.bad("there are too many conditions")

    def term(self):
        denied = self.sees("!")
        if not self.sees("@"):
            self.bad("a condition begins with @, the item itself")
        steps = self.path(" \t\r\n]=!<>&|,)")
        if any(one[0] or any(selector[0] not in ("name", "at") for selector in one[1]) for one in steps):
            self.bad("a condition looks at one value: names and numbers only")
        self.space()
        sign = self.take(COMPARISON)
        if sign is None:
            return (steps, "!" if denied else "", None)
        if denied:
            self.bad("! stands before a value that is asked for, not before a comparison")
        self.space()
        return (steps, sign, self.literal())

    def literal(self):
        if self.text[self.at:self.at + 1] in ("'", '"'):
            return self.quoted()
        number = self.take(NUMBER)
        if number is not None:
            return float(number) if any(sign in number for sign in ".eE") else int(number)
        for word, value in WORDS.items():
            if self.sees(word):
                return value
        self.bad("a number, a text in quotes, true, false or null should stand")


def pointer_steps(text):
    """A JSON Pointer as names."""
    names = []
    for token in text.split("/")[1:]:
        if re.search(r"~(?![01])", token):
            raise Refused("BadQuery", "in a JSON Pointer ~ stands only in ~0 (for ~) and ~1 (for /)")
        names.append(token.replace("~1", "/").replace("~0", "~"))
    return names


def follow(value, name):
    """The part of a value that one name of a pointer leads to, in a list of at most one."""
    if isinstance(value, dict):
        return [value[name]] if name in value else []
    if isinstance(value, list) and name.isascii() and name.isdigit() and (name == "0" or name[0] != "0") and len(name) < 10:
        at = int(name)
        return [value[at]] if at < len(value) else []
    return []


def same_kind(one, other):
    """Whether two values can be told larger and smaller."""
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    return numbers or isinstance(one, str) and isinstance(other, str)


def equal(one, other):
    return one == other and isinstance(one, bool) == isinstance(other, bool)


class Query:
    """One query over one document; nodes are pairs of a place, as names, and a value."""

    def __init__(self):
        self.visits = 0

    def visit(self):
        self.visits += 1
        if self.visits > MOST_VISITS:
            raise Refused("TooMuch", f"the query looks at more than {MOST_VISITS} values; make it narrower")

    def children(self, value):
        if isinstance(value, dict):
            return value.items()
        return enumerate(value) if isinstance(value, list) else ()

    def everywhere(self, node):
        """A node and all below it, in the order in which they stand."""
        waiting = [node]
        while waiting:
            place, value = waiting.pop()
            self.visit()
            yield place, value
            below = [((place, name), child) for name, child in self.children(value)]
            waiting.extend(reversed(below))

    def select(self, node, selector):
        place, value = node
        kind = selector[0]
        if kind == "name":
            if isinstance(value, dict) and selector[1] in value:
                yield (place, selector[1]), value[selector[1]]
        elif kind == "at":
            if isinstance(value, list) and -len(value) <= selector[1] < len(value):
                yield (place, selector[1] % len(value)), value[selector[1]]
        elif kind == "range":
            if isinstance(value, list):
                for at in range(*selector[1].indices(len(value))):
                    yield (place, at), value[at]
        else:
            for name, child in self.children(value):
                self.visit()
                if kind == "all" or any(all(self.holds(child, term) for term in terms) for terms in selector[1]):
                    yield (place, name), child

    def holds(self, value, term):
        steps, sign, wanted = term
        for _, selectors in steps:
            node = next(self.select(((), value), selectors[0]), None) if len(selectors) == 1 else None
            if node is None:
                return sign == "!"
            value = node[1]
        if sign in ("", "!"):
            return sign == ""
        if sign in ("==", "!="):
            return equal(value, wanted) == (sign == "==")
        if not same_kind(value, wanted):
            return False
        return {"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[sign]

    def run(self, document, steps):
        nodes = [((), document)]
        for everywhere, selectors in steps:
            found = []
            for node in nodes:
                for start in self.everywhere(node) if everywhere else (node,):
                    for selector in selectors:
                        for one in self.select(start, selector):
                            self.visit()
                            found.append(one)
                            if len(found) > MOST_FOUND:
                                raise Refused("TooMuch", f"the query finds more than {MOST_FOUND} values; make it narrower")
            nodes = found
        return nodes


def pointer_of(place):
    """Where a node stands, as a JSON Pointer."""
    names = []
    while place:
        place, name = place
        names.append("/" + str(name).replace("~", "~0").replace("/", "~1"))
    return "".join(reversed(names))


def kind_of(value):
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "number"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def depth_of(value):
    deepest, waiting = 0, [(value, 1)]
    while waiting:
        value, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(value, dict):
            waiting.extend((child, depth + 1) for child in value.values())
        elif isinstance(value, list):
            waiting.extend((child, depth + 1) for child in value)
    return deepest


def written(value):
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def read(text):
    """The document, and how many names stood in it more than once."""
    twice = 0

    def pairs(items):
        nonlocal twice
        found = dict(items)
        twice += len(items) - len(found)
        return found

    def no_number(name):
        raise ValueError(f"{name} is no number of JSON")

    def number(text):
        value = float(text)
        if value in (float("inf"), float("-inf")):
            raise ValueError(f"{text[:40]} is larger than any number here")
        return value

    def whole(text):
        if len(text) > MOST_DIGITS:
            raise ValueError(f"{text[:40]}… has more than {MOST_DIGITS} digits")
        return int(text)

    try:
        document = json.loads(text, object_pairs_hook=pairs, parse_constant=no_number, parse_float=number, parse_int=whole)
        written(document).encode("utf-8")
    except RecursionError:
        raise Refused("TooDeep", "the document is nested too deeply") from None
    except UnicodeEncodeError:
        raise Refused("BadJson", "the document holds half a character (a lone surrogate)") from None
    except json.JSONDecodeError as error:
        raise Refused("BadJson", f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except ValueError as error:
        raise Refused("BadJson", str(error)[:200]) from None
    return document, twice


def act(args):
    document, twice = read(args["text"])
    text = args["query"]
    if text == "" or text.startswith("/"):
        values, names = [document], pointer_steps(text)
        for name in names:
            values = [found for value in values for found in follow(value, name)]
        found = [(text, value) for value in values]
    else:
        # A name alone is looked for at every depth.
        reader = Reader(f"$..['{text}']" if re.fullmatch(r"\w[\w-]*", text) else text)
        reader.sees("$")
        nodes = Query().run(document, reader.path())
        found = [(pointer_of(place), value) for place, value in nodes[:1000]]
        found += [("", value) for _, value in nodes[1000:]]
    return told(found, args.get("limit", DEFAULT_LIMIT), twice)


def told(found, limit, twice):
    matches, lines, size = [], [], 0
    for place, value in found[:limit]:
        line = written(value)
        size += len(place) + 2 * len(line)
        if size > MOST_TEXT:
            break
        as_text = isinstance(value, (dict, list)) and depth_of(value) > MOST_DEPTH
        matches.append({"at": place, "kind": kind_of(value), "value": line if as_text else value})
        lines.append(value if isinstance(value, str) else line)
    if not matches and found:
        raise Refused("TooMuch", "the first value alone is too large to be told; ask for a part of it")
    return {
        "ok": True,
        "text": "".join(line + "\n" for line in lines),
        "matches": matches,
        "total": len(found),
        "returned": len(matches),
        "truncated": len(matches) < len(found),
        "failed": 0,
        "repeated_names": twice,
    }


def run(args, ctx):
    try:
        return act(args)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
    except RecursionError:
        return {"ok": False, "error": {"class": "TooDeep", "message": "the query is nested too deeply"}}
    except MemoryError:
        return {"ok": False, "error": {"class": "TooMuch", "message": "the document holds more values than there is memory for"}}
