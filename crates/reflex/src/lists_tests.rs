//! Lists by their names, among all executors that are shipped: which file is meant, and what is put on it.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::envelope::{Home, Named};

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
            Reply::Say(_) | Reply::Later(_) | Reply::Cannot(_) | Reply::NotUnderstood(_) => None,
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
}

#[test]
fn answers_contain_no_raw_field_names() {
    let home = Home { zone: "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)".into(), ..Home::default() };
    let told = |words: &str, result: Value| {
        let mut envelope = envelope_of(shipped(), Lang::En);
        envelope.home = home.clone();
        let Reply::Plan(plan) = plan(words, &envelope) else { panic!("{words}") };
        let call = plan.calls.last().unwrap();
        match call.template.tell(result.to_string().as_bytes()) {
            answer::Rendered::Answer(text) => text,
            answer::Rendered::Trouble(text) => panic!("{text}"),
        }
    };
    let time = json!({
        "ok": true, "text": "2026-11-24 14:31:05 (Europe/Rome, UTC+01:00)", "iso": "2026-11-24T14:31:05+01:00",
        "zone": "Europe/Rome", "date": "2026-11-24", "time": "14:31:05",
    });
    assert_eq!(told("what time is it", time.clone()), "Tuesday 24 November 2026, 14:31 (Europe/Rome)\n");
    assert_eq!(told("che ore sono", time), "Martedì 24 novembre 2026, 14:31 (Europe/Rome)\n");
    let count = json!({"ok": true, "path": "notes", "files": 3, "folders": 1, "bytes": 812});
    assert_eq!(told("count the files in notes", count.clone()), "notes holds 3 files and 1 folder: 812 bytes.\n");
    assert_eq!(told("quanti file ci sono in notes", count), "notes contiene 3 file e 1 cartella: 812 byte.\n");
    let found = json!({
        "ok": true, "path": "notes", "total": 1, "returned": 1, "truncated": false, "failed": 0, "complete": true,
        "entries": [{"path": "notes/a.md", "kind": "file", "size": 800, "modified": "2026-11-24T13:31:05Z"}],
    });
    let line = told("find the 3 longest files in notes", found);
    assert_eq!(line, "notes/a.md  (Tuesday 24 November 2026, 14:31, 800 bytes)\n");
    let hits = json!({
        "ok": true, "path": "notes", "files": [{"path": "notes/a.md", "count": 1}],
        "matches": [{"path": "notes/a.md", "line": 3, "column": 1, "text": "buy milk"}],
    });
    assert_eq!(told("search for \"milk\" in notes", hits.clone()), "notes/a.md, line 3: buy milk\n");
    assert_eq!(told("cerca \"milk\" in notes", hits), "notes/a.md, riga 3: buy milk\n");
    let none = json!({"ok": true, "path": "notes", "files": [], "matches": []});
    assert_eq!(told("cerca \"milk\" in notes", none), "Non c'è scritto niente del genere in notes.\n");
    let added = json!({"ok": true, "path": "notes/shopping.md", "made": true, "bytes_before": 0, "bytes": 14});
    let wanted = "Added to notes/shopping.md: eggs, milk. Say “undo” to take it back.\n";
    assert_eq!(told("add eggs and milk to the shopping list", added.clone()), wanted);
    let wanted = "Aggiunto a notes/shopping.md: uova. Di’ «annulla» per tornare indietro.\n";
    assert_eq!(told("aggiungi le uova alla lista della spesa", added), wanted);
    let page = json!({
        "ok": true, "url": "https://example.org", "status": 200, "content_type": "text/html", "title": "Hi",
        "text": "One\nTwo", "size": 7, "truncated": false, "sha": "ab",
    });
    assert_eq!(told("read the page https://example.org", page), "One\nTwo\n");
}

/// What a sentence names is a value of the result or of the arguments.
#[test]
fn every_sentence_of_a_manifest_names_what_the_schemas_have() {
    for candidate in shipped() {
        let has = |schema: &Value, name: &str| schema.pointer("/properties").is_some_and(|all| all.get(name).is_some());
        let document = |schema: &Value| {
            let target = schema["$ref"].as_str().and_then(|at| schema.pointer(at.trim_start_matches('#')));
            target.unwrap_or(schema).clone()
        };
        let (input, output) = (document(&candidate.input), document(&candidate.output));
        let entry = output.pointer(&format!("/properties/{}/items", candidate.answer.list)).cloned();
        let entry =
            entry.and_then(|it| candidate.output.pointer(it["$ref"].as_str()?.trim_start_matches('#')).cloned());
        for wording in [&candidate.answer.en, &candidate.answer.it] {
            for text in [&wording.done, &wording.each, &wording.empty] {
                for part in metnos_proto::executor::answer::parts(text).unwrap() {
                    use metnos_proto::executor::answer::Part;
                    let (Part::Value(name) | Part::Count(name) | Part::Whole(name)) = part else { continue };
                    let known =
                        has(&input, name) || has(&output, name) || entry.as_ref().is_some_and(|entry| has(entry, name));
                    assert!(known, "{} says {{{name}}}, which it has not", candidate.name);
                }
            }
        }
        assert_eq!(candidate.answer.en.done.is_empty(), candidate.answer.it.done.is_empty(), "{}", candidate.name);
    }
}
