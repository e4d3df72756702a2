"""Tells what an image file of the workspace says of itself: its format and size, and when, with what and where it was taken.

Only headers are read: JPEG, PNG, GIF, WebP, BMP, TIFF, and the sizes of HEIC and AVIF. What a file says of itself may be wrong.
"""

import os
import re
import struct

from metnos_documents import opened
from metnos_files import Refused, answer, one_name

# How much of the beginning of a file is read: in a JPEG, what a camera has written may be long.
MOST_HEAD = 1_000_000
MOST_TEXT = 100
MOST_TAGS = 512
# The sides of an image: more is not one.
MOST_SIDE = 1_000_000
# Kinds of values in TIFF 6.0: how many bytes each has.
SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8}
DAY = re.compile(r"(\d{4}):(\d\d):(\d\d) (\d\d):(\d\d)")


class NoTag(Exception):
    """What a tag points at is not there."""


class Tags:
    """The tags of TIFF and Exif (Exif 3.0, 4.6): what camera and time stand in."""

    def __init__(self, data):
        if data[:4] not in (b"II*\0", b"MM\0*"):
            raise NoTag
        self.data, self.order = data, "<" if data[:2] == b"II" else ">"

    def number(self, at, kind="I"):
        size = struct.calcsize(kind)
        piece = self.data[at:at + size]
        if at < 0 or len(piece) < size:
            raise NoTag
        return struct.unpack(self.order + kind, piece)[0]

    def folder(self, at):
        """The tags of one directory: kind, count, and where the value is."""
        found = {}
        for number in range(min(self.number(at, "H"), MOST_TAGS)):
            entry = at + 2 + 12 * number
            tag, kind, count = self.number(entry, "H"), self.number(entry + 2, "H"), self.number(entry + 4)
            size = SIZES.get(kind, 0) * count
            found[tag] = kind, count, entry + 8 if size <= 4 else self.number(entry + 8)
        return found

    def text(self, tag):
        kind, count, at = tag
        if kind not in (2, 7) or at < 0:
            raise NoTag
        text = self.data[at:at + min(count, MOST_TEXT)].split(b"\0")[0].decode("utf-8", "replace")
        return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())

    def whole(self, tag):
        kind, _, at = tag
        if kind not in (3, 4):
            raise NoTag
        return self.number(at, "H" if kind == 3 else "I")

    def fractions(self, tag):
        kind, count, at = tag
        if kind != 5 or not 1 <= count <= 3:
            raise NoTag
        pairs = [(self.number(at + 8 * number), self.number(at + 8 * number + 4)) for number in range(count)]
        if not all(below for _, below in pairs):
            raise NoTag
        return [above / below for above, below in pairs]


def try_each(*steps):
    """Runs steps of which each may find nothing."""
    for step in steps:
        try:
            step()
        except (NoTag, KeyError):
            continue


def place_of(tags, places):
    """Where an image was taken, in degrees: north and east are positive."""
    def degrees(side, value, negative, most):
        parts = tags.fractions(places[value]) + [0, 0]
        found = parts[0] + parts[1] / 60 + parts[2] / 3600
        if not found <= most:
            raise NoTag
        return round(-found if tags.text(places[side]).upper() == negative else found, 6)
    return degrees(1, 2, "S", 90), degrees(3, 4, "W", 180)


def of_exif(data, told):
    """Adds what Exif says."""
    tags = Tags(data)
    main = tags.folder(tags.number(4))

    def camera():
        maker, model = (tags.text(main[tag]) if tag in main else "" for tag in (0x10F, 0x110))
        name = model if model.startswith(maker) else f"{maker} {model}".strip()
        if name:
            told["camera"] = name

    def taken():
        exif = tags.folder(tags.whole(main[0x8769])) if 0x8769 in main else {}
        text = tags.text(exif[0x9003] if 0x9003 in exif else main[0x132])
        day = DAY.match(text)
        if day and "0001" <= day.group(1) and "01" <= day.group(2) <= "12" and "01" <= day.group(3) <= "31":
            told["taken"] = "{}-{}-{} {}:{}".format(*day.groups())

    def place():
        told["latitude"], told["longitude"] = place_of(tags, tags.folder(tags.whole(main[0x8825])))
        told["place"] = f"{told['latitude']}, {told['longitude']}"

    def turned():
        told["turned"] = tags.whole(main[0x112]) in (5, 6, 7, 8)

    try_each(camera, taken, place, turned)
    return tags, main


def of_jpeg(head, told):
    """Walks the segments up to the one with the size (ITU-T T.81, B.2.2)."""
    at = 2
    while at + 9 < len(head):
        if head[at] != 0xFF:
            raise NoTag
        kind, size = head[at + 1], int.from_bytes(head[at + 2:at + 4], "big")
        if kind == 0xFF or size < 2 and kind not in range(0xD0, 0xD9):
            at += 1
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return struct.unpack(">HH", head[at + 5:at + 9])[::-1]
        elif kind in range(0xD0, 0xD9):
            at += 2
        else:
            if kind == 0xE1 and head[at + 4:at + 10] == b"Exif\0\0":
                try_each(lambda: of_exif(head[at + 10:at + 2 + size], told))
            at += 2 + size
    raise NoTag


def of_png(head, told):
    at = head.find(b"eXIf")
    if at > 4:
        size = int.from_bytes(head[at - 4:at], "big")
        try_each(lambda: of_exif(head[at + 4:at + 4 + size], told))
    return struct.unpack(">II", head[16:24])


def of_webp(head, told):
    at = head.find(b"EXIF")
    if at > 0:
        body = head[at + 8:at + 8 + int.from_bytes(head[at + 4:at + 8], "little")]
        try_each(lambda: of_exif(body.removeprefix(b"Exif\0\0"), told))
    kind = head[12:16]
    if kind == b"VP8 ":
        width, height = struct.unpack("<HH", head[26:30])
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    raise NoTag


def of_heif(head, _told):
    """The largest of the sizes in it: a thumbnail and the tiles of an image have theirs, too (ISO/IEC 23008-12, 6.5.3)."""
    sizes = [struct.unpack(">II", found.group(1)) for found in re.finditer(rb"ispe\0\0\0\0(.{8})", head, re.DOTALL)]
    if not sizes:
        raise NoTag
    return max(sizes, key=lambda size: size[0] * size[1])


def of_tiff(head, told):
    tags, main = of_exif(head, told)
    return tags.whole(main[0x100]), tags.whole(main[0x101])


def format_of(head):
    """The format of a file by how it begins, and what reads its size."""
    if head.startswith(b"\xff\xd8\xff"):
        return "JPEG", of_jpeg
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG", of_png
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "GIF", lambda head, _: struct.unpack("<HH", head[6:10])
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "WebP", of_webp
    if head.startswith(b"BM") and len(head) >= 26:
        return "BMP", lambda head, _: tuple(map(abs, struct.unpack("<ii", head[18:26])))
    if head[4:8] == b"ftyp" and head[8:12] in (b"heic", b"heix", b"mif1", b"avif", b"msf1", b"hevc"):
        return "AVIF" if head[8:12] == b"avif" else "HEIC", of_heif
    if head.startswith((b"II*\0", b"MM\0*")):
        return "TIFF", of_tiff
    return None


def act(args, ctx):
    path = args["path"]
    names, file = opened(ctx.workspace, path)
    try:
        size = one_name(file, path).st_size
        head = os.pread(file, MOST_HEAD, 0)
    finally:
        os.close(file)
    known = format_of(head)
    if known is None:
        raise Refused("NotAnImage", f"{path} is no image of a kind that I know: JPEG, PNG, GIF, WebP, HEIC, AVIF, BMP, TIFF")
    told = {}
    try:
        width, height = known[1](head, told)
    except (NoTag, KeyError, struct.error):
        raise Refused("NotAnImage", f"{path} begins like an image ({known[0]}) and is none") from None
    if not (0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE):
        raise Refused("NotAnImage", f"{path} says that it is {width} by {height}, which no image is")
    if told.pop("turned", False):
        # It is shown on its side.
        width, height = height, width
    return {"ok": True, "path": "/".join(names), "format": known[0], "width": width, "height": height, "size": size, **told}


def run(args, ctx):
    return answer(act, args, ctx)
