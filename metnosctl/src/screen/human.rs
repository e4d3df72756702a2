//! Numbers and documents as people read them. Nothing here decides or asks anything.

use std::time::{SystemTime, UNIX_EPOCH};

use metnos_calendar::Day;
use serde_json::{Map, Value};

use crate::error::CtlError;
use crate::screen::escape;
use crate::screen::table::{Cell, Table, cell};
use crate::screen::{Ink, Screen};

/// Milliseconds since the epoch, now; 0 on a machine whose clock stands before it.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// How long ago, in the largest unit that fits.
#[must_use]
pub fn ago(then_ms: u64, now_ms: u64) -> String {
    if then_ms == 0 {
        return "–".to_owned();
    }
    match now_ms.saturating_sub(then_ms) / 1000 {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min", s / 60),
        s @ 3600..172_800 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// The instant that a day, or a day and a time of it in UTC, names: milliseconds since 1970.
///
/// # Errors
/// In a sentence, what it should look like.
pub fn instant(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no instant such as 2026-04-25 or 2026-04-25T08:12:00Z");
    let (day, time) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let numbers = |text: &str, sign: char| -> Option<[u32; 3]> {
        let parts: Vec<u32> = text
            .split(sign)
            .map(|part| part.parse().ok().filter(|_| part.len() >= 2 && part.bytes().all(|byte| byte.is_ascii_digit())))
            .collect::<Option<_>>()?;
        parts.try_into().ok()
    };
    let [year, month, of_month] = numbers(day, '-').ok_or_else(wrong)?;
    let [hour, minute, second] = numbers(time.strip_suffix('Z').unwrap_or(time), ':').ok_or_else(wrong)?;
    let day = Day::from_date(year, month, of_month).filter(|_| hour < 24 && minute < 60 && second < 60);
    let day = day.ok_or_else(wrong)?;
    let (hour, minute, second) = (u64::from(hour), u64::from(minute), u64::from(second));
    Ok(((u64::from(day.0) * 24 + hour) * 60 + minute) * 60_000 + second * 1000)
}

/// Kibibytes as mebibytes.
#[must_use]
pub fn mib(kib: u64) -> String {
    if kib == 0 { "–".to_owned() } else { format!("{}.{} MiB", kib / 1024, kib % 1024 * 10 / 1024) }
}

/// Microseconds as milliseconds.
#[must_use]
pub fn ms(us: u64) -> String {
    format!("{}.{} ms", us / 1000, us % 1000 / 100)
}

/// A count and its noun.
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// At most so many characters of a text, with a sign that there were more.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Both ends of a text of more than so many characters: what matters may stand last.
#[must_use]
pub fn both_ends(text: &str, most: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= most {
        return text.to_owned();
    }
    let half = most / 2;
    let end = |part: &[char]| part.iter().collect::<String>();
    format!("{}…{}", end(&all[..half]), end(&all[all.len() - half..]))
}

/// A JSON object as lines for people: short values beside their keys, long texts below them,
/// lists of objects as tables.
///
/// # Errors
/// When the output is gone.
pub fn show_object(screen: &mut Screen, object: &Map<String, Value>, indent: usize) -> Result<(), CtlError> {
    let pairs: Vec<(&str, &Value)> = object.iter().map(|(key, value)| (key.as_str(), value)).collect();
    show_pairs(screen, &pairs, indent)
}

/// The same of keys and values in an order of their own.
///
/// # Errors
/// When the output is gone.
pub fn show_pairs(screen: &mut Screen, pairs: &[(&str, &Value)], indent: usize) -> Result<(), CtlError> {
    let width = pairs.iter().map(|(key, _)| escape::line(key).chars().count()).max().unwrap_or(0);
    let is_long = |value: &Value| match value {
        Value::String(text) => text.contains('\n'),
        Value::Array(items) => !items.is_empty() && items.iter().all(is_flat_object),
        Value::Object(inner) => !inner.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    };
    let (long, short): (Vec<_>, Vec<_>) = pairs.iter().copied().partition(|(_, value)| is_long(value));
    for (key, value) in short.into_iter().chain(long) {
        let name = escape::line(key);
        let label = Ink::Bold.on(&name, screen.colour());
        let blanks = width.saturating_sub(name.chars().count());
        match value {
            Value::String(text) if text.contains('\n') => {
                screen.line(&format!("{:indent$}{label}", ""))?;
                for line in escape::block(text).lines() {
                    screen.line(&format!("{:indent$}  {line}", ""))?;
                }
            }
            Value::Array(items) if !items.is_empty() && items.iter().all(is_flat_object) => {
                screen.line(&format!("{:indent$}{label}", ""))?;
                table_of(items).show(screen, indent + 2)?;
            }
            Value::Object(inner) if !inner.is_empty() => {
                screen.line(&format!("{:indent$}{label}", ""))?;
                show_object(screen, inner, indent + 2)?;
            }
            short @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_)) => {
                let line = format!("{:indent$}{label}{:blanks$}  {}", "", "", scalar(short));
                screen.line(line.trim_end())?;
            }
        }
    }
    Ok(())
}

fn is_flat_object(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.values().all(|value| !value.is_array() && !value.is_object()))
}

/// A value on one line.
#[must_use]
pub fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => escape::line(text),
        Value::Null => "–".to_owned(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            escape::json(&other.to_string())
        }
    }
}

/// Objects as a table: the columns are the keys of all of them, in the order of their first use.
fn table_of(items: &[Value]) -> Table {
    let mut keys: Vec<&str> = Vec::new();
    for key in items.iter().filter_map(Value::as_object).flat_map(Map::keys) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let mut table = Table::new(&keys);
    for item in items {
        let cells: Vec<Cell> = keys.iter().map(|key| cell(item.get(key).map_or_else(String::new, scalar))).collect();
        table.row(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    #[test]
    fn an_instant_is_a_day_or_a_day_and_a_time() {
        assert_eq!(instant("1970-01-01"), Ok(0));
        assert_eq!(instant("2026-04-25T08:12:00Z"), Ok(1_777_104_720_000));
        assert_eq!(instant("2026-04-25T08:12:00"), Ok(1_777_104_720_000));
        assert_eq!(instant("2024-02-29"), Ok(1_709_164_800_000));
        for wrong in ["", "2026", "2026-13-01", "2025-02-29", "2026-04-31", "2026-04-25T24:00:00Z", "2026-4-5", "x-y-z"]
        {
            assert!(instant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_change_their_unit_at_the_edge() {
        let now = 10_000_000_000;
        let ages = [0, 59, 60, 3599, 3600, 172_799, 172_800].map(|s| ago(now - s * 1000, now));
        assert_eq!(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d"]);
        assert_eq!(ago(0, now), "–");
        assert_eq!(ago(now + 5000, now), "0 s", "a clock that was set back");
    }

    #[test]
    fn sizes_and_times_have_one_decimal() {
        assert_eq!((mib(1536).as_str(), mib(0).as_str(), mib(100).as_str()), ("1.5 MiB", "–", "0.0 MiB"));
        assert_eq!((ms(1999).as_str(), ms(50).as_str()), ("1.9 ms", "0.0 ms"));
    }

    #[test]
    fn document_is_shown_as_keys_and_tables_with_escapes_neutralised() {
        let (mut paper, out, _) = screen(false, [true, true], false);
        let document = serde_json::json!({
            "content": "one\ntwo\u{1b}[2J\n", "entries": [{"name": "a\u{7}", "size": 1}, {"name": "b", "kind": "dir"}],
            "size": 12, "inner": {"x": null}, "empty": [], "bad\u{1b}key": 1,
        });
        show_object(&mut paper, document.as_object().unwrap(), 0).unwrap();
        let text = out.text();
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
        assert!(text.contains("content\n  one\n  two\\x1b[2J\n"), "{text}");
        assert!(text.contains("name   size  kind\n"), "{text}");
        assert!(text.contains("a\\x07  1\n"), "{text}");
        assert!(text.contains("inner\n  x  –\n"), "{text}");
    }
}
