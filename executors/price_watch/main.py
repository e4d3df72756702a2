"""Reads what a shop's page says that its article costs, and, called at a set time, whether that has changed since the last call.

A page says it for programs, in one of three forms: JSON-LD (schema.org), microdata, or properties of its head. Where it says nothing in
any of them, that is the answer: a number in the text may be of something else. It can reach exactly the host and port of the address.
"""

import decimal
import html.parser
import json
import re

from metnos_page import answer, decode, fetch
from metnos_web import Refused, plain

ACCEPT = "text/html,application/xhtml+xml;q=0.9"
MOST_SCRIPTS, MOST_SCRIPT, MOST_NODES = 40, 500_000, 20_000
LONGEST_TITLE = 160
# Properties of a page's head that say a price, and a currency.
PRICES = ("product:price:amount", "og:price:amount", "product:sale_price:amount")
CURRENCIES = ("product:price:currency", "og:price:currency", "product:sale_price:currency")
MOST = decimal.Decimal(10) ** 9


def amount(text):
    """A price as `49.90`; nothing where the text is no price. Both `1.299,00` and `1,299.00` are read."""
    match = re.fullmatch(r"[^\d-]{0,12}(\d[\d.,' \u00a0\u202f]{0,18})[^\d]{0,12}", str(text).strip())
    if match is None:
        return None
    digits = re.sub(r"[' \u00a0\u202f]", "", match.group(1)).rstrip(".,")
    last = max(digits.rfind("."), digits.rfind(","))
    behind = len(digits) - last - 1
    # What stands before three digits parts thousands, unless it is the only mark of a number that begins with nought.
    is_decimal = last >= 0 and (behind != 3 or digits.startswith("0")) and digits.count(digits[last]) == 1
    whole = re.sub(r"[.,]", "", digits[:last] if is_decimal else digits)
    value = decimal.Decimal(f"{whole}.{digits[last + 1:]}" if is_decimal else whole)
    if not 0 < value <= MOST:
        return None
    return f"{value.quantize(decimal.Decimal('0.01'))}"


def currency(text):
    """A currency by its three letters."""
    signs = {"€": "EUR", "$": "USD", "£": "GBP"}
    text = str(text or "").strip()
    return signs.get(text, text.upper() if re.fullmatch(r"[A-Za-z]{3}", text) else "")


class Page(html.parser.HTMLParser):
    """What a page says for programs: its JSON-LD, its microdata, the properties of its head, its title."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.scripts, self.properties, self.items, self.title = [], {}, {}, ""
        self._into, self._item = None, None

    def handle_starttag(self, tag, attrs):
        said = {name: value or "" for name, value in attrs}
        if tag == "script" and said.get("type", "").split(";")[0].strip().lower() == "application/ld+json" and len(self.scripts) < MOST_SCRIPTS:
            self.scripts.append([])
            self._into = self.scripts[-1]
        elif tag == "title" and not self.title:
            self._into = []
        if tag == "meta":
            self.properties.setdefault((said.get("property") or said.get("name") or "").lower(), said.get("content", ""))
        name = said.get("itemprop", "").lower()
        if name in ("price", "lowprice", "pricecurrency"):
            self._item = None if "content" in said or tag == "meta" else name
            if self._item is None:
                self.items.setdefault(name, said.get("content", ""))

    def handle_data(self, data):
        if self._into is not None and sum(map(len, self._into)) < MOST_SCRIPT:
            self._into.append(data)
        if self._item and data.strip():
            self.items.setdefault(self._item, data.strip()[:60])
            self._item = None

    def handle_endtag(self, tag):
        if tag == "title" and self._into is not None and not self.title:
            self.title = " ".join("".join(self._into).split())
        if tag in ("script", "title"):
            self._into = None


def nodes(value):
    """All objects of a JSON text, from the outermost on."""
    waiting, count = [value], 0
    while waiting and count < MOST_NODES:
        one = waiting.pop(0)
        count += 1
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def of_offer(offer):
    """The price and the currency of an offer of schema.org."""
    within = offer.get("priceSpecification")
    within = within[0] if isinstance(within, list) and within else within
    for place in (offer, within if isinstance(within, dict) else {}):
        for name in ("price", "lowPrice"):
            found = amount(place.get(name, "")) if isinstance(place.get(name), (str, int, float)) else None
            if found:
                return found, currency(place.get("priceCurrency") or offer.get("priceCurrency"))
    return None


def of_scripts(page):
    """What JSON-LD says: the first offer that has a price, and the name of the first product."""
    found, name = None, ""
    for script in page.scripts:
        try:
            value = json.loads("".join(script))
        except (ValueError, RecursionError):
            continue
        for node in nodes(value):
            kinds = node.get("@type")
            kinds = kinds if isinstance(kinds, list) else [kinds]
            if "Product" in kinds and not name and isinstance(node.get("name"), str):
                name = node["name"]
            if found is None and ("Offer" in kinds or "AggregateOffer" in kinds):
                found = of_offer(node)
    return found, name


def of_head(page):
    """What the head says."""
    for price, of in zip(PRICES, CURRENCIES):
        found = amount(page.properties.get(price, ""))
        if found:
            return found, currency(page.properties.get(of))
    return None


def of_items(page):
    """What microdata says."""
    found = amount(page.items.get("price", "")) or amount(page.items.get("lowprice", ""))
    return (found, currency(page.items.get("pricecurrency"))) if found else None


def act(args, ctx):
    url, response, body, _cut = fetch(args["url"], ctx, ACCEPT)
    page = Page()
    page.feed(decode(body, response.getheader("Content-Type") or ""))
    found, name = of_scripts(page)
    found = found or of_items(page) or of_head(page)
    if found is None:
        raise Refused("NoPrice", f"the page at {url[:500]} does not say a price that a program can read")
    price, unit = found
    was, _, was_unit = args.get("seen", "").partition(" ")
    before = amount(was) if was and was_unit == unit else None
    limit = decimal.Decimal(str(args["below"])) if "below" in args else None
    under = limit is None or decimal.Decimal(price) < limit
    was_under = before is not None and (limit is None or decimal.Decimal(before) < limit)
    return {
        "ok": True,
        "url": url,
        "title": plain(name or page.properties.get("og:title") or page.title or url, LONGEST_TITLE),
        "price": price,
        "currency": unit,
        "was": before if before and before != price else "",
        "cheaper": before is not None and decimal.Decimal(price) < decimal.Decimal(before),
        "under": under,
        # What was told before is not told again: neither the same price, nor each that lies under the limit but the first and cheaper ones.
        "news": int(under and (before is None or not was_under or decimal.Decimal(price) != decimal.Decimal(before))),
        "seen": f"{price} {unit}",
    }


def run(args, ctx):
    return answer(act, args, ctx)
