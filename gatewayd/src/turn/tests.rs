//! The planner on real channels, with a scripted policyd and memoryd at their ends.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use metnos_proto::edge::{AskError, No, Served};
use metnos_proto::edges::{
    DoorPlanner, PlannerMemoryd, PlannerMind, PlannerPolicyd, door_planner, planner_memoryd, planner_mind,
    planner_policyd,
};
use metnos_proto::ids::{CallId, HandleId, TraceId, TurnId};
use metnos_proto::link_async::{Client, Cx};
use metnos_proto::msg::common::{Channel, Done, Label, Lang, Outcome, Refusal, RefusalCode, Resources};
use metnos_proto::msg::memoryd::{BeginTurn, CloseTurn, TurnBegun, TurnClosed};
use metnos_proto::msg::mind::{MindHealth, MindReport, StopThinking, Think, ThinkingStopped, Thought};
use metnos_proto::msg::planner::{CallState, CancelTurn, MAX_TEXT, OpenTurn, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::{
    Act, Acted, CallProgress, EndTurn, FundTurn, Intent, IntentFrozen, Ran, Release, Released, TurnFunded,
};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{CLOSE_WITHIN_MS, MAX_TURNS, MAX_WHY, MAX_WISH, Planner, TURN_WITHIN_MS};
use crate::testing::{candidates, client, ends, envelope, run, sealed, until};

/// What policyd makes of a call of an executor.
#[derive(Clone)]
enum Fate {
    Ok(Value),
    Error(&'static str),
    Ends(Outcome),
    Denied,
    Hangs,
}

/// policyd, memoryd and mind, as the test wants them; they write down what they were asked.
struct Script {
    fates: RefCell<HashMap<&'static str, Fate>>,
    asked: RefCell<Vec<String>>,
    results: RefCell<HashMap<HandleId, Value>>,
    envelope: RefCell<Vec<u8>>,
    has_begun: Cell<bool>,
    closes: Cell<bool>,
    reason: RefCell<String>,
}

impl Script {
    fn note(&self, what: impl Into<String>) {
        self.asked.borrow_mut().push(what.into());
    }

    fn asked(&self, word: &str) -> Vec<String> {
        self.asked.borrow().iter().filter(|ask| ask.starts_with(word)).cloned().collect()
    }
}

impl planner_policyd::Serve for Script {
    async fn intent(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, ask: Intent, []: [Sealed; 0]) -> Served<IntentFrozen, 0> {
        for slot in &ask.slots {
            let literals: Vec<String> = slot.literals.iter().map(|l| format!("{}={}", l.pointer, l.json)).collect();
            self.note(format!("intent {} {}", slot.executor, literals.join(" ")));
        }
        Ok((IntentFrozen { frozen: 0, ignored: Vec::new() }, []))
    }

    async fn act(self: Rc<Self>, cx: Cx<PlannerPolicyd>, ask: Act, [arguments]: [Sealed; 1]) -> Served<Acted, 0> {
        let arguments = String::from_utf8(arguments.read().unwrap()).unwrap();
        self.note(format!("act {} {} {arguments}", ask.call, ask.executor));
        let progress = CallProgress { turn: ask.turn, call: ask.call, done: 1, total: 2 };
        cx.notes().send(planner_policyd::Note::CallProgress(progress)).await.unwrap();
        let fate = self.fates.borrow().get(ask.executor.as_str()).cloned();
        let (outcome, result) = match fate {
            Some(Fate::Ok(result)) => (Outcome::Ok, result),
            Some(Fate::Error(message)) => {
                (Outcome::Error, json!({"ok": false, "error": {"class": "NotFound", "message": message}}))
            }
            Some(Fate::Ends(outcome)) => (outcome, Value::Null),
            Some(Fate::Hangs) => std::future::pending().await,
            Some(Fate::Denied) | None => {
                let refusal =
                    Refusal::new(RefusalCode::Denied, "guard.path", "that path is forbidden").remedy("use another");
                let reason = self.reason.borrow().clone();
                let refusal = if reason.is_empty() { refusal } else { Refusal::new(RefusalCode::Denied, "x", reason) };
                return Ok((Acted::Denied(refusal), []));
            }
        };
        let handle = HandleId::new();
        self.results.borrow_mut().insert(handle, result);
        let resources = Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE };
        let ran = Ran { call: CallId::new(), handle, outcome, label: Label::CLEAN, leaves: Vec::new(), resources };
        Ok((Acted::Ran(ran), []))
    }

    async fn release(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, ask: Release, []: [Sealed; 0]) -> Served<Released, 1> {
        let result = self.results.borrow().get(&ask.handle).cloned().unwrap();
        self.note(format!("release {}", result["ok"]));
        Ok((Released { context: Label::CLEAN }, [sealed(result.to_string().as_bytes())]))
    }

    async fn fund_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerPolicyd>,
        _ask: FundTurn,
        _fds: [Sealed; 0],
    ) -> Served<TurnFunded, 0> {
        panic!("the reflex never thinks")
    }

    async fn end_turn(self: Rc<Self>, _cx: Cx<PlannerPolicyd>, _ask: EndTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note("end_turn");
        Ok((Done {}, []))
    }
}

impl planner_memoryd::Serve for Script {
    async fn begin_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        _ask: BeginTurn,
        []: [Sealed; 0],
    ) -> Served<TurnBegun, 1> {
        self.note("begin_turn");
        self.has_begun.set(true);
        Ok((TurnBegun { nonce: 1 }, [sealed(&self.envelope.borrow())]))
    }

    async fn close_turn(
        self: Rc<Self>,
        _cx: Cx<PlannerMemoryd>,
        ask: CloseTurn,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        if !self.has_begun.get() {
            return Err(No::Violation("closed before it began".into()));
        }
        if !self.closes.get() {
            std::future::pending::<()>().await;
        }
        self.note(format!("close_turn {} {}", ask.end.name(), ask.wish));
        Ok((TurnClosed { mnests: 0 }, []))
    }
}

impl planner_mind::Serve for Script {
    async fn health(self: Rc<Self>, _cx: Cx<PlannerMind>, _ask: MindHealth, []: [Sealed; 0]) -> Served<MindReport, 0> {
        self.note("health");
        Ok((MindReport { roles: Vec::new(), says: "none".into() }, []))
    }

    async fn think(self: Rc<Self>, _cx: Cx<PlannerMind>, _ask: Think, _fds: [Sealed; 1]) -> Served<Thought, 2> {
        panic!("the reflex never thinks")
    }

    async fn stop_thinking(
        self: Rc<Self>,
        _cx: Cx<PlannerMind>,
        _ask: StopThinking,
        _fds: [Sealed; 0],
    ) -> Served<ThinkingStopped, 0> {
        panic!("the reflex never thinks")
    }
}

/// A planner between a door that the test plays and the script.
struct Stage {
    planner: Rc<Planner>,
    script: Rc<Script>,
    door: Rc<Client<DoorPlanner>>,
    notes: mpsc::Receiver<door_planner::Note>,
    policyd: JoinHandle<metnos_proto::link_async::Closed>,
    link: JoinHandle<metnos_proto::link_async::Closed>,
}

impl Stage {
    fn new(fates: &[(&'static str, Fate)]) -> Self {
        let script = Rc::new(Script {
            fates: RefCell::new(fates.iter().cloned().collect()),
            asked: RefCell::default(),
            results: RefCell::default(),
            envelope: RefCell::new(serde_json::to_vec(&envelope(candidates(), Lang::En)).unwrap()),
            has_begun: Cell::new(false),
            closes: Cell::new(true),
            reason: RefCell::default(),
        });
        let (policyd, end) = ends::<PlannerPolicyd>(1, None);
        let served = tokio::task::spawn_local(planner_policyd::serve(end, Rc::clone(&script)));
        let (memoryd, end) = ends::<PlannerMemoryd>(1, None);
        tokio::task::spawn_local(planner_memoryd::serve(end, Rc::clone(&script)));
        let (mind, end) = ends::<PlannerMind>(1, None);
        tokio::task::spawn_local(planner_mind::serve(end, Rc::clone(&script)));
        let planner = Planner::new(client(policyd), client(memoryd), client(mind), TURN_WITHIN_MS);
        planner.start();
        let (door, end) = ends::<DoorPlanner>(1, None);
        let link = tokio::task::spawn_local(door_planner::serve(end, Rc::clone(&planner)));
        let door = client(door);
        let notes = door.take_notes().unwrap();
        Self { planner, script, door, notes, policyd: served, link }
    }

    async fn open(&self, turn: TurnId, words: &[u8]) -> Result<(), AskError> {
        let open = OpenTurn { turn, trace: TraceId::new(), channel: Channel::Cli, lang: Lang::En };
        self.door.open_turn(TraceId::new(), open, [sealed(words)]).await.map(|_| ())
    }

    /// Says words and listens until the turn is done: the text, the states of calls, the end.
    async fn ask(&mut self, words: &str) -> (String, Vec<(u16, CallState)>, TurnDone) {
        self.open(TurnId::new(), words.as_bytes()).await.unwrap();
        self.listen().await
    }

    async fn listen(&mut self) -> (String, Vec<(u16, CallState)>, TurnDone) {
        let (mut text, mut calls) = (String::new(), Vec::new());
        loop {
            match self.notes.recv().await.unwrap() {
                door_planner::Note::Text(note) => {
                    assert!(note.text.len() <= MAX_TEXT);
                    text.push_str(&note.text);
                }
                door_planner::Note::Call(call) => calls.push((call.call.0, call.state)),
                door_planner::Note::Progress(progress) => assert_eq!((progress.done, progress.total), (1, 2)),
                door_planner::Note::TurnDone(done) => return (text, calls, done),
            }
        }
    }
}

fn file(content: &str) -> Fate {
    Fate::Ok(json!({"ok": true, "path": "p", "content": content, "size": 1, "lines": 1, "sha": "x"}))
}

fn stats() -> Fate {
    Fate::Ok(json!({"ok": true, "words": 120, "lines": 20, "characters": 800}))
}

#[test]
fn a_turn_goes_through_every_door_in_order_and_answers_byte_for_byte() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("# Hello\nno newline"))]);
        let (text, calls, done) = stage.ask("read notes/welcome.md").await;
        assert_eq!(text, "# Hello\nno newline");
        assert_eq!(calls, [(1, CallState::Started), (1, CallState::Succeeded)]);
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Answered, ""));
        let mut asked = stage.script.asked.borrow().clone();
        asked.retain(|ask| ask != "health");
        // The last two are told side by side.
        asked[4..].sort();
        assert_eq!(
            asked,
            [
                "begin_turn",
                "intent fs_read /path=\"notes/welcome.md\"",
                "act c1 fs_read {\"path\":\"notes/welcome.md\"}",
                "release true",
                "close_turn answered ",
                "end_turn",
            ]
        );
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn a_chain_runs_by_reference_and_only_its_last_result_is_released() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("secret")), ("text_stats", stats())]);
        let (text, _, done) = stage.ask("how many words are in notes/welcome.md").await;
        assert_eq!(text, "notes/welcome.md: 120 words, 20 lines, 800 characters\n");
        assert_eq!(done.end, TurnEnd::Answered);
        assert_eq!(stage.script.asked("release").len(), 1);
        assert_eq!(stage.script.asked("act")[1], "act c2 text_stats {\"text\":{\"$ref\":\"c1#/content\"}}");
    });
}

#[test]
fn several_texts_are_told_apart() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        let (text, _, done) = stage.ask("read notes/a.md and notes/b.md").await;
        assert_eq!(text, "==> notes/a.md <==\nx\n==> notes/b.md <==\nx\n");
        assert_eq!(done.end, TurnEnd::Answered);
    });
}

#[test]
fn a_denied_call_ends_the_turn_with_the_reason_and_the_remedy() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        let (text, calls, done) = stage.ask("read /etc/shadow").await;
        assert!(text.is_empty());
        assert_eq!(calls.last().unwrap().1, CallState::Denied);
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Denied, "that path is forbidden (use another)"));
        assert!(stage.script.asked("release").is_empty());
        assert_eq!(stage.script.asked("close_turn"), ["close_turn denied "]);
    });
}

#[test]
fn a_denied_call_is_asked_once_though_the_words_ask_twice() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        let (_, _, done) = stage.ask("read /etc/shadow and /etc/shadow").await;
        assert_eq!(done.end, TurnEnd::Denied);
        assert_eq!(stage.script.asked("act").len(), 1);
    });
}

#[test]
fn an_error_is_told_and_what_depends_on_it_does_not_run() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Error("notes/x.md does not exist")), ("text_stats", stats())]);
        let (text, _, done) = stage.ask("how many words are in notes/x.md").await;
        assert!(text.is_empty());
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Unsuccessful, "not found: notes/x.md does not exist"));
        assert_eq!(stage.script.asked("act").len(), 1);
    });
}

#[test]
fn a_run_without_a_result_is_told_without_a_release() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Ends(Outcome::Timeout))]);
        let (_, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!((done.end, done.why.as_str()), (TurnEnd::Unsuccessful, "fs_read took longer than granted."));
        assert!(stage.script.asked("release").is_empty());
    });
}

#[test]
fn words_that_are_not_understood_cause_no_call_and_become_a_wish() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        let (text, calls, done) = stage.ask("paint the fence").await;
        assert!(text.is_empty() && calls.is_empty());
        assert_eq!(done.end, TurnEnd::NotUnderstood);
        assert!(done.why.contains("No language model is configured"), "{}", done.why);
        assert_eq!(stage.script.asked("close_turn"), ["close_turn not_understood paint the fence"]);
        assert!(stage.script.asked("intent").is_empty());
    });
}

#[test]
fn a_long_answer_comes_in_pieces_that_make_it_up_exactly() {
    run(async {
        let content = "è€𝄞x".repeat(30_000);
        let mut stage = Stage::new(&[("fs_read", file(&content))]);
        let (text, _, _) = stage.ask("read notes/long.md").await;
        assert!(text == content);
    });
}

#[test]
fn a_result_that_lies_about_its_form_is_not_shown() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Ok(json!({"ok": "maybe"})))]);
        let (text, _, done) = stage.ask("read notes/x.md").await;
        assert!(text.is_empty());
        assert_eq!(
            (done.end, done.why.as_str()),
            (TurnEnd::Unsuccessful, "fs_read returned something that I cannot read.")
        );
    });
}

#[test]
fn policyd_gone_in_the_middle_breaks_the_turn_with_a_clear_sentence() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        stage.policyd.abort();
        let (_, _, done) = stage.listen().await;
        assert_eq!(done.end, TurnEnd::Broken);
        assert!(done.why.to_lowercase().contains("policyd is not running"), "{}", done.why);
        assert_eq!(stage.planner.turns(), 0);
    });
}

#[test]
fn a_turn_that_takes_too_long_is_broken_off() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        let before = tokio::time::Instant::now();
        let (_, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!(done.end, TurnEnd::Broken);
        assert_eq!(before.elapsed().as_secs(), TURN_WITHIN_MS / 1000);
        assert_eq!(stage.script.asked("end_turn").len(), 1);
    });
}

#[test]
fn a_cancelled_turn_ends_and_starts_no_further_call() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Hangs), ("text_stats", stats())]);
        let turn = TurnId::new();
        stage.open(turn, b"how many words are in notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        let (cancelled, []) = stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap();
        assert!(cancelled.was_open);
        let (_, _, done) = stage.listen().await;
        assert_eq!(done.end, TurnEnd::Cancelled);
        assert_eq!(stage.script.asked("act").len(), 1);
        assert_eq!(stage.script.asked("close_turn"), ["close_turn cancelled "]);
        let (cancelled, []) = stage.door.cancel_turn(TraceId::NONE, CancelTurn { turn }, []).await.unwrap();
        assert!(!cancelled.was_open);
    });
}

#[test]
fn a_turn_whose_door_went_away_is_closed_all_the_same() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        until(|| !stage.script.asked("act").is_empty()).await;
        stage.link.abort();
        until(|| stage.planner.turns() == 0).await;
        assert_eq!(stage.script.asked("close_turn"), ["close_turn cancelled "]);
    });
}

#[test]
fn an_envelope_that_cannot_be_read_breaks_the_turn() {
    run(async {
        let mut other = envelope(candidates(), Lang::En);
        other.nonce = 7;
        for bytes in [b"{}".to_vec(), b"\xff".to_vec(), serde_json::to_vec(&other).unwrap()] {
            let mut stage = Stage::new(&[("fs_read", file("x"))]);
            *stage.script.envelope.borrow_mut() = bytes;
            let (text, _, done) = stage.ask("read notes/x.md").await;
            assert!(text.is_empty());
            assert_eq!(done.end, TurnEnd::Broken);
            assert!(stage.script.asked("act").is_empty());
        }
    });
}

#[test]
fn as_many_turns_as_the_limit_run_at_once_and_one_more_is_refused() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        for _ in 0..MAX_TURNS {
            stage.open(TurnId::new(), b"read notes/x.md").await.unwrap();
        }
        let refused = stage.open(TurnId::new(), b"read notes/x.md").await;
        assert!(matches!(refused, Err(AskError::Refused(refusal)) if refusal.code == RefusalCode::Busy));
    });
}

#[test]
fn words_beyond_the_limit_or_of_no_text_are_refused() {
    run(async {
        let mut stage = Stage::new(&[]);
        for words in [vec![b'x'; crate::reflex::MAX_WORDS + 1], b"\xff\xfe".to_vec()] {
            let refused = stage.open(TurnId::new(), &words).await;
            assert!(matches!(refused, Err(AskError::Refused(refusal)) if refusal.code == RefusalCode::Invalid));
        }
        stage.open(TurnId::new(), &vec![b'x'; crate::reflex::MAX_WORDS]).await.unwrap();
        assert_eq!(stage.listen().await.2.end, TurnEnd::NotUnderstood);
    });
}

#[test]
fn the_same_turn_opened_twice_is_a_breach_of_protocol() {
    run(async {
        let stage = Stage::new(&[("fs_read", Fate::Hangs)]);
        let turn = TurnId::new();
        stage.open(turn, b"read notes/x.md").await.unwrap();
        assert!(matches!(stage.open(turn, b"read notes/x.md").await, Err(AskError::Gone(_))));
    });
}

#[test]
fn mind_is_asked_for_its_health_once_per_link() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        stage.ask("read notes/a.md").await;
        stage.ask("read notes/b.md").await;
        assert_eq!(stage.script.asked("health").len(), 1);
    });
}

#[test]
fn a_wish_is_cut_to_its_limit() {
    run(async {
        for bytes in [MAX_WISH, MAX_WISH + 1] {
            let mut stage = Stage::new(&[]);
            stage.ask(&"x".repeat(bytes)).await;
            let closed = stage.script.asked("close_turn not_understood ");
            assert_eq!(closed[0].len(), "close_turn not_understood ".len() + MAX_WISH);
        }
    });
}

#[test]
fn a_reason_is_cut_to_its_limit() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", Fate::Denied)]);
        for (bytes, kept) in [(MAX_WHY, MAX_WHY), (MAX_WHY + 1, MAX_WHY)] {
            stage.script.reason.replace("x".repeat(bytes));
            let (_, _, done) = stage.ask("read notes/x.md").await;
            assert_eq!(done.why.len(), kept);
        }
    });
}

#[test]
fn a_turn_that_cannot_be_closed_in_time_ends_all_the_same() {
    run(async {
        let mut stage = Stage::new(&[("fs_read", file("x"))]);
        stage.script.closes.set(false);
        let before = tokio::time::Instant::now();
        let (text, _, done) = stage.ask("read notes/x.md").await;
        assert_eq!((text.as_str(), done.end), ("x", TurnEnd::Answered));
        assert!(before.elapsed() <= std::time::Duration::from_millis(CLOSE_WITHIN_MS + 50));
    });
}
