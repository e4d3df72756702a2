//! Reads days, times of day and durations as people type them, for the arguments whose schema
//! asks for one. It knows no clock, so "tomorrow" is not understood here.

use metnos_calendar::{Day, Zone, instant};
use metnos_proto::msg::common::Lang;
use metnos_texts::{Key, tell};

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

/// The day that these words name and nothing else, as `YYYY-MM-DD`. `now` is the moment at which they are said, in seconds
/// since 1970, and the zone of the clock; with 0 only what needs no clock is understood.
#[must_use]
pub fn day(words: &str, lang: Lang, (now, zone): (i64, &str)) -> Option<String> {
    let text = words.trim();
    if TODAY.contains(&text.to_lowercase().as_str()) {
        return None;
    }
    let zone = Zone::read(zone).unwrap_or_default();
    let read = |now: i64| {
        let language = match lang {
            Lang::En => metnos_when::Language::English,
            Lang::It => metnos_when::Language::Italian,
        };
        let reading = metnos_when::read(text, &metnos_when::Context::new(zone.at(now)?, language));
        let is_whole = matches!(reading.spans.as_slice(), [span] if span.start == 0 && span.end == text.len());
        let is_day = reading.kind == metnos_when::Kind::Instant && reading.grain == Some(metnos_when::Grain::Day);
        let start = reading.start.filter(|_| is_whole && is_day)?;
        Some(start.date().to_string())
    };
    if now != 0 {
        return read(now);
    }
    let [one, other] = ANY.map(read);
    one.filter(|day| other.as_ref() == Some(day))
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
