//! Is the chronicle what was written? Reads every line, compares it with the index and with other lines; changes nothing.
//!
//! It works in slices, so that a loop can serve others between them, and covers the chronicle
//! as it was when it began. A bad line does not stop it: it goes on from what that line
//! claims, so that one change is one finding, or few.

mod id_hasher;
pub mod prove;
pub mod witness;
#[cfg(test)]
mod witness_tests;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use metnos_proto::chain::Anchor;
use metnos_proto::ids::{Sha256, TurnId};
use metnos_proto::msg::memoryd::{Finding, MAX_FINDINGS, VerifyReport};

use crate::chronicle::event::{EventType, GENESIS, is_mark, sha256};
use crate::chronicle::index::{IndexRow, row_of_line};
use crate::chronicle::line::borrowed::BorrowedLine;
use crate::chronicle::log::{Found, Lines, Place, file_name};
use crate::chronicle::payload::PayloadRedacted;
use crate::chronicle::store::{Chronicle, Head};
use crate::chronicle::time::Day;
use crate::error::Result;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use witness::{Testimony, Witness};

/// How many rows of the index are read at once.
const ROWS: u32 = 1024;

/// What the lines are compared with, each with what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CrossChecks {
    Nothing,
    Index,
    Witnesses,
}

/// A verification that is going on.
#[derive(Debug)]
pub struct Verify {
    days: VecDeque<Day>,
    file: Option<Lines>,
    /// The last event when it began: later ones are not its concern.
    until: Head,
    last: Head,
    line: Vec<u8>,
    /// The bytes that the hash of the line covers.
    covered: Vec<u8>,
    rows: VecDeque<IndexRow>,
    rows_from: u64,
    witness: Witness,
    findings: Findings,
    lines: u64,
    /// What is taken for right without being looked at.
    since: u64,
    checks: CrossChecks,
    /// Whether a turn was under way before that, so that not all its witnesses are read.
    halved: HashMap<TurnId, bool>,
    /// The heads that policyd has signed and that have not been met yet, the next one last.
    anchors: Vec<Anchor>,
    /// Whose payload is gone, and whose payload the owner has had taken out.
    gone: HashSet<u64>,
    ordered: HashMap<u64, String>,
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

fn testimony<'a>(event: &'a BorrowedLine<'_>, redacted: bool) -> Testimony<'a> {
    Testimony {
        seq: event.seq,
        kind: event.kind,
        emitter: event.emitter,
        turn_id: event.turn_id,
        trace_id: event.trace_id,
        payload: event.payload,
        redacted,
    }
}

impl Verify {
    /// Begins to verify `chronicle` as it is now.
    ///
    /// # Errors
    /// When its folder cannot be read.
    pub fn new(chronicle: &Chronicle) -> Result<Self> {
        Self::since(chronicle, 0, Vec::new())
    }

    /// Begins to verify `chronicle` after line `since`, which is taken for right; 0 for all of it. Each of the
    /// anchors must be met.
    ///
    /// # Errors
    /// When its folder or the index cannot be read, or there is no such line.
    pub fn since(chronicle: &Chronicle, since: u64, mut anchors: Vec<Anchor>) -> Result<Self> {
        let mut days: VecDeque<Day> = chronicle.log().days()?.into();
        let mut last = Head::EMPTY;
        let mut file = None;
        if since > 0 {
            let Some(row) = chronicle.index().row(since)? else {
                let why = format!("there is no line {since} to begin after");
                return Err(Refusal::new(RefusalCode::Unknown, "audit.line", why).into());
            };
            last = Head::of(&chronicle.read(&row)?);
            days.retain(|day| *day > row.place.day);
            file = match chronicle.log().open_day(row.place.day)? {
                Some(open) => Some(Lines::new(open, row.place.day, row.place.end())?),
                None => None,
            };
        }
        anchors.retain(|anchor| anchor.seq > since);
        anchors.sort_by_key(|anchor| std::cmp::Reverse(anchor.seq));
        Ok(Self {
            days,
            file,
            until: chronicle.head(),
            last,
            line: Vec::new(),
            covered: Vec::new(),
            rows: VecDeque::new(),
            rows_from: since + 1,
            witness: Witness::default(),
            findings: Findings::default(),
            lines: 0,
            since,
            checks: CrossChecks::Witnesses,
            halved: HashMap::new(),
            anchors,
            gone: HashSet::new(),
            ordered: HashMap::new(),
        })
    }

    /// Leaves out whether the witnesses agree: only the lines, their chain and the index are looked at.
    #[must_use]
    pub fn without_witnesses(mut self) -> Self {
        self.checks = CrossChecks::Index;
        self
    }

    /// Leaves out everything but the lines: whether each is well formed, has the hash and the digest that it claims, and
    /// follows from the one before it.
    #[must_use]
    pub fn lines_alone(mut self) -> Self {
        self.checks = CrossChecks::Nothing;
        self
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
        // Both are given back: what is read is not copied, and nothing is made again for each line.
        let (line, mut covered) = (std::mem::take(&mut self.line), std::mem::take(&mut self.covered));
        let judged = match BorrowedLine::read(&line, &mut covered) {
            Ok(event) => self.judge_opened(chronicle, event, sha256(&covered), place),
            Err(error) => {
                self.lines += 1;
                let detail = format!("{} byte {}: {error}", file_name(place.day), place.offset);
                self.findings.note(self.last.seq + 1, "field", detail);
                Ok(())
            }
        };
        (self.line, self.covered) = (line, covered);
        judged
    }

    /// Judges an event by its payload as it was before it was encrypted.
    fn judge_opened(
        &mut self,
        chronicle: &Chronicle,
        event: BorrowedLine<'_>,
        computed: Sha256,
        place: Place,
    ) -> Result<()> {
        match chronicle.log().keys().from_file(event.seq, &event.peer, event.payload) {
            Ok(Cow::Borrowed(_)) => self.judge_event(chronicle, &event, computed, place),
            Ok(Cow::Owned(payload)) => {
                self.judge_event(chronicle, &BorrowedLine { payload: &payload, ..event }, computed, place)
            }
            Err(error) => {
                self.findings.note(event.seq, "encrypted", error.to_string());
                self.judge_event(chronicle, &event, computed, place)
            }
        }
    }

    fn judge_event(
        &mut self,
        chronicle: &Chronicle,
        event: &BorrowedLine<'_>,
        computed: Sha256,
        place: Place,
    ) -> Result<()> {
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
        let redacted = self.itself(event, computed, place);
        if self.checks >= CrossChecks::Index {
            self.beside_the_index(chronicle, event, place)?;
        }
        self.in_the_chain(event, place);
        self.beside_the_anchors(event);
        self.note_redaction(event);
        if self.checks >= CrossChecks::Witnesses && !self.was_under_way(chronicle, event)? {
            let Self { findings, witness, .. } = self;
            witness.observe(&testimony(event, redacted), &mut |finding| findings.add(finding));
        }
        // A line that stands again, or too early, does not move the place that is expected next.
        if event.seq > self.last.seq {
            self.last = Head { seq: event.seq, hash: event.hash, ts_ms: event.ts_ms };
        }
        Ok(())
    }

    /// What a line says of itself, whose hash should be `computed`; whether its payload was taken out.
    fn itself(&mut self, event: &BorrowedLine<'_>, computed: Sha256, place: Place) -> bool {
        let seq = event.seq;
        if computed != event.hash {
            self.findings.note(seq, "hash", format!("event {seq} does not have the hash that it claims"));
        }
        let holds = event.payload_holds();
        let redacted = !holds && is_mark(event.payload.as_bytes());
        if redacted {
            self.gone.insert(seq);
        } else if !holds {
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
        redacted
    }

    fn in_the_chain(&mut self, event: &BorrowedLine<'_>, place: Place) {
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

    /// Whether the event's turn began before the lines that are looked at.
    fn was_under_way(&mut self, chronicle: &Chronicle, event: &BorrowedLine<'_>) -> Result<bool> {
        let Some(turn) = event.turn_id.filter(|_| self.since > 0) else { return Ok(false) };
        if let Some(known) = self.halved.get(&turn) {
            return Ok(*known);
        }
        let halved = chronicle.index().first_of_turn(turn)?.is_some_and(|first| first <= self.since);
        self.halved.insert(turn, halved);
        Ok(halved)
    }

    /// What policyd has signed must stand there.
    fn beside_the_anchors(&mut self, event: &BorrowedLine<'_>) {
        while let Some(anchor) = self.anchors.pop_if(|anchor| anchor.seq <= event.seq) {
            if anchor.seq != event.seq {
                let detail = format!("the head was event {} when policyd signed it, and that is missing", anchor.seq);
                self.findings.note(anchor.seq, "anchor", detail);
            } else if anchor.hash != event.hash {
                let detail = format!("event {} had hash {} when policyd signed it", event.seq, anchor.hash);
                self.findings.note(event.seq, "anchor", detail);
            }
        }
    }

    fn note_redaction(&mut self, event: &BorrowedLine<'_>) {
        if event.kind == EventType::PayloadRedacted
            && let Ok(done) = PayloadRedacted::decode(event.payload)
        {
            self.ordered.insert(done.seq, done.payload_sha256);
        }
    }

    /// Every payload that is gone was ordered to go, and the other way round.
    fn redactions(&mut self, chronicle: &Chronicle) -> Result<()> {
        let mut gone: Vec<u64> = self.gone.drain().collect();
        gone.sort_unstable();
        for seq in gone {
            if self.ordered.remove(&seq).is_none() {
                self.findings.note(
                    seq,
                    "payload",
                    format!("the payload of event {seq} is gone, and nobody ordered that"),
                );
            }
        }
        let mut left: Vec<u64> = self.ordered.drain().map(|(seq, _)| seq).filter(|seq| *seq > self.since).collect();
        left.sort_unstable();
        for seq in left {
            // It may stand before the first line that was looked at, or its removal be under way.
            if chronicle
                .index()
                .row(seq)?
                .is_none_or(|row| chronicle.read(&row).is_ok_and(|event| !event.is_redacted()))
            {
                self.findings.note(
                    seq,
                    "redaction",
                    format!("the payload of event {seq} was to be taken out, and is there"),
                );
            }
        }
        Ok(())
    }

    fn beside_the_index(&mut self, chronicle: &Chronicle, event: &BorrowedLine<'_>, place: Place) -> Result<()> {
        let seq = event.seq;
        self.index_before(chronicle, seq)?;
        match self.rows.front() {
            Some(row) if row.seq == seq => {
                if *row != row_of_line(event, place) {
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
        if self.checks >= CrossChecks::Index {
            self.index_before(chronicle, u64::MAX)?;
        }
        if self.last.seq < self.until.seq {
            let detail = format!("the log ends at event {}, memoryd knows event {}", self.last.seq, self.until.seq);
            self.findings.note(self.last.seq + 1, "tail", detail);
        }
        while let Some(anchor) = self.anchors.pop() {
            let detail =
                format!("the head was event {} when policyd signed it; the log ends at {}", anchor.seq, self.last.seq);
            self.findings.note(anchor.seq, "anchor", detail);
        }
        self.redactions(chronicle)?;
        let findings = std::mem::take(&mut self.findings);
        Ok(VerifyReport {
            lines: self.lines,
            head: self.last.recorded(),
            findings: findings.first,
            findings_total: findings.total,
        })
    }
}
