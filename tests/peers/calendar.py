"""Calendars and the weather for tests: a server of names, Radicale behind TLS with the calendars of Anna and Bruno, a counterpart of
open-meteo.com, and a calendar server that lies.

`calendar.py FOLDER` with `cert.pem` and `key.pem` in it. Prints one JSON line with the ports. Each line of its standard input is a JSON
object: `put` (a path and a text of iCalendar), `all` (the texts of somebody's calendars), `seen` (what the weather was asked). Each is
answered with one line. It ends with its standard input.
"""
import base64
import datetime
import http.server
import importlib.util
import json
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(sys.argv[1]).resolve()
PASSWORDS = {"anna": "anna-calendar-password", "bruno": "bruno-calendar-password"}
# The port of HTTPS, on an address of the loopback of which each of these has its own.
WEATHER = (f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}", 443)
SEEN = []
TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE


def load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names():
    web = load("web")
    for name in ("calendar.example", "liar.example"):
        web.NAMES[name] = ["A:" + web.HOME]
    for name in ("api.open-meteo.com", "geocoding-api.open-meteo.com"):
        web.NAMES[name] = ["A:" + WEATHER[0]]
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((web.HOME, 0))
    threading.Thread(target=web.serve_names, args=(server,), daemon=True).start()
    return server.getsockname()[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, who, method, path, body=b"", kind="text/calendar"):
    secret = base64.b64encode(f"{who}:{PASSWORDS[who]}".encode()).decode()
    headers = {"Authorization": f"Basic {secret}", "Content-Type": f"{kind}; charset=utf-8", "Depth": "1"}
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", data=body or None, method=method, headers=headers)
    with urllib.request.urlopen(request, context=TRUSTING, timeout=20) as answer:
        return answer.read().decode()


def start_radicale():
    port = free_port()
    (FOLDER / "users").write_text("".join(f"{name}:{password}\n" for name, password in PASSWORDS.items()))
    (FOLDER / "radicale").write_text(f"""
[server]
hosts = 127.0.0.1:{port}
ssl = True
certificate = {FOLDER}/cert.pem
key = {FOLDER}/key.pem
[auth]
type = htpasswd
htpasswd_filename = {FOLDER}/users
htpasswd_encryption = plain
delay = 0
[storage]
filesystem_folder = {FOLDER}/collections
[logging]
level = error
""")
    command = ["/usr/bin/python3", "-m", "radicale", "--config", str(FOLDER / "radicale")]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            if server.poll() is not None:
                sys.exit("Radicale does not start")
            time.sleep(0.05)
    for who in PASSWORDS:
        for name, shown in (("home", "Home"), ("work", "Work")):
            properties = f"<D:resourcetype><D:collection/><C:calendar/></D:resourcetype><D:displayname>{shown}</D:displayname>"
            ask(port, who, "MKCOL", f"/{who}/{name}/", f'<?xml version="1.0"?><D:mkcol xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>{properties}</D:prop></D:set></D:mkcol>'.encode(), "application/xml")
    return server, port


class Weather(http.server.BaseHTTPRequestHandler):
    """What open-meteo.com answers, as its documentation has it. A town called Liar has a forecast that is none."""

    PLACES = {"milano": ("Milano", "Lombardia", "Italia", 45.46, 9.19), "milan": ("Milan", "Lombardy", "Italy", 45.46, 9.19), "trieste": ("Trieste", "Friuli", "Italia", 45.65, 13.77)}
    LIES = {"liar": "[]", "liars": '{"daily": {"time": 7}}', "liarx": "x" * 800_000, "liary": '{"daily": {"time": ["2026-13-40"]}}', "liarn": '{"current": {"temperature_2m": 1e999}, "daily": {"time": ["TODAY"], "weather_code": [true], "temperature_2m_min": [1e308], "temperature_2m_max": ["x"]}}',
            "liarh": '{"daily": {"time": ["TODAY"], "weather_code": [' + "9" * 4_000 + ']}}', "liarf": '{"daily": {"time": ["9999-12-31"]}}',
            "liard": '{"daily": {"time": ["TODAY"]}, "hourly": {"time": ["TODAYT\u00b2\u00b3:00"]}}'}

    def log_message(self, *_):
        pass

    def do_GET(self):
        SEEN.append(self.headers["Host"] + self.path)
        parts = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(parts.query))
        if parts.path == "/v1/search":
            body = self.search(query["name"].lower())
        else:
            body = self.forecast(float(query["latitude"]))
        body = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def search(self, name):
        if name in self.LIES:
            return json.dumps({"results": [{"name": name, "latitude": 80 + list(self.LIES).index(name), "longitude": 0}]})
        if name not in self.PLACES:
            return json.dumps({"generationtime_ms": 0.1})
        shown, region, country, north, east = self.PLACES[name]
        return json.dumps({"results": [{"id": 1, "name": shown, "admin1": region, "country": country, "latitude": north, "longitude": east}]})

    def forecast(self, north):
        today = datetime.datetime.now(datetime.timezone.utc).date()
        if north >= 80:
            return list(self.LIES.values())[int(north) - 80].replace("TODAY", today.isoformat())
        days = [(today + datetime.timedelta(days=n)).isoformat() for n in range(16)]
        rain = [n == 1 for n in range(16)]
        hours = [f"{day}T{hour:02}:00" for day in days for hour in range(24)]
        return json.dumps({
            "current": {"time": hours[10], "temperature_2m": 7.4, "weather_code": 3},
            "daily": {"time": days, "weather_code": [63 if wet else 1 for wet in rain], "temperature_2m_max": [9.4] * 16, "temperature_2m_min": [-1.6] * 16,
                      "precipitation_probability_max": [85 if wet else 5 for wet in rain], "wind_speed_10m_max": [42.3 if wet else 8.1 for wet in rain]},
            "hourly": {"time": hours, "weather_code": [63 if wet and hour >= 18 else 1 for wet in rain for hour in range(24)], "temperature_2m": [float(hour % 12) for _ in rain for hour in range(24)],
                       "precipitation_probability": [85 if wet and hour >= 18 else 5 for wet in rain for hour in range(24)], "wind_speed_10m": [8.0] * 384},
        })


class Liar(http.server.BaseHTTPRequestHandler):
    """A calendar server that does what the user name says."""

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def multistatus(self, *properties):
        found = "".join(f"<d:response><d:href>/c/</d:href><d:propstat><d:prop>{one}</d:prop></d:propstat></d:response>" for one in properties)
        self.answer(207, f'<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">{found}</d:multistatus>'.encode())

    def any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        user, _, password = base64.b64decode(self.headers["Authorization"].split()[1]).decode().partition(":")
        if user == "parrot":
            self.answer(401, f"your password is {password}".encode())
        elif user == "laughs":
            self.answer(207, b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>')
        elif user == "huge":
            self.answer(207, b"<a>" * 3_000_000)
        elif user == "garbage":
            self.answer(207, bytes(range(256)) * 100)
        elif user == "away":
            self.answer(301, Location="https://elsewhere.example/dav/")
        elif user == "lost":
            self.answer(301, Location="https://[no:address:99999/")
        elif user == "letters":
            self.answer(207, b'<?xml version="1.0" encoding="x-nobody-knows"?><a/>')
        elif user == "round":
            self.answer(301, Location="/.well-known/caldav")
        elif user == "drip":
            self.send_response(207)
            self.end_headers()
            while True:
                self.wfile.write(b" ")
                time.sleep(0.3)
        elif b"principal" in body and b"home-set" not in body and b"resourcetype" not in body:
            self.multistatus("<d:current-user-principal><d:href>/p/</d:href></d:current-user-principal>")
        elif b"home-set" in body:
            self.multistatus("<c:calendar-home-set><d:href>/h/</d:href></c:calendar-home-set>")
        elif b"resourcetype" in body:
            self.multistatus("<d:resourcetype><c:calendar/></d:resourcetype><d:displayname>x</d:displayname>")
        else:
            daily = "BEGIN:VEVENT\nUID:1\nDTSTART:19000101T000000Z\nRRULE:FREQ=DAILY;COUNT=99999999\nEND:VEVENT\n" * 2_000
            texts = {"endless": daily, "finer": "BEGIN:VEVENT\nUID:1\nDTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY\nSUMMARY:x\nEND:VEVENT\n",
                     "first": "BEGIN:VEVENT\nUID:1\nRECURRENCE-ID:00010101T000000\nDTSTART:00010101T000000\nEND:VEVENT\nBEGIN:VEVENT\nUID:2\nDTSTART:99991231T000000\nDURATION:P99999W\nRRULE:FREQ=DAILY\nEND:VEVENT\n",
                     "nothing": "BEGIN:VEVENT\nDTSTART:99991399T999999\nRRULE:FREQ=\nEND:VEVENT\n" + "BEGIN:" * 1_000}
            text = "BEGIN:VCALENDAR\n" + texts.get(user, "") + "END:VCALENDAR\n"
            self.multistatus(f"<c:calendar-data>{text}</c:calendar-data>")

    do_GET = do_PUT = do_DELETE = do_PROPFIND = do_REPORT = any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(handler, address):
    server = Server(address, handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(FOLDER / "cert.pem", FOLDER / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def main():
    port_of_names, liar = names(), serve(Liar, ("127.0.0.1", 0))
    try:
        serve(Weather, WEATHER)
        weather = f"{WEATHER[0]}:{WEATHER[1]}"
    except PermissionError:
        # The port of HTTPS is root's: without it there are calendars and no weather.
        weather = None
    server, port = start_radicale()
    print(json.dumps({"names": port_of_names, "calendar": port, "liar": liar, "weather": weather}), flush=True)
    try:
        for line in sys.stdin:
            asked = json.loads(line)
            if "put" in asked:
                path = asked["put"]
                ask(port, path.split("/")[1], "PUT", path, asked["text"].encode())
                answer = "ok"
            elif "all" in asked:
                answer = [ask(port, asked["all"], "GET", f"/{asked['all']}/{name}/") for name in ("home", "work")]
            else:
                answer, SEEN[:] = list(SEEN), []
            print(json.dumps(answer), flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


if __name__ == "__main__":
    main()
