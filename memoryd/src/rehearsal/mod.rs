//! A measurement of recall and ranking on given dialogues, in memory only: the same code on a store of its own.
//!
//! It exists only in an instance in which nothing has been lived yet ([`crate::memory`] refuses
//! it otherwise), so that no foreign dialogue is ever mixed into a memory, and
//! no person waits for a measurement.

mod steps;
mod turns;

use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{MAX_RECALLED, Rehearse};

use crate::error::{Error, Result};
use steps::Steps;
use turns::Turns;

/// The most turns of one conversation.
pub const MAX_TURNS: usize = 200_000;
/// The most tools of one line of a dialogue, and the most calls.
pub const MAX_TOOLS: usize = 2_000;

/// What is rehearsed on.
#[derive(Debug)]
pub struct Rehearsal {
    turns: Turns,
    steps: Steps,
}

fn invalid(why: impl Into<String>) -> Error {
    Refusal::new(RefusalCode::Invalid, "rehearsal.format", why).into()
}

impl Rehearsal {
    /// Begins with nothing.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new() -> Result<Self> {
        Ok(Self { turns: Turns::new()?, steps: Steps::new()? })
    }

    /// Does one ask; gives how many items it brings, and them as JSON.
    ///
    /// # Errors
    /// When what came beside it is not of the form.
    pub fn perform(&mut self, word: &Rehearse, beside: &[u8]) -> Result<(usize, serde_json::Value)> {
        let text = std::str::from_utf8(beside).map_err(|_| invalid("what came beside the ask is not UTF-8"))?;
        match word {
            Rehearse::Anew => {
                *self = Self::new()?;
                Ok((0, serde_json::Value::Null))
            }
            Rehearse::Turns => Ok((self.turns.add(text)?, serde_json::Value::Null)),
            Rehearse::Question(limit) => {
                let answer = self.turns.answer(text, (*limit).min(MAX_RECALLED) as usize)?;
                Ok((answer.ids.len(), value(&answer)?))
            }
            Rehearse::Step => {
                let ranked = self.steps.step(text)?;
                Ok((ranked.len(), value(&ranked)?))
            }
        }
    }
}

fn value(of: &impl serde::Serialize) -> Result<serde_json::Value> {
    serde_json::to_value(of).map_err(|error| invalid(error.to_string()))
}
