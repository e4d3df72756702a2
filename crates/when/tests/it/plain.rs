//! Sentences without a time, in which none may be found.

use metnos_when::{Kind, Language, read};

const ENGLISH: &str = include_str!("plain_en.txt");
const ITALIAN: &str = include_str!("plain_it.txt");

#[test]
fn plain_sentences_have_no_time() {
    let mut found = Vec::new();
    for (text, language) in [(ENGLISH, Language::English), (ITALIAN, Language::Italian)] {
        for line in text.lines() {
            let reading = read(line, &super::at("2026-11-24T10:00:00", language));
            if reading.kind != Kind::None || !reading.readings.is_empty() {
                let spans: Vec<_> = reading.spans.iter().filter_map(|span| line.get(span.clone())).collect();
                found.push(format!("{line}: {spans:?} {:?}", reading.kind));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
