//! The owner puts executors away, brings them back and disowns them, across restarts of everybody.

use std::path::Path;

use crate::peers::{FakeExecutor, World, denied, document, ran, run, sealed};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::lifecycle::{LifecycleAsk, LifecycleTarget, Revocation};
use metnos_proto::msg::policyd::{Acted, RunCall};
use metnos_proto::msg::sandboxd::Quarantined;
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;

async fn say(world: &World, ask: LifecycleAsk) -> Result<Value, String> {
    document(world.owner(0).await.life(NO, ask, []).await)
}

fn word(reason: &str) -> LifecycleTarget {
    LifecycleTarget { name: "fs_read".into(), reason: reason.into() }
}

fn revoke(confirm: &str) -> LifecycleAsk {
    LifecycleAsk::Revoke(Revocation { name: "fs_read".into(), reason: "it lies".into(), confirm: confirm.into() })
}

async fn call(owner: &Client<CtlPolicyd>) -> Acted {
    let ask = RunCall { executor: "fs_read".into() };
    owner.run_call(NO, ask, [sealed(&json!({"path": "a.md"}))]).await.unwrap().0.acted
}

/// A start on the pool as it was left.
async fn next(folder: &Path, pool: Vec<FakeExecutor>) -> World {
    let reader = FakeExecutor::reader("fs_read");
    World::settled(folder, pool, &[&reader]).await
}

fn first(folder: &Path) -> Vec<FakeExecutor> {
    run(async {
        let world = next(folder, vec![FakeExecutor::reader("fs_read")]).await;
        ran(call(&*world.owner(0).await).await);
        world.sandbox.executors.borrow().clone()
    })
}

#[test]
fn archived_executor_is_refused_across_restarts_until_restored() {
    let folder = tempfile::tempdir().unwrap();
    let pool = first(folder.path());
    run(async {
        let world = next(folder.path(), pool.clone()).await;
        let done = say(&world, LifecycleAsk::Archive(word(""))).await.unwrap();
        assert_eq!((&done["state"], &done["changed"]), (&json!("archived"), &json!(true)), "{done:#}");
        assert_eq!(denied(call(&*world.owner(0).await).await), "executor.archived");
        assert!(world.took().contains(&"lost fs_read".to_owned()), "no planner is offered it");
        assert_eq!(say(&world, LifecycleAsk::Archive(word("again"))).await.unwrap()["changed"], false);
        assert_eq!(say(&world, LifecycleAsk::Restore(word(" "))).await.unwrap_err(), "executor.reason");
        // Nothing that sandboxd says about it counts meanwhile, nor lets anything else out.
        let note = Quarantined { id: pool[0].id(), why: "x".into() };
        world.sandbox.tell(Note::Quarantined(note)).await;
    });
    run(async {
        let world = next(folder.path(), pool.clone()).await;
        assert_eq!(world.took(), ["trust", "pool"], "and nothing is loaded");
        let owner = world.owner(0).await;
        assert_eq!(denied(call(&owner).await), "executor.archived");
        let done = say(&world, LifecycleAsk::Restore(word("the guests are gone"))).await.unwrap();
        assert_eq!((&done["state"], &done["changed"]), (&json!("active"), &json!(true)), "{done:#}");
        let took: Vec<String> = world
            .took()
            .into_iter()
            .filter(|line| line.starts_with("event ") || line.ends_with(" fs_read"))
            .map(|line| line.split(':').next().unwrap().to_owned())
            .collect();
        assert_eq!(took, ["pardon fs_read", "event executor_restored", "install fs_read", "born fs_read"]);
        ran(call(&owner).await);
        assert_eq!(say(&world, LifecycleAsk::Restore(word("x"))).await.unwrap()["changed"], false);
        // None but the owner, and none but what there is.
        let ask = || LifecycleAsk::Archive(word(""));
        assert!(world.owner(crate::peers::OWNER + 1).await.life(NO, ask(), []).await.is_err());
        let other = LifecycleAsk::Archive(LifecycleTarget { name: "other".into(), reason: String::new() });
        assert_eq!(say(&world, other).await.unwrap_err(), "executor.unknown");
    });
}

#[test]
fn executor_changed_while_archived_is_not_restored_to_use() {
    for (part, state) in [("code", "archived"), ("profile", "quarantined")] {
        let folder = tempfile::tempdir().unwrap();
        let mut pool = first(folder.path());
        run(async {
            let world = next(folder.path(), pool.clone()).await;
            say(&world, LifecycleAsk::Archive(word(""))).await.unwrap();
        });
        match part {
            "code" => pool[0].code.push(' '),
            _ => pool[0].profile.push(' '),
        }
        run(async {
            let world = next(folder.path(), pool.clone()).await;
            let said = say(&world, LifecycleAsk::Restore(word("x"))).await;
            match state {
                "archived" => assert_eq!(said.unwrap_err(), "restore.altered"),
                _ => assert_eq!(said.unwrap()["state"], "quarantined"),
            }
            assert_eq!(denied(call(&*world.owner(0).await).await), format!("executor.{state}"));
        });
    }
}

#[test]
fn archived_quarantined_executor_is_restored_to_quarantine() {
    let folder = tempfile::tempdir().unwrap();
    let mut pool = first(folder.path());
    pool[0].code.push(' ');
    run(async {
        let world = next(folder.path(), pool.clone()).await;
        let owner = world.owner(0).await;
        assert_eq!(denied(call(&owner).await), "executor.quarantined");
        say(&world, LifecycleAsk::Archive(word("out of sight"))).await.unwrap();
        assert_eq!(denied(call(&owner).await), "executor.archived");
        let done = say(&world, LifecycleAsk::Restore(word("another look"))).await.unwrap();
        assert_eq!(done["state"], "quarantined");
        assert!(done["why"].as_str().unwrap().contains("main.py"), "{done:#}");
        assert_eq!(denied(call(&owner).await), "executor.quarantined");
        assert_eq!(say(&world, LifecycleAsk::Restore(word("x"))).await.unwrap_err(), "restore.quarantined");
    });
}

#[test]
fn revocation_is_permanent_and_sent_to_each_sandboxd_first() {
    let folder = tempfile::tempdir().unwrap();
    let pool = first(folder.path());
    run(async {
        let world = next(folder.path(), pool.clone()).await;
        let owner = world.owner(0).await;
        let looked = say(&world, revoke("")).await.unwrap();
        assert_eq!((&looked["state"], &looked["changed"]), (&json!("active"), &json!(false)), "{looked:#}");
        assert_eq!(say(&world, revoke("blake3:00")).await.unwrap_err(), "revoke.altered");
        ran(call(&owner).await);
        let digest = looked["digest"].as_str().unwrap().to_owned();
        let other = Revocation { name: "fs_read".into(), reason: "another reason".into(), confirm: digest.clone() };
        assert_eq!(say(&world, LifecycleAsk::Revoke(other)).await.unwrap_err(), "revoke.altered");
        world.took();
        assert_eq!(say(&world, revoke(&digest)).await.unwrap()["state"], "revoked");
        let took = world.took();
        assert!(
            took.contains(&"revoke_texts fs_read".to_owned()) && took.contains(&"lost fs_read".to_owned()),
            "{took:?}"
        );
        assert_eq!(denied(call(&owner).await), "executor.revoked");
    });
    // A seed of this release, as it was signed, as it was before it was signed, and with another sandbox.
    let mut unsigned = pool.clone();
    unsigned[0].signed = false;
    let mut elsewhere = pool.clone();
    elsewhere[0].profile.push(' ');
    for pool in [pool, unsigned, elsewhere] {
        run(async {
            let world = next(folder.path(), pool).await;
            assert_eq!(world.took(), ["trust", "revoke_texts fs_read", "pool"], "and nothing is born or loaded");
            assert_eq!(denied(call(&*world.owner(0).await).await), "executor.revoked");
            for ask in [LifecycleAsk::Archive(word("x")), LifecycleAsk::Restore(word("x"))] {
                assert_eq!(say(&world, ask).await.unwrap_err(), "executor.revoked");
            }
            assert_eq!(say(&world, revoke("")).await.unwrap()["changed"], false);
            let show = metnos_proto::msg::policyd::ShowExecutor { name: "fs_read".into() };
            let shown = document(world.owner(0).await.show_executor(NO, show, []).await).unwrap();
            assert_eq!((&shown["state"], &shown["why"]), (&json!("revoked"), &json!("it lies")), "{shown:#}");
            assert!(shown["manifest"]["executor"]["name"] == "fs_read", "it stays readable");
        });
    }
}
