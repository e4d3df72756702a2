"""Runs one executor, once, inside its sandbox, and reports exactly one result.

It speaks to sandboxd over descriptor 3 and to nobody else. It decides nothing and guards
nothing: the kernel does that around it, and sandboxd checks every byte it sends. Started as
`python3 -I -S -B host.py`; it imports as little as it can, because its start is what a call costs.

Frames, both ways: one letter, the length as four bytes (little endian), the body.
  Q  the request, JSON: entry, code, workspace, tmp, wall_s, args
  P  progress: done and total, eight bytes each (little endian)
  R  the result, JSON: the last frame, once
  F  a fault instead of a result: `memory`, `processes` or `output`, a colon, a sentence
"""

import posix
import sys
import time

CHANNEL = 3
LONGEST_LOG_LINE = 4096


def read_exactly(count):
    """Reads `count` bytes from sandboxd; its silence is the end of this process."""
    parts = []
    while count:
        part = posix.read(CHANNEL, min(count, 1 << 20))
        if not part:
            posix._exit(0)
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(letter, body):
    """Sends one frame, whole."""
    rest = memoryview(letter + len(body).to_bytes(4, "little") + body)
    while rest:
        rest = rest[posix.write(CHANNEL, rest):]


class _Reading:
    """What the C reader of JSON wants to know; `json` itself would load `re` and cost a third of the start."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo = {}

    @staticmethod
    def parse_constant(name):
        raise ValueError(name)


def decode(body):
    """Reads JSON that sandboxd has written."""
    try:
        from _json import make_scanner
    except ImportError:
        import json
        return json.loads(body)
    value, _end = make_scanner(_Reading)(body.decode("utf-8"), 0)
    return value


def encode(value):
    """Writes JSON, strictly: no NaN, no infinity, no key that is not a text, no lone surrogate."""
    try:
        from _json import encode_basestring, make_encoder
    except ImportError:
        import json
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")

    def unknown(thing):
        raise TypeError(f"a result may not hold a {type(thing).__name__}")

    chunks = make_encoder({}, unknown, encode_basestring, None, ":", ",", False, False, False)(value, 0)
    return "".join(chunks).encode("utf-8")


class ExecutorCtx:
    """What an executor may know of its surroundings. Nothing else from outside exists."""

    __slots__ = ("workspace", "tmp", "deadline")

    def __init__(self, request):
        #: The workspace, as seen from inside.
        self.workspace = request["workspace"]
        #: A folder that is empty now and gone afterwards.
        self.tmp = request["tmp"]
        #: When the call will be ended, on the clock of `time.monotonic()`.
        self.deadline = time.monotonic() + request["wall_s"]

    def remaining(self):
        """Seconds left."""
        return max(0.0, self.deadline - time.monotonic())

    def log(self, text):
        """Leaves a line for whoever looks into a failure. It reaches no model."""
        line = str(text).replace("\n", " ")[:LONGEST_LOG_LINE]
        sys.stderr.write(line + "\n")

    def progress(self, done, total=0):
        """Tells the person who waits how far it is; `total` 0 means unknown."""
        largest = (1 << 64) - 1
        numbers = (min(max(int(number), 0), largest).to_bytes(8, "little") for number in (done, total))
        send(b"P", b"".join(numbers))

    def secret(self, name):
        """No secret was granted to this call."""
        raise PermissionError(f"the secret {name!r} was not granted")

    def connect(self, host, port):
        """No network was granted to this call."""
        raise PermissionError(f"a connection to {host!r} port {port!r} was not granted")


def fault(kind, error):
    """Reports why there is no result."""
    text = f"{kind}:{type(error).__name__}: {error}"
    return b"F", text[:1000].encode("utf-8", "replace")


def call(request):
    """Loads the code, calls its entry, and turns what comes into a frame."""
    with open(request["code"], "rb") as file:
        code = compile(file.read(), "main.py", "exec", dont_inherit=True)
    module = type(sys)("main")
    sys.modules["main"] = module
    exec(code, module.__dict__)
    if request["entry"] == "cases":
        result = {"ok": True, "cases": module.cases()}
    else:
        result = module.run(request["args"], ExecutorCtx(request))
    try:
        if type(result) is not dict:
            raise TypeError(f"run() must return a dict, it returned a {type(result).__name__}")
        return b"R", encode(result)
    except (TypeError, ValueError, RecursionError) as error:
        return fault("output", error)


def main():
    letter = read_exactly(1)
    body = read_exactly(int.from_bytes(read_exactly(4), "little"))
    if letter != b"Q":
        posix._exit(1)
    status = 0
    try:
        letter, body = call(decode(body))
    except MemoryError as error:
        letter, body = fault("memory", error)
    except RuntimeError as error:
        if "new thread" not in str(error):
            raise
        letter, body = fault("processes", error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = 1
    send(letter, body)
    # Not `sys.exit`: nothing that the executor has registered may run after its result.
    posix._exit(status)


main()
