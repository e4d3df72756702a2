"""Walks of the executors that ship, part of the file library (`files.py`). `host.py` makes it the module `metnos_walk`.

A walk follows no link, holds few descriptors however deep a tree is, and never recurses.
"""

import os
import stat
import time

from metnos_files import FOLDER, Refused, is_draft, is_kept_back, is_secret_name, look, refused, sha256

# How many of the folders between the top of a walk and its place are open at once, and how deep a walk goes.
HELD = 8
DEEPEST = 20_000
# The mode of what the sandbox puts in the place of a folder that no call looks into (`masks.rs`).
COVER_MODE = 0o555
# The files of the instance itself, at the top of the workspace: people do not mean them by their notes and lists.
OWN = frozenset(("AGENTS.md", "IDENTITY.md", "MEMORY.md", "SOUL.md", "TELOS.md", "USER.md"))
# The notes that an instance is born with.
FIRST_NOTES = frozenset(("notes/welcome.md", "notes/benvenuto.md"))
# Seconds of a processor that a walk takes for itself; the kernel ends a call that takes more than it was given.
MOST_CPU = 1.4


class Lost(Exception):
    """The way back up is gone: the folder was moved during the walk."""


class Trail:
    """The folders from the top of a walk down to its place. The last few are open; one further up is opened again from the
    one below it, and must be the same."""

    def __init__(self, top):
        status = os.fstat(top)
        #: For each: its descriptor or None, its identity, its name.
        self.levels = [[os.dup(top), (status.st_dev, status.st_ino), ""]]

    def here(self):
        return self.levels[-1][0]

    def names(self):
        return [name for _, _, name in self.levels[1:]]

    def down(self, name):
        below = os.open(name, FOLDER, dir_fd=self.here())
        status = os.fstat(below)
        self.levels.append([below, (status.st_dev, status.st_ino), name])
        if len(self.levels) > HELD + 1:
            far = self.levels[-HELD - 1]
            if far[0] is not None:
                os.close(far[0])
                far[0] = None

    def up(self):
        below = self.levels.pop()[0]
        above = self.levels[-1]
        try:
            if above[0] is None:
                above[0] = os.open("..", FOLDER, dir_fd=below)
                status = os.fstat(above[0])
                if (status.st_dev, status.st_ino) != above[1]:
                    raise Lost
        except OSError:
            raise Lost from None
        finally:
            os.close(below)

    def close(self):
        for level in self.levels:
            if level[0] is not None:
                os.close(level[0])
                level[0] = None


def shown(names):
    """A path for people; of a long one both ends."""
    path = "/".join(names).encode("utf-8", "replace").decode("utf-8")
    return path if len(path) <= 200 else f"{path[:100]}…{path[-99:]}"


class Walk:
    """One walk down a tree: every entry once, folder by folder, in the order of their names. What no walk shows (drafts,
    and files that are named like secrets) is left out; how many of the latter is counted. Without `hidden`, what people do
    not mean by their files (`is_kept_back`) is left out, too, and not counted."""

    def __init__(self, top, names, ctx, hidden=False, depth=None, deepest=DEEPEST, most=100_000, cpu=MOST_CPU):
        self.trail = Trail(top)
        self.above = names
        self.ctx, self.hidden, self.depth, self.deepest, self.most = ctx, hidden, depth, deepest, most
        self.cpu = cpu
        self.seen = self.failed = self.omitted = 0
        #: Where it has stopped before its end, and why; empty while it is complete.
        self.stopped = self.why = ""

    def stop(self, why, name=""):
        if not self.stopped:
            self.stopped = shown([*self.above, *self.trail.names(), *([name] if name else [])]) or "."
            self.why = why

    def listed(self):
        """The names in the folder at hand, in order."""
        try:
            names = os.listdir(self.trail.here())
        except OSError:
            self.failed += 1
            return iter(())
        return iter(sorted(names))

    def skipped(self, name):
        """Whether no walk shows it."""
        top = not self.above and len(self.trail.levels) == 1
        if is_draft(name) or not self.hidden and is_kept_back(name, top):
            return True
        secret = is_secret_name(name)
        self.omitted += secret
        return secret

    def entries(self):
        """Path, name, the open folder it lies in, and what it is. A folder is gone into after it was given out."""
        pending = [self.listed()]
        prefix = "".join(f"{name}/" for name in self.above)
        prefixes = [prefix]
        try:
            while pending:
                name = next(pending[-1], None)
                if name is None:
                    pending.pop()
                    prefixes.pop()
                    if pending:
                        self.trail.up()
                    continue
                if self.skipped(name):
                    continue
                if self.seen >= self.most:
                    self.stop("there is too much for one call", name)
                elif self.seen % 256 == 0 and self.late():
                    self.stop("there is too much for the time of one call", name)
                if self.stopped and self.why != "it is too deep":
                    return
                self.seen += 1
                folder = self.trail.here()
                try:
                    name.encode("utf-8")
                    status = os.lstat(name, dir_fd=folder)
                except (OSError, UnicodeEncodeError):
                    self.failed += 1
                    continue
                yield prefixes[-1] + name, name, folder, status
                if stat.S_ISDIR(status.st_mode) and self.enter(name, len(pending)):
                    pending.append(self.listed())
                    prefixes.append(f"{prefixes[-1]}{name}/")
        except Lost:
            self.stop("a folder was moved meanwhile")
        finally:
            self.trail.close()

    def enter(self, name, depth):
        if self.depth is not None and depth >= self.depth:
            return False
        if depth >= self.deepest:
            self.stop("it is too deep", name)
            return False
        try:
            self.trail.down(name)
        except OSError:
            self.failed += 1
            return False
        return True

    def late(self):
        return self.ctx.remaining() < 1 or time.process_time() > self.cpu

    def said(self):
        """What a result says of the walk."""
        said = {"failed": self.failed, "complete": not self.stopped}
        if self.stopped:
            said["stopped"] = f"{self.stopped}: {self.why}"
        if self.omitted:
            said["omitted"] = self.omitted
        return said


def count(name, folder, path, ctx, most=1_000_000):
    """Files, folders and bytes at and below a place, and how many of the folders are covered, so that nobody knows what lies
    in them. A link counts as a file and is not followed. All of it, drafts and secrets too: it is what an act would touch."""
    status = look(name, folder, path)
    if status is None:
        raise Refused("NotFound", f"there is no {path} in the workspace")
    found = [0, 0, 0, 0]
    if not stat.S_ISDIR(status.st_mode):
        return [1, 0, status.st_size if stat.S_ISREG(status.st_mode) else 0, 0]
    try:
        top = os.open(name, FOLDER, dir_fd=folder)
    except OSError as error:
        raise refused(error, path, "be looked at") from None
    trail = Trail(top)
    os.close(top)
    try:
        found[1] = 1
        pending = [tally(trail, found, path, ctx, most)]
        while pending:
            if not pending[-1]:
                pending.pop()
                if pending:
                    trail.up()
                continue
            below = pending[-1].pop()
            if len(pending) >= DEEPEST:
                raise Refused("TooMany", f"{path} is deeper than {DEEPEST} folders; the count stopped at {shown(trail.names())}")
            trail.down(below)
            pending.append(tally(trail, found, path, ctx, most))
    except Lost:
        raise Refused("TooMany", f"a folder below {path} was moved while it was counted; try again") from None
    except FileNotFoundError:
        raise Refused("TooMany", f"{path} was changed while it was counted; try again") from None
    except OSError as error:
        raise refused(error, shown([path, *trail.names()]), "be looked at") from None
    finally:
        trail.close()
    return found


def state(name, folder, path, most=2_000, deepest=40):
    """What tells a folder and all in it from every other, and from itself after a change; nothing where it holds more than so
    much."""
    digest, pending = sha256(), [[name]]
    try:
        while pending:
            names = pending.pop()
            here = descend(folder, names)
            try:
                for below in sorted(os.listdir(here)):
                    most -= 1
                    if most < 0 or len(names) > deepest:
                        return ""
                    status = os.lstat(below, dir_fd=here)
                    is_folder = stat.S_ISDIR(status.st_mode)
                    # A folder's own time of change tells of a change in it, which is looked at by itself.
                    seen = (status.st_ino,) if is_folder else (status.st_ino, status.st_size, status.st_mtime_ns)
                    place = "/".join([*names[1:], below])
                    digest.update(f"{place}\0{seen}\0".encode("utf-8", "surrogateescape"))
                    if is_folder:
                        pending.append([*names, below])
            finally:
                os.close(here)
    except OSError as error:
        raise refused(error, path, "be looked at") from None
    return digest.hexdigest()


def descend(folder, names):
    """Opens the folder that `names` lead to from an open one."""
    here = os.dup(folder)
    for name in names:
        try:
            below = os.open(name, FOLDER, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def is_cover(status, trail):
    """Whether an empty file system stands in the place of a folder: what is mounted below the workspace is the sandbox's."""
    return status.st_dev != trail.levels[0][1][0] and stat.S_IMODE(status.st_mode) == COVER_MODE


def tally(trail, found, path, ctx, most):
    """Adds what lies in the folder at hand to `found`; the names of the folders in it."""
    below = []
    with os.scandir(trail.here()) as entries:
        for entry in entries:
            number = found[0] + found[1]
            late = number % 256 == 0 and (ctx.remaining() < 1 or time.process_time() > MOST_CPU)
            if number >= most or late:
                why = "in the time of one call" if late else f"than {most} files and folders"
                place = shown([path, *trail.names()])
                raise Refused("TooMany", f"more lies below {path} {why}; the count stopped at {place}")
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if stat.S_ISDIR(status.st_mode):
                found[1] += 1
                found[3] += is_cover(status, trail)
                below.append(entry.name)
            else:
                found[0] += 1
                found[2] += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return below
