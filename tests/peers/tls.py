"""Servers of models behind TLS, and a server of names that is asked over TCP.

`tls.py FOLDER NAME=ADDRESS=CERTIFICATE…`: for each name a server with `CERTIFICATE.pem` and `CERTIFICATE.key` of the folder, which
names are told to be at the address. Prints one JSON line with the ports; a line on its standard input is answered with what
each server has heard; at the end of the input it ends.
"""
import http.server
import json
import os
import socket
import ssl
import struct
import sys
import threading

HOME = "127.0.0.1"
HEARD = {}
ADDRESSES = {}


def spoken(text):
    choice = {"choices": [{"index": 0, "delta": {"content": text}}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    usage = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}}
    return "".join(f"data: {json.dumps(one)}\n\n" for one in (choice, end, usage)) + "data: [DONE]\n\n"


def site(name):
    class Site(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            HEARD[name].append({"host": self.headers.get("Host"), "key": self.headers.get("Authorization")})
            body = spoken(f"ready, says {name}").encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Site


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Secure(Server):
    def __init__(self, name, folder, certificate):
        super().__init__((HOME, 0), site(name))
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(os.path.join(folder, certificate + ".pem"), os.path.join(folder, certificate + ".key"))

    def finish_request(self, request, client):
        # In the thread of its own: who does not finish the greeting keeps nobody waiting.
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.context.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client)


def exactly(stream, count):
    parts = b""
    while len(parts) < count:
        part = stream.recv(count - len(parts))
        if not part:
            raise OSError("gone")
        parts += part
    return parts


def answer(question):
    at, parts = 12, []
    while question[at]:
        parts.append(question[at + 1:at + 1 + question[at]].decode())
        at += 1 + question[at]
    kind = int.from_bytes(question[at + 1:at + 3], "big")
    address = ADDRESSES.get(".".join(parts).lower())
    found = kind == 1 and address is not None
    head = question[:2] + (b"\x81\x80" if address else b"\x81\x83") + b"\x00\x01" + (b"\x00\x01" if found else b"\0\0")
    record = b"\xc0\x0c\x00\x01\x00\x01\0\0\0\0\x00\x04" + socket.inet_aton(address) if found else b""
    return head + b"\0\0\0\0" + question[12:at + 5] + record


def converse(stream):
    try:
        while True:
            question = exactly(stream, struct.unpack("!H", exactly(stream, 2))[0])
            said = answer(question)
            stream.sendall(struct.pack("!H", len(said)) + said)
    except OSError:
        stream.close()


def serve_names(listener):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=converse, args=(stream,), daemon=True).start()


def main(folder, lines):
    names = socket.create_server((HOME, 0))
    ports = {"names": names.getsockname()[1]}
    threading.Thread(target=serve_names, args=(names,), daemon=True).start()
    for line in lines:
        name, address, certificate = line.split("=")
        HEARD[name], ADDRESSES[name] = [], address
        server = Secure(name, folder, certificate)
        ports[name] = server.server_port
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps(ports), flush=True)
    for _ in sys.stdin:
        print(json.dumps(HEARD), flush=True)


main(sys.argv[1], sys.argv[2:])
