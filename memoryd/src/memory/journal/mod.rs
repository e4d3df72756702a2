//! The journal: the chronicle as the words of the edges write it. A word becomes a line that is staged; rounds of lines are
//! made durable together. It derives nothing and knows no projection but the index.

mod calls;
mod executors;
mod requests;
mod room;
mod turns;
mod wish;

use metnos_proto::edge::ServeError;
use metnos_proto::ids::{SessionId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode, Trust};
use metnos_proto::msg::memoryd::{MAX_EVENT_TEXT, Recorded, SystemEvent};
use metnos_proto::role::RoleName;
use metnos_proto::secrets;

use crate::chronicle::event::{Draft, EventType};
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::{Chronicle, payload};
use crate::error::{Error, Result};

pub(super) use executors::{born, lost};
pub(super) use requests::Request;
#[cfg(test)]
pub(super) use requests::{MAX_ASKED, MAX_SENT};
pub(super) use turns::records;
pub(in crate::memory) use turns::unknown_turn;
pub(super) use wish::closing;

/// The longest kind of a system event, in bytes.
pub const MAX_EVENT_KIND: usize = 64;

/// The asker of an edge, and which run of it.
#[derive(Debug, Clone, Copy)]
pub struct Asker {
    /// Which daemon.
    pub role: RoleName,
    /// Which run of it.
    pub session: SessionId,
}

/// What a handler returns: the answer, or why there is none.
pub type Answer<T> = std::result::Result<T, ServeError>;

impl From<Error> for ServeError {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_refusal())
    }
}

pub(super) fn refused(code: RefusalCode, rule: &str, why: impl Into<String>) -> ServeError {
    Refusal::new(code, rule, why).into()
}

/// What has the form of a secret does not enter the chronicle.
pub(super) fn clean(text: String) -> String {
    secrets::cleaned(&text).unwrap_or(text)
}

/// The chronicle, and the rounds in which its lines become durable.
#[derive(Debug)]
pub struct Journal {
    pub(super) chronicle: Chronicle,
    session: SessionId,
    rounds: u64,
    failed: Vec<(u64, Refusal)>,
}

impl Journal {
    /// Takes the chronicle; `session` is this run of memoryd.
    pub(super) const fn new(chronicle: Chronicle, session: SessionId) -> Self {
        Self { chronicle, session, rounds: 0, failed: Vec::new() }
    }

    /// memoryd itself, as the asker of what it records of its own accord.
    pub(super) const fn itself(&self) -> Asker {
        Asker { role: RoleName::Memoryd, session: self.session }
    }

    /// The number of the round that what is staged now waits for.
    pub(super) const fn round(&self) -> u64 {
        self.rounds
    }

    /// Why what was staged in that round is not on the disk; `None` when it is.
    pub(super) fn failure(&self, round: u64) -> Option<&Refusal> {
        self.failed.iter().find(|(failed, _)| *failed == round).map(|(_, why)| why)
    }

    /// Forgets the failures of rounds whose answers have left.
    pub(super) fn answered(&mut self) {
        self.failed.clear();
    }

    /// Ends the round: makes everything that was staged durable.
    ///
    /// # Errors
    /// What went wrong; unless a test kills the process, [`Journal::failure`] has it for each asker of the round.
    pub(super) fn write(&mut self) -> Result<()> {
        let round = self.rounds;
        self.rounds += 1;
        self.chronicle.write().inspect_err(|error| {
            if !matches!(error, Error::Killed(_)) {
                self.failed.push((round, error.to_refusal()));
            }
        })
    }

    /// Stages an event of a turn.
    pub(super) fn stage_in(
        &mut self,
        asker: Asker,
        turn: TurnId,
        facts: &TurnFacts,
        parent: Option<u64>,
        (kind, trust, payload): (EventType, Trust, String),
    ) -> Answer<Recorded> {
        Ok(self.chronicle.stage(Draft {
            parent,
            emitter: asker.role,
            session: asker.session,
            turn_id: Some(turn),
            trace_id: Some(facts.trace),
            kind,
            channel: Some(facts.channel),
            peer: facts.peer.clone(),
            trust,
            payload,
        })?)
    }

    /// Stages an event that belongs to no turn.
    pub(super) fn stage_alone(&mut self, asker: Asker, kind: EventType, payload: String) -> Answer<Recorded> {
        Ok(self.chronicle.stage(Draft {
            parent: None,
            emitter: asker.role,
            session: asker.session,
            turn_id: None,
            trace_id: None,
            kind,
            channel: None,
            peer: String::new(),
            trust: Trust::System,
            payload,
        })?)
    }

    /// What was recorded before: the same again is answered as it was, anything else is refused.
    fn again(&self, seq: Option<u64>, payload: &str) -> Answer<Option<Recorded>> {
        let Some(seq) = seq else { return Ok(None) };
        let Some(row) = self.chronicle.index().row(seq)? else { return Ok(None) };
        self.same_again(&row, payload).map(Some)
    }

    /// The line at that row, when it has this payload; otherwise somebody says something else of the same thing.
    pub(super) fn same_again(&self, row: &IndexRow, payload: &str) -> Answer<Recorded> {
        if self.chronicle.says(row, payload) {
            Ok(Recorded { seq: row.seq, hash: row.hash })
        } else {
            Err(twice(&format!("line {} says otherwise", row.seq)))
        }
    }

    /// Stages what happened to a daemon; `facts` are those of its turn, if it names one.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub(super) fn system_event(
        &mut self,
        asker: Asker,
        word: &SystemEvent,
        facts: Option<(TurnId, TurnFacts)>,
    ) -> Answer<Recorded> {
        let payload = payload::SystemEvent { kind: word.kind.clone(), text: clean(word.text.clone()) }.encode();
        match facts {
            None => self.stage_alone(asker, EventType::SystemEvent, payload),
            Some((turn, facts)) => {
                let event = (EventType::SystemEvent, Trust::System, payload);
                self.stage_in(asker, turn, &facts, facts.root(), event)
            }
        }
    }

    /// Records that a peer broke the protocol.
    pub(super) fn violated(&mut self, peer: &str, what: &str) {
        let text = format!("{peer}: {what}").chars().take(MAX_EVENT_TEXT / 4).collect();
        self.chronicle.note("violation", text);
        self.chronicle.stage_notes();
    }
}

/// Refuses a system event whose kind is no word, or whose text is too long.
pub(super) fn check_event(word: &SystemEvent) -> Answer<()> {
    let kind_fits = (1..=MAX_EVENT_KIND).contains(&word.kind.len())
        && word.kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if kind_fits && word.text.len() <= MAX_EVENT_TEXT {
        return Ok(());
    }
    let why = format!(
        "a kind is a word of at most {MAX_EVENT_KIND} small letters, a text has at most {MAX_EVENT_TEXT} bytes"
    );
    Err(refused(RefusalCode::Invalid, "event.format", why))
}

/// Refuses a turn without a name: all zeroes stand for none.
pub(super) fn named(turn: TurnId) -> Answer<()> {
    if turn == TurnId::NONE {
        return Err(refused(RefusalCode::Invalid, "turn.none", "the turn's id is all zeroes"));
    }
    Ok(())
}

/// Refuses a turn that is closed.
pub(super) fn open_turn(turn: TurnId, facts: &TurnFacts) -> Answer<()> {
    match facts.closed {
        Some(seq) => Err(refused(RefusalCode::Unknown, "turn.closed", format!("turn {turn} was closed in line {seq}"))),
        None => Ok(()),
    }
}

fn twice(why: &str) -> ServeError {
    refused(RefusalCode::Denied, "record.twice", why)
}
