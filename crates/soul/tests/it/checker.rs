//! A second checker, with a tokenizer of its own: what it refuses must not be committed. It knows the parts of R08 and R10
//! that can be said in a few lines.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::data::CITED;

/// Letters and digits in small letters, without the marks of Italian.
fn words(text: &str) -> Vec<String> {
    let plain: String = text.to_lowercase().chars().map(bare).collect();
    plain.split_whitespace().map(str::to_owned).collect()
}

fn bare(c: char) -> char {
    match c {
        'à' | 'á' => 'a',
        'è' | 'é' => 'e',
        'ì' => 'i',
        'ò' => 'o',
        'ù' => 'u',
        c if c.is_alphanumeric() => c,
        _ => ' ',
    }
}

fn begins(word: &str) -> String {
    word.chars().take(4).collect()
}

const NUMBERS: [(&str, &str); 6] =
    [("two", "2"), ("due", "2"), ("three", "3"), ("four", "4"), ("dodici", "12"), ("half", "30")];

/// Why the premise must not be committed on the event that the turn cites.
pub fn objects(turn: &Value, premise: &str) -> Option<String> {
    let event = turn["shown"].as_array()?.iter().find(|event| event["seq"] == CITED)?;
    if event["type"] == "assistant_message" {
        return Some("the assistant's own words".to_owned());
    }
    let said = format!("{} {} {}", event["text"].as_str()?, event["speaker"].as_str()?, event["peer"].as_str()?);
    let mut said: BTreeSet<String> = words(&said).iter().map(|word| word.trim_start_matches('0').to_owned()).collect();
    for (word, digits) in NUMBERS {
        if said.contains(word) {
            said.insert(digits.to_owned());
        }
    }
    let begun: BTreeSet<String> = said.iter().map(|word| begins(word)).collect();
    let claim = words(premise);
    let number = |word: &&String| word.starts_with(|c: char| c.is_ascii_digit());
    if let Some(number) = claim.iter().filter(number).find(|word| !said.contains(word.trim_start_matches('0'))) {
        return Some(format!("the number {number}"));
    }
    let denies =
        |word: &String| matches!(word.as_str(), "not" | "never" | "non" | "mai" | "nobody" | "without" | "senza");
    let evidence_denies = said.iter().any(denies) || said.contains("don") || said.contains("can");
    if claim.iter().any(denies) && !evidence_denies {
        return Some("a new negation".to_owned());
    }
    let long: Vec<&String> = claim.iter().filter(|word| word.len() > 3).collect();
    let found = long.iter().filter(|word| begun.contains(&begins(word))).count();
    (found * 10 < long.len() * 3).then(|| format!("{found} of {} words", long.len()))
}
