"""The file library of the executors that ship: paths, drafts, the trash and the record that undo reads. Walks are in
`walk.py`, names and kinds that are looked for in `find.py`, lists in `lists.py`, contacts in `contacts.py`.

`host.py` makes it the module `metnos_files`; its digest is part of every `profile.lock`, with that of the host. It
follows no link and never replaces anything.
"""

import errno
import json
import os
import stat
import time

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO waits for a writer for ever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
# The bits of the group are the mask of an access list: the owner, who stands in it, may change what is made. Elsewhere the umask takes them.
FILE_MODE, FOLDER_MODE = 0o660, 0o770
LONGEST_NAME = 255
TRASH = ".trash"
KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
         stat.S_IFBLK: "a device", stat.S_IFLNK: "a link"}


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def answer(act, args, ctx):
    """What an executor returns: the result of `act`, or the error of the contract that it ended with."""
    try:
        return act(args, ctx)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}


# `hashlib` would load OpenSSL's library, which is not part of this sandbox, and cost more than the reading.
try:
    from _sha256 import sha256
except ImportError:
    try:
        from _sha2 import sha256
    except ImportError:
        from hashlib import sha256

# Paths.

def split(path, top=False, example="notes/a.md"):
    """The names that lead from the workspace to what is named; none for the workspace itself, where `top` allows that."""
    if "\0" in path:
        raise Refused("BadPath", "the path holds a NUL character, which no file name can have")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise Refused("BadPath", "the path holds a character that no file name can have") from None
    if path.startswith(("/", "~/")) or path == "~":
        raise Refused("PermissionDenied", f"{path} is not below the workspace; name it from there, such as {example}")
    names = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == "..":
            if not names:
                raise Refused("PermissionDenied", f"{path} leads out of the workspace")
            names.pop()
        elif len(name.encode("utf-8")) > LONGEST_NAME:
            raise Refused("BadPath", f"a name in the path is longer than {LONGEST_NAME} bytes")
        else:
            names.append(name)
    if not names and not top:
        raise Refused("BadPath", f"{path} names the workspace itself")
    return names


def split_file(path):
    """The same for an executor that reads one file."""
    names = split(path, top=True, example="notes/welcome.md")
    if path.endswith(("/", "/.")) or not names:
        raise Refused("NotAFile", f"{path} names a folder; name a file")
    return names


def split_change(path):
    """The same for an executor that changes what is named: the trash and drafts are not for that."""
    names = split(path)
    if any(name.startswith(TRASH) for name in names):
        raise Refused("PermissionDenied", f"{path} is in the trash; what lies there is kept for taking acts back")
    if any(is_draft(name) for name in names):
        raise Refused("PermissionDenied", f"{path} is the name of a draft, which no file may have")
    return names


#: Names that nothing gets that is made beside something else, at the top of the workspace: what stands there is Metnos's own.
OWN_NAMES = frozenset(("people", "executors", "soul.md", "telos.md", "identity.md", "user.md", "memory.md", "agents.md"))


def beside(names, to):
    """The names that lead to what is made of a thing, which lies in the same folder: so what is private stays so."""
    made = split_change(to)
    if made[:-1] != names[:-1]:
        place = "/".join(names[:-1]) or "the top of the workspace"
        raise Refused("OtherFolder", f"{to} lies in another folder; it can be made in {place}")
    if made[-1].startswith(".") or len(made) == 1 and made[-1].casefold() in OWN_NAMES:
        raise Refused("BadPath", f"{to} cannot be the name of what is made; say another one")
    return made


def refused(error, path, what="be changed"):
    """The error of the contract for what the kernel said; what is not foreseen stays a crash."""
    number = error.errno
    if number == errno.ENOENT:
        return Refused("NotFound", f"there is no {path} in the workspace")
    if number in (errno.ENOTDIR, errno.ELOOP):
        return Refused("PermissionDenied", f"something in {path} is a link or no folder, and is not walked through")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV):
        return Refused("PermissionDenied", f"the file system does not let {path} {what}")
    if number == errno.ENAMETOOLONG:
        return Refused("BadPath", "the path is too long")
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Refused("NoSpace", f"there is no room for {path}")
    raise error


def walk_to(workspace, names, path, make=False):
    """Opens the folder that `names` lead to, step by step, following no link; makes what is missing when told to."""
    folder = os.open(workspace, FOLDER)
    try:
        for name in names:
            if make:
                try:
                    os.mkdir(name, FOLDER_MODE, dir_fd=folder)
                except FileExistsError:
                    pass
            below = os.open(name, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = below
    except OSError as error:
        os.close(folder)
        raise refused(error, path) from None
    return folder


def open_below(workspace, names, path, last=FOLDER, what="be listed", not_a_folder="NotAFolder", no_file="NotAFile"):
    """Opens what is read by walking down to it; the last step with the flags `last`."""
    folder = os.open(workspace, FOLDER)
    for depth, name in enumerate(names, 1):
        try:
            below = os.open(name, last if depth == len(names) else FOLDER, dir_fd=folder)
        except OSError as error:
            try:
                raise unreadable(error, path, name, folder, (what, not_a_folder, no_file)) from None
            finally:
                os.close(folder)
        os.close(folder)
        folder = below
    return folder


def unreadable(error, path, name, folder, said):
    """The error of the contract for what the kernel said about one step on the way to what is read."""
    what, not_a_folder, no_file = said
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        if is_link(name, folder):
            return Refused("PermissionDenied", f"{name} in {path} is a link, and links are not followed")
        if not_a_folder == "NotFound":
            return Refused("NotFound", f"there is no {path} in the workspace: {name} is not a folder")
        return Refused(not_a_folder, f"{name} in {path} is not a folder")
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return Refused(no_file, f"{path} is a socket or a device, not a file")
    return refused(error, path, what)


def is_link(name, folder):
    """Whether a link lies there."""
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False


def look(name, folder, path):
    """What lies there, or nothing."""
    try:
        return os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused(error, path) from None


def same(one, other):
    """Whether two looks were at one thing."""
    return other is not None and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def seen(status):
    """What tells a thing from any other, and from itself after a change."""
    return {"ino": status.st_ino, "size": status.st_size, "mtime_ns": status.st_mtime_ns}


# Reading one file.

def one_name(file, path):
    """What is known of an open file, which must be a file and have no second name: that could be any file of this disk."""
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "no file")
        raise Refused("NotAFile", f"{path} is {kind}, not a file")
    if status.st_nlink > 1:
        raise Refused("PermissionDenied", f"{path} has {status.st_nlink} names, and may be any file of this disk")
    return status


def read_whole(file, path, most, what="be read at once"):
    """The bytes of an open file. Looked at before and after the reading: a name can be given to it meanwhile."""
    status = one_name(file, path)
    too_large = Refused("TooLarge", f"{path} has {status.st_size} bytes; at most {most} can {what}")
    if status.st_size > most:
        raise too_large
    parts, left = [], most + 1
    while left:
        part = os.read(file, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    if not left:
        # It has grown since it was measured.
        raise too_large
    one_name(file, path)
    return b"".join(parts)


# What people do not mean by their files.

#: At the top of the workspace: what the executors are made of.
EXECUTORS = "executors"


def is_kept_back(name, top):
    """Whether what has this name, at the `top` of the workspace or below, is no part of what people list, count, find or search
    unless they ask for it: what begins with a dot, the trash with it, and the executors."""
    return name.startswith(".") or top and name == EXECUTORS


# Names of secrets: `is_secret_name` of proto/src/executor/secret_names.rs, in Python. A test compares both.

SECRET_NAMES = frozenset((
    ".env", ".envrc", ".npmrc", ".pypirc", ".htpasswd", "wallet.dat", "login data", "key4.db", "logins.json", "passwd",
    "shadow", "gshadow", ".dockercfg", ".boto", ".s3cfg", ".smbcredentials", ".credentials",
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk", "id_xmss",
))
SECRET_STEMS = ("secrets", "secret", "credentials", "credential", "cookies", "passwords", "password", "htpasswd")
SECRET_ENDINGS = (
    ".env", ".pem", ".key", ".kdbx", ".kdb", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".age", ".ovpn", ".keytab", ".agekey",
    ".tfstate",
)
COPIES = ("~", ".bak", ".old", ".orig", ".save", ".swp", ".tmp", ".copy")
INVISIBLE = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0xFEFF, 0xAD))
NARROW = {number: number - 0xFEE0 for number in range(0xFF01, 0xFF5F)}
FOLDED = {**INVISIBLE, **NARROW}


def is_secret_name(name):
    """Whether a file or folder of this name is taken for a secret, whatever it holds."""
    # Letter by letter: Python knows a final sigma, and the other reader does not.
    folded = name.lower() if name.isascii() else "".join(letter.lower() for letter in name.translate(FOLDED))
    bare = folded = folded.rstrip(". ")
    for ending in COPIES:
        if folded.endswith(ending):
            bare = folded[:-len(ending)]
            break
    if bare in SECRET_NAMES or bare.startswith(".env.") or bare.endswith(SECRET_ENDINGS):
        return True
    inner = bare[1:] if bare.startswith(".") else bare
    for stem in SECRET_STEMS:
        for text in (bare, inner):
            if text.startswith(stem) and not text[len(stem):len(stem) + 1].isalnum():
                return True
    return False


# The beginnings of files that are secrets whatever they are called: `is_secret_content` of the same file in Rust.
SECRET_HEADS = (
    *(b"-----BEGIN %sPRIVATE KEY-----" % kind for kind in (b"", b"ENCRYPTED ", b"RSA ", b"DSA ", b"EC ", b"OPENSSH ")),
    b"-----BEGIN PGP PRIVATE KEY BLOCK-----", b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-", b"# created: ",
    b"\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5", b"\x03\xd9\xa2\x9a\x65\xfb\x4b\xb5",
)


def is_secret_content(content):
    """Whether a file that begins with these bytes is taken for a secret, whatever its name."""
    head = content[:256].lstrip(b" \t\n\r\x0c")
    return head.startswith(SECRET_HEADS) and (not head.startswith(b"# created: ") or b"AGE-SECRET-KEY-" in head)


# Writing. What is written stands under the name of a draft until it is whole.

DRAFT, DRAFT_END, DRAFT_RANDOM = ".metnos-", ".draft", 32
# After this many seconds no call that wrote it can live.
DRAFT_DEAD, MOST_SWEPT, MOST_SWEPT_SEEN = 600, 64, 4096


def is_draft(name):
    """Whether it is a name that only `draft` gives."""
    number = name[len(DRAFT):-len(DRAFT_END)]
    whole = len(name) == len(DRAFT) + DRAFT_RANDOM + len(DRAFT_END) and name.startswith(DRAFT) and name.endswith(DRAFT_END)
    return whole and all(sign in "0123456789abcdef" for sign in number)


def sweep(folder):
    """Removes drafts that killed calls have left in this folder; nothing that another user owns or that has a second name."""
    swept = 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_SWEPT_SEEN or swept >= MOST_SWEPT:
                    return
                if not is_draft(entry.name):
                    continue
                status = entry.stat(follow_symlinks=False)
                old = time.time() - status.st_mtime > DRAFT_DEAD
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.getuid() and old:
                    os.unlink(entry.name, dir_fd=folder)
                    swept += 1
    except OSError:
        # The next call tries again.
        return


def write_all(file, content, path):
    """Writes everything, to the disk: bytes, or what gives them piece by piece."""
    try:
        for piece in (content,) if isinstance(content, bytes) else content:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(file, rest):]
        os.fsync(file)
    except OSError as error:
        raise refused(error, path) from None


class Draft:
    """A file that is whole before it has its name; gone afterwards when it was given none."""

    def __init__(self, folder, content, path, mode=FILE_MODE):
        self.folder, self.path = folder, path
        sweep(folder)
        self.name = f"{DRAFT}{os.urandom(DRAFT_RANDOM // 2).hex()}{DRAFT_END}"
        try:
            file = os.open(self.name, NEW, mode, dir_fd=folder)
        except OSError as error:
            raise refused(error, path) from None
        try:
            write_all(file, content, path)
            self.made = seen(os.fstat(file))
        except BaseException:
            self.drop()
            raise
        finally:
            os.close(file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.drop()

    def drop(self):
        if self.name:
            try:
                os.unlink(self.name, dir_fd=self.folder)
            except FileNotFoundError:
                pass
            self.name = ""

    def place(self, name):
        """Gives it its name; False where something has that name."""
        if not rename_new(self.name, name, self.folder, self.path):
            return False
        self.name = ""
        return True


#: Set by `host.py`: the seal's rename that never replaces; it returns 0, or what the kernel said, below 0.
_rename = None


def rename_new(name, new_name, folder, path):
    """Renames within a folder, in one step, and never onto something that is there: then False. Nothing else is done."""
    if not callable(_rename):
        raise RuntimeError("the host has not handed over the rename that never replaces")
    result = _rename(folder, os.fsencode(name), folder, os.fsencode(new_name))
    if result == -errno.EEXIST:
        return False
    if result == -errno.EINVAL:
        return rename_by_placeholder(name, new_name, folder, path)
    if result < 0:
        raise refused(OSError(-result, os.strerror(-result)), path)
    return True


def rename_by_placeholder(name, new_name, folder, path):
    """The same where the file system knows no such rename: the new name is taken first, by something empty that is ours."""
    try:
        is_folder = stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
        try:
            if is_folder:
                os.mkdir(new_name, 0o700, dir_fd=folder)
            else:
                os.close(os.open(new_name, NEW, 0o600, dir_fd=folder))
        except FileExistsError:
            return False
        os.rename(name, new_name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        raise refused(error, path) from None
    return True


# The way back.

def trash_name(name, keep):
    """What it is called in the trash."""
    place = f"{TRASH}-{keep or os.urandom(8).hex()}-{name}"
    while len(place.encode("utf-8")) > LONGEST_NAME:
        place = place[:-1]
    return place


def to_trash(name, what, keep, folder, path):
    """Renames what lies there, which must be `what`, within its folder; its name there, or nothing when something else
    was there by now, which is where it was."""
    place = trash_name(name, keep)
    if not rename_new(name, place, folder, path):
        raise Refused("PermissionDenied", f"the trash holds {place} already; nothing was changed")
    if same(what, look(place, folder, path)):
        return place
    if not rename_new(place, name, folder, path):
        raise Refused("PermissionDenied", f"{path} was changed by others at this very moment; one version of it is {place} now")
    return ""


def records_for(workspace, path):
    """The folder for the records of what is changed at `path`: at the top of the workspace, or of the part of it that this
    call is shown; a guest's call sees the shared folders alone. What is private has its records in the private folder."""
    names = split(path)[:-1]
    top = 2 if names[:1] == ["people"] and len(names) > 1 else 0
    for depth in range(top, len(names) + 1):
        try:
            return walk_to(workspace, [*names[:depth], TRASH], TRASH, make=True)
        except Refused as refusal:
            if refusal.error_class != "PermissionDenied" or depth == len(names):
                raise


def record(workspace, keep, path, what):
    """Notes, before anything is changed, what `fs_restore` needs to take it back. A second one of a call takes the place of
    the first: nobody else has its name."""
    if not keep:
        return
    body = json.dumps(what, ensure_ascii=True).encode("ascii")
    trash = records_for(workspace, path)
    try:
        with Draft(trash, body, TRASH, 0o600) as draft:
            os.rename(draft.name, f"{keep}.json", src_dir_fd=trash, dst_dir_fd=trash)
            draft.name = ""
        os.fsync(trash)
    except OSError as error:
        raise refused(error, TRASH) from None
    finally:
        os.close(trash)


def place_new(folder, content, made, path, of, args, ctx):
    """Writes the new file `made` in an open folder, with the record by which `fs_restore` takes back what `of` made of `path`, and
    reads it back. It replaces nothing."""
    name, shown = made[-1], "/".join(made)
    with Draft(folder, content, shown) as draft:
        record(ctx.workspace, args.get("keep", ""), path, {"of": of, "name": name, "made": draft.made})
        if not draft.place(name):
            raise Refused("Exists", f"{shown} is there already; nothing was made")
    file = os.open(name, FILE, dir_fd=folder)
    try:
        if read_whole(file, shown, len(content)) != content:
            raise Refused("NoSpace", f"{shown} does not hold what was written to it")
    finally:
        os.close(file)


# Adding lines, and changing a list. Who does either locks the file first, so that neither is lost to the other.

#: Seconds that a call waits for another one that changes the same file, and between two looks.
MOST_LOCKED, LOCK_PAUSE = 2.0, 0.01
ADD = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_to_change(name, folder, path):
    """Opens a file that is there for reading, and for adding to it."""
    try:
        return os.open(name, ADD, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENXIO):
            raise Refused("NotAFile", f"{path} is no file") from None
        raise refused(error, path) from None


def open_to_add(name, folder, path):
    """Opens a file for adding, and says whether it was made for it."""
    for number in range(8):
        try:
            return open_to_change(name, folder, path), False
        except Refused as refusal:
            if refusal.error_class != "NotFound":
                raise
        if not number:
            # Who replaces a file leaves its name empty for a moment.
            time.sleep(LOCK_PAUSE)
            continue
        try:
            return os.open(name, ADD | os.O_CREAT | os.O_EXCL, FILE_MODE, dir_fd=folder), True
        except FileExistsError:
            continue
        except OSError as error:
            raise refused(error, path) from None
    raise Refused("PermissionDenied", f"{path} comes and goes at this very moment; try again")


def open_there(name, folder, path):
    """The same for a file that must be there."""
    try:
        return open_to_change(name, folder, path), False
    except Refused as refusal:
        if refusal.error_class != "NotFound":
            raise
    time.sleep(LOCK_PAUSE)
    return open_to_change(name, folder, path), False


def lock(file, end, path):
    """Waits until no other call changes this open file, until `end` at most; the lock ends with the descriptor."""
    while True:
        try:
            return os.lockf(file, os.F_TLOCK, 0)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                # A file system without locks.
                return None
        if time.monotonic() > end:
            raise Refused("PermissionDenied", f"{path} is changed by others at this very moment; try again")
        time.sleep(LOCK_PAUSE)


def open_locked(opens, name, folder, ctx, path):
    """Opens a file by `opens` and locks it, and says whether it was made for it: what has the name once it is locked."""
    end = time.monotonic() + min(MOST_LOCKED, ctx.remaining() / 2)
    while True:
        file, made = opens(name, folder, path)
        try:
            lock(file, end, path)
            if same(os.fstat(file), look(name, folder, path)):
                return file, made
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if time.monotonic() > end:
            raise Refused("PermissionDenied", f"{path} comes and goes at this very moment; try again")


def add(args, ctx, path, of, most, texts):
    """Adds what `texts` makes of the file's end to the file, which is made when missing: the result of the call."""
    names = split_change(path)
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        file, made = open_locked(open_to_add, names[-1], folder, ctx, path)
        try:
            return {"ok": True, "path": "/".join(names), "made": made, **add_to(file, made, args, ctx, path, of, most, texts)}
        except BaseException:
            # A file that was made for this and has nothing in it is none.
            if made and os.fstat(file).st_size == 0 and same(os.fstat(file), look(names[-1], folder, path)):
                os.unlink(names[-1], dir_fd=folder)
            raise
        finally:
            os.close(file)
    finally:
        os.close(folder)


def add_to(file, made, args, ctx, path, of, most, texts):
    """Adds what `texts` makes of the end of an open file; its size before and after."""
    before = one_name(file, path)
    end = os.pread(file, 2, max(0, before.st_size - 2))
    added = texts(end)
    content = added.encode("utf-8")
    if before.st_size + len(content) > most:
        raise Refused("TooLarge", f"{path} would have more than {most} bytes")
    way_back = {"of": of, **seen(before), "added": added, "made": made}
    record(ctx.workspace, args.get("keep", ""), path, way_back)
    write_added(file, content, before, path)
    return {"bytes_before": before.st_size, "bytes": os.fstat(file).st_size}


def write_added(file, content, before, path):
    """Adds all of it or nothing, and reads back that it is there."""
    try:
        write_all(file, content, path)
    except Refused:
        half = os.fstat(file).st_size - before.st_size
        if 0 < half < len(content) and content.startswith(os.pread(file, half, before.st_size)):
            os.ftruncate(file, before.st_size)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        raise
    # Where it came to stand, also when somebody else has added something at this very moment.
    at = os.lseek(file, 0, os.SEEK_CUR) - len(content)
    if os.pread(file, len(content), at) != content:
        raise Refused("NoSpace", f"{path} does not hold what was added after it was written")


# Files that come beside a call.

# How many files of one name are kept beside each other.
MOST_OF_ONE_NAME = 1_000
SENT_PIECE = 1 << 16


def numbered(name, number):
    """The name with a number before its ending: `a.pdf`, `a (2).pdf`."""
    if number == 1:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    mark = f" ({number})"
    while len(f"{stem}{mark}{dot}{ending}".encode("utf-8")) > LONGEST_NAME and stem:
        stem = stem[:-1]
    return f"{stem}{mark}{dot}{ending}"


def sent_pieces(ctx):
    """The bytes that have come with the call."""
    while piece := ctx.read_file(SENT_PIECE):
        yield piece


def holds_draft(name, folder, draft, size):
    """Whether a file with exactly the draft's content is there."""
    try:
        file = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        if one_name(file, name).st_size != size:
            return False
        at = 0
        while at < size:
            piece = os.pread(file, SENT_PIECE, at)
            if not piece or piece != os.pread(draft, len(piece), at):
                return False
            at += len(piece)
        return True
    except (OSError, Refused):
        return False
    finally:
        os.close(file)


def put_sent(folder, name, ctx, path, keep, of):
    """Puts the content there under the first name that is free; that name, and whether it was there already."""
    with Draft(folder, sent_pieces(ctx), path) as draft:
        whole = os.open(draft.name, FILE, dir_fd=folder)
        try:
            if os.fstat(whole).st_size != ctx.file_size:
                raise Refused("NoSpace", f"not all of {path} could be written")
            for number in range(1, MOST_OF_ONE_NAME + 1):
                place = numbered(name, number)
                if holds_draft(place, folder, whole, ctx.file_size):
                    record(ctx.workspace, keep, path, {"of": of, "name": place, "made": None, "before": None})
                    return place, True
                if look(place, folder, path) is not None:
                    continue
                record(ctx.workspace, keep, path, {"of": of, "name": place, "made": draft.made, "before": None})
                if draft.place(place):
                    return place, False
        finally:
            os.close(whole)
    raise Refused("Exists", f"{MOST_OF_ONE_NAME} files of the name {path} are there already")


def keep_sent(names, ctx, path, args, of):
    """Keeps the file that came with a call at these names, with the folders on the way, and replaces nothing: the result."""
    folder = walk_to(ctx.workspace, names[:-1], path, make=True)
    try:
        name, was_there = put_sent(folder, names[-1], ctx, path, args.get("keep", ""), of)
        size = os.lstat(name, dir_fd=folder).st_size
    except OSError as error:
        raise refused(error, path) from None
    finally:
        os.close(folder)
    return {"ok": True, "path": "/".join([*names[:-1], name]), "bytes": size, "was_there": was_there}
