//! What a request calls the things that it means, so that the answer calls them the same: "the trip note", "la lista della
//! spesa", "Tokyo". It only looks for the words; what they mean was decided before.

use metnos_proto::envelope::Named;
use metnos_proto::msg::common::Lang;
use metnos_rank::lexicon::is_stop;

use crate::matching::names::{PlaceWant, Resolution, resolve};
use crate::words::lists;
use crate::words::places;
use crate::words::token::Token;

/// The most tokens of a request that are looked at.
const MAX_TOKENS: usize = 64;
/// The most words of a name.
const MAX_NAME: usize = 8;
/// What a thing may be called beside its name, with the Italian article of each.
const NOUNS: &[(&str, &str)] = &[
    ("note", ""),
    ("file", "il "),
    ("document", ""),
    ("list", ""),
    ("table", ""),
    ("folder", ""),
    ("nota", "la "),
    ("documento", "il "),
    ("lista", "la "),
    ("elenco", "l’"),
    ("tabella", "la "),
    ("cartella", "la "),
];
/// What the words call the thing that has this path or zone, with its article; `None` where they say the path itself, or
/// where they do not name it.
#[must_use]
pub fn called(tokens: &[Token<'_>], named: &[Named], value: &str, lang: Lang) -> Option<String> {
    let tokens = &tokens[..tokens.len().min(MAX_TOKENS)];
    if tokens.iter().any(|token| token.text == value) {
        return None;
    }
    if let Some(list) = (0..tokens.len()).find_map(|at| list_at(tokens, at, value, lang)) {
        return Some(list);
    }
    let thing = named.iter().find(|one| one.path == value);
    let is_meant = |words: &[&str]| match thing {
        Some(thing) => resolve(std::slice::from_ref(thing), words, PlaceWant::Any) != Resolution::None,
        None => places::zone(words) == Some(value),
    };
    // The longest run of words that calls it, without what says nothing at its ends.
    let tells = |at: usize| tokens.get(at).is_some_and(|token| !is_stop(&token.text.to_lowercase()));
    let is_run =
        |at: usize, count: usize| tells(at) && tells(at + count - 1) && is_meant(&texts(&tokens[at..at + count]));
    let (at, count) = (1..=MAX_NAME.min(tokens.len()))
        .rev()
        .find_map(|count| (0..=tokens.len() - count).find(|at| is_run(*at, count)).map(|at| (at, count)))?;
    let run = &tokens[at..at + count];
    Some(match thing {
        Some(_) if run.iter().any(|token| noun(token.text).is_some()) => with_article(run, lang),
        Some(_) => joined(run),
        None => texts(run).into_iter().map(capital).collect::<Vec<_>>().join(" "),
    })
}

fn texts<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    tokens.iter().map(|token| token.text).collect()
}

fn capital(word: &str) -> String {
    if is_stop(word) {
        return word.to_owned();
    }
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// A list that is called from here on, when it is the one of this path.
/// What a household calls the file of a list that every one has, with its article; `None` for any other file. One in
/// the shared folder is said to be shared, since the person may have another of the same name.
#[must_use]
pub fn household_list(path: &str, lang: Lang) -> Option<&'static str> {
    const LISTS: [(&str, [&str; 2], [&str; 2]); 2] = [
        (
            "the shopping list",
            ["the shopping list", "the shared shopping list"],
            ["la lista della spesa", "la lista della spesa in comune"],
        ),
        (
            "the to-do list",
            ["the to-do list", "the shared to-do list"],
            ["la lista delle cose da fare", "la lista delle cose da fare in comune"],
        ),
    ];
    let is_in = |called: &str| metnos_proto::lists::called(called).iter().any(|kind| kind.is_in(path));
    let (_, english, italian) = LISTS.iter().find(|(called, ..)| is_in(called))?;
    let own_or_shared = usize::from(path.split('/').next() == Some(metnos_proto::executor::guests::SHARED));
    Some(match lang {
        Lang::En => english[own_or_shared],
        Lang::It => italian[own_or_shared],
    })
}

fn list_at(tokens: &[Token<'_>], at: usize, path: &str, lang: Lang) -> Option<String> {
    let (count, _) = lists::called_at(tokens, at).filter(|(_, kind)| kind.is_in(path))?;
    Some(with_article(tokens.get(at..at + count)?, lang))
}

fn noun(word: &str) -> Option<&'static str> {
    NOUNS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)).map(|(_, article)| *article)
}

fn with_article(tokens: &[Token<'_>], lang: Lang) -> String {
    let article = match lang {
        Lang::En => "the ",
        Lang::It => tokens.first().and_then(|first| noun(first.text)).unwrap_or_default(),
    };
    format!("{article}{}", joined(tokens))
}

/// Words as they were typed; an article that lost its vowel stands close.
fn joined(tokens: &[Token<'_>]) -> String {
    let mut text = String::new();
    for token in tokens {
        if !text.is_empty() && !text.ends_with('’') {
            text.push(' ');
        }
        text.push_str(token.text);
        let elided = ["l", "dell", "all", "dall", "nell", "sull", "un"];
        if elided.iter().any(|short| short.eq_ignore_ascii_case(token.text)) {
            text.push('’');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::words::token;

    fn say(text: &str, value: &str, lang: Lang) -> Option<String> {
        let titled = Named { title: "Our house".into(), ..Named::file("notes/casa.md") };
        let named =
            [Named::file("notes/trip.md"), titled, Named::file("notes/welcome.md"), Named::file("notes/spesa.md")];
        called(&token::tokens(text).unwrap(), &named, value, lang)
    }

    #[test]
    fn things_are_called_by_the_words_of_the_request() {
        let english = |text: &str, path: &str| say(text, path, Lang::En).unwrap_or_default();
        let italian = |text: &str, path: &str| say(text, path, Lang::It).unwrap_or_default();
        assert_eq!(english("how long is the trip note", "notes/trip.md"), "the trip note");
        assert_eq!(english("read the note about the trip", "notes/trip.md"), "the note about the trip");
        assert_eq!(english("read our house", "notes/casa.md"), "house");
        assert_eq!(english("open welcome", "notes/welcome.md"), "welcome");
        assert_eq!(english("open welcome.md", "notes/welcome.md"), "welcome.md");
        assert_eq!(english("add milk to my shopping list", "notes/spesa.md"), "the shopping list");
        assert_eq!(italian("leggi la nota della casa", "notes/casa.md"), "la nota della casa");
        assert_eq!(italian("metti il latte sulla lista della spesa", "notes/spesa.md"), "la lista della spesa");
        assert_eq!(english("time in new york", "America/New_York"), "New York");
    }

    #[test]
    fn what_is_typed_as_a_path_or_not_named_has_no_other_name() {
        for (text, path) in
            [("read notes/trip.md", "notes/trip.md"), ("read it", "notes/trip.md"), ("trip", "other.md")]
        {
            assert_eq!(say(text, path, Lang::En), None, "{text}");
        }
    }
}
