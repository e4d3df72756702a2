//! Appending, reopening, tearing, filling the disk, killing: what was acknowledged is there, once, and nothing else.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::{CLOCK_BACK_MS, Chronicle, MAX_NOTES};
use crate::chronicle::event::EventType;
use crate::chronicle::line::{MAX_FIELD_BYTES, MAX_PAYLOAD_BYTES, parse_line};
use crate::chronicle::payload::SystemEvent;
use crate::chronicle::testing::{Bench, MORNING, copy_dir, draft, kinds, note, verify};
use crate::chronicle::time::DAY_MS;
use crate::error::Error;
use crate::faults::{Fault, Step};

const ENOSPC: i32 = 28;
const EDQUOT: i32 = 122;
const EIO: i32 = 5;

/// What memoryd itself told: the kinds of its own events.
fn told(chronicle: &Chronicle) -> Vec<String> {
    let rows = chronicle.index().rows_from(1, 10_000).unwrap();
    rows.iter()
        .map(|row| chronicle.read(row).unwrap())
        .filter(|event| event.emitter == metnos_proto::role::RoleName::Memoryd)
        .map(|event| SystemEvent::decode(&event.payload).unwrap().kind)
        .collect()
}

#[test]
fn the_first_event_is_number_one_and_every_next_one_follows_from_it() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    let first = chronicle.stage(note(0)).unwrap();
    let second = chronicle.stage(note(1)).unwrap();
    assert_eq!((first.seq, second.seq), (1, 2));
    let events = chronicle.flush().unwrap().events;
    assert_eq!(events[0].event.prev_hash, crate::chronicle::event::GENESIS);
    assert_eq!(events[1].event.prev_hash, first.hash);
    let lines = bench.lines();
    assert_eq!(lines.len(), 2);
    assert_eq!(parse_line(lines[1].as_bytes()).unwrap().hash, second.hash);
    let report = verify(&chronicle);
    assert_eq!((report.lines, report.findings_total, report.head), (2, 0, second));
}

#[test]
fn nothing_is_written_before_flush_or_by_a_refused_draft() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    chronicle.stage(note(0)).unwrap();
    assert!(!bench.day_file().exists());
    assert!(chronicle.stage(draft(EventType::SystemEvent, "{\"b\":1,\"a\":2}")).is_err());
    assert!(chronicle.stage(draft(EventType::SystemEvent, "[]")).is_err());
    chronicle.flush().unwrap();
    assert_eq!(bench.lines().len(), 1);
}

#[test]
fn a_payload_and_a_principal_may_be_exactly_their_limit() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    let sized = |bytes: usize| format!("{{\"t\":\"{}\"}}", "x".repeat(bytes - 8));
    chronicle.stage(draft(EventType::SystemEvent, &sized(MAX_PAYLOAD_BYTES))).unwrap();
    assert!(chronicle.stage(draft(EventType::SystemEvent, &sized(MAX_PAYLOAD_BYTES + 1))).is_err());
    let mut named = note(0);
    named.peer = "p".repeat(MAX_FIELD_BYTES);
    chronicle.stage(named.clone()).unwrap();
    named.peer.push('p');
    assert!(chronicle.stage(named).is_err());
    chronicle.flush().unwrap();
    assert_eq!(verify(&chronicle).findings_total, 0);
}

#[test]
fn the_chain_goes_on_after_a_restart_and_over_midnight() {
    let bench = Bench::new();
    bench.fill(3);
    bench.clock.set(MORNING + DAY_MS);
    bench.fill(2);
    let chronicle = bench.open();
    assert_eq!(chronicle.head().seq, 5);
    assert!(bench.path("2026-04-26.jsonl").exists());
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
    assert_eq!(told(&chronicle), Vec::<String>::new());
}

#[test]
fn all_that_share_a_flush_lie_in_one_file_even_at_midnight() {
    let bench = Bench::new();
    bench.clock.set(MORNING - MORNING % DAY_MS + DAY_MS - 1);
    let mut chronicle = bench.open();
    chronicle.stage(note(0)).unwrap();
    bench.clock.advance(1);
    chronicle.stage(note(1)).unwrap();
    let events = chronicle.flush().unwrap().events;
    assert_eq!(events[0].place.day, events[1].place.day);
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
}

#[test]
fn clock_set_back_never_reverses_time_and_is_recorded_once() {
    let bench = Bench::new();
    bench.fill(1);
    let before = bench.open().head().ts_ms;
    bench.clock.set(before - CLOCK_BACK_MS);
    bench.fill(1);
    assert_eq!(told(&bench.open()), Vec::<String>::new(), "within the tolerance");
    bench.clock.set(MORNING - 3 * DAY_MS);
    let mut chronicle = bench.open();
    for n in 0..3 {
        chronicle.stage(note(n)).unwrap();
        chronicle.flush().unwrap();
    }
    assert_eq!(told(&chronicle), ["clock_back"]);
    assert_eq!(chronicle.head().ts_ms, before);
    assert!(!bench.path("2026-04-22.jsonl").exists());
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
}

#[test]
fn torn_last_line_is_moved_and_reported() {
    for cut in [1, 40, 300] {
        let bench = Bench::new();
        bench.fill(3);
        // A process that was killed before the index heard of the last line.
        let lines = bench.lines();
        let torn = &lines[2][..lines[2].len() - cut];
        std::fs::remove_file(bench.path("index.sqlite")).unwrap();
        std::fs::write(bench.day_file(), format!("{}\n{}\n{torn}", lines[0], lines[1])).unwrap();
        let mut chronicle = bench.open();
        assert_eq!((chronicle.head().seq, chronicle.torn()), (2, 1));
        chronicle.stage_notes();
        chronicle.flush().unwrap();
        assert!(told(&chronicle).contains(&"torn".to_owned()));
        assert_eq!(kinds(&chronicle), Vec::<String>::new());
        let aside = std::fs::read_dir(bench.dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let aside = aside.into_iter().find(|path| path.to_string_lossy().contains("torn-2026-04-25")).unwrap();
        assert_eq!(std::fs::read_to_string(aside).unwrap(), torn);
    }
}

#[test]
fn torn_line_is_moved_again_after_interrupted_move() {
    let bench = Bench::new();
    bench.fill(2);
    let whole = std::fs::read(bench.day_file()).unwrap();
    std::fs::write(bench.day_file(), [&whole[..], b"{\"seq\":3,\"pre"].concat()).unwrap();
    bench.script.add(Step::CutTorn, 0, Fault::KilledBefore);
    assert!(matches!(bench.try_open(), Err(Error::Killed(_))));
    let chronicle = bench.open();
    assert_eq!(chronicle.head().seq, 2);
    assert_eq!(std::fs::read(bench.day_file()).unwrap(), whole);
    let asides = std::fs::read_dir(bench.dir.path()).unwrap();
    assert_eq!(
        asides.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("torn")).count(),
        2
    );
}

#[test]
fn a_full_disk_refuses_leaves_nothing_half_written_and_heals_by_itself() {
    for fault in [Fault::Errno(ENOSPC), Fault::Short(0), Fault::Short(10), Fault::Short(700)] {
        let bench = Bench::new();
        bench.fill(2);
        let before = std::fs::read(bench.day_file()).unwrap();
        let mut chronicle = bench.open();
        bench.script.add(Step::Write, 0, fault);
        chronicle.stage(note(2)).unwrap();
        chronicle.stage(note(3)).unwrap();
        let refusal = chronicle.flush().unwrap_err().to_refusal();
        assert_eq!(refusal.rule, "chronicle.disk_full", "{fault:?}");
        assert_eq!(std::fs::read(bench.day_file()).unwrap(), before);
        assert_eq!(chronicle.head().seq, 2);
        let again = chronicle.stage(note(4)).unwrap();
        assert_eq!(again.seq, 3);
        chronicle.flush().unwrap();
        assert_eq!(kinds(&chronicle), Vec::<String>::new());
    }
}

#[test]
fn a_sync_that_went_wrong_is_never_trusted_again_before_a_restart() {
    let bench = Bench::new();
    bench.fill(2);
    let mut chronicle = bench.open();
    bench.script.add(Step::Sync, 0, Fault::Errno(EIO));
    chronicle.stage(note(2)).unwrap();
    assert_eq!(chronicle.flush().unwrap_err().to_refusal().rule, "chronicle.write");
    chronicle.stage(note(3)).unwrap();
    assert!(chronicle.flush().is_err(), "the pages may be lost although the next sync says nothing");
    drop(chronicle);
    assert_eq!(bench.lines().len(), 2);
    bench.fill(1);
    assert_eq!(kinds(&bench.open()), Vec::<String>::new());
}

#[test]
fn a_sync_for_which_there_is_no_room_is_tried_again_without_a_restart() {
    for errno in [ENOSPC, EDQUOT] {
        let bench = Bench::new();
        bench.fill(2);
        let mut chronicle = bench.open();
        bench.script.add(Step::Sync, 0, Fault::Errno(errno));
        chronicle.stage(note(2)).unwrap();
        assert_eq!(chronicle.flush().unwrap_err().to_refusal().rule, "chronicle.disk_full");
        assert_eq!(chronicle.stage(note(3)).unwrap().seq, 3);
        chronicle.flush().unwrap();
        assert_eq!(bench.lines().len(), 3);
        assert_eq!(kinds(&chronicle), Vec::<String>::new());
    }
}

/// The limit reaches a whole process, so it is tried in one of its own, in which the signal
/// that would end it is ignored.
#[test]
fn a_file_that_the_kernel_lets_grow_no_further_is_left_with_whole_lines() {
    const CHILD: &str = "METNOS_TEST_FILE_LIMIT";
    if std::env::var_os(CHILD).is_none() {
        let name = "chronicle::store_tests::a_file_that_the_kernel_lets_grow_no_further_is_left_with_whole_lines";
        let status = std::process::Command::new("sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(CHILD, "1")
            .stdout(std::process::Stdio::null())
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let bench = Bench::new();
    bench.fill(2);
    let before = std::fs::read(bench.day_file()).unwrap();
    let mut chronicle = bench.open();
    let fsize = rustix::process::Resource::Fsize;
    let limit = rustix::process::getrlimit(fsize);
    let low = rustix::process::Rlimit { current: Some(before.len() as u64 + 100), maximum: limit.maximum };
    chronicle.stage(note(2)).unwrap();
    rustix::process::setrlimit(fsize, low).unwrap();
    let refusal = chronicle.flush().unwrap_err().to_refusal();
    rustix::process::setrlimit(fsize, limit).unwrap();
    assert_eq!(refusal.rule, "chronicle.write");
    assert_eq!(std::fs::read(bench.day_file()).unwrap(), before, "a hundred bytes were written and taken back");
    chronicle.stage(note(3)).unwrap();
    chronicle.flush().unwrap();
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
}

#[test]
fn an_index_that_cannot_be_written_takes_nothing_back_and_is_caught_up() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    bench.script.add(Step::Index, 0, Fault::Errno(ENOSPC));
    chronicle.stage(note(0)).unwrap();
    let flushed = chronicle.flush().unwrap();
    assert!(!flushed.indexed, "durable, and not indexed");
    assert_eq!(chronicle.index().head().unwrap(), None);
    assert_eq!(chronicle.stage(note(1)).unwrap().seq, 2);
    chronicle.flush().unwrap();
    assert_eq!(chronicle.index().head().unwrap().unwrap().seq, 2);
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
}

#[test]
fn missing_or_damaged_index_is_rebuilt_and_reported() {
    for damage in [false, true] {
        let bench = Bench::new();
        bench.fill(20);
        std::fs::remove_file(bench.path("index.sqlite")).unwrap();
        if damage {
            std::fs::write(bench.path("index.sqlite"), [0x5a; 8192]).unwrap();
        }
        let mut chronicle = bench.open();
        chronicle.stage_notes();
        chronicle.flush().unwrap();
        let told = told(&chronicle);
        assert!(told.contains(&"index_rebuilt".to_owned()));
        assert_eq!(told.contains(&"index_damaged".to_owned()), damage);
        assert_eq!(kinds(&chronicle), Vec::<String>::new());
        assert_eq!(bench.path("index.sqlite.damaged-1").exists(), damage);
    }
}

#[test]
fn pending_events_are_bounded_while_recording_fails() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    for n in 0..2 * MAX_NOTES {
        chronicle.note("violation", n.to_string());
    }
    bench.script.add(Step::Write, 0, Fault::Errno(ENOSPC));
    chronicle.stage_notes();
    assert!(chronicle.flush().is_err());
    chronicle.stage_notes();
    chronicle.flush().unwrap();
    assert_eq!(told(&chronicle).len(), MAX_NOTES, "told again after the failure, and once");
}

#[test]
fn foreign_write_to_open_day_file_stops_appends() {
    let bench = Bench::new();
    bench.fill(2);
    let mut chronicle = bench.open();
    chronicle.stage(note(2)).unwrap();
    chronicle.flush().unwrap();
    let whole = std::fs::read(bench.day_file()).unwrap();
    std::fs::write(bench.day_file(), [&whole[..], b"{}\n"].concat()).unwrap();
    chronicle.stage(note(3)).unwrap();
    assert_eq!(chronicle.flush().unwrap_err().to_refusal().rule, "chronicle.altered");
    assert_eq!(chronicle.stage(note(3)).unwrap_err().to_refusal().rule, "chronicle.altered");
    assert!(!kinds(&chronicle).is_empty());
}

/// Appends in flushes of one or more until a fault kills it; gives the numbers it acknowledged.
fn until_killed(bench: &Bench, rounds: &[usize]) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let mut chronicle = match bench.try_open() {
        Ok(chronicle) => chronicle,
        Err(_) => return acknowledged,
    };
    for round in rounds {
        let mut staged = Vec::new();
        for n in 0..*round {
            match chronicle.stage(note(n as u64)) {
                Ok(recorded) => staged.push(recorded.seq),
                Err(_) => return acknowledged,
            }
        }
        if chronicle.write().is_err() {
            return acknowledged;
        }
        if chronicle.acknowledge().is_err() {
            return acknowledged;
        }
        // Acknowledged as soon as it is durable, whatever becomes of the index.
        acknowledged.extend(staged);
        if chronicle.bring_in().is_err() {
            return acknowledged;
        }
        bench.clock.advance(DAY_MS / 3);
    }
    acknowledged
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn killed_anywhere_it_loses_nothing_acknowledged_and_doubles_nothing(
        rounds in prop::collection::vec(1_usize..4, 1..6),
        step in prop::sample::select(vec![Step::Create, Step::Write, Step::Sync, Step::Index, Step::Acknowledge]),
        skip in 0_usize..6,
        fault in prop_oneof![
            Just(Fault::KilledBefore), Just(Fault::KilledAfter), (0_usize..2000).prop_map(Fault::KilledAfterBytes),
        ],
        forget_index in any::<bool>(),
    ) {
        let bench = Bench::new();
        bench.script.add(step, skip, fault);
        let acknowledged = until_killed(&bench, &rounds);
        let later = bench.after_kill();
        if forget_index {
            // As after a loss of power, which may take what was not synced.
            let _ = std::fs::remove_file(later.path("index.sqlite"));
            let _ = std::fs::remove_file(later.path("index.sqlite-wal"));
        }
        let mut chronicle = later.open();
        let known: Vec<u64> = chronicle.index().rows_from(1, 1000).unwrap().iter().map(|row| row.seq).collect();
        prop_assert!(acknowledged.iter().all(|seq| known.contains(seq)));
        prop_assert_eq!(known.len() as u64, chronicle.head().seq);
        prop_assert_eq!(kinds(&chronicle), Vec::<String>::new());
        chronicle.stage(note(99)).unwrap();
        chronicle.flush().unwrap();
        prop_assert_eq!(kinds(&chronicle), Vec::<String>::new());
    }

    #[test]
    fn power_loss_during_write_keeps_chain_and_acknowledged_lines(
        rounds in prop::collection::vec(1_usize..4, 1..5), lost in 0_usize..1500,
    ) {
        let bench = Bench::new();
        bench.script.add(Step::Sync, rounds.len() - 1, Fault::KilledBefore);
        let acknowledged = until_killed(&bench, &rounds);
        let later = bench.after_kill();
        // What was written and not synced is there up to some byte.
        let mut files: Vec<_> = std::fs::read_dir(later.dir.path()).unwrap().map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl")).collect();
        files.sort();
        let last = files.pop().unwrap();
        let bytes = std::fs::read(&last).unwrap();
        let kept = bytes.split_inclusive(|byte| *byte == b'\n')
            .take_while(|line| parse_line(&line[..line.len() - 1]).is_ok_and(|event| acknowledged.contains(&event.seq)))
            .map(<[u8]>::len).sum::<usize>();
        std::fs::write(&last, &bytes[..bytes.len().saturating_sub(lost).max(kept)]).unwrap();
        let chronicle = later.open();
        prop_assert!(chronicle.head().seq >= acknowledged.last().copied().unwrap_or(0));
        prop_assert_eq!(kinds(&chronicle), Vec::<String>::new());
    }
}

#[test]
fn two_copies_of_one_folder_open_alike() {
    let bench = Bench::new();
    bench.fill(5);
    let other = Bench::new();
    copy_dir(bench.dir.path(), other.dir.path());
    assert_eq!(bench.open().head(), other.open().head());
}
