//! Is the chronicle what was written? Reads every line, the index beside it, and hears the witnesses; changes nothing.
//!
//! It works in slices, so that a loop can serve others between them, and covers the chronicle
//! as it was when it began. A bad line does not stop it: it goes on from what that line
//! claims, so that one change is one finding, or few.

use std::collections::VecDeque;

use metnos_proto::msg::memoryd::{Finding, MAX_FINDINGS, VerifyReport};

use super::event::{Event, GENESIS, sha256};
use super::index::{IndexRow, row_of};
use super::line::parse_line;
use super::log::{Found, Lines, Place, Placed, file_name};
use super::store::{Chronicle, Head};
use super::time::Day;
use super::witness::Witness;
use crate::error::Result;

/// How many rows of the index are read at once.
const ROWS: u32 = 1024;

/// A verification that is going on.
#[derive(Debug)]
pub struct Verify {
    days: VecDeque<Day>,
    file: Option<Lines>,
    /// The last event when it began: later ones are not its concern.
    until: Head,
    last: Head,
    line: Vec<u8>,
    rows: VecDeque<IndexRow>,
    rows_from: u64,
    witness: Witness,
    findings: Findings,
    lines: u64,
}

#[derive(Debug, Default)]
struct Findings {
    first: Vec<Finding>,
    total: u64,
}

impl Findings {
    fn add(&mut self, finding: Finding) {
        self.total += 1;
        if self.first.len() < MAX_FINDINGS {
            self.first.push(finding);
        }
    }

    fn note(&mut self, seq: u64, kind: &str, detail: String) {
        self.add(Finding { seq, kind: kind.to_owned(), detail });
    }
}

impl Verify {
    /// Begins to verify `chronicle` as it is now.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn new(chronicle: &Chronicle) -> Result<Self> {
        Ok(Self {
            days: chronicle.log().days()?.into(),
            file: None,
            until: chronicle.head(),
            last: Head::EMPTY,
            line: Vec::new(),
            rows: VecDeque::new(),
            rows_from: 1,
            witness: Witness::default(),
            findings: Findings::default(),
            lines: 0,
        })
    }

    /// Verifies at most `budget` bytes of lines more; the report when that was the end.
    ///
    /// # Errors
    /// When a file or the index cannot be read at all.
    pub fn step(&mut self, chronicle: &Chronicle, budget: u64) -> Result<Option<VerifyReport>> {
        let mut left = budget;
        while left > 0 {
            let Some(lines) = &mut self.file else {
                if !self.next_file(chronicle)? {
                    return self.finish(chronicle).map(Some);
                }
                continue;
            };
            match lines.next(&mut self.line)? {
                Found::End => self.file = None,
                Found::Line(place) => {
                    left = left.saturating_sub(place.bytes);
                    self.judge(chronicle, place)?;
                }
                Found::Torn(place) => {
                    left = left.saturating_sub(place.bytes);
                    let detail = format!("{} byte {}: a line that has no end", file_name(place.day), place.offset);
                    self.findings.note(self.last.seq + 1, "torn", detail);
                }
            }
        }
        Ok(None)
    }

    /// Verifies all that is left.
    ///
    /// # Errors
    /// As [`Verify::step`].
    pub fn run(mut self, chronicle: &Chronicle) -> Result<VerifyReport> {
        loop {
            if let Some(report) = self.step(chronicle, u64::MAX)? {
                return Ok(report);
            }
        }
    }

    fn next_file(&mut self, chronicle: &Chronicle) -> Result<bool> {
        let Some(day) = self.days.pop_front() else { return Ok(false) };
        match chronicle.log().open_day(day) {
            Ok(Some(file)) => self.file = Some(Lines::new(file, day, 0)?),
            Ok(None) => self.findings.note(self.last.seq + 1, "file", format!("{} has vanished", file_name(day))),
            Err(error) => self.findings.note(self.last.seq + 1, "file", error.to_string()),
        }
        Ok(true)
    }

    fn judge(&mut self, chronicle: &Chronicle, place: Place) -> Result<()> {
        let event = match parse_line(&self.line) {
            Ok(event) => event,
            Err(error) => {
                self.lines += 1;
                let detail = format!("{} byte {}: {error}", file_name(place.day), place.offset);
                self.findings.note(self.last.seq + 1, "field", detail);
                return Ok(());
            }
        };
        if event.seq > self.until.seq {
            let known = chronicle.index().row(event.seq)?;
            if known.is_some_and(|row| row.hash == event.hash && row.place == place) {
                // Appended since this verification began, and so is all that follows: else events
                // that come in as fast as they are verified would keep it from ending.
                self.days.clear();
                self.file = None;
                return Ok(());
            }
        }
        self.lines += 1;
        self.itself(&event, place);
        let placed = Placed { event, place };
        self.beside_the_index(chronicle, &placed)?;
        let event = placed.event;
        self.in_the_chain(&event, place);
        let findings = &mut self.findings;
        self.witness.hear(&event, &mut |finding| findings.add(finding));
        // A line that stands again, or too early, does not move the place that is expected next.
        if event.seq > self.last.seq {
            self.last = Head::of(&event);
        }
        Ok(())
    }

    /// What a line says of itself.
    fn itself(&mut self, event: &Event, place: Place) {
        let seq = event.seq;
        if event.computed_hash() != event.hash {
            self.findings.note(seq, "hash", format!("event {seq} does not have the hash that it claims"));
        }
        if sha256(event.payload.as_bytes()) != event.payload_sha256 {
            self.findings.note(
                seq,
                "payload",
                format!("the payload of event {seq} does not have the digest that it claims"),
            );
        }
        if Day::of(event.ts_ms) != place.day {
            let detail = format!("event {seq} of {} lies in {}", Day::of(event.ts_ms), file_name(place.day));
            self.findings.note(seq, "day", detail);
        }
        if event.parent.is_some_and(|parent| parent >= seq) {
            self.findings.note(seq, "parent", format!("event {seq} was caused by a later one"));
        }
    }

    fn in_the_chain(&mut self, event: &Event, place: Place) {
        let (seq, expected) = (event.seq, self.last.seq + 1);
        let at = || format!("{} byte {}", file_name(place.day), place.offset);
        if seq < expected {
            self.findings.note(seq, "order", format!("{}: event {seq} stands where {expected} belongs", at()));
            return;
        }
        if seq > expected {
            let detail = format!("{}: events {expected} to {} are missing", at(), seq - 1);
            self.findings.note(expected, "gap", detail);
        } else if event.prev_hash != self.last.hash {
            let before = if self.last.hash == GENESIS { "the beginning" } else { "the event before it" };
            self.findings.note(seq, "chain", format!("{}: event {seq} does not follow from {before}", at()));
        }
        if event.ts_ms < self.last.ts_ms {
            self.findings.note(seq, "time", format!("{}: event {seq} is older than the one before it", at()));
        }
    }

    fn beside_the_index(&mut self, chronicle: &Chronicle, placed: &Placed) -> Result<()> {
        let seq = placed.event.seq;
        self.index_before(chronicle, seq)?;
        match self.rows.front() {
            Some(row) if row.seq == seq => {
                if *row != row_of(placed) {
                    self.findings.note(seq, "index", format!("the index knows another event {seq}"));
                }
                self.rows.pop_front();
            }
            Some(_) | None => {
                self.findings.note(seq, "index", format!("event {seq} is in the log and, there, not in the index"));
            }
        }
        Ok(())
    }

    /// Everything that the index has before event `seq` should have been met by now.
    fn index_before(&mut self, chronicle: &Chronicle, seq: u64) -> Result<()> {
        loop {
            if self.rows.is_empty() && self.rows_from <= self.until.seq {
                self.rows = chronicle.index().rows_from(self.rows_from, ROWS)?.into();
                self.rows.retain(|row| row.seq <= self.until.seq);
                self.rows_from = self.rows.back().map_or(u64::MAX, |row| row.seq + 1);
            }
            match self.rows.front() {
                Some(row) if row.seq < seq => {
                    let detail = format!("event {} is in the index and, there, not in the log", row.seq);
                    self.findings.note(row.seq, "index", detail);
                    self.rows.pop_front();
                }
                Some(_) | None => return Ok(()),
            }
        }
    }

    fn finish(&mut self, chronicle: &Chronicle) -> Result<VerifyReport> {
        self.index_before(chronicle, u64::MAX)?;
        if self.last.seq < self.until.seq {
            let detail = format!("the log ends at event {}, memoryd knows event {}", self.last.seq, self.until.seq);
            self.findings.note(self.last.seq + 1, "tail", detail);
        }
        let findings = std::mem::take(&mut self.findings);
        Ok(VerifyReport {
            lines: self.lines,
            head: self.last.recorded(),
            findings: findings.first,
            findings_total: findings.total,
        })
    }
}
