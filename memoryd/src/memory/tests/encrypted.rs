//! Encryption at rest: no file contains plain words, and lost keys are reported.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use metnos_proto::ids::SessionId;
use metnos_proto::msg::memoryd::{Recollect, SearchMemory, SuspendTurn};

use crate::at_rest::{Keys, tests::keys};
use crate::chronicle::testing::kinds;
use crate::error::Result;
use crate::faults::NoFaults;
use crate::memory::Memory;
use crate::memory::testing::{Instance, PEER, household_of, turn};

/// What was said, decided, planned and put aside, and how the words of it are stemmed.
const WORDS: [&str; 5] = ["surgery", "surgeri", "cardiologist", "gladiolus", "gladiolu"];

/// A life of which every part of memory keeps something.
fn lived(instance: &Instance) -> Memory {
    let mut memory = instance.open();
    memory.say(1, "the surgery is at noon, says the cardiologist");
    memory.begin(1);
    memory.answer(1, "Noted: surgery, gladiolus");
    memory.closed(1, "water the gladiolus");
    memory.plan(PEER, "the surgery of the gladiolus", "in 20 minutes");
    memory.say(2, "order a gladiolus");
    memory.begin(2);
    memory.suspend_turn(&SuspendTurn { turn: turn(2) }, b"{\"asked\":\"which gladiolus\"}").unwrap();
    memory.flush().unwrap();
    let late = Recollect::Late(SearchMemory { peer: PEER.to_owned(), limit: 3 });
    assert!(memory.recollect(&late, b"").is_ok());
    memory.settle().unwrap();
    memory
}

/// The files below a folder that hold one of the words, with the word.
fn holding(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for word in WORDS {
            if bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes())) {
                found.push(format!("{} has {word}", path.display()));
            }
        }
    }
    found
}

/// As an upgrade to tables of another form does.
fn forget_what_is_derived(instance: &Instance) {
    for name in ["index.sqlite", "index.sqlite-wal"] {
        let _ = std::fs::remove_file(instance.dir.path().join(".audit").join(name));
    }
    for entry in std::fs::read_dir(instance.dir.path().join(".runtime")).unwrap() {
        std::fs::remove_file(entry.unwrap().path()).unwrap();
    }
}

fn open_with(instance: &Instance, keys: &Keys) -> Result<Memory> {
    let (clock, session) = (Box::new(instance.clock.clone()), SessionId::from_bytes([9; 16]));
    let mut memory = Memory::open(instance.dir.path(), session, clock, Box::new(NoFaults), 50, keys)?;
    let _ = memory.household(household_of(Vec::new()));
    Ok(memory)
}

#[test]
fn no_file_holds_a_word_that_was_said_unless_nothing_is_encrypted() {
    let instance = Instance::new();
    drop(lived(&instance));
    // The mnestome alone keeps what could not be done, so that Metnos can grow by it.
    let mnestome = instance.dir.path().join(".mnestome");
    let outside: Vec<String> = holding(instance.dir.path())
        .into_iter()
        .filter(|found| !found.starts_with(&mnestome.display().to_string()))
        .collect();
    assert_eq!(outside, Vec::<String>::new());

    // Seen to fail: without keys each of the files holds some.
    let bare = Instance { unencrypted: true, ..Instance::new() };
    drop(lived(&bare));
    let found = holding(bare.dir.path()).concat();
    for file in ["2026-04-25.jsonl", "recall.sqlite", "medium.sqlite", "schedules.sqlite", "suspended.sqlite"] {
        assert!(found.contains(file), "{file} would not show it: {found}");
    }
}

#[test]
fn everything_is_there_again_after_restart_and_when_derived_anew() {
    let instance = Instance::new();
    drop(lived(&instance));
    let asked = |memory: &mut Memory| {
        let word = Recollect::Search(SearchMemory { peer: PEER.to_owned(), limit: 3 });
        String::from_utf8(memory.recollect(&word, b"when is the surgery").unwrap().1).unwrap()
    };
    let before = asked(&mut instance.open());
    assert!(before.contains("cardiologist"), "{before}");
    forget_what_is_derived(&instance);
    let mut memory = instance.open();
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
    assert_eq!(asked(&mut memory), before);
    assert_eq!(memory.planned(PEER)[0].what, "the surgery of the gladiolus");
}

#[test]
fn another_vault_key_or_lost_keys_stop_the_start_and_change_nothing() {
    let instance = Instance::new();
    drop(lived(&instance));
    let path = instance.dir.path().join(".audit/keys");
    let (kept, lines) = (std::fs::read(&path).unwrap(), instance.day_lines("2026-04-25"));
    let why = keys(&instance.dir.path().join(".audit"), 8).unwrap_err().to_string();
    assert!(why.contains("vault.key"), "{why}");
    std::fs::remove_file(&path).unwrap();
    let lost = keys(&instance.dir.path().join(".audit"), 7).unwrap();
    let why = open_with(&instance, &lost).unwrap_err().to_string();
    assert!(why.contains("cannot be decrypted") && why.contains(".audit/keys"), "{why}");
    assert_eq!(std::fs::read(&path).unwrap(), b"", "no key is generated for reading");
    std::fs::write(&path, kept).unwrap();
    assert_eq!(instance.day_lines("2026-04-25")[..lines.len()], lines);
}

#[test]
fn lines_of_a_version_that_encrypted_nothing_are_read_beside_new_ones() {
    let instance = Instance { unencrypted: true, ..Instance::new() };
    drop(lived(&instance));
    forget_what_is_derived(&instance);
    let mut memory = open_with(&instance, &instance.keys()).unwrap();
    memory.say(3, "another gladiolus");
    memory.flush().unwrap();
    assert_eq!(kinds(memory.chronicle()), Vec::<String>::new());
    let text = std::fs::read_to_string(instance.dir.path().join(".audit/2026-04-25.jsonl")).unwrap();
    assert!(text.contains("surgery") && !text.contains("another gladiolus"));
    assert_eq!(memory.planned(PEER).len(), 1);
}
