//! Do the witnesses agree? The door's words, policyd's decisions and sandboxd's runs must tell one story.
//!
//! Pure: events in, findings out, in the order of the chronicle. What it keeps is bounded by
//! the turns that are open, plus some twenty bytes for every turn and every call there ever was.

use std::collections::{HashMap, HashSet};

use metnos_proto::ids::{Blake3, CallId, TraceId, TurnId};
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::memoryd::Finding;
use metnos_proto::role::RoleName;

use super::id_hasher::IdHasherKey;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload::{
    self, OwnerMessage, PolicyDecision, RunEnded, RunStarted, TurnClose, TurnOpen, WorldAction, call_of, digest_of,
};

/// What was read so far.
#[derive(Debug, Default)]
pub struct Witness {
    turns: HashMap<TurnId, Turn, IdHasherKey>,
    /// The calls of the turns that are open.
    calls_of: HashMap<TurnId, Vec<CallId>, IdHasherKey>,
    calls: HashMap<CallId, Call, IdHasherKey>,
    spent: HashSet<CallId, IdHasherKey>,
    /// Decisions whose payload was taken out by rite, and that no run has named yet.
    silent: HashMap<u64, TurnId>,
}

/// Kept of every turn there ever was, so it is small.
#[derive(Debug, Default)]
struct Turn {
    told: bool,
    words: bool,
    closed: bool,
}

#[derive(Debug)]
struct Call {
    turn: Option<TurnId>,
    trace: Option<TraceId>,
    decided: u64,
    id: ExecutorId,
    arguments: Option<Blake3>,
    verdict: String,
    started: Option<u64>,
    ended: bool,
}

/// What the witnesses need of an event.
#[derive(Debug, Clone, Copy)]
pub struct Testimony<'a> {
    /// Its number.
    pub seq: u64,
    /// What happened.
    pub kind: EventType,
    /// Which daemon reported it.
    pub emitter: RoleName,
    /// The turn.
    pub turn_id: Option<TurnId>,
    /// The trace.
    pub trace_id: Option<TraceId>,
    /// The content.
    pub payload: &'a str,
    /// Whether the content was taken out, and this is the mark that stands in its place.
    pub redacted: bool,
}

impl<'a> From<&'a Event> for Testimony<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            seq: event.seq,
            kind: event.kind,
            emitter: event.emitter,
            turn_id: event.turn_id,
            trace_id: event.trace_id,
            payload: &event.payload,
            redacted: event.is_redacted(),
        }
    }
}

/// Notes findings about one event.
struct EventFindings<'a> {
    seq: u64,
    findings: &'a mut dyn FnMut(Finding),
}

impl EventFindings<'_> {
    fn note(&mut self, kind: &str, detail: String) {
        (self.findings)(Finding { seq: self.seq, kind: kind.to_owned(), detail });
    }
}

/// Which daemons may report an event of that type; `None` when any may.
#[must_use]
pub const fn emitters_of(kind: EventType) -> Option<&'static [RoleName]> {
    match kind {
        EventType::OwnerMessage | EventType::AssistantMessage => Some(&[RoleName::Gatewayd]),
        EventType::PolicyDecision | EventType::Approval | EventType::Evolution | EventType::PayloadRedacted => {
            Some(&[RoleName::Policyd])
        }
        EventType::RunStarted | EventType::RunEnded | EventType::WorldAction => Some(&[RoleName::Sandboxd]),
        EventType::IdentityCheck => Some(&[RoleName::Memoryd]),
        EventType::Checkpoint => Some(&[RoleName::Ctl, RoleName::Memoryd]),
        EventType::TurnOpen | EventType::TurnClose => Some(&[RoleName::Planner, RoleName::Policyd]),
        EventType::Thought => Some(&[RoleName::Planner, RoleName::Policyd]),
        EventType::ToolCall
        | EventType::ToolResult
        | EventType::Heartbeat
        | EventType::ReflectionProbe
        | EventType::LatticeUpdateProposal
        | EventType::LatticeCommit
        | EventType::GoalEvent
        | EventType::JobEvent
        | EventType::CostEntry
        | EventType::SilkEvent
        | EventType::ScheduleEvent
        | EventType::ConstitutionModified
        | EventType::SystemEvent => None,
    }
}

impl Witness {
    /// Hears the next event.
    pub fn observe(&mut self, event: &Testimony<'_>, findings: &mut dyn FnMut(Finding)) {
        let mut noter = EventFindings { seq: event.seq, findings };
        if let Some(emitters_of) = emitters_of(event.kind)
            && !emitters_of.contains(&event.emitter)
        {
            noter.note("emitter", format!("a {} told by {}", event.kind.name(), event.emitter));
        }
        if event.redacted {
            return self.observe_redacted(event, &mut noter);
        }
        let understood = match event.kind {
            EventType::OwnerMessage => OwnerMessage::check(event.payload).map(|()| self.words(event, &mut noter)),
            EventType::TurnOpen => TurnOpen::decode(event.payload).map(|opened| {
                if opened.direct && event.emitter == RoleName::Policyd {
                    self.words(event, &mut noter);
                }
            }),
            EventType::PolicyDecision => {
                PolicyDecision::decode(event.payload).map(|decision| self.decided(event, &decision, &mut noter))
            }
            EventType::RunStarted => {
                RunStarted::decode(event.payload).map(|started| self.started(event, &started, &mut noter))
            }
            EventType::RunEnded => RunEnded::decode(event.payload).map(|ended| self.ended(event, &ended, &mut noter)),
            EventType::WorldAction => WorldAction::decode(event.payload).map(|kept| self.kept(&kept, &mut noter)),
            EventType::TurnClose => TurnClose::decode(event.payload).map(|_| self.close(event)),
            EventType::AssistantMessage
            | EventType::Thought
            | EventType::ToolCall
            | EventType::ToolResult
            | EventType::Approval
            | EventType::Heartbeat
            | EventType::ReflectionProbe
            | EventType::LatticeUpdateProposal
            | EventType::LatticeCommit
            | EventType::Evolution
            | EventType::IdentityCheck
            | EventType::GoalEvent
            | EventType::JobEvent
            | EventType::CostEntry
            | EventType::SilkEvent
            | EventType::ScheduleEvent
            | EventType::ConstitutionModified
            | EventType::PayloadRedacted
            | EventType::Checkpoint
            | EventType::SystemEvent => return,
        };
        if let Err(error) = understood {
            noter.note("payload", error.to_string());
        }
    }

    /// A payload that was taken out by rite: what the other witnesses need of it is in the line itself, as far as it is
    /// anywhere. Whether the rite was held is for the verification to say.
    fn observe_redacted(&mut self, event: &Testimony<'_>, noter: &mut EventFindings<'_>) {
        match (event.kind, event.turn_id) {
            (EventType::OwnerMessage, _) => self.words(event, noter),
            (EventType::TurnClose, _) => self.close(event),
            (EventType::PolicyDecision, Some(turn)) => {
                self.words_before(event, noter);
                self.silent.insert(event.seq, turn);
            }
            _ => {}
        }
    }

    /// Whether a run names a decision whose payload was taken out, in its own turn: nothing more can be compared.
    fn decided_silently(&mut self, event: &Testimony<'_>, started: &RunStarted, call: CallId) -> bool {
        let silent = event.turn_id.filter(|turn| self.silent.get(&started.decision_seq) == Some(turn));
        let Some(turn) = silent else { return false };
        self.silent.remove(&started.decision_seq);
        let decided = Call {
            turn: Some(turn),
            trace: event.trace_id,
            decided: started.decision_seq,
            id: started.id(),
            arguments: digest_of(&started.arguments_digest),
            verdict: "allow".to_owned(),
            started: None,
            ended: false,
        };
        self.calls.insert(call, decided);
        self.calls_of.entry(turn).or_default().push(call);
        true
    }

    fn words(&mut self, event: &Testimony<'_>, noter: &mut EventFindings<'_>) {
        let Some(turn) = event.turn_id else {
            return noter.note("words", "words that belong to no turn".to_owned());
        };
        let known = self.turns.entry(turn).or_default();
        if known.words || known.closed {
            noter.note("turn_twice", format!("turn {turn} was begun a second time"));
        }
        known.words = true;
    }

    fn decided(&mut self, event: &Testimony<'_>, decision: &PolicyDecision, noter: &mut EventFindings<'_>) {
        let Some(call) = call_of(&decision.call) else {
            return noter.note("payload", format!("`{}` is no call", decision.call));
        };
        self.words_before(event, noter);
        let arguments = digest_of(&decision.arguments_digest);
        let cleaned = decision.arguments_encoding == payload::CLEANED;
        if !cleaned && decision.argument_bytes().map(|bytes| Blake3::of(&bytes)) != arguments {
            noter.note("decision_altered", format!("the arguments of call {call} do not have the digest it claims"));
        }
        let settled = self.calls.get(&call).is_some_and(|known| known.verdict != "ask");
        if settled || self.spent.contains(&call) {
            return noter.note("decision_twice", format!("call {call} was decided a second time"));
        }
        let decided = Call {
            turn: event.turn_id,
            trace: event.trace_id,
            decided: event.seq,
            id: decision.id(),
            arguments,
            verdict: decision.verdict.clone(),
            started: None,
            ended: false,
        };
        if self.calls.insert(call, decided).is_none()
            && let Some(turn) = event.turn_id
        {
            self.calls_of.entry(turn).or_default().push(call);
        }
    }

    /// A decision needs words before it: a person's, or the owner's direct call.
    fn words_before(&mut self, event: &Testimony<'_>, noter: &mut EventFindings<'_>) {
        let Some(turn) = event.turn_id else {
            return noter.note("words_missing", "a decision that belongs to no turn".to_owned());
        };
        let known = self.turns.entry(turn).or_default();
        if known.closed {
            return noter.note("decision_after_close", format!("turn {turn} was closed before"));
        }
        if !known.words && !known.told {
            known.told = true;
            noter.note("words_missing", format!("nobody said anything in turn {turn}, and yet it was decided on"));
        }
    }

    fn started(&mut self, event: &Testimony<'_>, started: &RunStarted, noter: &mut EventFindings<'_>) {
        let Some(call) = call_of(&started.call) else {
            return noter.note("payload", format!("`{}` is no call", started.call));
        };
        if self.spent.contains(&call) {
            return noter.note("started_twice", format!("call {call} was over before"));
        }
        if !self.calls.contains_key(&call) {
            self.decided_silently(event, started, call);
        }
        let Some(known) = self.calls.get_mut(&call) else {
            return noter.note(
                "execution_without_decision",
                format!("{} ran as call {call}, which was never decided", started.id()),
            );
        };
        if known.verdict != "allow" {
            noter.note(
                "execution_without_decision",
                format!("{} ran as call {call}, which was not allowed", started.id()),
            );
        }
        if let Some(first) = known.started {
            noter.note("started_twice", format!("call {call} was started in line {first} already"));
        }
        known.started.get_or_insert(event.seq);
        let differs = [
            ("the line of the decision", known.decided == started.decision_seq),
            ("the turn", known.turn == event.turn_id),
            ("the trace", known.trace == event.trace_id),
            ("the executor", known.id == started.id()),
            ("the arguments", known.arguments.is_some() && known.arguments == digest_of(&started.arguments_digest)),
        ];
        for (what, _) in differs.iter().filter(|(_, same)| !same) {
            noter.note(
                "decision_altered",
                format!("call {call} differs from its decision in line {}: {what}", known.decided),
            );
        }
    }

    fn ended(&mut self, event: &Testimony<'_>, ended: &RunEnded, noter: &mut EventFindings<'_>) {
        let Some(call) = call_of(&ended.call) else {
            return noter.note("payload", format!("`{}` is no call", ended.call));
        };
        if self.spent.contains(&call) {
            return noter.note("ended_twice", format!("call {call} had ended before"));
        }
        let Some(known) = self.calls.get_mut(&call).filter(|known| known.started.is_some()) else {
            return noter.note("ended_without_start", format!("call {call} ended and was never started"));
        };
        if known.ended {
            noter.note("ended_twice", format!("call {call} had ended before"));
        }
        known.ended = true;
        let same = known.started == Some(ended.started_seq)
            && known.turn == event.turn_id
            && (&known.id.name, &known.id.version) == (&ended.executor, &ended.version);
        if !same {
            noter.note("run_altered", format!("the end of call {call} does not fit its start"));
        }
        if event.turn_id.is_some_and(|turn| self.turns.get(&turn).is_some_and(|turn| turn.closed)) {
            self.spend(call);
        }
    }

    /// What a call keeps before it changes something, it keeps while it runs.
    fn kept(&self, kept: &WorldAction, noter: &mut EventFindings<'_>) {
        let Some(call) = call_of(&kept.call) else {
            return noter.note("payload", format!("`{}` is no call", kept.call));
        };
        let runs = self.calls.get(&call).is_some_and(|known| {
            let same = (&known.id.name, &known.id.version) == (&kept.executor, &kept.version);
            known.started == Some(kept.started_seq) && !known.ended && same
        });
        if !runs {
            noter.note("kept_without_run", format!("call {call} kept something and did not run"));
        }
    }

    /// Forgets what can no longer change: after a turn is closed, a call that was refused or has ended is spent.
    fn close(&mut self, event: &Testimony<'_>) {
        let Some(turn) = event.turn_id else { return };
        self.turns.entry(turn).or_default().closed = true;
        for call in self.calls_of.remove(&turn).unwrap_or_default() {
            if self.calls.get(&call).is_some_and(|known| known.ended || known.verdict != "allow") {
                self.spend(call);
            }
        }
    }

    fn spend(&mut self, call: CallId) {
        self.calls.remove(&call);
        self.spent.insert(call);
    }
}
