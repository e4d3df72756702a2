//! The owner's word on a card, and what follows: each act at most once, through the path of every other
//! call. An answer counts when it names the digest of what was shown, in time, from whom the rule names:
//! over the channel that asked, for what its principal could be allowed there; else at the machine, or with
//! a one-time code (design: policy §4).

use std::rc::Rc;

use metnos_proto::edges::door_policyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Refusal, Standing};
use metnos_proto::msg::policyd::{Acted, Answer, Answered, CardSettled};
use metnos_proto::payload::Sealed;

use crate::approvals::cards::not_durable;
use crate::approvals::grants::DAYS;
use crate::approvals::{self, AnswerPath, Card, CardState, no};
use crate::calls::turns::Turn;
use crate::executors::registry::Signed;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::policy::direct::By;

/// The name of the owner to others who learn what he has decided.
const OWNER: &str = "owner";

/// The channel and the sender of a principal's name.
fn channel_of(principal: &str) -> Option<(Channel, &str)> {
    let (channel, sender) = principal.split_once(':')?;
    Channel::named(channel)
        .filter(|known| !matches!(known, Channel::Scheduler | Channel::Metnos))
        .map(|channel| (channel, sender))
}

impl Policy {
    /// Takes an answer, once, and does what it says: exactly the acts of the card, or nothing.
    ///
    /// # Errors
    /// When the answer does not count: nothing was done then.
    pub(crate) async fn answer(
        self: &Rc<Self>,
        principal: Principal,
        way: AnswerPath,
        (id, digest): (&str, &str),
        answer: &Answer,
        code: &str,
    ) -> Result<(Answered, Sealed), Refusal> {
        // What the card is about is compared with the registry, which is not there yet right after a restart.
        self.base.sandbox_soon().await;
        let card = self.approvals.cards.all.borrow().get(id).cloned().ok_or_else(|| approvals::unknown(id))?;
        self.approvals.cards.may_answer(&principal, way, &card, answer)?;
        card.admits(digest, self.base.clock.wall_ms())?;
        if way == AnswerPath::Soft && card.is_hard() && !self.approvals.cards.decides_for(&principal, &card) {
            // Only now: what would not count anyway costs no code.
            self.approvals.codes.code_counts(code, &card).await?;
        }
        if card.offer.is_some() {
            let answered = self.answer_offer(&card, &principal, answer).await?;
            self.settle(&card, &answered, &principal).await;
            return Ok((answered, results(&[])?));
        }
        self.unchanged(&card)?;
        let settled = match answer {
            Answer::No | Answer::Never => {
                if card.state != CardState::Waiting {
                    return Err(no("approvals.answered", format!("the card {id} was approved already")));
                }
                if matches!(answer, Answer::Never) {
                    self.approvals.grants.store_words(&card, false, None, DAYS).await?;
                }
                self.approvals.cards.take(&card, CardState::Denied, &principal).await?;
                self.base.event(
                    "approval_denied",
                    &format!("{} has denied the card {id}", principal.name),
                    Some(card.turn),
                );
                (Answered { state: "denied".to_owned(), runs: Vec::new() }, results(&[])?)
            }
            Answer::Once | Answer::Turn | Answer::Always(_) => {
                match answer {
                    Answer::Turn => self.approvals.grants.store_words(&card, true, Some(card.turn), DAYS).await?,
                    Answer::Always(days) => self.approvals.grants.store_words(&card, true, None, *days).await?,
                    Answer::Once | Answer::No | Answer::Never => {}
                }
                if card.state == CardState::Waiting {
                    self.approvals.cards.take(&card, CardState::Approved, &principal).await?;
                }
                if way == AnswerPath::Soft {
                    // The owner's digest lists these: a channel could have forged them.
                    let where_he_is = if card.principal == principal.name { "that asked" } else { "where he is" };
                    let text = format!("{} has approved the card {id} over the channel {where_he_is}", principal.name);
                    self.base.event("approval_soft", &text, Some(card.turn));
                }
                self.carry_out(principal.clone(), &card).await?
            }
        };
        self.settle(&card, &settled.0, &principal).await;
        Ok(settled)
    }

    /// Everything on the card is still what it was when the card was made.
    fn unchanged(&self, card: &Card) -> Result<(), Refusal> {
        let registry = self.executors.registry.borrow();
        for act in card.acts.iter().skip(card.begun) {
            let same = |signed: Rc<Signed>| signed.digests == act.digests;
            if !registry.callable(&act.executor.name).is_some_and(same) {
                let why = format!("{} is not what it was when the card was made; nothing was done", act.executor);
                return Err(no("approvals.changed", why).remedy("ask for it again"));
            }
        }
        Ok(())
    }

    /// Does what was approved: one act after the other, each begun once, and no further than the first that
    /// does not run.
    async fn carry_out(self: &Rc<Self>, principal: Principal, card: &Card) -> Result<(Answered, Sealed), Refusal> {
        let (mut runs, mut outs) = (Vec::new(), Vec::new());
        for (at, act) in card.acts.iter().enumerate().skip(card.begun) {
            let begins = self.base.store.begin_of_card(card.id.clone(), at).await;
            if !begins.map_err(|error| not_durable(&error.to_string()))? {
                break;
            }
            if let Some(card) = self.approvals.cards.all.borrow_mut().get_mut(&card.id) {
                card.begun = at + 1;
            }
            let arguments = Sealed::new(act.arguments.as_bytes()).map_err(|error| not_durable(&error.to_string()))?;
            let with = (arguments, self.calls.files.of_card(&card.id, &act.arguments));
            let by = By::Card(card.id.clone());
            let (mut run, out, _) = self.direct_with(principal.clone(), act.executor.name.clone(), with, by).await?;
            let ran = match &mut run.acted {
                Acted::Ran(ran) => {
                    ran.leaves = Vec::new();
                    ran.outcome == metnos_proto::msg::common::Outcome::Ok
                }
                Acted::Denied(_) => false,
            };
            runs.push(run);
            outs.push(out);
            if !ran {
                break;
            }
        }
        Ok((Answered { state: "approved".to_owned(), runs }, results(&outs)?))
    }

    /// Notifies the one who asked what became of a card.
    async fn settle(self: &Rc<Self>, card: &Card, answered: &Answered, by: &Principal) {
        let ran = answered.runs.iter().filter(|run| matches!(run.acted, Acted::Ran(_))).count();
        self.open_anew(card);
        self.calls.files.forget(&card.id);
        let acts = self.approvals.cards.settled_acts(card, answered);
        let note = CardSettled {
            acts,
            turn: card.turn,
            id: card.id.clone(),
            state: answered.state.clone(),
            // Who the owner is on another channel is nothing for anyone who has asked.
            by: if self.approvals.cards.decides_for(by, card) { OWNER.to_owned() } else { by.name.clone() },
            ran: u32::try_from(ran).unwrap_or(u32::MAX),
        };
        self.people.note_to_door(door_policyd::Note::CardSettled(note)).await;
    }

    /// The turn that had asked goes on now: if it is gone here, it is opened anew, as one that has read everything.
    pub(crate) fn open_anew(self: &Rc<Self>, card: &Card) {
        if self.calls.turns.borrow().get(card.turn).is_some() || card.trace == TraceId::NONE {
            return;
        }
        let Some((channel, sender)) = channel_of(&card.principal) else { return };
        match self.people.who(channel, sender) {
            Ok(principal) if principal.standing != Standing::Stranger => {
                let (world, now) = (self.people.world(&principal), self.base.clock.monotonic_ms());
                let anew = Turn::anew(card.trace, principal, world, now);
                match self.calls.turns.borrow_mut().open(card.turn, anew, now) {
                    Ok(Some(evicted)) => self.forget(evicted),
                    Ok(None) => {}
                    Err(no) => tracing::warn!(%no, "a turn whose card was answered cannot go on"),
                }
            }
            Ok(_) | Err(_) => {}
        }
    }
}

/// The results of several acts in one list. Each is a document that sandboxd has checked; none is read here.
fn results(outs: &[Sealed]) -> Result<Sealed, Refusal> {
    let mut list = vec![b'['];
    for (at, out) in outs.iter().enumerate() {
        if at > 0 {
            list.push(b',');
        }
        list.extend(out.read().map_err(|error| not_durable(&error.to_string()))?);
    }
    list.push(b']');
    Sealed::new(&list).map_err(|error| not_durable(&error.to_string()))
}
