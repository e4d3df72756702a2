//! Dialogues of our own: what the last words must become after those before them. Half of them, chosen by chance, were never
//! looked at while the rules were written.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;

use metnos_proto::envelope::{Candidate, Envelope, Named, Recalled, Recent};
use metnos_proto::msg::common::Lang;
use serde_json::{Value, json};

use crate::testing::{envelope as envelope_of, plan, shipped};
use crate::{Repertoire, Reply};

const DIALOGUES: &str = include_str!("../../tests/data/dialogues.jsonl");

static SHIPPED: LazyLock<Vec<Candidate>> = LazyLock::new(shipped);

fn recent(texts: &[&str]) -> Vec<Recent> {
    let of = |(at, text): (usize, &&str)| serde_json::from_value(json!({ "seq": at, "text": text })).unwrap();
    texts.iter().enumerate().map(of).collect()
}

fn named(files: &[&str]) -> Vec<Named> {
    let mut all: Vec<Named> = files.iter().copied().map(Named::file).collect();
    for (path, at) in files.iter().flat_map(|path| path.match_indices('/').map(move |(at, _)| (path, at))) {
        if !all.iter().any(|one| one.path == path[..at]) {
            all.push(Named::folder(&path[..at]));
        }
    }
    all
}

fn after(turns: &[&str], files: &[&str], lang: Lang) -> (String, Envelope) {
    let mut envelope = envelope_of(SHIPPED.clone(), lang);
    envelope.home.lists = "notes".into();
    let (last, before) = turns.split_last().unwrap();
    envelope.recent = recent(before);
    envelope.named = named(files);
    ((*last).to_owned(), envelope)
}

fn made(reply: &Reply) -> Vec<(String, Value)> {
    match reply {
        Reply::Plan(plan) => plan.calls.iter().map(|call| (call.executor.clone(), call.arguments.clone())).collect(),
        Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
            Vec::new()
        }
    }
}

/// Whether a reply is what is wanted; `Err` when it is something else that does something.
fn judge(reply: &Reply, want: &Value) -> Result<bool, ()> {
    let calls = made(reply);
    match want {
        Value::Null if calls.is_empty() => Ok(true),
        Value::Null => Err(()),
        Value::String(kind) => {
            let marks: &[&str] = match kind.as_str() {
                "not-again" => &["I do not repeat", "Non ripeto"],
                "nothing-asks" => &["Nothing waits for", "Niente aspetta"],
                "nothing-stops" => &["Nothing is under way", "Non c’è niente in corso"],
                "which" => &["Which one:", "Quale:"],
                "left-alone" => &["All right", "Va bene"],
                "by-name" => &["Say the name", "Di’ il nome"],
                other => panic!("{other}"),
            };
            let text = match reply {
                Reply::Say(text) => text,
                Reply::Cannot(unable) => &unable.text,
                Reply::Plan(_) | Reply::Schedule(..) | Reply::Review(..) => return Err(()),
                Reply::NotUnderstood(text) => text,
            };
            Ok(marks.iter().any(|mark| text.contains(mark)))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => panic!("{want}"),
        Value::Array(wanted) => {
            let same = |((name, args), want): (&(String, Value), &Value)| {
                let some = want[1].as_object().unwrap();
                name == want[0].as_str().unwrap() && some.iter().all(|(key, value)| args.get(key) == Some(value))
            };
            let fits = calls.len() == wanted.len() && calls.iter().zip(wanted).all(same);
            if fits || calls.is_empty() { Ok(fits) } else { Err(()) }
        }
    }
}

/// Right and missed of a half, none of which may be wrong.
fn measure(rows: &str, half: &str) -> (usize, Vec<String>) {
    let (mut right, mut missed, mut wrong) = (0, Vec::new(), Vec::new());
    let mut repertoire = Repertoire::default();
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        if row["half"] != half {
            continue;
        }
        let texts =
            |key: &str| row[key].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>();
        let lang = if row["lang"] == "it" { Lang::It } else { Lang::En };
        let (text, envelope) = after(&texts("turns"), &texts("files"), lang);
        let reply = repertoire.plan(&text, &envelope);
        match judge(&reply, &row["want"]) {
            Ok(true) => right += 1,
            Ok(false) => missed.push(format!("{}: {reply:?}", row["turns"])),
            Err(()) => wrong.push(format!("{}: {:?}", row["turns"], made(&reply))),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    (right, missed)
}

#[test]
fn dialogues_looked_at_become_what_they_must() {
    let (right, missed) = measure(DIALOGUES, "tuned");
    assert!(missed.is_empty(), "{right} right, missed: {missed:#?}");
}

#[test]
fn dialogues_never_looked_at_are_mostly_right_and_never_wrong() {
    let (right, missed) = measure(DIALOGUES, "held");
    eprintln!("held: {right} right of {}", right + missed.len());
    assert!(right * 10 >= (right + missed.len()) * 8, "{right} right, {} missed", missed.len());
}

const CHOICES: &str = include_str!("../../tests/data/choices.jsonl");

#[test]
fn a_choice_between_files_is_asked_and_answered() {
    for half in ["tuned", "held"] {
        let (right, missed) = measure(CHOICES, half);
        eprintln!("{half}: {right} right of {}", right + missed.len());
        assert!(half == "held" && right * 10 >= (right + missed.len()) * 8 || missed.is_empty(), "missed: {missed:#?}");
    }
}

#[test]
fn said_words_are_quoted_with_their_day_or_nothing_is_found() {
    let mut envelope = envelope_of(shipped(), Lang::En);
    let recalled =
        |seq, text: &str| Recalled { seq, ts: "2025-11-03T09:30:00.000Z".into(), relevance: 1.0, text: text.into() };
    envelope.recalled = vec![
        recalled(3, "What did I tell you about the boiler?"),
        recalled(4, "the boiler was serviced by Rossi"),
        recalled(5, "read notes/boiler.md"),
        recalled(6, "we went to the sea"),
    ];
    let told = |text: &str, envelope: &Envelope| match plan(text, envelope) {
        Reply::Say(text) => text,
        other @ (Reply::Plan(_)
        | Reply::Review(..)
        | Reply::Schedule(..)
        | Reply::Cannot(_)
        | Reply::NotUnderstood(_)) => {
            panic!("{text}: {other:?}")
        }
    };
    let wanted = "On Monday 3 November 2025, 09:30, you said: “the boiler was serviced by Rossi”\n";
    assert_eq!(told("what did I tell you about the boiler?", &envelope), wanted);
    assert_eq!(told("Do you remember what I said about the boilers?", &envelope), wanted);
    let nothing = told("what did I say about the garden?", &envelope);
    assert_eq!(nothing, "I find nothing that you have told me about that.\n");
    envelope.lang = Lang::It;
    envelope.recalled = vec![recalled(4, "la caldaia è del 2019\u{1b}[2J")];
    let wanted = "lunedì 3 novembre 2025, 09:30: hai detto «la caldaia è del 2019\u{fffd}[2J»\n";
    assert_eq!(told("cosa ti ho detto della caldaia?", &envelope), wanted);
    envelope.recent = recent(&["note: la caldaia perde"]);
    assert!(told("ti ricordi cosa ti ho detto della caldaia", &envelope).contains("perde"));
}

#[test]
fn what_was_just_done_is_told_and_of_a_file_only_that_it_was_done() {
    use metnos_proto::envelope::{Answered, RanBefore};
    let told = |answer: Option<Answered>| {
        let (text, mut envelope) = after(&["add tea to the shopping list", "what did you just do?"], &[], Lang::En);
        envelope.recent.last_mut().unwrap().answer = answer;
        match plan(&text, &envelope) {
            Reply::Say(text) => text,
            Reply::NotUnderstood(_) => String::new(),
            other @ (Reply::Plan(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_)) => {
                panic!("{other:?}")
            }
        }
    };
    let ran = |outcome: &str| vec![RanBefore { executor: "fs_append".into(), outcome: outcome.into() }];
    let answered = |text: &str, withheld: bool, ran: Vec<RanBefore>| {
        Some(Answered { ended: "answered".into(), text: text.into(), withheld, ran })
    };
    let said = "You said “add tea to the shopping list”, and I answered: “Added tea.”\n";
    assert_eq!(told(answered("Added\ntea.", false, ran("ok"))), said);
    assert_eq!(told(answered("", true, ran("ok"))), "You said “add tea to the shopping list”, and that is done.\n");
    let failed = told(answered("", true, ran("error")));
    assert!(failed.contains("add tea") && !failed.contains("done"), "{failed}");
    assert_eq!(told(None), "", "it is not over");
}

#[test]
fn words_that_only_a_model_understood_are_what_is_pointed_at() {
    for between in ["summarise the insurance contract for me", "send an email to Anna"] {
        for last in ["read it again", "again", "the same for notes/b.md", "delete it"] {
            let (text, envelope) = after(&["read notes/a.md", between, last], &[], Lang::En);
            assert!(made(&plan(&text, &envelope)).is_empty(), "{between}, {last}");
        }
    }
}

#[test]
fn butler_and_person_are_called_by_the_names_of_the_interview() {
    let said = |text: &str| {
        let (text, mut envelope) = after(&[text], &[], Lang::En);
        envelope.home.butler = "Alfredo".into();
        envelope.home.person = "Anna".into();
        match plan(&text, &envelope) {
            Reply::Say(text) => text,
            other @ (Reply::Plan(_)
            | Reply::Review(..)
            | Reply::Schedule(..)
            | Reply::Cannot(_)
            | Reply::NotUnderstood(_)) => {
                panic!("{text}: {other:?}")
            }
        }
    };
    for text in ["hello", "Hello Alfredo!", "good morning, Alfredo", "alfredo, hello", "hello Metnos"] {
        assert!(said(text).starts_with("Hello Anna, I am Alfredo."), "{text}: {}", said(text));
    }
    for text in ["who are you?", "Alfredo, who are you?", "who are you, Alfredo"] {
        assert!(said(text).starts_with("I am Alfredo, the butler"), "{text}");
    }
    assert_eq!((said("goodbye Alfredo"), said("who am I")), ("Goodbye, Anna.\n".into(), "You are Anna.\n".into()));
    assert_eq!(said("thank you Alfredo"), "You are welcome, Anna.\n");
    // What somebody says of another is no call.
    let (text, mut envelope) =
        after(&["read notes/a.md", "tell me what you think about it and about Alfredo"], &[], Lang::En);
    envelope.home.butler = "Alfredo".into();
    assert!(made(&plan(&text, &envelope)).is_empty());
}

#[test]
fn questions_for_things_are_no_small_talk() {
    for text in [
        "what is the wifi",
        "what is the wifi password",
        "cosa è la fibra",
        "who is Anna",
        "what day did you come",
        "help Anna",
    ] {
        let (text, envelope) = after(&[text], &[], Lang::En);
        assert!(matches!(plan(&text, &envelope), Reply::NotUnderstood(_)), "{text}: {:?}", plan(&text, &envelope));
    }
}

#[test]
fn nothing_is_taken_from_earlier_answers_or_beyond_the_last_turns() {
    let turns = ["read notes/a.md", "hello", "hello", "hello", "read it again"];
    let (text, envelope) = after(&turns, &[], Lang::En);
    assert!(made(&plan(&text, &envelope)).is_empty(), "too far back");
    let (text, envelope) = after(&["read notes/a.md", "hello", "hello", "read it again"], &[], Lang::En);
    assert_eq!(made(&plan(&text, &envelope)).len(), 1);
}

#[test]
fn hostile_words_before_cost_no_more_than_the_bound_and_do_nothing() {
    let long = "it that again the second one and ".repeat(40);
    let turns: Vec<&str> =
        std::iter::repeat_n(long.as_str(), 10).chain(["delete it again and the second one"]).collect();
    let (text, envelope) = after(&turns, &["notes/a.md", "notes/b.md"], Lang::En);
    let mut planned = 0;
    let reply = super::reply(&text, &envelope, &std::collections::BTreeSet::new(), &mut |_, _| {
        planned += 1;
        Reply::NotUnderstood("no".into())
    });
    assert!(matches!(reply, Reply::NotUnderstood(_)) && planned <= super::MAX_PLANNED + 1, "{planned}");
}

#[test]
fn a_path_with_a_quotation_mark_in_it_is_never_put_into_words() {
    for path in ["notes/a\".md", "notes/a\u{7}.md"] {
        let first = format!("read {path}");
        let (text, envelope) = after(&[&first, "delete it"], &[], Lang::En);
        assert!(made(&plan(&text, &envelope)).is_empty(), "{path:?}");
    }
}

#[test]
fn statements_are_answered_with_the_words_that_would_have_it_done() {
    for (said, lang, words) in [
        ("I bought the milk", Lang::En, "take milk off the shopping list"),
        ("we just bought eggs and bread", Lang::En, "take eggs and bread off the shopping list"),
        ("we're out of coffee", Lang::En, "add coffee to the shopping list"),
        ("we ran out of toilet paper", Lang::En, "add toilet paper to the shopping list"),
        ("mark call the bank as done", Lang::En, "take call the bank off the todo list"),
        ("mum's birthday is on 12 March 1970", Lang::En, "remember that mum's birthday is on 12 March 1970"),
        ("Luca's phone number is 333 1234567", Lang::En, "remember that Luca's phone number is 333 1234567"),
        ("ho comprato il latte", Lang::It, "togli latte dalla lista della spesa"),
        ("è finito il caffè", Lang::It, "aggiungi caffè alla lista della spesa"),
        ("abbiamo finito lo zucchero", Lang::It, "aggiungi zucchero alla lista della spesa"),
        ("manca il detersivo", Lang::It, "aggiungi detersivo alla lista della spesa"),
        (
            "il compleanno di Luca è il 3 maggio 2015",
            Lang::It,
            "ricordati che il compleanno di Luca è il 3 maggio 2015",
        ),
    ] {
        let (text, envelope) = after(&[said], &["notes/shopping-list.md"], lang);
        let reply = plan(&text, &envelope);
        let Reply::Cannot(unable) = &reply else { panic!("{said}: {reply:?}") };
        assert!(unable.text.contains(words) && !unable.is_wish, "{said}: {}", unable.text);
        // What is shown works when it is said, and when it is agreed to.
        let (text, envelope) = after(&[words], &["notes/shopping-list.md"], lang);
        let calls = made(&plan(&text, &envelope));
        assert!(!calls.is_empty(), "{words}");
        for yes in ["yes", "ok", "sì", "Sì, grazie", "do it!"] {
            let (text, envelope) = after(&[said, yes], &["notes/shopping-list.md"], lang);
            assert_eq!(made(&plan(&text, &envelope)), calls, "{said}, {yes}");
        }
        for other in ["no", "never mind", "yes and no", "lascia stare", "yesterday", "yes?"] {
            let (text, envelope) = after(&[said, other], &["notes/shopping-list.md"], lang);
            assert!(made(&plan(&text, &envelope)).is_empty(), "{said}, {other}");
        }
    }
    // Where nothing was offered, nothing is agreed to.
    for said in ["good morning", "what is on the shopping list", "are we out of milk?", "I bought a new car"] {
        let (text, envelope) = after(&[said, "yes"], &["notes/shopping-list.md"], Lang::En);
        assert!(made(&plan(&text, &envelope)).is_empty(), "{said}");
    }
}

#[test]
fn statements_that_want_nothing_are_answered_with_no_hint() {
    for said in [
        "I bought a new car",
        "we ran out of time",
        "I got home late",
        "we need to talk",
        "did I buy the milk?",
        "the phone is ringing",
        "it is my birthday and I'll cry if I want to",
        "what is Luca's birthday",
        "è finito il film",
        "non c'è più tempo",
        "manca poco a Natale",
        "mi manca la mamma",
        "ho comprato una macchina nuova",
        "il telefono è scarico",
        "abbiamo finito i compiti",
    ] {
        let (text, envelope) = after(&[said], &["notes/shopping-list.md"], Lang::En);
        let reply = plan(&text, &envelope);
        let told = match &reply {
            Reply::Cannot(unable) => unable.text.clone(),
            Reply::NotUnderstood(text) | Reply::Say(text) => text.clone(),
            Reply::Plan(_) | Reply::Schedule(..) | Reply::Review(..) => String::new(),
        };
        assert!(!told.contains("If you want it done") && !told.contains("Se vuoi che lo faccia"), "{said}: {told}");
    }
}

#[test]
fn what_is_something_joins_nothing_to_what_was_asked_before() {
    for (before, text) in [
        ("aggiungi il latte alla lista della spesa", "è pronto"),
        ("aggiungi il latte alla lista della spesa", "e' pronto"),
        ("che ore sono a Roma?", "è Parigi"),
        ("qual è il numero di Anna?", "È finito il tè"),
    ] {
        let (text, mut envelope) = after(&[before, text], &["notes/spesa.md"], Lang::It);
        envelope.candidates = crate::testing::shipped();
        assert!(!matches!(plan(&text, &envelope), Reply::Plan(_)), "{before} {text}");
    }
}

#[test]
fn more_is_put_on_the_list_that_was_spoken_of_and_on_no_other() {
    for (before, text, lang, content) in [
        ("what's on the shopping list?", "ok add crackers too", Lang::En, Some("- crackers")),
        ("cosa c'è nella lista della spesa?", "aggiungi anche i cracker", Lang::It, Some("- cracker")),
        ("read notes/a.md", "add crackers too", Lang::En, None),
        ("che ore sono?", "aggiungi anche i cracker", Lang::It, None),
    ] {
        let (text, mut envelope) = after(&[before, text], &["notes/shopping.md"], lang);
        envelope.candidates = crate::testing::shipped();
        let reply = plan(&text, &envelope);
        let found = match &reply {
            Reply::Plan(plan) => plan.calls.first().and_then(|call| call.arguments["content"].as_str()),
            Reply::Say(_) | Reply::Schedule(..) | Reply::Review(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        };
        assert_eq!(found, content, "{before} {text}: {reply:?}");
    }
}

#[test]
fn names_are_looked_for_as_they_are() {
    let (text, mut envelope) = after(&["ricordati di pagare la luce", "qual è il numero di Luca?"], &[], Lang::It);
    let told = crate::dialogue::told(&text, &["luca".into()], &envelope, &mut |_, _| Reply::NotUnderstood("no".into()));
    assert_eq!(told, None, "neither the light bill");
    envelope.recent = recent(&["Luca arriva domani"]);
    let told = crate::dialogue::told(&text, &["luca".into()], &envelope, &mut |_, _| Reply::NotUnderstood("no".into()));
    assert!(told.is_some_and(|told| told.contains("Luca arriva domani")));
}
