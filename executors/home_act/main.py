"""Switches devices of the house: lights, plugs, fans, blinds, the heating, scenes. What opens the house is not among them.

What they were before is kept first, and each is looked at afterwards: what the house does not show is not told as done.
"""

import time

from metnos_home import House, Refused, answer, attribute, chosen, is_guarded, members, plain, told

# The most devices of one call, how long all of them are waited for, and how often it is looked at, in seconds.
MOST, WITHIN, EVERY = 40, 6.0, 0.3
# How far "up" and "down" go: a light in percent, the heating in degrees.
STEP_LIGHT, STEP_HEATING, WARMEST, COLDEST = 20, 1, 30, 5
ON, OFF = ("turn_on", ("on", "heat", "cool", "auto", "heat_cool")), ("turn_off", ("off",))
# What a kind of device does by a word alone: the service, and what the device shows when it was done, or is being done.
ACTIONS = {
    "light": {"on": ON, "off": OFF},
    "switch": {"on": ON, "off": OFF},
    "fan": {"on": ON, "off": OFF},
    "climate": {"on": ON, "off": OFF},
    "cover": {"open": ("open_cover", ("open", "opening")), "close": ("close_cover", ("closed", "closing")), "stop": ("stop_cover", None)},
    "scene": {"on": ("turn_on", None), "run": ("turn_on", None)},
}
# "Raise" and "lower" mean a blind that goes up, and a light that gets brighter.
SAME = {"cover": {"up": "open", "down": "close"}, "light": {"open": "up", "close": "down"}, "climate": {"open": "up", "close": "down"}}


def brightness_of(device):
    return round((attribute(device, "brightness") or 0) * 100 / 255) if device["state"] == "on" else 0


def aimed(device, args):
    """What has this device do it: the service, what goes with it, and whether a device shows that it was done. Nothing where it cannot."""
    kind = device["kind"]
    do = SAME.get(kind, {}).get(args["do"], args["do"])
    if kind == "light" and do in ("set", "up", "down"):
        level = args.get("level") if do == "set" else brightness_of(device) + (STEP_LIGHT if do == "up" else -STEP_LIGHT)
        return None if level is None else lit(min(max(level, 0), 100))
    if kind == "climate" and do in ("set", "up", "down"):
        now = attribute(device, "temperature")
        # A number without a unit is that of degrees: a heating has no percentage.
        goal = args.get("temperature", args.get("level")) if do == "set" else now and now + (STEP_HEATING if do == "up" else -STEP_HEATING)
        if goal is None or not COLDEST <= goal <= WARMEST:
            return None
        return "set_temperature", {"temperature": goal}, lambda after: attribute(after, "temperature") == goal
    if kind == "cover" and do == "set":
        level = args.get("level")
        is_there = lambda after: after["state"] in ("opening", "closing") or attribute(after, "current_position") == level
        return None if level is None else ("set_cover_position", {"position": level}, is_there)
    service, shows = ACTIONS.get(kind, {}).get(do, (None, None))
    if service is None:
        return None
    was = device["state"]
    # A scene has no state but when it was run last; one that stops a blind shows nothing.
    is_done = (lambda after: after["state"] != was) if kind == "scene" else (lambda after: shows is None or after["state"] in shows)
    return service, {}, is_done


def lit(level):
    """A light of so many percent."""
    if not level:
        return "turn_off", {}, lambda after: after["state"] == "off"
    return "turn_on", {"brightness_pct": level}, lambda after: abs(brightness_of(after) - level) <= 2


def kept(device):
    """What an inverse needs of a device."""
    numbers = {name: attribute(device, name) for name in ("brightness", "current_position", "temperature")}
    return {"entity": device["entity"], "state": device["state"], **{name: value for name, value in numbers.items() if value is not None}}


def act(args, ctx):
    house = House(ctx)
    try:
        # What only tells something, as a thermometer does, is not meant.
        found = chosen([one for one in house.devices() if one["kind"] in ACTIONS or is_guarded(one)], args["name"])
        changes = {device["entity"]: members(house, device) for device in found}
        # "The blinds" are those that guard nothing; one that does is named alone, and refused.
        found = [device for device in found if not any(is_guarded(one) for one in [device, *changes[device["entity"]]])]
        if not found:
            raise Refused("Guarded", f"{plain(args['name'])} opens the house or guards it")
        able = [(device, aim) for device in found for aim in [aimed(device, args)] if aim is not None]
        if not able:
            raise Refused("CannotDo", f"{', '.join(device['name'] for device in found[:8])}: that cannot be done with it")
        pending = [(device, aim) for device, aim in able if device["kind"] == "scene" or args["do"] == "stop" or not aim[2](device)]
        if not pending:
            raise Refused("Already", "it is so already")
        before = {one["entity"]: kept(one) for device, _ in pending for one in changes[device["entity"]]}
        # Groups and scenes count with the devices in them: so many states fit into the undo record.
        if max(len(before), len(pending)) > MOST:
            raise Refused("TooMany", f"{max(len(before), len(pending))} devices are meant; at most {MOST} are switched at once")
        ctx.keep({"account": house.name, "before": list(before.values())})
        for device, (service, more, _) in pending:
            house.call(service, device["entity"], **more)
        done = looked_at(house, pending)
    finally:
        house.close()
    if not done:
        raise Refused("NotDone", f"{house.place} was told, and does not show it")
    first = told(done[0])
    return {
        "ok": True, "account": house.name, "do": args["do"], "count": len(done), "failed": len(pending) - len(done), "several": len(done) > 1,
        "names": [device["name"] for device in done], **{name: first[name] for name in ("name", "room", "english", "italian")},
    }


def looked_at(house, pending):
    """The devices that show that it was done, as they are then."""
    until = time.monotonic() + min(WITHIN, house.ctx.remaining() - 2)
    left, done = {device["entity"]: (device, is_done) for device, (_, _, is_done) in pending}, {}
    while left:
        for entity, (before, is_done) in list(left.items()):
            now = house.state(entity)
            if now is not None and is_done(now):
                done[entity] = {**now, "room": before["room"]}
                del left[entity]
        if not left or time.monotonic() >= until:
            break
        time.sleep(EVERY)
    return [done[device["entity"]] for device, _ in pending if device["entity"] in done]


def run(args, ctx):
    return answer(act, args, ctx)
