//! The way back, through the whole daemon: noted before the act, run once, and honest about what it did.

use crate::peers::sandbox::Lie;
use crate::peers::{FakeExecutor, World, act, denied, document, ran, run, sealed};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::policyd::{Acted, CheckPolicy, RunCall, Undo, Undoable};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;
const OWNER: u32 = crate::peers::OWNER;

fn text(name: &str, roles: &[(&str, &str)], undo: &str) -> String {
    crate::peers::testing::manifest_text(name, roles)
        .replace("class = \"read\"", "class = \"self_modify\"")
        .replace("side_effects = false", &format!("side_effects = true\n{undo}"))
        .replace("fs-read-workspace", "fs-write-workspace")
        .replace("fs_read = [", "fs_write = [")
        .replace("[effects]", "quotas = { writes_per_day = 1000, bytes_per_day = 1000000 }\n\n[effects]")
}

/// An executor that changes what a path names, and can be undone.
fn writer() -> FakeExecutor {
    let properties = json!({
        "path": {"type": "string", "maxLength": 4096}, "text": {"type": "string"}, "keep": {"type": "string", "maxLength": 26}
    });
    FakeExecutor {
        manifest: text("fs_write", &[("/path", "path"), ("/keep", "flag")], "undo = \"fs_restore\""),
        schema: crate::peers::testing::schema_text(&properties, &["path"]),
        ..FakeExecutor::reader("fs_write")
    }
}

/// What takes that back.
fn restorer() -> FakeExecutor {
    let properties = json!({
        "of": {"type": "string"}, "path": {"type": "string", "maxLength": 4096}, "keep": {"type": "string", "maxLength": 26}
    });
    FakeExecutor {
        manifest: text("fs_restore", &[("/path", "path"), ("/of", "flag"), ("/keep", "flag")], ""),
        schema: crate::peers::testing::schema_text(&properties, &["path", "of", "keep"]),
        ..FakeExecutor::reader("fs_restore")
    }
}

pub(crate) async fn world(folder: &std::path::Path) -> World {
    let (writer, restorer, reader) = (writer(), restorer(), FakeExecutor::reader("fs_read"));
    let all = vec![writer.clone(), restorer.clone(), reader.clone()];
    let world = World::settled(folder, all, &[&writer, &restorer, &reader]).await;
    world.log.borrow_mut().clear();
    world
}

pub(crate) fn gives(world: &World, value: Value) {
    *world.sandbox.result.borrow_mut() = value;
}

async fn write(owner: &Client<CtlPolicyd>, arguments: &Value) -> (TurnId, Acted) {
    let ask = RunCall { executor: "fs_write".into() };
    let (run, _) = owner.run_call(NO, ask, [sealed(arguments)]).await.unwrap();
    (run.turn, run.acted)
}

async fn undo(owner: &Client<CtlPolicyd>, turn: Option<TurnId>) -> Result<Value, String> {
    document(owner.undo(NO, Undo { turn }, []).await)
}

async fn states(owner: &Client<CtlPolicyd>) -> Vec<String> {
    let (_, [acts]) = owner.undoable(NO, Undoable {}, []).await.unwrap();
    let acts: Vec<Value> = serde_json::from_slice(&acts.read().unwrap()).unwrap();
    acts.iter().map(|act| act["state"].as_str().unwrap().to_owned()).collect()
}

fn last_arguments(world: &World) -> Value {
    serde_json::from_slice(world.sandbox.arguments.borrow().last().unwrap()).unwrap()
}

fn inverses(world: &World) -> usize {
    world.took().iter().filter(|line| line.starts_with("run") && line.ends_with("fs_restore")).count()
}

/// A world in which `fs_write` may be called twice a day.
async fn few(folder: &std::path::Path, signed: bool) -> World {
    let few =
        FakeExecutor { manifest: writer().manifest.replace("writes_per_day = 1000", "writes_per_day = 2"), ..writer() };
    let (restorer, reader) = (restorer(), FakeExecutor::reader("fs_read"));
    let all = [few.clone(), restorer.clone(), reader.clone()].map(|one| FakeExecutor { signed, ..one });
    let world = World::settled(folder, all.into(), &[&few, &restorer, &reader]).await;
    gives(&world, json!({"ok": true}));
    world.log.borrow_mut().clear();
    world
}

#[test]
fn daily_write_quota_of_manifest_holds_across_restart() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = few(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        for path in ["notes/a.md", "notes/b.md"] {
            ran(write(&owner, &json!({"path": path})).await.1);
        }
        assert_eq!(denied(write(&owner, &json!({"path": "notes/c.md"})).await.1), "quota.writes_per_day");
    });
    run(async {
        let world = few(folder.path(), true).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(denied(write(&owner, &json!({"path": "notes/c.md"})).await.1), "quota.writes_per_day");
        // The doctor of the rules says the same of a call that nobody makes.
        let ask = CheckPolicy { principal: "owner".into(), executor: "fs_write".into() };
        let (_, [said]) = owner.check_policy(NO, ask, [sealed(&json!({"path": "notes/c.md"}))]).await.unwrap();
        let said: Value = serde_json::from_slice(&said.read().unwrap()).unwrap();
        assert_eq!((said["verdict"].as_str(), said["rule"].as_str()), (Some("deny"), Some("quota.writes_per_day")));
        // What only reads is not counted.
        let ask = RunCall { executor: "fs_read".into() };
        ran(owner.run_call(NO, ask, [sealed(&json!({"path": "notes/a.md"}))]).await.unwrap().0.acted);
    });
}

#[test]
fn a_call_that_writes_counts_also_when_policyd_ends_in_the_middle_of_it() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = few(folder.path(), false).await;
        let owner = world.owner(OWNER).await;
        world.sandbox.gate.forget_permits(1_000);
        let arguments = json!({"path": "notes/a.md"});
        tokio::select! {
            _ = write(&owner, &arguments) => panic!("it came to its end"),
            () = world.until("run ") => {}
        }
    });
    run(async {
        let world = few(folder.path(), true).await;
        let owner = world.owner(OWNER).await;
        ran(write(&owner, &json!({"path": "notes/b.md"})).await.1);
        assert_eq!(denied(write(&owner, &json!({"path": "notes/c.md"})).await.1), "quota.writes_per_day");
    });
}

#[test]
fn an_act_is_taken_back_once_by_a_call_that_is_decided_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(undo(&owner, None).await.unwrap_err(), "undo.nothing");
        let (turn, acted) = write(&owner, &json!({"path": "notes/a.md", "text": "x"})).await;
        let call = ran(acted).call.to_string();
        assert_eq!(last_arguments(&world), json!({"path": "notes/a.md", "text": "x", "keep": call}));
        assert_eq!(states(&owner).await, ["done"]);
        gives(&world, json!({"ok": true, "what": "restored"}));
        let done = undo(&owner, None).await.unwrap();
        assert_eq!((done["undone"].as_u64(), done["turn"].as_str()), (Some(1), Some(turn.to_string().as_str())));
        assert_eq!(last_arguments(&world), json!({"of": "fs_write", "path": "notes/a.md", "keep": call}));
        let took = world.took();
        let decided = took.iter().position(|line| line.starts_with("decision") && line.contains("fs_restore"));
        let ran = took.iter().position(|line| line.starts_with("run") && line.ends_with("fs_restore"));
        assert!(decided.is_some() && decided < ran, "{took:?}");
        let again = undo(&owner, Some(turn)).await.unwrap();
        assert_eq!((again["acts"].as_array().map(Vec::len), again["already"].as_u64()), (Some(0), Some(1)));
        assert_eq!(undo(&owner, None).await.unwrap_err(), "undo.nothing");
        assert_eq!(inverses(&world), 0, "a second undo does nothing");
        assert_eq!(states(&owner).await, ["undone"]);
    });
}

#[test]
fn failed_undo_is_reported_and_can_be_retried() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let planner = world.planner(1).await;
        let turn = world.say("scrivi notes/a.md e notes/b.md").await;
        for (place, path) in [(1, "notes/a.md"), (2, "notes/b.md")] {
            ran(planner.act(NO, act(turn, place, "fs_write"), [sealed(&json!({"path": path}))]).await.unwrap().0);
        }
        gives(&world, json!({"ok": false, "error": {"class": "Changed", "message": "it was changed"}}));
        let kept = undo(&owner, Some(turn)).await.unwrap();
        assert_eq!((kept["undone"].as_u64(), kept["left"].as_u64()), (Some(0), Some(2)), "{kept:#}");
        assert_eq!(kept["acts"].as_array().unwrap().len(), 1, "no further than the first that cannot be");
        assert_eq!(kept["acts"][0]["arguments"]["path"], "notes/b.md", "the last act comes first");
        assert!(kept["acts"][0]["told"].as_str().unwrap().contains("it was changed"));
        gives(&world, json!({"ok": true, "what": "restored"}));
        let done = undo(&owner, Some(turn)).await.unwrap();
        assert_eq!((done["undone"].as_u64(), done["left"].as_u64()), (Some(2), Some(0)), "{done:#}");
    });
}

#[test]
fn interrupted_act_is_unknown_and_interrupted_undo_continues() {
    let folder = tempfile::tempdir().unwrap();
    let pool = run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let (turn, acted) = write(&owner, &json!({"path": "notes/a.md"})).await;
        ran(acted);
        world.sandbox.lie.set(Lie::Dies);
        let broken = undo(&owner, Some(turn)).await.unwrap();
        assert_eq!((broken["left"].as_u64(), broken["undone"].as_u64()), (Some(1), Some(0)), "{broken:#}");
        assert_eq!(states(&owner).await, ["undoing"], "half-done is visible");
        world.sandbox.executors.borrow().clone()
    });
    run(async {
        let world = World::settled(folder.path(), pool, &[]).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(states(&owner).await, ["undoing"]);
        gives(&world, json!({"ok": true, "what": "nothing"}));
        let done = undo(&owner, None).await.unwrap();
        assert_eq!((done["acts"][0]["state"].as_str(), done["left"].as_u64()), (Some("nothing"), Some(0)), "{done:#}");
        assert_eq!(states(&owner).await, ["nothing"]);
    });
}

#[test]
fn act_that_reported_no_change_is_not_undone() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        gives(&world, json!({"ok": false, "error": {"class": "NotFound", "message": "no"}}));
        write(&owner, &json!({"path": "notes/a.md"})).await;
        assert_eq!(states(&owner).await, ["failed"]);
        assert_eq!(undo(&owner, None).await.unwrap_err(), "undo.nothing");
        assert_eq!(inverses(&world), 0);
    });
}

#[test]
fn only_owner_can_undo_and_only_policyd_names_the_kept_copy() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path()).await;
        let owner = world.owner(OWNER).await;
        ran(write(&owner, &json!({"path": "notes/a.md"})).await.1);
        let stranger = world.owner(OWNER + 1).await;
        assert_eq!(undo(&stranger, None).await.unwrap_err(), "principal.unpaired");
        assert_eq!(states(&owner).await, ["done"]);
        let forged = json!({"path": "notes/a.md", "keep": "01ARZ3NDEKTSV4RRFFQ69G5FAV"});
        assert_eq!(denied(write(&owner, &forged).await.1), "arguments.reserved");
    });
}

#[test]
fn an_act_whose_way_back_is_gone_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let writer = writer();
        let world = World::settled(folder.path(), vec![writer.clone()], &[&writer]).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(denied(write(&owner, &json!({"path": "notes/a.md"})).await.1), "approval.waiting");
        assert!(!world.took().iter().any(|line| line.starts_with("run")));
    });
}
