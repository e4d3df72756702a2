"""What the executors of the house share: the way to Home Assistant, its devices by the names that people say, and what is asked of them.

It speaks the REST API (https://developers.home-assistant.io/docs/api/rest). Only the devices that the owner has listed exist here, whatever
the server tells of.
"""

import json
import math
import re
import unicodedata

from metnos_web import Refused, answer, plain, site_of

# How much of an answer is read, and how many devices are looked at.
MOST_BYTES, MOST_DEVICES = 4_000_000, 3_000
# Asked for the room of each device, in one line each; what an older server does not know it leaves out.
ROOMS = "{% for s in states %}{{ s.entity_id }}|{{ area_name(s.entity_id) or '' }}\n{% endfor %}"
# How people call a kind of device; one alone means all of its kind.
KINDS = {
    "light": "light lights lamp lamps luce luci lampada lampade lampadario abatjour",
    "switch": "switch switches plug plugs socket presa prese interruttore interruttori",
    "fan": "fan fans ventilatore ventilatori ventola",
    "cover": "blind blinds shutter shutters curtain curtains awning cover covers tapparella tapparelle persiana persiane tenda tende serranda "
             "serrande veneziana veneziane avvolgibile avvolgibili",
    "climate": "heating heater thermostat thermostats radiator radiators riscaldamento termostato termostati termosifone termosifoni "
               "condizionatore clima",
    "temperature": "temperature temperatura",
    "scene": "scene scenes scena scene scenario scenari",
    "lock": "lock locks serratura serrature",
    "alarm_control_panel": "alarm antifurto allarme",
}
PLURALS = ("lights lamps luci lampade switches plugs prese interruttori fans ventilatori blinds shutters curtains covers tapparelle persiane tende "
           "serrande veneziane avvolgibili doors gates porte cancelli windows finestre heating riscaldamento radiators termosifoni thermostats termostati scenes scenari locks serrature").split()
# Words that do not tell one device from another.
FILLERS = ("the a an my our all every of in on at il lo la l i gli le un una del dello della dell dei degli delle di in nel nello nella nell nei nelle "
           "al allo alla all ai alle da dal dalla tutte tutti tutto tutta mio mia nostro nostra room stanza").split()
# Words that mean the same in both languages: a device is often called in one, and spoken of in the other.
SAME = {
    "kitchen": "cucina", "bedroom": "camera", "living": "soggiorno salotto", "bathroom": "bagno", "garden": "giardino", "hall": "ingresso corridoio",
    "study": "studio ufficio office", "cellar": "cantina", "attic": "soffitta mansarda", "terrace": "terrazzo terrazza", "balcony": "balcone",
    "dining": "pranzo", "kids": "bambini children", "door": "porta portone portoncino", "gate": "cancello cancelletto", "window": "finestra finestre windows",
    "front": "ingresso entrance", "lock": "serratura", "alarm": "allarme antifurto", "big": "grande", "small": "piccola piccolo", "desk": "scrivania",
    "bed": "letto", "table": "tavolo", "wall": "parete muro", "ceiling": "soffitto", "garage": "box", "oven": "forno", "boiler": "caldaia", "tv": "televisione",
}
# What opens the house or guards it is switched another way, which asks each time: by its kind, by its class, or, for what may be wired to
# anything, by its name.
GUARDED = ("lock", "alarm_control_panel")
ENTRANCES = ("garage", "gate", "door")
WIRED = ("cover", "switch")
ENTRANCE_WORDS = set("garage gate gates door doors lock alarm siren opener cancello cancelletto porta portone portoncino ingresso serratura allarme "
                     "antifurto apricancello apriporta".split())
# The most devices of a group or a scene, with those of the groups in it.
MOST_MEMBERS = 40


class House:
    """Home Assistant, as the account that came with this call shows it."""

    def __init__(self, ctx):
        account = ctx.account()
        self.ctx, self.name = ctx, account["name"]
        self.listed = account["devices"].split(",")
        host, port = account["host"], int(account["port"])
        self.site = site_of(ctx, host, port)
        self.place = f"{host} port {port}"
        self._token = account["password"]

    def ask(self, method, path, body=None):
        """One request; the JSON that comes back."""
        headers = {"Authorization": "Bearer " + self._token, "Content-Type": "application/json", "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode("utf-8")
        status, _, raw = self.site.ask(method, path, headers, data, MOST_BYTES)
        if status in (401, 403):
            raise Refused("LoginFailed", f"{self.place} does not accept the access token")
        if status == 404:
            return None
        if status not in (200, 201):
            raise Refused("ServerError", f"{self.place} answered {status}")
        return raw

    def json(self, method, path, body=None):
        raw = self.ask(method, path, body)
        try:
            return None if raw is None else json.loads(raw)
        except (ValueError, RecursionError):
            raise Refused("ServerError", f"{self.place} answered something that is no JSON") from None

    def is_listed(self, entity):
        return any(one == entity or one.endswith(".*") and entity.startswith(one[:-1]) for one in self.listed)

    def devices(self):
        """The listed devices, each as a dict; the rooms are known where the server tells them."""
        states = self.json("GET", "/api/states")
        if not isinstance(states, list):
            raise Refused("ServerError", f"{self.place} tells no states")
        found = [device for state in states[:MOST_DEVICES] for device in [read(state)] if device and self.is_listed(device["entity"])]
        try:
            raw = self.ask("POST", "/api/template", {"template": ROOMS}) or b""
        except Refused:
            raw = b""
        rooms = dict(line.split("|", 1) for line in raw.decode("utf-8", "replace").splitlines() if "|" in line)
        for device in found:
            device["room"] = plain(rooms.get(device["entity"], ""), 60)
        return sorted(found, key=lambda device: device["entity"])

    def state(self, entity):
        """The device as it is now."""
        return read(self.json("GET", f"/api/states/{entity}"))

    def call(self, service, entity, **more):
        """Has a service act on one device; the kind of the device is that of the service."""
        kind = entity.partition(".")[0]
        if self.json("POST", f"/api/services/{kind}/{service}", {"entity_id": entity, **more}) is None:
            raise Refused("ServerError", f"{self.place} has nothing that does that to {entity}")

    def close(self):
        self.site.close()


def read(state):
    """A device out of what the server says of it; nothing where it says nothing of one."""
    if not isinstance(state, dict):
        return None
    entity, attributes = state.get("entity_id"), state.get("attributes")
    if not is_entity(entity):
        return None
    attributes = attributes if isinstance(attributes, dict) else {}
    text = lambda name: attributes[name] if isinstance(attributes.get(name), str) else ""
    said = state.get("state") if isinstance(state.get("state"), str) else "unknown"
    return {
        "entity": entity, "kind": entity.partition(".")[0], "name": plain(text("friendly_name") or entity.partition(".")[2].replace("_", " "), 80),
        "state": plain(said, 60), "unit": plain(text("unit_of_measurement"), 10), "class": text("device_class"), "room": "", "attributes": attributes,
    }


def folded(text):
    """The words of a text in small letters without accents."""
    base = unicodedata.normalize("NFD", text.lower())
    return re.findall(r"[a-z0-9]+", "".join(sign for sign in base if not unicodedata.combining(sign)))


def kind_of(word):
    return next((kind for kind, words in KINDS.items() if word in words.split()), None)


def is_of(device, kind):
    """Whether this is a device of that kind; a thermometer is one of what is asked for its temperature."""
    return device["kind"] == kind or kind == "temperature" and (device["kind"] == "climate" or device["class"] == "temperature")


def is_same(said, known):
    """Whether two words are the same, but for an ending (`camera` and `camere`), or mean the same in both languages."""
    if said == known or said == known + "s" or len(said) > 3 and len(known) > 3 and said[:-1] == known[:-1]:
        return True
    return any({said, known} <= {word, *others.split()} for word, others in SAME.items())


def known(device):
    """The words of a device's name and room."""
    return folded(f"{device['name']} {device['room']} {device['entity'].partition('.')[2]}")


def is_in(device, room):
    """Whether a device is in this room, by its room or its name."""
    return all(any(is_same(word, own) for own in known(device)) for word in folded(room) if word not in FILLERS)


def meant(devices, name):
    """The devices that these words mean: all of a kind, or those whose name or room has each of the words."""
    words = [word for word in folded(name) if word not in FILLERS]
    kinds = {kind_of(word) for word in words} - {None}
    rest = [word for word in words if kind_of(word) is None]
    # "The blinds" are not the garage, which is a cover as well.
    of_kind = [device for device in devices if not kinds or any(is_of(device, kind) for kind in kinds) and not (device["kind"] == "cover" and is_guarded(device))]

    # A device may be called "lamp" and be a switch.
    whole = [device for device in devices if words and all(any(is_same(word, own) for own in known(device)) for word in words)]
    found = [device for device in of_kind if all(any(is_same(word, own) for own in known(device)) for word in rest)]
    if not kinds and not rest:
        return []
    exact = [device for device in whole if folded(device["name"]) == words]
    return exact or (found if kinds else whole) or whole


def are_several(name):
    """Whether the words mean more than one."""
    return any(word in PLURALS or word in ("all", "every", "tutte", "tutti") for word in folded(name))


def chosen(devices, name):
    """The devices that are to be switched: one, or several where the words say so."""
    found = meant(devices, name)
    if not found:
        raise Refused("NotFound", f"no listed device is called {plain(name)}")
    several = are_several(name)
    rooms = {device["room"] for device in found}
    if len(found) > 1 and not several and not (len(rooms) == 1 and rooms != {""} and len({device["kind"] for device in found}) == 1):
        raise Refused("Several", f"several are called so: {', '.join(device['name'] for device in found[:8])}")
    return found


def is_guarded(device):
    """Whether it opens the house, or guards it. A plug for the light in the garage does not."""
    kind, words = device["kind"], set(folded(f"{device['name']} {device['entity'].partition('.')[2]}"))
    by_name = kind in WIRED and words & ENTRANCE_WORDS and not any(kind_of(word) == "light" for word in words)
    return kind in GUARDED or kind == "cover" and device["class"] in ENTRANCES or bool(by_name)


def is_entity(name):
    """Whether this is the id of a device, such as `light.kitchen`."""
    return isinstance(name, str) and re.fullmatch(r"[a-z0-9_]{1,60}\.[a-z0-9_]{1,120}", name) is not None


def listed_in(device):
    """The devices that a group or a scene says it is made of; nothing where it is neither."""
    names = device["attributes"].get("entity_id")
    return names if isinstance(names, list) else []


def members(house, device):
    """The devices that change when this one is switched: itself, or those of a group or a scene, also of the groups in it."""
    if device["kind"] == "scene" and not listed_in(device):
        raise Refused("CannotDo", f"{device['name']} does not say what it sets")
    left, seen, found = [device], {device["entity"]}, []
    while left:
        one = left.pop(0)
        inner = listed_in(one)
        found += [] if inner else [one]
        for name in inner:
            if not is_entity(name):
                raise Refused("CannotDo", f"{device['name']} lists something that is not the id of a device")
            if name in seen:
                continue
            seen.add(name)
            if len(seen) > MOST_MEMBERS + 1:
                raise Refused("CannotDo", f"{device['name']} sets more than {MOST_MEMBERS} devices")
            # Without a state, only the id says what kind of device it is.
            left.append(house.state(name) or read({"entity_id": name, "state": "unavailable"}))
    return found


SAID = {
    "on": ("on", "acceso"), "off": ("off", "spento"), "open": ("open", "aperto"), "closed": ("closed", "chiuso"), "opening": ("opening", "in apertura"),
    "closing": ("closing", "in chiusura"), "locked": ("locked", "chiuso a chiave"), "unlocked": ("unlocked", "non chiuso a chiave"),
    "heat": ("heating", "in riscaldamento"), "cool": ("cooling", "in raffreddamento"), "auto": ("on automatic", "in automatico"),
    "unavailable": ("not reachable", "non raggiungibile"), "unknown": ("not known", "non noto"), "armed_away": ("armed", "inserito"),
    "armed_home": ("armed for staying at home", "inserito per chi resta in casa"), "armed_night": ("armed for the night", "inserito per la notte"),
    "disarmed": ("disarmed", "disinserito"), "triggered": ("triggered", "scattato"),
}


def told(device):
    """The fields that describe a device to a person, in both languages."""
    number = re.fullmatch(r"-?[0-9.]{1,20}", device["state"])
    value = f"{device['state']} {device['unit']}".strip() if number else device["state"]
    if device["class"] in ("door", "window", "opening", "garage_door") and device["state"] in ("on", "off"):
        value = "open" if device["state"] == "on" else "closed"
    english, italian = ("activated", "attivato") if device["kind"] == "scene" else SAID.get(value, (value, value))
    brightness, position = attribute(device, "brightness"), attribute(device, "current_position")
    share = round(brightness * 100 / 255) if device["kind"] == "light" and device["state"] == "on" and brightness is not None else None
    share = position if device["kind"] == "cover" and position not in (None, 0, 100) else share
    if share is not None:
        english, italian = f"{english}, {share:.0f} %", f"{italian}, {share:.0f} %"
    warm = attribute(device, "current_temperature")
    goal = attribute(device, "temperature")
    if device["kind"] == "climate" and warm is not None:
        english, italian = f"{english}, {warm:g} °C now", f"{italian}, ora {warm:g} °C"
        if goal is not None:
            english, italian = f"{english}, set to {goal:g} °C", f"{italian}, impostato a {goal:g} °C"
    return {
        "name": device["name"], "room": device["room"], "kind": device["kind"], "entity": device["entity"], "state": device["state"],
        "english": english, "italian": italian,
    }


def attribute(device, name):
    """A numeric attribute of a device, or `None`."""
    value = device["attributes"].get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None
