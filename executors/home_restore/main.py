"""Sets the devices of the house back to what they were before a call has switched them, and looks whether they are."""

import time

from metnos_home import House, Refused, answer, attribute


WITHIN, EVERY = 5.0, 0.3


def is_back(now, one):
    """Whether a device shows that it is what it was. A blind that moves is on its way."""
    if now is None:
        return False
    if now["kind"] == "cover":
        return True
    if "temperature" in one and now["state"] != "off" and attribute(now, "temperature") != one["temperature"]:
        return False
    return now["state"] == one["state"]


def put_back(house, one):
    """Has one device become what it was; whether it had to."""
    entity, was = one["entity"], one["state"]
    kind, now = entity.partition(".")[0], house.state(one["entity"])
    if now is None:
        return False
    if kind == "cover":
        if "current_position" in one:
            house.call("set_cover_position", entity, position=one["current_position"])
        else:
            house.call("open_cover" if was in ("open", "opening") else "close_cover", entity)
    elif was == "off":
        house.call("turn_off", entity)
    elif kind == "light" and "brightness" in one:
        house.call("turn_on", entity, brightness=one["brightness"])
    elif kind == "climate":
        if now["state"] != was:
            house.call("set_hvac_mode", entity, hvac_mode=was)
        if "temperature" in one:
            house.call("set_temperature", entity, temperature=one["temperature"])
    else:
        house.call("turn_on", entity)
    return True


def act(args, ctx):
    before = ctx.before()
    if before is None:
        # Nothing was switched before it was kept.
        return {"ok": True, "what": "nothing", "count": 0}
    house = House(ctx)
    try:
        if house.name != before["account"]:
            raise Refused("Changed", f"it was done in the account {before['account']}")
        known = [one for one in before["before"] if one["entity"].partition(".")[0] in ("light", "switch", "fan", "cover", "climate")]
        known = [one for one in known if one["state"] not in ("unavailable", "unknown") and put_back(house, one)]
        until, left = time.monotonic() + min(WITHIN, ctx.remaining() - 2), known
        while left:
            left = [one for one in left if not is_back(house.state(one["entity"]), one)]
            if not left or time.monotonic() >= until:
                break
            time.sleep(EVERY)
        count = len(known) - len(left)
        if known and not count:
            raise Refused("NotDone", f"{house.place} was told, and does not show it")
    finally:
        house.close()
    return {"ok": True, "what": "restored" if count else "nothing", "count": count}


def run(args, ctx):
    return answer(act, args, ctx)
