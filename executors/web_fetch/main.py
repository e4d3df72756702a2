"""Fetches one page over HTTP or HTTPS and gives its text, with the structure of a page as Markdown.

It can reach exactly the host and port of the address that it was called with. A redirect within them is followed; one
that leads elsewhere is told, because going there is for somebody else to decide.
"""

import hashlib
import html.parser
import re

from metnos_page import answer, decode, fetch
from metnos_web import Refused

MOST_TEXT = 1_000_000
TEXTS = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/rss+xml", "application/atom+xml")
ACCEPT = "text/html, text/plain, application/xhtml+xml, application/json;q=0.9, text/*;q=0.8"


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


def act(args, ctx):
    url, response, body, cut = fetch(args["url"], ctx, ACCEPT)
    content_type = (response.getheader("Content-Type") or "")[:200]
    title, text = as_text(body, content_type)
    return {
        "ok": True,
        "url": url,
        "status": response.status,
        "content_type": content_type,
        "title": title,
        "text": text[:MOST_TEXT].encode("utf-8", "replace").decode("utf-8"),
        "size": len(body),
        "truncated": cut or len(text) > MOST_TEXT,
        "sha": hashlib.sha256(body).hexdigest(),
    }


def run(args, ctx):
    return answer(act, args, ctx)
