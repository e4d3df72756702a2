"""Says how devices of the house are that are called so."""

from metnos_home import House, Refused, answer, meant, plain, told

MOST = 30


def act(args, ctx):
    house = House(ctx)
    try:
        found = meant(house.devices(), args["name"])
    finally:
        house.close()
    if not found:
        raise Refused("NotFound", f"no listed device is called {plain(args['name'])}")
    shown = [told(device) for device in found[:MOST]]
    return {"ok": True, "account": house.name, "devices": shown, "total": len(found), "returned": len(shown), "truncated": len(shown) < len(found)}


def run(args, ctx):
    return answer(act, args, ctx)
