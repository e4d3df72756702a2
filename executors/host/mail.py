"""What the executors of mail share: the way into a mailbox, headers as people read them, the text of a message.

A mail comes from anybody. Whatever it holds is bounded here, decoded as far as it can be, and shown as text: nothing in it is followed,
opened or loaded. Messages are looked at without being marked as read.
"""

import base64
import email
import email.header
import email.parser
import email.policy
import email.utils
import html
import imaplib
import re
import ssl
import time

from metnos_web import CONNECT_WITHIN, HIDDEN, LONGEST_LINE as MOST_HEADER, Refused, answer, plain, unreachable

# A line of an answer is a header at most; texts come as literals, which are fetched in pieces.
imaplib._MAXLINE = 262_144

INBOX = "INBOX"
# How much of the headers of a message, and of a message, is fetched.
MOST_HEADERS = 32_768
MOST_MESSAGE = 4_000_000
# The longest text of a message that is told, in characters.
MOST_TEXT = 60_000
MOST_ATTACHMENTS = 50
# The most parts of a message that are looked at, the most lines in it that may part them, and the longest header, in characters.
MOST_PARTS = 500
MOST_MARKS = 5_000
MOST_FIELD = 8_192
# The most bytes that a server is heard in one call.
MOST_HEARD = 12_000_000
FIELDS = "FROM SUBJECT DATE TO LIST-ID"
# What tells who a message waits for.
SIGNS = "CC IN-REPLY-TO LIST-UNSUBSCRIBE PRECEDENCE AUTO-SUBMITTED X-SPAM-FLAG X-SPAM-STATUS"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
# What looks like the name of a site, such as bank.example or pay@bank.example, in a sender's name: labels, and a last one of letters.
SITE = re.compile(r"(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\b")
ATTRIBUTES = re.compile(rb"\b(UID|RFC822\.SIZE) (\d+)|\bFLAGS \(([^)]*)\)|\bINTERNALDATE \"([^\"]*)\"")


class Server(imaplib.IMAP4_SSL):
    """A server that may lie: it is heard only up to a length."""

    heard, most = 0, MOST_HEARD

    def read(self, size):
        self._hear(size)
        return super().read(size)

    def readline(self):
        line = super().readline()
        self._hear(len(line))
        return line

    def _hear(self, size):
        self.heard += size
        if self.heard > self.most:
            raise self.abort("it says more than anybody asked for")


class Mailbox:
    """The mailbox of the account that came with this call, logged in."""

    def __init__(self, ctx):
        account = ctx.account()
        self.ctx, self.name, self.user = ctx, account["name"], account["user"]
        self.place = f"{account['host']} port {account['port']}"
        try:
            within = max(0.1, min(CONNECT_WITHIN, ctx.remaining() - 1))
            self.imap = Server(account["host"], int(account["port"]), ssl_context=ssl.create_default_context(), timeout=within)
        except Exception as error:
            raise unreachable(error, self.place) from None
        self._log_in(account["password"])

    def _log_in(self, password):
        def plain(_):
            return f"\0{self.user}\0{password}".encode("utf-8")

        try:
            if "AUTH=PLAIN" in self.imap.capabilities:
                self.imap.authenticate("PLAIN", plain)
            elif "LOGINDISABLED" in self.imap.capabilities:
                raise Refused("LoginFailed", f"{self.place} takes no user name and password")
            else:
                self.imap.login(self.user, password)
        except imaplib.IMAP4.abort as error:
            raise unreachable(error, self.place) from None
        except (imaplib.IMAP4.error, UnicodeError):
            # What the server says to it could repeat what was sent.
            raise Refused("LoginFailed", f"{self.place} does not accept the user name {self.user} with this password") from None
        except OSError as error:
            raise unreachable(error, self.place) from None

    def ask(self, act, *arguments):
        """One command; its answer when the server says OK, else nothing."""
        try:
            self.imap.sock.settimeout(max(0.1, self.ctx.remaining() - 0.5))
            kind, data = act(*arguments)
        except imaplib.IMAP4.readonly:
            raise Refused("NotWritable", f"{self.place} lets nothing be changed there") from None
        except imaplib.IMAP4.abort as error:
            raise unreachable(error, self.place) from None
        except imaplib.IMAP4.error as error:
            raise Refused("ServerError", f"{self.place} does not understand: {plain(str(error))}") from None
        except (OSError, ValueError) as error:
            raise unreachable(error, self.place) from None
        return data if kind == "OK" else None

    def open(self, folder, write=False):
        """Opens a folder, to read or to change it; how many messages it holds, and the number by which its numbers are known."""
        data = self.ask(self.imap.select, quoted(folder), not write)
        if data is None:
            raise Refused("NotFound", f"there is no folder called {plain(folder)}")
        validity = self.imap.untagged_responses.get("UIDVALIDITY", [b"0"])
        return number(data[0] if data else b""), number(validity[-1])

    def search(self, criteria, literal=None):
        """The numbers of the messages that fit, newest first."""
        command = ["SEARCH", *(["CHARSET", "UTF-8"] if literal else []), *(criteria or ["ALL"])]
        if literal:
            self.imap.literal = literal
        data = self.ask(self.imap.uid, *command)
        if data is None:
            raise Refused("ServerError", f"{self.place} cannot search for that")
        found = {int(word) for line in data if isinstance(line, bytes) for word in line.split() if word.isdigit() and len(word) <= 10}
        return sorted(found, reverse=True)

    def fetch(self, uids, what):
        """What the server says of messages: attributes and bytes, by number."""
        data = self.ask(self.imap.uid, "FETCH", ",".join(map(str, uids)), f"(UID FLAGS INTERNALDATE RFC822.SIZE {what})")
        if data is None:
            raise Refused("ServerError", f"{self.place} does not hand out its messages")
        found, wanted = {}, set(uids)
        for at, item in enumerate(data):
            if not isinstance(item, tuple):
                continue
            behind = data[at + 1] if at + 1 < len(data) and isinstance(data[at + 1], bytes) else b""
            said = attributes(item[0] + b" " + behind)
            # A server that sends what nobody asked for is not listened to.
            if said.get("uid") in wanted:
                found[said["uid"]] = (said, item[1])
        return found

    def mark(self, uids, flag, is_set):
        """Sets or takes a flag of messages of the opened folder; those that have it so afterwards, as the server says."""
        self.ask(self.imap.uid, "STORE", ",".join(map(str, uids)), "+FLAGS.SILENT" if is_set else "-FLAGS.SILENT", f"({flag})")
        word = {"\\Seen": "SEEN", "\\Flagged": "FLAGGED"}[flag]
        return set(self.search([word if is_set else "UN" + word, "UID " + ",".join(map(str, uids))])) & set(uids)

    def close(self):
        try:
            self.imap.sock.settimeout(1)
            self.imap.logout()
        except (OSError, ValueError, imaplib.IMAP4.error):
            pass


def number(text):
    """The number that a server says, if it is one."""
    return int(text) if isinstance(text, bytes) and text.isdigit() and len(text) <= 10 else 0


def attributes(line):
    said = {"flags": b"", "date": ""}
    for match in ATTRIBUTES.finditer(line):
        if match.group(1):
            said["uid" if match.group(1) == b"UID" else "size"] = number(match.group(2))
        elif match.group(3) is not None:
            said["flags"] = match.group(3).lower()
        else:
            said["date"] = instant(match.group(4).decode("ascii", "replace"))
    return said


def instant(text):
    """The time at which the server got a message, as RFC 3339; nothing where it cannot be read."""
    match = re.fullmatch(r" ?(\d{1,2})-([A-Z][a-z]{2})-(\d{4}) (\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)", text)
    if match is None or match.group(2) not in MONTHS:
        return ""
    day, month = int(match.group(1)), MONTHS.index(match.group(2)) + 1
    return f"{match.group(3)}-{month:02}-{day:02}T{match.group(4)}{match.group(5)}:{match.group(6)}"


def day(text):
    """A day such as 2026-11-29 as IMAP writes it."""
    try:
        there = time.strptime(text, "%Y-%m-%d")
    except ValueError:
        raise Refused("BadTime", f"{plain(text)} is no day; write one such as 2026-11-29") from None
    return f"{there.tm_mday:02}-{MONTHS[there.tm_mon - 1]}-{there.tm_year:04}"


def quoted(text):
    """A folder's name as IMAP has it: in modified UTF-7 (RFC 3501 §5.1.3), between quotation marks."""
    if HIDDEN.search(text):
        raise Refused("NotFound", "a folder's name holds no such characters")
    out, rest = [], []

    def flush():
        if rest:
            coded = base64.b64encode("".join(rest).encode("utf-16-be")).rstrip(b"=").replace(b"/", b",")
            out.append("&" + coded.decode("ascii") + "-")
            rest.clear()

    for character in text:
        if " " <= character <= "~":
            flush()
            out.append("&-" if character == "&" else character)
        else:
            rest.append(character)
    flush()
    return '"' + "".join(out).replace("\\", "\\\\").replace('"', '\\"') + '"'


def term(text):
    """Words to search for, as a quoted string of IMAP. What is not ASCII goes another way."""
    return '"' + HIDDEN.sub(" ", text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def decoded(body, charset):
    """Text by the encoding that a message names, or one that always fits."""
    for name in (charset, "utf-8"):
        try:
            return body.decode(name)
        except (LookupError, UnicodeError, TypeError, ValueError):
            continue
    return body.decode("latin-1")


def header(value):
    """A header as people read it: its encoded words (RFC 2047) decoded, on one line."""
    if value is None:
        return ""
    try:
        parts = email.header.decode_header(str(value)[:MOST_HEADERS])
        text = "".join(part if isinstance(part, str) else decoded(part, charset or "utf-8") for part, charset in parts)
    except Exception:
        # What is no header has brought down more than one version of this parser.
        text = str(value)
    return plain(text)


def sender(message):
    """Who a message says it is from: the name, and the address. Nobody vouches for either."""
    try:
        name, address = email.utils.parseaddr(str(message.get("From") or "")[:MOST_HEADERS])
    except Exception:
        name, address = "", ""
    name, address = header(name), plain(address)
    return name or address or "?", address


class Bounded(type(email.policy.compat32)):
    """Reads headers up to a length: what the standard library does with their parameters grows with the square of it."""

    def header_source_parse(self, sourcelines):
        name, value = super().header_source_parse(sourcelines)
        return name, value[:MOST_FIELD]


def poses(name, address):
    """Whether the name that is shown has the form of an address or of a site, and of another one than the message is from."""
    own = address.rpartition("@")[2].casefold().rstrip(".")
    for site in SITE.findall(name[:MOST_HEADER].casefold()):
        if not own or own != site and not own.endswith("." + site):
            return True
    return False


def parsed(raw):
    """A message as parts; of one that nests too deep, its headers alone. What lies behind the marks of very many parts is left out."""
    pieces = raw.split(b"\n--", MOST_MARKS)
    parser = email.parser.BytesParser(policy=Bounded())
    try:
        return parser.parsebytes(b"\n--".join(pieces[:MOST_MARKS]))
    except Exception:
        return parser.parsebytes(raw, headersonly=True)


def summary(uid, said, raw):
    """What a list tells of a message."""
    message = parsed(raw)
    who, address = sender(message)
    return {
        "uid": uid,
        "from": who,
        "address": address,
        "subject": header(message.get("Subject")),
        "date": said["date"],
        "unread": b"\\seen" not in said["flags"],
        "answered": b"\\answered" in said["flags"],
        "list": message.get("List-Id") is not None,
        "poses": poses(who, address),
        "size": said.get("size", 0),
    }


# What a page holds that is not shown, and what ends a line of it.
SILENT = ("script", "style", "head", "title", "template", "noscript", "svg")
BREAKS = ("br", "p", "div", "tr", "li", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "hr")
TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)")


def shown(text):
    """Lines without what cannot be seen, and at most one empty line in a row."""
    lines = (" ".join(HIDDEN.sub(" ", line).split()) for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def of_html(text):
    """The text of a page. Every look ahead either goes on behind what it found or ends it, so that no page takes longer than its
    length: the parser of the standard library takes minutes over a few bytes repeated (CVE-2025-6069)."""
    text = text[:8 * MOST_TEXT]
    lower = text.lower()
    out, at = [], 0
    while at < len(text):
        mark = text.find("<", at)
        if mark < 0:
            out.append(text[at:])
            break
        out.append(text[at:mark])
        tag = TAG.match(text, mark)
        if text.startswith("<!--", mark):
            end = text.find("-->", mark)
        elif tag or text.startswith(("<!", "<?", "</"), mark):
            end = text.find(">", mark)
        else:
            out.append("<")
            at = mark + 1
            continue
        name = tag.group(1).lower() if tag else ""
        if end >= 0 and name in SILENT and text[mark + 1] != "/":
            end = lower.find(f"</{name}", end)
            end = text.find(">", end) if end >= 0 else end
        if end < 0:
            break
        if name in BREAKS:
            out.append("\n")
        at = text.index(">", end) + 1
    # Blanks and ends of lines in a page are the same; what ends a line in it was put in above.
    return html.unescape("".join(part if part == "\n" else re.sub(r"\s+", " ", part) for part in out))


def content(message):
    """The text of a message, and what is attached to it. Only a part without a name is text to read."""
    plains, pages, attached = [], [], []
    try:
        for at, part in enumerate(message.walk()):
            if at >= MOST_PARTS:
                break
            if part.is_multipart():
                continue
            kind, name = part.get_content_type(), part.get_filename()
            if name is not None or part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
                if len(attached) < MOST_ATTACHMENTS:
                    body = part.get_payload(decode=True) or b""
                    attached.append({"name": header(name) or "?", "type": plain(kind, 80), "size": len(body)})
                continue
            body = decoded(part.get_payload(decode=True) or b"", part.get_content_charset("utf-8"))
            (pages if kind == "text/html" else plains).append(body)
    except Exception:
        # What is built to break a parser is shown as far as it could be read.
        pass
    text = shown("\n\n".join(plains)) or shown("\n\n".join(of_html(page) for page in pages))
    return text, attached


def criteria_of(args):
    """What the arguments ask for, as IMAP has it: words, and bytes that follow them."""
    criteria, literal = [], None
    if args.get("unread"):
        criteria.append("UNSEEN")
    if "since" in args:
        criteria += ["SINCE", day(args["since"])]
    who, words = args.get("from", ""), args.get("words", "")
    # Two texts at most, of which one may go as a literal: the other is then left to the look at the headers.
    if who and who.isascii():
        criteria += ["FROM", term(who)]
    if words and words.isascii():
        criteria += ["TEXT", term(words)]
    elif words:
        criteria.append("TEXT")
        literal = words.encode("utf-8")
    return criteria, literal


# What a subject says of a time by which something is wanted, in both languages.
DEADLINE = re.compile(r"\b(?:deadline|due|overdue|expir\w{1,8}|urgent\w{0,2}|asap|final notice|last reminder|by (?:today|tonight|tomorrow|monday|tuesday|wednesday|"
                      r"thursday|friday|saturday|sunday)|entro|scad\w{1,8}|urgent[ei]|sollecito|ultimo avviso|in ritardo)\b", re.I)
ANSWER = re.compile(r"^(?:re|r|aw|sv|antw)\s*(?:\[\d{1,3}\])?:", re.I)
# The order in which mails that wait for an answer are listed, and the most unread mails that are checked.
WAITING = ("deadline", "question", "reply", "direct")
MOST_LOOKED = 200


def waits(message, own):
    """Why a message waits for the person whose address `own` is, by its headers alone: a time by which something is wanted, a question, an
    answer to the own words, or that it is to this person and few others. Nothing of lists, of senders that take no answer, of what a
    filter has taken for spam, and of a sender who shows another address than the own one."""
    def said(name):
        return header(message.get(name))

    who, address = sender(message)
    bulk = any(message.get(name) is not None for name in ("List-Id", "List-Unsubscribe")) or said("Precedence").lower() in ("bulk", "list", "junk")
    if bulk or said("X-Spam-Flag").lower() == "yes" or said("X-Spam-Status").lower().startswith("yes") or poses(who, address):
        return ""
    subject = said("Subject")
    if DEADLINE.search(subject):
        return "deadline"
    if said("Auto-Submitted").lower() not in ("", "no") or re.match(r"(?:no|do-?not|non)[-_.]?(?:reply|rispondere)", address, re.I):
        return ""
    if "?" in subject:
        return "question"
    if message.get("In-Reply-To") is not None and ANSWER.match(subject):
        return "reply"
    try:
        to = [one.casefold() for _, one in email.utils.getaddresses([str(message.get("To") or "")[:MOST_FIELD]])]
    except Exception:
        to = []
    return "direct" if own and own.casefold() in to and len(to) <= 3 else ""


def waiting(args, ctx):
    """The unread messages that wait for the person, those with a deadline first."""
    asked = criteria_of({**args, "unread": True})
    box = Mailbox(ctx)
    try:
        folder = args.get("folder", INBOX)
        _, validity = box.open(folder)
        uids = box.search(*asked)
        looked = uids[:MOST_LOOKED]
        found = box.fetch(looked, f"BODY.PEEK[HEADER.FIELDS ({FIELDS} {SIGNS})]<0.{MOST_HEADERS}>") if looked else {}
        mails = [{**summary(uid, *found[uid]), "why": waits(parsed(found[uid][1]), box.user)} for uid in looked if uid in found]
    finally:
        box.close()
    mails = sorted((mail for mail in mails if mail["why"] and not mail["answered"]), key=lambda mail: WAITING.index(mail["why"]))
    shown = mails[:args.get("limit", 10)]
    return {
        "ok": True, "account": box.name, "folder": plain(folder), "uidvalidity": validity, "mails": shown,
        "total": len(mails), "returned": len(shown), "truncated": len(shown) < len(mails) or len(uids) > len(looked),
    }


def listing(args, ctx):
    """The newest messages that the arguments ask for, as a result."""
    asked = criteria_of(args)
    box = Mailbox(ctx)
    try:
        folder = args.get("folder", INBOX)
        _, validity = box.open(folder)
        uids, limit, who = box.search(*asked), args.get("limit", 10), args.get("from", "")
        looked = uids[:limit if not who or who.isascii() else 200]
        found = box.fetch(looked, f"BODY.PEEK[HEADER.FIELDS ({FIELDS})]<0.{MOST_HEADERS}>") if looked else {}
        mails = [summary(uid, *found[uid]) for uid in looked if uid in found]
        total = len(uids)
        if who and not who.isascii():
            mails = [mail for mail in mails if who.casefold() in f"{mail['from']} {mail['address']}".casefold()]
            total = len(mails)
        mails = mails[:limit]
        return {
            "ok": True, "account": box.name, "folder": plain(folder), "uidvalidity": validity, "mails": mails,
            "total": total, "returned": len(mails), "truncated": len(mails) < total,
        }
    finally:
        box.close()
