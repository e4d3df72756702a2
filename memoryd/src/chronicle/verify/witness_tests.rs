//! Stories whose witnesses do not agree: each lie has its finding, and an honest story has none.
#![allow(clippy::unwrap_used)]

use metnos_proto::ids::{Blake3, CallId, TraceId};
use metnos_proto::msg::common::Trust;
use metnos_proto::role::RoleName;

use super::witness::{Testimony, Witness};
use crate::chronicle::event::{Draft, Event, EventType, GENESIS};
use crate::chronicle::payload::{OwnerMessage, PolicyDecision, RunEnded, RunStarted, TurnClose, TurnOpen, WorldAction};
use crate::chronicle::testing::{MORNING, draft, turn};

fn call(n: u8) -> CallId {
    CallId::from_bytes([n; 16])
}

fn told(role: RoleName, kind: EventType, payload: String) -> Draft {
    Draft {
        emitter: role,
        turn_id: Some(turn(1)),
        trace_id: Some(TraceId::from_bytes([1; 16])),
        trust: Trust::System,
        ..draft(kind, &payload)
    }
}

fn words() -> Draft {
    let payload =
        OwnerMessage { lang: "en".into(), mark: String::new(), standing: "owner".into(), text: "read it".into() };
    told(RoleName::Gatewayd, EventType::OwnerMessage, payload.encode())
}

fn direct() -> Draft {
    let payload = TurnOpen {
        candidates: Vec::new(),
        direct: true,
        executor: "fs_read".into(),
        identity: String::new(),
        nonce: String::new(),
        shown: Vec::new(),
    };
    told(RoleName::Policyd, EventType::TurnOpen, payload.encode())
}

fn decision_of(n: u8, verdict: &str) -> PolicyDecision {
    PolicyDecision {
        arguments: "{}".into(),
        arguments_digest: Blake3::of(b"{}").to_string(),
        arguments_encoding: "utf-8".into(),
        call: call(n).to_string(),
        executor: "fs_read".into(),
        place: "c1".into(),
        rule: "r".into(),
        verdict: verdict.into(),
        version: "1.0.0".into(),
        why: String::new(),
    }
}

fn decided(n: u8, verdict: &str) -> Draft {
    told(RoleName::Policyd, EventType::PolicyDecision, decision_of(n, verdict).encode())
}

fn start_of(n: u8, decision_seq: u64) -> RunStarted {
    RunStarted {
        arguments_digest: Blake3::of(b"{}").to_string(),
        call: call(n).to_string(),
        decision_seq,
        executor: "fs_read".into(),
        inputs: Vec::new(),
        place: "c1".into(),
        profile: String::new(),
        version: "1.0.0".into(),
    }
}

fn started(n: u8, decision_seq: u64) -> Draft {
    told(RoleName::Sandboxd, EventType::RunStarted, start_of(n, decision_seq).encode())
}

fn ended(n: u8, started_seq: u64) -> Draft {
    let payload = RunEnded {
        call: call(n).to_string(),
        carrier: String::new(),
        cpu_us: 0,
        error_class: String::new(),
        executor: "fs_read".into(),
        outcome: "ok".into(),
        output_bytes: 0,
        peak_kib: 0,
        result: String::new(),
        started_seq,
        version: "1.0.0".into(),
        visits: Vec::new(),
        wall_us: 0,
        written_bytes: 0,
    };
    told(RoleName::Sandboxd, EventType::RunEnded, payload.encode())
}

fn closed() -> Draft {
    let payload = TurnClose { end: "answered".into(), signature: String::new(), wish: String::new() };
    told(RoleName::Planner, EventType::TurnClose, payload.encode())
}

/// The findings about a story whose first line has number 1.
fn heard(story: impl IntoIterator<Item = Draft>) -> Vec<String> {
    let mut witness = Witness::default();
    let mut kinds = Vec::new();
    for (at, draft) in story.into_iter().enumerate() {
        let event = Event::seal(draft, at as u64 + 1, GENESIS, MORNING);
        witness.observe(&Testimony::from(&event), &mut |finding| kinds.push(finding.kind));
    }
    kinds
}

fn kept(n: u8, started_seq: u64) -> Draft {
    let payload = WorldAction {
        before: "{}".into(),
        call: call(n).to_string(),
        executor: "fs_read".into(),
        started_seq,
        version: "1.0.0".into(),
    };
    told(RoleName::Sandboxd, EventType::WorldAction, payload.encode())
}

#[test]
fn what_a_call_keeps_it_keeps_while_it_runs() {
    let story = |lines: Vec<Draft>| heard([vec![words(), decided(1, "allow"), started(1, 2)], lines].concat());
    assert!(story(vec![kept(1, 3), ended(1, 3), closed()]).is_empty());
    for wrong in [vec![kept(1, 2)], vec![ended(1, 3), kept(1, 3)], vec![kept(2, 3)]] {
        assert_eq!(story(wrong), ["kept_without_run"]);
    }
    let lie = Draft { emitter: RoleName::Planner, ..kept(1, 3) };
    assert_eq!(story(vec![lie]), ["emitter"]);
}

#[test]
fn an_honest_story_has_no_finding() {
    assert!(heard([words(), decided(1, "allow"), started(1, 2), ended(1, 3), closed()]).is_empty());
    assert!(heard([direct(), decided(1, "deny"), closed()]).is_empty());
    assert!(
        heard([words(), decided(1, "ask"), decided(1, "allow"), started(1, 3)]).is_empty(),
        "no end: it was killed"
    );
    assert!(heard([words(), decided(1, "allow"), started(1, 2), closed(), ended(1, 3)]).is_empty(), "it ended late");
}

#[test]
fn a_run_without_a_decision_is_an_alarm_whatever_the_decision_lacks() {
    assert_eq!(heard([words(), started(1, 1)]), ["execution_without_decision"]);
    for verdict in ["deny", "ask"] {
        assert_eq!(heard([words(), decided(1, verdict), started(1, 2)]), ["execution_without_decision"]);
    }
    let after = heard([words(), started(1, 2), decided(1, "allow")]);
    assert_eq!(after, ["execution_without_decision"], "a decision after the fact is none");
}

#[test]
fn a_run_that_differs_from_its_decision_is_an_alarm_for_every_difference() {
    let changed = |change: fn(&mut RunStarted)| {
        let mut payload = start_of(1, 2);
        change(&mut payload);
        told(RoleName::Sandboxd, EventType::RunStarted, payload.encode())
    };
    let mut elsewhere = started(1, 2);
    elsewhere.turn_id = Some(turn(2));
    let mut traced = started(1, 2);
    traced.trace_id = None;
    for run in [
        changed(|run| run.decision_seq = 1),
        changed(|run| run.executor = "shell_run".into()),
        changed(|run| run.version = "2.0.0".into()),
        changed(|run| run.arguments_digest = Blake3::of(b"{\"path\":\"/etc/shadow\"}").to_string()),
        changed(|run| run.arguments_digest = String::new()),
        elsewhere,
        traced,
    ] {
        assert_eq!(heard([words(), decided(1, "allow"), run]), ["decision_altered"]);
    }
}

#[test]
fn a_decision_whose_arguments_do_not_have_their_digest_was_altered() {
    let mut payload = decision_of(1, "allow");
    payload.arguments = "{\"path\":\"x\"}".into();
    let lie = told(RoleName::Policyd, EventType::PolicyDecision, payload.encode());
    assert_eq!(heard([words(), lie]), ["decision_altered"]);
}

#[test]
fn nothing_is_decided_started_or_ended_twice_also_after_the_turn() {
    let run = || vec![words(), decided(1, "allow"), started(1, 2), ended(1, 3)];
    let with = |more: Draft| [run(), vec![more]].concat();
    let late = |more: Draft| [run(), vec![closed(), more]].concat();
    assert_eq!(heard(with(decided(1, "allow"))), ["decision_twice"]);
    assert_eq!(heard(with(started(1, 2))), ["started_twice"]);
    assert_eq!(heard(with(ended(1, 3))), ["ended_twice"]);
    assert_eq!(heard(late(started(1, 2))), ["started_twice"]);
    assert_eq!(heard(late(ended(1, 3))), ["ended_twice"]);
    assert_eq!(heard(late(decided(1, "allow"))), ["decision_after_close", "decision_twice"]);
    assert_eq!(heard(late(decided(2, "allow"))), ["decision_after_close"]);
}

#[test]
fn an_end_without_a_start_or_with_another_is_an_alarm() {
    assert_eq!(heard([words(), ended(1, 1)]), ["ended_without_start"]);
    assert_eq!(heard([words(), decided(1, "allow"), ended(1, 2)]), ["ended_without_start"]);
    assert_eq!(heard([words(), decided(1, "allow"), started(1, 2), ended(1, 2)]), ["run_altered"]);
}

#[test]
fn a_decision_needs_words_before_it_or_the_owners_direct_call() {
    assert_eq!(heard([decided(1, "allow"), decided(2, "deny")]), ["words_missing"], "told once a turn");
    assert_eq!(heard([decided(1, "deny"), words()]), ["words_missing"], "words after the fact are none");
    let mut planned = direct();
    planned.emitter = RoleName::Planner;
    assert_eq!(heard([planned, decided(1, "deny")]), ["words_missing"], "a planner has no direct calls");
    let mut homeless = decided(1, "deny");
    homeless.turn_id = None;
    assert_eq!(heard([homeless]), ["words_missing"]);
    assert_eq!(heard([words(), words()]), ["turn_twice"]);
    assert_eq!(heard([words(), closed(), words()]), ["turn_twice"]);
}

#[test]
fn each_event_type_is_accepted_from_its_daemon_only() {
    for (honest, role) in [
        (words(), RoleName::Planner),
        (words(), RoleName::Memoryd),
        (decided(1, "deny"), RoleName::Planner),
        (decided(1, "deny"), RoleName::Gatewayd),
        (closed(), RoleName::Sandboxd),
    ] {
        let lie = Draft { emitter: role, ..honest };
        assert!(heard([words(), lie]).contains(&"emitter".to_owned()));
    }
    let lie = Draft { emitter: RoleName::Planner, ..started(1, 2) };
    assert_eq!(heard([words(), decided(1, "allow"), lie]), ["emitter"]);
}

#[test]
fn a_payload_that_is_not_of_its_type_is_a_finding_and_not_a_crash() {
    for kind in [
        EventType::OwnerMessage,
        EventType::TurnOpen,
        EventType::PolicyDecision,
        EventType::RunStarted,
        EventType::RunEnded,
        EventType::TurnClose,
    ] {
        let found = heard([draft(kind, "{}")]);
        assert!(found.contains(&"payload".to_owned()), "{kind:?}");
    }
    let mut nameless = decision_of(1, "allow");
    nameless.call = "x".into();
    assert_eq!(heard([words(), told(RoleName::Policyd, EventType::PolicyDecision, nameless.encode())]), ["payload"]);
}
