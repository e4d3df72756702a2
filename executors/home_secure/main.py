"""Locks, unlocks, opens or closes what leads into the house, or arms and disarms its alarm: one device, and never without a yes."""

import time

from metnos_home import House, Refused, answer, is_guarded, meant, plain, told

WITHIN, EVERY = 8.0, 0.4
ACTIONS = {
    "lock": {"lock": ("lock", ("locked", "locking")), "unlock": ("unlock", ("unlocked", "unlocking")), "open": ("unlock", ("unlocked", "unlocking")),
             "close": ("lock", ("locked", "locking"))},
    "cover": {"open": ("open_cover", ("open", "opening")), "close": ("close_cover", ("closed", "closing"))},
    "switch": {"open": ("turn_on", ("on",)), "close": ("turn_off", ("off",)), "arm": ("turn_on", ("on",)), "disarm": ("turn_off", ("off",))},
    "alarm_control_panel": {"arm": ("alarm_arm_away", ("armed_away", "arming")), "disarm": ("alarm_disarm", ("disarmed",))},
}


def act(args, ctx):
    house = House(ctx)
    try:
        found = [device for device in meant(house.devices(), args["name"]) if is_guarded(device)]
        if not found:
            raise Refused("NotFound", f"no listed lock, alarm, gate or garage is called {plain(args['name'])}")
        # "Lock the door" is not about the garage door, which has no lock.
        found = [device for device in found if args["do"] in ACTIONS[device["kind"]]] or found
        if len(found) > 1:
            raise Refused("Several", f"several are called so: {', '.join(device['name'] for device in found[:8])}")
        device = found[0]
        how = ACTIONS[device["kind"]].get(args["do"])
        if how is None:
            raise Refused("CannotDo", f"{device['name']}: that cannot be done with it")
        service, shows = how
        if device["state"] in shows:
            raise Refused("Already", "it is so already")
        house.call(service, device["entity"])
        until = time.monotonic() + min(WITHIN, ctx.remaining() - 2)
        while True:
            now = house.state(device["entity"])
            if now is not None and now["state"] in shows:
                break
            if time.monotonic() >= until:
                raise Refused("NotDone", f"{house.place} was told, and does not show it; it may want a code")
            time.sleep(EVERY)
    finally:
        house.close()
    said = told(now)
    return {"ok": True, "account": house.name, "do": args["do"], "name": device["name"], "english": said["english"], "italian": said["italian"]}


def run(args, ctx):
    return answer(act, args, ctx)
