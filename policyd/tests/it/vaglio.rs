//! Proposals and the constitution over the real edges: what syntd may propose, what the owner sees of it, and that a
//! changed `SOUL.md` stops every act of Metnos's own accord until the rite.

use std::path::Path;
use std::rc::Rc;

use crate::peers::memory::Mood;
use crate::peers::{OWNER, World, run};
use metnos_proto::edge::RpcError;
use metnos_proto::edges::{CtlPolicyd, SyntdPolicyd};
use metnos_proto::ids::TraceId;
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::vaglio::{ProposalAnswer, ProposalWay, Propose, Proposed, Rite, VaglioAsk};
use serde_json::Value;

const SOUL: &str = include_str!("../../../examples/workspace/SOUL.md");
const TELOS: &str = include_str!("../../../examples/workspace/TELOS.md");
const DAY_MS: u64 = 86_400_000;

pub(crate) fn write(folder: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(folder.join("workspace")).unwrap();
    std::fs::write(folder.join("workspace").join(name), text).unwrap();
}

/// A house with a constitution in force and a telos.
pub(crate) async fn house(folder: &Path) -> World {
    write(folder, "SOUL.md", SOUL);
    write(folder, "TELOS.md", TELOS);
    let world = World::usual(folder).await;
    let owner = world.owner(OWNER).await;
    while rite(&owner, Rite::Look).await.unwrap()["in_force"].is_null() {
        tokio::task::yield_now().await;
    }
    world.took();
    world
}

fn serving(title: &str) -> Propose {
    Propose {
        kind: "tidy".into(),
        subject: "notes".into(),
        title: title.into(),
        effect: "Papers, notes, lists and documents of the household are kept findable where one looks, and nothing is lost.".into(),
        touches: vec!["notes/a.md".into()],
        reversible: true,
        urgency_milli: 700,
        confidence_milli: 900,
    }
}

async fn propose(syntd: &Rc<Client<SyntdPolicyd>>, ask: Propose) -> Result<Proposed, Refusal> {
    syntd.propose(TraceId::NONE, ask, []).await.map(|(proposed, [])| proposed).map_err(RpcError::into_refusal)
}

pub(crate) async fn vaglio(owner: &Rc<Client<CtlPolicyd>>, ask: VaglioAsk) -> Result<Value, Refusal> {
    let (_, [document]) = owner.vaglio(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
    Ok(serde_json::from_slice(&document.read().unwrap()).unwrap())
}

async fn rite(owner: &Rc<Client<CtlPolicyd>>, ask: Rite) -> Result<Value, Refusal> {
    let (_, [document]) = owner.rite(TraceId::NONE, ask, []).await.map_err(RpcError::into_refusal)?;
    Ok(serde_json::from_slice(&document.read().unwrap()).unwrap())
}

fn answer(id: &str, accept: bool) -> VaglioAsk {
    VaglioAsk::Answer(ProposalAnswer { id: id.to_owned(), accept })
}

#[test]
fn a_proposal_is_sifted_recorded_and_shown_and_is_not_made_twice() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let (syntd, owner) = (world.syntd().await, world.owner(OWNER).await);
        let made = propose(&syntd, serving("Keep the papers findable")).await.unwrap();
        assert_eq!(made.way, ProposalWay::Digest);
        let lines = world.took();
        assert!(
            lines.iter().any(|line| line.contains("proposal") && line.contains("lexical, an estimate")),
            "{lines:?}"
        );
        let again = propose(&syntd, serving("Keep the papers findable")).await.unwrap();
        assert_eq!((again.way, &again.id), (ProposalWay::Known, &made.id));
        assert!(world.took().is_empty(), "what is known is no news");
        let shown = vaglio(&owner, VaglioAsk::Explain(made.id.clone())).await.unwrap();
        assert_eq!(shown["weighed"]["estimate"], true);
        assert!(shown["weighed"]["ends"].as_array().unwrap().len() == 3, "{shown}");
        assert_eq!(vaglio(&owner, VaglioAsk::Digest).await.unwrap()[0]["id"], made.id.as_str());
    });
}

#[test]
fn proposal_against_a_law_is_blocked_and_registered_without_judge() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let (syntd, owner) = (world.syntd().await, world.owner(OWNER).await);
        let bad = Propose { touches: vec!["/etc/shadow".into()], urgency_milli: 1_000, ..serving("Tidy up") };
        let made = propose(&syntd, bad).await.unwrap();
        assert_eq!(made.way, ProposalWay::Blocked);
        assert!(world.took().iter().any(|line| line.contains("no judge was asked")));
        let unasked = vaglio(&owner, VaglioAsk::Unasked).await.unwrap();
        assert_eq!((&unasked[0]["state"], &unasked[0]["weighed"]["judge"]), (&"blocked".into(), &"".into()));
        assert_eq!(vaglio(&owner, VaglioAsk::Digest).await.unwrap().as_array().unwrap().len(), 0);
        assert_eq!(vaglio(&owner, answer(&made.id, true)).await.unwrap_err().rule, "vaglio.answered");
    });
}

#[test]
fn brake_falls_with_each_proposal_and_recovers_with_time() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let syntd = world.syntd().await;
        let mut ways = Vec::new();
        for n in 0..6 {
            ways.push(propose(&syntd, serving(&format!("Keep the papers findable, part {n}"))).await.unwrap().way);
        }
        assert_eq!(ways.first(), Some(&ProposalWay::Digest));
        assert_eq!(ways.last(), Some(&ProposalWay::Unasked), "{ways:?}");
        world.clock.set(world.clock.get() + 2 * DAY_MS);
        let later = propose(&syntd, serving("Keep the papers findable, later")).await.unwrap();
        assert_eq!(later.way, ProposalWay::Digest);
        // What was never heard may come again in the same words.
        let again = propose(&syntd, serving("Keep the papers findable, part 5")).await.unwrap();
        assert_ne!(again.way, ProposalWay::Known);
    });
}

async fn learned(world: &World) -> f64 {
    let owner = world.owner(OWNER).await;
    let telos = vaglio(&owner, VaglioAsk::Telos).await.unwrap();
    telos["ends"][0]["learned"].as_f64().unwrap()
}

#[test]
fn answers_and_silence_teach_the_weights_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let accepted = run(async {
        let world = house(folder.path()).await;
        let (syntd, owner) = (world.syntd().await, world.owner(OWNER).await);
        let made = propose(&syntd, serving("Keep the papers findable")).await.unwrap();
        vaglio(&owner, answer(&made.id, true)).await.unwrap();
        assert_eq!(vaglio(&owner, answer(&made.id, true)).await.unwrap_err().rule, "vaglio.answered");
        learned(&world).await
    });
    assert!(accepted > 1.0);
    run(async {
        let world = house(folder.path()).await;
        assert!((learned(&world).await - accepted).abs() < 1e-12);
        world.clock.set(2 * DAY_MS);
        let syntd = world.syntd().await;
        let ignored = propose(&syntd, serving("Keep the notes findable")).await.unwrap();
        assert_eq!(ignored.way, ProposalWay::Digest);
        world.clock.set(10 * DAY_MS);
        assert!(learned(&world).await < accepted, "silence is a weak no");
        assert_eq!(propose(&syntd, serving("Keep the notes findable")).await.unwrap().way, ProposalWay::Known);
    });
}

#[test]
fn malformed_telos_keeps_the_last_good_one_and_is_reported_once() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let owner = world.owner(OWNER).await;
        assert_eq!(vaglio(&owner, VaglioAsk::Telos).await.unwrap()["fault"], "");
        write(folder.path(), "TELOS.md", "## t.one — alone\nweight: 1\nthreshold: 0\n");
        for _ in 0..2 {
            let telos = vaglio(&owner, VaglioAsk::Telos).await.unwrap();
            assert_eq!(telos["ends"].as_array().unwrap().len(), 3);
            assert!(telos["fault"].as_str().unwrap().contains("1 sections"));
        }
        tokio::task::yield_now().await;
        world.until("event telos_malformed").await;
        assert_eq!(world.took().iter().filter(|line| line.contains("telos_malformed")).count(), 1);
        write(folder.path(), "TELOS.md", &TELOS.replace("0.4", "0.8"));
        let telos = vaglio(&owner, VaglioAsk::Telos).await.unwrap();
        assert!(telos["ends"][0]["declared"].as_f64().unwrap() > 0.5, "hot-loaded");
    });
}

#[test]
fn proposal_that_cannot_be_recorded_is_not_made() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let (syntd, owner) = (world.syntd().await, world.owner(OWNER).await);
        world.memory.mood.set(Mood::Refuses);
        assert!(propose(&syntd, serving("Keep the papers findable")).await.is_err());
        world.memory.mood.set(Mood::Honest);
        assert_eq!(vaglio(&owner, VaglioAsk::Digest).await.unwrap().as_array().unwrap().len(), 0);
    });
}

#[test]
fn changed_constitution_stops_proposals_until_confirmed_by_rite() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let (syntd, owner) = (world.syntd().await, world.owner(OWNER).await);
        let before = rite(&owner, Rite::Look).await.unwrap();
        assert_eq!(before["pending"], false);
        write(folder.path(), "SOUL.md", &SOUL.replace("nothing is done that leaves no trace", "anything goes"));
        for _ in 0..2 {
            assert_eq!(propose(&syntd, serving("Tidy")).await.unwrap_err().rule, "constitution.pending");
        }
        world.until("event constitution_pending").await;
        assert_eq!(world.took().iter().filter(|line| line.contains("constitution_pending")).count(), 1);
        let pending = rite(&owner, Rite::Look).await.unwrap();
        assert_eq!(
            (&pending["pending"], &pending["in_force"]),
            (&true.into(), &before["in_force"]),
            "old Laws in force"
        );
        let digest = pending["file"]["digest"].as_str().unwrap().to_owned();
        // Not another file than the one that was shown, and not without the line in the chronicle.
        let stale = Rite::Constitution(before["in_force"]["digest"].as_str().unwrap().to_owned());
        assert_eq!(rite(&owner, stale).await.unwrap_err().rule, "constitution.altered");
        world.memory.mood.set(Mood::Refuses);
        assert!(rite(&owner, Rite::Constitution(digest.clone())).await.is_err());
        world.memory.mood.set(Mood::Honest);
        assert_eq!(rite(&owner, Rite::Look).await.unwrap()["pending"], true);
        world.took();
        let done = rite(&owner, Rite::Constitution(digest.clone())).await.unwrap();
        assert_eq!((&done["pending"], &done["in_force"]["digest"]), (&false.into(), &digest.as_str().into()));
        assert!(world.took().iter().any(|line| line.contains("constitution_modified") && line.contains(&digest)));
        assert!(propose(&syntd, serving("Tidy")).await.is_ok());
    });
}

#[test]
fn the_constitution_in_force_survives_a_restart_and_a_vanished_file() {
    let folder = tempfile::tempdir().unwrap();
    run(async { drop(house(folder.path()).await) });
    run(async {
        write(folder.path(), "SOUL.md", "# Nothing\n");
        let world = World::usual(folder.path()).await;
        let owner = world.owner(OWNER).await;
        let look = rite(&owner, Rite::Look).await.unwrap();
        assert_eq!(look["in_force"]["laws"].as_array().unwrap().len(), 4);
        assert_eq!(look["pending"], true);
        assert_eq!(rite(&owner, Rite::Constitution(String::new())).await.unwrap_err().rule, "constitution.form");
        std::fs::remove_file(folder.path().join("workspace/SOUL.md")).unwrap();
        assert_eq!(rite(&owner, Rite::Look).await.unwrap()["pending"], true);
    });
}

#[test]
fn only_owner_sees_proposals_and_performs_the_rite() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let world = house(folder.path()).await;
        let other = world.owner(OWNER + 1).await;
        assert_eq!(vaglio(&other, VaglioAsk::Digest).await.unwrap_err().rule, "principal.unpaired");
        assert_eq!(rite(&other, Rite::Look).await.unwrap_err().rule, "principal.unpaired");
    });
}

#[test]
fn due_proposal_is_delivered_once_within_owners_hours_across_restart() {
    const HOUR_MS: u64 = 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    let told = |due: &Value| due.as_array().unwrap().len();
    run(async {
        let world = house(folder.path()).await;
        let (syntd, owner, other) = (world.syntd().await, world.owner(OWNER).await, world.owner(OWNER).await);
        let made = propose(&syntd, serving("Keep the papers findable")).await.unwrap();
        assert_eq!(made.way, ProposalWay::Digest);
        assert_eq!(told(&vaglio(&owner, VaglioAsk::Due).await.unwrap()), 0, "the evening is not there yet");
        let due_ms = vaglio(&owner, VaglioAsk::Explain(made.id.clone())).await.unwrap()["due_ms"].as_u64().unwrap();
        world.clock.set(due_ms - 1_770_000_000_000);
        // What cannot be recorded is not said, and is said later.
        world.memory.mood.set(Mood::Refuses);
        assert!(vaglio(&owner, VaglioAsk::Due).await.is_err());
        world.memory.mood.set(Mood::Honest);
        write(folder.path(), "USER.md", "quiet hours: 00:00-23:59\n");
        assert_eq!(told(&vaglio(&owner, VaglioAsk::Due).await.unwrap()), 0, "not in quiet hours");
        write(folder.path(), "USER.md", "");
        let (one, two) = tokio::join!(vaglio(&owner, VaglioAsk::Due), vaglio(&other, VaglioAsk::Due));
        assert_eq!(told(&one.unwrap()) + told(&two.unwrap()), 1, "each hears something else, or nothing");
        assert_eq!(told(&vaglio(&owner, VaglioAsk::Digest).await.unwrap()), 1, "it still waits for the answer");
        assert!(world.took().iter().any(|line| line.contains("digest") && line.contains(&made.id)));
        // What cannot wait is said at once.
        world.clock.set(world.clock.get() + 30 * HOUR_MS);
        let urgent = Propose { urgency_milli: 1_000, ..serving("Keep the papers findable now") };
        if propose(&syntd, urgent).await.unwrap().way == ProposalWay::Now {
            assert_eq!(told(&vaglio(&owner, VaglioAsk::Due).await.unwrap()), 1);
        }
    });
    run(async {
        let world = house(folder.path()).await;
        let owner = world.owner(OWNER).await;
        world.clock.set(60 * HOUR_MS);
        assert_eq!(told(&vaglio(&owner, VaglioAsk::Due).await.unwrap()), 0);
    });
}
