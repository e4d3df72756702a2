//! A hijacked planner that asks without end: the door, the owner's cards and the owner's own calls go on
//! as if it were not there. Nothing here depends on time passing: the flood is still under way when the
//! others have been answered.

use crate::peers::{OWNER, World, act, run, sealed};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::MAX_IN_FLIGHT;
use metnos_proto::msg::common::Channel;
use metnos_proto::msg::policyd::{Approvals, Identify, Panic, PolicyCanaries, PolicyStatus, RegisterPrompt, RunCall};
use metnos_proto::payload::Sealed;
use serde_json::json;

const NO: TraceId = TraceId::NONE;

#[test]
fn a_planner_that_floods_does_not_delay_the_door_or_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        // What runs never ends: every call of the flood that is allowed stays under way.
        world.sandbox.gate.forget_permits(1_000);
        let planner = world.planner(1).await;
        let turn = world.say("leggi notes/a.md").await;
        let mut flood = tokio::task::JoinSet::new();
        let answered = std::rc::Rc::new(std::cell::Cell::new(0));
        for place in 1..u16::try_from(4 * MAX_IN_FLIGHT).unwrap() {
            let (planner, answered) = (std::rc::Rc::clone(&planner), std::rc::Rc::clone(&answered));
            flood.spawn_local(async move {
                let _ = planner.act(NO, act(turn, place, "fs_read"), [sealed(&json!({"path": "notes/a.md"}))]).await;
                answered.set(answered.get() + 1);
            });
        }
        world.until("run c1 fs_read").await;
        let door = world.door().await;
        let sender = format!("uid:{OWNER}");
        for _ in 0..8 {
            let identify = Identify { channel: Channel::Cli, sender: sender.clone(), lang: None, spoke: None };
            door.identify(NO, identify, []).await.unwrap();
            let ask = RegisterPrompt { channel: Channel::Cli, sender: sender.clone() };
            door.register_prompt(NO, ask, [Sealed::new(b"basta").unwrap()]).await.unwrap();
        }
        let owner = world.owner(OWNER).await;
        owner.approvals(NO, Approvals {}, []).await.unwrap();
        let (status, []) = owner.policy_status(NO, PolicyStatus {}, []).await.unwrap();
        assert!(status.running > 0, "the flood is still under way");
        assert!(status.running as usize <= metnos_policyd::decision::MAX_RUNNING_PER_TURN, "and bounded");
        let left = 4 * MAX_IN_FLIGHT - 1 - answered.get();
        println!("{left} asks of the flood are unanswered, {} of them run", status.running);
        assert!(left >= status.running as usize, "{left} are left");
        // And panic: it holds at once, in the middle of all that. What runs is ended by it, and so answered.
        owner.panic(NO, Panic {}, []).await.unwrap();
        let call = RunCall { executor: "fs_read".into() };
        let (call, _) = owner.run_call(NO, call, [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap();
        assert_eq!(crate::peers::denied(call.acted), "panic.stopped");
        world.sandbox.gate.add_permits(10_000);
        drop(flood);
    });
}

#[test]
fn each_canary_is_stopped_by_its_own_layer_and_leaves_no_card_behind() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let (flown, []) = owner.policy_canaries(NO, PolicyCanaries {}, []).await.unwrap();
        let named: Vec<(&str, bool, &str)> =
            flown.canaries.iter().map(|one| (one.control.as_str(), one.stopped, one.by.as_str())).collect();
        // This world has no executor that writes: what is not there is not stopped by the layer that is meant.
        assert_eq!(named[..2], [("guard", true, "guard.climb"), ("schema", true, "schema.input")]);
        assert!(!named[2].1 && !named[3].1, "{named:?}");
        assert_eq!(named[4], ("panic", true, "panic.stopped"));
        // The one that shows that calls happen again.
        assert_eq!(world.took().iter().filter(|line| line.starts_with("run ")).count(), 1);
    });
}
