# What code that nobody has signed must not do, as far as its text shows it: found by walking its syntax tree, in a sandbox that grants
# nothing, without running a line of it. It forbids nothing by itself, and no barrier rests on it: those are the kernel's. It keeps an
# owner from being shown code that says one thing and does another.
import ast
import sys

AS_CODE = frozenset(("eval", "exec", "compile", "__import__", "__builtins__", "__loader__", "__spec__", "import_module"))
INSIDE = frozenset((
    "__subclasses__", "__globals__", "__code__", "__closure__", "__bases__", "__base__", "__mro__", "__getattribute__",
    "__reduce__", "__reduce_ex__", "__func__", "__self__", "__wrapped__", "f_globals", "f_locals", "f_builtins", "f_back",
    "gi_frame", "tb_frame", "cr_frame", "ag_frame", "_getframe", "_current_frames", "settrace", "setprofile", "addaudithook",
))
MODULES = frozenset((
    "importlib", "imp", "_imp", "runpy", "code", "codeop", "ctypes", "_ctypes", "builtins", "marshal", "pickle", "_pickle", "shelve",
    "multiprocessing", "pty", "gc", "inspect", "zipimport", "pkgutil", "site", "ensurepip", "venv", "_frozen_importlib",
))
PROGRAMS = frozenset(("subprocess", "_posixsubprocess"))
NETWORK = frozenset(("socket", "_socket", "ssl", "_ssl", "asyncio", "selectors", "socketserver", "ftplib", "smtplib", "poplib", "imaplib", "telnetlib"))
# One of the two is there, by the version; and the file library comes with the host.
STANDARD = sys.stdlib_module_names | {"_sha2", "_sha256", "metnos_files", "metnos_walk", "metnos_find", "metnos_lists", "metnos_contacts", "metnos_programs", "metnos_documents", "metnos_tables", "metnos_web", "metnos_page", "metnos_mail", "metnos_mailbox", "metnos_sending", "metnos_calendar", "metnos_changes", "metnos_home"}
# Longer texts of nothing but such letters are no texts.
BLOB = 1024
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-\n")
MOST = 20


def module_faults(name, level, granted):
    root = name.split(".")[0]
    if level:
        yield "imports a file beside it; there is none"
    elif root in MODULES:
        yield f"imports {root}, by which text becomes code"
    elif root in PROGRAMS and not granted["programs"]:
        yield f"imports {root} without a grant to run programs"
    elif root in NETWORK and not granted["network"]:
        yield f"imports {root} without a grant of the network"
    elif root not in STANDARD:
        yield f"imports {root}, which is not of the standard library"


def is_blob(value):
    if isinstance(value, bytes):
        return len(value) >= BLOB
    return isinstance(value, str) and len(value) >= BLOB and LETTERS.issuperset(value)


def faults(node, granted):
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield from module_faults(alias.name, 0, granted)
    elif isinstance(node, ast.ImportFrom):
        yield from module_faults(node.module or "", node.level, granted)
        for alias in node.names:
            if alias.name in AS_CODE or alias.name in INSIDE:
                yield f"imports {alias.name}"
    elif isinstance(node, ast.Name) and node.id in AS_CODE:
        yield f"uses {node.id}, by which text becomes code"
    elif isinstance(node, ast.Attribute):
        of_patterns = node.attr == "compile" and isinstance(node.value, ast.Name) and node.value.id == "re"
        if node.attr in AS_CODE and not of_patterns:
            yield f"uses .{node.attr}, by which text becomes code"
        elif node.attr in INSIDE:
            yield f"reaches into Python by .{node.attr}"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "setattr", "delattr"):
        name = node.args[1] if len(node.args) > 1 else None
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            yield f"names an attribute that its text does not show ({node.func.id})"
        elif name.value in AS_CODE or name.value in INSIDE:
            yield f"reaches into Python by {node.func.id} of {name.value}"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "locals", "vars"):
        yield f"reaches its own names by {node.func.id}"
    elif isinstance(node, ast.Constant) and is_blob(node.value):
        yield f"holds {len(node.value)} bytes or letters of something encoded"


def run(args, ctx):
    try:
        tree = ast.parse(args["code"], "main.py")
        found = [(getattr(node, "lineno", 0), what) for node in ast.walk(tree) for what in faults(node, args)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        found = [(getattr(error, "lineno", 0) or 0, f"is not Python that can be read: {type(error).__name__}")]
    found.sort()
    return {"ok": True, "total": len(found), "found": [f"line {line} {what}" for line, what in found[:MOST]]}
