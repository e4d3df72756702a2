//! The signed head against whoever rewrites the whole chronicle, the rite that takes a payload out, and what the owner
//! looks at.
#![allow(clippy::unwrap_used)]

use metnos_proto::chain::{ANCHOR_EVERY, ANCHOR_WITHIN_MS, Anchor, Link};
use metnos_proto::ids::Sha256;
use metnos_proto::merkle::root_of;
use metnos_proto::msg::memoryd::{
    Anchored, ChainHead, LinesWanted, MAX_WHY, MnestsWanted, ProofWanted, Query, Redact, SearchWanted,
};
use metnos_proto::role::RoleName;
use proptest::prelude::*;

use crate::chronicle::event::{GENESIS, sha256};
use crate::chronicle::line::{parse_line, to_line_with};
use crate::chronicle::testing::kinds;
use crate::chronicle::verify::Verify;
use crate::faults::{Fault, Step};
use crate::memory::Memory;
use crate::memory::testing::{Instance, PEER, asker, no};

pub(super) const DAY: &str = ".audit/2026-04-25.jsonl";

fn clean(memory: &Memory) {
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
}

/// What policyd asks with every effect.
pub(super) fn ask(head: &ChainHead) -> Anchored {
    Anchored { seq: head.seq, hash: head.hash, whole: false, closed: false }
}

fn signed(head: &ChainHead) -> Anchor {
    Anchor { seq: head.seq, hash: head.hash, root: head.root, ts_ms: 1 }
}

fn findings(memory: &Memory, since: u64, anchors: Vec<Anchor>) -> Vec<String> {
    let verify = Verify::since(memory.chronicle(), since, anchors).unwrap();
    verify.run(memory.chronicle()).unwrap().findings.into_iter().map(|finding| finding.kind).collect()
}

/// Writes the whole chronicle anew with other words in line 1, every hash right, and takes the index away: what a
/// hostile memoryd could leave.
fn rewrite(instance: &Instance, keep: usize) {
    let path = instance.dir.path().join(DAY);
    let (keys, mut last) = (instance.keys(), GENESIS);
    let lines: Vec<u8> = instance
        .day_lines("2026-04-25")
        .iter()
        .take(keep)
        .flat_map(|line| {
            let mut event = parse_line(line.trim_end().as_bytes()).unwrap();
            event.payload = event.payload.replace("welcome.md", "changed.md");
            event.payload_sha256 = sha256(event.payload.as_bytes());
            event.prev_hash = last;
            event.hash = event.computed_hash();
            last = event.hash;
            to_line_with(&event, &keys.to_file(event.seq, &event.peer, &event.payload).unwrap())
        })
        .collect();
    std::fs::write(&path, lines).unwrap();
    for name in ["index.sqlite", "index.sqlite-wal"] {
        let _ = std::fs::remove_file(instance.dir.path().join(".audit").join(name));
    }
    let _ = std::fs::remove_file(instance.dir.path().join(".mnestome/mnest.sqlite"));
}

#[test]
fn rewritten_chronicle_is_detected_only_by_the_signed_head() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let head = memory.chain_head().unwrap();
    memory.count_words(2);
    drop(memory);
    rewrite(&instance, 20);
    let mut memory = instance.open();
    clean(&memory);
    assert_eq!(findings(&memory, 0, vec![signed(&head)]), ["anchor"]);
    assert_eq!(no(memory.anchored(&ask(&head))), "chronicle.altered");
    assert_eq!(
        no(memory.received(asker(RoleName::Gatewayd), &crate::memory::testing::received(9), b"x".to_vec())),
        "chronicle.altered"
    );
    assert!(!memory.status().unwrap().altered.is_empty());
}

#[test]
fn a_return_to_an_earlier_state_is_caught_by_the_signed_head() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let earlier = instance.after_kill();
    memory.count_words(2);
    let head = memory.chain_head().unwrap();
    let mut returned = earlier.open();
    clean(&returned);
    assert_eq!(findings(&returned, 0, vec![signed(&head)]), ["anchor"]);
    assert_eq!(no(returned.anchored(&ask(&head))), "chronicle.altered");
}

#[test]
fn lines_after_signed_head_are_verified_when_policyd_connects() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let head = memory.chain_head().unwrap();
    memory.count_words(2);
    let path = instance.dir.path().join(DAY);
    let text = std::fs::read_to_string(&path).unwrap();
    // One character of what lies encrypted in the last line.
    let at = text.rfind("\"encrypted\":\"").unwrap() + 40;
    let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
    std::fs::write(&path, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    assert_eq!(no(memory.anchored(&ask(&head))), "chronicle.altered");
}

#[test]
fn witnesses_that_disagree_are_a_finding_and_do_not_stop_everything() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let head = memory.chain_head().unwrap();
    // A run that nobody decided, as only a fault of memoryd's own checks could let in.
    let foreign = crate::chronicle::event::Draft {
        emitter: RoleName::Planner,
        ..crate::chronicle::testing::draft(crate::chronicle::EventType::RunEnded, "{}")
    };
    memory.journal.chronicle.stage(foreign).unwrap();
    memory.flush().unwrap();
    memory.anchored(&ask(&head)).unwrap();
    memory.count_words(2);
    assert!(kinds(memory.chronicle()).contains(&"emitter".to_owned()));
    assert!(memory.status().unwrap().altered.is_empty());
}

#[test]
fn honest_memory_proves_itself_and_reports_its_head() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let first = memory.anchored(&Anchored { seq: 0, hash: GENESIS, whole: false, closed: false }).unwrap();
    assert_eq!(first.seq, 0);
    memory.count_words(1);
    let head = memory.anchored(&Anchored { seq: 0, hash: GENESIS, whole: false, closed: false }).unwrap();
    memory.count_words(2);
    let next = memory.anchored(&ask(&head)).unwrap();
    assert_eq!((head.seq, next.seq), (10, 20));
    assert_eq!(findings(&memory, 0, vec![signed(&next), signed(&head)]), Vec::<String>::new());
    assert_eq!(findings(&memory, 15, vec![signed(&next), signed(&head)]), Vec::<String>::new(), "half a turn");
    let unknown = Anchored { seq: 21, ..ask(&head) };
    assert_eq!(no(memory.anchored(&unknown)), "chronicle.altered");
}

#[test]
fn the_head_is_due_after_so_many_lines_or_so_long_and_not_before() {
    let instance = Instance::new();
    let mut memory = instance.open();
    assert!(memory.head_due().is_none() && memory.head_wait_ms().is_none());
    for n in 1..=6 {
        memory.count_words(n);
        assert!(memory.head_due().is_none());
    }
    assert_eq!(memory.head_wait_ms(), Some(ANCHOR_WITHIN_MS));
    instance.clock.advance(ANCHOR_WITHIN_MS - 1);
    assert!(memory.head_due().is_none());
    instance.clock.advance(1);
    let head = memory.head_due().unwrap();
    assert_eq!(head.seq, 60);
    memory.head_not_notified();
    assert!(
        memory.head_due().is_none() && memory.head_wait_ms() == Some(ANCHOR_WITHIN_MS),
        "nobody is there: no hurry"
    );
    instance.clock.advance(ANCHOR_WITHIN_MS);
    let head = memory.head_due().unwrap();
    memory.head_notified(&head);
    assert!(memory.head_due().is_none() && memory.head_wait_ms().is_none());
    for n in 7..=12 {
        memory.count_words(n);
    }
    assert!(memory.head_due().is_none());
    memory.count_words(13);
    let head = memory.head_due().unwrap();
    assert_eq!(head.seq, 130);
    assert!(head.seq - 60 >= ANCHOR_EVERY);
}

pub(super) fn redact(memory: &mut Memory, seq: u64) -> crate::memory::Answer<metnos_proto::msg::memoryd::Recorded> {
    memory.redact(asker(RoleName::Policyd), &Redact { seq, why: "a secret was in it".to_owned() })
}

/// Everything that lies below a folder, as one heap of bytes.
fn heap(path: &std::path::Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            all.extend(heap(&entry.path()));
        } else {
            all.extend(std::fs::read(entry.path()).unwrap());
        }
    }
    all
}

fn holds(instance: &Instance, text: &str) -> bool {
    heap(instance.dir.path()).windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn redacted_payload_is_gone_from_every_file_and_chain_holds() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let head = memory.chain_head().unwrap();
    let before = memory.chronicle().head();
    // Encrypted or not, what was said is taken out.
    let said = std::fs::read_to_string(instance.dir.path().join(DAY)).unwrap();
    let said = parse_line(said.lines().next().unwrap().as_bytes()).unwrap().payload;
    assert!(holds(&instance, &said) && !holds(&instance, "notes/welcome.md"));
    assert_eq!(redact(&mut memory, 1).unwrap().seq, before.seq + 1);
    assert!(!holds(&instance, &said));
    clean(&memory);
    assert_eq!(findings(&memory, 0, vec![signed(&head)]), Vec::<String>::new(), "what was signed before still stands");
    let line = std::fs::read_to_string(instance.dir.path().join(DAY)).unwrap().lines().next().unwrap().to_owned();
    assert!(!Link::read(line.as_bytes()).unwrap().payload_holds);
    assert_eq!(no(redact(&mut memory, 1)), "redact.twice");
    // The rest of the turn is still told by its witnesses, and an index built anew is the same.
    memory.count_words(2);
    drop(memory);
    std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite")).unwrap();
    let _ = std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite-wal"));
    clean(&instance.open());
}

#[test]
fn a_decision_that_was_taken_out_leaves_the_view_and_no_false_alarm() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let view = instance.dir.path().join(".audit/executors/2026-04-25.jsonl");
    assert_eq!(std::fs::read_to_string(&view).unwrap().lines().count(), 2);
    redact(&mut memory, 3).unwrap();
    assert_eq!(std::fs::read_to_string(&view).unwrap().lines().count(), 1);
    clean(&memory);
    memory.count_words(2);
    assert_eq!(std::fs::read_to_string(&view).unwrap().lines().count(), 3);
    let written = std::fs::read(&view).unwrap();
    drop(memory);
    std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite")).unwrap();
    let _ = std::fs::remove_file(instance.dir.path().join(".audit/index.sqlite-wal"));
    clean(&instance.open());
    assert_eq!(std::fs::read(&view).unwrap(), written, "the view built anew is the same");
}

#[test]
fn a_wish_that_was_taken_out_is_no_longer_derived() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    memory.say(2, "sing");
    memory.begin(2);
    memory.closed(2, "sing a secret song");
    memory.flush().unwrap();
    assert_eq!(memory.gaps().unwrap().gaps.len(), 1);
    let close = memory.chronicle().head().seq;
    redact(&mut memory, close).unwrap();
    assert_eq!(memory.gaps().unwrap().gaps.len(), 0);
    assert_eq!(memory.mnestome().list().unwrap().len(), 1, "what sandboxd has seen stays");
}

#[test]
fn redaction_is_limited_to_personal_payloads_and_needs_a_reason() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    for seq in [2, 4, 5] {
        assert_eq!(no(redact(&mut memory, seq)), "redact.type");
    }
    assert_eq!(no(redact(&mut memory, 99)), "audit.line");
    for why in [String::new(), " ".to_owned(), "x".repeat(MAX_WHY + 1)] {
        assert_eq!(no(memory.redact(asker(RoleName::Policyd), &Redact { seq: 1, why })), "redact.why");
    }
    memory.redact(asker(RoleName::Policyd), &Redact { seq: 1, why: "x".repeat(MAX_WHY) }).unwrap();
}

#[test]
fn a_payload_that_is_gone_without_an_order_is_noticed() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let path = instance.dir.path().join(DAY);
    let text = std::fs::read_to_string(&path).unwrap();
    let payload = parse_line(text.lines().next().unwrap().as_bytes()).unwrap().payload;
    let gone = crate::chronicle::event::mark(payload.len()).unwrap();
    std::fs::write(&path, text.replacen(&payload, &gone, 1)).unwrap();
    assert_eq!(kinds(memory.chronicle()), ["payload"]);
}

#[test]
fn redaction_interrupted_by_kill_completes_at_next_start() {
    for fault in [Fault::KilledBefore, Fault::KilledAfter] {
        let instance = Instance::new();
        let mut memory = instance.open();
        memory.count_words(1);
        instance.script.add(Step::Redact, 0, fault);
        assert!(redact(&mut memory, 1).is_err());
        let later = instance.after_kill();
        let memory = later.open();
        assert!(!holds(&later, "notes/welcome.md"), "{fault:?}");
        clean(&memory);
    }
}

#[test]
fn secret_shaped_text_is_kept_out_of_chronicle_and_leaks_are_found() {
    let instance = Instance::new();
    let mut memory = instance.open();
    let secret = format!("sk-ant-{}", "a1B2c3D4".repeat(4));
    memory.say(1, &format!("my key is {secret}, keep it"));
    memory.begin(1);
    memory.answer(1, &format!("I keep {secret}"));
    memory.closed(1, &format!("keep {secret}"));
    memory.flush().unwrap();
    assert!(!holds(&instance, &secret));
    clean(&memory);
    let look = |memory: &mut Memory| memory.query(&Query::Secrets(1)).unwrap().0.lines;
    assert_eq!(look(&mut memory), 0);
    let event = metnos_proto::msg::memoryd::SystemEvent {
        kind: "note".into(),
        text: format!("AKIA{}", "A1B2C3D4".repeat(2)),
        turn: None,
    };
    memory.system_event(asker(RoleName::Policyd), &event).unwrap();
    memory.flush().unwrap();
    assert_eq!(look(&mut memory), 0);
}

fn page(memory: &mut Memory, look: &Query) -> (Vec<serde_json::Value>, u64) {
    let (looked, bytes) = memory.query(look).unwrap();
    let all: Vec<serde_json::Value> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(looked.lines as usize, all.len());
    (all, looked.next)
}

fn wanted() -> SearchWanted {
    let text = String::new;
    SearchWanted {
        text: text(),
        event_type: text(),
        emitter: text(),
        peer: text(),
        turn: text(),
        from_ms: 0,
        until_ms: 0,
        before: 0,
        lines: 100,
    }
}

#[test]
fn a_search_gives_what_meets_everything_that_is_asked_for_newest_first() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let noon = crate::chronicle::testing::MORNING + 10_000;
    instance.clock.set(noon);
    memory.count_words(2);
    let mut seqs = |wanted: SearchWanted| -> Vec<u64> {
        page(&mut memory, &Query::Search(wanted)).0.iter().map(|line| line["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs(SearchWanted { text: "HOW MANY".into(), ..wanted() }), [11, 1]);
    assert_eq!(seqs(SearchWanted { event_type: "turn_close".into(), ..wanted() }), [20, 10]);
    assert_eq!(seqs(SearchWanted { emitter: "planner".into(), from_ms: noon, ..wanted() }), [20, 12]);
    assert_eq!(seqs(SearchWanted { emitter: "planner".into(), until_ms: noon, ..wanted() }), [10, 2]);
    assert_eq!(seqs(SearchWanted { peer: "cli:uid:1".into(), ..wanted() }), Vec::<u64>::new());
    assert_eq!(seqs(SearchWanted { peer: PEER.into(), ..wanted() }).len(), 20);
    let turn = crate::memory::testing::turn(2).to_string();
    assert_eq!(seqs(SearchWanted { turn: turn[20..].to_owned(), text: "42 words".into(), ..wanted() }), [19]);
    let (first, next) = page(&mut memory, &Query::Search(SearchWanted { lines: 3, ..wanted() }));
    assert_eq!((first.len(), next), (3, 18));
    let (rest, next) = page(&mut memory, &Query::Search(SearchWanted { before: next, ..wanted() }));
    assert_eq!((rest.len(), next), (17, 0));
}

#[test]
fn lines_of_the_files_come_opened() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let (looked, bytes) = memory.query(&Query::Lines(LinesWanted { from: 3, upto: 5 })).unwrap();
    let expected = instance.day_lines("2026-04-25")[2..5].concat();
    assert_eq!((looked.lines, looked.next, String::from_utf8(bytes).unwrap()), (3, 0, expected));
    assert_eq!(memory.query(&Query::Lines(LinesWanted { from: 11, upto: 99 })).unwrap().0.lines, 0);
    let heaviest = Query::Mnests(MnestsWanted { from: "fs_read".into(), lines: 5 });
    assert_eq!(page(&mut memory, &heaviest).0[0]["dst_executor"], "text_stats");
    let none = Query::Mnests(MnestsWanted { from: "text_stats".into(), lines: 5 });
    assert!(page(&mut memory, &none).0.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_line_has_a_proof_that_leads_to_the_root_that_is_signed(turns in 1_u8..4, at in any::<prop::sample::Index>(), restart in any::<bool>()) {
        let instance = Instance::new();
        let mut memory = instance.open();
        for n in 1..=turns {
            memory.count_words(n);
        }
        if restart {
            drop(memory);
            memory = instance.open();
        }
        let head = memory.chain_head().unwrap();
        let seq = at.index(head.seq as usize) as u64 + 1;
        memory.count_words(turns + 1);
        let (found, _) = page(&mut memory, &Query::Proof(ProofWanted { seq, size: head.seq }));
        let proof = &found[0];
        let path: Vec<Sha256> = proof["path"].as_array().unwrap().iter().map(|one| Sha256::parse(one.as_str().unwrap()).unwrap()).collect();
        let link = Link::read(proof["line"].as_str().unwrap().as_bytes()).unwrap();
        prop_assert_eq!(link.seq, seq);
        prop_assert_eq!(root_of(&link.hash, seq - 1, head.seq, &path), Some(head.root));
        for (seq, size) in [(0, head.seq), (head.seq + 1, head.seq), (1, head.seq + 99)] {
            let refused = memory.query(&Query::Proof(ProofWanted { seq, size })).is_err();
            prop_assert!(refused);
        }
    }
}
