//! The words that ask for the last thing to be taken back, or for the last words to be forgotten. They are known as a whole and by
//! nothing less, politeness aside, so that no request for something else is ever taken for one.

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

/// "Forget it" is no such request: people say it for "never mind".
const FORGET_ENGLISH: &[&str] = &[
    "forget that",
    "forget this",
    "forget what i said",
    "forget what i just said",
    "forget what i told you",
    "forget what i just told you",
    "forget what i asked",
    "forget what i just asked",
    "forget what i wrote",
    "forget what i just wrote",
    "forget my last words",
    "forget my last message",
    "forget the last message",
    "forget my last question",
    "forget that i said that",
    "forget that i asked that",
    "forget that i asked",
    "forget i said that",
    "forget i asked",
    "forget i said anything",
    "delete what i said",
    "delete what i just said",
    "delete my last message",
    "erase what i said",
    "erase what i just said",
];
const FORGET_ITALIAN: &[&str] = &[
    "dimenticalo",
    "dimentica questo",
    "dimentica quello che ho detto",
    "dimentica quello che ho appena detto",
    "dimentica quello che ti ho detto",
    "dimentica quello che ti ho appena detto",
    "dimentica quello che ho scritto",
    "dimentica quello che ho appena scritto",
    "dimentica quello che ti ho chiesto",
    "dimentica ciò che ho detto",
    "dimentica ciò che ho appena detto",
    "dimentica ciò che ti ho detto",
    "dimentica ciò che ti ho appena detto",
    "dimentica il mio ultimo messaggio",
    "dimentica l ultimo messaggio",
    "dimentica la mia ultima domanda",
    "dimentica che te l ho chiesto",
    "dimentica che l ho detto",
    "cancella quello che ho detto",
    "cancella quello che ho appena detto",
    "cancella ciò che ho detto",
    "cancella ciò che ho appena detto",
    "cancella il mio ultimo messaggio",
];

/// The language in which these words ask for the last thing to be taken back; `None` when they ask for something else.
#[must_use]
pub fn asked(text: &str) -> Option<Lang> {
    known(text, [(ENGLISH, Lang::En), (ITALIAN, Lang::It)])
}

/// The language in which these words ask for the words before them to be forgotten; `None` when they ask for something else.
#[must_use]
pub fn forgets(text: &str) -> Option<Lang> {
    known(text, [(FORGET_ENGLISH, Lang::En), (FORGET_ITALIAN, Lang::It)])
}

/// The language of the list in which these words stand, politeness aside.
fn known(text: &str, lists: [(&[&str], Lang); 2]) -> Option<Lang> {
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
    const ORDERS: [(&str, &str); 6] = [
        ("annullare", "annulla"),
        ("annullarlo", "annullalo"),
        ("annullarla", "annullala"),
        ("dimenticare", "dimentica"),
        ("dimenticarlo", "dimenticalo"),
        ("cancellare", "cancella"),
    ];
    for (infinitive, order) in ORDERS {
        if words[0] == infinitive {
            order.clone_into(&mut words[0]);
        }
    }
    let words = words.join(" ");
    let words = after_thought(&words);
    lists.into_iter().find_map(|(all, lang)| all.contains(&words).then_some(lang))
}

/// What may stand before such words in one breath: "no wait, undo that".
const AFTERTHOUGHTS: [&str; 18] = [
    "oh no wait",
    "oh no",
    "no wait",
    "actually no",
    "no actually",
    "actually",
    "wait",
    "oops",
    "sorry",
    "no",
    "oh",
    "anzi no",
    "no anzi",
    "no aspetta",
    "aspetta",
    "anzi",
    "ops",
    "scusa",
];

/// The words without what stands before them so.
fn after_thought(words: &str) -> &str {
    let rest = |lead: &&str| words.strip_prefix(*lead)?.strip_prefix(' ');
    AFTERTHOUGHTS.iter().find_map(rest).unwrap_or(words)
}

/// The words before a thing of which the last change is to be taken back. Those before a list or a file end in what joins them.
const OF_ENGLISH: &[&str] = &[
    "undo what you did",
    "undo what you have done",
    "undo what you just did",
    "undo what i did",
    "undo what i just did",
    "undo the last thing you did",
    "undo the last thing i did",
    "undo the last change",
    "undo my last change",
    "undo your last change",
    "undo the change",
    "take back what you did",
    "take back the last change",
    "revert the last change",
    "revert what you did",
];
const OF_ITALIAN: &[&str] = &[
    "annulla quello che hai fatto",
    "annulla quello che ho fatto",
    "annulla quello che hai appena fatto",
    "annulla ciò che hai fatto",
    "annulla ciò che hai appena fatto",
    "annulla quel che hai fatto",
    "annulla l ultima cosa che hai fatto",
    "annulla l ultima modifica",
    "annulla la tua ultima modifica",
    "annulla l ultimo cambiamento",
    "annulla la modifica",
    "annulla l aggiunta",
    "disfa quello che hai fatto",
];
/// What joins those words with the thing.
const JOIN_ENGLISH: &str = "with to in on about of for from at";
const JOIN_ITALIAN: &str = "con col colla a ad al allo alla alle agli ai all in nel nella nello nelle nei su sul sulla sullo sulle di \
    del della dello delle dei dell da dal dalla per";
/// The most words of a thing.
const MAX_THING: usize = 6;
/// What is no thing, but points at one or at a time.
const NO_THINGS: &str =
    "it that this them everything all mine yesterday today now questo quello questa tutto ieri oggi adesso ora me";

/// A thing of which the last change is to be taken back, as it was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thing {
    /// The language of the words.
    pub lang: Lang,
    /// What it was called: a list, a file, or something that was put on a list.
    pub called: String,
}

/// The thing of which these words ask for the last change to be taken back: "undo what you did with the shopping list", "take
/// back the milk". Only words that ask for nothing else are known.
#[must_use]
pub fn thing(text: &str) -> Option<Thing> {
    if text.len() > MAX_TEXT || asked(text).is_some() {
        return None;
    }
    let tokens = token::tokens(text)?;
    let (begin, _) = grammar::lead(&tokens);
    let end = grammar::tail(&tokens, begin);
    let said = tokens.get(begin..end)?;
    let mut words: Vec<String> = said.iter().map(|token| token.text.to_lowercase()).collect();
    if words.first().is_some_and(|word| word == "annullare") {
        "annulla".clone_into(&mut words[0]);
    }
    let is_one_of = |word: &str, all: &str| all.split_ascii_whitespace().any(|known| known == word);
    let behind = |all: &[&str], joins: &str| {
        all.iter()
            .filter_map(|phrase| {
                let count = phrase.split(' ').count();
                let begins = words.len() > count + 1 && words[..count].join(" ") == **phrase;
                (begins && is_one_of(&words[count], joins)).then_some(count + 1)
            })
            .max()
    };
    let (from, upto, lang) = match (behind(OF_ENGLISH, JOIN_ENGLISH), behind(OF_ITALIAN, JOIN_ITALIAN)) {
        (Some(from), _) => (from, words.len(), Lang::En),
        (None, Some(from)) => (from, words.len(), Lang::It),
        (None, None) => {
            let first: Vec<&str> = words.iter().take(2).map(String::as_str).collect();
            match first.as_slice() {
                ["take", "back"] => (2, words.len(), Lang::En),
                ["take", _] if words.last().is_some_and(|word| word == "back") => (1, words.len() - 1, Lang::En),
                _ => return None,
            }
        }
    };
    let thing = said.get(from..upto).filter(|thing| (1..=MAX_THING).contains(&thing.len()))?;
    let (first, last) = (thing.first()?, thing.last()?);
    let is_thing = |token: &token::Token<'_>| {
        matches!(token.kind, Kind::Word | Kind::File | Kind::Path | Kind::Quoted | Kind::Number)
    };
    let points =
        words[from..upto].iter().any(|word| is_one_of(word, NO_THINGS) || is_one_of(word, "what who why that che chi"));
    if points || !thing.iter().all(is_thing) {
        return None;
    }
    let called = text.get(first.start..last.start + last.text.len())?.trim();
    (!called.is_empty()).then(|| Thing { lang, called: called.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_change_a_mind_may_stand_before() {
        for (text, lang) in [
            ("no wait, undo that", Some(Lang::En)),
            ("Oops, undo!", Some(Lang::En)),
            ("anzi no, annulla", Some(Lang::It)),
            ("no undo", Some(Lang::En)),
            ("no, nothing to undo", None),
            ("aspetta", None),
        ] {
            assert_eq!(asked(text), lang, "{text}");
        }
    }

    #[test]
    fn words_to_be_forgotten_are_asked_for_as_a_whole() {
        for (text, lang) in [
            ("forget that", Lang::En),
            ("Please forget what I just said!", Lang::En),
            ("can you forget what I told you, please?", Lang::En),
            ("no wait, forget that", Lang::En),
            ("Dimenticalo", Lang::It),
            ("dimentica quello che ho appena detto, per favore", Lang::It),
            ("puoi dimenticare quello che ti ho detto?", Lang::It),
        ] {
            assert_eq!((forgets(text), asked(text)), (Some(lang), None), "{text}");
        }
        for text in [
            "forget it",
            "don't forget that",
            "forget that the bins go out on Monday",
            "did you forget what I said?",
            "never forget what I told you",
            "forget the milk",
            "non dimenticarlo",
            "non dimenticare quello che ho detto",
            "dimentica il latte",
            "lascia perdere",
            "undo",
            "cancellalo",
        ] {
            assert_eq!(forgets(text), None, "{text}");
        }
    }

    #[test]
    fn thing_to_take_back_is_known_by_what_it_is_called() {
        for (text, lang, called) in [
            ("undo what you did with the shopping list", Lang::En, "the shopping list"),
            ("Please undo the last change to notes/a.md!", Lang::En, "notes/a.md"),
            ("undo the change in notes/a.md", Lang::En, "notes/a.md"),
            ("take back the milk", Lang::En, "the milk"),
            ("can you take the milk back, please?", Lang::En, "the milk"),
            ("annulla quello che hai fatto con la lista della spesa", Lang::It, "la lista della spesa"),
            ("Annulla l'ultima modifica alla lista della spesa", Lang::It, "lista della spesa"),
            ("puoi annullare l'aggiunta del latte?", Lang::It, "latte"),
        ] {
            let thing = thing(text).map(|thing| (thing.lang, thing.called));
            assert_eq!(thing, Some((lang, called.to_owned())), "{text}");
        }
        for text in [
            "undo",
            "undo that",
            "take it back",
            "take that back",
            "take back",
            "take me back",
            "undo the page",
            "undo notes/a.md",
            "annulla la riunione",
            "annulla l'abbonamento",
            "do not undo what you did with the list",
            "did you undo what you did with the list?",
            "take back what you said about the boiler and the new car of ours",
            "undo what you did with everything",
            "annulla tutto",
            "take the milk",
            "what does undo do?",
        ] {
            assert_eq!(thing(text), None, "{text}");
        }
    }

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
