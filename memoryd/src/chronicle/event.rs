//! One event and its hash; nothing here touches a file.

use std::borrow::Cow;

use metnos_proto::ids::{SessionId, Sha256, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Trust};
use metnos_proto::role::RoleName;

use super::payload::SystemEvent;
use super::time::instant_text;

pub use metnos_proto::chain::{DOMAIN, FIELD_NAMES, FIELDS, GENESIS, is_mark, mark, preimage, sha256};

macro_rules! event_types {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What happened (design: memory §1).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum EventType { $($(#[$doc])* $name,)* }

        impl EventType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in the line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The type of this name, if there is one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

event_types! {
    /// A person's words.
    OwnerMessage = "owner_message",
    /// An answer as it was delivered.
    AssistantMessage = "assistant_message",
    /// A model asked for a tool.
    ToolCall = "tool_call",
    /// What was sent to a model.
    ToolResult = "tool_result",
    /// An effect on the world outside.
    WorldAction = "world_action",
    /// A model was asked.
    Thought = "thought",
    /// What policyd decided about a call.
    PolicyDecision = "policy_decision",
    /// A person's word on a question.
    Approval = "approval",
    /// An executor is about to run.
    RunStarted = "run_started",
    /// It has ended.
    RunEnded = "run_ended",
    /// The planner was shown its envelope, or the owner calls without a planner.
    TurnOpen = "turn_open",
    /// The turn is over.
    TurnClose = "turn_close",
    /// Metnos is alive.
    Heartbeat = "heartbeat",
    /// A look at oneself.
    ReflectionProbe = "reflection_probe",
    /// A change of the lattice was proposed.
    LatticeUpdateProposal = "lattice_update_proposal",
    /// A change of the lattice was accepted.
    LatticeCommit = "lattice_commit",
    /// An executor was born, lost, fused, restored.
    Evolution = "evolution",
    /// The identity was compared with itself.
    IdentityCheck = "identity_check",
    /// A goal moved.
    GoalEvent = "goal_event",
    /// A job moved.
    JobEvent = "job_event",
    /// Something cost something.
    CostEntry = "cost_entry",
    /// A thread of the lattice moved.
    SilkEvent = "silk_event",
    /// A schedule was made, changed, due or fired.
    ScheduleEvent = "schedule_event",
    /// The Laws were changed by rite.
    ConstitutionModified = "constitution_modified",
    /// A payload was taken out by rite.
    PayloadRedacted = "payload_redacted",
    /// A state that can be returned to.
    Checkpoint = "checkpoint",
    /// Something happened to a daemon.
    SystemEvent = "system_event",
}

/// The name of a trust in the line.
#[must_use]
pub const fn trust_name(trust: Trust) -> &'static str {
    match trust {
        Trust::Owner => "owner",
        Trust::Paired => "paired",
        Trust::Guest => "guest",
        Trust::Tool => "tool",
        Trust::Web => "web",
        Trust::System => "system",
    }
}

/// The trust of this name, if there is one.
#[must_use]
pub fn trust_named(text: &str) -> Option<Trust> {
    [Trust::Owner, Trust::Paired, Trust::Guest, Trust::Tool, Trust::Web, Trust::System]
        .into_iter()
        .find(|trust| trust_name(*trust) == text)
}

/// The channel of this name, if there is one.
#[must_use]
pub fn channel_named(text: &str) -> Option<Channel> {
    Channel::named(text)
}

/// An event before it has a place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The event that caused it, inside the turn.
    pub parent: Option<u64>,
    /// Which daemon reported it: the asker of the edge it came over.
    pub emitter: RoleName,
    /// Which run of that daemon.
    pub session: SessionId,
    /// The turn it belongs to.
    pub turn_id: Option<TurnId>,
    /// The trace it belongs to.
    pub trace_id: Option<TraceId>,
    /// What happened.
    pub kind: EventType,
    /// The channel of the turn.
    pub channel: Option<Channel>,
    /// The principal of the turn; empty outside turns.
    pub peer: String,
    /// Where the content comes from.
    pub trust: Trust,
    /// The content: a JSON object in canonical form.
    pub payload: String,
}

impl Draft {
    /// What memoryd itself has to tell.
    #[must_use]
    pub fn own(session: SessionId, kind: &str, text: String) -> Self {
        Self {
            parent: None,
            emitter: RoleName::Memoryd,
            session,
            turn_id: None,
            trace_id: None,
            kind: EventType::SystemEvent,
            channel: None,
            peer: String::new(),
            trust: Trust::System,
            payload: SystemEvent { kind: kind.to_owned(), text }.encode(),
        }
    }
}

/// An event of the chronicle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its number; the first is 1.
    pub seq: u64,
    /// The hash of its predecessor; [`GENESIS`] for the first.
    pub prev_hash: Sha256,
    /// The event that caused it, inside the turn.
    pub parent: Option<u64>,
    /// When, in milliseconds; never less than its predecessor's.
    pub ts_ms: u64,
    /// Which daemon reported it.
    pub emitter: RoleName,
    /// Which run of that daemon; the line carries `metnos:<role>:<ulid>`.
    pub session: SessionId,
    /// The turn it belongs to.
    pub turn_id: Option<TurnId>,
    /// The trace it belongs to.
    pub trace_id: Option<TraceId>,
    /// What happened.
    pub kind: EventType,
    /// Which of the instance's agents.
    pub agent_id: String,
    /// The model that wrote the content; empty when none did.
    pub model: String,
    /// The channel of the turn.
    pub channel: Option<Channel>,
    /// The principal of the turn; empty outside turns.
    pub peer: String,
    /// Where the content comes from.
    pub trust: Trust,
    /// The digest of the payload's bytes.
    pub payload_sha256: Sha256,
    /// The content: a JSON object in canonical form.
    pub payload: String,
    /// The hash of all of the above.
    pub hash: Sha256,
}

/// The agent that speaks and acts as long as an instance has only one.
pub const AGENT: &str = "metnos";

impl Event {
    /// Gives a draft its place in the chain.
    #[must_use]
    pub fn seal(draft: Draft, seq: u64, prev_hash: Sha256, ts_ms: u64) -> Self {
        let mut event = Self {
            seq,
            prev_hash,
            parent: draft.parent,
            ts_ms,
            emitter: draft.emitter,
            session: draft.session,
            turn_id: draft.turn_id,
            trace_id: draft.trace_id,
            kind: draft.kind,
            agent_id: AGENT.to_owned(),
            model: String::new(),
            channel: draft.channel,
            peer: draft.peer,
            trust: draft.trust,
            payload_sha256: sha256(draft.payload.as_bytes()),
            payload: draft.payload,
            hash: GENESIS,
        };
        event.hash = event.computed_hash();
        event
    }

    /// Whether the payload was taken out and the mark of that stands in its place. Whether that was the owner's
    /// rite is for the verification to say.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        is_mark(self.payload.as_bytes()) && sha256(self.payload.as_bytes()) != self.payload_sha256
    }

    /// The value of `session_key`.
    #[must_use]
    pub fn session_key(&self) -> String {
        format!("metnos:{}:{}", self.emitter.text(), self.session)
    }

    /// The text of every hashed field, in the order of [`FIELD_NAMES`]; what is absent is empty.
    #[must_use]
    pub fn fields(&self) -> [Cow<'_, str>; FIELDS] {
        let absent = String::new;
        [
            self.seq.to_string().into(),
            self.prev_hash.to_string().into(),
            self.parent.map_or_else(absent, |parent| parent.to_string()).into(),
            instant_text(self.ts_ms).into(),
            self.emitter.text().into(),
            self.session_key().into(),
            self.turn_id.map_or_else(absent, |id| id.to_string()).into(),
            self.trace_id.map_or_else(absent, |id| id.to_string()).into(),
            self.kind.name().into(),
            self.agent_id.as_str().into(),
            self.model.as_str().into(),
            self.channel.map_or("", Channel::name).into(),
            self.peer.as_str().into(),
            trust_name(self.trust).into(),
            self.payload_sha256.to_string().into(),
        ]
    }

    /// The hash that this event must have.
    #[must_use]
    pub fn computed_hash(&self) -> Sha256 {
        sha256(&preimage(&self.fields().each_ref().map(AsRef::as_ref)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_name_is_read_back_as_itself() {
        for kind in EventType::ALL {
            assert_eq!(EventType::parse(kind.name()), Some(*kind));
        }
        assert_eq!(EventType::ALL.len(), 27);
        assert_eq!(EventType::parse("owner_messag"), None);
        for trust in ["owner", "paired", "guest", "tool", "web", "system"] {
            assert_eq!(trust_named(trust).map(trust_name), Some(trust));
        }
        for channel in ["cli", "http", "telegram", "scheduler", "metnos"] {
            assert_eq!(channel_named(channel).map(Channel::name), Some(channel));
        }
        assert_eq!(channel_named(""), None);
    }

    #[test]
    fn a_known_preimage_has_its_known_hash() {
        // Computed once by an independent program from the description in the module's documentation.
        let fields = ["1", "p", "", "t", "e", "s", "", "", "k", "a", "", "", "", "r", "d"];
        let hash = sha256(&preimage(&fields));
        assert_eq!(hash.hex(), super::super::KNOWN_HASH);
    }

    proptest! {
        #[test]
        fn no_two_different_field_vectors_share_their_bytes(
            one in prop::array::uniform15("[ab\0]{0,3}"),
            two in prop::array::uniform15("[ab\0]{0,3}"),
        ) {
            let bytes = |fields: &[String; FIELDS]| preimage(&fields.each_ref().map(String::as_str));
            prop_assert_eq!(one == two, bytes(&one) == bytes(&two));
        }

        #[test]
        fn moving_text_between_neighbouring_fields_changes_the_bytes(
            fields in prop::array::uniform15("[ab\0]{0,6}"), at in 0..FIELDS - 1, cut in 0_usize..6,
        ) {
            let mut moved = fields.clone();
            let cut = cut.min(moved[at].len());
            let tail = moved[at].split_off(cut);
            moved[at + 1].insert_str(0, &tail);
            let bytes = |fields: &[String; FIELDS]| preimage(&fields.each_ref().map(String::as_str));
            prop_assert_eq!(tail.is_empty(), bytes(&fields) == bytes(&moved));
        }
    }
}
