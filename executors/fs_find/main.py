"""Finds files and folders of the workspace by name, kind, size and time, and says honestly what is missing from the list.

It walks down folder by folder, follows no link and opens no file. A pattern is matched in one pass over the name,
so that none can take longer than the name and itself are long.
"""

import os
import stat
import time

from metnos_files import Refused, answer, open_below, split
from metnos_walk import Walk

DEFAULT_LIMIT = 100
# How much is looked at in one call, and how deep; how many seconds of a processor, and how many letters a list has.
MOST_SEEN = 100_000
MOST_DEPTH = 64
MOST_CPU = 6
MOST_TEXT = 400_000
DAY = 86_400
UNITS = {"S": 1, "M": 60, "H": 3600}


class Glob:
    """A pattern of names: `*` any run, `?` any one character, `[abc]` `[!a-z]` one of these. All states at once, as bits."""

    def __init__(self, pattern, case):
        fold = (lambda text: text) if case else str.casefold
        self.fold = fold
        pattern = fold(pattern)
        #: With a slash it is about the whole path below the folder, and then `*` stays within one name and `**` does not.
        self.whole = "/" in pattern
        if not any(sign in pattern for sign in "*?["):
            # A plain word is looked for anywhere in the name.
            pattern = f"**{pattern}**" if self.whole else f"*{pattern}*"
        self.steps = self.read(pattern)
        #: Where a run may begin, and where it is not bound to one name.
        self.runs = sum(1 << at for at, (kind, _) in enumerate(self.steps) if kind == "run")
        self.wide = sum(1 << at for at, (kind, what) in enumerate(self.steps) if kind == "run" and what)
        self.known = {}

    def read(self, pattern):
        steps, at = [], 0
        while at < len(pattern):
            sign = pattern[at]
            at += 1
            if sign == "*":
                wide = not self.whole
                while at < len(pattern) and pattern[at] == "*":
                    wide, at = True, at + 1
                if steps and steps[-1][0] == "run":
                    wide = wide or steps.pop()[1]
                steps.append(("run", wide))
            elif sign == "?":
                steps.append(("any", None))
            elif sign == "[":
                end = pattern.find("]", at + 2 if pattern[at:at + 1] in ("!", "^") else at + 1)
                if end < 0:
                    raise Refused("BadPattern", "the pattern opens [ and does not close it; write [[] for the character itself")
                steps.append(("set", pattern[at:end]))
                at = end + 1
            else:
                steps.append(("one", sign))
        return steps

    @staticmethod
    def in_set(text, sign):
        inverse = text[0] in "!^"
        text = text[1:] if inverse else text
        at = 0
        while at < len(text):
            if at + 2 < len(text) and text[at + 1] == "-":
                if text[at] <= sign <= text[at + 2]:
                    return not inverse
                at += 3
            else:
                if text[at] == sign:
                    return not inverse
                at += 1
        return inverse

    def takes(self, sign):
        """The steps that take this character, as bits."""
        found = self.known.get(sign)
        if found is None:
            found = 0
            for at, (kind, what) in enumerate(self.steps):
                if kind == "one" and what == sign or sign != "/" and (kind == "any" or kind == "set" and self.in_set(what, sign)):
                    found |= 1 << at
            self.known[sign] = found
        return found

    def fits(self, path):
        text = self.fold(path if self.whole else path.rsplit("/", 1)[-1])
        end = 1 << len(self.steps)
        now = 1
        now |= (now & self.runs) << 1
        for sign in text:
            stay = now & (self.wide if sign == "/" else self.runs)
            now = (now & self.takes(sign)) << 1 | stay
            # Two runs never stand side by side, so one step past each is enough.
            now |= (now & self.runs) << 1
            if not now:
                return False
        return bool(now & end)


def length(text):
    """`P7D`, `PT2H30M`, `P2W` in seconds."""
    date, _, clock = text[1:].partition("T")
    seconds, number = 0, ""
    for part, units in ((date, {"W": 7 * DAY, "D": DAY}), (clock, UNITS)):
        for sign in part:
            if sign.isdigit():
                number += sign
            else:
                seconds += int(number or 0) * units[sign]
                number = ""
    return seconds


def ahead(offset):
    """`+01:00` in seconds."""
    seconds = int(offset[1:3]) * 3600 + int(offset[4:]) * 60
    return -seconds if offset[0] == "-" else seconds


def begin_of(day, offset):
    """The first second of a day, on a clock that is so far ahead of UTC."""
    year, month, number = int(day[:4]), int(day[5:7]), int(day[8:])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= number <= (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]:
        raise Refused("BadTime", f"{day} is no day of the calendar")
    years = year - (month <= 2)
    era, of_era = divmod(years, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + number - 1
    return (era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468) * DAY - ahead(offset)


def stamp(seconds):
    """A moment as people and programs read it."""
    try:
        now = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00Z"
    if not 1 <= now.tm_year <= 9999:
        return "1970-01-01T00:00:00Z"
    return f"{now.tm_year:04}-{now.tm_mon:02}-{now.tm_mday:02}T{now.tm_hour:02}:{now.tm_min:02}:{now.tm_sec:02}Z"


def kind_of(mode):
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


class Search:
    """One walk, and what it has found."""

    def __init__(self, args):
        self.glob = Glob(args["name"], args.get("case", False)) if "name" in args else None
        self.kind = args.get("kind", "any")
        self.least, self.most = args.get("min_size"), args.get("max_size")
        offset = args.get("offset", "+00:00")
        self.after = begin_of(args["changed_after"], offset) if "changed_after" in args else None
        self.before = begin_of(args["changed_before"], offset) if "changed_before" in args else None
        if "changed_within" in args:
            within = time.time() - length(args["changed_within"])
            self.after = within if self.after is None else max(self.after, within)
        self.found = []

    def wants(self, path, status, kind):
        if self.kind not in ("any", kind):
            return False
        if self.least is not None or self.most is not None:
            # Only files have a size that says something.
            if kind != "file" or status.st_size < (self.least or 0) or self.most is not None and status.st_size > self.most:
                return False
        if self.after is not None and status.st_mtime < self.after or self.before is not None and status.st_mtime >= self.before:
            return False
        return self.glob is None or self.glob.fits(path)

    def note(self, path, status):
        kind = kind_of(status.st_mode)
        if self.wants(path, status, kind):
            self.found.append((path, kind, status.st_size if kind == "file" else 0, int(status.st_mtime)))


# Equal ones by path, so that two calls give one order.
ORDERS = {
    "path": lambda one: one[0],
    "name": lambda one: (one[0].rsplit("/", 1)[-1].casefold(), one[0]),
    "largest": lambda one: (-one[2], one[0]),
    "longest": lambda one: (-one[2], one[0]),
    "smallest": lambda one: (one[2], one[0]),
    "shortest": lambda one: (one[2], one[0]),
    "newest": lambda one: (-one[3], one[0]),
    "oldest": lambda one: (one[3], one[0]),
}


def as_many_as_fit(found):
    """The first of them, as far as their paths fit into one result."""
    left = MOST_TEXT
    for number, (path, *_) in enumerate(found):
        left -= len(path)
        if left < 0:
            return found[:number]
    return found


def act(args, ctx):
    path = args.get("path", ".")
    names = split(path, top=True, example="notes")
    search = Search(args)
    folder = open_below(ctx.workspace, names, path)
    try:
        limits = {"depth": args.get("depth"), "deepest": MOST_DEPTH, "most": MOST_SEEN, "cpu": MOST_CPU}
        walk = Walk(folder, names, ctx, hidden=args.get("hidden", False), **limits)
    finally:
        os.close(folder)
    for at, _, _, status in walk.entries():
        search.note(at, status)
    found = sorted(search.found, key=ORDERS[args.get("sort", "path")])
    shown = as_many_as_fit(found[:args.get("limit", DEFAULT_LIMIT)])
    return {
        "ok": True,
        "path": "/".join(names) or ".",
        "entries": [{"path": path, "kind": kind, "size": size, "modified": stamp(at)} for path, kind, size, at in shown],
        "total": len(found),
        "returned": len(shown),
        "truncated": len(shown) < len(found),
        **walk.said(),
    }


def run(args, ctx):
    return answer(act, args, ctx)
