//! The words of the edges, by the daemon that says them. Each brings up to date what it needs, and hands on.

mod door;
mod owner;
mod planner;
mod policyd;
mod review;
mod sandboxd;
mod schedules;
mod syntd;

use metnos_proto::msg::memoryd::{ModelAsked, Recorded, SystemEvent};

use super::Memory;
use super::journal::{self, Answer, Asker};
use crate::chronicle::event::EventType;
use crate::chronicle::payload::Checkpoint;

impl Memory {
    /// Any daemon: something happened to it.
    ///
    /// # Errors
    /// When the kind is no word, the text too long, or the turn unknown.
    pub fn system_event(&mut self, asker: Asker, word: &SystemEvent) -> Answer<Recorded> {
        journal::check_event(word)?;
        let facts = match word.turn {
            Some(turn) => Some((turn, self.turn(turn)?)),
            None => None,
        };
        self.journal.system_event(asker, word, facts)
    }

    /// The planner, or policyd for an executor: a model was asked, and this was sent to it.
    ///
    /// # Errors
    /// When the turn is unknown, or there is too much to be kept.
    pub fn model_asked(&mut self, asker: Asker, word: &ModelAsked, sent: Vec<u8>) -> Answer<Recorded> {
        let facts = self.turn(word.turn)?;
        self.journal.model_asked(asker, word, &facts, sent)
    }

    /// Records an act of the owner's, and lets it take effect.
    pub(super) fn checkpoint(&mut self, asker: Asker, act: &Checkpoint) -> Answer<Recorded> {
        let recorded = self.journal.stage_alone(asker, EventType::Checkpoint, act.encode())?;
        self.flush()?;
        Ok(recorded)
    }
}
