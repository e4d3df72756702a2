//! What is known of a turn whose last lines the index has not heard of yet. The words about one call follow each other closely,
//! and each is checked against those before; having the index brought up to date for every one of them would make a call wait
//! for what nobody asks about until it is over. So of the few kinds of lines that a call consists of, those that are durable and
//! due are looked at as they are. Anything else has the index brought up to date first, as before.

use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::role::RoleName;

use super::{Memory, Told, fresh_facts, unknown_turn};
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::{IndexRow, TurnFacts, row_of};
use crate::chronicle::payload;
use crate::error::Result;

/// Whether a line of this kind leaves what is known of its turn as it was.
const fn is_of_a_call(kind: EventType) -> bool {
    matches!(kind, EventType::PolicyDecision | EventType::RunStarted | EventType::RunEnded)
}

/// The owner calls without the planner: a line that says all there is to know of its turn.
fn opens_directly(event: &Event) -> Option<TurnFacts> {
    let (Some(trace), Some(channel)) = (event.trace_id, event.channel) else { return None };
    let opened = payload::TurnOpen::decode(&event.payload).ok()?;
    let direct = event.kind == EventType::TurnOpen && event.emitter == RoleName::Policyd && opened.direct;
    let facts = fresh_facts(trace, channel, &event.peer, event.trust);
    direct.then_some(TurnFacts { lang: "en".to_owned(), direct: true, opened: Some(event.seq), ..facts })
}

impl Memory {
    /// What is known of a turn, for a word about one of its calls.
    ///
    /// # Errors
    /// When nothing is, or the index cannot be read.
    pub(super) fn turn_of_call(&mut self, turn: TurnId) -> Told<TurnFacts> {
        self.chronicle.fit()?;
        match self.fresh_turn(turn) {
            Some(facts) => Ok(facts),
            None if self.is_plain(turn) => self.chronicle.index().turn(turn)?.ok_or_else(|| unknown_turn(turn)),
            None => self.turn(turn),
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
    pub(super) fn line(&self, seq: u64) -> Result<Option<IndexRow>> {
        match self.chronicle.due().iter().find(|placed| placed.event.seq == seq) {
            Some(placed) => Ok(Some(row_of(placed))),
            None => self.chronicle.index().row(seq),
        }
    }

    /// The last line of this kind about a call, whether the index knows it or is about to.
    pub(super) fn of_call(&self, call: CallId, kind: EventType) -> Result<Option<IndexRow>> {
        let mut due = self.chronicle.due().iter().rev().filter(|placed| placed.event.kind == kind).map(row_of);
        match due.find(|row| row.call == Some(call)) {
            Some(row) => Ok(Some(row)),
            None => self.chronicle.index().of_call(call, kind),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::msg::common::Outcome;
    use metnos_proto::msg::memoryd::Verdict;

    use super::*;
    use crate::memory::testing::{Instance, call, decision, ended, no, started, teller, turn};

    const NAME: &str = "fs_read";

    #[test]
    fn a_call_is_recorded_line_by_line_while_the_index_knows_nothing_of_it() {
        let instance = Instance::new();
        let mut memory = instance.open();
        let sandboxd = teller(RoleName::Sandboxd);
        let opened = memory.direct(1, NAME);
        // In one round with the line that opens its turn.
        let decided = memory.decide(&decision(1, 1, NAME, Verdict::Allow));
        assert_eq!((memory.due(), memory.chronicle().has_staged()), (0, true), "nothing was flushed for it");
        memory.flush_answering(|_| {}).unwrap();
        let facts = memory.turn_of_call(turn(1)).unwrap();
        let begun = memory.started(sandboxd, &started(1, 1, NAME, decided.seq, &[])).unwrap();
        memory.flush_answering(|_| {}).unwrap();
        let over = memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Ok)).unwrap();
        memory.flush_answering(|_| {}).unwrap();
        assert_eq!(memory.due(), 4, "the index was not asked for");
        // Told again, it is answered as it was; told otherwise, refused.
        assert_eq!(memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Ok)).unwrap(), over);
        assert!(memory.ended(sandboxd, &ended(1, 1, NAME, begun.seq, Outcome::Crashed)).is_err());
        assert!(memory.started(sandboxd, &started(1, 1, NAME, decided.seq, &[])).is_err());
        assert_eq!(memory.due(), 4);
        // What was taken for known is what the index then says.
        memory.derive().unwrap();
        assert_eq!(memory.chronicle().index().turn(turn(1)).unwrap().unwrap(), facts);
        assert_eq!(facts.opened, Some(opened.seq));
        let row = memory.of_call(call(1, 1), EventType::RunEnded).unwrap().unwrap();
        assert_eq!((row.seq, memory.due()), (over.seq, 0));
    }

    #[test]
    fn a_run_without_a_decision_is_none_also_while_the_index_is_behind() {
        let instance = Instance::new();
        let mut memory = instance.open();
        let sandboxd = teller(RoleName::Sandboxd);
        memory.direct(1, NAME);
        let denied = memory.decide(&decision(1, 1, NAME, Verdict::Deny));
        memory.flush_answering(|_| {}).unwrap();
        // Denied; of another executor; not decided at all; in a turn that nobody knows.
        assert_eq!(no(memory.started(sandboxd, &started(1, 1, NAME, denied.seq, &[]))), "violation");
        let allowed = memory.decide(&decision(1, 2, NAME, Verdict::Allow));
        memory.flush_answering(|_| {}).unwrap();
        assert_eq!(no(memory.started(sandboxd, &started(1, 2, "fs_list", allowed.seq, &[]))), "violation");
        assert_eq!(no(memory.started(sandboxd, &started(1, 2, NAME, allowed.seq + 1, &[]))), "violation");
        assert_eq!(no(memory.started(sandboxd, &started(2, 1, NAME, allowed.seq, &[]))), "turn.unknown");
        assert_eq!(no(memory.ended(sandboxd, &ended(1, 2, NAME, allowed.seq, Outcome::Ok))), "violation");
        assert!(memory.started(sandboxd, &started(1, 2, NAME, allowed.seq, &[])).is_ok());
    }

    #[test]
    fn direct_turn_closed_before_indexing_leaves_the_same_records() {
        let closed = |late: bool| {
            let instance = Instance::new();
            let mut memory = instance.open();
            let sandboxd = teller(RoleName::Sandboxd);
            memory.direct(1, NAME);
            for (at, name, inputs) in [(1, NAME, [].as_slice()), (2, "text_stats", &[1])] {
                let decided = memory.decide(&decision(1, at, name, Verdict::Allow));
                memory.flush_answering(|_| {}).unwrap();
                let begun = memory.started(sandboxd, &started(1, at, name, decided.seq, inputs)).unwrap();
                memory.flush_answering(|_| {}).unwrap();
                memory.ended(sandboxd, &ended(1, at, name, begun.seq, Outcome::Ok)).unwrap();
                memory.flush_answering(|_| {}).unwrap();
                if !late {
                    memory.derive().unwrap();
                }
            }
            let done = memory.direct_done(1);
            assert_eq!(memory.due(), if late { 7 } else { 0 }, "the index is asked for only where it is needed");
            memory.flush().unwrap();
            (done, memory.mnests().unwrap().1)
        };
        assert_eq!(closed(true), closed(false));
        assert!(closed(true).0.mnests > 0);
    }

    #[test]
    fn a_turn_that_is_over_takes_no_call_however_late_the_index_is() {
        let instance = Instance::new();
        let mut memory = instance.open();
        memory.direct(1, NAME);
        memory.flush_answering(|_| {}).unwrap();
        memory.direct_done(1);
        memory.flush_answering(|_| {}).unwrap();
        let late = memory.decision(teller(RoleName::Policyd), &decision(1, 1, NAME, Verdict::Allow), b"{}".to_vec());
        assert!(late.is_err());
    }
}
