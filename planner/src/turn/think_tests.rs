//! Turns with a scripted model, on real channels.

#![allow(clippy::unwrap_used, clippy::panic)]

use metnos_proto::edge::RpcError;
use metnos_proto::edges::door_planner;
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::msg::common::{Label, Outcome};
use metnos_proto::msg::planner::{CallState, CancelTurn, ResumeTurn, TurnEnd};
use metnos_proto::msg::policyd::SettledAct;
use serde_json::json;

use super::stage::{Fate, ScriptedThought, Stage, file, stats};
use super::{MAX_TURNS, THINKING_WITHIN_MS};
use crate::testing::{run, until};

const WORDS: &str = "paint the fence, then tell me about it";

fn says(text: &'static str) -> ScriptedThought {
    ScriptedThought::Says(vec![text], Vec::new())
}

#[test]
fn model_turn_runs_fund_think_intent_act_answer_in_order() {
    run(async {
        let thoughts = vec![
            ScriptedThought::Says(vec!["Let me ", "look."], vec![("fs_read", json!({"path": "notes/a.md"}))]),
            ScriptedThought::Says(vec!["It is ", "painted."], Vec::new()),
        ];
        let mut stage = Stage::thinking(&[("fs_read", file("x"))], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        let (text, calls, done) = stage.ask(WORDS).await;
        assert_eq!(text, "Let me look.\nIt is painted.");
        assert_eq!(calls, [(1, CallState::Started), (1, CallState::Succeeded)]);
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Answered, ""));
        let mut asked = stage.script.asked.borrow().clone();
        asked.retain(|ask| ask != "health");
        asked[9..].sort();
        assert_eq!(
            asked,
            [
                "begin_turn",
                "fund_turn",
                "think 1 interface",
                "asked 1 test/scripted",
                "intent fs_read /path=\"notes/a.md\"",
                "act c1 fs_read {\"path\":\"notes/a.md\"}",
                "release true",
                "think 2 interface",
                "asked 2 test/scripted",
                "close_turn answered ",
                "end_turn",
            ]
        );
    });
}

#[test]
fn request_known_to_reflex_needs_no_thought() {
    run(async {
        let mut stage = Stage::thinking(&[("fs_read", file("# Hello"))], Vec::new());
        until(|| !stage.script.asked("health").is_empty()).await;
        let (text, ..) = stage.ask("read notes/welcome.md").await;
        assert_eq!(text, "# Hello");
        assert!(stage.script.asked("think").is_empty() && stage.script.asked("fund").is_empty());
    });
}

#[test]
fn text_is_passed_on_before_the_thought_has_ended_and_never_twice() {
    run(async {
        let thoughts = vec![ScriptedThought::Says(vec!["a", "b", "c\u{1b}[2J", "d"], Vec::new())];
        let mut stage = Stage::thinking(&[], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        stage.open(TurnId::new(), WORDS.as_bytes()).await.unwrap();
        let mut pieces = Vec::new();
        loop {
            match stage.notes.recv().await.unwrap() {
                door_planner::Note::Text(text) => pieces.push(text.text),
                door_planner::Note::TurnDone(done) => break assert_eq!(done.end, TurnEnd::Answered),
                door_planner::Note::Call(_) | door_planner::Note::Progress(_) => {}
            }
        }
        assert_eq!(pieces.concat(), "abc[2Jd");
        assert!(pieces.len() > 1, "{pieces:?}");
    });
}

#[test]
fn pieces_missing_from_the_reply_are_not_repeated() {
    run(async {
        let mut stage = Stage::thinking(&[], vec![ScriptedThought::Lies(vec!["one"], "something else")]);
        until(|| !stage.script.asked("health").is_empty()).await;
        let (text, _, done) = stage.ask(WORDS).await;
        assert_eq!((text.as_str(), done.end), ("one", TurnEnd::Answered));
    });
}

#[test]
fn refusing_garbled_or_lost_mind_ends_turn_with_a_sentence() {
    run(async {
        let garbage = ["", "null", "{\"text\":\"a\",\"text\":\"b\"}", "{\"text\":1}", "[[[[", "\u{0}"];
        let mut thoughts: Vec<ScriptedThought> =
            garbage.iter().map(|text| ScriptedThought::Raw(text.as_bytes().to_vec())).collect();
        thoughts.extend([
            ScriptedThought::Raw(b"\xff\xfe".to_vec()),
            ScriptedThought::Raw(vec![b' '; (1 << 20) + 1]),
            ScriptedThought::Refuses,
        ]);
        let turns = thoughts.len();
        let mut stage = Stage::thinking(&[], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        for _ in 0..turns {
            let (text, _, done) = stage.ask(WORDS).await;
            assert!(text.is_empty());
            assert_eq!(done.end, TurnEnd::Broken);
            assert!(done.why.starts_with("The model could not be asked: "), "{}", done.why);
        }
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn refused_call_is_reported_to_the_model_and_the_turn_continues() {
    run(async {
        let thoughts =
            vec![ScriptedThought::Says(vec![], vec![("fs_read", json!({"path": "/etc/shadow"}))]), says("I may not.")];
        let mut stage = Stage::thinking(&[("fs_read", Fate::Denied)], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        let (text, calls, done) = stage.ask(WORDS).await;
        let below = text.strip_prefix("I may not.\n\n").unwrap();
        assert!(below.starts_with("Not done: reading a file (that place is closed to me"), "{below}");
        assert!(below.ends_with("Copy what you need into the workspace, and name it there)."), "{below}");
        assert_eq!(done.end, TurnEnd::Answered);
        assert_eq!(calls.last().unwrap().1, CallState::Denied);
        let model = stage.script.model.borrow();
        assert!(json!(model.as_ref().unwrap().prompts[1]).to_string().contains("that path is forbidden (use another)"));
    });
}

#[test]
fn independent_calls_run_in_parallel_and_plan_runs_without_new_thought() {
    run(async {
        let plan = json!({"calls": [
            {"tool": "fs_read", "arguments": {"path": "notes/a.md"}},
            {"tool": "text_stats", "arguments": {"text": {"$ref": "c1#/content"}}}
        ]});
        let mut stage = Stage::thinking(
            &[("fs_read", file("x")), ("text_stats", stats())],
            vec![ScriptedThought::Says(vec![], vec![("plan", plan)])],
        );
        until(|| !stage.script.asked("health").is_empty()).await;
        let (_, calls, done) = stage.ask(WORDS).await;
        assert_eq!((calls.len(), done.end), (4, TurnEnd::Answered));
        assert_eq!(stage.script.asked("think").len(), 2);
        assert_eq!(stage.script.asked("act")[1], "act c2 text_stats {\"text\":{\"$ref\":\"c1#/content\"}}");
    });
}

#[test]
fn endless_thought_is_stopped_in_time_and_mind_is_notified() {
    run(async {
        let mut stage = Stage::thinking(&[], vec![ScriptedThought::Hangs]);
        until(|| !stage.script.asked("health").is_empty()).await;
        let before = tokio::time::Instant::now();
        let (_, _, done) = stage.ask(WORDS).await;
        assert_eq!(done.end, TurnEnd::Broken);
        assert!(before.elapsed().as_millis() <= u128::from(THINKING_WITHIN_MS) + 1_000);
    });
}

#[test]
fn a_turn_that_is_cancelled_stops_its_thought() {
    run(async {
        let mut stage = Stage::thinking(&[], vec![ScriptedThought::Hangs]);
        until(|| !stage.script.asked("health").is_empty()).await;
        let turn = TurnId::new();
        stage.open(turn, WORDS.as_bytes()).await.unwrap();
        until(|| !stage.script.asked("think").is_empty()).await;
        stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap();
        assert_eq!(stage.listen().await.2.end, TurnEnd::Cancelled);
        assert_eq!(stage.script.asked("stop_thinking"), ["stop_thinking 1"]);
    });
}

#[test]
fn a_hundred_turns_think_at_once_and_each_comes_to_its_end() {
    run(async {
        const { assert!(MAX_TURNS >= 100) };
        let mut stage = Stage::thinking(&[("fs_read", file("x"))], Vec::new());
        until(|| !stage.script.asked("health").is_empty()).await;
        for _ in 0..100 {
            stage.open(TurnId::new(), WORDS.as_bytes()).await.unwrap();
        }
        for _ in 0..100 {
            assert_eq!(stage.listen().await.2.end, TurnEnd::Answered);
        }
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn a_missing_tool_is_wished_for_when_the_turn_closes() {
    run(async {
        let wish = json!({"summary": "Paint a fence", "inputs": {"colour": "string"}});
        let thoughts = vec![ScriptedThought::Says(vec![], vec![("missing", wish)]), says("I cannot paint.")];
        let mut stage = Stage::thinking(&[], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        stage.ask(WORDS).await;
        assert_eq!(stage.script.asked("close_turn"), ["close_turn answered Paint a fence colour:string"]);
    });
}

#[test]
fn suspended_turn_resumes_at_another_planner() {
    run(async {
        let calls = vec![("fs_read", json!({"path": "a"})), ("text_stats", json!({"text": "x"}))];
        let thoughts = vec![ScriptedThought::Says(vec!["One moment."], calls), says("All done.")];
        let mut stage = Stage::thinking(&[("fs_read", file("x")), ("text_stats", Fate::Asks)], thoughts);
        until(|| !stage.script.asked("health").is_empty()).await;
        let turn = TurnId::new();
        stage.open(turn, WORDS.as_bytes()).await.unwrap();
        let (text, _, done) = stage.listen().await;
        assert_eq!((text.as_str(), done.end), ("One moment.", TurnEnd::Suspended));
        assert!(stage.script.asked("close_turn").is_empty() && stage.script.asked("end_turn").is_empty());
        assert_eq!(stage.planner.turns(), 0);
        // Another planner, which has never heard of it.
        let script = std::rc::Rc::clone(&stage.script);
        let mut stage = Stage::of(script);
        until(|| stage.script.asked("health").len() >= 3).await;
        let act = SettledAct {
            executor: "text_stats".into(),
            ran: true,
            outcome: Outcome::Ok,
            handle: HandleId::NONE,
            label: Label::CLEAN,
            bytes: 3,
        };
        let resume = |acts| ResumeTurn { turn, acts };
        stage.door.resume_turn(TraceId::NONE, resume(vec![act]), []).await.unwrap();
        let (text, _, done) = stage.listen().await;
        assert_eq!((text.as_str(), done.end), ("\nAll done.", TurnEnd::Answered));
        assert_eq!(stage.script.asked("close_turn"), ["close_turn answered "]);
        let prompts = stage.script.model.borrow().as_ref().unwrap().prompts.clone();
        assert!(json!(prompts[1]).to_string().contains("c2 text_stats: done, with the person's word"));
        // Once only.
        let again = stage.door.resume_turn(TraceId::NONE, resume(Vec::new()), []).await;
        assert!(matches!(again, Err(RpcError::Refused(no)) if no.rule == "turn.not_suspended"));
        assert_eq!(stage.planner.turns(), 0);
    });
}
