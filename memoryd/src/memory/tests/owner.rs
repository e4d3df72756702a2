//! The ager, the owner's acts, freezing and snapshots: each over random histories the same when it is derived anew.
#![allow(clippy::unwrap_used)]

use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::memoryd::{
    AgerProposal, AgerProposals, ExecutorLost, MAX_AGER_PROPOSALS, MAX_TAG, MAX_WHY, OwnersAct, Reasoned, Tagged,
};
use metnos_proto::role::RoleName;
use proptest::prelude::*;

use crate::chronicle::testing::{MORNING, kinds};
use crate::chronicle::time::DAY_MS;
use crate::memory::Memory;
use crate::memory::testing::{Instance, asker, candidate, id, no};
use crate::memory::usage::MAX_SNAPSHOT_NAME;
use crate::mnestome::snapshot::{FOLDER, digest_of};
use crate::mnestome::weight::{LAMBDA, decayed};

fn reasoned(id: &str) -> Reasoned {
    Reasoned { id: id.to_owned(), why: "a reason".to_owned() }
}

fn act(memory: &mut Memory, act: &OwnersAct) {
    memory.owner_decides(asker(RoleName::Ctl), act).unwrap();
}

fn refuses(memory: &mut Memory, act: &OwnersAct) -> String {
    no(memory.owner_decides(asker(RoleName::Ctl), act))
}

/// An instance whose use-day has ten calls, so that years of use can be lived in a test.
pub(super) fn instance() -> Instance {
    Instance { calls_per_use_day: 10, ..Instance::new() }
}

/// Calls that feed nobody: they move the clock of use, a use-day on each of so many days.
pub(super) fn use_days(instance: &Instance, memory: &mut Memory, first: u8, days: u8) {
    for day in 0..days {
        instance.clock.advance(DAY_MS);
        let n = first + day;
        memory.say(n, "look around");
        memory.begin(n);
        for place in 1..=10 {
            memory.run(n, place, "fs_list", &[], Outcome::Ok);
        }
        memory.closed(n, "");
        memory.flush().unwrap();
    }
}

/// Everything that is derived, as text; the number of the last line is not.
fn derived(memory: &Memory) -> (String, [String; 3], u64) {
    let mnestome = memory.mnestome();
    let fitness = serde_json::to_string(&mnestome.fitness().unwrap()).unwrap();
    let proposals = serde_json::to_string(&mnestome.proposals().unwrap()).unwrap();
    let snapshots = serde_json::to_string(&mnestome.snapshots().unwrap()).unwrap();
    (mnestome.dump().unwrap(), [proposals, snapshots, fitness], mnestome.now())
}

pub(super) fn same_when_derived_anew(instance: &Instance, mut memory: Memory) {
    memory.settle().unwrap();
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
    let before = derived(&memory);
    drop(memory);
    for name in ["mnest.sqlite", "mnest.sqlite-wal"] {
        let _ = std::fs::remove_file(instance.dir.path().join(".mnestome").join(name));
    }
    assert_eq!(derived(&instance.open()), before);
}

#[test]
fn unused_mnest_decays_and_its_archival_is_proposed_once() {
    let instance = instance();
    let mut memory = instance.open();
    for n in 1..=2 {
        memory.count_words(n);
    }
    let first = memory.mnestome().list().unwrap().remove(0);
    assert_eq!(first.state, "active");
    // From 0.30 to 0.20 takes ln(1.5)/λ, some 23 use-days.
    use_days(&instance, &mut memory, 3, 26);
    let flagged = memory.mnestome().one(&first.id).unwrap().unwrap();
    assert_eq!(flagged.state, "decaying");
    assert_eq!(memory.mnestome().neighbours("fs_read", "1.0.0", 5).unwrap().len(), 1, "still usable");
    assert!(memory.mnestome().proposals().unwrap().is_empty());
    // Below 0.05 after a hundred, and unused for ninety.
    use_days(&instance, &mut memory, 29, 80);
    let proposals = memory.mnestome().proposals().unwrap();
    assert_eq!(proposals.len(), 1);
    assert_eq!(
        (proposals[0].kind.as_str(), proposals[0].mnest.as_str(), proposals[0].state.as_str()),
        ("archival", first.id.as_str(), "open")
    );
    assert_ne!(memory.mnestome().one(&first.id).unwrap().unwrap().state, "archived", "it proposes, the owner decides");
    act(&mut memory, &OwnersAct::Archive(reasoned(&first.id)));
    assert_eq!(memory.mnestome().one(&first.id).unwrap().unwrap().state, "archived");
    assert_eq!(memory.mnestome().proposals().unwrap()[0].state, "accepted");
    assert!(memory.mnestome().neighbours("fs_read", "1.0.0", 5).unwrap().is_empty());
    same_when_derived_anew(&instance, memory);
}

#[test]
fn use_makes_a_decaying_or_archived_mnest_active_again() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    memory.count_words(2);
    let id = memory.mnestome().list().unwrap()[0].id.clone();
    use_days(&instance, &mut memory, 3, 26);
    memory.count_words(40);
    assert_eq!(memory.mnestome().one(&id).unwrap().unwrap().state, "active");
    act(&mut memory, &OwnersAct::Archive(reasoned(&id)));
    memory.count_words(41);
    assert_eq!(memory.mnestome().one(&id).unwrap().unwrap().state, "active");
    same_when_derived_anew(&instance, memory);
}

fn wish(memory: &mut Memory, n: u8, wish: &str) {
    memory.say(n, "please");
    memory.begin(n);
    memory.closed(n, wish);
    memory.flush().unwrap();
}

#[test]
fn a_wish_that_comes_again_is_proposed_and_one_that_does_not_is_forgotten() {
    let instance = instance();
    let mut memory = instance.open();
    for n in 1..=3 {
        wish(&mut memory, n, "play music");
    }
    wish(&mut memory, 4, "fly");
    use_days(&instance, &mut memory, 5, 5);
    let proposals = memory.mnestome().proposals().unwrap();
    assert_eq!(proposals.iter().map(|one| one.kind.as_str()).collect::<Vec<_>>(), ["synthesis"]);
    act(&mut memory, &OwnersAct::Decline(reasoned(&proposals[0].id)));
    assert_eq!(refuses(&mut memory, &OwnersAct::Decline(reasoned(&proposals[0].id))), "mnest.proposal");
    // From 0.15 to 0.05 takes ln(3)/λ, some 61 use-days.
    use_days(&instance, &mut memory, 10, 66);
    let left: Vec<String> = memory.gaps().unwrap().gaps.into_iter().map(|gap| gap.wish).collect();
    assert_eq!(left, ["play music"]);
    assert_eq!(memory.mnestome().proposals().unwrap()[0].state, "declined");
    same_when_derived_anew(&instance, memory);
}

/// All that is told to syntd, page by page.
fn told_to_syntd(memory: &Memory) -> Vec<AgerProposal> {
    let (mut all, mut after_seq, mut after_id): (Vec<AgerProposal>, _, _) = (Vec::new(), 0, String::new());
    loop {
        let list = memory.ager_proposals(&AgerProposals { after_seq, after_id: after_id.clone() }).unwrap();
        assert!(list.proposals.len() <= MAX_AGER_PROPOSALS);
        let Some(last) = list.proposals.last() else { return all };
        (after_seq, after_id) = (last.seq, last.id.clone());
        let more = list.more;
        all.extend(list.proposals);
        if !more {
            return all;
        }
    }
}

#[test]
fn syntd_is_notified_once_of_proposals_and_fetches_open_ones() {
    let instance = instance();
    let mut memory = instance.open();
    for n in 1..=3 {
        for what in 0..20 {
            wish(&mut memory, n * 20 + what, &format!("wish number {}", "x".repeat(usize::from(what) + 1)));
        }
    }
    assert!(!memory.ager_proposed() && told_to_syntd(&memory).is_empty());
    use_days(&instance, &mut memory, 90, 5);
    assert!(memory.ager_proposed(), "after fifty calls the ager has been there");
    assert!(!memory.ager_proposed(), "it is said once");
    let told = told_to_syntd(&memory);
    assert!(told.len() > MAX_AGER_PROPOSALS, "{}", told.len());
    let mut ids: Vec<&str> = told.iter().map(|one| one.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), told.len(), "each once");
    assert!(told.iter().all(|one| one.src.is_empty() && one.dst.starts_with("wish number")), "{told:?}");
    let declined = told[0].id.clone();
    act(&mut memory, &OwnersAct::Decline(reasoned(&declined)));
    assert!(told_to_syntd(&memory).iter().all(|one| one.id != declined));
}

#[test]
fn frozen_mnestome_does_not_age() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    let before = memory.mnestome().list().unwrap();
    act(&mut memory, &OwnersAct::Freeze(reasoned("")));
    assert!(memory.status().unwrap().frozen);
    assert_eq!(refuses(&mut memory, &OwnersAct::Freeze(reasoned(""))), "mnest.frozen");
    use_days(&instance, &mut memory, 2, 30);
    assert_eq!(memory.mnestome().list().unwrap(), before);
    assert!(memory.mnestome().snapshots().unwrap()[0].name.starts_with("frozen-"));
    memory = {
        drop(memory);
        instance.open()
    };
    assert!(memory.status().unwrap().frozen, "also after a restart");
    act(&mut memory, &OwnersAct::Defrost(reasoned("")));
    assert_eq!(memory.mnestome().list().unwrap(), before);
    assert_eq!(refuses(&mut memory, &OwnersAct::Defrost(reasoned(""))), "mnest.frozen");
    use_days(&instance, &mut memory, 40, 1);
    let after = memory.mnestome().list().unwrap();
    let expected = decayed(before[0].weight, LAMBDA, 0, 1_000_000);
    assert!((after[0].weight - expected).abs() < 1e-9, "{} {expected}", after[0].weight);
    same_when_derived_anew(&instance, memory);
}

#[test]
fn an_idle_system_does_not_age() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    let before = memory.mnestome().list().unwrap();
    instance.clock.advance(400 * DAY_MS);
    memory = {
        drop(memory);
        instance.open()
    };
    assert_eq!(memory.mnestome().list().unwrap(), before);
}

#[test]
fn tags_are_words_of_the_owners_and_are_derived_like_everything_else() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    let id = memory.mnestome().list().unwrap()[0].id.clone();
    let tag = |tag: &str| Tagged { id: id.clone(), tag: tag.to_owned() };
    act(&mut memory, &OwnersAct::Tag(tag("work")));
    act(&mut memory, &OwnersAct::Tag(tag(&"è".repeat(MAX_TAG / 2))));
    assert_eq!(refuses(&mut memory, &OwnersAct::Tag(tag("work"))), "mnest.tag");
    for bad in ["", "two words", "a\nb", &"x".repeat(MAX_TAG + 1)] {
        assert_eq!(refuses(&mut memory, &OwnersAct::Tag(tag(bad))), "mnest.tag");
    }
    let unknown = Tagged { id: "mnest_none".to_owned(), tag: "x".to_owned() };
    assert_eq!(refuses(&mut memory, &OwnersAct::Tag(unknown)), "mnest.unknown");
    act(&mut memory, &OwnersAct::Untag(tag("work")));
    assert_eq!(refuses(&mut memory, &OwnersAct::Untag(tag("work"))), "mnest.tag");
    assert_eq!(memory.mnestome().list().unwrap()[0].tags, ["è".repeat(MAX_TAG / 2)]);
    same_when_derived_anew(&instance, memory);
}

#[test]
fn an_act_needs_a_reason_and_a_snapshot_a_name_of_its_own() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    for why in [String::new(), " ".to_owned(), "x".repeat(MAX_WHY + 1)] {
        let without = Reasoned { id: "kept".to_owned(), why };
        assert_eq!(refuses(&mut memory, &OwnersAct::Snapshot(without)), "mnest.why");
    }
    for name in ["Kept", "../kept", "a b", &"k".repeat(MAX_SNAPSHOT_NAME + 1)] {
        assert_eq!(refuses(&mut memory, &OwnersAct::Snapshot(reasoned(name))), "mnest.snapshot");
    }
    act(&mut memory, &OwnersAct::Snapshot(reasoned(&"k".repeat(MAX_SNAPSHOT_NAME))));
    act(&mut memory, &OwnersAct::Snapshot(reasoned("kept")));
    assert_eq!(refuses(&mut memory, &OwnersAct::Snapshot(reasoned("kept"))), "mnest.snapshot");
    assert_eq!(refuses(&mut memory, &OwnersAct::Rollback(reasoned("other"))), "mnest.snapshot");
    let id = memory.mnestome().list().unwrap()[0].id.clone();
    assert_eq!(refuses(&mut memory, &OwnersAct::Restore(reasoned(&id))), "mnest.state");
}

#[test]
fn a_snapshot_is_a_copy_with_the_digest_that_stands_in_the_chronicle() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    act(&mut memory, &OwnersAct::Snapshot(reasoned("kept")));
    memory.count_words(2);
    let kept = memory.mnestome().snapshots().unwrap().remove(0);
    let path = instance.dir.path().join(".mnestome").join(FOLDER).join("kept.sqlite");
    assert_eq!(digest_of(&path).unwrap(), kept.digest);
    assert_ne!(memory.mnestome().digest().unwrap(), kept.digest);
    assert!(!instance.dir.path().join(".mnestome").join(FOLDER).join("kept.new").exists());
}

#[test]
fn a_rollback_gives_what_was_kept_is_recorded_and_can_be_taken_back() {
    let instance = instance();
    let mut memory = instance.open();
    memory.count_words(1);
    act(&mut memory, &OwnersAct::Snapshot(reasoned("kept")));
    let kept = memory.mnestome().digest().unwrap();
    memory.count_words(2);
    wish(&mut memory, 3, "fly");
    let later = memory.mnestome().digest().unwrap();
    act(&mut memory, &OwnersAct::Rollback(reasoned("kept")));
    assert_eq!(memory.mnestome().digest().unwrap(), kept);
    let before =
        memory.mnestome().snapshots().unwrap().into_iter().find(|one| one.name.starts_with("before-")).unwrap();
    act(&mut memory, &OwnersAct::Rollback(reasoned(&before.name)));
    assert_eq!(memory.mnestome().digest().unwrap(), later);
    memory.count_words(4);
    same_when_derived_anew(&instance, memory);
}

#[test]
fn once_a_month_the_mnestome_is_kept_and_after_a_year_it_is_compressed() {
    let instance = instance();
    let mut memory = instance.open();
    memory.idle().unwrap();
    memory.count_words(1);
    memory.idle().unwrap();
    assert!(memory.mnestome().snapshots().unwrap().is_empty(), "the first month is not over");
    instance.clock.set(MORNING + 40 * DAY_MS);
    memory.idle().unwrap();
    memory.idle().unwrap();
    let folder = instance.dir.path().join(".mnestome").join(FOLDER);
    let plain = std::fs::read(folder.join("2026-06.sqlite")).unwrap();
    instance.clock.set(MORNING + 300 * DAY_MS);
    memory.idle().unwrap();
    let names: Vec<String> = memory.mnestome().snapshots().unwrap().into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["2026-06", "2027-02"]);
    assert!(folder.join("2026-06.sqlite").exists());
    instance.clock.set(MORNING + 406 * DAY_MS);
    memory.idle().unwrap();
    assert!(!folder.join("2026-06.sqlite").exists() && folder.join("2027-02.sqlite").exists());
    let packed = std::fs::read(folder.join("2026-06.sqlite.zst")).unwrap();
    assert!(packed.len() < plain.len());
    assert_eq!(zstd::stream::decode_all(packed.as_slice()).unwrap(), plain, "not a byte of it is lost");
    same_when_derived_anew(&instance, memory);
}

#[test]
fn mnests_to_lost_executor_are_superseded_until_rebirth() {
    let instance = instance();
    let mut memory = instance.open();
    memory.born(&candidate("text_stats", &[])).unwrap();
    memory.count_words(1);
    let state = |memory: &Memory| memory.mnestome().list().unwrap()[0].state.clone();
    memory
        .executor_lost(asker(RoleName::Policyd), &ExecutorLost { id: id("text_stats"), why: "a flipped bit".into() })
        .unwrap();
    memory.flush().unwrap();
    assert_eq!(state(&memory), "superseded");
    assert!(memory.mnestome().neighbours("fs_read", "1.0.0", 5).unwrap().is_empty());
    memory.born(&candidate("text_stats", &[])).unwrap();
    memory.flush().unwrap();
    assert_eq!(state(&memory), "active");
    same_when_derived_anew(&instance, memory);
}

/// One thing that happens.
#[derive(Debug, Clone)]
enum Event {
    Words,
    Wish(u8),
    Days(u8),
    Tag(u8),
    Archive(u8),
    Freeze,
    Defrost,
    Snapshot,
    Rollback(u8),
    Lose,
    Bear,
    Restart,
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => Just(Event::Words),
        2 => (0_u8..3).prop_map(Event::Wish),
        2 => (1_u8..4).prop_map(Event::Days),
        1 => any::<u8>().prop_map(Event::Tag),
        1 => any::<u8>().prop_map(Event::Archive),
        1 => Just(Event::Freeze),
        1 => Just(Event::Defrost),
        1 => Just(Event::Snapshot),
        1 => any::<u8>().prop_map(Event::Rollback),
        1 => Just(Event::Lose),
        1 => Just(Event::Bear),
        1 => Just(Event::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_history_of_turns_and_acts_derived_anew_is_the_same_byte_for_byte(events in prop::collection::vec(any_event(), 1..14)) {
        let instance = instance();
        let mut memory = instance.open();
        let mut n = 0_u8;
        let mut next = |by: u8| { n += by; n - by + 1 };
        for event in events {
            let ctl = asker(RoleName::Ctl);
            let ids: Vec<String> = memory.mnestome().list().unwrap().into_iter().map(|one| one.id).collect();
            let pick = |at: u8| ids.get(usize::from(at) % ids.len().max(1)).cloned().unwrap_or_default();
            match event {
                Event::Words => { memory.count_words(next(1)); }
                Event::Wish(which) => wish(&mut memory, next(1), ["fly", "sing", "cook"][usize::from(which)]),
                Event::Days(days) => use_days(&instance, &mut memory, next(days), days),
                Event::Tag(at) => { let _ = memory.owner_decides(ctl, &OwnersAct::Tag(Tagged { id: pick(at), tag: "x".to_owned() })); }
                Event::Archive(at) => { let _ = memory.owner_decides(ctl, &OwnersAct::Archive(reasoned(&pick(at)))); }
                Event::Freeze => { let _ = memory.owner_decides(ctl, &OwnersAct::Freeze(reasoned(""))); }
                Event::Defrost => { let _ = memory.owner_decides(ctl, &OwnersAct::Defrost(reasoned(""))); }
                Event::Snapshot => { let _ = memory.owner_decides(ctl, &OwnersAct::Snapshot(reasoned(""))); }
                Event::Rollback(at) => {
                    let names: Vec<String> = memory.mnestome().snapshots().unwrap().into_iter().map(|one| one.name).collect();
                    let name = names.get(usize::from(at) % names.len().max(1)).cloned().unwrap_or_default();
                    let _ = memory.owner_decides(ctl, &OwnersAct::Rollback(reasoned(&name)));
                }
                Event::Lose => { memory.executor_lost(asker(RoleName::Policyd), &ExecutorLost { id: id("text_stats"), why: "x".into() }).unwrap(); }
                Event::Bear => { memory.born(&candidate("text_stats", &[])).unwrap(); }
                Event::Restart => { memory.settle().unwrap(); drop(memory); memory = instance.open(); }
            }
        }
        same_when_derived_anew(&instance, memory);
    }
}
