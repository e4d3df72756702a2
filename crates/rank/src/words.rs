//! A text as the words by which it is found: folded, split, stemmed. It interprets nothing and keeps nothing.
//!
//! The same is done to what is remembered and to what is asked, so that nothing of a text ever
//! reaches the database but letters and digits: there is no query syntax to inject.
//!
//! Folding: compatibility decomposition, marks dropped, small letters (`Città` is `citta`).
//! Splitting: at whatever is neither letter nor digit; scripts that write without spaces give
//! pairs of neighbouring characters instead (design: memory §5). Stems: English after Porter,
//! Italian by its endings; an irregular form counts as its base (`went` is `go`).

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::{lexicon, stem};

/// The longest word, in characters; the rest of a longer one is dropped.
pub const MAX_WORD_CHARS: usize = 40;
/// The most words of one text that are looked at.
pub const MAX_WORDS: usize = 20_000;

/// A language that has stop-words and endings here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// English, and whatever is not known to be something else.
    English,
    /// Italian.
    Italian,
}

/// The words of a text, folded, in their order.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut length = 0;
    let mut pairs = Pairs::default();
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_lowercase) {
        if found.len() >= MAX_WORDS {
            break;
        }
        if unspaced(c) && c.is_alphanumeric() {
            flush(&mut word, &mut length, &mut found);
            pairs.push(c, &mut found);
            continue;
        }
        pairs.end(&mut found);
        if !c.is_alphanumeric() {
            flush(&mut word, &mut length, &mut found);
        } else if length < MAX_WORD_CHARS {
            word.push(c);
            length += 1;
        }
    }
    flush(&mut word, &mut length, &mut found);
    pairs.end(&mut found);
    found.truncate(MAX_WORDS);
    found
}

fn flush(word: &mut String, length: &mut usize, found: &mut Vec<String>) {
    if !word.is_empty() {
        found.push(std::mem::take(word));
        *length = 0;
    }
}

/// Pairs of neighbours in a run of characters that are written without spaces.
#[derive(Default)]
struct Pairs {
    last: Option<char>,
    paired: bool,
}

impl Pairs {
    fn push(&mut self, c: char, found: &mut Vec<String>) {
        if let Some(last) = self.last {
            found.push([last, c].into_iter().collect());
            self.paired = true;
        }
        self.last = Some(c);
    }

    /// A run of one is a word of its own.
    fn end(&mut self, found: &mut Vec<String>) {
        if let Some(last) = self.last.take()
            && !self.paired
        {
            found.push(last.to_string());
        }
        self.paired = false;
    }
}

/// Whether the script of a character is written without spaces between words: Han, kana, Thai, Lao, Myanmar, Khmer.
const fn unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2FA1F}')
}

/// Which language the words are in: the one more of whose stop-words they hold.
#[must_use]
pub fn language(words: &[String]) -> Language {
    let count = |is: fn(&str) -> bool| words.iter().filter(|word| is(word)).count();
    if count(lexicon::only_italian) > count(lexicon::only_english) { Language::Italian } else { Language::English }
}

/// The stem of a folded word.
#[must_use]
pub fn stemmed(word: &str, language: Language) -> String {
    match language {
        Language::English => stem::english(lexicon::base_of(word).unwrap_or(word)),
        Language::Italian => stem::italian(lexicon::italian_base_of(word).unwrap_or(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<String> {
        words(text)
    }

    #[test]
    fn marks_case_and_signs_do_not_matter() {
        assert_eq!(of("Città, PERCHÉ: l'ﬁne_x"), ["citta", "perche", "l", "fine", "x"]);
        assert_eq!(of("2023-05-08"), ["2023", "05", "08"]);
        assert_eq!(of("\" OR NEAR(* ^:{}"), ["or", "near"]);
        assert!(of(" \t\u{0}\u{202e}.").is_empty());
    }

    #[test]
    fn scripts_without_spaces_give_pairs() {
        assert_eq!(of("猫が好き ok 犬"), ["猫か", "か好", "好き", "ok", "犬"]);
    }

    #[test]
    fn a_word_and_a_text_may_be_exactly_as_long_as_they_may() {
        assert_eq!(of(&"w".repeat(MAX_WORD_CHARS + 1)), ["w".repeat(MAX_WORD_CHARS)]);
        assert_eq!(of(&"w ".repeat(MAX_WORDS + 1)).len(), MAX_WORDS);
        assert_eq!(of(&"猫".repeat(MAX_WORDS + 9)).len(), MAX_WORDS);
    }

    #[test]
    fn the_language_is_that_of_its_small_words() {
        assert_eq!(language(&of("quando siamo andati al mare con i bambini?")), Language::Italian);
        assert_eq!(language(&of("when did we go to the sea with the children?")), Language::English);
        assert_eq!(language(&of("Roberto 1984")), Language::English);
    }

    #[test]
    fn forms_of_a_word_share_their_stem() {
        for (one, two, language) in [
            ("went", "going", Language::English),
            ("children", "child", Language::English),
            ("bought", "buy", Language::English),
            ("pottery", "potteries", Language::English),
            ("andato", "andare", Language::Italian),
            ("giochi", "giocare", Language::Italian),
            ("comprato", "comprare", Language::Italian),
            ("citta", "citta", Language::Italian),
        ] {
            assert_eq!(stemmed(one, language), stemmed(two, language), "{one} {two}");
        }
    }

    proptest! {
        #[test]
        fn words_contain_only_letters_and_digits(text in "\\PC{0,80}") {
            for word in words(&text) {
                prop_assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric), "{word:?}");
                prop_assert!(word.chars().count() <= MAX_WORD_CHARS);
                for language in [Language::English, Language::Italian] {
                    let stem = stemmed(&word, language);
                    prop_assert!(!stem.is_empty() && stem.chars().all(char::is_alphanumeric), "{word:?} {stem:?}");
                }
            }
        }
    }
}
