//! Attacks on the chronicle that need no anchor to be noticed (design: memory §1), each a test.
#![allow(clippy::unwrap_used)]

use super::event::{Event, GENESIS};
use super::line::{parse_line, to_line};
use super::store::Chronicle;
use super::testing::{Bench, MORNING, event, kinds, note, verify};
use super::time::DAY_MS;
use super::verify::Verify;
use proptest::prelude::*;

/// Noticed: by the verification, and never by a crash of it.
fn noticed(bench: &Bench) -> Vec<String> {
    let chronicle = bench.open();
    let found = kinds(&chronicle);
    assert!(!found.is_empty(), "the attack was not noticed");
    found
}

fn clean(n: u64) -> Bench {
    let bench = Bench::new();
    bench.fill(n);
    assert_eq!(kinds(&bench.open()), Vec::<String>::new());
    bench
}

fn records_nothing(chronicle: &mut Chronicle) {
    assert_eq!(chronicle.stage(note(0)).unwrap_err().to_refusal().rule, "chronicle.altered");
}

#[test]
fn a_change_of_any_field_is_noticed_whatever_is_put_there() {
    let bench = clean(6);
    let lines = bench.lines();
    for (from, to) in [
        ("\"seq\":3", "\"seq\":9"),
        ("\"prev_hash\":\"sha256:", "\"prev_hash\":\"sha256:0"),
        ("\"parent\":null", "\"parent\":1"),
        ("T08:", "T07:"),
        (
            "\"emitter\":\"gatewayd\",\"session_key\":\"metnos:gatewayd:",
            "\"emitter\":\"planner\",\"session_key\":\"metnos:planner:",
        ),
        ("metnos:gatewayd:0", "metnos:gatewayd:1"),
        ("\"turn_id\":null", "\"turn_id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\""),
        ("\"trace_id\":null", "\"trace_id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\""),
        ("\"event_type\":\"system_event\"", "\"event_type\":\"approval\""),
        ("\"agent_id\":\"metnos\"", "\"agent_id\":\"metno\""),
        ("\"model\":\"\"", "\"model\":\"x\""),
        ("\"channel\":\"cli\"", "\"channel\":\"http\""),
        ("\"peer\":\"cli:uid:1000\"", "\"peer\":\"cli:uid:1001\""),
        ("\"trust\":\"owner\"", "\"trust\":\"web\""),
        ("\"payload_sha256\":\"sha256:", "\"payload_sha256\":\"sha256:0"),
        ("\"text\":\"2\"", "\"text\":\"3\""),
        ("\"hash\":\"sha256:", "\"hash\":\"sha256:0"),
        ("{\"seq\"", "{ \"seq\""),
    ] {
        let mut changed = lines.clone();
        changed[2] = lines[2].replacen(from, to, 1);
        assert_ne!(changed[2], lines[2], "{from}");
        bench.write_lines(&changed);
        noticed(&bench);
    }
    bench.write_lines(&lines);
    assert_eq!(kinds(&bench.open()), Vec::<String>::new());
}

#[test]
fn a_deleted_line_is_noticed_at_head_middle_and_tail() {
    for (gone, expected) in [(0, "gap"), (3, "gap"), (5, "tail")] {
        let bench = clean(6);
        let mut lines = bench.lines();
        lines.remove(gone);
        bench.write_lines(&lines);
        assert!(noticed(&bench).contains(&expected.to_owned()), "{gone}");
    }
}

#[test]
fn truncation_to_earlier_valid_state_is_detected_and_blocks_appends() {
    let bench = clean(6);
    let lines = bench.lines();
    bench.write_lines(&lines[..3]);
    let mut chronicle = bench.open();
    let report = verify(&chronicle);
    assert_eq!(report.lines, 3);
    assert!(report.findings.iter().any(|finding| finding.kind == "tail" && finding.seq == 4));
    records_nothing(&mut chronicle);
}

#[test]
fn an_inserted_line_is_noticed_even_with_a_hash_of_its_own() {
    for at in [0_usize, 3, 6] {
        let bench = clean(6);
        let mut lines = bench.lines();
        let before = at.checked_sub(1).map_or(GENESIS, |at| parse_line(lines[at].as_bytes()).unwrap().hash);
        let forged = Event::seal(note(77), at as u64 + 1, before, MORNING + at as u64 * 60_000);
        lines.insert(at, String::from_utf8(to_line(&forged)).unwrap().trim_end().to_owned());
        bench.write_lines(&lines);
        if at < 6 {
            noticed(&bench);
            continue;
        }
        // Behind the last one it follows from everything: the index tells that memoryd did not write it.
        let mut chronicle = bench.open();
        chronicle.stage_notes();
        chronicle.flush().unwrap();
        let last = chronicle.index().head().unwrap().unwrap();
        assert!(chronicle.read(&last).unwrap().payload.contains("caught_up"), "it is told of");
    }
}

#[test]
fn an_event_that_does_not_follow_is_never_taken_for_a_torn_line() {
    let bench = clean(3);
    let foreign = event(1);
    let whole = std::fs::read(bench.day_file()).unwrap();
    std::fs::write(bench.day_file(), [whole, to_line(&foreign)].concat()).unwrap();
    let mut chronicle = bench.open();
    assert_eq!(chronicle.torn(), 0);
    assert!(kinds(&chronicle).contains(&"order".to_owned()));
    records_nothing(&mut chronicle);
}

#[test]
fn reordered_and_duplicated_lines_are_noticed() {
    let bench = clean(6);
    let lines = bench.lines();
    let mut swapped = lines.clone();
    swapped.swap(2, 3);
    bench.write_lines(&swapped);
    assert!(noticed(&bench).contains(&"order".to_owned()));
    for at in [0, 3, 5] {
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at].clone());
        bench.write_lines(&doubled);
        assert!(noticed(&bench).contains(&"order".to_owned()));
    }
}

#[test]
fn a_line_forged_in_the_log_only_while_memoryd_runs_is_noticed() {
    let bench = clean(3);
    let chronicle = bench.open();
    let head = chronicle.head();
    let forged = Event::seal(note(8), head.seq + 1, head.hash, head.ts_ms);
    let whole = std::fs::read(bench.day_file()).unwrap();
    std::fs::write(bench.day_file(), [whole, to_line(&forged)].concat()).unwrap();
    assert!(kinds(&chronicle).contains(&"index".to_owned()));
}

#[test]
fn a_row_forged_in_the_index_only_is_noticed() {
    for sql in [
        "INSERT INTO events SELECT seq + 1, hash, day, offset + bytes, bytes, ts, type, turn, call, payload FROM events ORDER BY seq DESC LIMIT 1",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 2",
        "UPDATE events SET type = 'approval' WHERE seq = 2",
        "UPDATE events SET ts = ts + 1 WHERE seq = 2",
        "UPDATE events SET payload = zeroblob(32) WHERE seq = 2",
        "UPDATE events SET turn = zeroblob(16) WHERE seq = 2",
        "UPDATE events SET call = zeroblob(16) WHERE seq = 2",
        "UPDATE events SET offset = 0 WHERE seq = 2",
        "DELETE FROM events WHERE seq = 2",
    ] {
        let bench = clean(4);
        rusqlite::Connection::open(bench.path("index.sqlite")).unwrap().execute(sql, []).unwrap();
        assert!(noticed(&bench).contains(&"index".to_owned()), "{sql}");
    }
}

/// Writes the chain anew from line `from`, every hash right again.
fn rewrite(lines: &[String], from: usize, change: impl Fn(&mut Event)) -> Vec<String> {
    let mut last = GENESIS;
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| {
            let mut event = parse_line(line.as_bytes()).unwrap();
            if at >= from {
                if at == from {
                    change(&mut event);
                }
                event.prev_hash = last;
                event.payload_sha256 = super::event::sha256(event.payload.as_bytes());
                event.hash = event.computed_hash();
            }
            last = event.hash;
            String::from_utf8(to_line(&event)).unwrap().trim_end().to_owned()
        })
        .collect()
}

#[test]
fn a_chain_written_anew_with_right_hashes_is_noticed_by_the_index() {
    for from in [0, 3, 5] {
        let bench = clean(6);
        let lines =
            rewrite(&bench.lines(), from, |event| event.payload = "{\"kind\":\"note\",\"text\":\"lie\"}".to_owned());
        bench.write_lines(&lines);
        let mut chronicle = bench.open();
        let report = verify(&chronicle);
        assert_eq!(report.findings[0].kind, "index");
        assert_eq!(report.findings_total, 6 - from as u64);
        records_nothing(&mut chronicle);
    }
}

#[test]
fn two_days_files_that_changed_places_are_noticed() {
    let bench = clean(3);
    bench.clock.set(MORNING + DAY_MS);
    bench.fill(3);
    std::fs::rename(bench.day_file(), bench.path("x")).unwrap();
    std::fs::rename(bench.path("2026-04-26.jsonl"), bench.day_file()).unwrap();
    std::fs::rename(bench.path("x"), bench.path("2026-04-26.jsonl")).unwrap();
    let found = noticed(&bench);
    assert!(found.contains(&"day".to_owned()) && found.contains(&"gap".to_owned()));
}

#[test]
fn a_missing_day_is_noticed() {
    let bench = clean(3);
    bench.clock.set(MORNING + DAY_MS);
    bench.fill(3);
    bench.clock.set(MORNING + 2 * DAY_MS);
    bench.fill(3);
    std::fs::remove_file(bench.path("2026-04-26.jsonl")).unwrap();
    let found = noticed(&bench);
    assert!(found.contains(&"gap".to_owned()) && found.contains(&"index".to_owned()));
}

#[test]
fn a_second_chronicle_put_in_place_is_noticed_by_the_index() {
    let bench = clean(6);
    let other = Bench::new();
    other.clock.set(MORNING + 5);
    other.fill(6);
    std::fs::copy(other.day_file(), bench.day_file()).unwrap();
    let mut chronicle = bench.open();
    assert!(kinds(&chronicle).iter().all(|kind| kind == "index"));
    records_nothing(&mut chronicle);
}

#[test]
fn a_clock_written_back_into_the_lines_is_noticed() {
    let bench = clean(6);
    let lines = rewrite(&bench.lines(), 3, |event| event.ts_ms -= 3_600_000);
    bench.write_lines(&lines);
    assert!(noticed(&bench).contains(&"time".to_owned()));
}

#[test]
fn a_line_in_the_wrong_day_is_noticed() {
    let bench = clean(2);
    std::fs::rename(bench.day_file(), bench.path("2026-04-24.jsonl")).unwrap();
    assert!(noticed(&bench).contains(&"day".to_owned()));
}

#[test]
fn findings_are_counted_beyond_those_listed() {
    let bench = clean(100);
    let lines: Vec<String> = bench.lines().iter().map(|line| line.replace("owner", "guest")).collect();
    bench.write_lines(&lines);
    let report = verify(&bench.open());
    assert_eq!(report.findings.len(), metnos_proto::msg::memoryd::MAX_FINDINGS);
    assert!(report.findings_total >= 100);
    assert_eq!(report.findings[0].seq, 1, "the first bad line is named first");
}

#[test]
fn sliced_verification_equals_full_one_while_events_arrive() {
    let bench = clean(50);
    let mut chronicle = bench.open();
    let mut verify = super::verify::Verify::new(&chronicle).unwrap();
    let mut report = None;
    for n in 0.. {
        chronicle.stage(note(n)).unwrap();
        chronicle.flush().unwrap();
        report = verify.step(&chronicle, 500).unwrap();
        if report.is_some() {
            break;
        }
    }
    let report = report.unwrap();
    assert_eq!((report.lines, report.head.seq, report.findings_total), (50, 50, 0));
    assert!(chronicle.head().seq > 50);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_byte_that_is_changed_is_noticed(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let bench = Bench::new();
        bench.fill(3);
        let mut bytes = std::fs::read(bench.day_file()).unwrap();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        std::fs::write(bench.day_file(), bytes).unwrap();
        let chronicle = bench.open();
        prop_assert!(verify(&chronicle).findings_total > 0);
    }
}

#[test]
fn an_event_made_by_hand_is_what_it_says() {
    let event = event(4);
    assert_eq!(parse_line(to_line(&event).trim_ascii_end()).unwrap(), event);
}

#[test]
fn verification_of_lines_alone_names_the_first_bad_line() {
    let bench = clean(6);
    let mut lines = bench.lines();
    for at in [2, 4] {
        lines[at] = lines[at].replacen("\"trust\":\"owner\"", "\"trust\":\"web\"", 1);
    }
    bench.write_lines(&lines);
    let chronicle = bench.open();
    let report = Verify::new(&chronicle).unwrap().lines_alone().run(&chronicle).unwrap();
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.seq, finding.kind.as_str())).collect();
    assert_eq!((report.lines, found), (6, vec![(3, "hash"), (5, "hash")]));
    // The index was made of the lines as they were; who looks at it sees that, too.
    let beside = Verify::new(&chronicle).unwrap().without_witnesses().run(&chronicle).unwrap();
    assert_eq!((beside.findings[0].seq, beside.findings_total >= report.findings_total), (3, true));
}
