"""Pages of the web, part of what executors with network share: one address over HTTP or HTTPS, with redirects inside its place, and
its text by the encoding that it names. `host.py` makes it the module `metnos_page`.
"""

import http.client
import re
import socket
import ssl
import urllib.parse
import zlib

from metnos_web import Refused

MOST_BYTES = 2_000_000
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = {"Accept-Encoding": "gzip, identity", "Connection": "close", "User-Agent": "Metnos/1.0"}


def place(url):
    """Scheme, host, port and the rest of an address."""
    if not url.isascii() or any(character <= " " or character == "\x7f" or character == "\\" for character in url):
        raise Refused("BadUrl", "the address holds a blank or a character that no address has; write a name such as bücher.example as xn--bcher-kva.example")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Refused("BadUrl", f"{url}: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused("BadUrl", f"{url} is no address of a page; it begins with https:// or http:// and a name")
    if parts.username is not None or parts.password is not None:
        raise Refused("BadUrl", "an address with a user name or a password in it is not fetched")
    path = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return parts.scheme, parts.hostname.lower(), port or (443 if parts.scheme == "https" else 80), path


def connect(scheme, host, port, timeout):
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=timeout)


def read(response, ctx):
    """The body, unpacked, at most so much of it, and whether there was more."""
    encoding = (response.getheader("Content-Encoding") or "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise Refused("NotText", f"the page is packed in a way that is not understood ({encoding[:40]})")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if "gzip" in encoding else None
    parts, size, total = [], 0, int(response.getheader("Content-Length") or 0)
    if total > MOST_BYTES:
        raise Refused("TooLarge", f"the page has {total} bytes; at most {MOST_BYTES} are fetched")
    while size <= MOST_BYTES:
        part = response.read(65536)
        if not part:
            break
        if unpack is not None:
            part = unpack.decompress(part, MOST_BYTES + 1 - size)
        parts.append(part)
        size += len(part)
        ctx.progress(size, max(total, size) if total else 0)
    body = b"".join(parts)
    return body[:MOST_BYTES], len(body) > MOST_BYTES


def fetch(url, ctx, accept):
    """The answer that is no redirect: address, response, body, and whether there was more of it."""
    first = None
    for _ in range(MOST_REDIRECTS + 1):
        scheme, host, port, path = place(url)
        first = first or (scheme, host, port)
        if (scheme, host, port) != first:
            raise Refused("Redirect", f"the page has moved to {url[:500]}, which is another place; ask for that address if it is meant")
        connection = connect(scheme, host, port, ctx.remaining())
        try:
            connection.request("GET", path, headers={"Accept": accept, **HEADERS})
            response = connection.getresponse()
            location = response.getheader("Location")
            if response.status in REDIRECTS and location:
                url = urllib.parse.urljoin(url, location)
                continue
            if not 200 <= response.status < 300:
                raise Refused("HttpError", f"{host} answered {response.status} {str(response.reason)[:80]}")
            body, cut = read(response, ctx)
            return url, response, body, cut
        finally:
            connection.close()
    raise Refused("Redirect", f"{host} redirects more than {MOST_REDIRECTS} times")


def decode(body, content_type):
    """Text by the encoding that the server or the page names."""
    named = re.search(r"charset=[\"']?([A-Za-z0-9_.:-]+)", content_type)
    if named is None:
        named = re.search(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_.:-]+)", body[:4096], re.IGNORECASE)
    name = named.group(1) if named else "utf-8"
    if isinstance(name, bytes):
        name = name.decode("ascii")
    try:
        return body.decode(name, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def answer(act, args, ctx):
    """What `act` returns, or its error as the contract has it."""
    def error(error_class, message):
        return {"ok": False, "error": {"class": error_class, "message": message}}

    try:
        return act(args, ctx)
    except Refused as refused:
        return error(refused.error_class, str(refused))
    except PermissionError as why:
        return error("Forbidden", f"the address may not be reached: {why}")
    except socket.gaierror as why:
        return error("DnsError", f"no such place: {why}")
    except TimeoutError:
        return error("Timeout", "the server took too long")
    except ssl.SSLError as why:
        return error("TlsError", f"the server is not who it should be, or TLS failed: {why}")
    except (OSError, http.client.HTTPException, EOFError, zlib.error, ValueError) as why:
        return error("Unreachable", f"the page could not be read: {type(why).__name__}: {why}"[:500])
