//! The loop against a model that says anything: whatever it is, the turn ends within its bounds.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::msg::common::{Label, Refusal, RefusalCode};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::prompt::{Message, ModelCall, Reply, Stop};
use proptest::prelude::*;
use serde_json::json;

use super::core::{Ask, Event};
use super::tests::{Fate, begin, file, frame, live, says, script};
use super::{MAX_CALLS, MAX_SAID, MAX_THOUGHTS, MAX_TOKENS};

/// What a model may write that knows the form and nothing else.
fn random_reply() -> impl Strategy<Value = Reply> {
    let name = prop_oneof![
        Just("fs_read".to_owned()),
        Just("fs_list".to_owned()),
        Just("text_stats".to_owned()),
        Just("look".to_owned()),
        Just("plan".to_owned()),
        Just("missing".to_owned()),
        Just("undo".to_owned()),
        Just("schedule".to_owned()),
        "\\PC{0,12}",
    ];
    let arguments = prop_oneof![
        "\\PC{0,40}",
        (0u8..6).prop_map(|n| json!({"path": format!("notes/{n}.md")}).to_string()),
        (0u8..9).prop_map(|n| json!({"of": format!("c{n}")}).to_string()),
        (0u8..9).prop_map(|n| json!({"text": {"$ref": format!("c{n}#/content")}}).to_string()),
        (0u8..9).prop_map(|n| json!({"calls": [
            {"tool": "fs_read", "arguments": {"path": n}},
            {"tool": "text_stats", "arguments": {"text": {"$ref": format!("c{n}#/content")}}},
        ], "look": [format!("c{n}")]})
        .to_string()),
        Just(json!({"summary": "x"}).to_string()),
        Just(json!({"do": "list"}).to_string()),
    ];
    let stop = prop_oneof![Just(Stop::End), Just(Stop::Calls), Just(Stop::Length), Just(Stop::Stopped)];
    let call = ("[a-z0-9]{0,3}", name, arguments).prop_map(|(id, name, arguments)| ModelCall { id, name, arguments });
    ("\\PC{0,20}", proptest::collection::vec(call, 0..5), stop).prop_map(|(text, calls, stop)| Reply {
        text,
        calls,
        stop,
    })
}

fn random_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        Just(file("some text")),
        Just(Fate::Gives(json!({"ok": true}), Label::CLEAN)),
        Just(Fate::Fails),
        Just(Fate::Denied("no")),
        Just(Fate::Asks),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn turn_ends_within_bounds_for_random_model_replies(
        replies in proptest::collection::vec(random_reply(), 1..12),
        fates in (random_fate(), random_fate(), random_fate()),
        native in any::<bool>(),
    ) {
        let names = ["fs_read", "fs_list", "text_stats"];
        let fates = [(names[0], fates.0), (names[1], fates.1), (names[2], fates.2)];
        let mut at = 0;
        let went = live(begin(native), |_, _| { at += 1; replies[at % replies.len()].clone() }, &fates);
        prop_assert!(went.prompts.len() <= MAX_THOUGHTS as usize);
        prop_assert!(went.acts().len() <= MAX_CALLS);
        prop_assert!(went.used <= MAX_TOKENS && went.said.len() <= MAX_SAID);
        // Nothing is thought before it is funded, and nothing done before the intent; the intent comes once.
        let first = |what: &str| went.order.iter().position(|step| step.starts_with(what));
        prop_assert!(first("fund") < first("think"));
        if let Some(act) = first("act") {
            prop_assert!(first("intent").is_some_and(|intent| intent < act));
        }
        prop_assert!(went.order.iter().filter(|step| *step == "intent").count() <= 1);
        // The last change is taken back once, and before any act.
        prop_assert!(went.order.iter().filter(|step| *step == "undo").count() <= 1);
        prop_assert!(first("undo").is_none_or(|undo| first("act").is_none_or(|act| undo < act)));
        // Numbers ascend, each once.
        let places: Vec<u16> = went.acts().iter().map(|act| act[1..act.find(' ').unwrap()].parse().unwrap()).collect();
        prop_assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", went.order);
        // What goes back into the conversation names only tools that there are, with a result for each call.
        for prompt in &went.prompts {
            for pair in prompt.messages.windows(2) {
                if let Message::Assistant { calls, .. } = &pair[0] && !calls.is_empty() {
                    let Message::Results { results } = &pair[1] else { panic!("calls without results") };
                    let ids: Vec<&String> = calls.iter().map(|call| &call.id).collect();
                    prop_assert_eq!(ids, results.iter().map(|result| &result.id).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn a_reply_of_any_bytes_is_read_without_panic(text in "\\PC{0,200}", name in "\\PC{0,20}", arguments in "\\PC{0,80}", native in any::<bool>()) {
        let reply = Reply { text, calls: vec![ModelCall { id: name.clone(), name, arguments }], stop: Stop::End };
        let _ = super::reply::parse_reply(&reply, &frame(native), &[]);
    }
}

#[test]
fn a_plain_answer_ends_the_turn_and_nothing_was_asked_for_but_money() {
    let went = live(begin(true), script(vec![says("good morning")]), &[]);
    assert_eq!(went.order, ["fund 100000", "think 1"]);
    assert_eq!((went.said.as_str(), went.end()), ("good morning", &TurnEnd::Answered));
}

#[test]
fn a_mind_that_knows_of_no_funds_any_more_is_funded_anew_once() {
    let mut turn = begin(true);
    turn.start();
    let thought = |asks: &[Ask]| match asks {
        [Ask::Think { thought, .. }] => *thought,
        other => panic!("{other:?}"),
    };
    let first = thought(&turn.on(Event::Funded(1 << 19)));
    let no = Refusal::new(RefusalCode::Denied, "mind.fund", "no fund was granted for this turn");
    assert!(matches!(turn.on(Event::NoThought(no.clone()))[..], [Ask::Fund(_)]));
    assert_eq!(thought(&turn.on(Event::Funded(1 << 19))), first);
    // A second refusal in a row is the end, whatever policyd gives: else the two would be asked for ever.
    assert!(matches!(turn.on(Event::NoThought(no))[..], [Ask::End { end: TurnEnd::Broken, .. }]));
}
