"""What archive_unpack promises, case by case."""

import base64
import gzip
import io
import tarfile
import zipfile


def as_file(content):
    return {"base64": base64.b64encode(content).decode("ascii")}


def zipped(*entries):
    """A ZIP archive of names with texts, and of entries of other kinds; a name may stand in it twice."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text, *kind in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind[0] if kind else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return as_file(made.getvalue())


def tarred(*entries, compressed=True):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, text, kind in entries:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(text) if kind == tarfile.REGTYPE else 0
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            archive.addfile(info, io.BytesIO(text.encode("ascii")))
    return as_file(gzip.compress(made.getvalue()) if compressed else made.getvalue())


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def bomb():
    """A TAR of forty million zeros, which are next to nothing when compressed."""
    info = tarfile.TarInfo("a")
    info.size = 40_000_000
    return as_file(gzip.compress(info.tobuf() + bytes(info.size)))


def hostile():
    """Names and kinds of entries of which one alone refuses the whole archive."""
    good = ("a.md", "a")
    names = ("/etc/x", "../x", "a/../../x", "~/x", "C:/x", "a\\x", ".trash/x", "x" * 300, "/".join("abcdefghij" * 4), ".metnos-" + "0" * 32 + ".draft")
    for number, name in enumerate(names):
        yield refused("BadArchive", name=f"a name that leads elsewhere or is none is refused ({number})", files={"a.zip": zipped(good, (name, "x"))}, args={"path": "a.zip", "to": "a"})
    yield refused("BadArchive", name="a link in a ZIP is refused", files={"a.zip": zipped(good, ("l", "/etc/passwd", 0o120777))}, args={"path": "a.zip", "to": "a"})
    kinds = (("symbolic link", tarfile.SYMTYPE), ("hard link", tarfile.LNKTYPE), ("device", tarfile.CHRTYPE), ("pipe", tarfile.FIFOTYPE))
    for kind, mark in kinds:
        files = {"a.tgz": tarred(("a.md", "a", tarfile.REGTYPE), ("l", "", mark))}
        yield refused("BadArchive", name=f"a {kind} in a TAR is refused", files=files, args={"path": "a.tgz", "to": "a"})


def cases():
    good = {"in/photos.zip": zipped(("a.md", "a"), ("b/c.md", "perché"), ("d/", ""))}
    return [
        {
            "name": "an archive is unpacked into a new folder",
            "files": good,
            "args": {"path": "in/photos.zip", "to": "in/photos"},
            "expect": {"ok": True, "values": {"/made": "in/photos", "/files": 2, "/bytes": 8}},
        },
        {
            "name": "a TAR.GZ is unpacked under a name of one's own",
            "files": {"b.tar.gz": tarred(("x", "", tarfile.DIRTYPE), ("x/a", "a", tarfile.REGTYPE))},
            "args": {"path": "b.tar.gz", "to": "c"},
            "expect": {"ok": True, "values": {"/made": "c", "/files": 1, "/bytes": 1}},
        },
        {
            "name": "a plain TAR is unpacked",
            "files": {"b.tar": tarred(("a", "aa", tarfile.REGTYPE), compressed=False)},
            "args": {"path": "b.tar", "to": "b"},
            "expect": {"ok": True, "values": {"/made": "b", "/files": 1, "/bytes": 2}},
        },
        *hostile(),
        refused("BadArchive", name="a name that stands twice is refused", files={"a.zip": zipped(("a", "1"), ("a", "2"))}, args={"path": "a.zip", "to": "a"}),
        refused("BadArchive", name="an empty archive is refused", files={"a.zip": zipped()}, args={"path": "a.zip", "to": "a"}),
        refused("BadArchive", name="one that ends too early is refused", files={"a.zip": {"base64": "UEsDBAAAAAA="}}, args={"path": "a.zip", "to": "a"}),
        refused("TooLarge", name="a bomb is not unpacked", files={"a.zip": zipped(("a", b"0" * 40_000_000))}, args={"path": "a.zip", "to": "a"}),
        refused("TooLarge", name="nor is one that is a stream", files={"a.tgz": bomb()}, args={"path": "a.tgz", "to": "a"}),
        refused("TooLarge", name="many thousand entries are not unpacked", files={"a.zip": zipped(*((f"{n}", "") for n in range(2_000)))}, args={"path": "a.zip", "to": "a"}),
        refused("NotAnArchive", name="a text is no archive", files={"a.zip": {"text": "hello"}}, args={"path": "a.zip", "to": "a"}),
        refused("Exists", name="what is there is not added to", files={**good, "in/photos": {"folder": True}}, args={"path": "in/photos.zip", "to": "in/photos"}),
        refused("OtherFolder", name="the folder lies beside the archive", files=good, args={"path": "in/photos.zip", "to": "photos"}),
        refused("BadPath", name="nothing takes the place of what is Metnos's own", files={"SOUL.md.zip": zipped(("a", "a"))}, args={"path": "SOUL.md.zip", "to": "SOUL.md"}),
        refused("PermissionDenied", name="a link is not followed", files={"a.zip": {"link": "/etc/passwd"}}, args={"path": "a.zip", "to": "a"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a.zip", "to": "a"}),
    ]
