"""What the executors that send mail share: the way into the server that takes mail, the message, and what became of it.

A mail is handed over once. Whether it was taken is the server's word; where that word does not come, nobody knows, and that is said.
"""

import base64
import email.message
import email.policy
import email.utils
import hashlib
import re
import smtplib
import ssl
import time

from metnos_web import CONNECT_WITHIN, Refused, plain, unreachable

# At these ports TLS is begun by STARTTLS (RFC 6409, RFC 3207), at 465 it is spoken from the first byte (RFC 8314 §3.3). At others the latter
# is tried first. Nothing of the account is said before TLS.
TLS_PORT, STARTTLS_PORTS = 465, (25, 587)
# What a server is told that this machine is called: an address literal that says nothing about the household (RFC 5321 §4.1.3).
OWN_NAME = "[127.0.0.1]"
# The most messages that a reply names as those before it, the first and the last of them.
MOST_REFERENCES = 20
IDENTIFIER = re.compile(r"<[\x21-\x3b\x3d\x3f-\x7e]{3,250}>")
ANSWERS = re.compile(r"\s*(?:re|r|aw|sv)\s*:", re.I)


class Sender:
    """The server that takes mail to be sent from the account that came with this call, logged in."""

    def __init__(self, ctx):
        account = ctx.account()
        self.ctx, self.address = ctx, account["address"]
        host, port = account["smtp_host"], int(account["smtp_port"])
        self.place = f"{host} port {port}"
        try:
            self.smtp = self._connect(host, port)
            self.smtp.ehlo()
        except smtplib.SMTPNotSupportedError:
            raise Refused("TlsError", f"{self.place} offers no TLS") from None
        except smtplib.SMTPResponseException as error:
            raise Refused("ServerError", f"{self.place} says {said(error.smtp_code, error.smtp_error)}") from None
        except Exception as error:
            raise unreachable(error, self.place) from None
        self._log_in(account["user"], account["password"])

    def _connect(self, host, port):
        within = max(0.1, min(CONNECT_WITHIN, self.ctx.remaining() - 1))
        context = ssl.create_default_context()
        if port not in STARTTLS_PORTS:
            try:
                return smtplib.SMTP_SSL(host, port, local_hostname=OWN_NAME, timeout=within, context=context)
            except ssl.SSLCertVerificationError:
                raise
            except ssl.SSLError:
                # What answers there is no TLS.
                if port == TLS_PORT:
                    raise
        smtp = smtplib.SMTP(host, port, local_hostname=OWN_NAME, timeout=within)
        smtp.starttls(context=context)
        return smtp

    def _log_in(self, user, password):
        offered = self.smtp.esmtp_features.get("auth", "").upper().split()
        if "PLAIN" in offered:
            steps = [("AUTH", "PLAIN " + coded(f"\0{user}\0{password}"))]
        elif "LOGIN" in offered:
            steps = [("AUTH", "LOGIN"), (coded(user), ""), (coded(password), "")]
        else:
            raise Refused("LoginFailed", f"{self.place} takes no user name and password")
        for command, argument in steps:
            code, _ = self._ask(command, argument)
            if code not in (235, 334):
                # What the server says to it could repeat what was sent.
                raise Refused("LoginFailed", f"{self.place} does not accept the user name {plain(user)} with this password")
        if code != 235:
            raise Refused("LoginFailed", f"{self.place} does not accept the user name {plain(user)} with this password")

    def _ask(self, command, argument=""):
        """One command; what the server answers."""
        try:
            self.smtp.sock.settimeout(max(0.1, self.ctx.remaining() - 1))
            return self.smtp.docmd(command, argument)
        except (OSError, ValueError, smtplib.SMTPException) as error:
            raise unreachable(error, self.place) from None

    def hand_over(self, recipients, message):
        """Hands a message over; the recipients that the server refuses, each with its words. Raises `Refused` where it takes nothing."""
        code, words = self._ask("MAIL", f"FROM:<{self.address}>")
        if code != 250:
            raise Refused("NotTaken", f"{self.place} sends nothing from {self.address}: {said(code, words)}")
        refused = []
        for recipient in recipients:
            code, words = self._ask("RCPT", f"TO:<{recipient}>")
            if code not in (250, 251):
                refused.append((recipient, said(code, words)))
        if len(refused) == len(recipients):
            recipient, words = refused[0]
            raise Refused("NoSuchAddress", f"{self.place} does not take mail to {recipient}: {words}")
        code, words = self._ask("DATA")
        if code != 354:
            raise Refused("NotTaken", f"{self.place} does not take it: {said(code, words)}")
        try:
            self.smtp.sock.settimeout(max(0.1, self.ctx.remaining() - 1))
            self.smtp.send(re.sub(rb"(?m)^\.", b"..", message) + b".\r\n")
            code, words = self.smtp.getreply()
        except (OSError, ValueError, smtplib.SMTPException):
            raise Refused("Unsure", f"{self.place} was given the mail, and did not say whether it took it") from None
        if code != 250:
            raise Refused("NotTaken", f"{self.place} does not take it: {said(code, words)}")
        return refused

    def close(self):
        try:
            self.smtp.sock.settimeout(1)
            self.smtp.quit()
        except (OSError, ValueError, AttributeError, smtplib.SMTPException):
            pass


def coded(text):
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def said(code, words):
    return plain(f"{code} {words.decode('utf-8', 'replace') if isinstance(words, bytes) else words}")


def identifier(address, parts):
    """The identifier of a mail: the same for the same words to the same people on the same day, so that a second one can be told."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    digest = hashlib.sha256("\0".join([address, *parts, day]).encode("utf-8", "replace")).hexdigest()[:40]
    return f"<{digest}@{address.rpartition('@')[2].lower()}>"


def message_of(sender, args, before=None):
    """The mail that these arguments describe, as bytes with the ends of lines that servers want, and its identifier. `before` is the
    head of the mail that it answers."""
    subject, text = args.get("subject", ""), args["body"].strip() + "\n"
    if before is not None and not subject:
        old = plain(str(before.get("Subject") or ""))
        subject = old if ANSWERS.match(old) else f"Re: {old}".strip()
    copies = args.get("cc", [])
    called = identifier(sender, [args["recipient"], *copies, subject, text])
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    message["From"], message["To"] = sender, args["recipient"]
    if copies:
        message["Cc"] = ", ".join(copies)
    message["Subject"] = subject
    message["Date"] = email.utils.formatdate(usegmt=False)
    message["Message-ID"] = called
    if before is not None:
        earlier = IDENTIFIER.findall(str(before.get("References") or ""))
        answered = IDENTIFIER.findall(str(before.get("Message-ID") or ""))[:1]
        chain = earlier + answered
        if len(chain) > MOST_REFERENCES:
            chain = chain[:1] + chain[-(MOST_REFERENCES - 1):]
        if answered:
            message["In-Reply-To"] = answered[0]
            message["References"] = " ".join(chain)
    message.set_content(text, cte="quoted-printable")
    # An identifier that is longer than a line must not be encoded as words are (RFC 5322 §2.1.1 allows lines of 998).
    return message.as_bytes(policy=email.policy.SMTP.clone(max_line_length=900)), called, subject
