//! Calls of executors: what was decided, what started and what ended. No claim that can be checked is believed.

use metnos_proto::edge::ServeError;
use metnos_proto::ids::{Blake3, CallId};
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{RefusalCode, Trust};
use metnos_proto::msg::memoryd::{Decision, Ended, KeepBefore, MAX_BEFORE, Recorded, Started};
use metnos_proto::secrets;

use super::{Answer, Asker, Journal, open_turn, refused, twice};
use crate::chronicle::event::EventType;
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::payload;

/// How deep what a call keeps may nest.
const MAX_DEPTH: u8 = 8;

impl Journal {
    /// Stages what was decided about a call.
    ///
    /// # Errors
    /// When the turn is closed, or the call was decided otherwise; a violation when what it says of the turn or of the
    /// arguments is not true.
    pub(in crate::memory) fn decision(
        &mut self,
        asker: Asker,
        word: &Decision,
        facts: &TurnFacts,
        arguments: Vec<u8>,
    ) -> Answer<Recorded> {
        open_turn(word.turn, facts)?;
        if (facts.trace, facts.channel, &facts.peer) != (word.trace, word.channel, &word.principal) {
            return Err(ServeError::Violation(format!(
                "a decision for {} in turn {} of {}",
                word.principal, word.turn, facts.peer
            )));
        }
        if Blake3::of(&arguments) != word.arguments {
            return Err(ServeError::Violation(format!("the arguments of call {} are not those decided on", word.call)));
        }
        let (arguments, arguments_encoding) = payload::PolicyDecision::encode_arguments(arguments);
        let payload = payload::PolicyDecision {
            arguments,
            arguments_digest: word.arguments.to_string(),
            arguments_encoding,
            call: word.call.to_string(),
            executor: word.id.name.clone(),
            place: word.place.to_string(),
            rule: word.rule.clone(),
            verdict: word.verdict.name().to_owned(),
            version: word.id.version.clone(),
            why: word.why.clone(),
        }
        .encode();
        if let Some(row) = self.of_call(word.call, EventType::PolicyDecision)? {
            let asked = payload::PolicyDecision::decode(&self.chronicle.read(&row)?.payload)
                .is_ok_and(|known| known.verdict == "ask");
            // A question may be followed by its answer; any other decision stands.
            if !asked || self.chronicle.says(&row, &payload) {
                return self.same_again(&row, &payload);
            }
        }
        self.stage_in(asker, word.turn, facts, facts.root(), (EventType::PolicyDecision, Trust::System, payload))
    }

    /// Stages that an executor is about to run.
    ///
    /// # Errors
    /// When the call was started before; a violation when no decision allows exactly this.
    pub(in crate::memory) fn started(&mut self, asker: Asker, word: &Started, facts: &TurnFacts) -> Answer<Recorded> {
        if let Some(row) = self.of_call(word.call, EventType::RunStarted)? {
            return Err(twice(&format!("call {} was started in line {}", word.call, row.seq)));
        }
        self.decided(word)?;
        let input = |input: &metnos_proto::msg::common::InputRef| payload::Input {
            argument: input.argument.clone(),
            from: input.from.to_string(),
            pointer: input.pointer.clone(),
        };
        let payload = payload::RunStarted {
            arguments_digest: word.arguments.to_string(),
            call: word.call.to_string(),
            decision_seq: word.decision_seq,
            executor: word.id.name.clone(),
            inputs: word.inputs.iter().map(input).collect(),
            place: word.place.to_string(),
            profile: word.profile.to_string(),
            version: word.id.version.clone(),
        }
        .encode();
        let event = (EventType::RunStarted, Trust::System, payload);
        self.stage_in(asker, word.turn, facts, Some(word.decision_seq), event)
    }

    /// Is there a decision that allows exactly this run?
    fn decided(&self, word: &Started) -> Answer<()> {
        let undecided =
            |why: &str| Err(ServeError::Violation(format!("a run of {} as call {}: {why}", word.id, word.call)));
        let row = self.line(word.decision_seq)?;
        let Some(row) = row.filter(|row| row.kind == Some(EventType::PolicyDecision) && row.call == Some(word.call))
        else {
            return undecided(&format!("line {} is no decision about it", word.decision_seq));
        };
        let event = self.chronicle.read(&row)?;
        let Ok(decision) = payload::PolicyDecision::decode(&event.payload) else {
            return undecided("its decision cannot be read");
        };
        if decision.verdict != "allow" {
            return undecided("its decision does not allow it");
        }
        if event.turn_id != Some(word.turn) || event.trace_id != Some(word.trace) {
            return undecided("it was decided in another turn");
        }
        if decision.id() != word.id || decision.place != word.place.to_string() {
            return undecided("another call was decided");
        }
        if payload::digest_of(&decision.arguments_digest) != Some(word.arguments) {
            return undecided("other arguments were decided on");
        }
        Ok(())
    }

    /// Stages that a run has ended.
    ///
    /// # Errors
    /// When it had ended otherwise; a violation when it was never started.
    pub(in crate::memory) fn ended(&mut self, asker: Asker, word: &Ended, facts: &TurnFacts) -> Answer<Recorded> {
        let start = self.start_of(word.call)?;
        let fits = start.as_ref().is_some_and(|(row, started)| {
            row.seq == word.started_seq && row.turn == Some(word.turn) && started.id() == word.id
        });
        if !fits || facts.trace != word.trace {
            return Err(ServeError::Violation(format!("the end of call {}, which was not started so", word.call)));
        }
        let payload = payload::RunEnded {
            call: word.call.to_string(),
            carrier: word.resources.carrier.name().to_owned(),
            cpu_us: word.resources.cpu_us,
            error_class: word.error_class.clone(),
            executor: word.id.name.clone(),
            outcome: word.outcome.name().to_owned(),
            output_bytes: word.resources.output_bytes,
            peak_kib: word.resources.peak_kib,
            result: word.result.to_string(),
            started_seq: word.started_seq,
            version: word.id.version.clone(),
            visits: word.resources.visits.iter().map(payload::Visit::of).collect(),
            wall_us: word.resources.wall_us,
            written_bytes: word.resources.written_bytes,
        }
        .encode();
        if let Some(row) = self.of_call(word.call, EventType::RunEnded)? {
            return self.same_again(&row, &payload);
        }
        let event = (EventType::RunEnded, Trust::Tool, payload);
        self.stage_in(asker, word.turn, facts, Some(word.started_seq), event)
    }

    /// Stages what a running call is about to change.
    ///
    /// # Errors
    /// When it has kept something else before, or the text is no JSON of the size, or has the form of a secret, which does not
    /// enter the chronicle; a violation when the call does not run.
    pub(in crate::memory) fn keep_before(
        &mut self,
        asker: Asker,
        word: &KeepBefore,
        facts: &TurnFacts,
    ) -> Answer<Recorded> {
        let start = self.start_of(word.call)?;
        let runs = start.as_ref().is_some_and(|(row, started)| {
            row.seq == word.started_seq && row.turn == Some(word.turn) && started.id() == word.id
        });
        if !runs || facts.trace != word.trace || self.of_call(word.call, EventType::RunEnded)?.is_some() {
            return Err(ServeError::Violation(format!("call {} does not run, and keeps something", word.call)));
        }
        let limits = Limits { max_bytes: MAX_BEFORE, max_depth: MAX_DEPTH };
        if json::parse_object(word.before.as_bytes(), limits).is_err() {
            let why = format!("what a call keeps is a JSON object of at most {MAX_BEFORE} bytes");
            return Err(refused(RefusalCode::Invalid, "before.form", why));
        }
        if secrets::cleaned(&word.before).is_some() {
            let why = "what it would keep has the form of a secret, which does not enter the chronicle";
            return Err(refused(RefusalCode::Denied, "before.secret", why));
        }
        let payload = payload::WorldAction {
            before: word.before.clone(),
            call: word.call.to_string(),
            executor: word.id.name.clone(),
            started_seq: word.started_seq,
            version: word.id.version.clone(),
        }
        .encode();
        if let Some(row) = self.of_call(word.call, EventType::WorldAction)? {
            return self.same_again(&row, &payload);
        }
        let event = (EventType::WorldAction, Trust::Tool, payload);
        self.stage_in(asker, word.turn, facts, Some(word.started_seq), event)
    }

    /// What a call of one of these principals has kept.
    ///
    /// # Errors
    /// When it was another's.
    pub(in crate::memory) fn before_of(&self, call: CallId, own: &[&str]) -> Answer<Option<String>> {
        let Some(row) = self.of_call(call, EventType::WorldAction)? else { return Ok(None) };
        let event = self.chronicle.read(&row)?;
        if !own.contains(&event.peer.as_str()) {
            let why = format!("what call {call} has kept is another person's");
            return Err(refused(RefusalCode::Denied, "before.person", why));
        }
        // What was taken out by rite is no payload any more.
        Ok(payload::WorldAction::decode(&event.payload).ok().map(|kept| kept.before))
    }

    fn start_of(&self, call: CallId) -> Answer<Option<(IndexRow, payload::RunStarted)>> {
        let Some(row) = self.of_call(call, EventType::RunStarted)? else { return Ok(None) };
        let started = payload::RunStarted::decode(&self.chronicle.read(&row)?.payload).ok();
        Ok(started.map(|started| (row, started)))
    }
}
