"""Servers that take mail to be sent, for tests: aiosmtpd behind TLS from the first byte, after STARTTLS, and one that offers no TLS.

What they take is kept, and with `copies` put into the sender's folder of sent mail as some providers do. Some addresses have a life of
their own: mail to `nobody@` is not taken, `full@` refuses what is said, `vanish@` ends the connection when all of it was said.
"""

import asyncio
import socket
import ssl
import threading

from aiosmtpd.smtp import AuthResult, SMTP


class Office:
    """What was taken, by sender, recipients and bytes; and who wanted to send as somebody else."""

    def __init__(self, passwords, copy):
        self.taken, self.turned_away, self.copies, self._passwords, self._copy = [], [], False, passwords, copy

    def authenticate(self, _server, _session, _envelope, _mechanism, data):
        name, password = data.login.decode(), data.password.decode()
        return AuthResult(success=self._passwords.get(name) == password, auth_data=name)

    async def handle_MAIL(self, _server, session, envelope, address, _options):
        if session.auth_data != address.partition("@")[0]:
            self.turned_away.append([session.auth_data, address])
            return "553 you are not " + address
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, _server, _session, envelope, address, _options):
        if address.startswith("nobody@"):
            return "550 there is nobody of that name"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if any(address.startswith("full@") for address in envelope.rcpt_tos):
            return "552 the mailbox is full"
        self.taken.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        if self.copies:
            await asyncio.to_thread(self._copy, session.auth_data, envelope.content)
        if any(address.startswith("vanish@") for address in envelope.rcpt_tos):
            server.transport.abort()
            await asyncio.sleep(60)
        return "250 taken"


def start(folder, passwords, copy):
    """Starts the servers in a thread of their own: the office, and the ports by name."""
    office, ports, ready = Office(passwords, copy), {}, threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")

    async def serve():
        loop = asyncio.get_running_loop()
        common = {"authenticator": office.authenticate, "hostname": "mail.example"}
        kinds = {
            "smtps": (lambda: SMTP(office, auth_require_tls=False, auth_required=True, **common), context),
            "submission": (lambda: SMTP(office, tls_context=context, require_starttls=True, auth_required=True, **common), None),
            "open": (lambda: SMTP(office, auth_require_tls=False, **common), None),
        }
        for name, (factory, tls) in kinds.items():
            listener = socket.create_server(("127.0.0.1", 0))
            ports[name] = listener.getsockname()[1]
            await loop.create_server(factory, sock=listener, ssl=tls)
        ready.set()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    if not ready.wait(20):
        raise SystemExit("the servers that take mail do not start")
    return office, ports
