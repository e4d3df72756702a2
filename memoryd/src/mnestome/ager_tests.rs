//! What the ager proposes, over histories told by hand; and that a pass is bounded.
#![allow(clippy::unwrap_used)]

use metnos_proto::ids::CallId;
use metnos_proto::msg::common::{ExecutorId, Outcome};

use super::*;
use crate::chronicle::event::{Event, EventType, GENESIS};
use crate::chronicle::payload::{Evolution, TurnClose};
use crate::chronicle::testing::{MORNING, draft};
use crate::chronicle::time::DAY_MS;
use crate::faults::NoFaults;
use crate::mnestome::derive::Record;
use crate::mnestome::graph::Turns;
use crate::mnestome::weight::{AGER_EVERY, BOOTSTRAP};

struct GivenRecords(Vec<Record>);

impl Turns for GivenRecords {
    fn records(&self, _: &Event) -> crate::error::Result<Option<Vec<Record>>> {
        Ok(Some(self.0.clone()))
    }
}

/// A mnestome and the number of its next event.
struct History {
    mnestome: Mnestome,
    seq: u64,
}

impl History {
    fn new() -> Self {
        Self { mnestome: Mnestome::in_memory(50).unwrap(), seq: 0 }
    }

    fn event(&mut self, kind: EventType, payload: &str, day: u64) -> Event {
        self.seq += 1;
        Event::seal(draft(kind, payload), self.seq, GENESIS, MORNING + day * DAY_MS)
    }

    fn turn(&mut self, steps: &[&str], wish: &str) {
        let call = |at: usize| CallId::from_bytes([u8::try_from(at + 1).unwrap(); 16]);
        let mut records = Vec::new();
        for (at, name) in steps.iter().enumerate() {
            let id = ExecutorId { name: (*name).to_owned(), version: "1.0.0".to_owned() };
            let inputs = at.checked_sub(1).map(call).into_iter().collect();
            records.push(Record::Started { call: call(at), id, inputs });
            records.push(Record::Ended { call: call(at), outcome: Outcome::Ok, ts_ms: MORNING });
        }
        let close = TurnClose { end: "answered".to_owned(), signature: String::new(), wish: wish.to_owned() }.encode();
        let close = self.event(EventType::TurnClose, &close, 0);
        self.mnestome.apply([&close], &GivenRecords(records), &mut NoFaults).unwrap();
    }

    /// So many calls, with which the clock of use moves and the ager comes.
    fn calls(&mut self, calls: u64, day: u64) {
        for _ in 0..calls {
            let started = self.event(EventType::RunStarted, "{}", day);
            self.mnestome.apply([&started], &GivenRecords(Vec::new()), &mut NoFaults).unwrap();
        }
    }

    fn proposed(&self) -> Vec<(String, String)> {
        self.mnestome.proposals().unwrap().into_iter().map(|one| (one.kind, one.why)).collect()
    }

    fn born(&mut self, name: &str, input: &serde_json::Value, output: &serde_json::Value) {
        let change = Evolution {
            act: "born".to_owned(),
            candidate: serde_json::json!({ "input": input, "output": output }),
            digests: Vec::new(),
            executor: name.to_owned(),
            version: "1.0.0".to_owned(),
            why: String::new(),
        };
        let event = self.event(EventType::Evolution, &change.encode(), 0);
        self.mnestome.apply([&event], &GivenRecords(Vec::new()), &mut NoFaults).unwrap();
    }
}

#[test]
fn two_that_work_for_nobody_else_are_proposed_for_fusion_and_only_once() {
    let mut history = History::new();
    for _ in 0..FUSION_USES {
        history.turn(&["fs_read", "text_stats"], "");
    }
    history.calls(AGER_EVERY, 0);
    let proposed = history.proposed();
    assert_eq!((proposed.len(), proposed[0].0.as_str()), (1, "fusion"), "{proposed:?}");
    history.turn(&["fs_read", "text_stats"], "");
    history.calls(AGER_EVERY, 0);
    assert_eq!(history.proposed().len(), 1);
}

#[test]
fn executor_with_one_dominant_consumer_is_proposed_for_a_variant() {
    let mut history = History::new();
    for _ in 0..FUSION_USES {
        for to in ["text_stats", "translate", "print"] {
            history.turn(&["fs_read", to], "");
        }
    }
    history.calls(AGER_EVERY, 0);
    let kinds: Vec<String> = history.proposed().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["specialisation", "specialisation", "specialisation"]);
    // What is fed by several is nobody's in particular.
    let mut history = History::new();
    for _ in 0..FUSION_USES {
        for from in ["fs_read", "web_get", "mail_read"] {
            for to in ["text_stats", "translate"] {
                history.turn(&[from, to], "");
            }
        }
    }
    history.calls(AGER_EVERY, 0);
    assert_eq!(history.proposed(), []);
}

#[test]
fn wishes_that_are_nearly_the_same_are_one_that_is_wider() {
    let mut history = History::new();
    for wish in [
        "paint portraits of vivaldi",
        "paint portraits of verdi",
        "knit socks",
        "paint portraits of puccini",
        "paint portraits",
    ] {
        history.turn(&[], wish);
    }
    history.calls(AGER_EVERY, 0);
    let proposed = history.proposed();
    assert_eq!((proposed.len(), proposed[0].0.as_str()), (1, "generalisation"), "{proposed:?}");
    assert!(proposed[0].1.contains("paint portraits of vivaldi") && !proposed[0].1.contains("socks"), "{proposed:?}");
}

#[test]
fn a_wish_that_recurs_is_proposed_for_synthesis() {
    let mut history = History::new();
    for _ in 0..RECURRENCES {
        history.turn(&[], "play music");
    }
    history.calls(AGER_EVERY, 0);
    let proposed = history.proposed();
    assert!(proposed[0].0 == "synthesis" && proposed[0].1.contains("5 times"), "{proposed:?}");
}

#[test]
fn a_pass_is_bounded_and_the_next_goes_on() {
    let mut history = History::new();
    let rows = MOST_IN_A_PASS as u64 + 10;
    for row in 0..rows {
        history.turn(&["from", &format!("to_{row}")], "");
    }
    let waiting = |history: &History| {
        let sql = "SELECT count(*) FROM mnests WHERE t_cross IS NOT NULL";
        history.mnestome.db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    // All of them can be proposed for archival at once.
    let mut day = 0;
    while history.proposed().is_empty() {
        day += 1;
        history.calls(AGER_EVERY, day);
    }
    assert_eq!(waiting(&history), 10, "one pass looks at so many and no more");
    history.calls(AGER_EVERY, day + 1);
    assert_eq!((waiting(&history), history.proposed().len() as u64), (0, rows));
}

#[test]
fn young_mnestome_is_seeded_from_contracts_and_old_one_learns() {
    let text = serde_json::json!({ "type": "string", "contentMediaType": "text/plain" });
    let takes = serde_json::json!({ "required": ["text"], "properties": { "text": text } });
    let may_take =
        serde_json::json!({ "required": ["path"], "properties": { "path": { "type": "string" }, "note": text } });
    let gives = serde_json::json!({ "properties": { "content": text } });
    let nothing = serde_json::json!({ "properties": { "count": { "type": "integer" } } });
    let mut history = History::new();
    history.born("text_stats", &takes, &nothing);
    history.born("fs_read", &may_take, &gives);
    let rows = history.mnestome.list().unwrap();
    assert_eq!(rows.len(), 1, "what need not be given is no reason: {rows:?}");
    assert_eq!((rows[0].src_executor.as_str(), rows[0].dst_executor.as_str()), ("fs_read", "text_stats"));
    assert!((rows[0].weight - BOOTSTRAP).abs() < 1e-12 && rows[0].tags == ["bootstrap"]);
    history.turn(&["fs_read", "text_stats"], "");
    let rows = history.mnestome.list().unwrap();
    assert_eq!((rows.len(), rows[0].uses), (1, 2), "use strengthens the same row");
    assert!((rows[0].weight - 0.45).abs() < 1e-12);
    history.calls(1, 0);
    history.born("translate", &takes, &gives);
    assert_eq!(history.mnestome.list().unwrap().len(), 1, "later ones are joined by use alone");
}

#[test]
fn ager_query_uses_its_index_without_sorting() {
    let history = History::new();
    let mut plan = history.mnestome.db.prepare(&format!("EXPLAIN QUERY PLAN {DUE}")).unwrap();
    let steps: Vec<String> =
        plan.query_map([0, MOST_IN_A_PASS], |row| row.get(3)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    assert!(steps.len() == 1 && steps[0].contains("USING INDEX mnests_due"), "{steps:?}");
}
