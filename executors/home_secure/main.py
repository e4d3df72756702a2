"""Locks, unlocks, opens or closes what leads into the house, or arms and disarms its alarm, and never without a yes.

What opens the house is one device; what closes it may be all of them: "lock the doors".
"""

import time

from metnos_home import House, Refused, answer, are_several, is_guarded, meant, plain, told

# How many are closed by one call, how long they are waited for in all, and how often they are looked at, in seconds.
MOST, WITHIN, EVERY = 20, 8.0, 0.4
ACTIONS = {
    "lock": {"lock": ("lock", ("locked", "locking")), "unlock": ("unlock", ("unlocked", "unlocking")), "open": ("unlock", ("unlocked", "unlocking")),
             "close": ("lock", ("locked", "locking"))},
    "cover": {"open": ("open_cover", ("open", "opening")), "close": ("close_cover", ("closed", "closing"))},
    "switch": {"open": ("turn_on", ("on",)), "close": ("turn_off", ("off",)), "arm": ("turn_on", ("on",)), "disarm": ("turn_off", ("off",))},
    "alarm_control_panel": {"arm": ("alarm_arm_away", ("armed_away", "arming")), "disarm": ("alarm_disarm", ("disarmed",))},
}


# What makes the house safer.
CLOSING = ("lock", "close", "arm")


def act(args, ctx):
    house, do = House(ctx), args["do"]
    try:
        found = [device for device in meant(house.devices(), args["name"]) if is_guarded(device)]
        if not found:
            raise Refused("NotFound", f"no listed lock, alarm, gate or garage is called {plain(args['name'])}")
        # "Lock the doors" is not about the garage door, which has no lock.
        able = [device for device in found if do in ACTIONS[device["kind"]]]
        if not able:
            raise Refused("CannotDo", f"{', '.join(device['name'] for device in found[:8])}: that cannot be done with it")
        if len(able) > 1 and not (do in CLOSING and are_several(args["name"])):
            raise Refused("Several", f"several are called so: {', '.join(device['name'] for device in able[:8])}")
        if len(able) > MOST:
            raise Refused("Several", f"{len(able)} are called so; at most {MOST} are closed at once")
        left = {device["entity"]: device for device in able if device["state"] not in shown(device, do)}
        if not left:
            raise Refused("Already", "it is so already")
        for device in left.values():
            house.call(ACTIONS[device["kind"]][do][0], device["entity"])
        done, until = [], time.monotonic() + min(WITHIN, ctx.remaining() - 2)
        while left:
            states = [now for now in map(house.state, left) if now is not None and now["state"] in shown(now, do)]
            done += [told(now) for now in states]
            for now in states:
                del left[now["entity"]]
            if not left or time.monotonic() >= until:
                break
            time.sleep(EVERY)
        if left:
            names = ", ".join(device["name"] for device in left.values())
            raise Refused("NotDone", f"{house.place} was told, and does not show it of {names}; it may want a code")
    finally:
        house.close()
    first = done[0]
    names = [one["name"] for one in done]
    return {"ok": True, "account": house.name, "do": do, "names": names, "english": first["english"], "italian": first["italian"]}


def shown(device, do):
    """What the device shows when it was done, or is being done."""
    return ACTIONS[device["kind"]][do][1]


def run(args, ctx):
    return answer(act, args, ctx)
