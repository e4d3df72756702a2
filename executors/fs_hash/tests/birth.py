"""What fs_hash promises, case by case."""

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def cases():
    files = {"a": {"text": "abc"}, "b": {"text": "abc"}, "c": {"text": "abd"}}
    return [
        {
            "name": "the digest of a file is that of its bytes (FIPS 180-2, B.1)",
            "files": files,
            "args": {"path": "a"},
            "expect": {"ok": True, "values": {"/sha": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "/size": 3}},
        },
        {"name": "an empty file has one, too", "files": {"a": {"text": ""}}, "args": {"path": "a"}, "expect": {"ok": True, "values": {"/sha": EMPTY, "/size": 0}}},
        {"name": "two files with the same bytes are the same", "files": files, "args": {"path": "a", "other": "b"}, "expect": {"ok": True, "values": {"/same": True}}},
        {"name": "and with others are not", "files": files, "args": {"path": "a", "other": "c"}, "expect": {"ok": True, "values": {"/same": False}}},
        refused("NotFound", name="what is not there has none", files=files, args={"path": "a", "other": "d"}),
        refused("NotAFile", name="a folder has none", files={"a": {"folder": True}}, args={"path": "a"}),
        refused("NotAFile", name="a pipe is not waited for", files={"a": {"fifo": True}}, args={"path": "a"}),
        refused("PermissionDenied", name="a link is not followed", files={"a": {"link": "/etc/passwd"}}, args={"path": "a"}),
        refused("PermissionDenied", name="a path that climbs out is denied", files={}, args={"path": "../a"}),
    ]
