"""What the executors that find, count and search files share, part of the file library (`files.py`): patterns of names, kinds
by ending, words in any form, the passages that share most words with a text, and times of change. `host.py` makes it the
module `metnos_find`. It opens no file.
"""

import math
import re
import stat
import time

from metnos_files import Refused

DAY = 86_400
UNITS = {"S": 1, "M": 60, "H": 3600}
# What the ending of a name says a file is. A person calls some files by more than one of these.
TEXTS = "md markdown txt text org rst adoc"
TYPES = {
    "text": TEXTS,
    "document": f"pdf doc docx odt rtf pages ppt pptx odp key epub tex {TEXTS}",
    "table": "csv tsv xls xlsx ods numbers",
    "image": "jpg jpeg png gif webp heic heif tif tiff bmp svg avif raw cr2 nef arw dng",
    "audio": "mp3 m4a flac ogg oga opus wav aac wma aif aiff mid midi",
    "video": "mp4 m4v mkv mov avi webm mpg mpeg wmv 3gp ts",
    "archive": "zip tar gz tgz bz2 xz 7z rar zst",
}
ENDINGS = {name: frozenset(endings.split()) for name, endings in TYPES.items()}


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
    return days_from(year, month, number) * DAY - ahead(offset)


def kind_of(mode):
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def days_from(year, month, day):
    """Days between 1970-01-01 and a day of the calendar."""
    years = year - (month <= 2)
    era, of_era = divmod(years, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def period(name, offset, now):
    """When a period of the calendar begins and ends, in seconds, on a clock that is so far ahead of UTC; weeks begin on Monday."""
    shift = ahead(offset)
    here = time.gmtime(now + shift)
    today = days_from(here.tm_year, here.tm_mon, here.tm_mday)
    monday = today - here.tm_wday
    month = days_from(here.tm_year, here.tm_mon, 1)
    before = days_from(here.tm_year - (here.tm_mon == 1), (here.tm_mon - 2) % 12 + 1, 1)
    after = days_from(here.tm_year + (here.tm_mon == 12), here.tm_mon % 12 + 1, 1)
    begin, end = {
        "today": (today, today + 1),
        "yesterday": (today - 1, today),
        "this_week": (monday, monday + 7),
        "last_week": (monday - 7, monday),
        "this_month": (month, after),
        "last_month": (before, month),
        "this_year": (days_from(here.tm_year, 1, 1), days_from(here.tm_year + 1, 1, 1)),
        "last_year": (days_from(here.tm_year - 1, 1, 1), days_from(here.tm_year, 1, 1)),
    }[name]
    return begin * DAY - shift, end * DAY - shift


def is_type(name, wanted):
    """Whether the ending of a name says that it is of this type."""
    stem, dot, ending = name.rpartition(".")
    return bool(stem and dot) and ending.casefold() in ENDINGS[wanted]


class Wanted:
    """What is looked for: what the arguments say of name, kind, type, size and time of change."""

    def __init__(self, args):
        self.glob = Glob(args["name"], args.get("case", False)) if "name" in args else None
        self.kind = args.get("kind", "any")
        self.type = args.get("type", "any")
        self.least, self.most = args.get("min_size"), args.get("max_size")
        self.after = self.before = None
        self.between(args, args.get("offset", "+00:00"))

    def between(self, args, offset):
        """The narrowest of the times that the arguments name."""
        spans = []
        if "changed_after" in args:
            spans.append((begin_of(args["changed_after"], offset), None))
        if "changed_before" in args:
            spans.append((None, begin_of(args["changed_before"], offset)))
        if "changed_on" in args:
            day = begin_of(args["changed_on"], offset)
            spans.append((day, day + DAY))
        if "changed_within" in args:
            spans.append((time.time() - length(args["changed_within"]), None))
        if "changed" in args:
            spans.append(period(args["changed"], offset, time.time()))
        self.after = max((after for after, _ in spans if after is not None), default=None)
        self.before = min((before for _, before in spans if before is not None), default=None)

    def is_all(self):
        """Whether nothing is left out."""
        return (self.glob, self.kind, self.type, self.least, self.most, self.after, self.before) == (None, "any", "any", *[None] * 4)

    def fits(self, path, status, kind):
        """Whether what lies at `path` is wanted."""
        if self.kind not in ("any", kind):
            return False
        if self.type != "any" and (kind != "file" or not is_type(path.rsplit("/", 1)[-1], self.type)):
            return False
        if self.least is not None or self.most is not None:
            # Only files have a size that says something.
            if kind != "file" or status.st_size < (self.least or 0) or self.most is not None and status.st_size > self.most:
                return False
        if self.after is not None and status.st_mtime < self.after or self.before is not None and status.st_mtime >= self.before:
            return False
        return self.glob is None or self.glob.fits(path)


# Words in any of their plain forms.

WORD = re.compile(r"[^\W_]+")
PLAIN = str.maketrans("àáâäèéêëìíîïòóôöùúûüñç", "aaaaeeeeiiiioooouuuunc")
# What says nothing of what is looked for, in English and Italian.
EMPTY = frozenset(
    "a an the of for to in on at by with and or my our your his her their is are "
    "il lo la i gli le l un uno una di del dello della dei degli delle dell a al allo alla ai agli alle all da dal dalla "
    "in nel nella nei nelle nell su sul sulla sui sulle per con e o mio mia miei mie nostro nostra è".split()
)


# What may stand before the word that a line is about.
BEFORE = frozenset("next last new old first prossimo prossima ultimo ultima nuovo nuova vecchio vecchia primo prima".split())


def stem(word):
    """What the plain forms of a word share: one and many, in English and Italian, with and without an accent."""
    word = word.casefold().translate(PLAIN)
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    while len(word) > 3 and word[-1] in "aeioy":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith(("ch", "gh")) else word


class Found:
    """Where a line begins to fit."""

    def __init__(self, at):
        self.at = at

    def start(self):
        return self.at


class Words:
    """Looks for each word of a text by itself: all must stand in the line or in the file's name, in any order and any plain form.

    A line of `pancakes.md` is about pancakes; at least one word must stand in the line itself.
    """

    def __init__(self, text):
        words = [found.group() for found in WORD.finditer(text)]
        self.stems = {stem(word) for word in words if word.casefold() not in EMPTY} or {stem(word) for word in words}
        if not self.stems:
            raise Refused("BadPattern", "the pattern holds no word; name at least one")
        self.wanted = self.stems

    def of_file(self, path):
        """Takes the words in a file's name as said by each of its lines."""
        name = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        self.wanted = self.stems - {stem(found.group()) for found in WORD.finditer(name)} or self.stems

    def search(self, line):
        first, left = None, set(self.wanted)
        for found in WORD.finditer(line):
            one = stem(found.group())
            if one in self.wanted:
                first = found.start() if first is None else first
                left.discard(one)
                if not left:
                    return Found(first)
        return None

    def lines_of(self, text, path):
        """The lines of a text that hold the words, those with the most of them first; nothing when one of them stands neither
        in the text nor in the file's name."""
        name = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        left = self.stems - {stem(found.group()) for found in WORD.finditer(name)}
        found = []
        for at, line in enumerate(text.split("\n")):
            here = {stem(word.group()) for word in WORD.finditer(line)} & self.stems
            if here:
                left -= here
                found.append((-len(here), at, line))
        return None if left else [line for _, _, line in sorted(found)]


def alike(one, other):
    """Whether two stems are forms of one word ("insured", "insurance"): the longer has few letters more than both begin with."""
    shared = 0
    for a, b in zip(one, other):
        if a != b:
            break
        shared += 1
    short, long = sorted((len(one), len(other)))
    return shared >= 5 and shared * 10 >= short * 7 and long - short <= 3


def is_title(line):
    """Whether a line says what the lines below it are about: a heading, or a few words that say nothing by themselves."""
    line = line.strip()
    if line.startswith("#"):
        return True
    words = WORD.findall(line)
    says = line.startswith(("-", "*", "+", ">", "|")) or any(sign in line[:-1] for sign in ":.;=|,")
    return 0 < len(words) <= 6 and not says and line[-1] not in ".;,|?!" and not any(sign.isdigit() for sign in line)


class Passage:
    """Some lines of a file that share words with what is looked for."""

    def __init__(self, place, text, own, around):
        self.path, self.line = place
        self.text = text
        #: The words that stand in the lines themselves, and those in the headings and the file's name.
        self.own, self.around = own, around
        #: Whether the passage is about one of them.
        self.named = False


class Passages:
    """Finds the passages of texts that share the most words with a text. Not all of its words need to stand there.

    A passage is a line with the heading above it, or the first lines below a heading. Words weigh as in BM25: the fewer blocks
    of lines hold a word, the more it says (Robertson and Zaragoza 2009, the part for the rarity of words).
    """

    #: Lines of one block and of one passage, letters of a line of it, and passages that are held.
    BLOCK, LINES, SHOWN, HELD = 40, 4, 400, 2_000
    #: A word in more than this part of at least so many blocks counts half.
    COMMON, MANY = 0.2, 20

    def __init__(self, text):
        self.stems = Words(text).stems
        self.known = {}
        self.blocks = 0
        self.holding = dict.fromkeys(self.stems, 0)
        self.kept = []

    def hits(self, text):
        """The words that stand in a text, in any form."""
        found = set()
        for word in WORD.findall(text):
            one = self.known.get(word)
            if one is None and word not in self.known:
                if len(self.known) > 50_000:
                    self.known.clear()
                this = stem(word)
                one = this if this in self.stems else next((wanted for wanted in self.stems if alike(this, wanted)), None)
                self.known[word] = one
            if one is not None:
                found.add(one)
        return found

    def read(self, path, lines):
        """Takes the passages of a file."""
        named = self.hits(path.rsplit("/", 1)[-1].rsplit(".", 1)[0])
        heading, block, begin, fresh = "", [], 0, True
        for at, line in enumerate([*lines, ""]):
            is_heading = line.startswith("#")
            if block and (is_heading or not line.strip() or len(block) == self.BLOCK):
                self.block((path, begin), block, heading, named, fresh)
                block, fresh = [], False
            if is_heading:
                heading, fresh = line, True
            elif line.strip():
                if not block:
                    begin = at
                block.append(line)

    def block(self, place, lines, heading, named, fresh):
        path, begin = place
        self.blocks += 1
        if len(lines) > 1 and is_title(lines[0]):
            heading, lines, begin, fresh = lines[0], lines[1:], begin + 1, True
        above = self.hits(heading)
        around = named | above
        hits = [self.hits(line) for line in lines]
        own = set().union(*hits)
        for word in own | above:
            self.holding[word] += 1
        if not own and not (fresh and around):
            return
        # The lines that hold most of what no heading says; below a heading that says it all, the first ones.
        beyond = [one - around for one in hits]
        beyond = beyond if any(beyond) else hits
        most = max(map(len, beyond))
        at = [number for number, one in enumerate(beyond) if most and len(one) == most] or list(range(len(lines)))
        at = at[:self.LINES]
        text = " / ".join(lines[number].strip().lstrip("-*+> ")[:self.SHOWN].strip() for number in at)
        if above - named or above and not own:
            text = heading.strip("# \t:")[:self.SHOWN] + ": " + text
        passage = Passage((path, begin + at[0] + 1), text, set().union(*(hits[number] for number in at)), around)
        passage.named = self.is_about([lines[number] for number in at], passage, is_type(path, "table"))
        self.kept.append(passage)
        if len(self.kept) > self.HELD:
            # A common word fills the list; those that hold more words are the better half.
            self.kept.sort(key=lambda one: -len(one.own | one.around))
            del self.kept[self.HELD // 2:]

    def is_about(self, lines, passage, is_table):
        """Whether the lines have one of the words and say more than these, and one begins a line or stands in a heading or the
        file's name. The first column of a table says nothing of that kind."""
        words = [[word for word in WORD.findall(line) if word.casefold() not in EMPTY] for line in lines]
        says = sum(map(len, words)) > sum(bool(self.hits(word)) for line in words for word in line)
        firsts = [next((word for word in line if not word.isdigit() and word.casefold() not in BEFORE), "") for line in words]
        return says and not is_table and bool(passage.own) and (bool(passage.around) or any(map(self.hits, firsts)))

    def weight(self, word):
        holding = self.holding[word]
        return math.log(1 + (self.blocks - holding + 0.5) / (holding + 0.5))

    def covered(self, passage):
        """How much of the words a passage holds, in percent."""
        def share(word):
            return 0.5 if self.blocks >= self.MANY and self.holding[word] > self.COMMON * self.blocks else 1.0
        return round(100 * sum(map(share, passage.own | passage.around)) / max(1.0, sum(map(share, self.stems))))

    def best(self, limit):
        """The passages that hold the most, and the rarest, of the words."""
        def mark(passage):
            return sum(map(self.weight, passage.own)) + 0.7 * sum(map(self.weight, passage.around - passage.own))
        ranked = sorted(((self.covered(one), mark(one), one) for one in self.kept), key=lambda row: (-row[0], not row[2].named, -row[1]))
        near = [row for row in ranked if (row[0], row[2].named) == (ranked[0][0], ranked[0][2].named) and row[1] >= 0.8 * ranked[0][1]]
        return [(one, min(100, covered)) for covered, _, one in near[:limit]]
