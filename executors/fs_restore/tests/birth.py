"""What fs_restore promises, case by case. sandboxd makes the files in a workspace of the case's own."""

KEEP = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NOTE = f".trash/{KEEP}.json"


def case(name, files, args, expect):
    return {"name": name, "files": files, "args": {"keep": KEEP, **args}, "expect": expect}


def cases():
    added = {"text": '{"of": "fs_append", "size": 4, "added": " and bread"}'}
    line = {"text": '{"of": "fs_append", "size": 4, "added": "- milk\\n"}'}
    first = {"text": '{"of": "fs_append", "size": 0, "added": "- milk\\n", "made": true}'}
    deleted = {"text": '{"of": "fs_delete", "ino": 0}'}
    moved = {"text": '{"of": "fs_move", "ino": 0}'}
    written = {"text": '{"of": "fs_write", "made": {}, "before": null}'}
    noted = {"text": '{"of": "note_add", "size": 4, "added": "\\n## now\\n\\nbread\\n", "made": false}'}
    made = {"text": '{"of": "note_add", "size": 0, "added": "## now\\n\\nbread\\n", "made": true}'}
    return [
        case(
            "a note is taken out of its notebook",
            {"a.md": {"text": "old\n\n## now\n\nbread\n"}, NOTE: noted},
            {"of": "note_add", "path": "a.md"},
            {"ok": True, "values": {"/what": "restored", "/path": "a.md", "/aside": ""}},
        ),
        case(
            "a notebook that was made for a note goes aside with it",
            {"notes/notes.md": {"text": "## now\n\nbread\n"}, NOTE: made},
            {"of": "note_add"},
            {"ok": True, "values": {"/what": "restored", "/aside": f"notes/.trash-{KEEP}-undone-notes.md"}},
        ),
        case(
            "a notebook that holds more by now stays",
            {"notes/notes.md": {"text": "## now\n\nbread\nand salt\n"}, NOTE: made},
            {"of": "note_add"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "a file that was made for a contact, and is gone by now, is nothing to take back",
            {NOTE: {"text": '{"of": "contact_add", "made": {"ino": 1}, "before": null}'}, "notes/a.md": {"text": "x"}},
            {"of": "contact_add"},
            {"ok": True, "values": {"/what": "nothing", "/path": "notes/contacts.md"}},
        ),
        case(
            "only a note and a contact may name no place",
            {NOTE: added},
            {"of": "fs_append"},
            {"ok": False, "class": "BadPath"},
        ),
        case(
            "what was added is taken out",
            {"a.md": {"text": "milk and bread"}, NOTE: added},
            {"of": "fs_append", "path": "a.md"},
            {"ok": True, "values": {"/what": "restored", "/path": "a.md"}},
        ),
        case(
            "what was not added, or taken out before, is left",
            {"a.md": {"text": "milk"}, NOTE: added},
            {"of": "fs_append", "path": "a.md"},
            {"ok": True, "values": {"/what": "nothing"}},
        ),
        case(
            "what was changed since is left as it is",
            {"a.md": {"text": "milk and bread and salt"}, NOTE: added},
            {"of": "fs_append", "path": "a.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "only the own lines are taken out where others have added theirs",
            {"a.md": {"text": "old\n- milk\n- salt\n"}, NOTE: line},
            {"of": "fs_append", "path": "a.md"},
            {"ok": True, "values": {"/what": "restored", "/aside": f".trash-{KEEP}-undone-a.md"}},
        ),
        case(
            "lines that others have moved up are found where they stand alone",
            {"a.md": {"text": "- milk\n- salt\n"}, NOTE: line},
            {"of": "fs_append", "path": "a.md"},
            {"ok": True, "values": {"/what": "restored"}},
        ),
        case(
            "lines that stand twice are left, as nobody knows whose they are",
            {"a.md": {"text": "- milk\n- milk\n- salt\n"}, NOTE: line},
            {"of": "fs_append", "path": "a.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "lines that are no more there, or no whole lines any more, are left",
            {"a.md": {"text": "old\n- milk chocolate\n- salt\n"}, NOTE: line},
            {"of": "fs_append", "path": "a.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "of a list that was made by it, only the own lines are taken out",
            {"a.md": {"text": "- milk\n- salt\n"}, NOTE: first},
            {"of": "fs_append", "path": "a.md"},
            {"ok": True, "values": {"/what": "restored"}},
        ),
        case(
            "what was deleted comes back from the trash",
            {f"n/.trash-{KEEP}-a.md": {"text": "x"}, NOTE: deleted},
            {"of": "fs_delete", "path": "n/a.md"},
            {"ok": True, "values": {"/what": "restored", "/path": "n/a.md"}},
        ),
        case(
            "nothing is replaced by what comes back",
            {f".trash-{KEEP}-a.md": {"text": "x"}, "a.md": {"text": "y"}, NOTE: deleted},
            {"of": "fs_delete", "path": "a.md"},
            {"ok": False, "class": "Exists"},
        ),
        case(
            "what is not in the trash any more is not found",
            {NOTE: deleted},
            {"of": "fs_delete", "path": "a.md"},
            {"ok": False, "class": "NotFound"},
        ),
        case(
            "another file in the place of the renamed one is left",
            {"b.md": {"text": "x"}, NOTE: moved},
            {"of": "fs_move", "path": "a.md", "to": "b.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "a file that was changed after it was written is left",
            {"a.md": {"text": "x"}, NOTE: written},
            {"of": "fs_write", "path": "a.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "an act without a note is not taken back",
            {"a.md": {"text": "x"}},
            {"of": "fs_write", "path": "a.md"},
            {"ok": False, "class": "NotFound"},
        ),
        case(
            "a note of another act is not believed",
            {"a.md": {"text": "x"}, NOTE: deleted},
            {"of": "fs_write", "path": "a.md"},
            {"ok": False, "class": "Changed"},
        ),
        case(
            "nothing outside is touched",
            {NOTE: deleted},
            {"of": "fs_delete", "path": "../a.md"},
            {"ok": False, "class": "PermissionDenied"},
        ),
    ]
