//! One slip of the finger in a long word that can be no other: "tomoorow", "wendesday", "mecoledi".

use crate::Language;
use crate::token::{Kind, Token};
use crate::words;

/// The shortest word in which a letter may be wrong, missing or too many; in shorter ones two may only have changed places.
const LONG: usize = 7;
const SHORT: usize = 6;

const ENGLISH: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "tomorrow",
    "yesterday",
    "tonight",
    "january",
    "february",
    "september",
    "october",
    "november",
    "december",
    "morning",
    "afternoon",
    "evening",
    "weekend",
    "midnight",
    "christmas",
    "minutes",
    "fortnight",
    "thanksgiving",
    "halloween",
];
const ITALIAN: &[&str] = &[
    "domani",
    "lunedi",
    "martedi",
    "mercoledi",
    "giovedi",
    "venerdi",
    "domenica",
    "dopodomani",
    "stasera",
    "stamattina",
    "pomeriggio",
    "gennaio",
    "febbraio",
    "settembre",
    "ottobre",
    "novembre",
    "dicembre",
    "mezzogiorno",
    "mezzanotte",
    "settimana",
    "settimane",
    "prossima",
    "prossimo",
    "ferragosto",
    "capodanno",
    "mattina",
];
/// Words that lie near one of them and are words themselves; those of the tables are so besides.
const OTHER: &[&str] = &["domenico", "mourning", "warning", "minuets", "minutest"];

/// Corrects the words that have one slip.
pub(crate) fn correct(tokens: &mut [Token], language: Language) {
    let known = match language {
        Language::English => ENGLISH,
        Language::Italian => ITALIAN,
    };
    for token in tokens.iter_mut().filter(|token| token.kind == Kind::Word) {
        let word = token.text.as_str();
        if known.contains(&word) || OTHER.contains(&word) || words::of(language).names(word) {
            continue;
        }
        let mut near = known.iter().filter(|word| is_near(&token.text, word));
        if let (Some(word), None) = (near.next(), near.next()) {
            (token.text, token.corrected) = ((*word).to_owned(), true);
        }
    }
}

/// Whether a word is another one with one slip; its first letter is always right.
fn is_near(typed: &str, word: &str) -> bool {
    let (typed, word): (Vec<char>, Vec<char>) = (typed.chars().collect(), word.chars().collect());
    let same = typed.iter().zip(&word).take_while(|(a, b)| a == b).count();
    let (Some(rest), Some(rest_word)) = (typed.get(same..), word.get(same..)) else { return false };
    if same == 0 || word.len() < SHORT {
        return false;
    }
    if let ([a, b, tail @ ..], [c, d, word_tail @ ..]) = (rest, rest_word)
        && a == d
        && b == c
        && tail == word_tail
    {
        return true;
    }
    let wrong = rest.len() == rest_word.len() && rest.get(1..) == rest_word.get(1..);
    let missing = rest_word.get(1..) == Some(rest);
    let doubled = rest.get(1..) == Some(rest_word);
    word.len() >= LONG && (wrong || missing || doubled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::tokens;

    fn corrected(text: &str, language: Language) -> Vec<String> {
        let mut tokens = tokens(text);
        correct(&mut tokens, language);
        tokens.into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn one_slip_in_a_long_word_is_corrected() {
        let text = "tomoorow wendesday thrusday yesterdy novemeber setpember";
        let right = ["tomorrow", "wednesday", "thursday", "yesterday", "november", "september"];
        assert_eq!(corrected(text, Language::English), right);
        assert_eq!(corrected("domnai mercoledí pomerigio", Language::Italian), ["domani", "mercoledi", "pomeriggio"]);
    }

    #[test]
    fn words_of_their_own_are_left() {
        for word in ["domini", "romani", "domenico", "sundry", "monkey", "mourning", "warning", "moday"] {
            assert_eq!(corrected(word, Language::English), [word]);
            assert_eq!(corrected(word, Language::Italian), [word]);
        }
    }
}
