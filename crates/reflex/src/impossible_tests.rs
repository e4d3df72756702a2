//! Tests of what cannot be done: sentences of our own, in two halves by chance, of which one was never looked at while the forms
//! were written.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;

use metnos_proto::envelope::Candidate;
use metnos_proto::executor::Example;
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use super::*;
use crate::testing::{envelope, shipped};
use crate::{Repertoire, Reply};

static SHIPPED: LazyLock<Vec<Candidate>> = LazyLock::new(shipped);

/// The kind whose sentence is said: of what nobody does here, or of what is done and was not understood. What an executor of the
/// house is called for asks for something of the house.
fn said(repertoire: &mut Repertoire, candidates: Vec<Candidate>, text: &str, lang: Lang) -> Option<Kind> {
    let told = match repertoire.plan(text, &envelope(candidates, lang)) {
        Reply::Cannot(unable) => unable.text,
        Reply::NotUnderstood(why) => why,
        Reply::Plan(plan) if plan.calls.iter().all(|call| call.executor.starts_with("home_")) => {
            return Some(Kind::Home);
        }
        Reply::Plan(_) | Reply::Say(_) | Reply::Schedule(..) | Reply::Review(..) => return None,
    };
    let of = |kind: &Kind| crate::answer::speech::cannot(lang, *kind) == told;
    Kind::ALL.into_iter().find(of)
}

fn measure(half: &str) -> (usize, Vec<String>) {
    let (mut right, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    let mut repertoire = Repertoire::default();
    for line in include_str!("../tests/data/impossible.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        if row["half"] != half {
            continue;
        }
        let lang = if row["lang"] == "it" { Lang::It } else { Lang::En };
        let text = row["say"].as_str().unwrap();
        let found = said(&mut repertoire, SHIPPED.clone(), text, lang).map(Kind::name);
        match (found, row["kind"].as_str()) {
            (found, wanted) if found == wanted => right += 1,
            (None, _) => missed.push(text.to_owned()),
            (Some(found), _) => wrong.push(format!("{text}: {found}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    (right, missed)
}

#[test]
fn impossible_things_looked_at_are_named_and_nothing_else_is() {
    let (right, missed) = measure("tuned");
    assert!(missed.is_empty(), "{right} right, missed: {missed:#?}");
}

#[test]
fn impossible_things_never_looked_at_are_mostly_named_and_never_wrongly() {
    let (right, missed) = measure("held");
    eprintln!("held: {right} right of {}", right + missed.len());
    assert!(right * 100 >= (right + missed.len()) * 85, "{right} right, {} missed", missed.len());
}

#[test]
fn a_kind_is_possible_once_an_example_of_an_executor_asks_for_it() {
    let mut candidates = SHIPPED.clone();
    let mut repertoire = Repertoire::default();
    candidates.retain(|candidate| candidate.name != "smtp_send");
    let text = "send an email to Anna";
    let mut reply = |candidates: &[Candidate]| repertoire.plan(text, &envelope(candidates.to_vec(), Lang::En));
    assert!(matches!(reply(&candidates), Reply::Cannot(unable) if unable.is_wish));
    candidates[0].examples.push(Example::plain("email Bob about the party"));
    // A model may do it; without one, what is understood is said.
    assert!(matches!(reply(&candidates), Reply::NotUnderstood(_)));
    assert_eq!(said(&mut repertoire, candidates.clone(), text, Lang::En), Some(Kind::Mail));
    assert_eq!(said(&mut repertoire, candidates, "play some music", Lang::En), Some(Kind::Music));
}

#[test]
fn no_shipped_example_but_of_three_kinds_asks_for_the_impossible() {
    for candidate in SHIPPED.iter() {
        for example in &candidate.examples {
            let words = metnos_rank::words::words(example.say());
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let possible = match candidate.name.as_str() {
                "smtp_send" => Some(Kind::Mail),
                "web_search" => Some(Kind::Search),
                name if name.starts_with("home_") => Some(Kind::Home),
                _ => None,
            };
            let kind = kind_of(&words);
            assert!(kind.is_none() || kind == possible, "{}: {}", candidate.name, example.say());
        }
    }
}

#[test]
fn every_kind_has_forms_and_words_and_each_form_says_a_word() {
    assert_eq!(FORMS.len(), Kind::ALL.len());
    for forms in FORMS.iter() {
        assert!(forms.forms.len() > 5, "{:?}", forms.kind);
        for form in &forms.forms {
            let words = form.iter().filter(|part| matches!(part, Part::Words(words) if !words.contains(&"*"))).count();
            assert!(words >= 1, "{form:?}");
        }
    }
}

#[test]
fn long_or_empty_words_ask_for_nothing() {
    assert_eq!(kind_of(&[]), None);
    let long = vec!["x"; MAX_WORDS];
    assert_eq!(kind_of(&long), None);
    let mut fits = vec!["remind", "me"];
    fits.resize(MAX_WORDS, "x");
    assert_eq!(kind_of(&fits), Some(Kind::Reminder));
    fits.push("x");
    assert_eq!(kind_of(&fits), None);
}
