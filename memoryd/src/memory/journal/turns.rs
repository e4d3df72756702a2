//! What is known of a turn: in the index, and in lines that the index does not hold yet.
//!
//! The words about one call follow each other closely, and each is checked against those before. Bringing the index up to
//! date for each would make a call wait. So durable lines of the few kinds that a call consists of are read as they are;
//! for anything else the caller brings the index up to date first.

use metnos_proto::edge::ServeError;
use metnos_proto::ids::{CallId, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, RefusalCode, Trust};
use metnos_proto::role::RoleName;

use super::{Answer, Journal, refused};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::{IndexRow, TurnFacts, row_of};
use crate::chronicle::payload;
use crate::error::Result;
use crate::mnestome::derive::Record;

/// Whether a line of this kind leaves what is known of its turn as it was.
const fn is_of_a_call(kind: EventType) -> bool {
    matches!(kind, EventType::PolicyDecision | EventType::RunStarted | EventType::RunEnded | EventType::WorldAction)
}

/// The owner calls without the planner: a line that says all there is to know of its turn.
fn opens_directly(event: &Event) -> Option<TurnFacts> {
    let (Some(trace), Some(channel)) = (event.trace_id, event.channel) else { return None };
    let opened = payload::TurnOpen::decode(&event.payload).ok()?;
    let direct = event.kind == EventType::TurnOpen && event.emitter == RoleName::Policyd && opened.direct;
    let facts = fresh_facts(trace, channel, &event.peer, event.trust);
    direct.then_some(TurnFacts { lang: "en".to_owned(), direct: true, opened: Some(event.seq), ..facts })
}

impl Journal {
    /// What the index knows of a turn.
    ///
    /// # Errors
    /// When nothing is, or the index cannot be read.
    pub(in crate::memory) fn indexed_turn(&self, turn: TurnId) -> Answer<TurnFacts> {
        self.chronicle.index().turn(turn)?.ok_or_else(|| unknown_turn(turn))
    }

    /// What is known of a turn, for a word about one of its calls; `None` when the index must be brought up to date first.
    ///
    /// # Errors
    /// When nothing is known of it, or the index cannot be read.
    pub(in crate::memory) fn turn_of_call(&mut self, turn: TurnId) -> Answer<Option<TurnFacts>> {
        self.chronicle.ensure_writable()?;
        match self.fresh_turn(turn) {
            Some(facts) => Ok(Some(facts)),
            None if self.is_plain(turn) => self.indexed_turn(turn).map(Some),
            None => Ok(None),
        }
    }

    /// The turn, if it was opened directly and all that is not in the index yet is of its calls.
    fn fresh_turn(&self, turn: TurnId) -> Option<TurnFacts> {
        let mut lines = self.chronicle.unindexed_of(turn);
        let facts = opens_directly(lines.next()?)?;
        // A call is looked for among what is durable, so nothing of one may be on its way there.
        let rest = lines.all(|event| is_of_a_call(event.kind)) && !self.chronicle.has_staged_call_of(turn);
        rest.then_some(facts)
    }

    /// Whether what is not in the index yet of a turn is durable, and of its calls.
    fn is_plain(&self, turn: TurnId) -> bool {
        let mut lines = self.chronicle.unindexed_of(turn);
        lines.all(|event| is_of_a_call(event.kind)) && !self.chronicle.has_staged_call_of(turn)
    }

    /// The line of this number, whether the index knows it or is about to.
    pub(in crate::memory) fn line(&self, seq: u64) -> Result<Option<IndexRow>> {
        match self.chronicle.due().iter().find(|placed| placed.event.seq == seq) {
            Some(placed) => Ok(Some(row_of(placed))),
            None => self.chronicle.index().row(seq),
        }
    }

    /// The last line of this kind about a call, whether the index knows it or is about to.
    pub(in crate::memory) fn of_call(&self, call: CallId, kind: EventType) -> Result<Option<IndexRow>> {
        let mut due = self.chronicle.due().iter().rev().filter(|placed| placed.event.kind == kind).map(row_of);
        match due.find(|row| row.call == Some(call)) {
            Some(row) => Ok(Some(row)),
            None => self.chronicle.index().of_call(call, kind),
        }
    }
}

pub(in crate::memory) fn unknown_turn(turn: TurnId) -> ServeError {
    refused(RefusalCode::Unknown, "turn.unknown", format!("nobody said anything in turn {turn}"))
}

/// The runs of a turn before event `before`.
pub(in crate::memory) fn records(chronicle: &Chronicle, turn: TurnId, before: u64) -> Result<Vec<Record>> {
    let run = |kind| matches!(kind, EventType::RunStarted | EventType::RunEnded);
    let rows = chronicle.index().of_turn(turn, before)?;
    let indexed = rows
        .iter()
        .filter(|row| row.kind.is_some_and(run))
        .filter_map(|row| chronicle.read(row).map(|event| Record::of(&event)).transpose());
    let fresh = chronicle.unindexed_of(turn).filter(|event| run(event.kind) && event.seq < before);
    indexed.chain(fresh.filter_map(Record::of).map(Ok)).collect()
}

/// What is known of a turn that begins now.
pub(super) fn fresh_facts(trace: TraceId, channel: Channel, peer: &str, trust: Trust) -> TurnFacts {
    TurnFacts {
        trace,
        channel,
        peer: peer.to_owned(),
        trust,
        lang: String::new(),
        direct: false,
        said: None,
        opened: None,
        delivered: None,
        closed: None,
    }
}
