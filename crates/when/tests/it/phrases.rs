//! Phrases and what they mean, from `phrases.txt`. Every third is held back: no rule is tuned to it, and it only counts.

use jiff::Zoned;
use metnos_when::{Kind, Language, Reading, read};

const PHRASES: &str = include_str!("phrases.txt");
const REVIEWED: &str = include_str!("reviewed.txt");

/// How a reading compares to what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Right,
    Abstained,
    Wrong,
}

/// A moment as short as it can be written: without midnight, and without seconds that are none.
fn short(moment: Option<&Zoned>, month_only: bool, year_only: bool) -> String {
    let Some(moment) = moment else { return String::new() };
    let text = moment.datetime().to_string();
    if year_only {
        return text.get(..4).unwrap().to_owned();
    }
    if month_only {
        return text.get(..7).unwrap().to_owned();
    }
    let text = text.strip_suffix("T00:00:00").unwrap_or(&text).to_owned();
    text.strip_suffix(":00").filter(|_| text.len() == 19).unwrap_or(&text).to_owned()
}

/// A reading as `phrases.txt` writes it.
fn written(reading: &Reading, expected: &str) -> String {
    let grain = reading.grain.map(|grain| format!("{grain:?}").to_lowercase()).unwrap_or_default();
    match reading.kind {
        Kind::Instant => {
            let midnight = matches!(grain.as_str(), "hour" | "minute" | "second") && !expected.contains("T00:00 ");
            let moment = short(reading.start.as_ref(), grain == "month" || grain == "quarter", grain == "year");
            let moment = if expected.contains("T00:00 ") && !midnight { format!("{moment}T00:00") } else { moment };
            format!("{moment} {grain}")
        }
        Kind::Interval => {
            let (start, end) = (short(reading.start.as_ref(), false, false), short(reading.end.as_ref(), false, false));
            let text = format!("{start} .. {end}");
            let plain = |text: &str| text.replace("T00:00", "").trim().to_owned();
            if plain(&text) == plain(expected) { expected.to_owned() } else { text.trim().to_owned() }
        }
        Kind::Duration => reading.length.unwrap().to_string(),
        Kind::Recurrence => {
            let start = reading.start.as_ref().unwrap().datetime().to_string();
            let cron = reading.cron.as_deref().unwrap_or("-");
            format!("{} @ {} | {cron}", reading.rrule.as_deref().unwrap(), start.get(..16).unwrap())
        }
        Kind::None if reading.readings.is_empty() => "-".to_owned(),
        Kind::None => "?".to_owned(),
    }
}

fn outcome(reading: &Reading, expected: &str) -> Outcome {
    match (reading.kind, written(reading, expected) == expected) {
        (_, true) => Outcome::Right,
        (Kind::None, false) => Outcome::Abstained,
        (_, false) => Outcome::Wrong,
    }
}

/// A line of a file, with the moment at which it is read.
struct Phrase<'a> {
    now: &'a str,
    language: Language,
    text: &'a str,
    expected: &'a str,
}

/// The phrases of a file with their line numbers.
fn phrases(file: &str) -> Vec<(usize, Phrase<'_>)> {
    let mut now = "";
    let mut found = Vec::new();
    let lines = file.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    for (number, line) in lines.enumerate() {
        if let Some(moment) = line.strip_prefix("@ ") {
            now = moment;
            continue;
        }
        let [language, text, expected] = line.splitn(3, '|').collect::<Vec<_>>().try_into().unwrap();
        let language = if language == "en" { Language::English } else { Language::Italian };
        found.push((number, Phrase { now, language, text, expected }));
    }
    found
}

/// How a phrase is read, and what is to be said where that is not right.
fn compared(phrase: &Phrase<'_>) -> (Outcome, String) {
    let reading = read(phrase.text, &super::at(phrase.now, phrase.language));
    let message = format!("{}: {} instead of {}", phrase.text, written(&reading, phrase.expected), phrase.expected);
    (outcome(&reading, phrase.expected), message)
}

#[test]
fn phrases_are_read_as_they_are_meant() {
    let mut counts = [[0usize; 3]; 2];
    let mut failures = Vec::new();
    for (number, phrase) in phrases(PHRASES) {
        let (outcome, message) = compared(&phrase);
        let held_back = number % 3 == 2;
        counts[usize::from(held_back)][outcome as usize] += 1;
        if outcome != Outcome::Right && !held_back {
            failures.push(message);
        }
    }
    println!("right, abstained, wrong: {:?} of those tuned, {:?} of those held back", counts[0], counts[1]);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn reviewed_phrases_are_still_read() {
    let compared = phrases(REVIEWED).into_iter().map(|(_, phrase)| compared(&phrase));
    let failures: Vec<String> =
        compared.filter(|(outcome, _)| *outcome != Outcome::Right).map(|(_, text)| text).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
