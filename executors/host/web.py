"""What executors with network share: errors of the contract, what a failed connection is called, a bounded answer over HTTPS.

Whatever a server says is bounded here and shown as text. No redirect is followed: where a call may go was decided before.
"""

import http.client
import json
import re
import socket
import ssl

# What turns the direction of a line, or cannot be seen: a name made of it would show another one.
HIDDEN = re.compile("[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]")
LONGEST_LINE = 300
CONNECT_WITHIN = 8.0


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def answer(act, args, ctx):
    """What `act` returns, or its error as the contract has it."""
    try:
        return act(args, ctx)
    except Refused as refused:
        return {"ok": False, "error": {"class": refused.error_class, "message": str(refused)}}


def plain(text, most=LONGEST_LINE):
    """One line without what cannot be seen."""
    line = " ".join(HIDDEN.sub(" ", text).split())
    return line if len(line) <= most else line[:most - 1] + "…"


def unreachable(error, place):
    """What a failure on the way to a server is to the caller."""
    if isinstance(error, ssl.SSLError):
        why = getattr(error, "verify_message", "") or error.reason or "no TLS"
        return Refused("TlsError", f"{place} is not who it says it is, or speaks no TLS: {plain(str(why))}")
    if isinstance(error, socket.gaierror):
        return Refused("DnsError", f"there is no server called {place}")
    if isinstance(error, TimeoutError):
        return Refused("Timeout", f"{place} did not answer in time")
    if isinstance(error, PermissionError):
        return Refused("Forbidden", f"{place} may not be reached: {plain(str(error))}")
    return Refused("Unreachable", f"{place} cannot be reached, or does not speak as expected: {plain(str(error))}")


class Site:
    """A server that speaks HTTP over TLS, on one connection as long as it keeps it."""

    def __init__(self, ctx, host, port=443):
        self.ctx, self.host, self.port = ctx, host, int(port)
        self.place = host if self.port == 443 else f"{host} port {port}"
        self._connection = None

    def _connect(self):
        within = max(0.1, min(CONNECT_WITHIN, self.ctx.remaining() - 1))
        return http.client.HTTPSConnection(self.host, self.port, timeout=within, context=ssl.create_default_context())

    def ask(self, method, path, headers, body, most):
        """One request: status, headers, and at most `most` bytes of what comes back; more is an error."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, path, body=body, headers={"User-Agent": "Metnos/1.0", **headers})
            response = self._connection.getresponse()
            parts, size = [], 0
            while size <= most:
                part = response.read(min(65_536, most + 1 - size))
                if not part:
                    break
                parts.append(part)
                size += len(part)
            if response.will_close:
                self.close()
        except Exception as error:
            self.close()
            raise unreachable(error, self.place) from None
        if size > most:
            self.close()
            raise Refused("ServerError", f"{self.place} says more than the {most} bytes that are read")
        return response.status, response.headers, b"".join(parts)

    def json(self, path, most):
        """A JSON object."""
        status, _, body = self.ask("GET", path, {"Accept": "application/json"}, None, most)
        if status != 200:
            raise Refused("ServerError", f"{self.place} answered {status}")
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Refused("ServerError", f"{self.place} answered something that is no JSON object")
        return value

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class Plain(Site):
    """A server at an address that the owner has listed: there is no name that a certificate could prove."""

    def _connect(self):
        within = max(0.1, min(CONNECT_WITHIN, self.ctx.remaining() - 1))
        return http.client.HTTPConnection(self.host, self.port, timeout=within)


def site_of(ctx, host, port):
    """The server of an account in the own network. Without TLS only where no name has to be believed: at an address."""
    return (Plain if re.fullmatch(r"[0-9.]+", host) else Site)(ctx, host, port)
