"""Runs one executor, once, inside its sandbox, and reports exactly one result.

It speaks to sandboxd over descriptor 3 and to nobody else. It decides nothing and guards
nothing: the kernel does that around it, and sandboxd checks every byte it sends. Started as
`python3 -I -S -B host.py ROLE MODULE…`; it imports as little as it can, because its start is what a call costs.

As `executor` it loads the modules, seals itself by the order that comes, runs the code that comes, and ends. As
`zygote` it waits, and each child that sandboxd has forked from it goes on as an executor, warm.

Frames to it: one letter, the length as four bytes (little endian), the body.
  S  the order of the seal; read by the seal, with the mounts beside it
  C  the code, as text, or
  M  the code, compiled: `marshal`
  Q  the request, JSON: entry, connections, workspace, tmp, wall_s, args, and outside, commands, secrets, account, thought, file, gives,
     keeps and before where there are any
  B  the file that comes with the call, where `file` says how many bytes it has; read in pieces, as the executor wants them
  K  what it wanted to keep is durable; empty
Frames from it:
  S  it is sealed; said by the seal
  P  progress: done and total, eight bytes each (little endian)
  A  an alarm: something that no executor has a use for was tried
  B  the next bytes of the file that it gives, where `gives` says that it may
  K  what it is about to change, as it is now, JSON, where `keeps` says that it may; once
  R  the result, JSON: the last frame, once
  F  a fault instead of a result: `memory`, `processes`, `output` or `system`, a colon, a sentence
"""

import posix
import sys
import time

CHANNEL = 3
SEAL = "/seal/_metnos_seal.so"
NET = "/metnos/net.py"
# What executors with network share; the first is what the others are made with.
NET_LIBRARY = {f"metnos_{name}": f"/metnos/{name}.py" for name in ("web", "page", "mail", "mailbox", "sending", "calendar", "changes", "home")}
LIBRARY = {f"metnos_{name}": f"/metnos/{name}.py" for name in ("files", "walk", "find", "lists", "contacts")}
# What large parts of the file library are for, few executors are; so each is loaded when the code names it.
NAMED_LIBRARY = {f"metnos_{name}": f"/metnos/{name}.py" for name in ("programs", "documents", "tables")}
LONGEST_LOG_LINE = 4096
# The most bytes of a piece of a file.
PIECE = 1 << 16
# What the machine says when it is at its end, and no executor can help: EIO, ENFILE, EMFILE, EFBIG, ENOSPC, ENAMETOOLONG, ESTALE,
# EDQUOT.
REFUSED = (5, 23, 24, 27, 28, 36, 116, 122)

# What the zygote has loaded before it forks: what small executors import. Only text; compiled ones come by name.
WARM = ("errno", "stat", "os", "re", "json", "datetime", "io", "string", "collections", "unicodedata", "hashlib", "marshal")


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

    __slots__ = ("workspace", "tmp", "deadline", "folders", "commands", "_home", "_net", "_secrets", "_account", "_thought", "file_size", "_left", "_gives", "_keeps", "_before")

    def __init__(self, request):
        #: The workspace, as seen from inside.
        self.workspace = request["workspace"]
        #: A folder that is empty now and gone afterwards.
        self.tmp = request["tmp"]
        #: When the call will be ended, on the clock of `time.monotonic()`.
        self.deadline = time.monotonic() + request["wall_s"]
        outside = request.pop("outside", {})
        #: The folders outside the workspace that were granted, by their own paths.
        self.folders = tuple(outside.get("folders", ()))
        self._home = outside.get("home", "")
        #: The programs that may be run, by bare name, each with its path.
        self.commands = {path.rpartition("/")[2]: path for path in request.get("commands", ())}
        self._net = load_net(request.get("connections", 0), self.deadline)
        self._secrets = request.pop("secrets", {})
        self._account = request.pop("account", None)
        self._thought = request.pop("thought", None)
        #: How many bytes the file has that came with the call; `None` where none did.
        self.file_size = request.pop("file", None)
        self._left = self.file_size or 0
        self._gives = request.pop("gives", False)
        self._keeps = request.pop("keeps", False)
        self._before = request.pop("before", None)
        if self.file_size is not None:
            receive_head(b"B")

    def remaining(self):
        """Seconds left."""
        return max(0.0, self.deadline - time.monotonic())

    def inside(self, path):
        """Where a path as the owner writes it (from the workspace, `~/…` or `/…`) is in here. Nothing is looked at."""
        if self._home and (path == "~" or path.startswith("~/")):
            path = self._home + path[1:]
        absolute = path.startswith("/")
        names = []
        for name in path.split("/"):
            if name == "..":
                if not names and not absolute:
                    raise PermissionError(f"{path} leads out of the workspace")
                names[-1:] = ()
            elif name not in ("", "."):
                names.append(name)
        plain = "/" + "/".join(names)
        if not absolute:
            return self.workspace + plain if names else self.workspace
        if not any(plain == folder or plain.startswith(folder + "/") for folder in self.folders):
            raise PermissionError(f"{path} lies in no folder that was granted")
        return "/outside" + plain

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
        """The text of a secret that was granted to this call. It is never to be told: a result that holds it is withheld."""
        try:
            return self._secrets[name]
        except KeyError:
            raise PermissionError(f"the secret {name!r} was not granted") from None

    def account(self):
        """The account that this call is about: texts by the names host, port, user, password and name."""
        if self._account is None:
            raise PermissionError("no account was granted")
        return self._account

    def thought(self):
        """What a model has said about the arguments, as the manifest's [mind] asks: `text`, and why it stopped, `stop`."""
        if self._thought is None:
            raise PermissionError("no model was asked for this call")
        return self._thought

    def read_file(self, most=PIECE):
        """The next bytes of the file that came with the call, at most so many; none at its end."""
        if self.file_size is None:
            raise PermissionError("no file came with this call")
        if not self._left:
            return b""
        part = posix.read(CHANNEL, min(most, self._left))
        if not part:
            posix._exit(0)
        self._left -= len(part)
        return part

    def give_file(self, piece):
        """Gives the next bytes of the file that the manifest says this executor gives."""
        if not self._gives:
            raise PermissionError("a file was not asked for")
        rest = memoryview(piece)
        while rest:
            send(b"B", bytes(rest[:PIECE]))
            rest = rest[PIECE:]

    def keep(self, before):
        """Has what this call is about to change kept, as it is now, so that its inverse can put it back: a dict. Once, and before
        anything is changed: it returns when that is durable, and the call is ended where it cannot be."""
        if not self._keeps:
            raise PermissionError("the manifest does not say that this call keeps something, or it has kept it")
        self._keeps = False
        send(b"K", encode(before))
        receive_head(b"K")

    def before(self):
        """What the call that this one takes back had kept; `None` when there is nothing."""
        return self._before

    def connect(self, host, port):
        """A connection to a place that was granted; like a socket. `http.client` and `urllib` use it by themselves."""
        if self._net is None:
            raise PermissionError(f"a connection to {host!r} port {port!r} was not granted")
        return self._net.connect(host, port, self.remaining())


# What Python tells of itself and no executor has a use for. It guards nothing: the kernel refuses these acts whether they
# are seen here or not, and whoever knows of this can avoid it. It is told as it happens, so that an act is on record
# also when its process does not live to say more.
ALARMS = frozenset((
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "pty.spawn",
    "os.kill", "os.killpg", "signal.pthread_kill", "socket.bind", "socket.connect", "socket.sendto", "socket.sendmsg",
    "ctypes.dlopen", "ctypes.dlsym", "ctypes.call_function", "ctypes.addressof", "ctypes.string_at", "os.chown", "os.link",
    "os.symlink", "os.setxattr", "resource.prlimit", "resource.setrlimit", "sys.settrace", "sys.setprofile", "sys.addaudithook",
))
FOREIGN = ("/etc/passwd", "/etc/shadow", "/etc/ssh", "/root", "/home", "/proc", "/sys", "/dev/mem", "/dev/kmsg", "/var/lib")
MOST_ALARMS = 16
# What is no alarm where programs may be run.
RUNNING = frozenset(("os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen"))


def watch(runs):
    """Tells sandboxd of such acts from here on, the first few of them; `runs` says that programs may be run."""
    told = []
    alarms = ALARMS - RUNNING if runs else ALARMS

    def hear(event, arguments):
        first = arguments[0] if arguments else None
        if type(first) is bytes:
            first = first.decode("utf-8", "replace")
        named = first if type(first) in (str, int) else ""
        if event in alarms or (event == "open" and type(first) is str and first.startswith(FOREIGN)):
            if len(told) < MOST_ALARMS:
                told.append(None)
                try:
                    send(b"A", f"{event} {named}".strip().encode("ascii", "backslashreplace")[:200])
                except OSError:
                    pass

    sys.addaudithook(hear)


def load_net(connections, deadline):
    """What makes Python's own modules use this call's connections; nothing without any."""
    if not connections:
        return None
    with open(NET, encoding="utf-8") as file:
        code = compile(file.read(), NET, "exec", dont_inherit=True)
    module = type(sys)("metnos_net")
    sys.modules["metnos_net"] = module
    exec(code, module.__dict__)
    net = module.Net(connections, deadline)
    net.install()
    return net


def load_module(name, path):
    """A module from the one file that it is."""
    with open(path, encoding="utf-8") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)


def load_files(seal):
    """The file library, as modules."""
    for name, path in LIBRARY.items():
        load_module(name, path)
    sys.modules["metnos_files"]._rename = seal.rename


def fault(kind, error):
    """Reports why there is no result."""
    text = f"{kind}:{type(error).__name__}: {error}"
    return b"F", text[:1000].encode("utf-8", "replace")


def receive_head(*letters):
    """The letter of the next frame, which must be one of these, and how long its body is."""
    letter, length = read_exactly(1), int.from_bytes(read_exactly(4), "little")
    if letter not in letters:
        posix._exit(1)
    return letter, length


def receive(letters):
    """The letter and the body of the next frame, which must be one of these."""
    letter, length = receive_head(*letters)
    return letter, read_exactly(length)


def load_code(letter, body):
    """The code, not run yet."""
    if letter == b"M":
        import marshal
        return marshal.loads(body)
    return compile(body, "main.py", "exec", dont_inherit=True)


def call(code, request):
    """Runs the code, calls its entry, and turns what comes into a frame."""
    if request["entry"] == "compile":
        import marshal
        return b"R", marshal.dumps(code)
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


def load_seal():
    """The part of the host that is not Python."""
    import _imp
    from _frozen_importlib import ModuleSpec
    seal = _imp.create_dynamic(ModuleSpec("_metnos_seal", None, origin=SEAL))
    _imp.exec_dynamic(seal)
    return seal


def wait_to_be_forked(seal):
    """The zygote's life. Only its children come back from here."""
    import gc
    import marshal
    for name in WARM:
        __import__(name)
    load_files(seal)
    rehearsal = marshal.dumps(compile(REHEARSAL, "warm", "exec"))
    warm_up(rehearsal)
    seal.seal()
    gc.collect()
    # What is here now is shared with all children for good: a collection that touched it would copy it.
    gc.freeze()
    if seal.serve(CHANNEL):
        warm_up(rehearsal)


# What small executors do, done once to nothing: each kind of statement and each part of the library that most of them use.
REHEARSAL = """
import errno, json, os, stat
try:
    from _sha256 import sha256
except ImportError:
    from _sha2 import sha256
KINDS = {stat.S_IFDIR: 'a folder', stat.S_IFREG: 'a file'}
class Refused(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind
def walk(path, folder):
    names = [name for name in path.split('/') if name not in ('', '.')]
    try:
        return os.open(names[-1], os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        raise Refused(KINDS.get(error.errno, f'{path}: {error.strerror}'), path) from None
def run(args, ctx):
    folder = os.open('/dev', os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        walk('none/there', folder)
    except Refused as refused:
        kind = refused.kind
    try:
        names = sorted(os.listdir(folder), key=lambda name: name.lower())
        file = walk('/null', folder)
        size = os.fstat(file).st_size
        with open(file, 'rb') as opened:
            content = opened.read(size + 65536) + b'some text\\n' * 64
    finally:
        os.close(folder)
    text = content.decode('utf-8', 'replace').strip()
    words = {}
    for word in text.casefold().split():
        words[word] = words.get(word, 0) + 1
    lines = text.splitlines()
    return {'ok': True, 'content': text, 'sha': sha256(content).hexdigest(), 'lines': len(lines), 'words': words,
            'names': names, 'kind': kind, 'n': [1, 2.5, None, True, args], 'left': ctx.remaining() > 0}
"""


def warm_up(rehearsal):
    """Takes the way of a call once, so that a child has its own copy of what every call writes to: of compiled code, as calls
    come, for compiling takes longer than all the rest and its memory is never needed again."""
    code = load_code(b"M", rehearsal)
    request = decode(b'{"entry":"run","connections":0,"workspace":"/workspace","tmp":"/tmp","wall_s":1,"args":{"a":"b","c":[1,2.5]}}')
    call(code, request)
    del sys.modules["main"]


def main(role, modules):
    for name in modules:
        __import__(name)
    seal = load_seal()
    if role == "zygote":
        wait_to_be_forked(seal)
    seal.seal()
    status = 0
    request = {}
    try:
        code = load_code(*receive((b"C", b"M")))
        # A fresh interpreter has it only when the code says its name.
        if "metnos_files" not in sys.modules and not LIBRARY.keys().isdisjoint(code.co_names):
            load_files(seal)
        for name, path in NAMED_LIBRARY.items():
            if name in code.co_names:
                load_module(name, path)
        # It is there for those alone who have network.
        if not NET_LIBRARY.keys().isdisjoint(code.co_names):
            for name, path in NET_LIBRARY.items():
                if name == "metnos_web" or name in code.co_names:
                    load_module(name, path)
        request = decode(receive((b"Q",))[1])
        watch("commands" in request)
        letter, body = call(code, request)
    except MemoryError as error:
        letter, body = fault("memory", error)
    except BlockingIOError as error:
        # Nothing that an executor reads can say so: it is the kernel's word for one process too many.
        if "commands" not in request:
            raise
        letter, body = fault("processes", error)
    except (OSError, RecursionError) as error:
        if isinstance(error, OSError) and error.errno not in REFUSED:
            raise
        # What this machine has refused it, or a tree deeper than Python goes: no fault of the executor's own making.
        sys.excepthook(*sys.exc_info())
        letter, body = fault("system", error)
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
    if letter == b"R" and not status:
        # Nothing can follow: sandboxd takes the result, and ends this process as soon as it has seen what it used.
        posix.close(CHANNEL)
        time.sleep(1)
    # Not `sys.exit`: nothing that the executor has registered may run after its result.
    posix._exit(status)


main(sys.argv[1], sys.argv[2:])
