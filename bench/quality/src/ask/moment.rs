//! What an answer must have where the right answer depends on the day: `{hour@Asia/Tokyo}`, `{weekday}`, `{day+1}`.

use metnos_calendar::instant::{Shown, shown};
use metnos_calendar::{Day, Zone, zone};
use metnos_proto::msg::common::Lang;

/// What may stand in braces, for a message.
pub const KNOWN: &str = "{hour}, {weekday}, {day}, {month}, {year}, {until:MM-DD}, each with +DAYS and @ZONE";
/// Seconds of a day.
const DAY_SECONDS: i64 = 86_400;

const WEEKDAYS: [[&str; 7]; 2] = [
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
    ["domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"],
];
const MONTHS: [[&str; 12]; 2] = [
    [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    [
        "gennaio",
        "febbraio",
        "marzo",
        "aprile",
        "maggio",
        "giugno",
        "luglio",
        "agosto",
        "settembre",
        "ottobre",
        "novembre",
        "dicembre",
    ],
];

/// What stands in braces, taken apart.
struct Slot<'a> {
    name: &'a str,
    /// The month and the day of `{until:12-25}`.
    date: Option<(u32, u32)>,
    days: i64,
    zone: Zone,
}

impl<'a> Slot<'a> {
    fn read(text: &'a str, own: &str) -> Option<Self> {
        let (text, place) = text.split_once('@').map_or((text, None), |(text, place)| (text, Some(place)));
        let clock = place.map_or_else(|| Some(own.to_owned()), zone::of_place)?;
        let (text, days) =
            text.split_once('+').map_or(Some((text, 0)), |(text, days)| Some((text, days.parse().ok()?)))?;
        let (name, date) = match text.split_once(':') {
            Some((name, date)) => (name, Some(month_and_day(date)?)),
            None => (text, None),
        };
        let is_known = match date {
            Some(_) => name == "until",
            None => ["hour", "weekday", "day", "month", "year"].contains(&name),
        };
        is_known.then_some(Self { name, date, days, zone: Zone::read(&clock).unwrap_or_default() })
    }

    /// What an answer may have in its place at this instant.
    fn values(&self, now: i64, lang: Lang) -> Vec<String> {
        let now = now.saturating_add(self.days * DAY_SECONDS);
        let clock = shown(now, self.zone.ahead(now));
        let row = usize::from(lang == Lang::It);
        match self.name {
            "hour" => hours(clock.minute / 60, lang),
            "weekday" => vec![nth(&WEEKDAYS[row], clock.weekday).to_owned()],
            "day" => vec![clock.day.to_string(), format!("{:02}", clock.day)],
            "month" => vec![nth(&MONTHS[row], clock.month - 1).to_owned(), format!("-{:02}-", clock.month)],
            "year" => vec![clock.year.to_string()],
            _ => self.date.and_then(|date| days_until(&clock, date)).map(|days| days.to_string()).into_iter().collect(),
        }
    }
}

fn nth<'a>(list: &[&'a str], index: i64) -> &'a str {
    usize::try_from(index).ok().and_then(|at| list.get(at).copied()).unwrap_or_default()
}

/// The hour as people write it, with what stands behind it.
fn hours(hour: i64, lang: Lang) -> Vec<String> {
    let mut all: Vec<String> =
        [":", "."].iter().flat_map(|sign| [format!("{hour:02}{sign}"), format!("{hour}{sign}")]).collect();
    if lang == Lang::En {
        let of_twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
        all.push(format!("{of_twelve}:"));
        all.push(format!("{of_twelve} {}", if hour < 12 { "am" } else { "pm" }));
    }
    all
}

fn month_and_day(text: &str) -> Option<(u32, u32)> {
    let (month, day) = text.split_once('-')?;
    let date = (month.parse().ok()?, day.parse().ok()?);
    // Of a leap year, so that every day of the calendar is one.
    Day::exists(2028, date.0, date.1).then_some(date)
}

/// How many days from this one to the next such day; 0 on the day itself.
fn days_until(clock: &Shown, (month, day): (u32, u32)) -> Option<u32> {
    let number = |value: i64| u32::try_from(value).ok();
    let today = Day::from_date(number(clock.year)?, number(clock.month)?, number(clock.day)?)?;
    let mut years = (today.year()..today.year() + 9).filter_map(|year| Day::from_date(year, month, day));
    years.find(|next| *next >= today).map(|next| next.0 - today.0)
}

/// The first part in braces that is none of [`KNOWN`].
pub fn unknown(text: &str) -> Option<String> {
    parts(text).into_iter().find(|part| Slot::read(part, "UTC").is_none()).map(str::to_owned)
}

fn parts(text: &str) -> Vec<&str> {
    text.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or(rest)).collect()
}

/// The alternatives of a text with everything in braces filled in, at either of two instants (seconds since 1970), on the
/// clock of `zone` where none is named.
#[must_use]
pub fn alternatives(text: &str, lang: Lang, instants: [i64; 2], zone: &str) -> Vec<String> {
    text.split('|').flat_map(|one| filled(one, lang, instants, zone)).collect()
}

fn filled(text: &str, lang: Lang, instants: [i64; 2], zone: &str) -> Vec<String> {
    let Some((head, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let Some((name, tail)) = rest.split_once('}') else { return vec![text.to_owned()] };
    let Some(slot) = Slot::read(name, zone) else { return vec![text.to_owned()] };
    let tails = filled(tail, lang, instants, zone);
    let values = instants.into_iter().flat_map(|now| slot.values(now, lang));
    values.flat_map(|value| tails.iter().map(move |tail| format!("{head}{value}{tail}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25, a Wednesday, at 23:30 UTC.
    const NOW: i64 = 1_795_649_400;

    fn of(text: &str, lang: Lang) -> Vec<String> {
        alternatives(text, lang, [NOW, NOW], "UTC")
    }

    #[test]
    fn slots_are_filled_for_the_day_the_zone_and_the_language() {
        for (text, lang, has) in [
            ("{weekday}", Lang::En, "Wednesday"),
            ("{weekday}", Lang::It, "mercoledì"),
            ("{weekday@Europe/Rome}", Lang::It, "giovedì"),
            ("{weekday+3}", Lang::En, "Saturday"),
            ("{day+6}", Lang::En, "1"),
            ("{month+6}", Lang::It, "dicembre"),
            ("{year}", Lang::En, "2026"),
            ("{hour@Asia/Tokyo}", Lang::En, "08:"),
            ("{hour}", Lang::En, "11 pm"),
            ("{hour}", Lang::It, "23."),
            ("{until:12-25}", Lang::En, "30"),
            ("{until:11-25}", Lang::En, "0"),
            ("{until:11-24}", Lang::En, "364"),
            ("on {weekday} or never|x", Lang::En, "on Wednesday or never"),
            ("on {weekday} or never|x", Lang::En, "x"),
        ] {
            assert!(of(text, lang).iter().any(|one| one == has), "{text}: {:?} has no {has}", of(text, lang));
        }
        let both = alternatives("{weekday}", Lang::En, [NOW, NOW + 3_600], "UTC");
        assert_eq!(both, ["Wednesday", "Thursday"], "an answer at midnight is right either way");
    }

    #[test]
    fn what_is_no_slot_is_named() {
        for text in ["{moon}", "{until}", "{until:13-40}", "{day+x}", "{hour@Nowhere/Far}", "a {weekday} b {x}", "{"] {
            assert!(unknown(text).is_some(), "{text}");
        }
        assert_eq!(unknown("plain | {hour@Europe/London} {day+1}"), None);
    }
}
