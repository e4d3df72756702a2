"""What image_info promises, case by case."""

import base64
import struct


def as_file(content):
    return {"base64": base64.b64encode(content).decode("ascii")}


def exif(turned=1):
    """What a camera writes: its name, which side is up, the time and the place."""
    texts = b"Camera\0\0" + b"2026:08:14 18:30:05\0" + struct.pack("<6I", 45, 1, 30, 1, 0, 1) + struct.pack("<6I", 9, 1, 15, 1, 0, 1)
    begin = 8 + 2 + 12 * 4 + 4 + 2 + 12 + 4 + 2 + 12 * 4 + 4
    main = struct.pack("<H", 4) + struct.pack("<HHII", 0x110, 2, 7, begin) + struct.pack("<HHIHH", 0x112, 3, 1, turned, 0)
    main += struct.pack("<HHII", 0x8769, 4, 1, 62) + struct.pack("<HHII", 0x8825, 4, 1, 80) + bytes(4)
    taken = struct.pack("<H", 1) + struct.pack("<HHII", 0x9003, 2, 20, begin + 8) + bytes(4)
    place = struct.pack("<H", 4) + struct.pack("<HHI4s", 1, 2, 2, b"N") + struct.pack("<HHII", 2, 5, 3, begin + 28)
    place += struct.pack("<HHI4s", 3, 2, 2, b"W") + struct.pack("<HHII", 4, 5, 3, begin + 52) + bytes(4)
    return b"II*\0" + struct.pack("<I", 8) + main + taken + place + texts


def jpeg(width, height, *segments):
    """The beginning of a JPEG, with these segments before its size."""
    head = b"".join(b"\xff" + bytes([kind]) + struct.pack(">H", len(body) + 2) + body for kind, body in segments)
    return as_file(b"\xff\xd8" + head + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(20))


def refused(error_class, **case):
    return {**case, "expect": {"ok": False, "class": error_class}}


def size(name, content, form, width=640, height=480, **more):
    return {"name": name, "files": {"a": content}, "args": {"path": "a"}, "expect": {"ok": True, "values": {"/format": form, "/width": width, "/height": height, **more}}}


def cases():
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(5)
    webp = b"RIFF" + bytes(4) + b"WEBPVP8X" + struct.pack("<II", 10, 0) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")
    told = {"/camera": "Camera", "/taken": "2026-08-14 18:30", "/latitude": 45.5, "/longitude": -9.25}
    return [
        size("a JPEG says its size", jpeg(640, 480, (0xE0, b"JFIF\0")), "JPEG"),
        size("and what its camera has written", jpeg(640, 480, (0xE1, b"Exif\0\0" + exif())), "JPEG", **told),
        size("a rotated JPEG has the size with which it is displayed", jpeg(640, 480, (0xE1, b"Exif\0\0" + exif(6))), "JPEG", 480, 640),
        size("what is broken in that is left out", jpeg(640, 480, (0xE1, b"Exif\0\0II*\0" + b"\xff" * 40)), "JPEG"),
        size("a PNG says its size", as_file(png), "PNG"),
        size("a GIF says its size", as_file(b"GIF89a" + struct.pack("<HH", 640, 480)), "GIF"),
        size("a WebP says its size", as_file(webp), "WebP"),
        size("a HEIC says its size, and not that of its thumbnail",
             as_file(b"\0\0\0\x18ftypheic" + b"ispe\0\0\0\0" + struct.pack(">II", 64, 48) + b"ispe\0\0\0\0" + struct.pack(">II", 640, 480)), "HEIC"),
        refused("NotAnImage", name="a text is no image", files={"a": {"text": "hello"}}, args={"path": "a"}),
        refused("NotAnImage", name="an empty file is none", files={"a": {"text": ""}}, args={"path": "a"}),
        refused("NotAnImage", name="what ends behind its beginning is none", files={"a": as_file(b"\xff\xd8\xff\xe1\0")}, args={"path": "a"}),
        refused("NotAnImage", name="an image of no width is none", files={"a": jpeg(0, 480)}, args={"path": "a"}),
        refused("PermissionDenied", name="a link is not followed", files={"a": {"link": "/etc/passwd"}}, args={"path": "a"}),
        refused("NotFound", name="what is not there is not found", files={}, args={"path": "a"}),
    ]
