//! The owner's switches through the whole daemon: what is off is denied at once, what runs is ended, and both outlive policyd.

use crate::peers::{FakeExecutor, OWNER, World, denied, ran, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::policyd::{
    Acted, LiftQuarantine, Panic, PolicyCanaries, PolicyReport, PolicyStatus, Resume, RunCall, SwitchExecutor,
};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;

async fn read(owner: &Client<CtlPolicyd>, executor: &str) -> Acted {
    let ask = RunCall { executor: executor.into() };
    owner.run_call(NO, ask, [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0.acted
}

/// Looks at `fs_read` in quarantine, or lets it back.
async fn lift_quarantine(owner: &Client<CtlPolicyd>, confirm: &str) -> Value {
    let ask = LiftQuarantine { name: Some("fs_read".into()), relock: false, confirm: confirm.to_owned() };
    let (_, [document]) = owner.lift_quarantine(NO, ask, []).await.unwrap();
    serde_json::from_slice(&document.read().unwrap()).unwrap()
}

async fn report(owner: &Client<CtlPolicyd>) -> PolicyReport {
    owner.policy_status(NO, PolicyStatus {}, []).await.unwrap().0
}

async fn two_readers(folder: &std::path::Path) -> World {
    // At the second start they are signed already.
    let signed = folder.join("signed").exists();
    std::fs::write(folder.join("signed"), "").unwrap();
    let reader = |name| FakeExecutor { signed, ..FakeExecutor::reader(name) };
    let (one, two) = (reader("fs_read"), reader("fs_list"));
    let world = World::settled(folder, vec![one.clone(), two.clone()], &[&one, &two]).await;
    world.log.borrow_mut().clear();
    world
}

#[test]
fn panic_stops_and_denies_everything_until_resume_across_restart() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        ran(read(&owner, "fs_read").await);
        world.took();
        owner.panic(NO, Panic {}, []).await.unwrap();
        assert!(world.took().contains(&"kill".to_owned()), "sandboxd is told to end what runs");
        assert_eq!(denied(read(&owner, "fs_read").await), "panic.stopped");
        assert!(!world.took().iter().any(|line| line.starts_with("run ")));
        assert_ne!(report(&owner).await.stopped_ms, 0);
    });
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(denied(read(&owner, "fs_list").await), "panic.stopped");
        assert!(owner.resume(NO, Resume {}, []).await.unwrap().0.changed);
        assert!(!owner.resume(NO, Resume {}, []).await.unwrap().0.changed);
        ran(read(&owner, "fs_list").await);
        assert_eq!(report(&owner).await.stopped_ms, 0);
    });
    run(async {
        let world = two_readers(folder.path()).await;
        ran(read(&*world.owner(OWNER).await, "fs_list").await);
    });
}

#[test]
fn an_executor_that_is_switched_off_is_denied_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let switch = |name: &str, on| SwitchExecutor { name: name.into(), on };
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert!(owner.switch_executor(NO, switch("fs_read", false), []).await.unwrap().0.changed);
        assert_eq!(denied(read(&owner, "fs_read").await), "executor.disabled");
        ran(read(&owner, "fs_list").await);
        for unknown in ["fs_reed", "", "../fs_read"] {
            let answer = owner.switch_executor(NO, switch(unknown, false), []).await;
            assert!(matches!(answer, Err(RpcError::Refused(refusal)) if refusal.rule == "executor.unknown"));
        }
    });
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(denied(read(&owner, "fs_read").await), "executor.disabled");
        assert_eq!(report(&owner).await.disabled, ["fs_read"]);
        assert!(owner.switch_executor(NO, switch("fs_read", true), []).await.unwrap().0.changed);
        ran(read(&owner, "fs_read").await);
    });
}

#[test]
fn a_call_that_was_allowed_and_is_not_begun_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let (owner, hand) = (world.owner(OWNER).await, world.owner(OWNER).await);
        // The decision is on its way to the chronicle when the switch is thrown.
        let (acted, _) = tokio::join!(read(&owner, "fs_read"), async {
            world.until("decision").await;
            hand.panic(NO, Panic {}, []).await.unwrap();
        });
        // Either the run was told before the kill, which then ends it, or it was not handed over at all.
        let log = world.took();
        let told = log.iter().position(|line| line.starts_with("run "));
        let ended = log.iter().position(|line| line == "kill").unwrap();
        match acted {
            Acted::Denied(refusal) => assert_eq!((refusal.rule.as_str(), told), ("panic.stopped", None)),
            Acted::Ran(_) => assert!(told.unwrap() < ended, "{log:?}"),
        }
    });
}

#[test]
fn only_the_owner_throws_switches() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let stranger = world.owner(OWNER + 1).await;
        assert!(stranger.panic(NO, Panic {}, []).await.is_err());
        assert!(stranger.resume(NO, Resume {}, []).await.is_err());
        let ask = SwitchExecutor { name: "fs_read".into(), on: false };
        assert!(stranger.switch_executor(NO, ask, []).await.is_err());
        ran(read(&*world.owner(OWNER).await, "fs_read").await);
    });
}

#[test]
fn three_failures_a_day_quarantine_executor_until_owner_restores_it() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        for outcome in [Outcome::Timeout, Outcome::Killed, Outcome::Crashed] {
            world.sandbox.outcome.set(Some(outcome));
            ran(read(&owner, "fs_read").await);
        }
    });
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        world.sandbox.outcome.set(Some(Outcome::OutputTooLarge));
        ran(read(&owner, "fs_list").await);
        ran(read(&owner, "fs_read").await);
        world.sandbox.outcome.set(None);
        // The third through its own fault, across a restart; what was stopped did not count.
        assert_eq!(denied(read(&owner, "fs_read").await), "executor.quarantined");
        world.until("lost fs_read").await;
        ran(read(&owner, "fs_list").await);
        let looked = lift_quarantine(&owner, "").await;
        assert!(looked["executors"][0]["why"].as_str().unwrap().contains("output_too_large"), "{looked:#}");
        let mut done = lift_quarantine(&owner, looked["digest"].as_str().unwrap()).await;
        // That memoryd has heard of the loss may still be on its way into the registry; then nothing is done, and one looks again.
        while done["executors"][0]["error"].as_str().is_some_and(|why| why.contains("in this very moment")) {
            done = lift_quarantine(&owner, looked["digest"].as_str().unwrap()).await;
        }
        assert_eq!(done["done"], true, "{done:#}");
        world.sandbox.outcome.set(Some(Outcome::Crashed));
        ran(read(&owner, "fs_read").await);
        ran(read(&owner, "fs_read").await);
    });
}

#[test]
fn owners_stop_survives_a_concurrent_doctor_trial() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let (owner, hand) = (world.owner(OWNER).await, world.owner(OWNER).await);
        let (flown, ()) = tokio::join!(owner.policy_canaries(NO, PolicyCanaries {}, []), async {
            world.until("kill").await;
            // The doctor's call waits for its line while the owner stops everything.
            world.memory.gate.forget_permits(1_000);
            hand.panic(NO, Panic {}, []).await.unwrap();
            world.memory.gate.add_permits(1_000);
        });
        let flown = flown.unwrap().0.canaries;
        let canary = flown.iter().find(|canary| canary.control == "panic").unwrap();
        assert!(canary.stopped && canary.by == "panic.stopped", "{canary:?}");
        assert_eq!(denied(read(&owner, "fs_list").await), "panic.stopped");
        assert_ne!(report(&owner).await.stopped_ms, 0);
    });
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(denied(read(&owner, "fs_list").await), "panic.stopped");
        owner.resume(NO, Resume {}, []).await.unwrap();
        // Nobody is in its way: it stops, and calls happen again.
        let flown = owner.policy_canaries(NO, PolicyCanaries {}, []).await.unwrap().0.canaries;
        assert!(flown.iter().any(|canary| canary.control == "panic" && canary.stopped), "{flown:?}");
        ran(read(&owner, "fs_list").await);
    });
}

#[test]
fn a_policyd_that_ends_while_the_doctor_tries_it_leaves_nothing_stopped() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = two_readers(folder.path()).await;
        let owner = world.owner(OWNER).await;
        tokio::select! {
            _ = owner.policy_canaries(NO, PolicyCanaries {}, []) => panic!("it was tried to its end"),
            () = async {
                world.until("kill").await;
                world.memory.gate.forget_permits(1_000);
                world.took();
                // The switch is written down when the doctor's call begins.
                world.until("direct_turn fs_read").await;
                assert_ne!(report(&owner).await.stopped_ms, 0);
            } => {}
        }
    });
    run(async {
        let world = two_readers(folder.path()).await;
        ran(read(&*world.owner(OWNER).await, "fs_list").await);
    });
}
