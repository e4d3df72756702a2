//! Lists by their names, among all executors that are shipped: which file is meant, and what is put on it.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::envelope::{Home, Named, PersonNamed};

use crate::testing::{envelope as envelope_of, shipped};
use crate::*;

#[test]
fn lists_are_added_to_and_read_by_their_names_and_nothing_else_is_done() {
    let text = include_str!("../tests/data/lists.jsonl");
    let mut wrong = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let lang = if row["lang"] == "it" { Lang::It } else { Lang::En };
        let mut envelope = envelope_of(shipped(), lang);
        envelope.named =
            row["named"].as_array().unwrap().iter().map(|path| Named::file(path.as_str().unwrap())).collect();
        envelope.home.lists = "notes".into();
        let wanted = match (&row["path"], &row["content"]) {
            (Value::Null, _) => None,
            (path, Value::Null) => Some(("fs_read".to_owned(), json!({ "path": path }))),
            (path, content) => Some(("fs_append".to_owned(), json!({ "path": path, "content": content }))),
        };
        let found = match plan(row["text"].as_str().unwrap(), &envelope) {
            Reply::Plan(plan) if plan.calls.len() == 1 => {
                Some((plan.calls[0].executor.clone(), plan.calls[0].arguments.clone()))
            }
            Reply::Plan(plan) => panic!("{plan:?}"),
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        };
        if found != wanted {
            wrong.push(format!("{}: {found:?}", row["text"]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_new_list_of_a_guest_goes_where_everybody_reads() {
    let mut envelope = envelope_of(shipped(), Lang::En);
    envelope.home = Home { lists: "shared".into(), ..Home::default() };
    let Reply::Plan(plan) = plan("add eggs to the shopping list", &envelope) else { panic!() };
    assert_eq!(plan.calls[0].arguments["path"], "shared/shopping.md");
    let Reply::Plan(plan) = crate::plan("make a note called party saying bring chairs", &envelope) else { panic!() };
    assert_eq!(plan.calls[0].arguments["path"], "shared/party.md");
}

#[test]
fn who_is_known_is_told_by_name() {
    let mut envelope = envelope_of(shipped(), Lang::En);
    let said = |text: &str, envelope: &Envelope| match plan(text, envelope) {
        Reply::Say(said) => said,
        other @ (Reply::Plan(_)
        | Reply::Schedule(..)
        | Reply::Review(..)
        | Reply::Cannot(_)
        | Reply::NotUnderstood(_)) => {
            panic!("{text}: {other:?}")
        }
    };
    assert!(said("who do you know?", &envelope).starts_with("I know nobody here by name yet."));
    envelope.home.person = "Anna".into();
    let named = |name: &str| PersonNamed { name: name.to_owned(), also: vec!["dad".to_owned()] };
    envelope.home.people = ["Marco", "Luca", "Rosa"].map(named).into();
    assert!(said("what are my quiet hours?", &envelope).starts_with("You have no quiet hours"));
    envelope.home.quiet = "22:00-7:00".into();
    assert!(said("quando non mi disturbi?", &envelope).starts_with("Dalle 22:00 alle 7:00 trattengo"));
    assert_eq!(said("who is in my family", &envelope), "I know you, Anna, and also Marco, Luca and Rosa.\n");
    assert_eq!(said("chi c'è in famiglia?", &envelope), "Conosco te, Anna, e poi Marco, Luca e Rosa.\n");
    envelope.home.people.truncate(1);
    assert_eq!(said("chi conosci?", &envelope), "Conosco te, Anna, e poi Marco.\n");
}

#[test]
fn a_private_list_is_kept_in_the_speakers_own_folder() {
    let mut envelope = envelope_of(shipped(), Lang::En);
    let path = |text: &str, envelope: &Envelope| match plan(text, envelope) {
        Reply::Plan(plan) => {
            (plan.calls[0].executor.clone(), plan.calls[0].arguments["path"].as_str().unwrap().to_owned())
        }
        other @ (Reply::Say(_)
        | Reply::Schedule(..)
        | Reply::Review(..)
        | Reply::Cannot(_)
        | Reply::NotUnderstood(_)) => {
            panic!("{text}: {other:?}")
        }
    };
    let nobody = plan("add perfume to my private list", &envelope);
    assert!(matches!(&nobody, Reply::Say(said) if said.contains("by name")), "{nobody:?}");
    envelope.home = Home { lists: "notes".into(), folder: "people/anna".into(), ..Home::default() };
    for (text, file) in [
        ("add perfume to my private list", "list.md"),
        ("put a book on my secret gift list", "gift.md"),
        ("aggiungi un profumo alla mia lista privata", "lista.md"),
        ("metti un libro nella mia lista segreta dei regali", "regali.md"),
        ("aggiungi il pane alla mia lista personale della spesa", "spesa.md"),
    ] {
        assert_eq!(path(text, &envelope), ("fs_append".to_owned(), format!("people/anna/{file}")), "{text}");
    }
    assert_eq!(path("add milk to the shopping list", &envelope).1, "notes/shopping.md");
    envelope.named = ["notes/shopping.md", "people/anna/list.md", "people/anna/regali.md"].map(Named::file).into();
    for (text, executor, file) in [
        ("what is on my private list?", "fs_read", "list.md"),
        ("cosa c'è nella mia lista segreta dei regali?", "fs_read", "regali.md"),
        ("take perfume off my private list", "list_remove", "list.md"),
        ("togli il libro dalla mia lista privata dei regali", "list_remove", "regali.md"),
    ] {
        assert_eq!(path(text, &envelope), (executor.to_owned(), format!("people/anna/{file}")), "{text}");
    }
}
