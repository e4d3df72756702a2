"""Tells the weather of a town by open-meteo.com, which needs no key: it is told the name of the town and nothing else."""

import datetime
import urllib.parse

from metnos_web import Refused, Site, answer, plain

PLACES, FORECAST = "geocoding-api.open-meteo.com", "api.open-meteo.com"
MOST_BYTES = 500_000
DAYS = 16
# From which chance of rain on, in per cent, and from which wind on, in km/h, the answer says that it is wet or windy.
WET, WINDY = 50, 30
WEEKDAYS = (("monday", "lunedi"), ("tuesday", "martedi"), ("wednesday", "mercoledi"), ("thursday", "giovedi"), ("friday", "venerdi"), ("saturday", "sabato"), ("sunday", "domenica"))
AWAY = {"today": 0, "oggi": 0, "tonight": 0, "stasera": 0, "stanotte": 0, "tomorrow": 1, "domani": 1, "dopodomani": 2}
PART_OF = {"tonight": "evening", "stasera": "evening", "stanotte": "night"}
# The hours of a part of a day, and what it is called.
PARTS = {"morning": (6, 12, "mattina"), "afternoon": (12, 18, "pomeriggio"), "evening": (18, 24, "sera"), "night": (0, 6, "notte")}
ENGLISH = {italian: english for english, (_, _, italian) in PARTS.items()}
# The weather codes of the WMO (table 4677, as open-meteo.com uses them), the highest of each group, from the fairest to the worst.
SKIES = (
    (0, "clear sky", "cielo sereno"), (1, "mostly clear", "per lo più sereno"), (2, "partly cloudy", "parzialmente nuvoloso"),
    (3, "overcast", "coperto"), (48, "fog", "nebbia"), (57, "drizzle", "pioviggine"), (61, "light rain", "pioggia leggera"),
    (63, "rain", "pioggia"), (65, "heavy rain", "pioggia forte"), (67, "freezing rain", "pioggia gelata"), (71, "light snow", "neve leggera"),
    (73, "snow", "neve"), (77, "heavy snow", "neve forte"), (80, "showers", "rovesci"), (82, "heavy showers", "rovesci forti"),
    (86, "snow showers", "rovesci di neve"), (99, "thunderstorm", "temporale"),
)


def sky(code):
    return next((names for most, *names in SKIES if code <= most), ["unknown", "sconosciuto"])


def number(value):
    """What is a number, and not more than a number of the weather."""
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10_000 else None


def bounded(value, least, most):
    return max(least, min(most, round(value)))


def found(name, italian, ctx):
    """Where a town is: its name with region and country, and its place on the map."""
    site = Site(ctx, PLACES)
    try:
        query = urllib.parse.urlencode({"name": name, "count": 1, "language": "it" if italian else "en", "format": "json"})
        results = site.json(f"/v1/search?{query}", MOST_BYTES).get("results")
    finally:
        site.close()
    first = results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else {}
    at = number(first.get("latitude")), number(first.get("longitude"))
    if None in at:
        raise Refused("NotFound", f"no town called {plain(name)} was found")
    parts = [first.get(part) for part in ("name", "admin1", "country")]
    parts = [plain(part, 60) for part in parts if isinstance(part, str) and part]
    return ", ".join(dict.fromkeys(parts)) or plain(name), at


def forecast(at, ctx):
    site = Site(ctx, FORECAST)
    try:
        query = urllib.parse.urlencode({
            "latitude": f"{at[0]:.4f}", "longitude": f"{at[1]:.4f}", "timezone": "auto", "forecast_days": DAYS,
            "current": "temperature_2m,weather_code",
            "daily": "weather_code,temperature_2m_max,temperature_2m_min,precipitation_probability_max,wind_speed_10m_max",
            "hourly": "weather_code,temperature_2m,precipitation_probability,wind_speed_10m",
        })
        return site.json(f"/v1/forecast?{query}", MOST_BYTES)
    finally:
        site.close()


def column(table, name):
    values = table.get(name) if isinstance(table, dict) else None
    return values if isinstance(values, list) else []


def row(date, part, codes, lows, highs, chances, winds):
    """A day or a part of one, of the values that are numbers; nothing where the temperature is missing."""
    codes, lows, highs, chances, winds = ([value for value in map(number, values) if value is not None] for values in (codes, lows, highs, chances, winds))
    if not (codes and lows and highs):
        return None
    chance, wind = bounded(max(chances, default=0), 0, 100), bounded(max(winds, default=0), 0, 500)
    names = sky(max(codes))
    return {
        "date": date, "part": part, "parte": PARTS[part][2] if part else "", "sky": names[0], "cielo": names[1],
        "low": bounded(min(lows), -100, 100), "high": bounded(max(highs), -100, 100), "chance": chance, "wet": chance >= WET,
        "wind": wind, "windy": wind >= WINDY,
    }


def rows(said, dates, part):
    daily, hourly = said.get("daily"), said.get("hourly")
    days, hours = column(daily, "time"), column(hourly, "time")
    for date in dates:
        if part:
            first, last, _ = PARTS[part]
            at = [at for at, time in enumerate(hours) if isinstance(time, str) and time[:10] == date and time[11:13].isdecimal() and first <= int(time[11:13]) < last]
            of = {name: [values[n] for n in at if n < len(values)] for name in ("weather_code", "temperature_2m", "precipitation_probability", "wind_speed_10m") for values in [column(hourly, name)]}
            found_row = row(date, part, of["weather_code"], of["temperature_2m"], of["temperature_2m"], of["precipitation_probability"], of["wind_speed_10m"])
        elif date in days:
            n = days.index(date)
            names = ("weather_code", "temperature_2m_min", "temperature_2m_max", "precipitation_probability_max", "wind_speed_10m_max")
            found_row = row(date, "", *(column(daily, name)[n:n + 1] for name in names))
        else:
            found_row = None
        if found_row:
            yield found_row


def wanted(args, today):
    """The days that are asked about."""
    if "date" in args:
        return [args["date"]]
    day = args.get("day", "today").replace("ì", "i")
    if day in AWAY:
        away = [AWAY[day]]
    elif day in ("week", "settimana"):
        away = range(7)
    elif day == "weekend":
        # On a Sunday it is this one.
        away = [0] if today.weekday() == 6 else [5 - today.weekday(), 6 - today.weekday()]
    else:
        weekday = next(number for number, names in enumerate(WEEKDAYS) if day in names)
        away = [(weekday - today.weekday()) % 7]
    return [(today + datetime.timedelta(days=days)).isoformat() for days in away]


def act(args, ctx):
    name = args.get("place") or args.get("home") or ""
    if not name.strip():
        raise Refused("NoPlace", "no town was named, and none of the household is known")
    if "date" in args:
        try:
            datetime.date.fromisoformat(args["date"])
        except ValueError:
            raise Refused("BadTime", f"{plain(args['date'])} is no day; write one such as 2026-12-01") from None
    place, at = found(name, args.get("italian", False), ctx)
    said = forecast(at, ctx)
    current = said.get("current") if isinstance(said.get("current"), dict) else {}
    degrees, code = number(current.get("temperature_2m")), number(current.get("weather_code"))
    days = column(said.get("daily"), "time")
    try:
        today = datetime.date.fromisoformat(days[0])
        dates = wanted(args, today)
    except (IndexError, TypeError, ValueError, OverflowError):
        raise Refused("ServerError", f"{FORECAST} gave no forecast") from None
    part = args.get("part") or PART_OF.get(args.get("day"), "")
    told = list(rows(said, dates, ENGLISH.get(part, part)))
    if not told:
        raise Refused("TooFar", "the forecast does not reach that day")
    names = sky(code) if code is not None else ["unknown", "sconosciuto"]
    now = degrees is not None and code is not None and not part and dates == [today.isoformat()]
    return {
        "ok": True, "place": place, "now": now, "degrees": bounded(degrees, -100, 100) if degrees is not None else 0,
        "sky": names[0], "cielo": names[1], "days": told,
    }


def run(args, ctx):
    return answer(act, args, ctx)
