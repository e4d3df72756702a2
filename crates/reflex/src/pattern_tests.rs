//! Patterns: what a request must say to be matched, what its words become, and what no pattern makes of it.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::envelope::Named;
use metnos_proto::executor::pattern::{self, Part};
use metnos_proto::executor::{Example, PatternTable};
use proptest::prelude::*;

use crate::testing::envelope as envelope_of;
use crate::*;

fn candidate(name: &str, class: &str, input: Value, roles: &[(&str, &str)], patterns: Value) -> Candidate {
    let tables: Vec<PatternTable> = serde_json::from_value(patterns).unwrap();
    let roles = roles.iter().map(|(at, role)| ((*at).to_owned(), (*role).to_owned())).collect();
    let output = json!({ "type": "object", "properties": { "content": { "type": "string", "contentMediaType": "text/plain" } } });
    let output = if name == "reader" { output } else { json!({ "type": "object" }) };
    Candidate {
        name: name.into(),
        version: "1.0.0".into(),
        summary: name.into(),
        examples: Vec::new(),
        patterns: tables,
        class: class.into(),
        input,
        output,
        roles,
        reads: Vec::new(),
        offered: true,
        contract: String::new(),
        answer: metnos_proto::executor::answer::Answer::default(),
    }
    .with_digest()
}

/// Executors of a household that is not ours.
fn house() -> Vec<Candidate> {
    let text = || json!({ "type": "string" });
    let path = [("/path", "path")];
    vec![
        candidate(
            "reader",
            "read",
            json!({ "type": "object", "required": ["path"], "properties": { "path": text() } }),
            &path,
            json!([
                { "lang": "en", "say": ["(read|show) [me] {path:file}", "what is (in|on) {path:list}"] },
                { "lang": "it", "say": ["(leggi|mostra) {path:file}", "(cosa|che cosa) c'è (in|su) {path:list}"] },
            ]),
        ),
        candidate(
            "adder",
            "self_modify",
            json!({ "type": "object", "required": ["path", "content"], "properties": { "path": text(), "content": text() } }),
            &path,
            json!([
                { "lang": "en", "say": [
                    "(add|put|write) {content:items} (to|on|onto|in) {path:list}",
                    "add to {path:list} {content:items}",
                    "write {content:text} (to|in) {path:new}",
                    "write (to|in) {path:new} {content:text}",
                ] },
                { "lang": "it", "say": ["(aggiungi|metti|scrivi|segna) {content:items} (a|in|su) {path:list}"] },
            ]),
        ),
        candidate(
            "lister",
            "read",
            json!({ "type": "object", "properties": {
                "path": text(), "hidden": { "type": "boolean" }, "limit": { "type": "integer" },
                "order": { "enum": ["name", "largest", "newest"], "type": "string" } } }),
            &path,
            json!([
                { "lang": "en", "say": ["(list|show) [all] files [in {path:folder}]", "list {path:folder}",
                    "list {limit} {order} files", "list files by {order}"] },
                { "lang": "en", "say": ["(list|show) [all] hidden files [in {path:folder}]"], "args": { "hidden": true } },
                { "lang": "it", "say": ["elenca {path:folder}"] },
            ]),
        ),
        candidate(
            "mover",
            "self_modify",
            json!({ "type": "object", "required": ["from", "to"], "properties": { "from": text(), "to": text() } }),
            &[("/from", "path"), ("/to", "path")],
            json!([{ "lang": "en", "say": ["(move|rename) {from:file} to {to:new}"] }]),
        ),
        candidate(
            "clock",
            "read",
            json!({ "type": "object", "properties": { "zone": text() } }),
            &[],
            json!([
                { "lang": "en", "say": ["what time is it [in {zone:zone}]"] },
                { "lang": "it", "say": ["che (ora è|ore sono) [a {zone:zone}]"] },
            ]),
        ),
        candidate(
            "counter",
            "read",
            json!({ "type": "object", "required": ["text"],
                "properties": { "text": { "type": "string", "contentMediaType": "text/plain" } } }),
            &[],
            json!([{ "lang": "en", "say": ["count words (in|of) {text:file}", "count words of {text:quoted}"] }]),
        ),
        candidate(
            "table",
            "read",
            json!({ "type": "object", "required": ["aggregate"], "properties": { "aggregate": { "type": "array", "items": {
                "type": "object", "properties": { "op": { "enum": ["sum", "mean"], "type": "string" }, "column": text() } } } } }),
            &[],
            json!([{ "lang": "en", "say": ["{aggregate/0/op:choice} of column {aggregate/0/column:word}"] }]),
        ),
        candidate(
            "finder",
            "read",
            json!({ "type": "object", "required": ["query"], "properties": { "query": text(), "when": text(), "url": text() } }),
            &[],
            json!([
                { "lang": "en", "say": ["search [for] {query:words}", "search [for] {query:words} on {when:date}"] },
                { "lang": "it", "say": ["cerca {query:words}"] },
            ]),
        ),
    ]
}

fn envelope() -> Envelope {
    let mut envelope = envelope_of(house(), Lang::En);
    envelope.named = vec![Named::file("notes/trip.md"), Named::folder("notes"), Named::file("notes/shopping.md")];
    envelope.home.butler = "Alfredo".into();
    envelope
}

fn made(words: &str) -> Option<Vec<(String, Value)>> {
    match plan(words, &envelope()) {
        Reply::Plan(plan) => Some(plan.calls.into_iter().map(|call| (call.executor, call.arguments)).collect()),
        Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => None,
    }
}

#[track_caller]
fn makes(words: &str, executor: &str, arguments: Value) {
    assert_eq!(made(words), Some(vec![(executor.to_owned(), arguments)]), "{words}");
}

#[track_caller]
fn makes_nothing(words: &str) {
    assert_eq!(made(words), None, "{words}");
}

#[test]
fn words_without_a_slot_are_all_needed_and_none_is_lost() {
    makes("read notes/a.md", "reader", json!({ "path": "notes/a.md" }));
    makes("list all hidden files in attic/", "lister", json!({ "hidden": true, "path": "attic/" }));
    for words in [
        "read carefully notes/a.md",
        "read notes/a.md backwards",
        "read notes/a.md notes/b.md",
        "what time is it on the moon",
        "what time is it exactly",
        "list the longest files",
        "read",
        "find me a recipe for chili",
    ] {
        makes_nothing(words);
    }
}

#[test]
fn manner_of_writing_changes_nothing() {
    for words in [
        "READ Notes/Trip.md",
        "please read the Notes/Trip.md!",
        "Alfredo, can you please show me my Notes/Trip.md?",
        "could you read this Notes/Trip.md for me, thanks 🙏",
        "📖 read Notes/Trip.md",
        "read Notes/Trip.md, Alfredo",
        "puoi leggermi Notes/Trip.md per favore?",
        "Vorrei leggere il Notes/Trip.md",
        "mostrami il file Notes/Trip.md",
    ] {
        makes(words, "reader", json!({ "path": "Notes/Trip.md" }));
    }
    for words in [
        "what’s on the shopping list",
        "WHAT IS on my shopping list?",
        "cosa c'e nella lista della spesa",
        "cosa ce sulla lista della spesa",
        "Che cosa c’è sulla nostra lista della spesa",
    ] {
        makes(words, "reader", json!({ "path": "notes/shopping.md" }));
    }
}

#[test]
fn one_typing_error_is_forgiven_and_no_two() {
    makes("serach for cats", "finder", json!({ "query": "cats" }));
    makes(
        "aggiugni latte alla lista della spesa",
        "adder",
        json!({ "path": "notes/shopping.md", "content": "- latte" }),
    );
    for words in ["srach forr cats", "adds milk to the shopping list", "lisst of my files"] {
        makes_nothing(words);
    }
}

#[test]
fn italian_verbs_and_prepositions_are_the_same_in_their_forms() {
    for words in [
        "aggiungi il latte e le uova alla lista della spesa",
        "aggiungere latte e uova nella lista della spesa",
        "aggiungimi del latte e delle uova sulla lista della spesa",
        "mi puoi segnare latte e uova sulla lista della spesa?",
        "metta latte, uova nella lista della spesa",
    ] {
        makes(words, "adder", json!({ "path": "notes/shopping.md", "content": "- latte\n- uova" }));
    }
}

#[test]
fn things_are_meant_by_their_names() {
    makes("read the trip", "reader", json!({ "path": "notes/trip.md" }));
    makes("list the folder attic", "lister", json!({ "path": "attic" }));
    makes("list my notes folder", "lister", json!({ "path": "notes" }));
    makes("list the workspace", "lister", json!({ "path": "." }));
    makes("list everything", "lister", json!({ "path": "." }));
    makes("list my files", "lister", json!({}));
    makes("elenca la cartella notes", "lister", json!({ "path": "notes" }));
    makes("what time is it in London", "clock", json!({ "zone": "Europe/London" }));
    makes("che ore sono a Roma?", "clock", json!({ "zone": "Europe/Rome" }));
    for words in ["read the unknown", "list the attic", "what time is it in Atlantis", "read the folder notes"] {
        makes_nothing(words);
    }
}

#[test]
fn values_are_taken_by_their_kind() {
    makes("list 3 largest files", "lister", json!({ "limit": 3, "order": "largest" }));
    makes("list two newest files", "lister", json!({ "limit": 2, "order": "newest" }));
    makes("list the files by name", "lister", json!({ "order": "name" }));
    makes("sum of the column price", "table", json!({ "aggregate": [{ "op": "sum", "column": "price" }] }));
    makes("search \"the cat and it\"", "finder", json!({ "query": "the cat and it" }));
    makes("search for cats on 2026-10-01", "finder", json!({ "query": "cats", "when": "2026-10-01" }));
    makes_nothing("list 2.5 largest files");
    makes_nothing("search for what it is");
    makes_nothing("search one two three four five six seven");
}

#[test]
fn text_of_a_file_is_read_by_what_reads_it() {
    let calls = made("count the words of the trip").unwrap();
    assert_eq!(calls[0], ("reader".to_owned(), json!({ "path": "notes/trip.md" })));
    assert_eq!(calls[1], ("counter".to_owned(), json!({ "text": { "$ref": "c1#/content" } })));
    makes("count the words of \"a b\"", "counter", json!({ "text": "a b" }));
}

#[test]
fn requests_that_only_read_may_stand_beside_each_other() {
    let calls = made("read the trip and list notes").unwrap();
    assert_eq!(calls.iter().map(|call| call.0.as_str()).collect::<Vec<_>>(), ["reader", "lister"]);
    makes_nothing("read the trip and move notes/a.md to b.md");
}

#[test]
fn pattern_with_most_words_of_its_own_wins_and_a_tie_does_nothing() {
    let say = |name: &str, line: &str| {
        let input = json!({ "type": "object", "properties": { "x": { "type": "string" } } });
        candidate(name, "read", input, &[], json!([{ "lang": "en", "say": [line] }]))
    };
    let call = |lines: [(&str, &str); 2], words: &str| {
        let all = lines.iter().map(|(name, line)| say(name, line)).collect();
        match plan(words, &envelope_of(all, Lang::En)) {
            Reply::Plan(plan) => Some(plan.calls[0].executor.clone()),
            Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => {
                None
            }
        }
    };
    let find = |lines| call(lines, "find red apples now");
    assert_eq!(find([("a", "find {x:text}"), ("b", "find red {x:text}")]).as_deref(), Some("b"));
    assert_eq!(find([("a", "find {x:words} apples"), ("b", "find {x:text}")]).as_deref(), Some("a"));
    assert_eq!(call([("a", "find red {x:text}"), ("b", "find red {x:words}")], "find red apples"), None);
    // One line that can be read in two ways.
    let two = candidate(
        "two",
        "read",
        json!({ "type": "object", "properties": { "x": { "type": "string" }, "y": { "type": "string" } } }),
        &[],
        json!([{ "lang": "en", "say": ["from {x:words} to {y:words}"] }]),
    );
    let plans = |words: &str| matches!(plan(words, &envelope_of(vec![two.clone()], Lang::En)), Reply::Plan(_));
    assert!(plans("from red to blue") && !plans("from red to blue to green"));
}

#[test]
fn call_with_an_effect_begins_with_its_word_and_is_no_question() {
    let milk = json!({ "path": "notes/shopping.md", "content": "- milk" });
    makes("add milk to the shopping list", "adder", milk.clone());
    makes("can you add milk to the shopping list?", "adder", milk.clone());
    makes("add to the shopping list: milk", "adder", milk);
    makes("write hello world in notes/a.md", "adder", json!({ "path": "notes/a.md", "content": "hello world" }));
    makes(
        "write in notes/a.md: call mum now, please",
        "adder",
        json!({ "path": "notes/a.md", "content": "call mum now, please" }),
    );
    makes("write in notes/a.md \"now\"", "adder", json!({ "path": "notes/a.md", "content": "now" }));
    for words in [
        "did you add milk to the shopping list?",
        "add milk to the shopping list?",
        "the add milk to the shopping list",
        "yesterday add milk to the shopping list",
        "do not add milk to the shopping list",
        "add it to the shopping list",
        "milk to the shopping list",
        // Nothing marks where the text begins.
        "write in notes/a.md hello world",
        "move notes/a.md",
        "add milk to the shopping list every day",
    ] {
        makes_nothing(words);
    }
}

#[test]
fn new_list_is_made_in_the_language_of_the_pattern() {
    makes("add a doll to the list of presents", "adder", json!({ "path": "notes/presents.md", "content": "- doll" }));
    makes_nothing("what is on the list of presents");
}

#[test]
fn hostile_pattern_is_not_slow_and_matches_nothing() {
    let input = json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "string" },
        "c": { "type": "string" }, "d": { "type": "string" } } });
    // Each text may end anywhere, and each optional word doubles the ways.
    let line = "x {a:text} [x] [x] [x] {b:text} [x] [x] [x] {c:text} [x] [x] {d:text} y";
    let lines = vec![line; pattern::MAX_LINES];
    let tables = vec![json!({ "lang": "en", "say": lines }); pattern::MAX_TABLES];
    let hostile = candidate("hostile", "read", input, &[], Value::Array(tables));
    let mut all = house();
    all.push(hostile);
    let mut repertoire = Repertoire::default();
    let envelope = envelope_of(all, Lang::En);
    let _ = repertoire.plan("", &envelope);
    let words = "x ".repeat(words::token::MAX_TOKENS);
    let begun = std::time::Instant::now();
    assert!(matches!(repertoire.plan(&words, &envelope), Reply::NotUnderstood(_)));
    let read = repertoire.plan("read notes/a.md", &envelope);
    assert!(matches!(read, Reply::Plan(_)), "what costs too much only drops out itself: {read:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn example_is_a_promise_that_is_checked() {
    let example = |say: &str, args: Value| Example::promise(say, args.as_object().unwrap().clone());
    let with = |examples: Vec<Example>| Candidate { examples, ..house().remove(0) };
    let good = example("read notes/a.md", json!({ "path": "notes/a.md" }));
    assert_eq!(examples::check(&house(), &with(vec![good.clone(), Example::plain("no promise")])), Ok(()));
    for (say, args, told) in [
        ("read notes/a.md", json!({ "path": "notes/b.md" }), "but becomes reader"),
        ("peruse notes/a.md", json!({ "path": "notes/a.md" }), "but becomes nothing"),
        ("list my files", json!({ "path": "." }), "but becomes lister"),
        ("hello", json!({}), "an answer without a call"),
    ] {
        let broken = examples::check(&house(), &with(vec![good.clone(), example(say, args)])).unwrap_err();
        assert!(broken.to_string().contains(told) && broken.example == say, "{broken}");
    }
    // What another executor answers just as well.
    let mut twin = house().remove(0);
    twin.name = "twin".into();
    assert!(examples::check(&[twin.with_digest()], &with(vec![good])).is_err());
}

/// One of the requests that parts describe, chosen by `pick`.
fn written_out(parts: &[Part], pick: &mut impl FnMut(usize) -> usize) -> Vec<String> {
    use pattern::SlotKind;
    let mut words = Vec::new();
    for part in parts {
        match part {
            Part::Word(word) => words.push(word.clone()),
            Part::Slot(_, kind) => words.push(
                match kind {
                    Some(SlotKind::File | SlotKind::New) => "notes/x.md",
                    Some(SlotKind::Folder) => "attic/",
                    Some(SlotKind::List) => "shopping list",
                    Some(SlotKind::Quoted) => "\"q\"",
                    Some(SlotKind::Zone | SlotKind::Town) => "London",
                    Some(SlotKind::Stretch | SlotKind::Appointment) => "tomorrow",
                    Some(SlotKind::Repeating) => "every day",
                    Some(SlotKind::Event) => "dentist",
                    Some(SlotKind::Date) => "2026-01-02",
                    Some(SlotKind::Choice) => "sum",
                    Some(_) => "zebra",
                    None => "largest",
                }
                .to_owned(),
            ),
            Part::Any(branches) => words.extend(written_out(&branches[pick(branches.len())], pick)),
            Part::Maybe(branches) => {
                let chosen = pick(branches.len() + 1);
                words.extend(branches.get(chosen).map(|branch| written_out(branch, pick)).unwrap_or_default());
            }
        }
    }
    words
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_way_to_write_a_pattern_out_is_matched(choices in proptest::collection::vec(0_usize..64, 16), which in 0_usize..64) {
        let all = house();
        let lines: Vec<(&str, &String)> = all.iter().flat_map(|one| {
            one.patterns.iter().flat_map(|table| table.say.iter().map(|line| (one.name.as_str(), line)))
        }).filter(|(_, line)| !line.contains("{limit}") && *line != "add to {path:list} {content:items}"
            && *line != "write (to|in) {path:new} {content:text}").collect();
        let (name, line) = lines[which % lines.len()];
        let mut choices = choices.into_iter().cycle();
        let words = written_out(&pattern::parse(line).unwrap(), &mut |of| choices.next().unwrap() % of).join(" ");
        let calls = made(&words);
        prop_assert!(calls.as_ref().is_some_and(|calls| calls.last().unwrap().0 == name), "{line}: {words}: {calls:?}");
    }

    #[test]
    fn no_effect_without_the_words_of_its_pattern(words in proptest::collection::vec(
        prop_oneof!["[a-zàèìòù]{1,9}", "[a-z]{1,6}\\.md", Just("add".to_owned()), Just("to".to_owned()), Just("the".to_owned()),
            Just("shopping".to_owned()), Just("list".to_owned()), Just("move".to_owned()), Just("write".to_owned()),
            Just("in".to_owned()), Just("?".to_owned()), Just("not".to_owned()), Just("please".to_owned())], 0..9)) {
        let text = words.join(" ");
        if let Some(calls) = made(&text) {
            for (executor, _) in calls {
                let verbs: &[&str] = match executor.as_str() {
                    "adder" => &["add", "put", "write", "aggiungi", "metti", "scrivi", "segna"],
                    "mover" => &["move", "rename"],
                    _ => continue,
                };
                let first = words.iter().find(|word| !matches!(word.as_str(), "please" | "?")).unwrap();
                prop_assert!(verbs.contains(&first.as_str()), "{text}");
                prop_assert!(!words.contains(&"not".to_owned()) || executor == "adder", "{text}");
            }
        }
    }

    #[test]
    fn any_line_is_compiled_or_refused_and_any_words_are_held_against_it(line in "[a-c(){}|:\\[\\] /x]{0,40}", words in "[a-c \"./]{0,40}") {
        let input = json!({ "type": "object", "properties": { "a": { "type": "string" }, "x": { "type": "integer" } } });
        let one = candidate("any", "read", input, &[], json!([{ "lang": "it", "say": [line] }]));
        let _ = plan(&words, &envelope_of(vec![one], Lang::It));
    }
}
