//! What the payload of each type of event holds; it interprets nothing.
//!
//! The fields stand in alphabetical order, so that writing them as they are declared
//! gives canonical JSON; the append checks it once more.

use metnos_proto::ids::{Blake3, CallId};
use metnos_proto::msg::common::{self, ExecutorId};
use metnos_proto::msg::schedule::ScheduleKind;
use metnos_proto::secrets;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical;
use crate::at_rest::salt::{SALT_KEY, unsalted};

/// A payload that cannot be read as what its event's type says.
#[derive(Debug, thiserror::Error)]
#[error("the payload is no `{kind}`: {source}")]
pub struct PayloadError {
    kind: &'static str,
    source: serde_json::Error,
}

/// Whether a count is none, and left out.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident = $kind:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl $name {
            /// The payload's canonical text.
            #[must_use]
            pub fn encode(&self) -> String {
                // None of these structures holds anything that JSON cannot carry.
                serde_json::to_string(self).unwrap_or_default()
            }

            /// Reads a payload.
            ///
            /// # Errors
            /// When it is not of this shape.
            pub fn decode(text: &str) -> Result<Self, PayloadError> {
                serde_json::from_str(&unsalted(text)).map_err(|source| PayloadError { kind: $kind, source })
            }
        }
    )*};
}

payloads! {
    /// `owner_message`: a person's words.
    OwnerMessage = "owner_message" {
        /// The language the person is spoken to in: `en`, `it`.
        lang: String,
        /// What the channel calls these words, where it may say them twice.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        mark: String,
        /// `owner` or `guest`.
        standing: String,
        /// The words.
        text: String,
    }

    /// `assistant_message`: the answer as it was delivered.
    AssistantMessage = "assistant_message" {
        /// How the turn ended.
        end: String,
        /// The text.
        text: String,
    }

    /// `turn_open`: what the planner was shown, or that the owner calls without one.
    TurnOpen = "turn_open" {
        /// The executors that were shown, best first.
        candidates: Vec<String>,
        /// Whether the owner calls an executor without the planner.
        direct: bool,
        /// The executor of a direct call; empty otherwise.
        executor: String,
        /// BLAKE3 over the six workspace files; empty for a direct call.
        identity: String,
        /// What later claims must name, sixteen hexadecimal digits; empty for a direct call.
        nonce: String,
        /// The events that were shown.
        shown: Vec<u64>,
    }

    /// `turn_close`: how it ended.
    TurnClose = "turn_close" {
        /// How.
        end: String,
        /// What it would take, give and fail with, as JSON; empty when it was not said.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        signature: String,
        /// What was missing, in the words of the request; empty when nothing was.
        wish: String,
    }

    /// `policy_decision`: what policyd decided about a call.
    PolicyDecision = "policy_decision" {
        /// The arguments, exactly as they were decided on.
        arguments: String,
        /// BLAKE3 of the arguments' bytes.
        arguments_digest: String,
        /// How `arguments` carries the bytes: `utf-8`, `hex` when they are no text, or [`CLEANED`].
        arguments_encoding: String,
        /// The call.
        call: String,
        /// The executor's name.
        executor: String,
        /// Its place in the turn: `c1`, `c2`, ….
        place: String,
        /// Which rule decided.
        rule: String,
        /// `allow`, `deny` or `ask`.
        verdict: String,
        /// The executor's version; empty when there is no such executor.
        version: String,
        /// Why, for a person.
        why: String,
    }

    /// `run_started`: an executor is about to run.
    RunStarted = "run_started" {
        /// BLAKE3 of the arguments as handed over, references unresolved.
        arguments_digest: String,
        /// The call.
        call: String,
        /// The line of the decision that it carries out.
        decision_seq: u64,
        /// The executor's name.
        executor: String,
        /// What arguments were taken from earlier results.
        inputs: Vec<Input>,
        /// Its place in the turn.
        place: String,
        /// BLAKE3 of the sandbox in force.
        profile: String,
        /// The executor's version.
        version: String,
    }

    /// `world_action`: what a running call is about to change, as it was before.
    WorldAction = "world_action" {
        /// What its inverse needs to put it back, a JSON object as text.
        before: String,
        /// The call.
        call: String,
        /// The executor's name.
        executor: String,
        /// The line that says it started.
        started_seq: u64,
        /// The executor's version.
        version: String,
    }

    /// An argument that was taken from an earlier result.
    Input = "input" {
        /// JSON pointer of the argument that it became.
        argument: String,
        /// The call whose result it was.
        from: String,
        /// JSON pointer in that result.
        pointer: String,
    }

    /// `run_ended`: how a run ended.
    RunEnded = "run_ended" {
        /// The call.
        call: String,
        /// The step of the ladder that carried it: `predicted`, `warm`, `forked`, `execed`.
        carrier: String,
        /// Processor time in microseconds.
        cpu_us: u64,
        /// The error's class, as the executor named it; empty when it succeeded.
        error_class: String,
        /// The executor's name.
        executor: String,
        /// How it ended: `ok`, `error`, `timeout`, ….
        outcome: String,
        /// Size of the result in bytes.
        output_bytes: u64,
        /// Largest resident set in KiB.
        peak_kib: u64,
        /// BLAKE3 of the result.
        result: String,
        /// The line that says it started.
        started_seq: u64,
        /// The executor's version.
        version: String,
        /// Where it went on the net, or wanted to.
        visits: Vec<Visit>,
        /// Wall time in microseconds.
        wall_us: u64,
        /// Bytes that it has caused to be written to disks.
        written_bytes: u64,
    }

    /// One connection of a run.
    Visit = "visit" {
        /// The address that was dialled; empty when none was.
        address: String,
        /// The name that was asked for.
        host: String,
        /// The port.
        port: u16,
        /// Bytes that came.
        received: u64,
        /// Why it was refused or cut; empty for one that ended by itself.
        refused: String,
        /// Bytes that left.
        sent: u64,
    }

    /// `evolution`: an executor may be called from now on, or no longer.
    Evolution = "evolution" {
        /// `born` or `lost`.
        act: String,
        /// Its public contract, when born; null when lost.
        candidate: Value,
        /// What was signed, when born.
        digests: Vec<String>,
        /// The executor's name.
        executor: String,
        /// Its version.
        version: String,
        /// Why, when lost.
        why: String,
    }

    /// `schedule_event`: what became of a schedule; what an act does not concern is left out.
    ScheduleEvent = "schedule_event" {
        /// `made`, `paused`, `resumed`, `cancelled`, `moved`, `begun`, `opened`, `delivered`, `unsure` or `refused`.
        act: String,
        /// Whether one that was made is a question, which is answered then.
        #[serde(default, skip_serializing_if = "is_false")]
        ask: bool,
        /// What had to be assumed about the time of one that was made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        assumed: Vec<String>,
        /// When one that was made is due.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        cadence: Value,
        /// Who has it said, where that is another person than the one who is reminded: the name.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        from: String,
        /// The digests of the calls that may change something when one that was made fires.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        frozen: Vec<String>,
        /// The civil time of a firing at which it was due; of another act, at which it was done.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        key: String,
        /// The language of one that was made: `en`, `it`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        lang: String,
        /// Whether it is a message, which is given at once.
        #[serde(default, skip_serializing_if = "is_false")]
        message: bool,
        /// How many due times before a firing went by.
        #[serde(default, skip_serializing_if = "is_zero")]
        missed: u32,
        /// The number of the schedule.
        number: u64,
        /// Who is reminded: `channel:sender`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        to: String,
        /// Whether it is given in quiet hours, too.
        #[serde(default, skip_serializing_if = "is_false")]
        urgent: bool,
        /// Of what.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        what: String,
        /// When, in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        when: String,
    }

    /// `payload_redacted`: the owner has had a payload taken out.
    PayloadRedacted = "payload_redacted" {
        /// The digest that its line goes on claiming.
        payload_sha256: String,
        /// Whose.
        seq: u64,
        /// Why, in the owner's words.
        why: String,
    }

    /// `checkpoint`: what the owner decided about the mnestome, or that it was kept.
    Checkpoint = "checkpoint" {
        /// `tag`, `untag`, `archive`, `restore`, `decline`, `freeze`, `defrost`, `snapshot`, `rollback`, `judge`.
        act: String,
        /// The line up to which the mnestome had come, where the act is about all of it; 0 otherwise.
        at_seq: u64,
        /// SHA-256 of the canonical dump that was kept or is returned to; empty otherwise.
        digest: String,
        /// A mnest's id, a proposal's, a turn's, or a snapshot's name.
        id: String,
        /// The tag; of a turn `good` or `bad`; empty otherwise.
        tag: String,
        /// Why, in the owner's words.
        why: String,
    }

    /// `cost_entry`: something costs something.
    CostEntry = "cost_entry" {
        /// What it is an entry about.
        entry: String,
        /// The executor; empty when it was a model.
        executor: String,
        /// How much, in millionths.
        micro: u64,
        /// The role of the model; empty when it was an executor.
        role: String,
        /// BLAKE3 of what was sent to the model, by mind's word; absent when nothing was.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        sent: String,
        /// `estimate`, `actual` or `unsettled`.
        stage: String,
        /// Tokens read.
        tokens_in: u64,
        /// Tokens written.
        tokens_out: u64,
    }

    /// `thought`: a model was asked.
    Thought = "thought" {
        /// BLAKE3 of the bytes as they came.
        digest: String,
        /// How `sent` carries them: `utf-8`, `hex` when they are no text, or [`CLEANED`].
        encoding: String,
        /// `substrate/model`.
        model: String,
        /// What was sent to it.
        sent: String,
        /// Which thought of the turn.
        thought: u32,
    }

    /// `identity_check`: the six files were looked at, and some are others than when they were last recorded.
    IdentityCheck = "identity_check" {
        /// Those, in the order in which they are digested.
        changed: Vec<FileDigest>,
        /// BLAKE3 over all six, as envelopes name it.
        identity: String,
    }

    /// One of the six files.
    FileDigest = "file_digest" {
        /// BLAKE3 of its bytes; empty when it is not there.
        digest: String,
        /// Its name.
        name: String,
        /// What its digest was; empty when it was not there, or never recorded.
        was: String,
    }

    /// `constitution_modified`: the Laws were changed by rite.
    ConstitutionModified = "constitution_modified" {
        /// BLAKE3 of SOUL.md that was in force.
        from: String,
        /// BLAKE3 of SOUL.md that is in force from now on.
        to: String,
        /// Why, in the owner's words.
        why: String,
    }

    /// `system_event`: something happened to a daemon.
    SystemEvent = "system_event" {
        /// What kind, in a word.
        kind: String,
        /// What, for a person.
        text: String,
    }
}

/// The encoding of arguments in which something that has the form of a secret was replaced by its digest: the
/// arguments' own digest cannot be calculated from it.
pub const CLEANED: &str = "cleaned";

/// Reads the digest that a payload carries as text.
#[must_use]
pub fn digest_of(text: &str) -> Option<Blake3> {
    Blake3::parse(text)
}

/// Reads the call that a payload carries as text.
#[must_use]
pub fn call_of(text: &str) -> Option<CallId> {
    text.parse().ok()
}

impl ScheduleEvent {
    /// What is done when one that was made fires.
    #[must_use]
    pub const fn kind(&self) -> ScheduleKind {
        match (self.message, self.ask, self.frozen.is_empty()) {
            (true, ..) => ScheduleKind::Message,
            (false, true, true) => ScheduleKind::Ask,
            (false, true, false) => ScheduleKind::Do,
            (false, false, _) => ScheduleKind::Reminder,
        }
    }

    /// What became of the schedule of this number, with nothing else said.
    #[must_use]
    pub fn new(act: &str, number: u64) -> Self {
        Self {
            act: act.to_owned(),
            ask: false,
            assumed: Vec::new(),
            cadence: Value::Null,
            from: String::new(),
            frozen: Vec::new(),
            key: String::new(),
            lang: String::new(),
            message: false,
            missed: 0,
            number,
            to: String::new(),
            urgent: false,
            what: String::new(),
            when: String::new(),
        }
    }
}

impl OwnerMessage {
    /// Whether [`OwnerMessage::decode`] would read it, without copying the words.
    ///
    /// # Errors
    /// When it is not of this shape.
    pub fn check(text: &str) -> Result<(), PayloadError> {
        // In its canonical form the keys stand in this order, and nowhere is a blank.
        let shapes: [&[&str]; 4] = [
            &[SALT_KEY, "lang", "standing", "text"],
            &[SALT_KEY, "lang", "mark", "standing", "text"],
            &["lang", "standing", "text"],
            &["lang", "mark", "standing", "text"],
        ];
        if shapes.iter().any(|keys| canonical::is_object_of_texts(text, keys)) {
            Ok(())
        } else {
            Self::decode(text).map(|_| ())
        }
    }
}

impl PolicyDecision {
    /// The executor that was decided on.
    #[must_use]
    pub fn id(&self) -> ExecutorId {
        ExecutorId { name: self.executor.clone(), version: self.version.clone() }
    }

    /// Puts the arguments' bytes in, as text where they are text.
    #[must_use]
    pub fn encode_arguments(bytes: Vec<u8>) -> (String, String) {
        match String::from_utf8(bytes) {
            Ok(text) => match secrets::cleaned(&text) {
                Some(clean) => (clean, CLEANED.to_owned()),
                None => (text, "utf-8".to_owned()),
            },
            Err(error) => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let nibbles = error.as_bytes().iter().flat_map(|byte| [byte >> 4, byte & 15]);
                let digits = nibbles.map(|nibble| char::from(DIGITS[usize::from(nibble)])).collect();
                (digits, "hex".to_owned())
            }
        }
    }

    /// The arguments' bytes; `None` when the encoding is not one of ours.
    #[must_use]
    pub fn argument_bytes(&self) -> Option<Vec<u8>> {
        match self.arguments_encoding.as_str() {
            "utf-8" => Some(self.arguments.clone().into_bytes()),
            "hex" => (0..self.arguments.len())
                .step_by(2)
                .map(|at| self.arguments.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                .collect(),
            _ => None,
        }
    }
}

impl RunStarted {
    /// The executor that runs.
    #[must_use]
    pub fn id(&self) -> ExecutorId {
        ExecutorId { name: self.executor.clone(), version: self.version.clone() }
    }
}

impl Visit {
    /// A connection as sandboxd reported it.
    #[must_use]
    pub fn of(told: &common::Visit) -> Self {
        let common::Visit { host, port, address, sent, received, refused } = told.clone();
        Self { address, host, port, received, refused, sent }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chronicle::canonical::check_object;

    #[test]
    fn every_payload_is_written_canonically_and_read_back() {
        macro_rules! holds {
            ($($payload:expr => $type:ident),* $(,)?) => {$(
                let payload = $payload;
                let text = payload.encode();
                assert_eq!(check_object(&text), Ok(()), "{text}");
                assert_eq!($type::decode(&text).unwrap(), payload);
            )*};
        }
        let s = || "x\n\"\u{1}è".to_owned();
        let input = Input { argument: s(), from: s(), pointer: s() };
        let visit = Visit { address: s(), host: s(), port: 1, received: 1, refused: s(), sent: 1 };
        let candidate = serde_json::json!({ "z": 1, "a": [ { "y": null, "b": 1.5 } ] });
        holds! {
            OwnerMessage { lang: s(), mark: s(), standing: s(), text: s() } => OwnerMessage,
            AssistantMessage { end: s(), text: s() } => AssistantMessage,
            TurnOpen { candidates: vec![s()], direct: true, executor: s(), identity: s(), nonce: s(), shown: vec![1] } => TurnOpen,
            TurnClose { end: s(), signature: s(), wish: s() } => TurnClose,
            PolicyDecision { arguments: s(), arguments_digest: s(), arguments_encoding: s(), call: s(), executor: s(),
                place: s(), rule: s(), verdict: s(), version: s(), why: s() } => PolicyDecision,
            RunStarted { arguments_digest: s(), call: s(), decision_seq: 1, executor: s(), inputs: vec![input],
                place: s(), profile: s(), version: s() } => RunStarted,
            RunEnded { call: s(), carrier: s(), cpu_us: 1, error_class: s(), executor: s(), outcome: s(), output_bytes: 1,
                peak_kib: 1, result: s(), started_seq: 1, version: s(), visits: vec![visit], wall_us: 1, written_bytes: 1 } => RunEnded,
            WorldAction { before: s(), call: s(), executor: s(), started_seq: 1, version: s() } => WorldAction,
            Evolution { act: s(), candidate, digests: vec![s()], executor: s(), version: s(), why: s() } => Evolution,
            SystemEvent { kind: s(), text: s() } => SystemEvent,
            ScheduleEvent::new("begun", 3) => ScheduleEvent,
            ScheduleEvent { ask: true, assumed: vec![s()], cadence: serde_json::json!({ "z": 1, "a": s() }), from: s(), key: s(), lang: s(), message: true, missed: 1,
                to: s(), urgent: true, what: s(), when: s(), ..ScheduleEvent::new("made", 4) } => ScheduleEvent,
            PayloadRedacted { payload_sha256: s(), seq: 7, why: s() } => PayloadRedacted,
            Checkpoint { act: s(), at_seq: 3, digest: s(), id: s(), tag: s(), why: s() } => Checkpoint,
            CostEntry { entry: s(), executor: s(), micro: 1, role: s(), sent: s(), stage: s(), tokens_in: 2, tokens_out: 3 } => CostEntry,
            Thought { digest: s(), encoding: s(), model: s(), sent: s(), thought: 1 } => Thought,
            ConstitutionModified { from: s(), to: s(), why: s() } => ConstitutionModified,
        }
    }

    #[test]
    fn arguments_that_are_no_text_are_kept_byte_for_byte() {
        for bytes in [b"{\"a\":1}".to_vec(), vec![0xff, 0x00, 0x7f], Vec::new()] {
            let (arguments, arguments_encoding) = PolicyDecision::encode_arguments(bytes.clone());
            let decision = PolicyDecision {
                arguments,
                arguments_encoding,
                arguments_digest: String::new(),
                call: String::new(),
                executor: String::new(),
                place: String::new(),
                rule: String::new(),
                verdict: String::new(),
                version: String::new(),
                why: String::new(),
            };
            assert_eq!(decision.argument_bytes(), Some(bytes));
        }
    }
}
