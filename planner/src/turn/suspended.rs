//! A turn that waits for an answer: what memoryd keeps of it, and what the answer makes of it.

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::policyd::SettledAct;
use metnos_proto::turn_log::Entry;
use serde::{Deserialize, Serialize};

use super::turn_loop::TurnLoop;
use crate::thinking::calls::RunResult;
use crate::thinking::core::Settled;

/// A turn that is suspended, as memoryd keeps it for the planner.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SuspendedTurn {
    pub(super) turn: TurnLoop,
    pub(super) lang: Lang,
    /// Whether what was said so far ends inside a line.
    pub(super) open_line: bool,
    /// What was sent in it, the end that says that it waits included; nothing, where that is too much.
    #[serde(default)]
    pub(super) told: Vec<Entry>,
}

/// What became of the acts of a card, as the loop receives it.
pub(super) fn settled(acts: Vec<SettledAct>) -> Vec<Settled> {
    let one = |act: SettledAct| {
        let SettledAct { executor, ran, outcome, handle, label, bytes } = act;
        let left = RunResult { handle, outcome, label, bytes, line: 0, class: String::new() };
        Settled { executor, left: ran.then_some(left) }
    };
    acts.into_iter().map(one).collect()
}
