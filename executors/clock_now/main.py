"""Tells the time: now, in UTC or in a time zone, and how far a day is from now. It reads no file and asks nobody but the
machine's own clock.

A sandbox has no database of time zones, so the rules in force stand here, one line for all places that share one (POSIX
form, as `man tzset` describes it). They are those of tzdata 2025b; a country that has changed its mind since is told wrongly,
and `rules` in the result says which these are. Places whose rules cannot be written in one line are not listed.
"""

import time

RULES = "2025b"
DAY = 86_400
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

ZONES = """
GMT0 Africa/Abidjan Africa/Accra Africa/Bamako Africa/Banjul Africa/Bissau Africa/Conakry Africa/Dakar Africa/Freetown Africa/Lome Africa/Monrovia Africa/Nouakchott Africa/Ouagadougou Africa/Sao_Tome Africa/Timbuktu America/Danmarkshavn Atlantic/Reykjavik Atlantic/St_Helena
EAT-3 Africa/Addis_Ababa Africa/Asmara Africa/Asmera Africa/Dar_es_Salaam Africa/Djibouti Africa/Kampala Africa/Mogadishu Africa/Nairobi Indian/Antananarivo Indian/Comoro Indian/Mayotte
CET-1 Africa/Algiers Africa/Tunis
WAT-1 Africa/Bangui Africa/Brazzaville Africa/Douala Africa/Kinshasa Africa/Lagos Africa/Libreville Africa/Luanda Africa/Malabo Africa/Ndjamena Africa/Niamey Africa/Porto-Novo
CAT-2 Africa/Blantyre Africa/Bujumbura Africa/Gaborone Africa/Harare Africa/Juba Africa/Khartoum Africa/Kigali Africa/Lubumbashi Africa/Lusaka Africa/Maputo Africa/Windhoek
EET-2EEST,M4.5.5/0,M10.5.4/24 Africa/Cairo
CET-1CEST,M3.5.0,M10.5.0/3 Africa/Ceuta Arctic/Longyearbyen Atlantic/Jan_Mayen Europe/Amsterdam Europe/Andorra Europe/Belgrade Europe/Berlin Europe/Bratislava Europe/Brussels Europe/Budapest Europe/Busingen Europe/Copenhagen Europe/Gibraltar Europe/Ljubljana Europe/Luxembourg Europe/Madrid Europe/Malta Europe/Monaco Europe/Oslo Europe/Paris Europe/Podgorica Europe/Prague Europe/Rome Europe/San_Marino Europe/Sarajevo Europe/Skopje Europe/Stockholm Europe/Tirane Europe/Vaduz Europe/Vatican Europe/Vienna Europe/Warsaw Europe/Zagreb Europe/Zurich
SAST-2 Africa/Johannesburg Africa/Maseru Africa/Mbabane
EET-2 Africa/Tripoli Europe/Kaliningrad
HST10HDT,M3.2.0,M11.1.0 America/Adak America/Atka
AKST9AKDT,M3.2.0,M11.1.0 America/Anchorage America/Juneau America/Metlakatla America/Nome America/Sitka America/Yakutat
AST4 America/Anguilla America/Antigua America/Aruba America/Barbados America/Blanc-Sablon America/Curacao America/Dominica America/Grenada America/Guadeloupe America/Kralendijk America/Lower_Princes America/Marigot America/Martinique America/Montserrat America/Port_of_Spain America/Puerto_Rico America/Santo_Domingo America/St_Barthelemy America/St_Kitts America/St_Lucia America/St_Thomas America/St_Vincent America/Tortola America/Virgin
<-03>3 America/Araguaina America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/La_Rioja America/Argentina/Mendoza America/Argentina/Rio_Gallegos America/Argentina/Salta America/Argentina/San_Juan America/Argentina/San_Luis America/Argentina/Tucuman America/Argentina/Ushuaia America/Asuncion America/Bahia America/Belem America/Buenos_Aires America/Catamarca America/Cayenne America/Cordoba America/Coyhaique America/Fortaleza America/Jujuy America/Maceio America/Mendoza America/Montevideo America/Paramaribo America/Punta_Arenas America/Recife America/Rosario America/Santarem America/Sao_Paulo Antarctica/Palmer Antarctica/Rothera Atlantic/Stanley
EST5 America/Atikokan America/Cancun America/Cayman America/Coral_Harbour America/Jamaica America/Panama
CST6 America/Bahia_Banderas America/Belize America/Chihuahua America/Costa_Rica America/El_Salvador America/Guatemala America/Managua America/Merida America/Mexico_City America/Monterrey America/Regina America/Swift_Current America/Tegucigalpa
<-04>4 America/Boa_Vista America/Campo_Grande America/Caracas America/Cuiaba America/Guyana America/La_Paz America/Manaus America/Porto_Velho
<-05>5 America/Bogota America/Eirunepe America/Guayaquil America/Lima America/Porto_Acre America/Rio_Branco
MST7MDT,M3.2.0,M11.1.0 America/Boise America/Cambridge_Bay America/Ciudad_Juarez America/Denver America/Edmonton America/Inuvik America/Shiprock America/Yellowknife
CST6CDT,M3.2.0,M11.1.0 America/Chicago America/Indiana/Knox America/Indiana/Tell_City America/Knox_IN America/Matamoros America/Menominee America/North_Dakota/Beulah America/North_Dakota/Center America/North_Dakota/New_Salem America/Ojinaga America/Rainy_River America/Rankin_Inlet America/Resolute America/Winnipeg
MST7 America/Creston America/Dawson America/Dawson_Creek America/Fort_Nelson America/Hermosillo America/Mazatlan America/Phoenix America/Whitehorse
EST5EDT,M3.2.0,M11.1.0 America/Detroit America/Fort_Wayne America/Grand_Turk America/Indiana/Indianapolis America/Indiana/Marengo America/Indiana/Petersburg America/Indiana/Vevay America/Indiana/Vincennes America/Indiana/Winamac America/Indianapolis America/Iqaluit America/Kentucky/Louisville America/Kentucky/Monticello America/Louisville America/Montreal America/Nassau America/New_York America/Nipigon America/Pangnirtung America/Port-au-Prince America/Thunder_Bay America/Toronto
PST8PDT,M3.2.0,M11.1.0 America/Ensenada America/Los_Angeles America/Santa_Isabel America/Tijuana America/Vancouver
AST4ADT,M3.2.0,M11.1.0 America/Glace_Bay America/Goose_Bay America/Halifax America/Moncton America/Thule Atlantic/Bermuda
<-02>2<-01>,M3.5.0/-1,M10.5.0/0 America/Godthab America/Nuuk America/Scoresbysund
CST5CDT,M3.2.0/0,M11.1.0/1 America/Havana
<-03>3<-02>,M3.2.0,M11.1.0 America/Miquelon
<-02>2 America/Noronha Atlantic/South_Georgia
<-04>4<-03>,M9.1.6/24,M4.1.6/24 America/Santiago
NST3:30NDT,M3.2.0,M11.1.0 America/St_Johns
<+08>-8 Antarctica/Casey Asia/Brunei Asia/Choibalsan Asia/Irkutsk Asia/Kuala_Lumpur Asia/Kuching Asia/Singapore Asia/Ulaanbaatar Asia/Ulan_Bator
<+07>-7 Antarctica/Davis Asia/Bangkok Asia/Barnaul Asia/Ho_Chi_Minh Asia/Hovd Asia/Krasnoyarsk Asia/Novokuznetsk Asia/Novosibirsk Asia/Phnom_Penh Asia/Saigon Asia/Tomsk Asia/Vientiane Indian/Christmas
<+10>-10 Antarctica/DumontDUrville Asia/Ust-Nera Asia/Vladivostok Pacific/Chuuk Pacific/Port_Moresby Pacific/Truk Pacific/Yap
AEST-10AEDT,M10.1.0,M4.1.0/3 Antarctica/Macquarie Australia/ACT Australia/Canberra Australia/Currie Australia/Hobart Australia/Melbourne Australia/NSW Australia/Sydney Australia/Tasmania Australia/Victoria
<+05>-5 Antarctica/Mawson Antarctica/Vostok Asia/Almaty Asia/Aqtau Asia/Aqtobe Asia/Ashgabat Asia/Ashkhabad Asia/Atyrau Asia/Dushanbe Asia/Oral Asia/Qostanay Asia/Qyzylorda Asia/Samarkand Asia/Tashkent Asia/Yekaterinburg Indian/Kerguelen Indian/Maldives
NZST-12NZDT,M9.5.0,M4.1.0/3 Antarctica/McMurdo Antarctica/South_Pole Pacific/Auckland
<+03>-3 Antarctica/Syowa Asia/Aden Asia/Amman Asia/Baghdad Asia/Bahrain Asia/Damascus Asia/Istanbul Asia/Kuwait Asia/Qatar Asia/Riyadh Europe/Istanbul Europe/Minsk
<+00>0<+02>-2,M3.5.0/1,M10.5.0/3 Antarctica/Troll
<+12>-12 Asia/Anadyr Asia/Kamchatka Pacific/Fiji Pacific/Funafuti Pacific/Kwajalein Pacific/Majuro Pacific/Nauru Pacific/Tarawa Pacific/Wake Pacific/Wallis
<+04>-4 Asia/Baku Asia/Dubai Asia/Muscat Asia/Tbilisi Asia/Yerevan Europe/Astrakhan Europe/Samara Europe/Saratov Europe/Ulyanovsk Indian/Mahe Indian/Mauritius Indian/Reunion
EET-2EEST,M3.5.0/0,M10.5.0/0 Asia/Beirut
<+06>-6 Asia/Bishkek Asia/Dacca Asia/Dhaka Asia/Kashgar Asia/Omsk Asia/Thimbu Asia/Thimphu Asia/Urumqi Indian/Chagos
IST-5:30 Asia/Calcutta Asia/Kolkata
<+09>-9 Asia/Chita Asia/Dili Asia/Khandyga Asia/Yakutsk Pacific/Palau
CST-8 Asia/Chongqing Asia/Chungking Asia/Harbin Asia/Macao Asia/Macau Asia/Shanghai Asia/Taipei
<+0530>-5:30 Asia/Colombo
EET-2EEST,M3.5.0/3,M10.5.0/4 Asia/Famagusta Asia/Nicosia Europe/Athens Europe/Bucharest Europe/Helsinki Europe/Kiev Europe/Kyiv Europe/Mariehamn Europe/Nicosia Europe/Riga Europe/Sofia Europe/Tallinn Europe/Uzhgorod Europe/Vilnius Europe/Zaporozhye
EET-2EEST,M3.4.4/50,M10.4.4/50 Asia/Gaza Asia/Hebron
HKT-8 Asia/Hong_Kong
WIB-7 Asia/Jakarta Asia/Pontianak
WIT-9 Asia/Jayapura
IST-2IDT,M3.4.4/26,M10.5.0 Asia/Jerusalem Asia/Tel_Aviv
<+0430>-4:30 Asia/Kabul
PKT-5 Asia/Karachi
<+0545>-5:45 Asia/Kathmandu Asia/Katmandu
<+11>-11 Asia/Magadan Asia/Sakhalin Asia/Srednekolymsk Pacific/Bougainville Pacific/Efate Pacific/Guadalcanal Pacific/Kosrae Pacific/Noumea Pacific/Pohnpei Pacific/Ponape
WITA-8 Asia/Makassar Asia/Ujung_Pandang
PST-8 Asia/Manila
KST-9 Asia/Pyongyang Asia/Seoul
<+0630>-6:30 Asia/Rangoon Asia/Yangon Indian/Cocos
<+0330>-3:30 Asia/Tehran
JST-9 Asia/Tokyo
<-01>1<+00>,M3.5.0/0,M10.5.0/1 Atlantic/Azores
WET0WEST,M3.5.0/1,M10.5.0 Atlantic/Canary Atlantic/Faeroe Atlantic/Faroe Atlantic/Madeira Europe/Lisbon
<-01>1 Atlantic/Cape_Verde
ACST-9:30ACDT,M10.1.0,M4.1.0/3 Australia/Adelaide Australia/Broken_Hill Australia/South Australia/Yancowinna
AEST-10 Australia/Brisbane Australia/Lindeman Australia/Queensland
ACST-9:30 Australia/Darwin Australia/North
<+0845>-8:45 Australia/Eucla
<+1030>-10:30<+11>-11,M10.1.0,M4.1.0 Australia/LHI Australia/Lord_Howe
AWST-8 Australia/Perth Australia/West
GMT0BST,M3.5.0/1,M10.5.0 Europe/Belfast Europe/Guernsey Europe/Isle_of_Man Europe/Jersey Europe/London
EET-2EEST,M3.5.0,M10.5.0/3 Europe/Chisinau Europe/Tiraspol
IST-1GMT0,M10.5.0,M3.5.0/1 Europe/Dublin
MSK-3 Europe/Kirov Europe/Moscow Europe/Simferopol Europe/Volgograd
<+13>-13 Pacific/Apia Pacific/Enderbury Pacific/Fakaofo Pacific/Kanton Pacific/Tongatapu
<+1245>-12:45<+1345>,M9.5.0/2:45,M4.1.0/3:45 Pacific/Chatham
<-06>6<-05>,M9.1.6/22,M4.1.6/22 Pacific/Easter
<-06>6 Pacific/Galapagos
<-09>9 Pacific/Gambier
ChST-10 Pacific/Guam Pacific/Saipan
HST10 Pacific/Honolulu Pacific/Johnston
<+14>-14 Pacific/Kiritimati
<-0930>9:30 Pacific/Marquesas
SST11 Pacific/Midway Pacific/Pago_Pago Pacific/Samoa
<-11>11 Pacific/Niue
<+11>-11<+12>,M10.1.0,M4.1.0/3 Pacific/Norfolk
<-08>8 Pacific/Pitcairn
<-10>10 Pacific/Rarotonga Pacific/Tahiti
"""

# What people call a place whose time zone has another name.
ALSO = """
roma Europe/Rome|milano Europe/Rome|milan Europe/Rome|napoli Europe/Rome|torino Europe/Rome|firenze Europe/Rome|venezia Europe/Rome
italia Europe/Rome|italy Europe/Rome|londra Europe/London|parigi Europe/Paris|berlino Europe/Berlin|monaco_di_baviera Europe/Berlin
munich Europe/Berlin|frankfurt Europe/Berlin|francoforte Europe/Berlin|zurigo Europe/Zurich|geneva Europe/Zurich|ginevra Europe/Zurich
mosca Europe/Moscow|atene Europe/Athens|lisbona Europe/Lisbon|bruxelles Europe/Brussels|varsavia Europe/Warsaw|praga Europe/Prague
dublino Europe/Dublin|stoccolma Europe/Stockholm|copenaghen Europe/Copenhagen|lubiana Europe/Ljubljana|zagabria Europe/Zagreb
barcelona Europe/Madrid|barcellona Europe/Madrid|il_cairo Africa/Cairo|pechino Asia/Shanghai|beijing Asia/Shanghai|tokio Asia/Tokyo
giappone Asia/Tokyo|japan Asia/Tokyo|gerusalemme Asia/Jerusalem|mumbai Asia/Kolkata|delhi Asia/Kolkata|singapore Asia/Singapore
san_francisco America/Los_Angeles|california America/Los_Angeles|seattle America/Los_Angeles|boston America/New_York|miami America/New_York
washington America/New_York|citta_del_messico America/Mexico_City|san_paolo America/Sao_Paulo
"""


class Refused(Exception):
    """An error of the contract."""

    def __init__(self, error_class, message):
        super().__init__(message)
        self.error_class = error_class


def days_before(year, month, day):
    """Days between 1970 and this day."""
    years = year - (month <= 2)
    era, of_era = divmod(years, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def take_name(rule):
    """The abbreviation at the head of a rule, and the rest."""
    if rule.startswith("<"):
        name, _, rest = rule[1:].partition(">")
        return name, rest
    at = 0
    while at < len(rule) and rule[at].isalpha():
        at += 1
    return rule[:at], rule[at:]


def seconds(text):
    """`-5:30` in seconds."""
    sign = -1 if text.startswith("-") else 1
    parts = [int(part) for part in text.lstrip("+-").split(":")]
    return sign * sum(part * unit for part, unit in zip(parts, (3600, 60, 1)))


def take_offset(rule):
    at = 0
    while at < len(rule) and (rule[at].isdigit() or rule[at] in "+-:"):
        at += 1
    return seconds(rule[:at]) if at else None, rule[at:]


def change(rule, year):
    """When, in seconds of local time, a rule such as `M3.5.0/2` changes the clocks in a year."""
    day, _, at = rule.partition("/")
    month, week, weekday = (int(part) for part in day[1:].split("."))
    first = days_before(year, month, 1)
    # 1970-01-01 was a Thursday, and weekday 0 is Sunday.
    place = first + (weekday - (first + 4)) % 7 + 7 * (week - 1)
    last = days_before(year + month // 12, month % 12 + 1, 1)
    while place >= last:
        place -= 7
    return place * DAY + (seconds(at) if at else 7200)


def offset_of(rule, now):
    """How far local time is ahead of UTC, its abbreviation, and whether it is summer time."""
    name, rest = take_name(rule)
    west, rest = take_offset(rest)
    if not rest:
        return -west, name, False
    summer, rest = take_name(rest)
    summer_west, rest = take_offset(rest)
    if summer_west is None:
        summer_west = west - 3600
    begin, end = rest.lstrip(",").split(",")
    year = time.gmtime(now - west).tm_year
    begin, end = change(begin, year) + west, change(end, year) + summer_west
    is_summer = begin <= now < end if begin < end else not end <= now < begin
    # Where the "summer" of a rule is behind its standard time, the rule is written the other way round (Ireland).
    if is_summer:
        return -summer_west, summer, summer_west < west
    return -west, name, summer_west > west


def plain(name):
    return name.strip().casefold().replace(" ", "_").replace("à", "a")


def fixed(zone):
    """The offset that a text such as `UTC+2`, `+05:30` or `UTC` names, or nothing."""
    text = zone.strip().upper()
    for head in ("UTC", "GMT"):
        text = text.removeprefix(head)
    if text in ("", "Z"):
        return 0
    sign, digits = text[0], text[1:]
    if sign not in "+-":
        return None
    hours, colon, minutes = digits.partition(":")
    if not colon:
        hours, minutes = (digits[:2], digits[2:]) if len(digits) == 4 else (digits, "00")
    if not all(part.isascii() and part.isdigit() for part in (hours, minutes)) or len(hours) > 2 or len(minutes) != 2:
        return None
    offset = int(hours) * 3600 + int(minutes) * 60
    if offset > 14 * 3600 or int(minutes) > 59:
        return None
    return offset if sign == "+" else -offset


def find(zone):
    """The whole name of a zone and its rule: by its name, by its last part, by what people call the place."""
    wanted = plain(zone)
    for line in ALSO.split("\n"):
        for entry in line.split("|"):
            if entry.startswith(wanted + " "):
                wanted = plain(entry[len(wanted) + 1:])
    found = {}
    for line in ZONES.strip().split("\n"):
        rule, _, names = line.partition(" ")
        for name in names.split(" "):
            low = name.casefold()
            if low == wanted:
                return name, rule
            if low.rsplit("/", 1)[-1] == wanted:
                found.setdefault(rule, name)
    if len(found) == 1:
        rule, name = next(iter(found.items()))
        return name, rule
    if found:
        names = " or ".join(sorted(found.values()))
        raise Refused("UnknownZone", f"{zone} may be {names}; name one of them")
    raise Refused("UnknownZone", f"no time zone {zone} is known here; name one such as Europe/Rome, a large city, or an offset such as UTC+2")


def ruled(zone):
    """A place with its rule behind it, `Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`: both, or nothing."""
    place, bracket, rule = zone.partition(" (")
    if not bracket or not rule.endswith(")"):
        return None
    return place, rule[:-1]


def local(rule, zone, now):
    """What a rule says of now; one that is none is a zone that is not known."""
    try:
        return offset_of(rule, now)
    except (ValueError, IndexError, TypeError):
        raise Refused("UnknownZone", f"{zone} has no rule that a clock can be read by") from None


def number_of(day):
    """The days between 1970 and a day such as 2026-12-24."""
    try:
        year, month, of_month = (int(part) for part in day.split("-"))
        begin = days_before(year, month, of_month)
        real = 1 <= month <= 12 and time.gmtime(begin * DAY)[:3] == (year, month, of_month)
    except (ValueError, OverflowError, OSError):
        real = False
    if not real:
        raise Refused("UnknownDay", f"{day} is no day of the calendar; write it as 2026-12-24")
    return begin


def distances(args, today):
    """How many days the day asked about is from `today` (days since 1970), which weekday it is, and whether it is over; and how
    many days lie between two others."""
    told = {}
    if "day" in args:
        day = number_of(args["day"])
        told = {"day": args["day"], "day_weekday": WEEKDAYS[(day + 3) % 7], "away": abs(day - today), "past": day < today}
    if "from" in args and "to" in args:
        told |= {"from": args["from"], "to": args["to"], "days": abs(number_of(args["to"]) - number_of(args["from"]))}
    return told


def act(args):
    now = int(time.time())
    zone = args.get("zone", "UTC")
    offset, summer = fixed(zone), False
    if offset is None:
        zone, rule = ruled(zone) or find(zone)
        offset, _, summer = local(rule, zone, now)
        if abs(offset) > 15 * 3600:
            raise Refused("UnknownZone", f"{zone} has no rule that a clock can be read by")
    else:
        zone = "UTC"
    here = time.gmtime(now + offset)
    sign, size = "-" if offset < 0 else "+", abs(offset) // 60
    written = f"{sign}{size // 60:02}:{size % 60:02}"
    date = f"{here.tm_year:04}-{here.tm_mon:02}-{here.tm_mday:02}"
    clock = f"{here.tm_hour:02}:{here.tm_min:02}:{here.tm_sec:02}"
    # ISO 8601: the week belongs to the year that its Thursday is in.
    thursday = time.gmtime(now + offset + (3 - here.tm_wday) * DAY)
    if zone == "UTC" and offset:
        zone = f"UTC{written}"
    place = f"UTC{written}" if zone.startswith("UTC") else f"{zone}, UTC{written}"
    told = distances(args, (now + offset) // DAY)
    return {
        **told,
        "ok": True,
        "text": f"{date} {clock} ({place})",
        "iso": f"{date}T{clock}{written}",
        "date": date,
        "time": clock,
        "weekday": WEEKDAYS[here.tm_wday],
        "zone": zone,
        "offset": written,
        "summer_time": summer,
        "epoch": now,
        "week": (thursday.tm_yday - 1) // 7 + 1,
        "day_of_year": here.tm_yday,
        "rules": RULES,
    }


def run(args, ctx):
    try:
        return act(args)
    except Refused as error:
        return {"ok": False, "error": {"class": error.error_class, "message": str(error)}}
