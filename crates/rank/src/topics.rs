//! What a word is about: a field of life, such as travel, money or music. A request and a contract may share a field without
//! sharing a word. Data, read once; it says what a word is about, never which executor is meant.
//!
//! The table is `lexicon/topics.txt`: `field: word word …`, in both languages, folded as [`super::words`] folds. Words meet by their
//! stems.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{Language, stemmed};

const TABLE: &str = include_str!("lexicon/topics.txt");

/// The most fields of one word: a word of more is about nothing in particular.
const MAX_FIELDS: usize = 4;

static FIELDS: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<&'static str>> = HashMap::new();
    for (field, of_field) in TABLE.lines().filter_map(|line| line.split_once(':')) {
        for word in of_field.split([' ', '-']).filter(|word| !word.is_empty()) {
            for stem in [Language::English, Language::Italian].map(|language| stemmed(word, language)) {
                let known = found.entry(stem).or_default();
                if !known.contains(&field) {
                    known.push(field);
                }
            }
        }
    }
    found.retain(|_, fields| fields.len() <= MAX_FIELDS);
    found
});

/// The fields of a word, by its stem.
#[must_use]
pub fn fields(stem: &str) -> &'static [&'static str] {
    FIELDS.get(stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    #[test]
    fn every_topic_has_a_name_and_folded_words() {
        for line in TABLE.lines() {
            let (field, of_field) = line.split_once(':').unwrap_or_default();
            assert!(!field.is_empty() && of_field.split_whitespace().count() > 3, "`{line}`");
            for word in of_field.split([' ', '-']).filter(|word| !word.is_empty()) {
                assert_eq!(words(word), [word], "`{field}`");
            }
        }
    }

    #[test]
    fn words_of_one_field_meet_in_both_languages() {
        let of = |word: &str, language| fields(&stemmed(word, language)).to_vec();
        assert!(of("bitcoin", Language::English).contains(&"crypto"));
        assert!(of("vacanza", Language::Italian).contains(&"travel"));
        assert!(of("xyzzy", Language::English).is_empty());
    }
}
