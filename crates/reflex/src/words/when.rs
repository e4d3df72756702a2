//! Reads days, times of day and durations as people type them, for the arguments whose schema
//! asks for one. What is said of a clock, such as "tomorrow", is read where the caller says what time it is.

use metnos_calendar::{Day, Zone, instant};
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, tell};
use metnos_when::{Context, Grain, Language, Reading};

/// Whether a token looks like a day: `2026-10-01`, `1/10/2026`, `1.10.2026`.
#[must_use]
pub fn is_date(text: &str) -> bool {
    date(text, Lang::It).is_some() || date(text, Lang::En).is_some()
}

/// Whether a token looks like a time of day: `8:30`, `08:30:15`.
#[must_use]
pub fn is_time(text: &str) -> bool {
    time(text).is_some()
}

/// The day as `YYYY-MM-DD`. With slashes the day stands first in Italian; in English such a date is
/// only read when it has one reading.
#[must_use]
pub fn date(text: &str, lang: Lang) -> Option<String> {
    if text.len() > 10 {
        return None;
    }
    let separator = text.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let parts: Vec<&str> = text.split(separator).collect();
    let [first, second, third] = parts.as_slice() else { return None };
    let (year, month, day) = if first.len() == 4 {
        (number(first)?, number(second)?, number(third)?)
    } else if third.len() == 4 && separator != '-' {
        let (a, b) = (number(first)?, number(second)?);
        let day_first = matches!(lang, Lang::It) || separator == '.' || a > 12;
        let one_reading = a == b || a > 12 || b > 12;
        match (day_first, one_reading) {
            (true, _) if b <= 12 => (number(third)?, b, a),
            (false, true) => (number(third)?, a, b),
            (true | false, _) => return None,
        }
    } else {
        return None;
    };
    Day::exists(year, month, day).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// The time of day as `HH:MM:SS`.
#[must_use]
pub fn time(text: &str) -> Option<String> {
    if text.len() > 8 {
        return None;
    }
    let parts: Vec<&str> = text.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] if minute.len() == 2 => (number(hour)?, number(minute)?, 0),
        [hour, minute, second] if minute.len() == 2 && second.len() == 2 => {
            (number(hour)?, number(minute)?, number(second)?)
        }
        _ => return None,
    };
    (hour < 24 && minute < 60 && second < 60).then(|| format!("{hour:02}:{minute:02}:{second:02}"))
}

/// The duration of so many units as ISO 8601 writes it: `PT5M`, `P2D`. `unit` is a word of either
/// language.
#[must_use]
pub fn duration(count: &str, unit: &str) -> Option<String> {
    let count = number(count)?;
    let unit = match unit.to_lowercase().as_str() {
        "s" | "sec" | "second" | "seconds" | "secondo" | "secondi" => 'S',
        "m" | "min" | "minute" | "minutes" | "minuto" | "minuti" => 'M',
        "h" | "hour" | "hours" | "ora" | "ore" => 'H',
        "d" | "day" | "days" | "giorno" | "giorni" => return Some(format!("P{count}D")),
        "week" | "weeks" | "settimana" | "settimane" => return Some(format!("P{count}W")),
        _ => return None,
    };
    Some(format!("PT{count}{unit}"))
}

/// Two moments of which one is no nearer to any day than to another: what is read alike from both needs no clock.
const ANY: [i64; 2] = [0, 992_563_200];
/// Words for the day that it is.
const TODAY: [&str; 6] = ["today", "now", "tonight", "oggi", "adesso", "ora"];

/// What `read` makes of words at this moment; with 0, which is no moment, only what is read alike at any.
fn at_moment<T: PartialEq>(now: i64, read: impl Fn(i64) -> Option<T>) -> Option<T> {
    if now != 0 {
        return read(now);
    }
    let [one, other] = ANY.map(read);
    one.filter(|one| other.as_ref() == Some(one))
}

/// The reading of these words, where they are of time and nothing else.
fn whole_reading(text: &str, lang: Lang, now: i64, zone: &str) -> Option<Reading> {
    let language = match lang {
        Lang::En => Language::English,
        Lang::It => Language::Italian,
    };
    let now = Zone::read(zone).unwrap_or_default().at(now)?;
    let reading = metnos_when::read(text, &Context::new(now, language));
    matches!(reading.spans.as_slice(), [span] if span.start == 0 && span.end == text.len()).then_some(reading)
}

/// The day that these words name and nothing else, as `YYYY-MM-DD`. `now` is the moment at which they are said, in seconds
/// since 1970, and the zone of the clock; with 0 only what needs no clock is understood.
#[must_use]
pub fn day(words: &str, lang: Lang, (now, zone): (i64, &str)) -> Option<String> {
    let text = words.trim();
    if TODAY.contains(&text.to_lowercase().as_str()) {
        return None;
    }
    at_moment(now, |now| {
        let reading = whole_reading(text, lang, now, zone)?;
        let is_day = reading.kind == metnos_when::Kind::Instant && reading.grain == Some(Grain::Day);
        Some(reading.start.filter(|_| is_day)?.date().to_string())
    })
}

fn rfc_3339(moment: &metnos_when::Zoned) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// The stretch of time that these words name and nothing else: its begin and its end as RFC 3339 with `/` between. `now` as for
/// [`day`].
#[must_use]
pub fn stretch(words: &str, lang: Lang, (now, zone): (i64, &str)) -> Option<String> {
    at_moment(now, |now| {
        let (start, end) = whole_reading(words.trim(), lang, now, zone)?.stretch()?;
        Some(format!("{}/{}", rfc_3339(&start), rfc_3339(&end)))
    })
}

/// The hours at which people meet, where one of the morning and one of the evening may be meant.
const MEETING_HOURS: std::ops::Range<i8> = 8..20;

/// When something is to take place by these words and nothing else: a day as `YYYY-MM-DD`, a time of one as RFC 3339, or its begin
/// and its end with `/` between, on one day. Of two times of day the one at which people meet; the answer says which. `now` as for
/// [`day`].
#[must_use]
pub fn appointment(words: &str, lang: Lang, (now, zone): (i64, &str)) -> Option<String> {
    at_moment(now, |now| {
        let reading = whole_reading(words.trim(), lang, now, zone)?;
        let meets = |reading: &&Reading| reading.start.as_ref().is_some_and(|at| MEETING_HOURS.contains(&at.hour()));
        let reading = match reading.readings.as_slice() {
            [] => &reading,
            several => several.iter().find(meets)?,
        };
        if reading.kind == metnos_when::Kind::Interval {
            let (start, end) = reading.stretch()?;
            // "On Tuesday from 15 to 16:30", and not "on Friday afternoon", which names no hour at which it begins.
            let names_hours = words.chars().filter(char::is_ascii_digit).count() > 1;
            let is_short = start.date() == end.date() || end.duration_since(&start).as_hours() < 12;
            return (names_hours && is_short).then(|| format!("{}/{}", rfc_3339(&start), rfc_3339(&end)));
        }
        let start = reading.start.as_ref().filter(|_| reading.kind == metnos_when::Kind::Instant)?;
        match reading.grain? {
            Grain::Day => Some(start.date().to_string()),
            Grain::Hour | Grain::Minute => Some(rfc_3339(start)),
            Grain::Second | Grain::Week | Grain::Month | Grain::Quarter | Grain::Year | Grain::Decade => None,
        }
    })
}

/// When something is to take place again and again by these words and nothing else: its first time as [`appointment`] has it, `;`
/// and the rule (RFC 5545), then `;TZ=` and the zone of the clock by which it goes. `now` as for [`day`].
#[must_use]
pub fn repeating(words: &str, lang: Lang, (now, zone): (i64, &str)) -> Option<String> {
    at_moment(now, |now| {
        let reading = whole_reading(words.trim(), lang, now, zone)?;
        let rule = reading.rrule.as_deref().filter(|rule| is_of_days(rule) && reading.counted_from.is_none())?;
        let start = reading.start.as_ref().filter(|_| reading.kind == metnos_when::Kind::Recurrence)?;
        let first = match (reading.grain?, reading.end.as_ref()) {
            (Grain::Day, None) => start.date().to_string(),
            (Grain::Hour | Grain::Minute, None) => rfc_3339(start),
            (Grain::Hour | Grain::Minute, Some(end)) => format!("{}/{}", rfc_3339(start), rfc_3339(end)),
            _ => return None,
        };
        Some(in_zone(format!("{first};{rule}"), zone))
    })
}

/// Whether a rule goes by days, weeks, months or years, and names no other time of day than that of its first time.
fn is_of_days(rule: &str) -> bool {
    let is_finer =
        |part: &str| part.starts_with("BYHOUR") || part.starts_with("BYMINUTE") || part.starts_with("BYSECOND");
    let mut parts = rule.split(';');
    parts.next().is_some_and(|every| matches!(every, "FREQ=DAILY" | "FREQ=WEEKLY" | "FREQ=MONTHLY" | "FREQ=YEARLY"))
        && !parts.any(is_finer)
}

/// What takes place again and again, by the clock of this zone where nothing else is said.
pub(crate) fn in_zone(text: String, zone: &str) -> String {
    if zone.is_empty() || text.contains(";TZ=") { text } else { format!("{text};TZ={zone}") }
}

/// What numbers up to twelve are called, but for those that are also other words.
const NUMBER_WORDS: &[(&str, u32)] = &[
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("twelve", 12),
    ("due", 2),
    ("tre", 3),
    ("quattro", 4),
    ("cinque", 5),
    ("sette", 7),
    ("otto", 8),
    ("nove", 9),
    ("dieci", 10),
    ("dodici", 12),
];

/// The number that a word names.
#[must_use]
pub fn number_word(word: &str) -> Option<u32> {
    NUMBER_WORDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, number)| *number)
}

/// A whole number, in digits or in a word.
#[must_use]
pub fn whole(text: &str) -> Option<i64> {
    number_word(text).map(i64::from).or_else(|| text.parse().ok())
}

fn number(text: &str) -> Option<u32> {
    if let Some(number) = number_word(text) {
        return Some(number);
    }
    if text.is_empty() || text.len() > 6 || !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// An instant as people write it, such as "Tuesday 24 November 2026, 14:31": on the clock of `house`, or on its own where it
/// says how far that is from UTC. `None` for what is no instant.
#[must_use]
pub fn moment(text: &str, house: &Zone, lang: Lang) -> Option<String> {
    let (day, time) = (day_of(text, house, lang)?, time_of(text, house)?);
    Some(tell(lang, Key::Moment, &[("day", (&day).into()), ("time", (&time).into())]))
}

/// The day of an instant, such as "Tuesday 24 November 2026", on the same clock as [`moment`]; a day as it is written is that day
/// on every clock.
#[must_use]
pub fn day_of(text: &str, house: &Zone, lang: Lang) -> Option<String> {
    let shown = match date(text, lang) {
        Some(day) => instant::shown(instant::instant(&format!("{day}T00:00:00Z"))?.0, 0),
        None => on_clock(text, house)?,
    };
    let number = |value: i64| u64::try_from(value).unwrap_or_default();
    let (weekday, month) = (number(shown.weekday), number(shown.month));
    let (day, year) = (number(shown.day), number(shown.year));
    let values = [("weekday", weekday.into()), ("day", day.into()), ("month", month.into()), ("year", year.into())];
    Some(tell(lang, Key::Day, &values))
}

/// The time of day of an instant, such as "14:31", on the same clock as [`moment`].
#[must_use]
pub fn time_of(text: &str, house: &Zone) -> Option<String> {
    on_clock(text, house).map(|shown| format!("{:02}:{:02}", shown.minute / 60, shown.minute % 60))
}

fn on_clock(text: &str, house: &Zone) -> Option<instant::Shown> {
    let (now, own) = instant::instant(text)?;
    Some(instant::shown(now, own.unwrap_or_else(|| house.ahead(now))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_in_the_order_of_the_language_or_not_at_all() {
        assert_eq!(date("2026-10-01", Lang::En).as_deref(), Some("2026-10-01"));
        assert_eq!(date("1/10/2026", Lang::It).as_deref(), Some("2026-10-01"));
        assert_eq!(date("1/10/2026", Lang::En), None);
        assert_eq!(date("10/25/2026", Lang::En).as_deref(), Some("2026-10-25"));
        assert_eq!(date("25/10/2026", Lang::En).as_deref(), Some("2026-10-25"));
        assert_eq!(date("29.2.2024", Lang::It).as_deref(), Some("2024-02-29"));
        for wrong in ["29/2/2026", "2026-13-01", "2026-04-31", "1/1/26", "24/7", "0/1/2026", "3.14"] {
            assert_eq!(date(wrong, Lang::It), None, "{wrong}");
        }
    }

    #[test]
    fn a_time_of_day_has_hours_and_minutes_within_their_range() {
        assert_eq!(time("8:30").as_deref(), Some("08:30:00"));
        assert_eq!(time("23:59:59").as_deref(), Some("23:59:59"));
        for wrong in ["24:00", "8:60", "8:3", "8", "a:30", "8:30:61"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_a_number_and_a_unit_of_either_language() {
        assert_eq!(duration("5", "minuti").as_deref(), Some("PT5M"));
        assert_eq!(duration("2", "days").as_deref(), Some("P2D"));
        assert_eq!(duration("3", "bananas"), None);
    }
}
