//! From the pool to what may be called, with ends at every step, and with files that change.

use std::path::Path;
use std::time::Duration;

use crate::peers::memory::Mood;
use crate::peers::sandbox::Lie;
use crate::peers::{FakeExecutor, World, act, denied, document, ran, run, sealed};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::door_policyd;
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, ExecutorId};
use metnos_proto::msg::policyd::{Executors, Identify, LiftQuarantine, NoticeKind};
use metnos_proto::msg::sandboxd::{Alarmed, Quarantined};
use serde_json::{Value, json};

const NO: TraceId = TraceId::NONE;

fn reader() -> FakeExecutor {
    FakeExecutor::reader("fs_read")
}

async fn standing(world: &World, name: &str) -> (String, String) {
    let rows = world.owner(0).await.executors(NO, Executors {}, []).await.unwrap().0.rows;
    rows.into_iter().find(|row| row.id.name == name).map(|row| (row.state.name().to_owned(), row.why)).unwrap()
}

/// A first start; what it asked, and the pool as it left it.
fn first_start(folder: &Path) -> (Vec<String>, Vec<FakeExecutor>) {
    run(async {
        let world = World::settled(folder, vec![reader()], &[&reader()]).await;
        assert_eq!(standing(&world, "fs_read").await.0, "active");
        (world.took(), world.sandbox.executors.borrow().clone())
    })
}

#[test]
fn seed_is_tested_signed_installed_and_recorded_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let (took, pool) = first_start(folder.path());
    assert_eq!(took, ["trust", "pool", "birth fs_read", "install fs_read", "born fs_read"]);
    assert!(pool[0].signed);
}

#[test]
fn number_of_pending_births_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let (one, other) = (reader(), FakeExecutor::reader("fs_list"));
        let world = World::new(folder.path(), vec![one.clone(), other.clone()], &[&one, &other]);
        world.memory.births.forget_permits(usize::MAX);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        while !world.took().iter().any(|line| line.starts_with("bearing ")) {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.policy.report().unborn, 2);
        world.memory.births.add_permits(1);
        while !world.took().iter().any(|line| line.starts_with("born ")) {
            tokio::task::yield_now().await;
        }
        while world.policy.report().unborn == 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.policy.report().unborn, 1);
        world.memory.births.add_permits(1);
        world.policy.settled().await;
        assert_eq!(world.policy.report().unborn, 0);
    });
}

#[test]
fn a_sandboxd_that_starts_slowly_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::new(folder.path(), vec![reader()], &[&reader()]);
        world.sandbox.lie.set(Lie::StartsSlowly);
        world.start_memory(1).await;
        tokio::time::pause();
        world.start_sandbox(1);
        world.keep();
        world.policy.settled().await;
        assert_eq!(standing(&world, "fs_read").await.0, "active");
    });
}

#[test]
fn a_later_start_only_compares() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pool) = first_start(folder.path());
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool"]);
        assert_eq!(standing(&world, "fs_read").await.0, "active");
    });
}

#[test]
fn unknown_or_failing_candidate_is_not_signed() {
    let other = FakeExecutor::reader("other");
    let mut sender = reader();
    sender.manifest = sender
        .manifest
        .replace("class = \"read\"", "class = \"send\"")
        .replace("side_effects = false", "side_effects = true");
    for (executor, seed, lie, reason) in [
        (reader(), &other, Lie::None, "no seed"),
        (reader(), &reader(), Lie::WrongCandidate, "main.py"),
        (reader(), &reader(), Lie::FailingTest, "birth test"),
        (reader(), &reader(), Lie::NoTests, "no birth tests"),
        (sender.clone(), &sender, Lie::None, "effects.unsupported"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = World::new(folder.path(), vec![executor], &[seed]);
            world.sandbox.lie.set(lie);
            world.start_memory(1).await;
            world.start_sandbox(1);
            world.keep();
            world.policy.settled().await;
            let (state, why) = standing(&world, "fs_read").await;
            assert_eq!(state, "staged", "{reason}");
            assert!(why.contains(reason), "{why}");
            let took = world.took();
            assert!(!took.iter().any(|line| line.starts_with("install") || line.starts_with("born")), "{took:?}");
        });
    }
}

#[test]
fn a_birth_that_memoryd_did_not_survive_is_finished_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::new(folder.path(), vec![reader()], &[&reader()]);
        world.memory.dies_at_births.set(true);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        world.until("died at the birth").await;
        assert_eq!(standing(&world, "fs_read").await.0, "staged");
        world.memory.dies_at_births.set(false);
        world.start_memory(2).await;
        world.policy.settled().await;
        assert_eq!(standing(&world, "fs_read").await.0, "active");
        let births = world.took().iter().filter(|line| line.starts_with("birth ")).count();
        assert_eq!(births, 1, "what is signed is not tested again");
    });
}

#[test]
fn interrupted_birth_is_finished_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let pool = run(async {
        let world = World::new(folder.path(), vec![reader()], &[&reader()]);
        world.sandbox.lie.set(Lie::DiesAtInstall);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        world.until("install fs_read").await;
        world.sandbox.executors.borrow().clone()
    });
    assert!(!pool[0].signed);
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool", "install fs_read", "born fs_read"]);
        assert_eq!(standing(&world, "fs_read").await.0, "active");
    });
}

#[test]
fn changed_file_quarantines_executor_across_restarts_and_repairs() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pool) = first_start(folder.path());
    let mut changed = pool.clone();
    changed[0].code.push(' ');
    run(async {
        let world = World::settled(folder.path(), changed, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool", "lost fs_read"]);
        let (state, why) = standing(&world, "fs_read").await;
        assert_eq!(state, "quarantined");
        assert!(why.contains("main.py"), "{why}");
    });
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool"]);
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        let acted = planner.act(NO, act(turn, 1, "fs_read"), [sealed(&json!({"path": "a.md"}))]).await.unwrap().0;
        assert_eq!(denied(acted), "executor.quarantined");
    });
}

/// What the owner learns of what is in quarantine; with a digest, his word that it comes back.
async fn lift_quarantine(world: &World, relock: bool, confirm: &str) -> Result<Value, String> {
    let ask = LiftQuarantine { name: None, relock, confirm: confirm.to_owned() };
    document(world.owner(0).await.lift_quarantine(NO, ask, []).await)
}

fn digest_of(looked: &Value) -> String {
    looked["digest"].as_str().unwrap().to_owned()
}

#[test]
fn executor_quarantined_by_upgrade_is_resigned_only_by_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut pool) = first_start(folder.path());
    let before = pool[0].digests().profile;
    pool[0].profile = "another sandbox".to_owned();
    pool[0].signed = false;
    let pool = run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool", "lost fs_read"]);
        let (state, why) = standing(&world, "fs_read").await;
        assert!(state == "quarantined" && why.contains("the sandbox it would run in"), "{state}: {why}");
        // Nothing is to be signed again by a mere lift, and nothing at all by another word than the one that was shown.
        assert_eq!(lift_quarantine(&world, false, "").await.unwrap()["digest"], "");
        let looked = lift_quarantine(&world, true, "").await.unwrap();
        let told = &looked["executors"][0];
        assert_eq!((told["way"].as_str(), told["signed"].as_str()), (Some("relock"), Some(&*before.to_string())));
        for other in ["blake3:00", "x"] {
            assert_eq!(lift_quarantine(&world, true, other).await.unwrap_err(), "readmit.altered");
        }
        assert_eq!(standing(&world, "fs_read").await.0, "quarantined");
        assert!(world.took().iter().all(|line| line == "pool"), "only looked");
        let done = lift_quarantine(&world, true, &digest_of(&looked)).await.unwrap();
        assert_eq!(done["done"], true, "{done:#}");
        let took: Vec<String> = world.took().into_iter().filter(|line| !line.starts_with("event")).collect();
        assert_eq!(took, ["pool", "pardon fs_read", "birth fs_read", "install fs_read", "born fs_read"]);
        assert_eq!(standing(&world, "fs_read").await.0, "active");
        // One word is good once.
        assert_eq!(lift_quarantine(&world, true, &digest_of(&looked)).await.unwrap_err(), "readmit.altered");
        world.sandbox.executors.borrow().clone()
    });
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool"]);
        assert_eq!(standing(&world, "fs_read").await.0, "active");
    });
}

#[test]
fn executor_failing_in_new_sandbox_stays_in_quarantine() {
    for (lie, reason) in
        [(Lie::FailingTest, "birth test"), (Lie::NoTests, "no birth tests"), (Lie::WrongCandidate, "main.py")]
    {
        let folder = tempfile::tempdir().unwrap();
        let (_, mut pool) = first_start(folder.path());
        pool[0].profile = "another sandbox".to_owned();
        run(async {
            let world = World::settled(folder.path(), pool, &[&reader()]).await;
            let looked = lift_quarantine(&world, true, "").await.unwrap();
            world.sandbox.lie.set(lie);
            let tried = lift_quarantine(&world, true, &digest_of(&looked)).await.unwrap();
            let error = tried["executors"][0]["error"].as_str().unwrap();
            assert!(tried["done"] == false && error.contains(reason), "{tried:#}");
            assert_eq!(standing(&world, "fs_read").await.0, "quarantined");
            assert!(!world.took().iter().any(|line| line.starts_with("install")), "{reason}");
        });
    }
}

#[test]
fn a_quarantine_is_lifted_only_when_every_byte_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pool) = first_start(folder.path());
    let mut changed = pool.clone();
    changed[0].code.push(' ');
    run(async {
        let world = World::settled(folder.path(), changed, &[&reader()]).await;
        let looked = lift_quarantine(&world, false, "").await.unwrap();
        let told = &looked["executors"][0];
        assert_eq!((told["way"].as_str(), looked["digest"].as_str()), (Some("none"), Some("")), "{looked:#}");
        assert!(told["fault"].as_str().unwrap().contains("main.py"));
        assert_eq!(lift_quarantine(&world, false, "blake3:00").await.unwrap_err(), "readmit.altered");
        // As it was signed; and changed again behind the owner's back, between his look and his word.
        *world.sandbox.executors.borrow_mut() = pool.clone();
        let looked = lift_quarantine(&world, false, "").await.unwrap();
        world.sandbox.executors.borrow_mut()[0].code.push(' ');
        assert_eq!(lift_quarantine(&world, false, &digest_of(&looked)).await.unwrap_err(), "readmit.altered");
        *world.sandbox.executors.borrow_mut() = pool.clone();
        // Without its line in the chronicle it stays where it is.
        world.memory.mood.set(Mood::Refuses);
        assert_eq!(lift_quarantine(&world, false, &digest_of(&looked)).await.unwrap()["done"], false);
        assert_eq!(standing(&world, "fs_read").await.0, "quarantined");
        world.memory.mood.set(Mood::Honest);
        world.took();
        assert_eq!(lift_quarantine(&world, false, &digest_of(&looked)).await.unwrap()["done"], true);
        let took: Vec<String> = world.took().into_iter().filter(|line| !line.starts_with("event")).collect();
        assert_eq!(took, ["pool", "pardon fs_read", "install fs_read", "born fs_read"], "nothing is signed anew");
        assert_eq!(standing(&world, "fs_read").await.0, "active");
    });
}

#[test]
fn only_owner_lifts_a_quarantine() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut pool) = first_start(folder.path());
    pool[0].signed = false;
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        let ask = LiftQuarantine { name: None, relock: false, confirm: String::new() };
        assert!(world.owner(crate::peers::OWNER + 1).await.lift_quarantine(NO, ask.clone(), []).await.is_err());
        let unknown = LiftQuarantine { name: Some("nothing".to_owned()), ..ask };
        match world.owner(0).await.lift_quarantine(NO, unknown, []).await {
            Err(RpcError::Refused(refusal)) => assert_eq!(refusal.rule, "executor.unknown"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_missing_signature_is_quarantine() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut pool) = first_start(folder.path());
    pool[0].signed = false;
    run(async {
        let world = World::settled(folder.path(), pool, &[&reader()]).await;
        assert_eq!(world.took(), ["trust", "pool", "lost fs_read"]);
        assert_eq!(standing(&world, "fs_read").await.0, "quarantined");
    });
}

#[test]
fn executor_quarantined_by_sandboxd_is_not_called_again() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let planner = world.planner(1).await;
        let turn = world.say("read").await;
        let call = |place| planner.act(NO, act(turn, place, "fs_read"), [sealed(&json!({"path": "a.md"}))]);
        ran(call(1).await.unwrap().0);
        let id = reader().id();
        world.sandbox.tell(Note::Quarantined(Quarantined { id, why: "a bit flipped".to_owned() })).await;
        world.until("lost fs_read").await;
        assert_eq!(denied(call(2).await.unwrap().0), "executor.quarantined");
    });
}

#[test]
fn owner_is_notified_once_of_alarm_and_quarantine_of_signed_executor() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        let id = reader().id();
        let alarmed = |id: &ExecutorId| Note::Alarmed(Alarmed { id: id.clone(), why: "os.fork".to_owned() });
        let unknown = ExecutorId { name: "unknown".to_owned(), version: "1.0.0".to_owned() };
        for note in [alarmed(&unknown), alarmed(&id), alarmed(&id)] {
            world.sandbox.tell(note).await;
        }
        world.sandbox.tell(Note::Quarantined(Quarantined { id: id.clone(), why: "a bit flipped".to_owned() })).await;
        world.until("lost fs_read").await;
        let told: Vec<_> =
            world.policy.report().notices.into_iter().map(|notice| (notice.kind, notice.id, notice.why)).collect();
        let alarm = (NoticeKind::Alarm, id.clone(), "os.fork".to_owned());
        assert_eq!(told, [alarm, (NoticeKind::SetAside, id, "a bit flipped".to_owned())]);
    });
}

#[test]
fn undelivered_notice_reaches_next_door_once_after_restart() {
    let folder = tempfile::tempdir().unwrap();
    let id = reader().id();
    let notices = |world: &World| -> Vec<_> {
        let report = world.policy.report();
        report.notices.into_iter().map(|notice| (notice.kind, notice.id, notice.why)).collect()
    };
    let known = vec![
        (NoticeKind::Alarm, id.clone(), "os.fork".to_owned()),
        (NoticeKind::SetAside, id.clone(), "a bit flipped".to_owned()),
    ];
    run(async {
        let world = World::usual(folder.path()).await;
        world.sandbox.tell(Note::Alarmed(Alarmed { id: id.clone(), why: "os.fork".to_owned() })).await;
        world.sandbox.tell(Note::Quarantined(Quarantined { id: id.clone(), why: "a bit flipped".to_owned() })).await;
        world.until("lost fs_read").await;
        assert_eq!(notices(&world), known);
    });
    // Each time another policyd, and a door with it.
    let heard = || {
        run(async {
            let world = World::settled(folder.path(), Vec::new(), &[]).await;
            assert_eq!(notices(&world), known);
            let door = world.door().await;
            let mut notes = door.take_notes().unwrap();
            let identify = Identify {
                channel: Channel::Cli,
                sender: format!("uid:{}", crate::peers::OWNER),
                lang: None,
                spoke: None,
            };
            let mut heard = Vec::new();
            // What waits is sent before the answer to a later question, and written down as heard before the next one.
            for _ in 0..20 {
                door.identify(TraceId::NONE, identify.clone(), []).await.unwrap();
            }
            while let Ok(Some(note)) = tokio::time::timeout(Duration::from_millis(200), notes.recv()).await {
                match note {
                    door_policyd::Note::OwnerNotice(told) => heard.push((told.notice.kind, told.notice.id)),
                    other @ (door_policyd::Note::CardWaits(_)
                    | door_policyd::Note::CardSettled(_)
                    | door_policyd::Note::Revoked(_)
                    | door_policyd::Note::OwnersCard(_)) => panic!("{other:?}"),
                }
            }
            heard
        })
    };
    assert_eq!(heard(), known.iter().map(|(kind, id, _)| (kind.clone(), id.clone())).collect::<Vec<_>>());
    assert_eq!(heard(), []);
}

#[test]
fn unrecorded_loss_is_reported_to_the_next_memoryd() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::usual(folder.path()).await;
        world.memory.mood.set(crate::peers::memory::Mood::Dies);
        let id = reader().id();
        world.sandbox.tell(Note::Quarantined(Quarantined { id, why: "a bit flipped".to_owned() })).await;
        world.until("lost fs_read").await;
        world.memory.mood.set(crate::peers::memory::Mood::Honest);
        world.took();
        world.start_memory(2).await;
        world.until("lost fs_read").await;
    });
}

#[test]
fn a_pool_that_cannot_be_compared_lets_nothing_be_called() {
    let folder = tempfile::tempdir().unwrap();
    let (_, pool) = first_start(folder.path());
    run(async {
        let twice = vec![pool[0].clone(), pool[0].clone()];
        let world = World::new(folder.path(), twice, &[&reader()]);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        world.until("event pool").await;
        assert!(!world.policy.sandbox_ready());
    });
}

#[test]
fn executor_quarantined_during_birth_is_never_callable() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = World::new(folder.path(), vec![reader()], &[&reader()]);
        let births = world.memory.births.clone();
        births.forget_permits(1_000);
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        world.until("install fs_read").await;
        world.until("bearing fs_read").await;
        let id = reader().id();
        world.sandbox.tell(Note::Quarantined(Quarantined { id, why: "a bit flipped".to_owned() })).await;
        world.until("event quarantine").await;
        births.add_permits(1);
        world.policy.settled().await;
        world.until("lost fs_read").await;
        assert_eq!(standing(&world, "fs_read").await.0, "quarantined");
    });
}
