"""Reads what is new in a feed (RSS or Atom): the latest items, or, called at a set time, those that the last call has not told.

The address may also be that of a page which names its feed. It can reach exactly the host and port of the address that it was called
with. A feed at another host is an error that names its address.
"""

import datetime
import email.utils
import hashlib
import html
import html.parser
import re
import urllib.parse
import xml.parsers.expat

from metnos_page import answer, decode, fetch
from metnos_web import Refused, plain

ACCEPT = "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.9, text/html;q=0.5"
FEEDS = ("application/rss+xml", "application/atom+xml")
# The most items of an answer: for a feed that is read for the first time, and for new items later.
FIRST, MOST = 5, 20
# The most items that are read, and the most identities in `seen`.
MOST_ITEMS = 200
MOST_ELEMENTS, DEEPEST = 40_000, 40
LONGEST_TITLE, LONGEST_TEXT, LONGEST_LINK = 200, 280, 2_000
# What of an item is of use, by what it is called in RSS and in Atom.
PARTS = {
    "title": "title", "link": "link", "guid": "id", "id": "id", "description": "text", "summary": "text",
    "pubDate": "date", "date": "date", "updated": "date", "published": "date",
}


class Feed:
    """The items of a document: a dictionary of texts for each. Nothing that it declares is taken for anything."""

    def __init__(self, body):
        self.title, self.items, self.is_feed = "", [], False
        self._open, self._count = [], 0
        parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
        parser.EntityDeclHandler = self._declares
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.buffer_text = True
        try:
            parser.Parse(body, True)
        except (xml.parsers.expat.ExpatError, ValueError, LookupError):
            # Items before the error are kept: many feeds are malformed at one place.
            self.is_feed = self.is_feed and bool(self.items)

    def _declares(self, *_):
        raise ValueError("a document that declares entities is not read")

    def _begin(self, name, attributes):
        self._count += 1
        if len(self._open) >= DEEPEST or self._count > MOST_ELEMENTS:
            raise ValueError("a document as deep or long as this is not read")
        name = name.rpartition(" ")[2]
        if not self._open:
            self.is_feed = name in ("rss", "RDF", "feed")
        if name in ("item", "entry") and len(self.items) < MOST_ITEMS:
            self.items.append({})
        within = any(one in ("item", "entry") for one, _ in self._open)
        if name == "link" and within and self.items and attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
            self.items[-1].setdefault("link", attributes["href"])
        self._open.append((name, []))

    def _text(self, text):
        if self._open and sum(map(len, self._open[-1][1])) < 20_000:
            self._open[-1][1].append(text)

    def _end(self, _name):
        name, texts = self._open.pop()
        text, above = "".join(texts).strip(), [one for one, _ in self._open]
        if not text or name not in PARTS:
            return
        if above and above[-1] in ("item", "entry") and self.items:
            self.items[-1].setdefault(PARTS[name], text)
        elif name == "title" and above and above[-1] in ("channel", "feed"):
            self.title = self.title or text


class Alternates(html.parser.HTMLParser):
    """The feeds that a page names in its head."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found = []

    def handle_starttag(self, tag, attrs):
        said = dict(attrs)
        kind, rel = (said.get("type") or "").lower(), (said.get("rel") or "").lower().split()
        if tag == "link" and "alternate" in rel and kind in FEEDS and said.get("href") and len(self.found) < 20:
            self.found.append(said["href"])


def without_marks(text):
    """One line of a text that may be HTML."""
    return plain(html.unescape(re.sub(r"<[^<>]{0,2000}>", " ", text[:20_000])), LONGEST_TEXT)


def day_of(text):
    """`2026-11-30`, from what either kind of feed writes; nothing where it is no date."""
    try:
        return email.utils.parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        pass
    try:
        return datetime.date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def link_of(base, text):
    """An address that may be opened; nothing for any other."""
    try:
        link = urllib.parse.urljoin(base, text.strip())
    except ValueError:
        return ""
    fits = link.startswith(("http://", "https://")) and len(link) <= LONGEST_LINK and not re.search(r"[\s\x00-\x1f]", link)
    return link if fits else ""


def name_of(item):
    """What an item is known by: a few letters of a digest."""
    known = item.get("id") or item.get("link") or item.get("title") or ""
    return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:12]


def read(url, ctx):
    """The feed at an address, or the one that the page there names; and where it is."""
    for _ in range(2):
        url, response, body, _cut = fetch(url, ctx, ACCEPT)
        feed = Feed(body)
        if feed.is_feed:
            return url, feed
        page = Alternates()
        page.feed(decode(body[:500_000], response.getheader("Content-Type") or ""))
        place = urllib.parse.urlsplit(url)[:2]
        named = [urllib.parse.urljoin(url, link) for link in page.found]
        here = [link for link in named if urllib.parse.urlsplit(link)[:2] == place and link != url]
        if not here:
            where = f"; the page names {named[0][:500]}, which is another place: ask for that address" if named else ""
            raise Refused("NoFeed", f"there is no feed at {url[:500]}{where}")
        url = here[0]
    raise Refused("NoFeed", f"what the page names at {url[:500]} is no feed")


def act(args, ctx):
    url, feed = read(args["url"], ctx)
    known = args.get("seen", "").split()
    items = [(name_of(item), item) for item in feed.items if item.get("title") or item.get("link")]
    fresh = [item for name, item in items if name not in known]
    told = fresh[:MOST if known else FIRST]
    shown = [
        {
            "title": plain(html.unescape(item.get("title") or item["link"]), LONGEST_TITLE),
            "link": link_of(url, item.get("link") or ""),
            "date": day_of(item.get("date") or ""),
            "text": without_marks(item.get("text") or ""),
        }
        for item in told
    ]
    # Newest first. Items that have left the feed stay as long as there is room, because some feeds add old items again.
    names = list(dict.fromkeys([name for name, _ in items] + known))[:MOST_ITEMS]
    return {
        "ok": True,
        "url": url,
        "title": plain(html.unescape(feed.title), LONGEST_TITLE),
        "items": shown,
        "total": len(items),
        "returned": len(shown),
        "new": len(fresh),
        "truncated": len(shown) < (len(fresh) if known else len(items)),
        "seen": " ".join(names),
    }


def run(args, ctx):
    return answer(act, args, ctx)
