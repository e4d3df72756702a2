//! What whoever had asked gets of an answered card: what became of its acts, and where their results are.

use metnos_policy::evidence::context::{Context, Who};
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::msg::common::{Integrity, Label, Outcome, Readers, Refusal};
use metnos_proto::msg::policyd::{Acted, Answered, Ran, SettledAct};

use crate::approvals::Card;
use crate::approvals::cards::Cards;

impl Cards {
    /// What became of each act of a card, and where its result is.
    pub(crate) fn settled_acts(&self, card: &Card, answered: &Answered) -> Vec<SettledAct> {
        let turns = self.turns.borrow();
        let turn = turns.get(card.turn);
        // What was begun on an earlier answer is not reported again.
        let told = answered.runs.len() + card.begun;
        let acts = card.acts.iter().enumerate().map(|(at, act)| {
            let run = at.checked_sub(card.begun).filter(|_| at < told).and_then(|at| answered.runs.get(at));
            let mut settled = SettledAct {
                executor: act.executor.name.clone(),
                ran: false,
                outcome: Outcome::Interrupted,
                handle: HandleId::NONE,
                label: Label { integrity: Integrity::Untrusted, readers: Readers::Secret },
                bytes: 0,
            };
            if let Some(Acted::Ran(ran)) = run.map(|run| &run.acted) {
                (settled.ran, settled.outcome, settled.label) = (true, ran.outcome, ran.label);
                settled.bytes = ran.resources.output_bytes;
                settled.handle =
                    if turn.is_some_and(|turn| turn.has(ran.handle)) { ran.handle } else { HandleId::NONE };
            }
            settled
        });
        acts.collect()
    }

    /// What a guest has asked for and the owner has allowed is a guest's all the same: it is he who sees what comes of it.
    pub(crate) fn as_asked(&self, card: &str, flow: &mut Context) {
        if self.all.borrow().get(card).is_some_and(Card::is_a_guests) {
            flow.who = Who::Guest;
        }
    }

    /// The result of an act that was approved is kept in the turn that had asked, when that is still open.
    pub(crate) fn hand_to_asker(&self, from: TurnId, card: Option<&str>, acted: &Result<Acted, Refusal>) {
        let (Ok(Acted::Ran(Ran { handle, .. })), Some(card)) = (acted, card) else { return };
        let handle = *handle;
        let Some(to) = self.all.borrow().get(card).map(|card| card.turn) else { return };
        let mut turns = self.turns.borrow_mut();
        if turns.get(to).is_none() {
            return;
        }
        let kept = turns.get_mut(from).and_then(|turn| turn.give(handle));
        if let (Some(kept), Some(turn)) = (kept, turns.get_mut(to)) {
            turn.adopt(handle, kept);
        }
    }

    /// A turn is over by its planner's word: an answer to a card of it opens it no more.
    pub(crate) fn stays_over(&self, turn: TurnId) {
        for card in self.all.borrow_mut().values_mut().filter(|card| card.turn == turn) {
            card.trace = TraceId::NONE;
        }
    }
}
