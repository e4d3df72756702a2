//! What people say who ask for nothing, in both languages, written by somebody who had not read the patterns: no word of it may
//! change anything, neither by itself nor after a request that did.
#![allow(clippy::unwrap_used)]

use metnos_proto::envelope::{Envelope, Named};
use metnos_proto::msg::common::Lang;
use serde_json::{Value, json};

use crate::testing::{envelope, shipped};
use crate::{READ, Repertoire, Reply};

const SAID: &str = include_str!("../tests/data/nothing-asked.jsonl");

fn said() -> Vec<(String, Lang)> {
    let row = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
    let lang = |row: &Value| if row["lang"] == "it" { Lang::It } else { Lang::En };
    SAID.lines().map(row).map(|row| (row["say"].as_str().unwrap().to_owned(), lang(&row))).collect()
}

/// What would be changed.
fn effects(repertoire: &mut Repertoire, text: &str, envelope: &Envelope) -> Vec<String> {
    let Reply::Plan(plan) = repertoire.plan(text, envelope) else { return Vec::new() };
    let reads = |name: &str| envelope.candidates.iter().any(|one| one.name == name && one.class == READ);
    plan.calls.iter().filter(|call| !reads(&call.executor)).map(|call| format!("{text}: {call:?}")).collect()
}

#[test]
fn words_that_ask_for_nothing_change_nothing() {
    let mut repertoire = Repertoire::default();
    let mut all = envelope(shipped(), Lang::En);
    all.home.lists = "notes".into();
    let files = ["notes/shopping.md", "notes/spesa.md", "notes/house.md", "notes/todo.md", "data/expenses.csv"];
    all.named = files.into_iter().map(Named::file).collect();
    let mut wrong = Vec::new();
    let said = said();
    assert!(said.len() >= 100);
    for (text, lang) in &said {
        all.lang = *lang;
        all.recent.clear();
        wrong.extend(effects(&mut repertoire, text, &all));
        for before in
            ["add milk to the shopping list", "togli il latte dalla lista della spesa", "delete notes/house.md"]
        {
            all.recent = vec![serde_json::from_value(json!({ "seq": 1, "text": before })).unwrap()];
            let after = effects(&mut repertoire, text, &all);
            wrong.extend(after.into_iter().map(|one| format!("after {before:?}: {one}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
