//! What a turn's runs say about who fed whom: pure, from sandboxd's records and nothing else.

use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Outcome};
use metnos_proto::msg::memoryd::UNDONE;
use metnos_proto::role::RoleName;

use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload::{RunEnded, RunStarted, SystemEvent, call_of};

/// A record of the turn that matters here, in the order of the chronicle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// An executor was started.
    Started {
        /// The call.
        call: CallId,
        /// Which.
        id: ExecutorId,
        /// The calls whose results became its arguments.
        inputs: Vec<CallId>,
    },
    /// A run has ended.
    Ended {
        /// The call.
        call: CallId,
        /// How it ended.
        outcome: Outcome,
        /// When, in milliseconds.
        ts_ms: u64,
    },
}

impl Record {
    /// Reads the record in an event, if there is one.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        if event.kind == EventType::RunStarted {
            let started = RunStarted::decode(&event.payload).ok()?;
            let inputs = started.inputs.iter().filter_map(|input| call_of(&input.from)).collect();
            Some(Self::Started { call: call_of(&started.call)?, id: started.id(), inputs })
        } else if event.kind == EventType::RunEnded {
            let ended = RunEnded::decode(&event.payload).ok()?;
            // A word of a later release says nothing about an executor.
            let outcome = Outcome::named(&ended.outcome).unwrap_or(Outcome::Interrupted);
            Some(Self::Ended { call: call_of(&ended.call)?, outcome, ts_ms: event.ts_ms })
        } else {
            None
        }
    }
}

/// The turn of which policyd says that something it did was taken back.
pub(super) fn undone(event: &Event) -> Option<TurnId> {
    let told = event.kind == EventType::SystemEvent && event.emitter == RoleName::Policyd;
    let turn = event.turn_id.filter(|_| told)?;
    SystemEvent::decode(&event.payload).is_ok_and(|said| said.kind == UNDONE).then_some(turn)
}

/// One observed use of A's output as B's input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    /// Whose output.
    pub src: ExecutorId,
    /// Whose input.
    pub dst: ExecutorId,
    /// When B had ended.
    pub ts_ms: u64,
}

/// Every use in a turn: one for each successful B and each successful A of the same turn
/// whose output was among B's arguments, however many arguments it became.
#[must_use]
pub fn fed(records: &[Record]) -> Vec<Fed> {
    let start_of = |wanted: CallId| {
        records.iter().find_map(|record| match record {
            Record::Started { call, id, inputs } if *call == wanted => Some((id, inputs)),
            Record::Started { .. } | Record::Ended { .. } => None,
        })
    };
    let mut succeeded: Vec<CallId> = Vec::new();
    let mut found = Vec::new();
    for record in records {
        let Record::Ended { call, outcome: Outcome::Ok, ts_ms } = record else { continue };
        let Some((dst, inputs)) = start_of(*call) else { continue };
        // A second end of the same call would be a second use.
        if succeeded.contains(call) {
            continue;
        }
        for (at, from) in inputs.iter().enumerate() {
            let first_mention = !inputs[..at].contains(from);
            if first_mention
                && succeeded.contains(from)
                && let Some((src, _)) = start_of(*from)
            {
                found.push(Fed { src: src.clone(), dst: dst.clone(), ts_ms: *ts_ms });
            }
        }
        succeeded.push(*call);
    }
    found
}

/// The executors that succeeded in the turn, in the order in which they ended.
#[must_use]
pub fn successes(records: &[Record]) -> Vec<ExecutorId> {
    let id_of = |wanted: CallId| {
        records.iter().find_map(|record| match record {
            Record::Started { call, id, .. } if *call == wanted => Some(id.clone()),
            Record::Started { .. } | Record::Ended { .. } => None,
        })
    };
    let ended = records.iter().filter_map(|record| match record {
        Record::Ended { call, outcome: Outcome::Ok, .. } => Some(*call),
        Record::Ended { .. } | Record::Started { .. } => None,
    });
    ended.filter_map(id_of).collect()
}

/// The executors that ran in the turn and how each ended, in the order in which they ended.
#[must_use]
pub fn ends(records: &[Record]) -> Vec<(ExecutorId, Outcome)> {
    let id_of = |wanted: CallId| {
        records.iter().find_map(|record| match record {
            Record::Started { call, id, .. } if *call == wanted => Some(id.clone()),
            Record::Started { .. } | Record::Ended { .. } => None,
        })
    };
    let ended = records.iter().filter_map(|record| match record {
        Record::Ended { call, outcome, .. } => id_of(*call).map(|id| (id, *outcome)),
        Record::Started { .. } => None,
    });
    ended.collect()
}

/// The executor that succeeded last in the turn.
#[must_use]
pub fn last_success(records: &[Record]) -> Option<ExecutorId> {
    successes(records).pop()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn call(n: u8) -> CallId {
        CallId::from_bytes([n; 16])
    }

    fn id(name: &str) -> ExecutorId {
        ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() }
    }

    fn started(n: u8, name: &str, inputs: &[u8]) -> Record {
        Record::Started { call: call(n), id: id(name), inputs: inputs.iter().map(|n| call(*n)).collect() }
    }

    fn ended(n: u8, ok: bool) -> Record {
        let outcome = if ok { Outcome::Ok } else { Outcome::Error };
        Record::Ended { call: call(n), outcome, ts_ms: 10 * u64::from(n) }
    }

    fn pairs(records: &[Record]) -> Vec<(String, String)> {
        fed(records).into_iter().map(|fed| (fed.src.name, fed.dst.name)).collect()
    }

    #[test]
    fn a_chain_of_three_is_two_mnests_and_never_three() {
        let records = [
            started(1, "a", &[]),
            ended(1, true),
            started(2, "b", &[1]),
            ended(2, true),
            started(3, "c", &[2]),
            ended(3, true),
        ];
        assert_eq!(pairs(&records), [("a".into(), "b".into()), ("b".into(), "c".into())]);
    }

    #[test]
    fn several_arguments_from_one_result_are_one_use() {
        let records = [started(1, "a", &[]), ended(1, true), started(2, "b", &[1, 1]), ended(2, true), ended(2, true)];
        assert_eq!(pairs(&records).len(), 1);
    }

    #[test]
    fn failed_or_missing_calls_make_no_mnest() {
        let failed_b = [started(1, "a", &[]), ended(1, true), started(2, "b", &[1]), ended(2, false)];
        let failed_a = [started(1, "a", &[]), ended(1, false), started(2, "b", &[1]), ended(2, true)];
        let elsewhere = [started(2, "b", &[9]), ended(2, true)];
        let unended = [started(1, "a", &[]), started(2, "b", &[1]), ended(2, true)];
        let itself = [started(2, "b", &[2]), ended(2, true)];
        for records in [&failed_b[..], &failed_a, &elsewhere, &unended, &itself] {
            assert_eq!(pairs(records), []);
        }
    }

    #[test]
    fn last_success_is_reported_after_a_failure() {
        let records = [started(1, "a", &[]), ended(1, true), started(2, "b", &[1]), ended(2, false)];
        assert_eq!(last_success(&records), Some(id("a")));
        assert_eq!(last_success(&records[2..]), None);
    }

    proptest! {
        #[test]
        fn every_use_names_two_runs_of_the_turn_that_succeeded(
            steps in prop::collection::vec((0_u8..6, any::<bool>(), prop::collection::vec(0_u8..6, 0..3), any::<bool>()), 0..20),
        ) {
            let names = ["a", "b", "c", "d", "e", "f"];
            let records: Vec<Record> = steps.iter().map(|(n, start, inputs, ok)| {
                if *start { started(*n, names[usize::from(*n)], inputs) } else { ended(*n, *ok) }
            }).collect();
            let ok = |name: &str| records.iter().any(|record| matches!(record,
                Record::Ended { call: ended, outcome: Outcome::Ok, .. } if *ended == call(names.iter().position(|n| *n == name).unwrap() as u8)));
            for (src, dst) in pairs(&records) {
                prop_assert!(ok(&src) && ok(&dst));
            }
        }
    }
}
