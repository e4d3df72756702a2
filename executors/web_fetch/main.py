"""Fetches one page over HTTP or HTTPS and gives its text, with the structure of a page as Markdown.

It can reach exactly the host and port of the address that it was called with. A redirect within them is followed; one
that leads elsewhere is told, because going there is for somebody else to decide.
"""

import hashlib
import html.parser
import http.client
import re
import socket
import ssl
import urllib.parse
import zlib

MOST_BYTES = 2_000_000
MOST_TEXT = 1_000_000
MOST_REDIRECTS = 3
REDIRECTS = (301, 302, 303, 307, 308)
TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/rss+xml", "application/atom+xml")
HEADERS = {
    "Accept": "text/html, text/plain, application/xhtml+xml, application/json;q=0.9, text/*;q=0.8",
    "Accept-Encoding": "gzip, identity",
    "Connection": "close",
    "User-Agent": "Metnos/1.0",
}


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


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


def fetch(url, ctx):
    """The answer that is no redirect: address, response and body."""
    first = None
    for _ in range(MOST_REDIRECTS + 1):
        scheme, host, port, path = place(url)
        first = first or (scheme, host, port)
        if (scheme, host, port) != first:
            raise Refused("Redirect", f"the page has moved to {url[:500]}, which is another place; fetch that address if it is meant")
        connection = connect(scheme, host, port, ctx.remaining())
        try:
            connection.request("GET", path, headers=HEADERS)
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


class Page(html.parser.HTMLParser):
    """A page as Markdown: headings, paragraphs, lists, links, tables, what is preformatted. No script, no style."""

    SILENT = {"script", "style", "noscript", "template", "svg", "head", "iframe", "object"}
    BLOCKS = {"p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "ul", "ol", "table", "form", "blockquote", "figure", "dl", "dd", "dt", "address", "fieldset"}
    HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.out, self.size = [], 0
        self.title, self.in_title = [], False
        self.silent, self.pre, self.links, self.lists = 0, 0, [], []

    def put(self, text):
        if self.size < MOST_TEXT:
            self.out.append(text)
            self.size += len(text)

    def handle_starttag(self, tag, attrs):
        if tag == "title":
            self.in_title = True
        elif tag in self.SILENT:
            self.silent += 1
        elif self.silent:
            return
        elif tag in self.HEADINGS:
            self.put("\n\n" + self.HEADINGS[tag])
        elif tag == "br":
            self.put("\n")
        elif tag == "hr":
            self.put("\n\n---\n\n")
        elif tag == "li":
            number = None
            if self.lists and self.lists[-1] is not None:
                self.lists[-1] += 1
                number = self.lists[-1]
            self.put("\n" + "  " * max(len(self.lists) - 1, 0) + (f"{number}. " if number else "- "))
        elif tag == "pre":
            self.pre += 1
            self.put("\n\n```\n")
        elif tag == "a":
            self.links.append(dict(attrs).get("href"))
            self.put("[")
        elif tag == "img":
            alternative = dict(attrs).get("alt")
            if alternative:
                self.put(f"[{alternative}]")
        elif tag == "tr":
            self.put("\n| ")
        elif tag in self.BLOCKS:
            self.put("\n\n")
            if tag in ("ul", "ol") and len(self.lists) < 20:
                self.lists.append(0 if tag == "ol" else None)

    def handle_endtag(self, tag):
        if tag == "title":
            self.in_title = False
        elif tag in self.SILENT:
            self.silent = max(self.silent - 1, 0)
        elif self.silent:
            return
        elif tag in self.HEADINGS:
            self.put("\n\n")
        elif tag == "pre":
            self.pre = max(self.pre - 1, 0)
            self.put("\n```\n\n")
        elif tag == "a" and self.links:
            target = self.links.pop()
            self.put(f"]({target})" if target and not target.lower().startswith(("javascript:", "data:")) else "]")
        elif tag in ("td", "th"):
            self.put(" | ")
        elif tag in self.BLOCKS:
            self.put("\n\n")
            if tag in ("ul", "ol") and self.lists:
                self.lists.pop()

    def handle_data(self, data):
        if self.in_title:
            self.title.append(data)
        elif not self.silent:
            self.put(data if self.pre else re.sub(r"\s+", " ", data))

    def text(self):
        text = "".join(self.out)
        text = re.sub(r"[ \t]+\n", "\n", text)
        text = re.sub(r"\n[ \t]+(?=[^\s\-\d])", "\n", text)
        return re.sub(r"\n{3,}", "\n\n", text).strip()


def as_text(body, content_type):
    """Title and text of what came."""
    kind = content_type.split(";")[0].strip().lower()
    if kind and not kind.startswith(TEXTS):
        raise Refused("NotText", f"the address holds {kind[:80]}, not a page of text")
    text = decode(body, content_type)
    if kind in ("text/html", "application/xhtml+xml") or (not kind and "<html" in text[:1000].lower()):
        page = Page()
        page.feed(text)
        page.close()
        return " ".join("".join(page.title).split())[:300], page.text()
    return "", text


def run(args, ctx):
    try:
        url, response, body, cut = fetch(args["url"], ctx)
        content_type = (response.getheader("Content-Type") or "")[:200]
        title, text = as_text(body, content_type)
    except Refused as refused:
        return {"ok": False, "error": {"class": refused.error_class, "message": str(refused)}}
    except PermissionError as error:
        return {"ok": False, "error": {"class": "Forbidden", "message": f"the address may not be reached: {error}"}}
    except socket.gaierror as error:
        return {"ok": False, "error": {"class": "DnsError", "message": f"no such place: {error}"}}
    except TimeoutError:
        return {"ok": False, "error": {"class": "Timeout", "message": "the server took too long"}}
    except ssl.SSLError as error:
        return {"ok": False, "error": {"class": "TlsError", "message": f"the server is not who it should be, or TLS failed: {error}"}}
    except (OSError, http.client.HTTPException, EOFError, zlib.error, ValueError) as error:
        return {"ok": False, "error": {"class": "Unreachable", "message": f"the page could not be read: {type(error).__name__}: {error}"[:500]}}
    truncated = cut or len(text) > MOST_TEXT
    return {
        "ok": True,
        "url": url,
        "status": response.status,
        "content_type": content_type,
        "title": title,
        "text": text[:MOST_TEXT].encode("utf-8", "replace").decode("utf-8"),
        "size": len(body),
        "truncated": truncated,
        "sha": hashlib.sha256(body).hexdigest(),
    }
