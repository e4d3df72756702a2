//! The words that ask for the last thing to be taken back. They are known as a whole and by nothing less, politeness aside,
//! so that no request for something else is ever taken for one.

use metnos_proto::msg::common::Lang;

use crate::words::grammar;
use crate::words::token::{self, Kind};

/// The longest text that may be such words, in bytes.
const MAX_TEXT: usize = 160;

const ENGLISH: &[&str] = &[
    "undo",
    "undo it",
    "undo this",
    "undo that",
    "undo last",
    "undo the last",
    "undo the last one",
    "undo the last thing",
    "undo the last change",
    "undo the last action",
    "undo my last action",
    "undo your last action",
    "undo my last change",
    "undo your last change",
    "undo what you did",
    "undo what you have done",
    "undo what you just did",
    "undo what i just did",
    "undo the last thing you did",
    "undo the last thing i did",
    "take it back",
    "take that back",
    "take this back",
    "take back the last thing",
    "take back what you did",
    "revert",
    "revert it",
    "revert that",
    "revert the last change",
];
const ITALIAN: &[&str] = &[
    "annulla",
    "annullalo",
    "annullala",
    "annulla questo",
    "annulla quello",
    "annulla questa cosa",
    "annulla l ultima",
    "annulla l ultima cosa",
    "annulla l ultima cosa fatta",
    "annulla l ultima cosa che hai fatto",
    "annulla l ultima cosa che ho fatto",
    "annulla l ultima azione",
    "annulla l ultima modifica",
    "annulla l ultima operazione",
    "annulla l ultimo cambiamento",
    "annulla la tua ultima azione",
    "annulla quello che hai fatto",
    "annulla quello che hai appena fatto",
    "annulla ciò che hai fatto",
    "annulla ciò che hai appena fatto",
    "annulla quel che hai fatto",
    "disfa",
    "disfa l ultima cosa",
    "disfa quello che hai fatto",
];

/// The language in which these words ask for the last thing to be taken back; `None` when they ask for something else.
#[must_use]
pub fn asked(text: &str) -> Option<Lang> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let tokens = token::tokens(text)?;
    let (begin, _) = grammar::lead(&tokens);
    let end = grammar::tail(&tokens, begin);
    let said = tokens.get(begin..end)?;
    if said.is_empty() || said.iter().any(|token| token.kind != Kind::Word) {
        return None;
    }
    let mut words: Vec<String> = said.iter().map(|token| token.text.to_lowercase()).collect();
    // "Puoi annullare", "potresti annullarlo".
    for (infinitive, order) in [("annullare", "annulla"), ("annullarlo", "annullalo"), ("annullarla", "annullala")] {
        if words[0] == infinitive {
            order.clone_into(&mut words[0]);
        }
    }
    let words = words.join(" ");
    [(ENGLISH, Lang::En), (ITALIAN, Lang::It)]
        .into_iter()
        .find_map(|(all, lang)| all.contains(&words.as_str()).then_some(lang))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_undo_are_known_in_both_languages_with_politeness() {
        for (text, lang) in [
            ("undo", Lang::En),
            (" Undo that! ", Lang::En),
            ("please undo the last thing", Lang::En),
            ("can you undo it please?", Lang::En),
            ("take that back", Lang::En),
            ("annulla", Lang::It),
            ("Annulla l'ultima cosa.", Lang::It),
            ("annulla l’ultima cosa", Lang::It),
            ("puoi annullare l'ultima cosa, per favore?", Lang::It),
            ("annulla quello che hai appena fatto", Lang::It),
        ] {
            assert_eq!(asked(text), Some(lang), "{text}");
        }
    }

    #[test]
    fn words_for_something_else_are_never_taken_for_undo() {
        for text in [
            "",
            "please",
            "undo notes/a.md",
            "undo the change in notes/a.md",
            "do not undo that",
            "annulla la riunione",
            "annulla tutto",
            "annulla l'abbonamento",
            "what does undo do?",
            "non annullare",
            "take back the book",
            "cancel",
            "\"undo\"",
        ] {
            assert_eq!(asked(text), None, "{text}");
        }
        assert_eq!(asked(&format!("undo{}", " ".repeat(MAX_TEXT))), None);
    }
}
