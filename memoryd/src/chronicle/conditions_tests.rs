//! What the world does to a chronicle: large payloads, bursts, disks that may not be written, permissions that are lost, a
//! day that cannot be begun. The state is clear, nothing is lost, and it goes on by itself where it can.
#![allow(clippy::unwrap_used)]

use super::event::EventType;
use super::line::MAX_PAYLOAD_BYTES;
use super::store::Chronicle;
use super::testing::{Bench, MORNING, draft, kinds, note, verify};
use super::time::DAY_MS;
use crate::faults::{Fault, Step};

const EACCES: i32 = 13;
const EROFS: i32 = 30;
const EDQUOT: i32 = 122;

fn append(chronicle: &mut Chronicle, n: u64) -> Result<u64, String> {
    let recorded = chronicle.stage(note(n)).map_err(|error| error.to_refusal().rule)?;
    chronicle.flush().map_err(|error| error.to_refusal().rule)?;
    Ok(recorded.seq)
}

#[test]
fn ten_megabytes_are_a_line_like_any_other() {
    let bench = Bench::new();
    let mut chronicle = bench.open();
    let payload = format!("{{\"text\":\"{}\"}}", "è\\n".repeat(10 * 1024 * 1024 / 4));
    assert!(payload.len() > 10 * 1024 * 1024 && payload.len() < MAX_PAYLOAD_BYTES);
    chronicle.stage(draft(EventType::OwnerMessage, &payload)).unwrap();
    chronicle.stage(note(1)).unwrap();
    chronicle.flush().unwrap();
    drop(chronicle);
    std::fs::remove_file(bench.path("index.sqlite")).unwrap();
    let chronicle = bench.open();
    let row = chronicle.index().row(1).unwrap().unwrap();
    assert_eq!(chronicle.read(&row).unwrap().payload, payload);
    assert_eq!(verify(&chronicle).lines, 2, "the line that tells of the new index waits for the next");
}

#[test]
fn a_hundred_thousand_events_in_a_burst_are_all_there_once_and_in_order() {
    const BURST: u64 = 100_000;
    let bench = Bench::new();
    let mut chronicle = bench.open();
    for n in 0..BURST {
        assert_eq!(chronicle.stage(note(n)).unwrap().seq, n + 1);
        // As the loop does: what shares a round is bounded.
        if n % 1_000 == 999 {
            chronicle.flush().unwrap();
        }
    }
    let head = chronicle.head();
    drop(chronicle);
    let chronicle = bench.open();
    assert_eq!((chronicle.head(), head.seq), (head, BURST));
    let report = verify(&chronicle);
    assert_eq!((report.lines, report.findings_total), (BURST, 0));
}

#[test]
fn append_on_unwritable_disk_is_refused_and_recovers() {
    let each = [(EROFS, "chronicle.read_only"), (EACCES, "chronicle.write"), (EDQUOT, "chronicle.disk_full")];
    for (errno, rule) in each {
        let bench = Bench::new();
        bench.fill(2);
        let mut chronicle = bench.open();
        for _ in 0..3 {
            bench.script.add(Step::Write, 0, Fault::Errno(errno));
            assert_eq!(append(&mut chronicle, 2), Err(rule.to_owned()), "{errno}");
            assert_eq!(chronicle.head().seq, 2, "nothing was promised");
        }
        assert!(chronicle.read(&chronicle.index().row(2).unwrap().unwrap()).is_ok(), "reading still works");
        assert_eq!(append(&mut chronicle, 3), Ok(3));
        assert_eq!(kinds(&chronicle), Vec::<String>::new());
    }
}

#[test]
fn failed_day_file_creation_is_retried_and_previous_day_is_intact() {
    let bench = Bench::new();
    bench.fill(2);
    let before = std::fs::read(bench.day_file()).unwrap();
    bench.clock.set(MORNING + DAY_MS);
    let mut chronicle = bench.open();
    bench.script.add(Step::Create, 0, Fault::Errno(EACCES));
    assert_eq!(append(&mut chronicle, 2), Err("chronicle.write".to_owned()));
    assert_eq!(append(&mut chronicle, 3), Ok(3));
    assert_eq!(std::fs::read(bench.day_file()).unwrap(), before);
    assert!(bench.path("2026-04-26.jsonl").exists());
    assert_eq!(kinds(&chronicle), Vec::<String>::new());
}
