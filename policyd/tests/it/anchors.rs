//! The heads of the chronicle: signed, kept, proven by every memoryd that comes, and nothing decided on another one.

use crate::peers::memory::Mood;
use crate::peers::sandbox::Lie;
use crate::peers::{FakeExecutor, OWNER, World, run};
use ed25519_dalek::{Signature, VerifyingKey};
use metnos_proto::chain::Anchor;
use metnos_proto::edges::policyd_memoryd;
use metnos_proto::ids::{Sha256, TraceId};
use metnos_proto::msg::memoryd::ChainHead;
use metnos_proto::msg::policyd::{Anchors, PolicyStatus, RedactPayload, RunCall};
use metnos_proto::payload::Sealed;
use std::cell::Cell;
use std::time::Duration;

fn head(seq: u64, byte: u8) -> ChainHead {
    let (hash, root) = (Sha256([byte; 32]), Sha256([byte.wrapping_add(1); 32]));
    ChainHead { seq, hash, root, opened: 0, closed: false }
}

/// A world whose memoryd has this head, and which keeps the chain.
async fn world(folder: &std::path::Path, first: ChainHead) -> World {
    let reader = FakeExecutor::reader("fs_read");
    let world = World::new(folder, vec![reader.clone()], &[&reader]);
    *world.memory.head.borrow_mut() = first;
    world.start_memory(1).await;
    world.start_sandbox(1);
    world.keep();
    world.policy.settled().await;
    world
}

async fn kept(world: &World) -> (Vec<(Anchor, [u8; 64])>, String) {
    let owner = world.owner(OWNER).await;
    let (list, [text]) = owner.anchors(TraceId::NONE, Anchors { after: 0 }, []).await.unwrap();
    let text = String::from_utf8(text.read().unwrap()).unwrap();
    let all: Vec<_> =
        text.lines().map(|line| Anchor::from_json(&serde_json::from_str(line).unwrap()).unwrap()).collect();
    assert_eq!((list.anchors as usize, list.next), (all.len(), 0));
    (all, list.broken)
}

async fn until_kept(world: &World, seq: u64) -> Vec<(Anchor, [u8; 64])> {
    loop {
        let (all, _) = kept(world).await;
        if all.iter().any(|(anchor, _)| anchor.seq == seq) {
            return all;
        }
        tokio::task::yield_now().await;
    }
}

async fn until_broken(world: &World) -> String {
    loop {
        let (_, broken) = kept(world).await;
        if !broken.is_empty() {
            return broken;
        }
        tokio::task::yield_now().await;
    }
}

async fn call(world: &World) -> Result<(), String> {
    let owner = world.owner(OWNER).await;
    let arguments = Sealed::new(b"{\"path\":\"notes/welcome.md\"}").unwrap();
    match owner.run_call(TraceId::NONE, RunCall { executor: "fs_read".into() }, [arguments]).await {
        Ok(_) => Ok(()),
        Err(metnos_proto::edge::RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => Err(other.to_string()),
    }
}

/// What `status` says of why nothing is decided.
async fn undecided(world: &World) -> String {
    world.owner(OWNER).await.policy_status(TraceId::NONE, PolicyStatus {}, []).await.unwrap().0.undecided
}

async fn tell(world: &World, head: ChainHead) {
    let notes = loop {
        if let Some(notes) = world.memory.notes.borrow().clone() {
            break notes;
        }
        tokio::task::yield_now().await;
    };
    notes.send(policyd_memoryd::Note::ChainHead(head)).await.unwrap();
}

/// Whether anything was decided, or ran.
fn acted(world: &World) -> bool {
    world.log.borrow().iter().any(|line| line.starts_with("decision ") || line.starts_with("run "))
}

/// Waits until memoryd was asked about what was signed this many times.
async fn until_asked(world: &World, times: usize) {
    while world.memory.heads.borrow().len() < times {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Lets everything go on for as long as `so` says; whether the call still waits then.
async fn waits_while(call: &mut (impl Future + Unpin), so: impl Fn() -> bool) -> bool {
    let going_on = async {
        while so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = going_on => true,
        _ = call => false,
    }
}

/// Lets everything go on as far as it can; whether the call still waits then.
async fn waits(call: &mut (impl Future + Unpin)) -> bool {
    let rounds = Cell::new(0);
    waits_while(call, || rounds.replace(rounds.get() + 1) < 2_000).await
}

#[test]
fn every_head_is_signed_with_the_instances_key_and_kept_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(5, 1)).await;
        until_kept(&world, 5).await;
        tell(&world, head(70, 2)).await;
        let all = until_kept(&world, 70).await;
        let hex =
            world.owner(OWNER).await.policy_status(TraceId::NONE, PolicyStatus {}, []).await.unwrap().0.public_key;
        let key = VerifyingKey::from_bytes(&Sha256::parse(&format!("sha256:{hex}")).unwrap().0).unwrap();
        for (anchor, signature) in &all {
            key.verify_strict(&anchor.signed_bytes(), &Signature::from_bytes(signature)).unwrap();
        }
        assert_eq!(all.iter().map(|(anchor, _)| anchor.seq).collect::<Vec<_>>(), [5, 70]);
    });
    run(async {
        let world = world(folder.path(), head(71, 3)).await;
        let all = until_kept(&world, 71).await;
        assert_eq!(all.len(), 3);
        assert_eq!(world.memory.heads.borrow()[0], "anchored 70", "memoryd is asked about what was signed last");
        assert_eq!(call(&world).await, Ok(()));
    });
}

#[test]
fn altered_chronicle_stops_decisions_until_it_matches_signed_head() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        *world.memory.altered.borrow_mut() = Some("line 70 had another hash".into());
        world.start_memory(2).await;
        assert!(until_broken(&world).await.contains("another hash"));
        assert_eq!(call(&world).await.unwrap_err(), "chronicle.anchor");
        assert!(undecided(&world).await.contains("another hash"));
        assert!(world.took().iter().all(|line| !line.starts_with("run ")), "nothing ran");
        // A restored chronicle proves itself, and Metnos works again.
        *world.memory.altered.borrow_mut() = None;
        *world.memory.head.borrow_mut() = head(80, 4);
        world.start_memory(3).await;
        until_kept(&world, 80).await;
        assert_eq!(call(&world).await, Ok(()));
    });
}

#[test]
fn memoryd_with_a_rewritten_past_is_rejected() {
    // Another line where one was signed; and, asked for what was signed, one that knows no more than what was before.
    for (lie, answer) in [(head(70, 9), head(70, 2)), (head(69, 9), head(69, 9))] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = world(folder.path(), head(70, 2)).await;
            until_kept(&world, 70).await;
            *world.memory.head.borrow_mut() = answer;
            tell(&world, head(70, 2)).await;
            tell(&world, lie).await;
            until_broken(&world).await;
            assert_eq!(call(&world).await.unwrap_err(), "chronicle.anchor");
            // Nor is what it tells from then on signed.
            tell(&world, head(75, 9)).await;
            for _ in 0..50 {
                assert_eq!(kept(&world).await.0.len(), 1, "what was signed stays as it was");
                tokio::task::yield_now().await;
            }
        });
    }
}

#[test]
fn older_head_makes_memoryd_prove_history_without_alarm() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        // Told before memoryd was asked, and read after its answer.
        tell(&world, head(68, 1)).await;
        tell(&world, head(71, 3)).await;
        until_kept(&world, 71).await;
        let asked = world.memory.heads.borrow().clone();
        assert_eq!(asked, ["anchored 0", "anchored 70"], "once when it came, and once for that head");
        assert_eq!(kept(&world).await.1, "");
        assert_eq!(call(&world).await, Ok(()));
        // Then it has lost what was signed after all.
        *world.memory.altered.borrow_mut() = Some("the chronicle ends at line 68".into());
        tell(&world, head(68, 1)).await;
        assert!(until_broken(&world).await.contains("ends at line 68"));
        assert_eq!(call(&world).await.unwrap_err(), "chronicle.anchor");
    });
}

#[test]
fn evasive_memoryd_is_distrusted_until_it_proves_history() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        world.took();
        world.memory.mood.set(Mood::Evades);
        tell(&world, head(68, 1)).await;
        until_asked(&world, 2).await;
        assert_eq!(call(&world).await.unwrap_err(), "memory.index", "what hinders it is told at once");
        assert!(undecided(&world).await.ends_with("the index is behind the log"));
        assert!(!acted(&world), "nothing is decided, and nothing ran");
        // It is asked again and again.
        world.memory.mood.set(Mood::Honest);
        until_asked(&world, 3).await;
        assert_eq!((call(&world).await, kept(&world).await.1.as_str()), (Ok(()), ""));
        assert_eq!(undecided(&world).await, "");
    });
}

#[test]
fn nothing_is_decided_before_the_memoryd_at_hand_has_proven_itself() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        for altered in [false, true] {
            world.took();
            world.memory.proofs.forget_permits(usize::MAX);
            let generation = 2 + u32::from(altered);
            world.start_memory(generation).await;
            until_asked(&world, generation as usize).await;
            let mut waiting = std::pin::pin!(call(&world));
            assert!(waits(&mut waiting).await, "it waits for the proof");
            assert!(!acted(&world), "nothing is decided, and nothing ran");
            *world.memory.altered.borrow_mut() = altered.then(|| "line 70 had another hash".to_owned());
            world.memory.proofs.add_permits(1_000);
            let rule = if altered { Err("chronicle.anchor".to_owned()) } else { Ok(()) };
            assert_eq!(waiting.await, rule);
            assert_eq!(world.took().iter().any(|line| line.starts_with("run ")), !altered);
        }
    });
}

#[test]
fn silent_memoryd_proof_times_out() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        world.took();
        world.memory.proofs.forget_permits(usize::MAX);
        world.start_memory(2).await;
        until_asked(&world, 2).await;
        assert!(undecided(&world).await.contains("has not shown yet"));
        tokio::time::pause();
        assert_eq!(call(&world).await.unwrap_err(), "chronicle.unproven");
        assert!(!acted(&world), "nothing is decided, and nothing ran");
    });
}

#[test]
fn decision_recorded_by_new_memoryd_runs_only_after_its_proof() {
    for altered in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = world(folder.path(), head(70, 2)).await;
            until_kept(&world, 70).await;
            // The call has found memoryd proven, and waits for a sandboxd.
            world.sandbox.lie.set(Lie::Dies);
            let _ = call(&world).await;
            world.sandbox.lie.set(Lie::None);
            world.until("event interrupted").await;
            world.took();
            let mut waiting = std::pin::pin!(call(&world));
            assert!(waits(&mut waiting).await, "it waits for sandboxd");
            world.memory.proofs.forget_permits(usize::MAX);
            world.start_memory(2).await;
            world.start_sandbox(2);
            let recorded = || world.log.borrow().iter().any(|line| line.starts_with("decision "));
            assert!(
                waits_while(&mut waiting, || !recorded()).await && waits(&mut waiting).await,
                "it waits for the proof"
            );
            *world.memory.altered.borrow_mut() = altered.then(|| "line 70 had another hash".to_owned());
            world.memory.proofs.add_permits(1_000);
            let rule = if altered { Err("chronicle.anchor".to_owned()) } else { Ok(()) };
            assert_eq!(waiting.await, rule);
            assert_eq!(world.took().iter().any(|line| line.starts_with("run ")), !altered);
        });
    }
}

#[test]
fn only_the_owner_at_the_machine_has_a_payload_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        let owner = world.owner(OWNER).await;
        owner.redact(TraceId::NONE, RedactPayload { seq: 7, why: "a secret".into() }, []).await.unwrap();
        assert!(world.took().contains(&"redact 7 a secret".to_owned()));
        let guest = world.owner(OWNER + 1).await;
        let refused = guest.redact(TraceId::NONE, RedactPayload { seq: 8, why: "mischief".into() }, []).await;
        assert!(refused.is_err());
        assert!(world.took().iter().all(|line| !line.starts_with("redact")));
    });
}

/// A world whose executor changes something.
async fn world_of_writer(folder: &std::path::Path) -> World {
    let manifest = crate::peers::testing::manifest_text("fs_write", &[("/path", "path")])
        .replace("class = \"read\"", "class = \"self_create\"")
        .replace("side_effects = false", "side_effects = true")
        .replace("fs-read-workspace", "fs-write-workspace")
        .replace("fs_read = [", "fs_write = [")
        .replace("[effects]", "quotas = { writes_per_day = 1000, bytes_per_day = 1000000 }\n\n[effects]");
    let writer = FakeExecutor { manifest, ..FakeExecutor::reader("fs_write") };
    let world = World::new(folder, vec![writer.clone()], &[&writer]);
    world.start_memory(1).await;
    world.start_sandbox(1);
    world.keep();
    world.policy.settled().await;
    world
}

async fn write(world: &World) -> Result<(), String> {
    let owner = world.owner(OWNER).await;
    let arguments = Sealed::new(b"{\"path\":\"notes/new.md\",\"text\":\"x\"}").unwrap();
    match owner.run_call(TraceId::NONE, RunCall { executor: "fs_write".into() }, [arguments]).await {
        Ok(_) => Ok(()),
        Err(metnos_proto::edge::RpcError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => Err(other.to_string()),
    }
}

#[test]
fn the_line_that_allows_an_effect_is_signed_before_it() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world_of_writer(folder.path()).await;
        world.took();
        assert_eq!(write(&world).await, Ok(()));
        let log = world.took();
        let at = |what: &str| {
            log.iter().position(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{what}: {log:#?}"))
        };
        assert!(at("decision ") < at("signed after ") && at("signed after ") < at("run "), "{log:#?}");
        let decided = kept(&world).await.0.last().unwrap().0.seq;
        assert!(decided >= 1);
    });
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        world.took();
        assert_eq!(call(&world).await, Ok(()));
        assert!(world.took().iter().all(|line| !line.starts_with("signed")), "a read is not slower for it");
    });
}

#[test]
fn a_head_that_has_not_moved_since_it_was_signed_is_no_alarm() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world_of_writer(folder.path()).await;
        for _ in 0..2 {
            world.took();
            assert_eq!(write(&world).await, Ok(()));
            // This sandboxd records nothing of what it ran: when the effect has ended, its head was signed already.
            while world.log.borrow().iter().filter(|line| line.starts_with("signed after ")).count() < 2 {
                tokio::task::yield_now().await;
            }
            for _ in 0..50 {
                assert_eq!(kept(&world).await.1, "");
            }
        }
        world.policy.sign_at_stop().await;
        world.policy.sign_at_stop().await;
        assert_eq!(kept(&world).await.1, "");
    });
}

#[test]
fn an_effect_whose_line_cannot_be_signed_does_not_happen() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world_of_writer(folder.path()).await;
        world.took();
        *world.memory.altered.borrow_mut() = Some("line 1 had another hash".into());
        assert_eq!(write(&world).await.unwrap_err(), "chronicle.anchor");
        assert!(world.took().iter().all(|line| !line.starts_with("run ")), "nothing ran");
    });
}

#[test]
fn lines_after_a_closed_chronicle_stay_an_alarm_until_put_right() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        tell(&world, ChainHead { closed: true, ..head(75, 3) }).await;
        world.policy.chain_closed().await;
        assert_eq!(kept(&world).await.0.last().unwrap().0.seq, 75);
    });
    // Someone adds lines while no daemon runs.
    run(async {
        let world = World::new(folder.path(), vec![FakeExecutor::reader("fs_read")], &[]);
        *world.memory.head.borrow_mut() = head(79, 4);
        *world.memory.altered.borrow_mut() = Some("lines 76 to 79 were added".into());
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        assert!(until_broken(&world).await.contains("were added"));
        assert_eq!(world.memory.heads.borrow()[0], "anchored 75 closed");
    });
    for closed in [true, false] {
        run(async {
            let world = World::new(folder.path(), vec![FakeExecutor::reader("fs_read")], &[]);
            *world.memory.head.borrow_mut() = head(75, 3);
            world.start_memory(2).await;
            world.start_sandbox(1);
            world.keep();
            until_asked(&world, 1).await;
            let asked = if closed { "anchored 75 closed" } else { "anchored 75" };
            assert_eq!(world.memory.heads.borrow()[0], asked, "until it was put right");
            let mut rounds = 0;
            while !undecided(&world).await.is_empty() && rounds < 10_000 {
                rounds += 1;
                tokio::task::yield_now().await;
            }
            assert_eq!(undecided(&world).await, "");
        });
    }
}

#[test]
fn a_start_that_ended_before_the_proof_leaves_no_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        tell(&world, ChainHead { closed: true, ..head(75, 3) }).await;
        world.policy.chain_closed().await;
    });
    // It was started, memoryd wrote two lines, and the power failed.
    run(async { drop(World::new(folder.path(), vec![FakeExecutor::reader("fs_read")], &[])) });
    run(async {
        let world = World::new(folder.path(), vec![FakeExecutor::reader("fs_read")], &[]);
        *world.memory.head.borrow_mut() = ChainHead { opened: 77, ..head(77, 5) };
        world.start_memory(1).await;
        world.start_sandbox(1);
        world.keep();
        until_kept(&world, 77).await;
        assert_eq!(world.memory.heads.borrow()[0], "anchored 75");
        let report = world.owner(OWNER).await.policy_status(TraceId::NONE, PolicyStatus {}, []).await.unwrap().0;
        assert_eq!((report.unsigned_lines, report.signed_line, report.undecided.as_str()), (2, 77, ""));
        world.until("event chronicle_unsigned: 2 lines after the last signature (line 75)").await;
    });
}

#[test]
fn a_memoryd_that_is_still_reading_is_waited_for_and_says_how_far() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        world.took();
        world.memory.mood.set(Mood::Reads);
        world.start_memory(2).await;
        until_asked(&world, 3).await;
        assert!(undecided(&world).await.contains("40 %"));
        let mut waiting = std::pin::pin!(call(&world));
        assert!(waits(&mut waiting).await, "it waits");
        assert!(!acted(&world), "nothing is decided, and nothing ran");
        world.memory.mood.set(Mood::Honest);
        assert_eq!(waiting.await, Ok(()));
    });
}
