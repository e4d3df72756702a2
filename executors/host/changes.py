"""What the executors that change a calendar share: the one event that is meant, and how it is changed so that it can be put back.

The lines that a change replaces are kept in the event itself, in a property of Metnos (RFC 5545 §3.8.8.2), with the call that did it. So
the change and its way back reach the server in one request.
"""

import base64
import re

from metnos_calendar import MARK, Line, event_of, fingerprint, folded, happenings
from metnos_web import HIDDEN, Refused, plain

# Which properties of an event say in which call it was changed, and which lines stood there before.
KEEP, WAS = "X-METNOS-CALL", "X-METNOS-WAS"
# Which lines of an event are changed here, and put back; the most characters of them that an event is given to keep.
CHANGED = ("DTSTART", "DTEND", "DURATION", "STATUS", "EXDATE", MARK, KEEP, WAS)
MOST_KEPT = 8_000
# Words of a name that say nothing of which event is meant.
NAMELESS = frozenset("the a an my our with at for of il lo la i gli le l un uno una con da dal dalla dall di del della dell dello per".split())


class Found:
    """An event as it is stored on the server. `happens` is its occurrence as `metnos_calendar.happenings` returns it, or `None` if not looked up."""

    def __init__(self, path, calendar, text, etag, happens):
        self.path, self.calendar, self.text, self.etag, self.happens = path, calendar, text, etag, happens
        self.event = event_of(text)


def words_of(text):
    """The words of a name, for comparing."""
    return frozenset(re.findall(r"\w+", text.casefold())) - NAMELESS


def single(account, args, begin, end, ahead, series=False):
    """The one event of this time whose name holds the words that were said; where `series`, also one that comes again and again, as it
    happens first in this time."""
    wanted, found = words_of(args["title"]), {}
    for calendar in account.chosen(args.get("calendar", "")):
        for href, text in account.objects(calendar, begin, end)[0]:
            named = [event for event in happenings(text, begin, end, ahead)[0] if wanted and wanted <= words_of(event["title"])]
            if named:
                found[account.within(href, calendar)] = (calendar, named)
    exact = {path: one for path, one in found.items() if any(words_of(event["title"]) == wanted for event in one[1])}
    found = exact if len(exact) == 1 else found
    if not found:
        raise Refused("NotFound", f"there is no event called {plain(args['title'])} then")
    if len(found) > 1:
        told = sorted(f"{named[0]['title']} on {named[0]['start']}" for _, named in found.values())
        raise Refused("Several", f"several events are called so: {', '.join(told[:8])}")
    path, (calendar, named) = next(iter(found.items()))
    if not calendar.writable:
        raise Refused("NotWritable", f"the calendar {calendar.name} cannot be written with this account")
    return standing(account, path, calendar, named[0], series)


def standing(account, path, calendar, happens=None, series=False):
    """What stands at this address: an event to which nobody is invited, and that happens once; where `series`, or by one rule."""
    status, said, body = account.ask("GET", path)
    if status != 200:
        raise Refused("NotFound", "the event was taken away in this moment")
    try:
        found = Found(path, calendar, body.decode("utf-8"), said.get("ETag") or "", happens)
    except UnicodeError:
        raise Refused("ServerError", f"{account.site.place} has the event in letters that nobody reads") from None
    again = [line.name for line in found.event.lines if line.name in ("RRULE", "RDATE", "RECURRENCE-ID")] if found.event else ["RECURRENCE-ID"]
    if again and not (series and again == ["RRULE"]):
        raise Refused("Repeats", "the event is one of a series, and changing a series is not done here")
    if any(line.name in ("ATTENDEE", "ORGANIZER") for line in found.event.lines):
        raise Refused("Invited", "others are invited to the event, and the server would write to them")
    return found


def change(account, found, text, mark):
    """Stores the changed text of an event, unless the event was changed on the server since it was read, and reads it back. `mark` is the
    expected fingerprint of the stored event."""
    # A server says with W/ that it does not tell one text from another that means the same; nothing can be held against that.
    held = {"If-Match": found.etag} if found.etag and not found.etag.startswith("W/") else {}
    status, _, _ = account.ask("PUT", found.path, text, **{"Content-Type": "text/calendar; charset=utf-8"}, **held)
    if status == 412:
        raise Refused("Changed", "the event was changed in this moment, so it is left as it is")
    # Whatever it says: what stands there counts.
    there, _, body = account.ask("GET", found.path)
    event = event_of(body.decode("utf-8", "replace")) if there == 200 else None
    if event is None or fingerprint(event) != mark:
        raise Refused("ServerError", f"{account.site.place} answered {status}, and the event does not stand there as it was written")


def lines_of(text):
    """The lines of an object, each whole, with its name where it is a line of an event itself and not of what stands in one."""
    opened = []
    for raw in re.split(r"\r\n|\n|\r", re.sub(r"(?:\r\n|\n|\r)[ \t]", "", text)):
        line = Line(raw)
        inside = opened == ["VCALENDAR", "VEVENT"]
        if line.name == "BEGIN":
            opened.append(line.value.strip().upper())
        elif line.name == "END":
            opened = opened[:-1]
        if raw:
            yield raw, line.name if inside else ""


def with_lines(text, names, lines):
    """An object whose one event has these lines in the place of those with these names. Nothing else in it changes."""
    out = []
    for raw, name in lines_of(text):
        if name == "END":
            out += lines
        if name not in names:
            out.append(raw)
    return "\r\n".join(map(folded, out)) + "\r\n"


def replaced(found, call, lines):
    """The object with these lines in the place of those of the same names, in which stand the old ones and the call that did it; and its
    fingerprint. What has an end has no length beside it."""
    given = {Line(raw).name for raw in lines}
    names = given | {MARK, KEEP, WAS} | ({"DURATION"} if "DTEND" in given else set())
    was = "\n".join(raw for raw, name in lines_of(found.text) if name in CHANGED)
    kept = base64.b64encode(was.encode("utf-8")).decode("ascii")
    if len(kept) > MOST_KEPT:
        raise Refused("ServerError", "the event is written in a way that cannot be kept to be put back")
    mark = fingerprint(event_of(with_lines(found.text, names, lines)))
    return with_lines(found.text, names, [*lines, f"{MARK}:{mark}", f"{KEEP}:{call}", f"{WAS}:{kept}"]), mark


def put_back(found):
    """The object as it stood before the call that changed it, and its fingerprint. Only lines of the properties that are changed here
    are put back: what stands in a calendar may come from anybody."""
    gone = Refused("Changed", "what the event was before stands there no more")
    try:
        kept = base64.b64decode(found.event.of[WAS].value, validate=True).decode("utf-8").split("\n")
    except (KeyError, ValueError):
        raise gone from None
    text = with_lines(found.text, CHANGED, [raw for raw in kept if Line(raw).name in CHANGED and not HIDDEN.search(raw)])
    event = event_of(text)
    if event is None or not event.start:
        raise gone
    return text, fingerprint(event)
