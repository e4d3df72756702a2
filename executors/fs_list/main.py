"""Lists one folder of the workspace, and says honestly what is missing from the list.

It walks down from the workspace folder by folder, follows no link and opens no file. Files that are named like secrets are
counted and not listed; what is hidden, and the executors, are listed when they are asked for.
"""

import os
import stat

from metnos_files import answer, is_draft, is_kept_back, is_secret_name, open_below, split

DEFAULT_LIMIT = 200


def describe(name, folder, path):
    """One entry of the list, or nothing when it cannot be described; `path` is where it lies below the workspace."""
    try:
        name.encode("utf-8")
        status = os.lstat(name, dir_fd=folder)
    except (OSError, UnicodeEncodeError):
        return None
    if stat.S_ISREG(status.st_mode):
        return {"name": name, "path": path, "kind": "file", "size": status.st_size}
    if stat.S_ISDIR(status.st_mode):
        return {"name": name, "path": path, "kind": "folder", "size": 0}
    if stat.S_ISLNK(status.st_mode):
        return {"name": name, "path": path, "kind": "link", "size": 0}
    return {"name": name, "path": path, "kind": "other", "size": 0}


def act(args, ctx):
    path = args.get("path", ".")
    limit = args.get("limit", DEFAULT_LIMIT)
    names = split(path, top=True, example="notes")
    folder = open_below(ctx.workspace, names, path)
    try:
        hidden, top = args.get("hidden", False), not names
        there = [name for name in os.listdir(folder) if not is_draft(name) and (hidden or not is_kept_back(name, top))]
        found = sorted(name for name in there if not is_secret_name(name))
        entries = []
        failed = 0
        looked_at = 0
        for name in found:
            if len(entries) == limit:
                break
            looked_at += 1
            entry = describe(name, folder, "/".join([*names, name]))
            if entry is None:
                failed += 1
            else:
                entries.append(entry)
    finally:
        os.close(folder)
    result = {
        "ok": True,
        "path": "/".join(names) or ".",
        "entries": entries,
        "total": len(found),
        "returned": len(entries),
        "truncated": looked_at < len(found),
        "failed": failed,
    }
    if len(found) < len(there):
        result["omitted"] = len(there) - len(found)
    return result


def run(args, ctx):
    return answer(act, args, ctx)
