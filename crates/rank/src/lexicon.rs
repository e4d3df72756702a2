//! What is known of words beforehand: stop-words, irregular forms, and which words name kinds of which. Data, read once.
//!
//! The tables are `lexicon/*.txt`, folded as [`super::words`] folds, one entry a line. Nothing
//! is learned here and nothing of an instance enters.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const STOP_ENGLISH: &str = include_str!("lexicon/stop-en.txt");
const STOP_ITALIAN: &str = include_str!("lexicon/stop-it.txt");
const IRREGULAR_ENGLISH: &str = include_str!("lexicon/irregular-en.txt");
const IRREGULAR_ITALIAN: &str = include_str!("lexicon/irregular-it.txt");
const LIGHT: &str = include_str!("lexicon/light.txt");
const FRAME: &str = include_str!("lexicon/frame.txt");
const KINDS: &str = include_str!("lexicon/kinds.txt");

type Words = HashSet<&'static str>;
type Forms = HashMap<&'static str, &'static str>;

static ENGLISH: LazyLock<Words> = LazyLock::new(|| STOP_ENGLISH.split_whitespace().collect());
static ITALIAN: LazyLock<Words> = LazyLock::new(|| STOP_ITALIAN.split_whitespace().collect());
static LIGHT_WORDS: LazyLock<Words> = LazyLock::new(|| LIGHT.split_whitespace().collect());
static FRAME_WORDS: LazyLock<Words> = LazyLock::new(|| FRAME.split_whitespace().collect());
static BASES: LazyLock<Forms> = LazyLock::new(|| forms(IRREGULAR_ENGLISH));
static ITALIAN_BASES: LazyLock<Forms> = LazyLock::new(|| forms(IRREGULAR_ITALIAN));
static KIND: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(kinds);

/// Lines of `base form form …`.
fn forms(table: &'static str) -> Forms {
    let mut forms = Forms::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let Some(base) = words.next() else { continue };
        forms.extend(words.map(|form| (form, base)));
    }
    forms
}

/// Lines of `kind > member …`, which holds one way, and of `word = word …`, which holds both ways.
fn kinds() -> HashMap<&'static str, Vec<&'static str>> {
    let mut found: HashMap<&'static str, Vec<&'static str>> = HashMap::new();
    for line in KINDS.lines() {
        if let Some((kinds, members)) = line.split_once('>') {
            for kind in kinds.split_whitespace() {
                found.entry(kind).or_default().extend(members.split_whitespace());
            }
        } else if line.contains('=') {
            let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "=").collect();
            for word in &words {
                found.entry(word).or_default().extend(words.iter().filter(|other| *other != word));
            }
        }
    }
    found
}

/// Whether a word carries no meaning of its own, in one of the languages.
#[must_use]
pub fn is_stop(word: &str) -> bool {
    ENGLISH.contains(word) || ITALIAN.contains(word)
}

/// Whether it is a stop-word of English alone.
#[must_use]
pub fn only_english(word: &str) -> bool {
    ENGLISH.contains(word) && !ITALIAN.contains(word)
}

/// Whether it is a stop-word of Italian alone.
#[must_use]
pub fn only_italian(word: &str) -> bool {
    ITALIAN.contains(word) && !ENGLISH.contains(word)
}

/// Whether a word says little of what a question is about, though more than a stop-word.
#[must_use]
pub fn is_light(word: &str) -> bool {
    LIGHT_WORDS.contains(word)
}

/// Whether requests of every kind are made with it: `help me find …`, `vorrei sapere …`.
#[must_use]
pub fn is_frame(word: &str) -> bool {
    FRAME_WORDS.contains(word)
}

/// What an irregular English form is a form of.
#[must_use]
pub fn base_of(word: &str) -> Option<&'static str> {
    BASES.get(word).copied()
}

/// What an irregular Italian form is a form of.
#[must_use]
pub fn italian_base_of(word: &str) -> Option<&'static str> {
    ITALIAN_BASES.get(word).copied()
}

/// Words by which something may have been said that is asked for with this one: its members, its synonyms.
#[must_use]
pub fn related(word: &str) -> &'static [&'static str] {
    KIND.get(word).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::super::words::words;
    use super::*;

    #[test]
    fn every_entry_is_written_as_words_are_folded() {
        for table in [STOP_ENGLISH, STOP_ITALIAN, IRREGULAR_ENGLISH, IRREGULAR_ITALIAN, LIGHT, FRAME, KINDS] {
            for entry in table.split_whitespace().filter(|entry| !["=", ">"].contains(entry)) {
                assert_eq!(words(entry), [entry], "`{entry}`");
            }
        }
    }

    #[test]
    fn small_words_carry_no_meaning_and_others_do() {
        assert!(["what", "did", "the", "quando", "della"].iter().all(|word| is_stop(word)));
        assert!(!["pottery", "casa", "went", "mare"].iter().any(|word| is_stop(word)));
        assert!(only_italian("della") && !only_english("della"));
    }

    #[test]
    fn a_kind_finds_its_members_and_synonyms_find_each_other() {
        assert!(related("pets").contains(&"dog"));
        assert!(!related("dog").contains(&"pets"));
        assert!(related("doctor").contains(&"physician") && related("physician").contains(&"doctor"));
        assert!(related("xyzzy").is_empty());
    }

    #[test]
    fn no_form_is_its_own_base_and_no_base_a_form() {
        for table in [&*BASES, &*ITALIAN_BASES] {
            for (form, base) in table {
                assert_ne!(form, base);
                assert!(!table.contains_key(base), "{form} → {base}, which is a form itself");
            }
        }
    }
}
