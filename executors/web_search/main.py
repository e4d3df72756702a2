"""Searches the web with the SearXNG server that the owner has connected, and tells the first results.

It asks the search API (https://docs.searxng.org/dev/search_api.html) for JSON. Pages are not opened: that is another call. What a page
says of itself in a result is shown as one line of text.
"""

import base64
import json
import urllib.parse

from metnos_web import Refused, answer, plain, site_of

MOST_BYTES = 4_000_000
# The default of the argument `limit`.
USUAL = 5
LONGEST_TITLE, LONGEST_TEXT, LONGEST_LINK = 160, 240, 1_000
# The user name of an account that wants no login.
NO_LOGIN = "none"


def headers(account):
    if account["user"] == NO_LOGIN:
        return {"Accept": "application/json"}
    login = base64.b64encode(f"{account['user']}:{account['password']}".encode("utf-8")).decode("ascii")
    return {"Accept": "application/json", "Authorization": f"Basic {login}"}


def asked(ctx, query):
    """What the server answers to a query: a JSON object."""
    account = ctx.account()
    site = site_of(ctx, account["host"], account["port"])
    path = "/search?" + urllib.parse.urlencode({"q": query, "format": "json"})
    status, _, body = site.ask("GET", path, headers(account), None, MOST_BYTES)
    site.close()
    if status == 401:
        raise Refused("LoginFailed", f"{site.place} does not accept the login")
    if status == 403:
        # So it answers where JSON is not among the formats that its settings allow.
        raise Refused("HttpError", f"{site.place} gives no JSON: add `json` to search.formats in its settings.yml")
    if status == 429:
        raise Refused("ServerError", f"{site.place} has had too many requests; try again later")
    if status != 200:
        raise Refused("ServerError", f"{site.place} answered {status}")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise Refused("ServerError", f"{site.place} is no SearXNG: its answer is no list of results")
    return found


def text_of(value, most):
    return plain(value, most) if isinstance(value, str) else ""


def result_of(entry):
    """A result with a title and an address of the web; none for everything else."""
    if not isinstance(entry, dict):
        return None
    url, title = text_of(entry.get("url"), LONGEST_LINK + 1), text_of(entry.get("title"), LONGEST_TITLE)
    if not url.startswith(("https://", "http://")) or len(url) > LONGEST_LINK or " " in url:
        return None
    return {"title": title or url[:LONGEST_TITLE], "url": url, "text": text_of(entry.get("content"), LONGEST_TEXT)}


def direct(found):
    """The answer that the server gives of itself: a sum, a conversion, the head of an article."""
    for entry in found.get("answers") or []:
        # Older servers give a text, newer ones an object.
        text = text_of(entry.get("answer") if isinstance(entry, dict) else entry, LONGEST_TEXT)
        if text:
            return text
    for box in found.get("infoboxes") or []:
        text = text_of(box.get("content"), LONGEST_TEXT) if isinstance(box, dict) else ""
        if text:
            return text
    return ""


def act(args, ctx):
    query = plain(args["query"])
    if not query:
        raise Refused("BadQuery", "there is no word to search for")
    found = asked(ctx, query)
    results = [result for result in map(result_of, found["results"][:200]) if result]
    shown = results[:args.get("limit", USUAL)]
    silent = len(found.get("unresponsive_engines") or []) if not results else 0
    told = direct(found)
    return {
        "ok": True, "query": query, "results": shown, "returned": len(shown), "total": len(results), "silent": silent,
        **({"answer": told} if told else {}),
    }


def run(args, ctx):
    return answer(act, args, ctx)
