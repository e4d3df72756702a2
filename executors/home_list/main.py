"""Lists the devices of the house that the owner has listed for this person, all or those of a kind, or those that are on."""

from metnos_home import House, answer, is_in, is_of, told

MOST = 200


def act(args, ctx):
    house = House(ctx)
    try:
        found = [device for device in house.devices() if is_of(device, args.get("kind", device["kind"]))]
    finally:
        house.close()
    if "room" in args:
        found = [device for device in found if is_in(device, args["room"].replace("_", " "))]
    if args.get("on", False):
        found = [device for device in found if device["state"] in ("on", "open", "heat", "cool", "auto")]
    shown = [told(device) for device in found[:MOST]]
    return {"ok": True, "account": house.name, "devices": shown, "total": len(found), "returned": len(shown), "truncated": len(shown) < len(found)}


def run(args, ctx):
    return answer(act, args, ctx)
