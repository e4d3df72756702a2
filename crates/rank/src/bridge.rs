//! From Italian to English: which English words a contract may use for what was asked in Italian. Data, read once; it says which
//! words may mean the same, never which executor is meant.
//!
//! The table is `lexicon/bridge.txt`: `english … > italian …`, folded as [`super::words`] folds. Words meet by their stems.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::{Language, stemmed};

const TABLE: &str = include_str!("lexicon/bridge.txt");

static ENGLISH: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut found: HashMap<String, Vec<String>> = HashMap::new();
    for (english, italian) in TABLE.lines().filter_map(|line| line.split_once('>')) {
        for word in italian.split_whitespace() {
            let known = found.entry(stemmed(word, Language::Italian)).or_default();
            for stem in english.split_whitespace().map(|word| stemmed(word, Language::English)) {
                if !known.contains(&stem) {
                    known.push(stem);
                }
            }
        }
    }
    found
});

/// The English stems that an Italian word may stand for, by its stem.
#[must_use]
pub fn english_of(italian_stem: &str) -> &'static [String] {
    ENGLISH.get(italian_stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    #[test]
    fn bridge_entries_are_in_folded_form_with_both_languages() {
        for line in TABLE.lines() {
            let (english, italian) = line.split_once('>').unwrap_or_default();
            assert!(!english.trim().is_empty() && !italian.trim().is_empty(), "`{line}`");
            for entry in english.split_whitespace().chain(italian.split_whitespace()) {
                assert_eq!(words(entry), [entry], "`{line}`");
            }
        }
    }

    #[test]
    fn the_forms_of_an_italian_word_lead_to_the_english_one() {
        for (italian, english) in
            [("bolletta", "bill"), ("bollette", "bill"), ("spegni", "turn"), ("cancellare", "delete")]
        {
            let stem = stemmed(italian, Language::Italian);
            assert!(english_of(&stem).contains(&stemmed(english, Language::English)), "{italian}");
        }
        assert!(english_of("xyzzy").is_empty());
    }
}
