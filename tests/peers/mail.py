"""Mail for tests: a server of names, Dovecot behind TLS with the mailboxes of Anna and Bruno, servers that take their mail to be sent,
and a mail server that lies.

`mail.py FOLDER` with `cert.pem` and `key.pem` in it. Prints one JSON line with the ports. Each line of its standard input is a JSON
object: `to` and `mail` (the bytes, as base64) are delivered, `flags` asks for the flags of the messages of `of`, `password` gives
`of` another one, `box` asks for all that lies in somebody's mailbox, `make` makes a folder for `of`, `sent` asks for what was taken to
be sent, `turned_away` for who wanted to send as somebody else, `copies` says whether the server puts it into the folder of sent mail. Each is answered with one line.
It ends with its standard input.
"""
import base64
import grp
import importlib.util
import imaplib
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(sys.argv[1]).resolve()
PASSWORDS = {"anna": "anna-app-password", "bruno": "bruno-app-password"}


def beside(name):
    """Another file of this folder, as a module."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names():
    """The server of names of the web's tests, with the names of these."""
    web = beside("web")
    for name in ("mail.example", "liar.example", "other.example"):
        web.NAMES[name] = ["A:" + web.HOME]
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((web.HOME, 0))
    threading.Thread(target=web.serve_names, args=(server,), daemon=True).start()
    return server.getsockname()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_users():
    (FOLDER / "users").write_text("".join(f"{name}:{{PLAIN}}{password}\n" for name, password in PASSWORDS.items()))


def configuration(port, user, uid, gid):
    """What Dovecot is to do, in the language of its version."""
    new = subprocess.run([shutil.which("dovecot") or "/usr/sbin/dovecot", "--version"], capture_output=True, text=True, check=True)
    own = "" if os.getuid() == 0 else f"default_internal_user = {user}\ndefault_login_user = {user}\ndefault_internal_group = {grp.getgrgid(gid).gr_name}\n"
    alone = "" if os.getuid() == 0 else "".join(f"service {name} {{\n  chroot =\n}}\n" for name in ("anvil", "stats"))
    common = f"""
base_dir = {FOLDER}/run
state_dir = {FOLDER}/state
log_path = {FOLDER}/dovecot.log
listen = 127.0.0.1
first_valid_uid = 1
ssl = required
{own}service imap-login {{
  chroot =
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
{alone}"""
    if new.stdout.startswith("2.3"):
        return f"""protocols = imap
ssl_cert = <{FOLDER}/cert.pem
ssl_key = <{FOLDER}/key.pem
mail_location = maildir:{FOLDER}/mail/%u
passdb {{
  driver = passwd-file
  args = scheme=plain {FOLDER}/users
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={FOLDER}/mail/%u
}}
{common}"""
    return f"""dovecot_config_version = 2.4.1
dovecot_storage_version = 2.4.1
protocols = imap
ssl_server_cert_file = {FOLDER}/cert.pem
ssl_server_key_file = {FOLDER}/key.pem
mail_driver = maildir
mail_path = {FOLDER}/mail/%{{user}}
passdb passwd-file {{
  passwd_file_path = {FOLDER}/users
  default_password_scheme = plain
}}
userdb static {{
  fields {{
    uid = {uid}
    gid = {gid}
    home = {FOLDER}/mail/%{{user}}
  }}
}}
{common}"""


def start_dovecot():
    port = free_port()
    root = os.getuid() == 0
    owner = pwd.getpwnam("nobody") if root else pwd.getpwuid(os.getuid())
    for name in ("run", "state", "mail"):
        (FOLDER / name).mkdir()
    os.chown(FOLDER / "mail", owner.pw_uid, owner.pw_gid)
    write_users()
    conf = FOLDER / "dovecot.conf"
    conf.write_text(configuration(port, owner.pw_name, owner.pw_uid, owner.pw_gid))
    program = shutil.which("dovecot") or "/usr/sbin/dovecot"
    server = subprocess.Popen([program, "-F", "-c", str(conf)], stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr)
    for _ in range(600):
        try:
            log_in(port, "anna").logout()
            return server, port
        except (OSError, imaplib.IMAP4.error):
            if server.poll() is not None:
                break
            time.sleep(0.05)
    log = FOLDER / "dovecot.log"
    sys.exit(f"Dovecot does not start: {log.read_text() if log.exists() else server.poll()}")


def log_in(port, name):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    box = imaplib.IMAP4_SSL("127.0.0.1", port, ssl_context=context, timeout=30)
    box.login(name, PASSWORDS[name])
    return box


def until_accepted(port, name):
    for _ in range(200):
        try:
            log_in(port, name).logout()
            return "ok"
        except imaplib.IMAP4.error:
            time.sleep(0.05)
    return "the new password is not accepted"


def lie(peer):
    """A mail server that accepts everybody and then does what the user name says."""
    lines = peer.makefile("rb")
    peer.sendall(b"* OK [CAPABILITY IMAP4rev1] ready\r\n")
    user = b""
    for line in lines:
        tag, _, rest = line.strip().partition(b" ")
        word = rest.upper()
        if word.startswith(b"LOGIN"):
            user = rest.split()[1].strip(b'"')
            if user == b"parrot":
                peer.sendall(tag + b" NO your command was " + rest + b"\r\n")
                continue
            peer.sendall(tag + b" OK in\r\n")
        elif word.startswith(b"CAPABILITY"):
            peer.sendall(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
        elif user == b"flood":
            while True:
                peer.sendall(b"* 1 EXISTS\r\n" * 4000)
        elif user == b"huge":
            peer.sendall(b"* 1 FETCH (BODY[] {999999999999}\r\n")
        elif user == b"drip":
            while True:
                peer.sendall(b"*")
                time.sleep(0.3)
        elif user == b"garbage":
            peer.sendall(bytes(range(256)) * 40 + b"\r\n")
        elif word.startswith((b"EXAMINE", b"SELECT")):
            peer.sendall(b"* 3 EXISTS\r\n* OK [UIDVALIDITY 7]\r\n" + tag + b" OK [READ-ONLY]\r\n")
        elif word.startswith(b"UID SEARCH"):
            peer.sendall(b"* SEARCH 1 2 99999999999999 x 3\r\n" + tag + b" OK done\r\n")
        elif word.startswith(b"UID FETCH"):
            # What nobody asked for, twice the same, and one without a number.
            for number in (b"UID 77", b"UID 1", b"UID 1", b"FLAGS ()"):
                peer.sendall(b"* 1 FETCH (" + number + b" BODY[] {14}\r\nSubject: x\r\n\r\n)\r\n")
            peer.sendall(tag + b" OK done\r\n")
        elif word.startswith(b"LOGOUT"):
            return
        else:
            peer.sendall(tag + b" BAD what\r\n")


def start_liar():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
    listener = socket.create_server(("127.0.0.1", 0))

    def one(plain):
        try:
            with context.wrap_socket(plain, server_side=True) as peer:
                lie(peer)
        except OSError:
            pass

    def serve():
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=one, args=(plain,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def flags(port, name):
    box = log_in(port, name)
    box.select("INBOX", readonly=True)
    _, data = box.uid("FETCH", "1:*", "(FLAGS)")
    box.logout()
    return [line.decode("ascii") for line in data if line]


def whole(port, name):
    """Each folder of a mailbox with the identifiers and the flags of what lies in it."""
    box, all_of = log_in(port, name), {}
    for line in box.list()[1]:
        folder = line.decode().rpartition(" ")[2]
        box.select(folder, readonly=True)
        _, data = box.uid("FETCH", "1:*", "(FLAGS BODY.PEEK[HEADER.FIELDS (SUBJECT)])")
        pairs = [item for item in data if isinstance(item, tuple)]
        flags = [[flag.decode() for flag in imaplib.ParseFlags(head) if flag != b"\\Recent"] for head, _ in pairs]
        told = [[body.decode().strip(), *sorted(own)] for (_, body), own in zip(pairs, flags)]
        all_of[folder.strip('"')] = sorted(told)
    box.logout()
    return all_of


def put_into_sent(port, name, mail):
    box = log_in(port, name)
    box.create("Sent")
    box.append("Sent", "(\\Seen)", None, mail)
    box.logout()


def main():
    port_of_names, (server, port), liar = names(), start_dovecot(), start_liar()
    office, sending = beside("smtp").start(FOLDER, PASSWORDS, lambda name, mail: put_into_sent(port, name, mail))
    print(json.dumps({"names": port_of_names, "imaps": port, "liar": liar, **sending}), flush=True)
    try:
        for line in sys.stdin:
            asked, answer = json.loads(line), "ok"
            if "to" in asked:
                box = log_in(port, asked["to"])
                kind, data = box.append("INBOX", None, None, base64.b64decode(asked["mail"]))
                answer = kind if kind != "OK" else "ok"
                box.logout()
            elif "sent" in asked:
                answer = [[sender, to, mail.decode("utf-8")] for sender, to, mail in office.taken]
            elif "turned_away" in asked:
                answer = office.turned_away
            elif "copies" in asked:
                office.copies = asked["copies"]
            elif "box" in asked:
                answer = whole(port, asked["box"])
            elif "make" in asked:
                box = log_in(port, asked["of"])
                box.create(asked["make"])
                box.logout()
            elif "password" in asked:
                PASSWORDS[asked["of"]] = asked["password"]
                write_users()
                # Dovecot looks at the file once a second.
                answer = until_accepted(port, asked["of"])
            else:
                answer = flags(port, asked["of"])
            print(json.dumps(answer), flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


if __name__ == "__main__":
    main()
