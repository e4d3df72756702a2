"""Holds what `executors/price_watch` reads as a price, and when it has something to tell, against a table.

Prints one JSON object: how many cases were compared, and those that differ.
"""
import json
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent / "executors"


def load(name, file):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile((ROOT / file).read_text(), file, "exec"), module.__dict__)
    return module


load("metnos_web", "host/web.py")
load("metnos_page", "host/page.py")
price_watch = load("price_watch", "price_watch/main.py")

AMOUNTS = {
    "49.9": "49.90", "49,90": "49.90", "49": "49.00", 49.9: "49.90", 1299: "1299.00", "1.299,00": "1299.00", "1,299.00": "1299.00",
    "1.299": "1299.00", "1,299": "1299.00", "1 299,95": "1299.95", "1'299.95": "1299.95", "0.999": "1.00", "\u20ac 12,50": "12.50",
    "12,50 EUR": "12.50", "1.234.567": "1234567.00", "0": None, "-3": None, "": None, "free": None, "1 to 2": None, "9" * 19: None,
    "1e5": None, "NaN": None, "12,5": "12.50",
}
# The limit, what was told last, what it costs now, and whether that is told.
NEWS = [
    (None, "", "50", 1), (None, "50.00 EUR", "50", 0), (None, "50.00 EUR", "49", 1), (None, "50.00 EUR", "51", 1),
    (None, "50.00 USD", "50", 1), (None, "nonsense", "50", 1), (40, "", "50", 0), (40, "", "39", 1), (40, "50.00 EUR", "45", 0),
    (40, "50.00 EUR", "39", 1), (40, "39.00 EUR", "39", 0), (40, "39.00 EUR", "35", 1), (40, "39.00 EUR", "41", 0), (40, "41.00 EUR", "40", 0),
]


def main():
    differ = [f"{text!r}: {price_watch.amount(text)}" for text, wanted in AMOUNTS.items() if price_watch.amount(text) != wanted]
    response = types.SimpleNamespace(getheader=lambda _: "text/html")
    for below, seen, price, wanted in NEWS:
        body = f'<title>x</title><meta itemprop="price" content="{price}"><meta itemprop="priceCurrency" content="EUR">'.encode()
        price_watch.fetch = lambda url, ctx, accept, body=body: (url, response, body, False)
        found = price_watch.act({"url": "https://shop.example/x", "seen": seen} | ({"below": below} if below else {}), None)
        if found["news"] != wanted or found["seen"] != f"{price}.00 EUR":
            differ.append(f"{below} {seen} {price}: {found}")
    print(json.dumps({"compared": len(AMOUNTS) + len(NEWS), "differ": differ}))


main()
