"""A house for tests: Home Assistant's REST API (https://developers.home-assistant.io/docs/api/rest) with a few devices, over plain HTTP.

`home.py` prints one JSON line with the port and the access token. Each line of its standard input is a JSON object, answered with one
line: `state` asks for the state of a device, `set` gives `of` another one, `stuck` makes a device that does nothing any more, `lie` has the
server answer so. It ends with its standard input.
"""

import http.server
import json
import sys
import threading

TOKEN = "house-token-of-the-tests"
HOUSE = {
    "light.kitchen": ["off", {"friendly_name": "Kitchen light", "brightness": None}, "Kitchen"],
    "light.living": ["on", {"friendly_name": "Luce soggiorno", "brightness": 128}, "Soggiorno"],
    "light.secret": ["on", {"friendly_name": "Studio light"}, "Studio"],
    "switch.fountain": ["off", {"friendly_name": "Fountain plug"}, "Garden"],
    "climate.home": ["heat", {"friendly_name": "Thermostat", "temperature": 19.0, "current_temperature": 18.5}, "Hall"],
    "sensor.bedroom": ["20.5", {"friendly_name": "Bedroom temperature", "device_class": "temperature", "unit_of_measurement": "°C"}, "Bedroom"],
    "cover.bedroom": ["open", {"friendly_name": "Bedroom blinds", "current_position": 100, "device_class": "blind"}, "Bedroom"],
    "cover.garage": ["closed", {"friendly_name": "Garage door", "device_class": "garage"}, ""],
    "lock.front": ["locked", {"friendly_name": "Front door"}, "Hall"],
    "lock.cellar": ["unlocked", {"friendly_name": "Cellar door"}, "Cellar"],
    "scene.evening": ["2026-01-01T00:00:00", {"friendly_name": "Evening", "entity_id": ["light.kitchen", "light.living"]}, ""],
    "switch.gate_opener": ["off", {"friendly_name": "Gate opener"}, "Garden"],
    "cover.all": ["open", {"friendly_name": "Ground floor", "entity_id": ["cover.bedroom", "cover.garage"]}, ""],
    "scene.blind": ["2026-01-01T00:00:00", {"friendly_name": "Mystery"}, ""],
    "scene.crooked": ["2026-01-01T00:00:00", {"friendly_name": "Crooked", "entity_id": ["../services", 7]}, ""],
    "scene.many": ["2026-01-01T00:00:00", {"friendly_name": "Many", "entity_id": [f"light.room_{at}" for at in range(60)]}, ""],
    "scene.leave": ["2026-01-01T00:00:00", {"friendly_name": "Leaving", "entity_id": ["light.kitchen", "lock.front"]}, ""],
}
STUCK, LIE, CALLS = set(), [""], []


def state_of(entity):
    said, attributes, _ = HOUSE[entity]
    return {"entity_id": entity, "state": said, "attributes": attributes, "last_changed": "2026-01-01T00:00:00+00:00"}


def act(kind, service, body):
    entity = body["entity_id"]
    CALLS.append([entity, service])
    if entity not in HOUSE or entity in STUCK:
        return
    device, attributes = HOUSE[entity], HOUSE[entity][1]
    if kind == "scene":
        device[0] = "2026-11-30T00:00:0" + str(len(CALLS) % 10)
        for member in attributes["entity_id"]:
            HOUSE[member][0] = "on"
            HOUSE[member][1]["brightness"] = 60
    elif service == "turn_on":
        device[0] = "heat" if kind == "climate" else "on"
        if kind == "light":
            percent = body.get("brightness_pct")
            attributes["brightness"] = body.get("brightness", round(percent * 255 / 100) if percent else 255)
    elif service == "turn_off":
        device[0] = "off"
        attributes.pop("brightness", None)
    elif service == "set_temperature":
        attributes["temperature"] = float(body["temperature"])
    elif service == "set_hvac_mode":
        device[0] = body["hvac_mode"]
    elif service in ("open_cover", "close_cover", "set_cover_position"):
        position = body.get("position", 100 if service == "open_cover" else 0)
        device[0] = "open" if position else "closed"
        if "current_position" in attributes:
            attributes["current_position"] = position
    elif service in ("lock", "unlock"):
        device[0] = service + "ed"


class House(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _say(self, status, body, kind="application/json"):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _refused(self):
        if self.headers.get("Authorization") != "Bearer " + TOKEN:
            self._say(401, {"message": "no"})
            return True
        lies = {"garbage": b"\x00\xff<html>", "list": [{"entity_id": 7}, None, "x", {"entity_id": "light.x\nlight.y"}], "deep": b"[" * 200_000,
                "huge": b"[" + b" " * 5_000_000 + b"]", "error": None, "nan": b'[{"entity_id": "light.kitchen", "state": "on", "attributes": {"brightness": NaN}}]'}
        if LIE[0] in lies:
            self._say(500 if LIE[0] == "error" else 200, lies[LIE[0]] if lies[LIE[0]] is not None else {"message": "no"})
            return True
        return False

    def do_GET(self):
        if self._refused():
            return
        if self.path == "/api/states":
            return self._say(200, [state_of(entity) for entity in HOUSE])
        entity = self.path.rpartition("/")[2]
        if self.path.startswith("/api/states/") and entity in HOUSE:
            return self._say(200, state_of(entity))
        self._say(404, {"message": "Entity not found."})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self._refused():
            return
        if self.path == "/api/template":
            return self._say(200, "".join(f"{entity}|{room}\n" for entity, (_, _, room) in HOUSE.items()).encode(), "text/plain")
        parts = self.path.split("/")
        if parts[:3] == ["", "api", "services"] and len(parts) == 5:
            act(parts[3], parts[4], body)
            return self._say(200, [])
        self._say(404, {"message": "no"})


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), House)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"port": server.server_address[1], "token": TOKEN}), flush=True)
    for line in sys.stdin:
        asked, answer = json.loads(line), "ok"
        if "state" in asked:
            answer = [HOUSE[asked["state"]][0], HOUSE[asked["state"]][1].get("brightness")]
        elif "of" in asked:
            HOUSE[asked["of"]][0] = asked["set"]
        elif "stuck" in asked:
            STUCK.add(asked["stuck"])
        elif "calls" in asked:
            answer = CALLS
        else:
            LIE[0] = asked["lie"]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
