//! What the machine of steps makes of replies, results and refusals, without sockets.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;

use metnos_proto::envelope::{Named, Recent};
use metnos_proto::ids::HandleId;
use metnos_proto::msg::common::{CallRef, Label, Lang, Outcome, Refusal, RefusalCode};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::prompt::{Message, Prompt, Reply, Stop};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::machine::StepLoop;
use super::talk::Setting;
use super::*;
use crate::testing::{envelope, household, weather};
use crate::thinking::BYTES_PER_TOKEN;
use crate::thinking::calls::RunResult;
use crate::thinking::core::{Ask, Event, Settled, WAITING};

/// A Wednesday.
const NOW: i64 = 1_795_640_000;

/// What a turn begins with whose files are not searched before the model is asked.
fn setting(words: &str, named: &[&str]) -> Setting {
    Setting { topic: String::new(), is_for_fact: false, ..looking(words, named) }
}

fn looking(words: &str, named: &[&str]) -> Setting {
    let mut envelope = envelope(household(), Lang::En);
    envelope.home.zone = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)".into();
    envelope.home.person = "Roberta".into();
    envelope.named = named.iter().map(|path| Named::file(*path)).collect();
    envelope.recent = vec![Recent::said(1, "good evening")];
    Setting { has_talk: false, ..Setting::of(&envelope, (words, ""), Lang::En, NOW) }
}

/// A turn, and what it asks. It is funded at once.
struct Turn {
    turn: StepLoop,
    asks: Vec<Ask>,
    handle: HandleId,
}

impl Turn {
    fn new(words: &str, named: &[&str]) -> Self {
        Self::of(setting(words, named))
    }

    fn begun(setting: Setting) -> Self {
        let mut turn = StepLoop::new(setting, 0);
        let asks = turn.start();
        Self { turn, asks, handle: HandleId::new() }
    }

    fn of(setting: Setting) -> Self {
        let mut turn = Self::begun(setting);
        assert!(matches!(turn.asks[..], [Ask::Fund(_)]));
        turn.on(Event::Funded(100_000));
        turn
    }

    fn on(&mut self, event: Event) -> &mut Self {
        self.asks = self.turn.on(event);
        self
    }

    fn says(&mut self, reply: &Value) -> &mut Self {
        self.writes(&reply.to_string())
    }

    fn writes(&mut self, text: &str) -> &mut Self {
        let reply = Reply { text: text.into(), calls: Vec::new(), stop: Stop::End };
        self.on(Event::Thought(reply, 100))
    }

    fn prompt(&self) -> &Prompt {
        let found =
            self.asks.iter().find_map(|ask| if let Ask::Think { prompt, .. } = ask { Some(prompt) } else { None });
        found.unwrap_or_else(|| panic!("{:?}", self.asks))
    }

    /// The executors that may be chosen.
    fn offered(&self) -> Vec<String> {
        let schema = self.prompt().schema.clone().unwrap();
        let list = schema.pointer("/anyOf/0/properties/do/enum").or_else(|| schema.pointer("/properties/do/enum"));
        list.unwrap().as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    }

    fn last_message(&self) -> String {
        match self.prompt().messages.last() {
            Some(Message::User { text }) => text.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn call(&self, place: u16) -> (String, Value) {
        let one = self.turn.calls().get(CallRef(place)).unwrap();
        (one.executor.clone(), one.arguments.clone())
    }

    fn ran(&mut self, place: u16) -> &mut Self {
        let left = RunResult {
            handle: self.handle,
            outcome: Outcome::Ok,
            label: Label::CLEAN,
            bytes: 50,
            line: 7,
            class: String::new(),
        };
        self.on(Event::Ran(CallRef(place), left))
    }

    fn released(&mut self, place: u16, result: &Value) -> &mut Self {
        self.on(Event::Released(CallRef(place), result.to_string().into_bytes(), Label::CLEAN))
    }

    fn end(&self) -> (TurnEnd, String) {
        match self.asks.last() {
            Some(Ask::End { end, why, .. }) => (end.clone(), why.clone()),
            _ => panic!("{:?}", self.asks),
        }
    }

    fn said(&self) -> String {
        let said = |ask: &Ask| if let Ask::Say(text) = ask { Some(text.clone()) } else { None };
        self.asks.iter().filter_map(said).collect()
    }
}

fn tokens(prompt: &Prompt) -> usize {
    let system: usize = prompt.system.iter().map(|block| block.text.len()).sum();
    let said: usize = prompt.messages.iter().map(|message| serde_json::to_string(message).unwrap().len()).sum();
    (system + said).div_ceil(BYTES_PER_TOKEN)
}

#[test]
fn question_is_chosen_filled_read_and_answered() {
    let mut turn = Turn::new("do we still need milk?", &[]);
    turn.says(&json!({"do": "text_search"}));
    assert!(turn.last_message().starts_with("The arguments of text_search"), "{}", turn.last_message());
    turn.says(&json!({"pattern": ["milk"]}));
    assert!(matches!(turn.asks[..], [Ask::Intend(_)]), "{:?}", turn.asks);
    turn.on(Event::Frozen);
    assert!(matches!(turn.asks[..], [Ask::Act(CallRef(1))]));
    assert_eq!(turn.call(1), ("text_search".into(), json!({"pattern": "milk", "regex": true})));
    turn.ran(1);
    assert!(matches!(turn.asks[..], [Ask::Release(CallRef(1), _)]));
    turn.released(1, &json!({"ok": true, "matches": [{"path": "notes/shopping.md", "line": 1, "text": "- milk"}]}));
    let shown = turn.last_message();
    assert!(
        shown.contains("<data-") && shown.contains("- milk") && shown.contains("do we still need milk?"),
        "{shown}"
    );
    turn.says(&json!({"found": true, "text": "Yes, milk is on the list."}));
    assert_eq!(turn.said(), "Yes, milk is on the list.\n");
    assert_eq!(turn.end(), (TurnEnd::Answered, String::new()));
}

#[test]
fn fact_that_stands_nowhere_is_not_asked_of_the_model() {
    let mut turn = Turn::begun(looking(PLUMBER, &[]));
    turn.on(Event::Frozen).ran(1).released(1, &json!({"ok": true, "matches": []}));
    let why = "I looked, and what I found does not say it.".to_owned();
    assert_eq!((turn.said(), turn.end()), (String::new(), (TurnEnd::Unsuccessful, why)));
    // What may be made up is.
    let mut turn = Turn::begun(looking("what should we give the plumber for lunch?", &[]));
    turn.on(Event::Frozen).ran(1).released(1, &json!({"ok": true, "matches": []}));
    turn.on(Event::Funded(100_000)).says(&json!({"do": "answer", "text": "Soup."}));
    assert_eq!(turn.said(), "Soup.\n");
}

#[test]
fn fact_is_answered_from_what_was_said_before_and_from_nothing_else() {
    for (answer, is_said) in [("It is Laura.", true), ("It is Martina.", false), ("My sister is called so.", false)] {
        let mut envelope = envelope(household(), Lang::En);
        envelope.recent = vec![Recent::said(1, "my sister has the name Laura")];
        let setting = Setting::of(&envelope, ("who is my sister?", ""), Lang::En, NOW);
        assert!(setting.is_for_fact && setting.has_talk);
        let mut turn = Turn::begun(setting);
        turn.on(Event::Frozen).ran(1).released(1, &json!({"ok": true, "matches": []}));
        turn.on(Event::Funded(100_000)).says(&json!({"do": "answer", "text": answer}));
        assert_eq!(turn.said().is_empty(), !is_said, "{answer}: {:?}", turn.asks);
    }
}

/// A turn whose files were searched for what its question is about, with this passage.
fn looked(question: &str, passage: &Value) -> Turn {
    let mut turn = Turn::begun(looking(question, &[]));
    assert!(matches!(turn.asks[..], [Ask::Intend(_)]), "{:?}", turn.asks);
    turn.on(Event::Frozen).ran(1);
    turn.released(1, &json!({"ok": true, "matches": [passage]}));
    assert!(matches!(turn.asks[..], [Ask::Fund(_)]));
    turn.on(Event::Funded(100_000));
    turn
}

const PLUMBER: &str = "when does the plumber come?";
const HALF_KNOWN: &str = "when does the plumber bring the pipe, and what time is it now?";

fn passage(covered: u64) -> Value {
    json!({"path": "notes/house.md", "line": 2, "text": "plumber: Thursday at nine", "covered": covered, "named": true})
}

#[test]
fn files_are_searched_for_a_question_before_the_model_is_asked() {
    let mut turn = looked(PLUMBER, &passage(100));
    let best = json!({"pattern": "plumber", "best": true, "limit": 3});
    assert_eq!(turn.call(1), ("text_search".into(), best));
    assert!(turn.last_message().contains("Thursday at nine"), "{}", turn.last_message());
    turn.says(&json!({"found": true, "text": "On Thursday at nine."}));
    assert_eq!((turn.said().as_str(), turn.end().0), ("On Thursday at nine.\n", TurnEnd::Answered));
}

#[test]
fn model_chooses_among_the_others_where_the_files_say_nothing() {
    const OPEN: &str = "when does the plumber come, and what time is it now?";
    let chooses = |turn: &Turn| {
        assert!(!turn.offered().iter().any(|name| name == "text_search"), "{:?}", turn.offered());
        assert!(turn.offered().iter().any(|name| name == "clock_now"), "{:?}", turn.offered());
        assert!(!turn.last_message().contains("Thursday"), "{}", turn.last_message());
    };
    let mut none = looked(OPEN, &passage(20));
    chooses(&none);
    // A fact is read, or it is not known: a small model makes it up.
    none.says(&json!({"do": "answer", "text": "The plumber comes at noon."}));
    assert_eq!((none.said(), none.end().0), (String::new(), TurnEnd::Unsuccessful));
    let mut denied = Turn::begun(looking(OPEN, &[]));
    denied.on(Event::Frozen);
    denied.on(Event::Denied(CallRef(1), Refusal::new(RefusalCode::Denied, "guard.path", "no")));
    denied.on(Event::Funded(100_000));
    chooses(&denied);
    // An order is none to look for anything, and what the butler itself is asked stands in no file.
    for words in ["write that the plumber comes on Thursday into notes/a.md", "what do you think of the plumber?"] {
        assert!(looking(words, &[]).topic.is_empty(), "{words}");
    }
}

#[test]
fn lines_that_were_found_are_quoted_where_the_model_makes_nothing_of_them() {
    let cut = Event::Thought(Reply { text: "{".into(), calls: Vec::new(), stop: Stop::Length }, 100);
    let again = json!({"found": true, "text": "The plumber comes when the plumber comes."});
    let elsewhere =
        |reply: &Value| Event::Thought(Reply { text: reply.to_string(), calls: Vec::new(), stop: Stop::End }, 100);
    let replies = [
        vec![elsewhere(&json!({"found": false, "text": ""})), elsewhere(&json!({"do": "cannot"}))],
        vec![cut],
        vec![Event::Thought(Reply { text: again.to_string(), calls: Vec::new(), stop: Stop::End }, 100)],
        vec![Event::Thought(Reply { text: "x".into(), calls: Vec::new(), stop: Stop::End }, 100); 2],
    ];
    for replies in replies {
        let mut turn = looked(PLUMBER, &passage(100));
        for reply in replies {
            turn.on(reply);
        }
        assert!(turn.said().contains("notes/house.md: plumber: Thursday at nine"), "{:?}", turn.asks);
        assert_eq!(turn.end().0, TurnEnd::Answered);
    }
}

#[test]
fn request_to_the_outside_carries_only_words_of_the_person() {
    for (place, kept) in [("Milan", false), ("Udine", true)] {
        let mut envelope = envelope(household(), Lang::En);
        envelope.candidates.push(weather());
        let words = ("will it rain in Udine, or can we walk?", "");
        let setting =
            Setting { topic: String::new(), is_for_fact: false, ..Setting::of(&envelope, words, Lang::En, NOW) };
        let mut turn = Turn::of(setting);
        turn.says(&json!({"do": "weather_get"})).says(&json!({"place": place}));
        let (name, arguments) = turn.call(1);
        assert_eq!((name.as_str(), arguments.get("place").is_some()), ("weather_get", kept), "{arguments}");
    }
}

#[test]
fn answer_that_only_repeats_the_prompt_is_none() {
    let mut turn = Turn::new("who has won the great match of last night?", &[]);
    turn.says(&json!({"do": "answer", "text": "Who has won the great match of last night"}));
    assert_eq!((turn.said(), turn.end().0), (String::new(), TurnEnd::Unsuccessful));
    let mut turn = Turn::new("who has won the great match of last night?", &[]);
    turn.says(&json!({"do": "answer", "text": "…"}));
    turn.says(&json!({"text": "who has won the great match of last night?"}));
    assert_eq!((turn.said(), turn.end().0), (String::new(), TurnEnd::Unsuccessful));
    let mut turn = looked(HALF_KNOWN, &passage(50));
    turn.says(&json!({"found": false, "text": ""}));
    turn.says(&json!({"do": "answer", "text": "I looked, and what I found does not say it. Choose another tool."}));
    let why = "I looked, and what I found does not say it.".to_owned();
    assert_eq!((turn.said(), turn.end()), (String::new(), (TurnEnd::Unsuccessful, why)));
}

#[test]
fn answer_of_dots_is_asked_for_once_more_by_itself() {
    let mut turn = Turn::new("say something nice", &[]);
    turn.says(&json!({"do": "answer", "text": "…"}));
    assert!(turn.last_message().starts_with("Now write it for the person, in English"), "{}", turn.last_message());
    turn.says(&json!({"text": "How nice that you ask."}));
    assert_eq!((turn.said().as_str(), turn.end().0), ("How nice that you ask.\n", TurnEnd::Answered));

    let mut turn = Turn::new("say something nice", &[]);
    turn.says(&json!({"do": "answer", "text": "…"}));
    turn.says(&json!({"text": "…"})).says(&json!({"text": "…"}));
    assert_eq!((turn.said(), turn.end().0), (String::new(), TurnEnd::Broken));
}

#[test]
fn prompts_stay_within_their_budget_and_only_grow_at_their_end() {
    let mut turn = Turn::new("do we still need milk, or did somebody buy it?", &[]);
    let first = turn.prompt().clone();
    assert!(tokens(&first) <= 900, "{}", tokens(&first));
    assert!(first.system[0].text.len() + turn.last_message().len() <= MAX_FIRST);
    assert!(turn.last_message().starts_with("It is Wednesday 2026-11-25, "), "{}", turn.last_message());
    turn.says(&json!({"do": "text_search"}));
    let second = turn.prompt().clone();
    turn.says(&json!({"pattern": ["milk"]})).on(Event::Frozen).ran(1);
    let many = vec![json!({"path": "notes/shopping.md", "line": 1, "text": "milk ".repeat(40)}); 200];
    turn.released(1, &json!({"ok": true, "matches": many}));
    let third = turn.prompt().clone();
    for (before, after) in [(&first, &second), (&second, &third)] {
        assert_eq!(before.system, after.system);
        assert!(after.messages.starts_with(&before.messages));
    }
    // What a server has not read yet, once it has read what stands before the conversation.
    let fresh = tokens(&third) - third.system[0].text.len().div_ceil(BYTES_PER_TOKEN);
    assert!(fresh <= 1_200, "{fresh}");
    assert_eq!(third.temperature, Some(0));
}

#[test]
fn prompt_prefix_is_the_same_for_other_words_order_and_time() {
    let one = setting("do we need milk?", &[]);
    let mut other = envelope(household().into_iter().rev().collect(), Lang::En);
    other.nonce = 77;
    let other = Setting::of(&other, ("and what about the car?", ""), Lang::En, NOW + 86_400);
    assert_eq!(one.system(), other.system());
}

#[test]
fn tools_that_need_a_file_are_offered_only_where_one_is_named() {
    let bare = Turn::new("what is the wifi password?", &["notes/trip.md"]);
    for name in ["fs_read", "fs_append", "fs_write", "fs_delete", "text_stats"] {
        assert!(!bare.offered().iter().any(|one| one == name), "{name}");
    }
    assert!(bare.offered().iter().any(|one| one == "text_search"));
    let named = Turn::new("what does the note about the trip say of hotels?", &["notes/trip.md", "notes/car.md"]);
    assert!(named.offered().iter().any(|one| one == "fs_read"));
    assert!(
        named.last_message().contains("Files that the request may mean: notes/trip.md\n"),
        "{}",
        named.last_message()
    );
}

#[test]
fn names_of_files_are_a_choice_and_any_other_is_refused() {
    let mut turn = Turn::new("what does notes/trip.md say of hotels?", &[]);
    turn.says(&json!({"do": "fs_read"}));
    let schema = turn.prompt().schema.clone().unwrap();
    assert_eq!(schema["properties"]["path"]["enum"], json!(["notes/trip.md"]));
    assert_eq!(schema["additionalProperties"], json!(false));
    turn.says(&json!({"path": "/etc/shadow"}));
    assert!(turn.last_message().contains("could not be used"), "{}", turn.last_message());
    turn.says(&json!({"path": "notes/trip.md", "other": 1}));
    assert_eq!(turn.end().0, TurnEnd::Broken);
    assert_eq!(turn.turn.calls().each().count(), 0);
}

#[test]
fn what_the_schema_forbids_is_refused_of_a_server_that_ignores_it() {
    for bad in [
        r#"{"do": "fs_delete"}"#,
        r#"{"do": "shell_run"}"#,
        r#"{"do": "answer"}"#,
        r#"{"do": "text_search", "text": "x"}"#,
        r#"{"do": "text_search", "do": "fs_find"}"#,
        r#"{"do": "done"}"#,
        "text_search",
        "",
        "[]",
    ] {
        let mut turn = Turn::new("do we need milk?", &[]);
        turn.writes(bad);
        if bad.contains("done") {
            assert_eq!(turn.end().0, TurnEnd::Answered);
            continue;
        }
        assert!(turn.last_message().contains("could not be used"), "{bad}");
        turn.writes(bad);
        assert_eq!(turn.end().0, TurnEnd::Broken, "{bad}");
    }
}

#[test]
fn text_of_a_named_file_is_read_by_the_reader_first() {
    let mut turn = Turn::new("how many words are in the note about the trip, roughly?", &["notes/trip.md"]);
    turn.says(&json!({"do": "text_stats"}));
    turn.says(&json!({"text": {"file": "notes/trip.md"}}));
    turn.on(Event::Frozen);
    assert_eq!(turn.call(1), ("fs_read".into(), json!({"path": "notes/trip.md"})));
    assert_eq!(turn.call(2), ("text_stats".into(), json!({"text": {"$ref": "c1#/content"}})));
    assert!(matches!(turn.asks[..], [Ask::Act(CallRef(1))]));
    turn.ran(1);
    assert!(matches!(turn.asks[..], [Ask::Act(CallRef(2))]));
    turn.ran(2);
    assert!(matches!(turn.asks[..], [Ask::Release(CallRef(2), _)]), "only what is read is released");
    turn.released(2, &json!({"ok": true, "lines": 3, "words": 40, "characters": 200}));
    assert!(turn.last_message().contains("\"words\":40"), "{}", turn.last_message());
}

#[test]
fn what_was_done_is_told_by_its_record_and_no_model() {
    let mut turn = Turn::new("write that Anna called into notes/calls.md", &[]);
    turn.says(&json!({"do": "fs_append"})).says(&json!({"path": "notes/calls.md", "content": "Anna called"}));
    turn.on(Event::Frozen).ran(1);
    let result = json!({"ok": true, "path": "notes/calls.md", "bytes": 11, "size": 11, "created": true, "lines": 1});
    turn.released(1, &result);
    assert!(!turn.said().is_empty(), "{:?}", turn.asks);
    assert_eq!(turn.end(), (TurnEnd::Answered, String::new()));
}

#[test]
fn request_that_goes_on_is_asked_for_more_and_ends_when_it_is_done() {
    let mut turn = Turn::new("write tape into notes/a.md and tell me what else is in there", &[]);
    turn.says(&json!({"do": "fs_append"})).says(&json!({"path": "notes/a.md", "content": "tape"}));
    turn.on(Event::Frozen).ran(1).released(1, &json!({"ok": true, "path": "notes/a.md", "bytes": 4, "size": 9}));
    assert!(turn.offered().iter().any(|name| name == "done") && !turn.offered().iter().any(|name| name == "fs_append"));
    turn.says(&json!({"do": "fs_read"})).says(&json!({"path": "notes/a.md"}));
    assert!(matches!(turn.asks[..], [Ask::Act(CallRef(2))]), "the intent stands: {:?}", turn.asks);
    turn.ran(2).released(2, &json!({"ok": true, "content": "glue\ntape\n"}));
    turn.says(&json!({"found": true, "text": "Glue."}));
    assert_eq!(turn.end().0, TurnEnd::Answered);
}

#[test]
fn result_that_does_not_help_leads_to_another_tool_and_then_an_honest_end() {
    let mut turn = Turn::new("which file in which folder says at what time the insurance expires?", &[]);
    let mut rounds = 0;
    for name in ["text_search", "fs_find", "fs_list", "clock_now"] {
        assert!(turn.offered().iter().any(|one| one == name), "{name}: {:?}", turn.offered());
        turn.says(&json!({"do": name}));
        let arguments = if name == "text_search" { json!({"pattern": ["insurance"]}) } else { json!({}) };
        if matches!(turn.asks[..], [Ask::Think { .. }]) {
            turn.says(&arguments);
        }
        rounds += 1;
        if matches!(turn.asks[..], [Ask::Intend(_)]) {
            turn.on(Event::Frozen);
        }
        turn.ran(rounds).released(rounds, &json!({"ok": true, "matches": [], "entries": []}));
        turn.says(&json!({"found": false, "text": "The expiry date."}));
    }
    assert_eq!(u32::from(rounds), MAX_ROUNDS);
    let (end, why) = turn.end();
    assert_eq!((end, why.as_str()), (TurnEnd::Unsuccessful, "I looked, and what I found does not say it."));
    assert!(turn.said().is_empty());
}

#[test]
fn file_that_a_result_names_can_be_read_next() {
    let mut turn = Turn::new("what does my longest file say?", &[]);
    assert!(!turn.offered().iter().any(|name| name == "fs_read"));
    turn.says(&json!({"do": "fs_find"})).says(&json!({"sort": "longest"})).on(Event::Frozen).ran(1);
    turn.released(1, &json!({"ok": true, "entries": [{"path": "notes/trip.md", "size": 900}]}));
    turn.says(&json!({"found": false, "text": "what it says"}));
    assert!(turn.offered().iter().any(|name| name == "fs_read"));
    turn.says(&json!({"do": "fs_read"}));
    assert_eq!(turn.prompt().schema.as_ref().unwrap()["properties"]["path"]["enum"], json!(["notes/trip.md"]));
}

#[test]
fn refused_call_ends_turn_with_reason_and_failed_one_is_tried_otherwise() {
    let mut turn = Turn::new("delete notes/trip.md", &[]);
    turn.says(&json!({"do": "fs_delete"})).says(&json!({"path": "notes/trip.md"})).on(Event::Frozen);
    let no = Refusal::new(RefusalCode::Denied, "guard.path", "that path is forbidden");
    turn.on(Event::Denied(CallRef(1), no));
    let (end, why) = turn.end();
    assert!(end == TurnEnd::Denied && why.contains("That place is closed to me"), "{why}");
    assert!(why.contains("Copy what you need into the workspace"), "{why}");

    let mut turn = Turn::new("what does notes/trip.md say?", &[]);
    turn.says(&json!({"do": "fs_read"})).says(&json!({"path": "notes/trip.md"})).on(Event::Frozen);
    let left = RunResult {
        handle: turn.handle,
        outcome: Outcome::Error,
        label: Label::CLEAN,
        bytes: 9,
        line: 0,
        class: String::new(),
    };
    turn.on(Event::Ran(CallRef(1), left));
    turn.released(1, &json!({"ok": false, "error": {"class": "NotFound", "message": "notes/trip.md"}}));
    assert!(turn.last_message().contains("I cannot find notes/trip.md"), "{}", turn.last_message());
    assert!(!turn.offered().iter().any(|name| name == "fs_read"));
    turn.says(&json!({"do": "cannot"}));
    assert_eq!(turn.end().0, TurnEnd::Unsuccessful);
}

#[test]
fn call_that_waits_suspends_and_goes_on_after_the_answer_also_elsewhere() {
    for allowed in [true, false] {
        let mut turn = Turn::new("delete notes/trip.md", &[]);
        turn.says(&json!({"do": "fs_delete"})).says(&json!({"path": "notes/trip.md"})).on(Event::Frozen);
        turn.on(Event::Denied(CallRef(1), Refusal::new(RefusalCode::Denied, WAITING, "it waits")));
        assert!(matches!(turn.asks[..], [Ask::Suspend]));
        let kept = serde_json::to_vec(&turn.turn).unwrap();
        turn.turn = serde_json::from_slice(&kept).unwrap();
        let left = RunResult {
            handle: HandleId::NONE,
            outcome: Outcome::Ok,
            label: Label::CLEAN,
            bytes: 0,
            line: 0,
            class: String::new(),
        };
        turn.on(Event::Settled(vec![Settled { executor: "fs_delete".into(), left: allowed.then_some(left) }]));
        assert_eq!(turn.end().0, if allowed { TurnEnd::Answered } else { TurnEnd::Denied });
    }
}

#[test]
fn answer_that_looks_like_a_call_is_asked_for_again_once_and_never_shown() {
    for text in [
        "{\"name\": \"fs_delete\", \"arguments\": {}}",
        "<tool_call>x</tool_call>",
        "```json\n{\"do\": \"fs_read\"}\n```",
    ] {
        let mut turn = Turn::new("say something nice", &[]);
        turn.says(&json!({"do": "answer", "text": text}));
        assert!(turn.said().is_empty() && turn.last_message().contains("could not be used"));
        turn.says(&json!({"do": "answer", "text": text}));
        assert_eq!((turn.said(), turn.end().0), (String::new(), TurnEnd::Broken));
    }
}

#[test]
fn what_nothing_can_do_is_said_and_wished_for() {
    let mut turn = Turn::new("turn the heating on", &[]);
    turn.says(&json!({"do": "cannot"}));
    let Some(Ask::End { end, why, wish }) = turn.asks.last() else { panic!() };
    assert_eq!((end, wish.text.as_str()), (&TurnEnd::Unsuccessful, "turn the heating on"));
    assert!(why.starts_with("I have nothing"), "{why}");
}

#[test]
fn window_that_is_too_small_loses_old_data_and_then_ends_the_turn() {
    let mut turn = StepLoop::new(setting("do we need milk?", &[]), 500);
    assert!(matches!(turn.start()[..], [Ask::End { end: TurnEnd::Broken, .. }]));
    let mut turn = StepLoop::new(setting("do we need milk?", &[]), 2_000);
    assert!(matches!(turn.start()[..], [Ask::Fund(_)]));
}

#[test]
fn arguments_ask_for_what_the_words_can_mean() {
    let of = |words: &str, name: &str| -> Vec<String> {
        let all = household();
        let candidate = all.iter().find(|one| one.name == name).unwrap();
        fields::fields(candidate, words).unwrap().into_iter().map(|field| field.name).collect()
    };
    let finds = |words: &str, name: &str| of(words, "fs_find").iter().any(|one| one == name);
    assert!(finds("which note is the longest?", "sort") && finds("which note is the longest?", "name"));
    assert!(finds("the three longest notes", "limit") && !finds("which note is the longest?", "limit"));
    assert!(finds("also the hidden ones", "hidden") && !finds("which note is the longest?", "hidden"));
    assert!(!finds("which note is the longest?", "path") && !finds("which note is the longest?", "depth"));
    assert_eq!(of("do we need milk?", "text_search"), ["pattern"]);
    assert_eq!(of("put it there", "fs_append"), ["content", "path"]);
    assert_eq!(of("what time is it", "clock_now"), ["zone"]);
    assert_eq!(of("what is there", "fs_list"), [] as [&str; 0]);
}

#[test]
fn files_are_named_by_path_bare_name_stem_and_title() {
    let lie = [
        Named::file("notes/trip.md"),
        Named::file("notes/spesa.md"),
        Named { title: "Insurance papers".into(), ..Named::file("notes/x1.md") },
    ];
    let names = |words: &str| choices::names(words, &lie);
    assert_eq!(names("read trip.md now."), ["notes/trip.md"]);
    assert_eq!(names("cosa manca sulla lista della spesa?"), ["notes/spesa.md"]);
    assert_eq!(names("what do the insurance papers say"), ["notes/x1.md"]);
    assert_eq!(names("look at data/a.csv and https://example.org/x.html"), ["data/a.csv"]);
    assert_eq!(names("what is the answer"), [] as [&str; 0]);
    let many: Vec<Named> = (0..20).map(|at| Named::file(format!("notes/trip{at}.md"))).collect();
    assert_eq!(choices::names("trip0 trip1 trip2", &many).len(), MAX_NAMES);
    let long = (0..20).map(|at| format!("notes/a{at}.md")).collect::<Vec<_>>().join(" ");
    assert_eq!(choices::names(&long, &[]).len(), MAX_NAMES);
}

/// A request that names a file, the same without that file, and a question that is looked up. They are shared, since reading all
/// patterns takes long.
static SETTINGS: LazyLock<[Setting; 3]> = LazyLock::new(|| {
    let words = "read the trip and then write what is missing into it, with the time";
    [setting(words, &["notes/trip.md"]), setting(words, &[]), looking(PLUMBER, &[])]
});

proptest! {
    #[test]
    fn any_replies_end_the_turn_within_bounds_and_call_only_what_was_offered(
        replies in proptest::collection::vec((0_usize..12, "\\PC{0,12}", 0_u8..4), 0..40),
        begins in 0_usize..3,
    ) {
        let mut turn = Turn::begun(SETTINGS[begins].clone());
        let choices = ["text_search", "fs_read", "fs_append", "fs_find", "fs_list", "clock_now"];
        for (kind, text, fate) in replies {
            let text = match kind {
                0..=5 => json!({"do": choices[kind]}).to_string(),
                6 => json!({"pattern": [text]}).to_string(),
                7 => json!({"path": "notes/trip.md", "content": text}).to_string(),
                8 => json!({"path": "notes/trip.md"}).to_string(),
                9 => json!({"found": false, "text": text}).to_string(),
                10 => json!({"do": "answer", "text": text}).to_string(),
                _ => text,
            };
            let next = match turn.asks.last() {
                None | Some(Ask::End { .. }) => break,
                Some(Ask::Fund(_)) => Event::Funded(100_000),
                Some(Ask::Think { thought, prompt, .. }) => {
                    prop_assert!(*thought <= 24 && tokens(prompt) < 8_000);
                    let is_asked = matches!(prompt.messages.last(), Some(Message::User { .. }));
                    prop_assert!(is_asked, "the last message is never the model's");
                    Event::Thought(Reply { text, calls: Vec::new(), stop: Stop::End }, 10)
                }
                Some(Ask::Intend(_)) => Event::Frozen,
                Some(Ask::Act(place)) => {
                    let name = turn.call(place.0).0;
                    prop_assert!(choices.contains(&name.as_str()), "{}", name);
                    let left = RunResult { handle: turn.handle, outcome: Outcome::Ok, label: Label::CLEAN, bytes: 1, line: 0, class: String::new() };
                    match fate {
                        0 => Event::Denied(*place, Refusal::new(RefusalCode::Denied, "guard.path", "no")),
                        1 => Event::Denied(*place, Refusal::new(RefusalCode::Denied, WAITING, "it waits")),
                        _ => Event::Ran(*place, left),
                    }
                }
                Some(Ask::Release(place, _)) => {
                    let result = json!({"ok": fate != 0, "entries": [{"path": "notes/trip.md"}], "error": {"class": "x", "message": "y"}});
                    Event::Released(*place, result.to_string().into_bytes(), Label::CLEAN)
                }
                Some(Ask::Suspend) => Event::NotSuspended,
                Some(Ask::Say(_) | Ask::Below(_) | Ask::Undo | Ask::Schedule(_)) => break,
            };
            turn.on(next);
        }
        prop_assert!(turn.turn.calls().each().count() <= usize::try_from(MAX_ROUNDS).unwrap() * 2);
    }
}
