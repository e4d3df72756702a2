//! Whether two words are forms of one: `trip` and `trips`, `viaggio` and `viaggi`. Names of files are compared so with what a
//! person says, in both languages, where they are looked for and where they are chosen. Pure.

use std::collections::HashSet;

use super::lexicon::is_stop;
use super::words::{Language, stemmed, words};

/// Words that say what kind of thing a name is of, and not which one: "the note about …", "il file …".
const KINDS: &str = "file files document documents doc docs documento documenti folder folders directory cartella cartelle \
    note notes nota appunto appunti list lists lista liste elenco elenchi text texts testo testi page pagina table tables \
    tabella tabelle md txt csv json pdf pdfs docx odt pptx odp xlsx ods zip zips one ones";

/// The endings of a file's name and of a word of it are cut off before they are compared; a longer one is no ending.
const MAX_ENDING: usize = 8;
/// The fewest letters that may be left of an Italian noun.
const MIN_NOUN: usize = 3;
/// The most words of one name or title that are compared.
pub const MAX_NAME_WORDS: usize = 16;

/// Words that share a meaning and no stem, with what stands for it: "how much did we spend" is about the expenses, and "quanto abbiamo
/// speso" about the spese, and so is what was paid or bought; "la spesa" is what is to be bought.
const SPENDING: [(&str, &str); 2] = [
    (
        "spending",
        "spend spends spent spending expense expenses expenditure expenditures pay pays paid paying buy buys bought buying cost costs",
    ),
    (
        "spese",
        "spese speso spendere spendo spendiamo pagare pagato pagata pagati pagate comprare comprato comprata comprati comprate \
         costato costata costati costate",
    ),
];

/// What is to be bought, or one of the spese.
const BOUGHT: &str = "spesa";

/// Whether a folded word says only of which kind a thing is.
#[must_use]
pub fn is_kind(word: &str) -> bool {
    KINDS.split_ascii_whitespace().any(|kind| kind == word)
}

/// Whether one folded word is a form of the other, in English or in Italian.
#[must_use]
pub fn are_forms(one: &str, other: &str) -> bool {
    one == other
        || spending(one).is_some() && spending(one) == spending(other)
        || one.chars().next() == other.chars().next() && share_stem(one, other)
}

fn spending(word: &str) -> Option<&'static str> {
    SPENDING.iter().find(|(_, all)| all.split_ascii_whitespace().any(|known| known == word)).map(|(stem, _)| *stem)
}

fn share_stem(one: &str, other: &str) -> bool {
    stems(one).iter().zip(stems(other)).any(|(one, other)| *one == other)
}

/// What the forms of a folded word share, in each language, and as an Italian noun: `lettera` and `lettere` are no verb.
fn stems(word: &str) -> [String; 3] {
    if let Some(stem) = spending(word) {
        return [stem; 3].map(str::to_owned);
    }
    let noun = word.strip_suffix(['a', 'e', 'i', 'o']).filter(|stem| stem.len() >= MIN_NOUN).unwrap_or(word);
    [stemmed(word, Language::English), stemmed(word, Language::Italian), noun.to_owned()]
}

/// The name of a file without its folder and its ending: `trip-2026` of `notes/trip-2026.md`.
#[must_use]
pub fn name_stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && (1..=MAX_ENDING).contains(&ending.len()) => stem,
        Some(_) | None => name,
    }
}

/// The words of a file's or folder's name, folded.
#[must_use]
pub fn name_words(path: &str) -> Vec<String> {
    let mut found = words(name_stem(path));
    found.truncate(MAX_NAME_WORDS);
    found
}

/// Words that were said, with their stems: what a name may have a form of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    words: HashSet<String>,
    stems: [HashSet<String>; 3],
}

impl Said {
    /// Those of a text that say something, at most `most` different ones.
    #[must_use]
    pub fn of(text: &str, most: usize) -> Self {
        let mut said = Self::default();
        for word in words(text).into_iter().filter(|word| !is_stop(word)) {
            if said.words.len() >= most {
                break;
            }
            for (known, stem) in said.stems.iter_mut().zip(stems(&word)) {
                known.insert(stem);
            }
            // Who asks for "la spesa più grossa" means one of the spese.
            if word == BOUGHT {
                for (known, stem) in said.stems.iter_mut().zip(stems("spese")) {
                    known.insert(stem);
                }
            }
            said.words.insert(word);
        }
        said
    }

    /// How many different ones there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether this folded word is a form of one of them.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.words.contains(word) || self.stems.iter().zip(stems(word)).any(|(known, stem)| known.contains(&stem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_are_recognised_and_other_words_are_not() {
        for (one, other) in [
            ("trip", "trips"),
            ("viaggio", "viaggi"),
            ("lettera", "lettere"),
            ("child", "children"),
            ("spent", "expenses"),
            ("speso", "spese"),
        ] {
            assert!(are_forms(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("trip", "tripod"),
            ("mare", "mano"),
            ("house", "horse"),
            ("2025", "2026"),
            ("a", "b"),
            ("speso", "spesa"),
            ("spese", "spesa"),
            ("spent", "spese"),
        ] {
            assert!(!are_forms(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_name_is_compared_without_its_folder_and_ending() {
        for (path, stem) in [
            ("notes/trip-2026.md", "trip-2026"),
            ("a.b/c", "c"),
            ("x.tar.gz", "x.tar"),
            ("notes", "notes"),
            (".env", ".env"),
        ] {
            assert_eq!(name_stem(path), stem, "{path}");
        }
        assert_eq!(name_words("notes/Città_del-mare 2026.md"), ["citta", "del", "mare", "2026"]);
        assert_eq!(name_words(&"a-".repeat(99)).len(), MAX_NAME_WORDS);
    }

    #[test]
    fn said_words_are_known_in_every_form_and_bounded() {
        let said = Said::of("Leggi la nota sui viaggi, and the letters", 8);
        for word in ["viaggio", "letter", "nota"] {
            assert!(said.has(word), "{word}");
        }
        for word in ["the", "la", "mare"] {
            assert!(!said.has(word), "{word}");
        }

        assert!(!Said::of("trenta quaranta", 1).has("quaranta"));
        assert!(Said::of("the of", 8).is_empty());
    }
}
