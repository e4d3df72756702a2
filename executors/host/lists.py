"""Lists as a household writes them, part of the file library (`files.py`): which lines are things on a list, and which thing is
meant by some words. `host.py` makes it the module `metnos_lists`. It opens nothing.
"""

import re

# A thing on a line of its own: `- milk`, `* milk`, `3. milk`, `- [ ] milk`; `- [x] milk` is done.
ITEM = re.compile(r"([ \t]*)(?:[-*+•]|[0-9]{1,4}[.)])[ \t]+(?:\[([ xX])\][ \t]*)?(\S.*)")
# A heading, a rule, or a fence of code: no thing, in a list without marks.
NO_ITEM = re.compile(r"[ \t]*(?:#|---|===|```|<!--|.*:[ \t]*$)")
WORD = re.compile(r"[0-9]+|[^\W\d_]+")
# A file is a list when at least one of so many of its lines that say something is a thing with a mark.
MOST_OTHERS = 2

ACCENTS = str.maketrans("àáâäãèéêëìíîïòóôöõùúûüçñ", "aaaaaeeeeiiiiooooouuuucn")
# What says how much there is of a thing, and articles: without them it is the same thing.
AMOUNTS = frozenset((
    "a an the some any my our of couple few lot lots pair half quarter dozen dozens one two three four five six seven eight nine ten "
    "twelve bottle bottles can cans tin tins box boxes bag bags pack packs packet packets jar jars carton cartons loaf loaves bunch "
    "piece pieces slice slices litre litres liter liters kilo kilos gram grams pound pounds pint pints gallon gallons ounce ounces "
    "l dl cl ml kg hg g gr mg lb lbs oz x pz "
    "il lo la i gli le un uno una di del dello della dei degli delle qualche po paio mezzo mezza quarto dozzina due tre quattro cinque "
    "sei sette otto nove dieci dodici litro litri chilo chili etto etti grammo grammi bottiglia bottiglie lattina lattine scatola "
    "scatole sacchetto sacchetti pacco pacchi pacchetto pacchetti confezione confezioni barattolo barattoli vasetto vasetti mazzo "
    "pezzo pezzi fetta fette"
).split())
# Behind a thing: what follows says more about it, and does not make another thing of it.
MORE = frozenset("for from with without or per da con senza oppure".split())


class Item:
    """A thing on a list: its line, how many lines belong to it, what it says, and whether it is done."""

    __slots__ = ("at", "lines", "indent", "text", "done")

    def __init__(self, at, indent, text, done):
        self.at, self.lines, self.indent, self.text, self.done = at, 1, indent, text, done


def items_of(text):
    """The things on a list, in their order. Where fewer than half of the lines have a mark, each line that is no heading is one."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    found = [Item(at, wide(match[1] + "-"), match[3].rstrip(), (match[2] or " ") in "xX")
             for at, match in enumerate(map(ITEM.fullmatch, lines)) if match]
    if not is_list(text):
        marked = {item.at for item in found}
        plain = (at for at, line in enumerate(lines) if at not in marked and line.strip() and not NO_ITEM.match(line))
        return sorted([*found, *(Item(at, 0, lines[at].strip(), False) for at in plain)], key=lambda item: item.at)
    for item in found:
        # What is indented below it belongs to it.
        for line in lines[item.at + 1:]:
            if not line.strip() or wide(line) <= item.indent:
                break
            item.lines += 1
    for item in found:
        # What belongs to a thing that is done is done.
        item.done = item.done or any(other.done and other.at < item.at < other.at + other.lines for other in found)
    return found


def wide(line):
    """How far a line is indented."""
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())


def is_list(text):
    """Whether a text is a list by what it says: most of its lines are things with a mark."""
    said = [line.rstrip("\r") for line in text.split("\n") if line.strip() and not NO_ITEM.match(line)]
    marked = sum(ITEM.fullmatch(line) is not None for line in said)
    return marked > 0 and MOST_OTHERS * marked >= len(said)


def folded(text):
    """A text without capitals, accents and marks."""
    return tuple(WORD.findall(text.casefold().translate(ACCENTS)))


def is_amount(word):
    return word in AMOUNTS or word.isdigit()


def bare(words):
    """A thing without how much there is of it."""
    begin, end = 0, len(words)
    while begin < end - 1 and is_amount(words[begin]):
        begin += 1
    while end > begin + 1 and is_amount(words[end - 1]):
        end -= 1
    return words[begin:end]


def stem(word):
    """One form for one and for several of a thing, in both languages: `lemons`, `limoni`, `uovo`."""
    if len(word) < 4:
        return word
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:-1] if word[-1] in "aeiou" else word


def stems(words):
    return tuple(map(stem, words))


def meant(items, said):
    """The things that these words name, so surely that they may be taken off; where several different ones are, all of these."""
    words = folded(said)
    if not words:
        return []
    same = [item for item in items if folded(item.text) == words]
    if same:
        return same
    wanted = bare(words)
    same = [item for item in items if bare(folded(item.text)) == wanted]
    if same:
        return same
    wanted = stems(wanted)
    same = [item for item in items if stems(bare(folded(item.text))) == wanted]
    return same or [item for item in items if says_more(bare(folded(item.text)), wanted)]


def says_more(words, wanted):
    """Whether a thing is the wanted one with something more said of it: `lemons for the cake`."""
    return len(words) > len(wanted) and stems(words[:len(wanted)]) == wanted and (words[len(wanted)] in MORE or is_amount(words[len(wanted)]))


def naming(items, said):
    """The things in which all these words stand."""
    wanted = set(stems(bare(folded(said))))
    return [item for item in items if wanted and wanted <= set(stems(folded(item.text)))]
