"""What the executors of calendars share: the way into a CalDAV server (RFC 4791), events as iCalendar writes them (RFC 5545), and when
they happen.

What stands in a calendar may come from anybody: it is bounded here, read as far as it can be, and shown as text. Instants are
`datetime`s of UTC without a zone; a day that has no clock of its own begins where the clock of the household says.
"""

import base64
import datetime
import hashlib
import re
import urllib.parse
import xml.parsers.expat

from metnos_web import HIDDEN, Refused, Site, answer, plain

UTC = datetime.timezone.utc
DAY = datetime.timedelta(days=1)
MOST_BYTES = 4_000_000
MOST_CALENDARS = 32
MOST_OBJECTS = 2_000
MOST_LINES = 100_000
# The most steps of the recurrences of one call together, and the most events of one answer.
MOST_STEPS = 200_000
MOST_EVENTS = 500
MOST_RECKONED = 20_000
MOST_REDIRECTS = 4
DEEPEST, MOST_ELEMENTS = 64, 200_000
LONGEST_TITLE = 200
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
DAV, CAL = "DAV: ", "urn:ietf:params:xml:ns:caldav "
BODY = '<?xml version="1.0" encoding="utf-8"?>\n'
# The most of those invited to an event that are looked at, and their answers (RFC 5545 §3.2.12).
MOST_GUESTS = 200
ANSWERS = {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}
# Which property of an event says what it said when Metnos wrote it.
MARK = "X-METNOS-WRITTEN"
XMLNS = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'


# What a server says in XML.

class Document:
    """The elements of a document with the texts in them, as [path of names, text, attributes]. Nothing is declared or included in it."""

    def __init__(self, body, place):
        self.elements, self._open = [], []
        parser = xml.parsers.expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self._declares
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.buffer_text = True
        try:
            parser.Parse(body, True)
        except (xml.parsers.expat.ExpatError, ValueError, LookupError):
            raise Refused("ServerError", f"{place} answered something that is no calendar's XML") from None

    def _declares(self, *_):
        raise ValueError("a document that declares entities is not read")

    def _begin(self, name, attributes):
        if len(self._open) >= DEEPEST or len(self.elements) >= MOST_ELEMENTS:
            raise ValueError("a document as deep or long as this is not read")
        above = self._open[-1][0][0] if self._open else ()
        self.elements.append([(*above, name), "", attributes])
        self._open.append((self.elements[-1], []))

    def _text(self, text):
        if self._open:
            self._open[-1][1].append(text)

    def _end(self, _name):
        element, texts = self._open.pop()
        element[1] = "".join(texts)

    def responses(self):
        """What is said of each resource: its address, and (path below it, text, attributes) of what was found."""
        found = []
        for path, text, attributes in self.elements:
            if path == (DAV + "multistatus", DAV + "response"):
                found.append(("", []))
            elif found and path[:2] == (DAV + "multistatus", DAV + "response"):
                if path[2:] == (DAV + "href",):
                    found[-1] = (text.strip(), found[-1][1])
                elif len(path) > 3 and path[2] == DAV + "propstat":
                    found[-1][1].append((path[3:], text, attributes))
        return found


class Calendar:
    """A calendar of the account."""

    def __init__(self, path, name, writable):
        self.path, self.name, self.writable = path, name, writable


class Account:
    """The calendars of the account that came with this call."""

    def __init__(self, ctx):
        account = ctx.account()
        self.name, self.user = account["name"], account["user"]
        self.site = Site(ctx, account["host"], account["port"])
        secret = f"{self.user}:{account['password']}".encode("utf-8")
        self._headers = {"Authorization": "Basic " + base64.b64encode(secret).decode("ascii")}
        self._calendars = None

    def ask(self, method, path, body=None, depth="0", **headers):
        """One request, led on by the server within itself: status, headers, body."""
        sent = {**self._headers, **headers}
        if body is not None and "Content-Type" not in sent:
            sent.update({"Content-Type": "application/xml; charset=utf-8", "Depth": depth})
        for _ in range(MOST_REDIRECTS):
            status, said, text = self.site.ask(method, path, sent, body.encode("utf-8") if body is not None else None, MOST_BYTES)
            if status not in (301, 302, 307, 308):
                break
            path = self._own(said.get("Location") or "", path)
        if status == 401:
            raise Refused("LoginFailed", f"{self.site.place} does not accept the user name {plain(self.user)} with this password")
        if status == 403 and method in ("PUT", "DELETE"):
            raise Refused("NotWritable", f"{self.site.place} lets nobody write there with this account")
        return status, said, text

    def _own(self, address, path):
        """The path of an address of this server; another server is nothing that this call may go to."""
        try:
            there = urllib.parse.urlsplit(urllib.parse.urljoin(f"https://{self.site.host}:{self.site.port}{path}", address))
            port = there.port or 443
        except ValueError:
            raise Refused("ServerError", f"{self.site.place} leads to something that is no address") from None
        if there.hostname != self.site.host or port != self.site.port or there.scheme != "https":
            host = plain(there.hostname or address, 120)
            raise Refused("Elsewhere", f"{self.site.place} leads to {host}: add the account with that host instead")
        return there.path or "/"

    def _properties(self, path, names, depth="0"):
        asked = "".join(f"<{name}/>" for name in names)
        status, _, body = self.ask("PROPFIND", path, f"{BODY}<d:propfind {XMLNS}><d:prop>{asked}</d:prop></d:propfind>", depth)
        return Document(body, self.site.place).responses() if status == 207 else []

    def _led_to(self, path, name):
        """The address that a property of a resource holds."""
        wanted = (DAV + "prop", name, DAV + "href")
        for _, found in self._properties(path, [name.replace(DAV, "d:").replace(CAL, "c:")]):
            for below, text, _ in found:
                if below == wanted and text.strip():
                    return self._own(text.strip(), path)
        return None

    def calendars(self):
        """Those that hold events, in the order of their addresses: a server may give them in another one each time."""
        if self._calendars is None:
            principal = self._led_to("/.well-known/caldav", DAV + "current-user-principal") or self._led_to("/", DAV + "current-user-principal")
            home = principal and self._led_to(principal, CAL + "calendar-home-set")
            if not home:
                raise Refused("ServerError", f"{self.site.place} says nothing of calendars of {plain(self.user)}: is it a CalDAV server?")
            names = ["d:resourcetype", "d:displayname", "c:supported-calendar-component-set", "d:current-user-privilege-set"]
            all_of = [self._calendar(self._own(href, home), found) for href, found in self._properties(home, names, "1") if href]
            self._calendars = sorted((calendar for calendar in all_of if calendar), key=lambda calendar: calendar.path)[:MOST_CALENDARS]
        return self._calendars

    def _calendar(self, path, found):
        below = {names: text for names, text, _ in found}
        if (DAV + "prop", DAV + "resourcetype", CAL + "calendar") not in below:
            return None
        kinds = [attributes.get("name") for names, _, attributes in found if names[-1] == CAL + "comp"]
        if kinds and "VEVENT" not in kinds:
            return None
        granted = [names[-1] for names, _, _ in found if DAV + "privilege" in names]
        writable = not granted or any(right in granted for right in (DAV + "write", DAV + "write-content", DAV + "bind", DAV + "all"))
        name = plain(below.get((DAV + "prop", DAV + "displayname")) or path.rstrip("/").rsplit("/", 1)[-1], 120)
        return Calendar(path, name, writable)

    def chosen(self, name):
        """The calendars that are meant: the one of this name, or all."""
        if not name:
            return self.calendars()
        found = [calendar for calendar in self.calendars() if calendar.name.casefold() == name.casefold()]
        if not found:
            there = ", ".join(calendar.name for calendar in self.calendars())
            raise Refused("NotFound", f"there is no calendar called {plain(name)}; there are: {there or 'none'}")
        return found

    def objects(self, calendar, begin, end):
        """The address and the text of what may happen in this time, and how many more there are than are read."""
        span = f'<c:time-range start="{stamp(begin)}" end="{stamp(end)}"/>'
        wanted = f'<c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT">{span}</c:comp-filter></c:comp-filter>'
        body = f"{BODY}<c:calendar-query {XMLNS}><d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter>{wanted}</c:filter></c:calendar-query>"
        status, _, said = self.ask("REPORT", calendar.path, body, "1")
        if status != 207:
            raise Refused("ServerError", f"{self.site.place} answered {status} when asked for events")
        found, responses = [], Document(said, self.site.place).responses()
        for href, properties in responses[:MOST_OBJECTS]:
            texts = [text for names, text, _ in properties if names == (DAV + "prop", CAL + "calendar-data") and text]
            found += [(href, text) for text in texts[:1]]
        return found, max(0, len(responses) - MOST_OBJECTS)

    def events(self, begin, end, ahead, name=""):
        """What happens in this time, in its order, and how many events could not be reckoned."""
        found, unclear = [], 0
        for calendar in self.chosen(name):
            objects, more = self.objects(calendar, begin, end)
            unclear += more
            for _, text in objects:
                happens, left = happenings(text, begin, end, ahead)
                unclear += left + max(0, len(happens) + len(found) - MOST_RECKONED)
                found += [{**event, "calendar": calendar.name, **self._invitation(event)} for event in happens[:MOST_RECKONED - len(found)]]
        found.sort(key=lambda event: (event["at"], event["title"]))
        return found[:MOST_EVENTS], unclear, len(found)

    def _invitation(self, event):
        """Whether this person is invited to an event, and what was answered: by the own address, or what stands before its @ where the
        user name is none. What was declined takes no time."""
        user = self.user.casefold()
        answers = {answer for address, answer in event["guests"] if user == (address if "@" in user else address.partition("@")[0])}
        invited = ANSWERS.get(next(iter(answers)), "open") if len(answers) == 1 and event["by"] else ""
        return {"invited": invited, "busy": event["busy"] and invited != "declined"}

    def within(self, href, calendar):
        """The path of an object of a calendar; one elsewhere on the server is none of it."""
        path = self._own(href, calendar.path)
        if not path.startswith(calendar.path.rstrip("/") + "/"):
            raise Refused("ServerError", f"{self.site.place} has an event of the calendar {calendar.name} elsewhere")
        return path

    def close(self):
        self.site.close()


# Events as iCalendar writes them.

def stamp(instant):
    return instant.strftime("%Y%m%dT%H%M%SZ")


class Line:
    """A line of a calendar: name, parameters, value."""

    PARAMETER = re.compile(r';([A-Za-z0-9-]{1,40})=("[^"]{0,500}"|[^";:,]{0,500})')

    def __init__(self, text):
        head = re.match(r"[A-Za-z0-9-]{1,60}", text)
        self.name, self.parameters, self.value = (head.group().upper() if head else ""), {}, ""
        at = head.end() if head else len(text)
        while match := self.PARAMETER.match(text, at):
            self.parameters[match.group(1).upper()] = match.group(2).strip('"')
            at = match.end()
        if at < len(text) and text[at] == ":":
            self.value = text[at + 1:]

    def text(self):
        """The value with its escapes undone (RFC 5545 §3.3.11)."""
        return re.sub(r"\\([\\;,nN])", lambda match: "\n" if match.group(1) in "nN" else match.group(1), self.value)


class Part:
    """A component of a calendar: its kind, its lines, and those within it."""

    def __init__(self, kind):
        self.kind, self.lines, self.parts = kind, [], []

    def of(self, kind):
        return [part for part in self.parts if part.kind == kind]


def parts_of(text):
    """The components of a calendar, below one that has no kind."""
    root = Part("")
    opened = [root]
    for raw in re.sub(r"\r?\n[ \t]", "", text).splitlines()[:MOST_LINES]:
        line = Line(raw)
        kind = line.value.strip().upper()
        if line.name == "BEGIN" and len(opened) <= DEEPEST:
            opened[-1].parts.append(Part(kind))
            opened.append(opened[-1].parts[-1])
        elif line.name == "END" and opened[-1].kind == kind and len(opened) > 1:
            opened.pop()
        else:
            opened[-1].lines.append(line)
    return root


def moment(value):
    """A date or a time: naive, and whether it is a date alone, and whether it is of UTC. Nothing where it cannot be read."""
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", value.strip())
    if match is None:
        return None
    try:
        parts = [int(part or 0) for part in match.groups()[:6]]
        parts[5] = min(parts[5], 59)
        return datetime.datetime(*parts), match.group(4) is None, bool(match.group(7))
    except ValueError:
        return None


def length(text):
    """A duration such as P1DT2H; nothing where it cannot be read."""
    match = re.fullmatch(r"([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,5})M)?(?:(\d{1,7})S)?)?", text.strip())
    if match is None:
        return None
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    of = datetime.timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -of if match.group(1) == "-" else of


class Zone:
    """A zone as a calendar describes it itself (RFC 5545 §3.6.5): which distance from UTC begins when."""

    def __init__(self, observances, upto):
        changes = []
        for part in observances:
            of = {line.name: line for line in part.lines}
            start, offset = moment(of["DTSTART"].value) if "DTSTART" in of else None, self._offset(of.get("TZOFFSETTO"))
            if start is None or offset is None:
                continue
            before = self._offset(of.get("TZOFFSETFROM"))
            rule = Rule.read(of["RRULE"].value) if "RRULE" in of else None
            onsets = {start[0], *(rule.occurrences(start[0], start[0], upto, lambda at: at) if rule else ())}
            for line in part.lines:
                if line.name == "RDATE":
                    onsets.update(at[0] for at in map(moment, line.value.split(",")) if at)
            changes += [(onset, offset, offset if before is None else before) for onset in onsets]
        self._changes = sorted(changes)

    @staticmethod
    def _offset(line):
        match = re.fullmatch(r"([+-])(\d\d)(\d\d)(\d\d)?", line.value.strip()) if line else None
        if match is None:
            return None
        of = datetime.timedelta(hours=int(match.group(2)), minutes=int(match.group(3)))
        return -of if match.group(1) == "-" else of

    def __bool__(self):
        return bool(self._changes)

    def utc(self, local):
        """The instant at which its clock shows this."""
        low, high = 0, len(self._changes)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._changes[middle][0] <= local else (low, middle)
        return local - (self._changes[low - 1][1] if low else self._changes[0][2])


class Endless(Exception):
    """A recurrence that takes longer to reckon than a call may."""


class Rule:
    """A recurrence (RFC 5545 §3.3.10) by days, weeks, months or years; finer ones, and those by numbers of weeks, are not reckoned."""

    # What is left of them: a call is a process of its own.
    steps_left = MOST_STEPS
    KNOWN = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYSETPOS", "WKST"}

    def __init__(self, parts):
        def numbers(name, most):
            all_of = [int(part) for part in parts.get(name, "").split(",") if part]
            if any(not 1 <= abs(number) <= most for number in all_of):
                raise ValueError(name)
            return all_of

        self.every = parts["FREQ"]
        self.interval, self.count = int(parts.get("INTERVAL", 1)), int(parts["COUNT"]) if "COUNT" in parts else None
        self.until = moment(parts["UNTIL"]) if "UNTIL" in parts else None
        self.months, self.days = numbers("BYMONTH", 12), numbers("BYMONTHDAY", 31)
        self.year_days, self.positions = numbers("BYYEARDAY", 366), numbers("BYSETPOS", 366)
        self.week_begins = WEEKDAYS.index(parts.get("WKST", "MO"))
        self.weekdays = []
        for part in parts.get("BYDAY", "").split(","):
            match = re.fullmatch(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)", part)
            if match:
                self.weekdays.append((int(match.group(1) or 0), WEEKDAYS.index(match.group(2))))
            elif part:
                raise ValueError("BYDAY")
        if self.every not in ("DAILY", "WEEKLY", "MONTHLY", "YEARLY") or self.interval < 1 or self.until is None and "UNTIL" in parts:
            raise ValueError(self.every)

    @classmethod
    def read(cls, text):
        """The rule, or nothing where it cannot be reckoned."""
        parts = dict(part.upper().partition("=")[::2] for part in text.strip().split(";") if part)
        try:
            return cls(parts) if parts.keys() <= cls.KNOWN else None
        except (ValueError, KeyError):
            return None

    def occurrences(self, start, begin, limit, utc):
        """When it happens from about `begin` on and before `limit`; all three as `start` is, which `utc` turns into instants. What takes
        more steps than are left raises `Endless`."""
        if self.until is not None:
            at, is_day, is_utc = self.until
            last = at + DAY - datetime.timedelta(seconds=1) if is_day else at
        told, step = 0, 0 if self.count is not None else self._step_before(start, begin)
        while True:
            Rule.steps_left -= 1
            if Rule.steps_left < 0:
                raise Endless
            first, days = self._period(start.date(), step)
            if first is None or first > limit.date() + 7 * DAY:
                return
            for day in self._of(days, start.date()):
                occurrence = datetime.datetime.combine(day, start.time())
                if self.until is not None and (utc(occurrence) if is_utc else occurrence) > last or occurrence >= limit:
                    return
                told += 1
                if self.count is not None and told > self.count:
                    return
                yield occurrence
            step += 1

    def _step_before(self, start, begin):
        """The number of a period that begins surely before `begin`."""
        days = (begin - start).days
        units = {"DAILY": days, "WEEKLY": days // 7, "MONTHLY": days // 31, "YEARLY": days // 366}[self.every]
        return max(0, units // self.interval - 2)

    def _period(self, start, step):
        """The first day of the period of this number, and the days of it that fit."""
        try:
            if self.every == "DAILY":
                day = start + step * self.interval * DAY
                return day, [day] if self._fits(day) else []
            if self.every == "WEEKLY":
                first = start - ((start.weekday() - self.week_begins) % 7) * DAY + 7 * step * self.interval * DAY
                wanted = [weekday for _, weekday in self.weekdays] or [start.weekday()]
                week = [first + at * DAY for at in range(7)]
                return first, [day for day in week if day.weekday() in wanted and (not self.months or day.month in self.months)]
            if self.every == "MONTHLY":
                month = start.year * 12 + start.month - 1 + step * self.interval
                first = datetime.date(month // 12, month % 12 + 1, 1)
                return first, self._of_month(first, start) if not self.months or first.month in self.months else []
            first = datetime.date(start.year + step * self.interval, 1, 1)
            return first, self._of_year(first, start)
        except (ValueError, OverflowError):
            return None, []

    def _fits(self, day):
        """Whether the parts that only leave days out leave this one in, where it recurs by the day."""
        return self._in_parts(day) and (not self.weekdays or day.weekday() in [weekday for _, weekday in self.weekdays])

    def _year_day(self, day):
        number, size = day.timetuple().tm_yday, datetime.date(day.year, 12, 31).timetuple().tm_yday
        return number in self.year_days or number - size - 1 in self.year_days

    def _of_month(self, first, start):
        following = (first.replace(day=28) + 4 * DAY).replace(day=1)
        days = [first + at * DAY for at in range((following - first).days)]
        if self.days:
            days = [day for day in days if day.day in self.days or (day - following).days in self.days]
        if self.weekdays:
            days = self._by_weekday(days, days if not self.days else [first + at * DAY for at in range((following - first).days)])
        elif not self.days:
            days = [day for day in days if day.day == start.day]
        return days

    def _of_year(self, first, start):
        if self.months and not self.year_days:
            return [day for month in sorted(set(self.months)) for day in self._of_month(first.replace(month=month), start)]
        if not (self.days or self.year_days or self.weekdays):
            try:
                return [first.replace(month=start.month, day=start.day)]
            except ValueError:
                return []
        whole = [first + at * DAY for at in range(datetime.date(first.year, 12, 31).timetuple().tm_yday)]
        days = [day for day in whole if self._in_parts(day)]
        return self._by_weekday(days, whole) if self.weekdays else days

    def _in_parts(self, day):
        """Whether the parts of a rule by the day of a month or a year leave this day in."""
        from_end = (day.replace(day=28) + 4 * DAY).replace(day=1) - day
        by_month_day = not self.days or day.day in self.days or -from_end.days in self.days
        return by_month_day and (not self.year_days or self._year_day(day)) and (not self.months or day.month in self.months)

    def _by_weekday(self, days, whole):
        """Those of these days whose weekday is wanted: each, or the first, second, last one of `whole`."""
        wanted = set()
        for number, weekday in self.weekdays:
            of = [day for day in whole if day.weekday() == weekday]
            if number == 0:
                wanted.update(of)
            elif abs(number) <= len(of):
                wanted.add(of[number - 1 if number > 0 else number])
        return [day for day in days if day in wanted]

    def _of(self, days, start):
        days = sorted(days)
        if self.positions:
            chosen = {position - 1 if position > 0 else len(days) + position for position in self.positions}
            days = [day for at, day in enumerate(days) if at in chosen]
        return [day for day in days if day >= start]


class Event:
    """An event of a calendar object, or one instance of it that differs from the others."""

    def __init__(self, lines, zones, ahead):
        self._zones, self._ahead, self.lines = zones, ahead, lines
        self.of = {line.name: line for line in reversed(lines)}
        self.start = self._at("DTSTART")
        self.is_day = bool(self.start) and self.start[1]
        self.uid = self.text("UID", 255)
        self.recurrence = self._at("RECURRENCE-ID")

    def text(self, name, most=LONGEST_TITLE):
        return plain(self.of[name].text(), most) if name in self.of else ""

    def _at(self, name):
        return moment(self.of[name].value) if name in self.of else None

    def utc(self, local, line=None, is_utc=False):
        """The instant of a time of this event; of a day, where the household's begins."""
        zone = self._zones.get((line or self.of["DTSTART"]).parameters.get("TZID", ""))
        if is_utc:
            return local
        return zone.utc(local) if zone else local - self._ahead

    def instant(self, name):
        at = self._at(name)
        return at and self.utc(at[0], self.of[name], at[2])

    def lasts(self):
        """How long it takes: a day that says no end is that day (RFC 5545 §3.6.1)."""
        of = length(self.of["DURATION"].value) if "DURATION" in self.of else None
        if of is None and (end := self._at("DTEND")) is not None:
            of = end[0] - self.start[0] if self.is_day else self.instant("DTEND") - self.instant("DTSTART")
        return max(of, datetime.timedelta()) if of is not None else DAY if self.is_day else datetime.timedelta()

    def begins(self, begin, end):
        """When it begins in about this time: instants, and whether they are all. Those that were taken out are not among them."""
        at, _, is_utc = self.start

        def utc(local):
            return self.utc(local, None, is_utc)

        rule = Rule.read(self.of["RRULE"].value) if "RRULE" in self.of else None
        locals_of = {at}
        if rule:
            locals_of.update(rule.occurrences(at, begin - self.lasts() - 2 * DAY, end + 2 * DAY, utc))
        left_out = set()
        for line in self.lines:
            if line.name in ("RDATE", "EXDATE"):
                for part in line.value.split(",")[:1_000]:
                    there = moment(part.split("/")[0])
                    if there is None:
                        continue
                    if line.name == "EXDATE":
                        left_out.add(self.utc(there[0], line, there[2]))
                    elif there[1] == self.is_day:
                        locals_of.add(there[0])
        return sorted({utc(local) for local in locals_of} - left_out), rule is not None or "RRULE" not in self.of

    def clock_at(self, instant):
        """What the clock of a series shows at this occurrence; nothing where its rule has none then."""
        at, _, is_utc = self.start
        rule = Rule.read(self.of["RRULE"].value) if "RRULE" in self.of else None
        near_by = rule.occurrences(at, instant - 3 * DAY, instant + 3 * DAY, lambda local: self.utc(local, None, is_utc)) if rule else ()
        return next((local for local in near_by if self.utc(local, None, is_utc) == instant), None)

    def happens(self, begin, end):
        """When it happens in this time, with how long it takes, and whether that is all."""
        if not self.start or self.text("STATUS").upper() == "CANCELLED":
            return [], True
        takes = self.lasts()
        begins, is_whole = ([self.instant("DTSTART")], True) if self.recurrence else self.begins(begin, end)
        inside = [(at, takes) for at in begins if at < end and (at + takes > begin or not takes and at >= begin)]
        return inside, is_whole


def events_in(text, end, ahead):
    """The events of a calendar object, with the clocks by which they go up to this time. Raises `Endless` and `OverflowError`."""
    zones, events = {}, []
    for calendar in parts_of(text).of("VCALENDAR"):
        for zone in calendar.of("VTIMEZONE"):
            name = next((line.value for line in zone.lines if line.name == "TZID"), "")
            zones[name] = Zone(zone.parts, end + 366 * DAY)
        events += [Event(part.lines, zones, ahead) for part in calendar.of("VEVENT")]
    return events


def happenings(text, begin, end, ahead):
    """What of a calendar object happens in this time, and of how many events that cannot be said."""
    try:
        events = events_in(text, end, ahead)
    except (Endless, OverflowError):
        return [], 1
    events = [event for event in events if event.start and event.text("STATUS").upper() != "CANCELLED" or event.recurrence]
    found, unclear, others = [], 0, set()
    for event in events:
        try:
            others.update([(event.uid, event.instant("RECURRENCE-ID"))] if event.recurrence else [])
        except OverflowError:
            unclear += 1
    for event in events:
        try:
            happens, is_whole = event.happens(begin, end)
        except (Endless, OverflowError):
            happens, is_whole = [], False
        unclear += not is_whole
        found += [told(event, at, takes) for at, takes in happens if event.recurrence or (event.uid, at) not in others]
    return found, unclear


def told(event, at, takes):
    """An event as a result has it; `at` is for sorting alone."""
    if event.is_day:
        first = at + event._ahead
        last = first + max(takes - DAY, datetime.timedelta())
        start, end = first.date().isoformat(), last.date().isoformat()
    else:
        start, end = (instant.isoformat() + "Z" for instant in (at, at + takes))
    return {
        "at": at, "until": at + takes, "uid": event.uid, "title": event.text("SUMMARY"), "start": start, "end": end,
        "all_day": event.is_day, "place": event.text("LOCATION"), "repeats": "RRULE" in event.of or event.recurrence is not None,
        "busy": event.text("TRANSP").upper() != "TRANSPARENT", "guests": guests_of(event), "by": host_of(event),
    }


def address_of(line):
    return plain(line.value.strip().casefold().removeprefix("mailto:"), 254)


def guests_of(event):
    """The addresses that are invited to an event, each with what was answered."""
    lines = [line for line in event.lines if line.name == "ATTENDEE"][:MOST_GUESTS]
    return [(address_of(line), line.parameters.get("PARTSTAT", "").upper()) for line in lines]


def host_of(event):
    """Who invites to an event, as it says."""
    line = event.of.get("ORGANIZER")
    return plain(line.parameters.get("CN") or address_of(line), 120) if line else ""


def shown(event):
    """The same without what is for reckoning alone."""
    return {name: value for name, value in event.items() if name not in ("at", "until", "busy", "guests", "by", "invited")}


# What the arguments say.

def near(at):
    """The same, where calendars reach and no sum of days overflows."""
    if not 1970 <= at.year <= 2200:
        raise ValueError("out of range")
    return at


def instant_of(text):
    """An instant as RFC 3339 writes it, of UTC."""
    try:
        there = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return near(there.astimezone(UTC).replace(tzinfo=None, microsecond=0))
    except (ValueError, OverflowError):
        raise Refused("BadTime", f"{plain(text, 60)} is no instant; write one such as 2026-12-01T15:00:00+01:00") from None


def ahead_of(args):
    """How far the clock of the household is ahead of UTC."""
    match = re.fullmatch(r"([+-])(\d\d):(\d\d)", args.get("offset", "+00:00"))
    of = datetime.timedelta(hours=int(match.group(2)), minutes=int(match.group(3))) if match else datetime.timedelta()
    return -of if match and match.group(1) == "-" else of


def span_of(args, days, name="when"):
    """Begin and end of the time that is asked about, by the argument of this name; without one, so many days from now on. How far the
    clock is ahead then."""
    if name not in args:
        ahead = ahead_of(args)
        now = datetime.datetime.now(UTC).replace(tzinfo=None, microsecond=0)
        return now, (now + ahead).replace(hour=0, minute=0, second=0) + days * DAY - ahead, ahead
    first, slash, last = args[name].partition("/")
    begin, end = instant_of(first), instant_of(last) if slash else None
    if end is None or not begin < end or end - begin > 400 * DAY:
        raise Refused("BadTime", "the time asked about is written as its begin and its end with / between, and is at most 400 days long")
    match = re.search(r"[+-]\d\d:\d\d$", first)
    return begin, end, ahead_of({"offset": match.group()}) if match else ahead_of(args)


# What is written.

def escaped(text):
    return re.sub(r"([\\\\;,])", r"\\\1", HIDDEN.sub(" ", text))


def folded(line):
    """A line as iCalendar folds it: at most 75 bytes, what goes on behind a blank (RFC 5545 §3.1)."""
    out, size = [], 0
    for character in line:
        width = len(character.encode("utf-8"))
        if size + width > 75:
            out.append("\r\n ")
            size = 1
        out.append(character)
        size += width
    return "".join(out)


def fingerprint(event):
    """What an event says: two that say the same have the same."""
    said = "\n".join(event.of[name].value if name in event.of else "" for name in ("SUMMARY", "DTSTART", "DTEND", "LOCATION"))
    if "STATUS" in event.of:
        said += "\n" + event.of["STATUS"].value.upper()
    # A server may write the parts of a rule in another order.
    rules = [";".join(sorted(line.value.upper().split(";"))) for line in event.lines if line.name == "RRULE"]
    said += "".join("\n" + text for text in rules + sorted(line.value.upper() for line in event.lines if line.name == "EXDATE"))
    return hashlib.sha256(said.encode("utf-8")).hexdigest()[:32]


def time_of(name, at, is_day):
    return f"{name};VALUE=DATE:{at:%Y%m%d}" if is_day else f"{name}:{stamp(at)}"


class Series:
    """How often an event happens: its rule, and the clock by which it goes. `ahead` is how far that clock is ahead of UTC when it begins."""

    ZONE = re.compile(r"([A-Za-z0-9_+/-]{1,60}) \(([^()]{1,60})\)")
    RULES = re.compile(
        r"(?:<[^<>]+>|[A-Za-z]+)([+-]?\d{1,2}(?::\d\d)?)(?:(?:<[^<>]+>|[A-Za-z]+)([+-]?\d{1,2}(?::\d\d)?)?,"
        r"M(\d{1,2})\.(\d)\.(\d)(?:/(\d{1,2}))?,M(\d{1,2})\.(\d)\.(\d)(?:/(\d{1,2}))?)?"
    )

    def __init__(self, rule, zone, ahead, is_day):
        if Rule.read(rule) is None:
            raise Refused("BadTime", f"{plain(rule, 80)} is no rule by days, weeks, months or years; write one such as FREQ=WEEKLY;BYDAY=TU")
        # The end of what takes whole days is a day (RFC 5545 §3.3.10).
        self.rule = re.sub(r"(UNTIL=\d{8})T\d{6}Z?", r"\1", rule) if is_day else rule
        self.ahead, self.lines = ahead, []
        match = self.ZONE.fullmatch(zone)
        rules = match and self.RULES.fullmatch(match.group(2))
        self.name = match.group(1) if rules else f"UTC{self._distance(ahead)}"
        usual = self._west(rules.group(1)) if rules else ahead
        # A clock that always shows UTC needs no zone, and some servers take the name of one away.
        self.is_utc = not usual and not (rules and rules.group(3))
        if not is_day and not self.is_utc:
            self.lines = ["BEGIN:VTIMEZONE", f"TZID:{self.name}", *self._observances(rules), "END:VTIMEZONE"]

    @staticmethod
    def _distance(of):
        minutes = int(of.total_seconds()) // 60
        return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{abs(minutes) % 60:02}"

    @staticmethod
    def _west(text):
        """How far a clock is ahead of UTC that POSIX says is so far behind it."""
        hours, _, minutes = text.lstrip("+-").partition(":")
        of = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        return of if text.startswith("-") else -of

    def _observances(self, rules):
        """The distances of the clock from UTC, and on which days of a year each begins."""
        if rules is None:
            return self._observance("STANDARD", self.ahead, self.ahead, None)
        usual = self._west(rules.group(1))
        if rules.group(3) is None:
            return self._observance("STANDARD", usual, usual, None)
        summer = self._west(rules.group(2)) if rules.group(2) else usual + datetime.timedelta(hours=1)
        begins, ends = rules.groups()[2:6], rules.groups()[6:10]
        return self._observance("DAYLIGHT", usual, summer, begins) + self._observance("STANDARD", summer, usual, ends)

    def _observance(self, kind, before, after, day):
        begin, recurs = "19700101T000000", []
        if day:
            month, week, weekday, hour = (int(part) if part is not None else 2 for part in day)
            if not (1 <= month <= 12 and 1 <= week <= 5 and weekday <= 6 and hour <= 23):
                raise Refused("BadTime", "the clock of the household follows rules that cannot be written into a calendar")
            rule = f"FREQ=YEARLY;BYMONTH={month};BYDAY={-1 if week == 5 else week}{WEEKDAYS[weekday - 1]}"
            year = datetime.datetime(1970, 1, 1, hour)
            begin = f"{next(iter(Rule.read(rule).occurrences(year, year, year + 366 * DAY, lambda at: at))):%Y%m%dT%H%M%S}"
            recurs = [f"RRULE:{rule}"]
        offsets = [f"TZOFFSETFROM:{self._distance(before)}", f"TZOFFSETTO:{self._distance(after)}"]
        return [f"BEGIN:{kind}", f"DTSTART:{begin}", *offsets, *recurs, f"END:{kind}"]

    def time_of(self, name, at, is_day):
        """A time as the clock of the series shows it."""
        return time_of(name, at, is_day) if is_day or self.is_utc else f"{name};TZID={self.name}:{at + self.ahead:%Y%m%dT%H%M%S}"


def written(uid, title, place, start, end, is_day, series=None):
    """A calendar object with one event, or with a series of them."""
    lines = ["BEGIN:VEVENT", f"UID:{uid}", f"DTSTAMP:{stamp(datetime.datetime.now(UTC))}", f"SUMMARY:{escaped(title)}"]
    at = series.time_of if series else time_of
    lines += [at("DTSTART", start, is_day), at("DTEND", end, is_day), *([f"LOCATION:{escaped(place)}"] if place else [])]
    lines += [f"RRULE:{series.rule}"] if series else []
    event = Event([Line(line) for line in lines], {}, datetime.timedelta())
    lines += [f"{MARK}:{fingerprint(event)}", "END:VEVENT"]
    whole = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Metnos//EN", *(series.lines if series else []), *lines, "END:VCALENDAR"]
    return "\r\n".join(map(folded, whole)) + "\r\n"


def event_of(text):
    """The event of an object that holds one; nothing where it holds none, or several."""
    found = [part for calendar in parts_of(text).of("VCALENDAR") for part in calendar.of("VEVENT")]
    return Event(found[0].lines, {}, datetime.timedelta()) if len(found) == 1 else None
