"""Makes Python's own modules use the connections that the egress helper makes for this call.

An executor with network has none of its own: no socket can be made. It has a few descriptors, each one end of a pair
with the helper at the other end. What is written to one first says where to, `NAME PORT` and the end of the line; the
answer is `+`, or `-` with a class and a sentence; from then on the descriptor is the connection. The helper knows where
this call may go, and nothing here guards anything.
"""

import io
import os
import select
import socket
import ssl
import time

FIRST = 5
CERTIFICATES = "/certificates/ca.pem"
LONGEST_ANSWER = 1024
# How long before its end a call has no connection any more, in seconds: then it can still say so.
MARGIN = 0.5

CLASSES = {"forbidden": PermissionError, "name": socket.gaierror, "unreachable": ConnectionError, "quota": PermissionError}


class Connection:
    """One connection, as far as a socket is needed by `http.client`, `imaplib`, `smtplib` and their like."""

    def __init__(self, fd, timeout, until):
        self._fd = fd
        self._timeout = timeout
        self._until = until
        self._files = 0
        self._closed = False
        os.set_blocking(fd, False)

    def _wait(self, write, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        sets = ([], [self._fd], []) if write else ([self._fd], [], [])
        if not any(select.select(*sets, left)):
            raise TimeoutError("timed out")

    def _deadline(self):
        # However slowly the other side drips: what takes too long ends as that, and not with the call.
        return self._until if self._timeout is None else min(self._until, time.monotonic() + self._timeout)

    def recv(self, size, flags=0):
        deadline = self._deadline()
        while True:
            try:
                return os.read(self._fd, size)
            except BlockingIOError:
                self._wait(False, deadline)
            except ConnectionResetError:
                return b""

    def recv_into(self, buffer, nbytes=0, flags=0):
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view))
        view[:len(data)] = data
        return len(data)

    def send(self, data, flags=0):
        deadline = self._deadline()
        while True:
            try:
                return os.write(self._fd, data)
            except BlockingIOError:
                self._wait(True, deadline)

    def sendall(self, data, flags=0):
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.send(rest):]

    def makefile(self, mode="r", buffering=None, *, encoding=None, errors=None, newline=None):
        return makefile(self, mode, buffering, encoding, errors, newline)

    def settimeout(self, value):
        self._timeout = value

    def gettimeout(self):
        return self._timeout

    def setblocking(self, flag):
        self._timeout = None if flag else 0.0

    def setsockopt(self, *_):
        """There is nothing to set: the helper sends small pieces at once."""

    def getpeername(self):
        return ("", 0)

    def fileno(self):
        return self._fd

    def shutdown(self, _how):
        """A connection ends as a whole, by being closed."""

    def close(self):
        self._closed = True
        self._end()

    def _end(self):
        if self._closed and self._files == 0 and self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Secure:
    """TLS over a connection. The handshake is done here, so that the keys are nobody else's."""

    def __init__(self, connection, context, server_hostname):
        self._inner = connection
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=server_hostname)
        self._files = 0
        self._closed = False
        self._do(self._tls.do_handshake)

    def _flush(self):
        data = self._out.read()
        if data:
            self._inner.sendall(data)

    def _do(self, act, *arguments):
        while True:
            try:
                done = act(*arguments)
                self._flush()
                return done
            except ssl.SSLWantReadError:
                self._flush()
                data = self._inner.recv(32768)
                if data:
                    self._in.write(data)
                else:
                    self._in.write_eof()

    def recv(self, size=16384, flags=0):
        try:
            return self._do(self._tls.read, size)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    read = recv

    def recv_into(self, buffer, nbytes=0, flags=0):
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view))
        view[:len(data)] = data
        return len(data)

    def send(self, data, flags=0):
        return self._do(self._tls.write, data)

    def sendall(self, data, flags=0):
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.send(rest[:16384]):]

    def makefile(self, mode="r", buffering=None, *, encoding=None, errors=None, newline=None):
        return makefile(self, mode, buffering, encoding, errors, newline)

    def __getattr__(self, name):
        return getattr(self._tls if name in ("getpeercert", "version", "cipher", "selected_alpn_protocol") else self._inner, name)

    def close(self):
        self._closed = True
        self._end()

    def _end(self):
        if self._closed and self._files == 0:
            self._inner.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class _Raw(io.RawIOBase):
    """A connection as a file; the connection stays open as long as one of its files is."""

    def __init__(self, connection, mode):
        self._connection = connection
        self._mode = mode
        connection._files += 1

    def readable(self):
        return "r" in self._mode

    def writable(self):
        return "w" in self._mode

    def readinto(self, buffer):
        return self._connection.recv_into(buffer)

    def write(self, data):
        return self._connection.send(data)

    def close(self):
        if not self.closed:
            super().close()
            self._connection._files -= 1
            self._connection._end()


def makefile(connection, mode, buffering, encoding, errors, newline):
    raw = _Raw(connection, mode)
    if buffering == 0:
        return raw
    size = io.DEFAULT_BUFFER_SIZE if buffering is None or buffering < 0 else buffering
    if "r" in mode and "w" in mode:
        file = io.BufferedRWPair(raw, raw, size)
    elif "w" in mode:
        file = io.BufferedWriter(raw, size)
    else:
        file = io.BufferedReader(raw, size)
    return file if "b" in mode else io.TextIOWrapper(file, encoding, errors, newline)


class Net:
    """The connections of this call."""

    def __init__(self, count, deadline):
        self._free = list(range(FIRST, FIRST + count))
        self._until = deadline - MARGIN

    def connect(self, host, port, timeout=None):
        """A connection to a place that was granted."""
        if not self._free:
            raise PermissionError("this call has used all its connections")
        connection = Connection(self._free.pop(0), timeout, self._until)
        try:
            connection.sendall(f"{str(host).lower()} {int(port)}\n".encode("ascii", "replace"))
            answer = b""
            while not answer.endswith(b"\n") and len(answer) < LONGEST_ANSWER:
                piece = connection.recv(1)
                if not piece:
                    raise ConnectionError("the egress helper is gone")
                answer += piece
        except BaseException:
            connection.close()
            raise
        if answer != b"+\n":
            connection.close()
            kind, _, why = answer[1:].decode("utf-8", "replace").strip().partition(": ")
            raise CLASSES.get(kind, ConnectionError)(why)
        return connection

    def install(self):
        """Lets `http.client`, `urllib` and their like use it unchanged."""

        def create_connection(address, timeout=None, *_, **__):
            fallback = timeout if isinstance(timeout, (int, float)) else None
            return self.connect(address[0], address[1], fallback)

        def wrap_socket(context, sock, server_side=False, do_handshake_on_connect=True, suppress_ragged_eofs=True, server_hostname=None, session=None):
            if server_side:
                raise PermissionError("nobody connects to an executor")
            return Secure(sock, context, server_hostname)

        def load_default_certs(context, purpose=None):
            context.load_verify_locations(cafile=CERTIFICATES)

        socket.create_connection = create_connection
        ssl.SSLContext.wrap_socket = wrap_socket
        ssl.SSLContext.load_default_certs = load_default_certs
        ssl.SSLContext.set_default_verify_paths = load_default_certs
