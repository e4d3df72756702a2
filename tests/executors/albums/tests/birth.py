"""What the executor for tests promises."""


def cases():
    files = {
        "notes/welcome.md": {"text": "welcome"},
        "~/Pictures/a.txt": {"text": "a picture"},
        "~/Albums/other": {"folder": True},
    }
    refused = {"ok": False, "class": "PermissionDenied"}
    return [
        {
            "name": "a copy is in the album",
            "files": files,
            "args": {"from": "~/Pictures/a.txt", "to": "~/Albums/2024/a.txt"},
            "expect": {"ok": True, "values": {"/size": 9, "/folders": ["2024", "Pictures"]}},
        },
        {
            "name": "where only reading was granted nothing is written",
            "files": files,
            "args": {"from": "~/Pictures/a.txt", "to": "~/Pictures/b.txt"},
            "expect": refused,
        },
        {
            "name": "beside the album nothing is written",
            "files": files,
            "args": {"from": "~/Pictures/a.txt", "to": "~/Albums/other/a.txt"},
            "expect": refused,
        },
    ]
