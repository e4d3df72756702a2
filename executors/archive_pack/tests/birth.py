"""What archive_pack promises, case by case."""


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    folder = {"photos/a.md": {"text": "a"}, "photos/b/c.md": {"text": "perché"}}
    return [
        {
            "name": "a folder is packed with all in it",
            "files": folder,
            "args": {"path": "photos", "to": "photos.zip"},
            "expect": {"ok": True, "values": {"/made": "photos.zip", "/files": 2, "/skipped": 0}},
        },
        {
            "name": "a file is packed, under a name of one's own",
            "files": folder,
            "args": {"path": "photos/a.md", "to": "photos/x.zip"},
            "expect": {"ok": True, "values": {"/made": "photos/x.zip", "/files": 1}},
        },
        {
            "name": "links and secrets stay out, and are counted",
            "files": {**folder, "photos/l": {"link": "/etc/passwd"}, "photos/id_rsa": {"text": "x"}, "photos/k": {"text": "-----BEGIN PRIVATE KEY-----"},
                      "photos/.hidden": {"text": "x"}},
            "args": {"path": "photos", "to": "photos.zip"},
            "expect": {"ok": True, "values": {"/files": 2, "/skipped": 3}},
        },
        {
            "name": "an empty folder is packed",
            "files": {"photos": {"folder": True}},
            "args": {"path": "photos", "to": "photos.zip"},
            "expect": {"ok": True, "values": {"/files": 0}},
        },
        refused("Exists", name="what is there is not replaced", files={**folder, "photos.zip": {"text": "x"}}, args={"path": "photos", "to": "photos.zip"}),
        refused("OtherFolder", name="the archive lies beside what is packed", files=folder, args={"path": "photos/a.md", "to": "a.zip"}),
        refused("BadPath", name="an archive ends in .zip", files=folder, args={"path": "photos", "to": "photos.md"}),
        refused("BadPath", name="the workspace is not packed as a whole", files=folder, args={"path": ".", "to": "all.zip"}),
        refused("PermissionDenied", name="private folders are not packed as a whole", files={"people/anna/a.md": {"text": "x"}}, args={"path": "people", "to": "people.zip"}),
        refused("PermissionDenied", name="nor is one of them", files={"people/anna/a.md": {"text": "x"}}, args={"path": "people/anna", "to": "people/anna.zip"}),
        refused("PermissionDenied", name="a secret is not packed", files={"secrets.env": {"text": "x"}}, args={"path": "secrets.env", "to": "a.zip"}),
        refused("PermissionDenied", name="a link is not packed", files={"a": {"link": "/etc/passwd"}}, args={"path": "a", "to": "a.zip"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files={}, args={"path": "../a", "to": "a.zip"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a", "to": "a.zip"}),
    ]
