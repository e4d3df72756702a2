//! A sandboxd that lies, and a planner that does: nothing they say widens what happens.

use crate::peers::sandbox::Lie;
use crate::peers::{World, act, denied, ran, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::ids::{CallId, HandleId, TraceId, TurnId};
use metnos_proto::msg::common::{ExecutorId, RefusalCode};
use metnos_proto::msg::policyd::{EndTurn, Intent, Release, Slot};
use metnos_proto::msg::sandboxd::{Quarantined, RunProgress};
use serde_json::json;

const NO: TraceId = TraceId::NONE;

fn refusal(error: RpcError) -> (RefusalCode, String) {
    match error {
        RpcError::Refused(refusal) => (refusal.code, refusal.rule),
        other @ (RpcError::Gone(_) | RpcError::Late { .. } | RpcError::Violation(..) | RpcError::Unsendable(_)) => {
            panic!("{other}")
        }
    }
}

#[test]
fn a_report_that_does_not_hold_gives_no_result() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        for lie in [Lie::WrongDigest, Lie::ManyLeaves, Lie::ForeignInput] {
            world.sandbox.lie.set(lie);
            let turn = world.say("read").await;
            let error = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap_err();
            assert_eq!(refusal(error).0, RefusalCode::Internal, "{lie:?}");
            world.until("event violation: sandboxd's report").await;
            world.took();
            // What left no result cannot be referred to.
            world.sandbox.lie.set(Lie::None);
            let by_reference = json!({"text": {"$ref": "c1#/content"}});
            let acted = planner.act(NO, act(turn, 2, "fs_read"), [sealed(&by_reference)]).await.unwrap().0;
            assert_eq!(denied(acted), "arguments.reference");
            world.took();
        }
    });
}

#[test]
fn a_reference_that_is_resolved_to_something_else_stops_the_call() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.result.replace(json!({"ok": true, "content": "notes/a.md"}));
        ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        world.sandbox.lie.set(Lie::WrongValue);
        world.took();
        let by_reference = json!({"path": {"$ref": "c1#/content"}});
        let acted = planner.act(NO, act(turn, 2, "fs_read"), [sealed(&by_reference)]).await.unwrap().0;
        assert_eq!(denied(acted), "arguments.reference");
        world.until("event violation").await;
        assert!(!world.took().iter().any(|line| line.starts_with("run")));
    });
}

#[test]
fn call_refused_by_sandboxd_counts_as_not_run() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.lie.set(Lie::Refuses);
        let acted = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0;
        assert_eq!(denied(acted), "verify.digest");
        world.until("event refused: fs_read 1.0.0 was allowed").await;
    });
}

#[test]
fn refusal_reveals_no_unreleased_value() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        world.sandbox.result.replace(json!({"ok": true, "content": "/etc/the-secret", "size": 5}));
        ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        for (place, pointer, rule) in [(2, "/content", "guard.path"), (3, "/size", "schema.input")] {
            let by_reference = json!({"path": {"$ref": format!("c1#{pointer}")}});
            let acted = planner.act(NO, act(turn, place, "fs_read"), [sealed(&by_reference)]).await.unwrap().0;
            let metnos_proto::msg::policyd::Acted::Denied(refusal) = acted else { panic!("it ran") };
            assert_eq!(refusal.rule, rule);
            assert!(refusal.why.contains(pointer), "{}", refusal.why);
            assert!(!format!("{refusal:?}").contains("secret") && !refusal.why.contains("`5`"), "{refusal:?}");
        }
    });
}

#[test]
fn notes_of_unknown_turns_change_nothing_and_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        for n in 0..100 {
            let id = ExecutorId { name: format!("made_up_{n}\n"), version: "x".repeat(100) };
            world.sandbox.tell(Note::Quarantined(Quarantined { id, why: "because".repeat(1_000) })).await;
            world.sandbox.tell(Note::RunProgress(RunProgress { call: CallId::new(), done: 9, total: 1 })).await;
        }
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        ran(planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        world.until("event violation: sandboxd sets aside").await;
        assert!(world.took().iter().filter(|line| line.starts_with("event")).count() <= 16);
    });
}

#[test]
fn a_planner_that_speaks_of_what_is_not_its_own_gets_nothing() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let mine = world.planner(1).await;
        let turn = world.say("read").await;
        let made_up = TurnId::new();
        let error = mine.act(NO, act(made_up, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap_err();
        assert_eq!(refusal(error), (RefusalCode::Unknown, "turn.unknown".to_owned()));
        let error = mine.end_turn(NO, EndTurn { turn: made_up }, []).await.unwrap_err();
        assert_eq!(refusal(error).1, "turn.unknown");
        ran(mine.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0);
        let thief = world.planner(2).await;
        let stolen = thief.act(NO, act(turn, 2, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await;
        assert!(matches!(stolen, Err(RpcError::Gone(_))));
    });
}

#[test]
fn words_out_of_their_phase_close_the_channel() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let turn = world.say("read").await;
        let planner = world.planner(1).await;
        let early = planner.release(NO, Release { turn, handle: HandleId::new() }, []).await;
        assert!(matches!(early, Err(RpcError::Gone(_))));
        world.until("event violation").await;
        // Larger than any intent may be: refused, and nothing is frozen.
        let turn = world.say("read").await;
        let planner = world.planner(2).await;
        let slot = Slot { executor: "fs_read".into(), literals: Vec::new(), open: Vec::new(), max: 1 };
        let error = planner.intent(NO, Intent { turn, slots: vec![slot; 17] }, []).await.unwrap_err();
        assert_eq!(refusal(error), (RefusalCode::Invalid, "intent.form".to_owned()));
    });
}

#[test]
fn arguments_larger_than_any_are_refused_in_a_short_sentence() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        let large = json!({"text": "x".repeat(2 << 20)});
        let acted = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&large)]).await.unwrap().0;
        assert_eq!(denied(acted), "arguments.json");
        let long_name = "n".repeat(30_000);
        let acted = planner.act(NO, act(turn, 2, &long_name), [sealed(&json!({}))]).await.unwrap().0;
        assert_eq!(denied(acted), "executor.unknown");
        let long_key = json!({ "k".repeat(500_000): 1 });
        let acted = planner.act(NO, act(turn, 3, "fs_read"), [sealed(&long_key)]).await.unwrap().0;
        assert_eq!(denied(acted), "schema.input");
    });
}
