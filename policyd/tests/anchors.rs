//! The heads of the chronicle: signed, kept, proven by every memoryd that comes, and nothing decided on another one.
#![allow(clippy::unwrap_used)]

mod peers;

use ed25519_dalek::{Signature, VerifyingKey};
use metnos_proto::chain::Anchor;
use metnos_proto::edges::policyd_memoryd;
use metnos_proto::ids::{Sha256, TraceId};
use metnos_proto::msg::memoryd::ChainHead;
use metnos_proto::msg::policyd::{Anchors, PolicyStatus, RedactPayload, RunCall};
use metnos_proto::payload::Sealed;
use peers::{FakeExecutor, OWNER, World, run};
use std::rc::Rc;

fn head(seq: u64, byte: u8) -> ChainHead {
    ChainHead { seq, hash: Sha256([byte; 32]), root: Sha256([byte.wrapping_add(1); 32]) }
}

/// A world whose memoryd has this head, and which keeps the chain.
async fn world(folder: &std::path::Path, first: ChainHead) -> World {
    let reader = FakeExecutor::reader("fs_read");
    let world = World::new(folder, vec![reader.clone()], &[&reader]);
    *world.memory.head.borrow_mut() = first;
    world.start_memory(1).await;
    world.start_sandbox(1);
    world.keep();
    tokio::task::spawn_local(Rc::clone(&world.policy).keep_chain());
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
        Err(metnos_proto::edge::AskError::Refused(refusal)) => Err(refusal.rule),
        Err(other) => Err(other.to_string()),
    }
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
fn nothing_is_decided_on_a_chronicle_that_is_not_what_was_signed_until_it_is_again() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let world = world(folder.path(), head(70, 2)).await;
        until_kept(&world, 70).await;
        *world.memory.altered.borrow_mut() = Some("line 70 had another hash".into());
        world.start_memory(2).await;
        assert!(until_broken(&world).await.contains("another hash"));
        assert_eq!(call(&world).await.unwrap_err(), "chronicle.anchor");
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
fn a_memoryd_that_tells_of_another_past_is_believed_no_more() {
    for lie in [head(69, 9), head(70, 9)] {
        let folder = tempfile::tempdir().unwrap();
        run(async {
            let world = world(folder.path(), head(70, 2)).await;
            until_kept(&world, 70).await;
            tell(&world, head(70, 2)).await;
            tell(&world, lie).await;
            until_broken(&world).await;
            assert_eq!(call(&world).await.unwrap_err(), "chronicle.anchor");
            assert_eq!(kept(&world).await.0.len(), 1, "what was signed stays as it was");
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
