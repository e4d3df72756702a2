//! What a start finds of what was done to the files while nobody ran, and what it leaves alone.
#![allow(clippy::unwrap_used)]

use metnos_proto::msg::memoryd::{Anchored, ChainHead};
use metnos_proto::role::RoleName;

use super::chain_head::{DAY, ask, redact};
use crate::chronicle::event::sha256;
use crate::chronicle::line::{parse_line, to_line};
use crate::memory::testing::{Instance, asker, no};

/// What policyd asks of a memoryd that comes.
fn whole(head: &ChainHead) -> Anchored {
    Anchored { whole: true, ..ask(head) }
}

/// Stops and starts, with the files changed in between; what policyd is answered.
fn after_a_stop(turns: u8, change: impl FnOnce(&std::path::Path)) -> crate::memory::Answer<ChainHead> {
    asked_after_a_stop(turns, change, false)
}

/// The same; with `tail_alone`, what precedes the signed head is not read.
fn asked_after_a_stop(
    turns: u8,
    change: impl FnOnce(&std::path::Path),
    tail_alone: bool,
) -> crate::memory::Answer<ChainHead> {
    let instance = Instance::new();
    let mut memory = instance.open();
    for n in 1..=turns {
        memory.count_words(n);
    }
    memory.settle().unwrap();
    let head = memory.last_head().unwrap();
    drop(memory);
    change(instance.dir.path());
    let mut memory = instance.open();
    if tail_alone {
        return memory.anchored(&ask(&head));
    }
    let answer = memory.anchored(&Anchored { closed: true, ..whole(&head) });
    if answer.is_err() {
        assert!(!memory.status().unwrap().altered.is_empty(), "`status` says what");
        assert_eq!(
            no(memory.received(asker(RoleName::Gatewayd), &crate::memory::testing::received(99), b"x".to_vec())),
            "chronicle.altered"
        );
    }
    answer
}

#[test]
fn changed_byte_in_any_file_is_found_before_the_proof() {
    assert!(after_a_stop(4, |_| {}).is_ok(), "nothing was changed");
    // In every line, at another place of it: a digit, a quote, a letter of the payload, the newline.
    for line in 1..=40_usize {
        let flip = |folder: &std::path::Path| {
            let path = folder.join(DAY);
            let mut bytes = std::fs::read(&path).unwrap();
            let ends: Vec<usize> =
                bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
            assert_eq!(ends.len(), 40);
            let begin = if line == 1 { 0 } else { ends[line - 2] + 1 };
            let length = ends[line - 1] + 1 - begin;
            let at = begin + if line % 5 == 0 { length - 1 } else { line * 37 % length };
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
        };
        assert_eq!(no(after_a_stop(4, flip)), "chronicle.altered", "line {line}");
        if line == 7 {
            assert!(asked_after_a_stop(4, flip, true).is_ok(), "the index alone does not tell");
        }
    }
}

#[test]
fn an_index_that_was_changed_with_its_line_does_not_hide_the_line() {
    // The line has other words and the right hash of them, and the index knows that hash: only the chain tells.
    let change = |folder: &std::path::Path| {
        let path = folder.join(DAY);
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().next().unwrap();
        let mut event = parse_line(line.as_bytes()).unwrap();
        let before = event.hash;
        event.payload = event.payload.replace("welcome.md", "changed.md");
        event.payload_sha256 = sha256(event.payload.as_bytes());
        event.hash = event.computed_hash();
        let changed = String::from_utf8(to_line(&event)).unwrap();
        std::fs::write(&path, text.replacen(&format!("{line}\n"), &changed, 1)).unwrap();
        let index = rusqlite::Connection::open(folder.join(".audit/index.sqlite")).unwrap();
        let row = rusqlite::params![event.hash.0, event.payload_sha256.0, before.0];
        assert_eq!(index.execute("UPDATE events SET hash = ?1, payload = ?2 WHERE hash = ?3", row).unwrap(), 1);
    };
    assert_eq!(no(after_a_stop(2, change)), "chronicle.altered");
}

#[test]
fn lines_that_were_cut_off_or_added_after_a_stop_are_found() {
    let cut = |folder: &std::path::Path| {
        let path = folder.join(DAY);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.split_inclusive('\n').take(19).collect::<String>()).unwrap();
        for name in [".audit/index.sqlite", ".audit/index.sqlite-wal", ".mnestome/mnest.sqlite"] {
            let _ = std::fs::remove_file(folder.join(name));
        }
    };
    assert_eq!(no(after_a_stop(2, cut)), "chronicle.altered");
    let add = |folder: &std::path::Path| {
        let path = folder.join(DAY);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = String::from_utf8(bytes.clone()).unwrap().lines().last().unwrap().to_owned();
        let mut event = parse_line(last.as_bytes()).unwrap();
        (event.prev_hash, event.seq) = (event.hash, event.seq + 1);
        event.hash = event.computed_hash();
        bytes.extend(to_line(&event));
        std::fs::write(&path, bytes).unwrap();
    };
    assert_eq!(no(after_a_stop(2, add)), "chronicle.altered");
}

#[test]
fn redaction_by_rite_raises_no_alarm_at_next_start() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let first = memory.chain_head().unwrap();
    memory.anchored(&whole(&first)).unwrap();
    redact(&mut memory, 1).unwrap();
    memory.settle().unwrap();
    let head = memory.last_head().unwrap();
    assert_eq!((head.seq, head.closed), (first.seq + 1, true));
    drop(memory);
    let mut memory = instance.open();
    let proven = memory.anchored(&Anchored { closed: true, ..whole(&head) }).unwrap();
    assert_eq!((proven.opened, proven.closed), (head.seq, false));
}

#[test]
fn lines_after_the_last_signature_are_counted_and_no_alarm() {
    let instance = Instance::new();
    let mut memory = instance.open();
    memory.count_words(1);
    let head = memory.chain_head().unwrap();
    memory.count_words(2);
    let later = instance.after_kill();
    let mut memory = later.open();
    let proven = memory.anchored(&whole(&head)).unwrap();
    assert_eq!(proven.opened - head.seq, 10);
}

#[test]
fn a_rite_while_the_files_are_being_read_is_no_alarm() {
    let instance = Instance::new();
    let mut memory = instance.open();
    for n in 1..=20 {
        memory.count_words(n);
    }
    let head = memory.chain_head().unwrap();
    memory.heads.verify_anew(&memory.journal.chronicle).unwrap();
    assert!(memory.verify_on(1).unwrap(), "it reads in slices");
    redact(&mut memory, 1).unwrap();
    memory.anchored(&whole(&head)).unwrap();
    assert!(memory.status().unwrap().altered.is_empty(), "a rite while it was read is no alarm");
}
