//! What holds for any text.

use jiff::ToSpan;
use metnos_when::{Kind, Language, MAX_TEXT, Reading, read};
use proptest::prelude::*;

fn sound(text: &str, reading: &Reading) {
    assert!(serde_json::to_string(reading).is_ok(), "{text}");
    let mut last = 0;
    for span in &reading.spans {
        assert!(text.get(span.clone()).is_some_and(|slice| !slice.is_empty()), "{text}: {span:?}");
        assert!(span.start >= last, "{text}: spans in order");
        last = span.end;
    }
    if let (Some(start), Some(end)) = (&reading.start, &reading.end) {
        assert!(start < end, "{text}: {start} before {end}");
    }
    assert_eq!(reading.kind == Kind::Recurrence, reading.rrule.is_some(), "{text}");
    assert_eq!(reading.kind == Kind::Duration, reading.length.is_some(), "{text}");
    let _ = reading.outside(text);
    for one in &reading.readings {
        sound(text, one);
    }
}

fn both(text: &str) {
    for language in [Language::English, Language::Italian] {
        sound(text, &read(text, &super::at("2026-11-24T10:00:00", language)));
    }
}

#[test]
fn long_text_is_not_read() {
    let text = format!("tomorrow {}", "a ".repeat(MAX_TEXT));
    assert_eq!(read(&text, &super::at("2026-11-24T10:00:00", Language::English)).kind, Kind::None);
}

#[test]
fn longest_text_is_read_in_bounded_time() {
    for phrase in
        ["every monday and ", "1 ", "3/3-", "from 3 to ", "ogni 5 e ", "dal 3 al ", "tra due ore e ", "the first of "]
    {
        both(phrase.repeat(MAX_TEXT / phrase.len()).trim_end());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_is_read_or_not_without_harm(text in any::<String>()) {
        both(&text);
    }

    #[test]
    fn any_mixture_of_time_words_is_read_or_not_without_harm(
        text in "((every|ogni|each|at|alle|8|9:30|15|2\\.5|minutes|giorni|Monday|luned\u{ec}|,|\u{e9}|first|primo|march|marzo|to|al|from|dal|next|prossimo|of|di|2027|am|pm|half|mezza|and|e|-|/|:|in|tra|ago|fa|until|fino a|week|settimana|99999|for|per|night|notte|'|christmas|natale)[ ]?){0,9}"
    ) {
        both(&text);
    }

    #[test]
    fn written_dates_are_read_back(days in 0i64..20_000) {
        let date = jiff::civil::date(1990, 1, 1).checked_add(days.days()).unwrap();
        for (format, language) in [
            ("%Y-%m-%d", Language::English),
            ("%-m/%-d/%Y", Language::English),
            ("%B %-d, %Y", Language::English),
            ("%A, %-d %B %Y", Language::English),
            ("%-d/%-m/%Y", Language::Italian),
            ("%d.%m.%Y", Language::Italian),
        ] {
            let text = date.strftime(format).to_string();
            let reading = read(&text, &super::at("2026-11-24T10:00:00", language));
            prop_assert_eq!(reading.start.map(|start| start.date()), Some(date), "{}", text);
        }
    }

    #[test]
    fn written_times_are_read_back(hour in 0i8..24, minute in 0i8..60) {
        let text = format!("2027-03-03 {hour:02}:{minute:02}");
        for language in [Language::English, Language::Italian] {
            let reading = read(&text, &super::at("2026-11-24T10:00:00", language));
            prop_assert_eq!(reading.start.map(|start| start.time()), Some(jiff::civil::time(hour, minute, 0, 0)), "{}", text);
        }
    }
}
