"""A model that is none: an OpenAI-compatible server that calls tools by rules, always in the same way.

usage: caller.py [PORT]      prints the address; ends with Ctrl-C

It plays a competent caller of tools for `metnosctl bench ask`: it takes a request for one of a few kinds, chooses among the
tools that it is offered, reads what they give, and answers from that alone. What fits no kind it says it cannot do. No
question of `bench/data/ask.jsonl` stands here; what is measured with it is what Metnos adds and takes away, not how clever
a model is.
"""

import csv
import http.server
import io
import json
import re
import sys
from datetime import date

STOP = set(
    "a an the of in on to my our your me about is are was were there what which where who when how many much do does did i we"
    " it that this please can you could for and with from has have had note notes file files folder list table say says read"
    " show find wrote write di del della dello dei delle degli il lo la i gli le un una in nel nella nella su sul sulla a al"
    " alla da dal dalla che cosa come dove quando quanto quanti quante quale chi ho hai ha abbiamo c è ci sono per con e mi si"
    " nota cartella lista tabella leggi leggimi mostrami fammi vedere trova scritto parlano".split()
)
SAME = [{"shopping", "spesa", "buy", "comprare"}, {"to-do", "todo", "to", "do", "cose", "fare"}, {"expenses", "expense", "spent",
        "spend", "spese", "speso", "pagato", "paid"}]
EN_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
IT_DAYS = ["lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica"]
ITALIAN = re.compile(
    r"\b(il|lo|la|gli|le|che|non|mi|una?|del|della|alla|nella|sulla|per favore|ciao|grazie|chi|cosa|come|dove|quando|quant\w+|"
    r"annota|annulla|buon\w+|ricordati|aggiungi\w*|togli|metti|leggi\w*|cancella\w*|sposta|accendi|spegni|prenota|e)\b|c'è|[àèéìòù]", re.I)


def stems(text):
    words = set(re.findall(r"[\w-]+", text.lower())) - STOP
    for group in SAME:
        if words & group:
            words |= group
    return {word[:5] for word in words}


class Turn:
    """One request: its words, what was said before, and the results so far."""

    def __init__(self, messages, tools):
        first = next(text_of(m) for m in messages if m["role"] == "user")
        self.words = first.rsplit("The person says:\n", 1)[-1].strip()
        self.before = [line[2:] for line in first.splitlines() if line.startswith("- ")]
        self.tools = tools
        self.italian = bool(ITALIAN.search(self.words))

    def say(self, english, italian):
        return italian if self.italian else english

    def cannot(self):
        return self.say("I cannot do that: I have no tool for it.", "Non posso farlo: non ho uno strumento per questo.")

    # Steps: each yields (tool, arguments) and receives the text of its result.
    def read(self, name, arguments, later=()):
        if name not in self.tools:
            return ""
        calls = [{"tool": name, "arguments": arguments}]
        if "plan" in self.tools:
            shown = yield "plan", {"calls": calls, "look": ["c1"], **({"later": list(later)} if later else {})}
        else:
            shown = yield name, arguments
        return data_of(shown)

    def files(self, later=()):
        text = yield from self.read("fs_find", {"kind": "file", "limit": 200}, later)
        paths = [entry["path"] for entry in parsed(text).get("entries", []) if isinstance(entry, dict)]
        return [path for path in paths if not path.startswith("executors/") and not path.split("/")[-1].isupper()]

    def path(self, wanted, ending="", later=()):
        """The file that shares most with some words."""
        named = re.search(r"[\w./-]+\.(?:md|csv|txt)\b", wanted)
        if named:
            return named.group()
        found = yield from self.files(later)
        best = [(len(stems(wanted) & stems(path.replace("/", " ").replace(".", " ").replace("-", " "))), path)
                for path in found if path.endswith(ending)]
        best = [one for one in best if one[0]]
        return max(best, key=lambda one: (one[0], -len(one[1])))[1] if best else None

    def content(self, wanted, ending=""):
        path = yield from self.path(wanted, ending)
        if not path:
            return None, ""
        given = yield "fs_read", {"path": path}
        text = data_of(given)
        if not text and "look" in self.tools:
            number = re.search(r"\bc\d+\b", given)
            text = data_of((yield "look", {"of": (number.group() if number else "c2") + "#/content"}))
        return path, parsed(text).get("content", text)

    def run(self):
        words, low = self.words, self.words.lower()
        for pattern, skill in SKILLS:
            found = re.search(pattern, low)
            if found:
                return (yield from skill(self, words, found))
        return (yield from recall(self, words, None))


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def data_of(text):
    inside = re.findall(r"<data-[^>]*>\n?(.*?)\n?</data-", text, re.S)
    return inside[-1] if inside else ""


def parsed(text):
    try:
        value = json.loads(text)
        return value if isinstance(value, dict) else {}
    except ValueError:
        return {}


def items_of(text):
    return [item.strip(" .!") for item in re.split(r",| and | e | ed ", text) if item.strip(" .!")]


def add(turn, words, found):
    """Things for a list."""
    match = re.search(r"(?:add|put|aggiungi\w*|metti|segna|need)\s+(.+?)(?:,? (?:to|on|onto|put them on|alla|nella|sulla|in)\b(.*)|$)", words, re.I)
    if not match:
        return turn.cannot()
    content = "".join(f"- {re.sub(r'^(?:the|a|an|il|lo|la|i|gli|le|un|una)[ ]', '', item, flags=re.I)}\n" for item in items_of(match[1]))
    named = match[2] or " ".join(turn.before[-2:])
    path = yield from turn.path(named, ".md", [{"tool": "fs_append", "arguments": {"path": None, "content": content}}])
    if not path:
        return turn.say("I know no such list.", "Non so di quale lista parli: non ho trovato niente.")
    result = yield "fs_append", {"path": path, "content": content}
    return turn.say(f"Added to {path}.", f"Aggiunto a {path}.") if "refused" not in result else turn.cannot()


def remove(turn, words, found):
    """A thing off a list: read, then written without it."""
    match = re.search(r"(?:take|remove|togli)\s+(?:the |il |lo |la )?(.+?)\s+(?:off|from|dalla|dal)\s+(.*)", words, re.I)
    if not match:
        return turn.cannot()
    path, text = yield from turn.content(match[2], ".md")
    kept = [line for line in text.splitlines() if match[1].lower() not in line.lower()]
    if not path or len(kept) == len(text.splitlines()):
        return turn.say("It is not there.", "Non c'è.")
    yield "fs_write", {"path": path, "content": "\n".join(kept) + "\n", "overwrite": True}
    return turn.say(f"{match[1]} is off {path}.", f"{match[1]}: tolto da {path}.")


def table(turn, words, found):
    """Anything about a table, reckoned from its rows."""
    path, text = yield from turn.content(words + " expenses", ".csv")
    if not path:
        return turn.say("I do not know of such a table.", "Non so di una tabella così.")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";" if ";" in text.split("\n")[0] else ","))
    money = next((name for name in rows[0] if name in ("amount", "importo")), None) if rows else None
    if not money:
        return turn.say("I do not know what its columns mean.", "Non so che cosa vogliano dire le colonne.")
    value = lambda row: float(row[money].replace(",", "."))
    low = words.lower()
    if re.search(r"rows|righe", low):
        return turn.say(f"It has {len(rows)} rows.", f"Ha {len(rows)} righe.")
    bound = re.search(r"(?:above|over|sopra i|oltre)\s+(\d+)", low)
    if bound:
        rows = [row for row in rows if value(row) > float(bound[1])]
    rows = [row for row in rows if any(cell.lower() in low for cell in row.values() if len(cell) > 2)] or rows
    if re.search(r"biggest|largest|più grande", low):
        rows = [max(rows, key=value)]
    elif re.search(r"how much|quanto|total", low):
        return turn.say(f"{sum(map(value, rows)):.2f} in all.", f"In tutto {sum(map(value, rows)):.2f}.")
    return "\n".join(", ".join(row.values()) for row in rows)


def clock(turn, words, found):
    """The time, the day, and how long until."""
    place = re.search(r"\b(?:in|a)\s+([A-Z]\w+(?: [A-Z]\w+)?)\??$", words)
    previous = not re.search(r"time|ore|ora|day|giorno|date|year|anno|until|manca", words.lower())
    if previous and not place:
        return turn.cannot()
    result = yield from turn.read("clock_now", {"zone": place[1]} if place else {})
    if not result:
        result = data_of((yield "look", {"of": "c1"}))
    value = parsed(result)
    day = re.search(r"\d{4}-\d\d-\d\d", json.dumps(value))
    today = date.fromisoformat(day.group()) if day else None
    if today and re.search(r"christmas|natale", words.lower()):
        left = (date(today.year, 12, 25) - today).days % 365
        return turn.say(f"{left} days.", f"{left} giorni.")
    if today and re.search(r"tomorrow|domani", words.lower()):
        today = date.fromordinal(today.toordinal() + 1)
    named = f"{(IT_DAYS if turn.italian else EN_DAYS)[today.weekday()]} {today.day}/{today.month}/{today.year}" if today else ""
    return f"{named} {value.get('local', value.get('time', result))}".strip()


def show(turn, words, found):
    path, text = yield from turn.content(words)
    if path:
        return text or turn.say("It is empty.", "È vuota.")
    return (yield from search(turn, words, found))


def count(turn, words, found):
    low = words.lower()
    folder = re.search(r"(?:the|nella|della)\s+(\w+)\s+folder|cartella\s+(\w+)", low)
    if folder:
        name = folder[1] or folder[2]
        return str(sum(path.startswith(f"{name}/") for path in (yield from turn.files())))
    _, text = yield from turn.content(words if not re.search(r"\bit\b", low) else " ".join(turn.before[-2:]))
    if re.search(r"words|parole", low):
        return turn.say(f"{len(text.split())} words.", f"{len(text.split())} parole.")
    return str(sum(line.startswith("- ") for line in text.splitlines()))


def listing(turn, words, found):
    folder = re.search(r"cartella\s+(\w+)|(\w+)\s+folder", words.lower())
    prefix = f"{folder[1] or folder[2]}/" if folder else "notes/"
    paths = [path for path in (yield from turn.files()) if path.startswith(prefix)]
    return "\n".join(paths) or turn.say("There is nothing there.", "Non c'è niente.")


def search(turn, words, found):
    """The line that shares most with the words, among those that share any."""
    wanted = sorted(set(re.findall(r"\w{4,}", words.lower())) - STOP, key=len, reverse=True)
    lines = []
    for word in wanted[:4]:
        if "text_search" in turn.tools:
            given = yield "text_search", {"pattern": word[:5]}
            text = data_of(given)
            if not text and "look" in turn.tools:
                number = re.search(r"\bc\d+\b", given)
                text = data_of((yield "look", {"of": number.group() if number else "c1"}))
            lines += [(f"{one.get('path')}: {one.get('text', one.get('line', ''))}") for one in parsed(text).get("matches", [])]
    if not lines:
        return turn.say("I have found nothing; I do not know.", "Non ho trovato niente: non lo so.")
    return max(lines, key=lambda line: (len(stems(words) & stems(line)), lines.count(line)))


def delete(turn, words, found):
    named = words if not re.search(r"cancellala|delete it", words.lower()) else " ".join(turn.before[-2:])
    path = yield from turn.path(named, "", [{"tool": "fs_delete", "arguments": {"path": None}}])
    if not path:
        return turn.say("I do not know which one you mean.", "Non so quale intendi.")
    yield "fs_delete", {"path": path}
    return turn.say(f"{path} is in the trash.", f"{path} è nel cestino.")


def move(turn, words, found):
    match = re.search(r"(?:rename|move|sposta)\s+(\S+)\s+(?:to|in|nella cartella|into)\s+(\S+)", words, re.I)
    if not match:
        return turn.cannot()
    to = match[2] if "." in match[2] else f"{match[2]}/{match[1].rsplit('/', 1)[-1]}"
    yield "fs_move", {"path": match[1], "to": to}
    return turn.say(f"It is now {to}.", f"Ora è {to}.")


def make(turn, words, found):
    match = re.search(r"(?:called|list|lista per la?)\s+(\w+)\b.*?(?:says?:?|:)\s*(.+)|(?:start|make) a (\w+) list with (.+)", words, re.I)
    if not match:
        return turn.cannot()
    name, text = (match[1], match[2]) if match[1] else (f"{match[3]}-list", "\n".join(f"- {one}" for one in items_of(match[4])))
    yield "fs_write", {"path": f"notes/{name.lower()}.md", "content": f"{text}\n"}
    return turn.say(f"It stands in notes/{name.lower()}.md.", f"È in notes/{name.lower()}.md.")


def keep(turn, words, found):
    text = re.sub(r"^(?:please )?(?:remember|note|annota|ricordati|segna)(?: that| che)?:?\s*", "", words, flags=re.I)
    yield "note_add", {"text": text}
    return turn.say("Noted.", "Annotato.")


def recall(turn, words, found):
    """What was said before and shares something with the question; else an honest answer."""
    best = max(turn.before, key=lambda line: len(stems(line) & stems(words)), default="")
    if words.rstrip().endswith("?") and stems(best) & stems(words):
        return best
    if False:
        yield
    return turn.cannot()


def talk(english, italian):
    def skill(turn, words, found):
        if False:
            yield
        return turn.say(english, italian)
    return skill


SKILLS = [
    (r"^(hello|hi|ciao|good (morning|evening)|buongiorno)\b", talk("Hello! What can I do?", "Ciao! Che posso fare?")),
    (r"\b(who are you|chi sei)\b", talk("I am Metnos, your butler.", "Sono Metnos, il vostro maggiordomo.")),
    (r"what can you do|cosa sai fare", talk("I keep your notes, files and lists.", "Tengo le vostre note, i file e le liste.")),
    (r"^(thanks|thank you|grazie)", talk("You are welcome.", "Prego.")),
    (r"^(good night|buonanotte)", talk("Good night.", "Buonanotte.")),
    (r"how are you|come stai", talk("I am well, and ready.", "Bene, e pronto.")),
    (r"^(please )?(remember|note\b|annota|ricordati|segna)", keep),
    (r"^(take|remove|togli)\b.* (off|from|dall?a?)\b", remove),
    (r"^(please )?(delete|cancella)|adesso cancellala", delete),
    (r"^(rename|move|sposta)\b", move),
    (r"^(make|start|fai)\b.*\b(note|list|lista)\b", make),
    (r"\b(add|put|need|aggiungi\w*|metti)\b(?!.*\bmusica\b).*\b(list|lista|it)\b|^aggiungici", add),
    (r"expense|spent|spend|spese|speso|pagato|\.csv", table),
    (r"what (time|day|year)|the date|until christmas|che or[ae] (?:sono|è)|che giorno|quanti ne abbiamo|natale|che anno|^(and in|e a)\b", clock),
    (r"how many|quante parole|quanti (file|cose)", count),
    (r"which notes|quali note|cartella .*\?|what'?s in the \w+ folder", listing),
    (r"\b(where|find|dove|ci sono|who has)\b", search),
    (r"\b(read|show|leggi\w*|mostra\w*|fammi vedere|what does|what'?s (on|in)|cosa (devo|c'è)|is there|c'è)\b", show),
]


def reply(request):
    """The next step of a conversation, which is always gone through from its beginning."""
    messages = request["messages"]
    tools = {tool["function"]["name"] for tool in request.get("tools") or []}
    steps = Turn(messages, tools).run()
    results = [text_of(m) for m in messages if m["role"] == "tool"]
    try:
        step = next(steps)
        for result in results:
            step = steps.send(result)
    except StopIteration as end:
        return {"content": str(end.value)}
    name, arguments = step
    if name not in tools:
        return {"content": Turn(messages, tools).cannot()}
    call = {"id": f"call_{len(results)}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"content": None, "tool_calls": [call]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "caller", "object": "model"}]}
        self.send(json.dumps(models).encode(), "application/json")

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", **reply(request)}
        read, written = len(json.dumps(request)) // 4, len(json.dumps(message)) // 4
        usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        head = {"id": "chatcmpl-1", "created": 0, "model": "caller"}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.send(json.dumps(whole).encode(), "application/json")
        delta = dict(message)
        for at, call in enumerate(delta.get("tool_calls") or []):
            call["index"] = at
        chunks = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
            {"choices": [], "usage": usage},
        ]
        lines = [f"data: {json.dumps({**head, 'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks]
        self.send(("".join(lines) + "data: [DONE]\n\n").encode(), "text/event-stream")


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
