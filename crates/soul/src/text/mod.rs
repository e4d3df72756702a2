//! A text as the compiler compares it: words with their capitals, clauses, numbers, phrases of lists. It decides nothing.

mod clause;
pub mod lists;
pub mod numbers;
mod reader;
mod token;

pub use clause::Clause;
pub use reader::tokens;
pub use token::Token;

use std::collections::HashSet;

use metnos_rank::lexicon;
use metnos_rank::words::{Language, stemmed};

/// How many letters two words share at least, from their first on, where one is taken for a form of the other.
const SHARED_LETTERS: usize = 5;

/// The stems by which a word can be found in a text, whichever of the two languages it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stems {
    /// The word itself.
    pub word: String,
    /// As English.
    pub english: String,
    italian: String,
}

impl Stems {
    /// Of a folded word.
    #[must_use]
    pub fn of(word: &str) -> Self {
        Self {
            word: word.to_owned(),
            english: stemmed(word, Language::English),
            italian: stemmed(word, Language::Italian),
        }
    }
}

impl Stems {
    /// Whether both are forms of one word.
    #[must_use]
    pub fn is_form_of(&self, other: &Self) -> bool {
        self.word == other.word || self.english == other.english || self.italian == other.italian
    }
}

/// The words that a text holds, to be asked whether another word stands there in any of its forms.
#[derive(Debug, Default, Clone)]
pub struct Holds {
    words: HashSet<String>,
    english: HashSet<String>,
    italian: HashSet<String>,
}

impl Holds {
    /// Adds folded words.
    pub fn add<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) {
        for word in words {
            let stems = Stems::of(word);
            self.words.insert(stems.word);
            self.english.insert(stems.english);
            self.italian.insert(stems.italian);
        }
    }

    /// Whether the very word stands there.
    #[must_use]
    pub fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    /// Whether the word stands there in one of its forms: by its stem, by its first letters, or by a word that
    /// [`lexicon::related`] knows for it.
    #[must_use]
    pub fn has(&self, stems: &Stems) -> bool {
        self.words.contains(&stems.word)
            || self.english.contains(&stems.english)
            || self.italian.contains(&stems.italian)
            || self.words.iter().any(|word| begins_alike(word, &stems.word))
            || lexicon::related(&stems.word).iter().any(|other| self.words.contains(*other))
    }
}

/// Whether two words begin with the same letters so far that they are forms of one word: `allergy`, `allergic`.
fn begins_alike(one: &str, other: &str) -> bool {
    let shared = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longer = one.chars().count().max(other.chars().count());
    shared >= SHARED_LETTERS && shared * 10 >= longer * 6
}

/// Whether a word carries content: no stop-word, no negation, no number.
#[must_use]
pub fn is_content(token: &Token) -> bool {
    !token.is_number()
        && !lexicon::is_stop(&token.word)
        && !lists::NEGATIONS.has_word(&token.word)
        && token.word.chars().count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> Holds {
        let mut holds = Holds::default();
        let found = tokens(text);
        holds.add(found.iter().map(|token| token.word.as_str()));
        holds
    }

    #[test]
    fn word_is_found_in_each_of_its_forms() {
        let holds = holds("I am allergic to nuts and I went to Turin; compriamo le mele");
        for word in ["allergy", "nut", "go", "turin", "comprare", "mela"] {
            assert!(holds.has(&Stems::of(word)), "{word}");
        }
        for word in ["allegation", "rome", "pera", "nutrition"] {
            assert!(!holds.has(&Stems::of(word)), "{word}");
        }
    }
}
