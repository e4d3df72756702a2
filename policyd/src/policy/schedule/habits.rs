//! Habits: what a person has asked on several days at about the same hour is offered to be answered unasked, once, by a card in the
//! chat where it was asked (design: policy §5). Nothing of the offer comes from the planner: the words are the person's own of this
//! turn, when they were said before is memoryd's to say, and the vaglio decides whether the person is disturbed with it. A yes plans
//! what the person could have planned by saying so; nothing that changes anything is ever offered.

use std::rc::Rc;

use metnos_policy::vaglio::sieve::{MAX_TITLE, Proposal};
use metnos_proto::doc::card::{DECLINED, HabitOffer, PLANNED};
use metnos_proto::edge::RpcError;
use metnos_proto::envelope::Envelope;
use metnos_proto::msg::common::{Lang, Refusal, Standing};
use metnos_proto::msg::policyd::{Answer, Answered};
use metnos_proto::msg::schedule::{Ask, HabitOffered, OfferHabit, SaidBefore};
use metnos_reflex::language_of;
use metnos_reflex::reminder::habit::{self, DAYS, Habit};

use crate::approvals::{Card, CardState, no as answered_before};
use crate::calls::turns::Turn;
use crate::people::groups::is_group;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::text::head;
use crate::vaglio::HabitProposal;
use crate::vaglio::record::EXPIRES_MS;

use super::no;

/// What the judge is shown of a habit beside its words: what the offer is worth, and how it ends. In both languages, because the
/// owner's ends may be written in either, and a judge without a model compares words.
const EFFECT: &str = "What the person asks each day comes answered at the time when it matters, without being asked. What is planned \
    is shown, can be checked, and can be undone at any time. Quello che la persona chiede ogni giorno arriva da solo, quando serve. \
    Quello che è in programma si può mostrare, verificare e annullare in ogni momento.";

impl Policy {
    /// Offers the person of this turn to have its words answered unasked, where they are a habit and the vaglio lets it be said.
    ///
    /// # Errors
    /// When the turn is not open or nobody speaks in it, it has asked enough, or memoryd does not answer.
    pub(crate) async fn offer_habit(self: &Rc<Self>, ask: OfferHabit) -> Result<HabitOffered, Refusal> {
        let (principal, trace, words, lang) = {
            let mut turns = self.calls.turns.borrow_mut();
            let turn = turns.known(ask.turn)?;
            let (words, lang) = words_of(turn)?;
            (turn.principal.clone(), turn.trace, words, lang)
        };
        let none = HabitOffered { offered: false };
        // What could not be shown is not judged: it would count as offered.
        if !self.may_have_habits(&principal) || !self.approvals.cards.has_room_for_offer(&principal.name) {
            return Ok(none);
        }
        let said = self.base.memory.said_before(trace, SaidBefore { turn: ask.turn }, []).await;
        let (said, []) = said.map_err(RpcError::into_refusal)?;
        let mut envelope = Envelope::empty(Vec::new(), lang);
        (envelope.home.zone, envelope.same) = (said.zone, said.times);
        envelope.home.now = i64::try_from(self.base.clock.wall_ms() / 1_000).unwrap_or(0);
        let Some(habit) = habit::of(&words, lang, &envelope) else { return Ok(none) };
        let Some(proposal) = self.proposals.habit(&principal.name, self.proposed(&principal, &habit)).await? else {
            return Ok(none);
        };
        let expires_ms = self.base.clock.wall_ms().saturating_add(EXPIRES_MS);
        let days = u32::try_from(DAYS).unwrap_or(u32::MAX);
        let offer = HabitOffer { what: habit.what, when: habit.when, time: habit.time, days, lang: lang.into() };
        let card = self.approvals.cards.offer(&principal.name, ask.turn, (offer, expires_ms)).await?;
        let Some(card) = card else { return Ok(none) };
        self.proposals.offered_by(&proposal, &card.id).await?;
        self.approvals.cards.tell_door_of(&card, ask.turn).await;
        Ok(HabitOffered { offered: true })
    }

    /// Whether anything may be planned for this person: a guest has nothing but the talk.
    fn may_have_habits(&self, principal: &Principal) -> bool {
        match principal.standing {
            // A tap in a group would be anybody's.
            _ if is_group(&principal.name) => false,
            Standing::Owner | Standing::Adult => true,
            Standing::Guest => self.people.is_a_childs(&principal.name),
            Standing::Stranger => false,
        }
    }

    /// The habit as a proposal: as the judge is shown it, and as it is kept, where the owner reads it and it says nothing of what
    /// the person has asked.
    fn proposed(&self, principal: &Principal, habit: &Habit) -> HabitProposal {
        let known = self.people.person_of(&principal.name);
        let person = match known.as_str() {
            "" if self.people.is_owners(&principal.name) => "the owner",
            "" => principal.name.as_str(),
            known => known,
        };
        // It is never offered again, at another hour or on another channel of the same person either.
        let asked = self.secrets.vault.borrow().digest(&["habit", person, &habit.what]);
        let judged = Proposal {
            kind: "remind".to_owned(),
            subject: asked,
            title: head(&format!("“{}”, {}", habit.what, habit.when), MAX_TITLE),
            effect: EFFECT.to_owned(),
            touches: Vec::new(),
            reversible: true,
            // It is said in the answer to the person, or never.
            urgency: 1.0,
            confidence: 1.0,
        };
        let title = format!("What {person} has asked on {DAYS} days at about {} comes answered unasked", habit.time);
        let kept = Proposal { title: head(&title, MAX_TITLE), ..judged.clone() };
        HabitProposal { judged, kept }
    }

    /// The person's word on an offer, taken once. A yes plans it.
    ///
    /// # Errors
    /// When it could not be recorded, or memoryd refuses the schedule: nothing is planned then, and the same yes may be said again.
    pub(in crate::policy) async fn answer_offer(
        &self,
        card: &Card,
        principal: &Principal,
        answer: &Answer,
    ) -> Result<Answered, Refusal> {
        let Some(offer) = &card.offer else { return Err(crate::approvals::unknown(&card.id)) };
        let accepts = !matches!(answer, Answer::No | Answer::Never);
        let state = if accepts { CardState::Approved } else { CardState::Denied };
        if card.state != CardState::Waiting && !accepts {
            return Err(answered_before("approvals.answered", format!("the card {} was approved already", card.id)));
        }
        if card.state == CardState::Waiting {
            self.approvals.cards.take(card, state, principal).await?;
            self.proposals.habit_answered(&card.id, &principal.name, accepts).await?;
        }
        if accepts {
            // Whose habit it is, on the channel where it was asked.
            let whose = self.people.named_principal(&card.principal)?;
            let ask = Ask { what: vec![offer.what.clone()], when: vec![offer.when.clone()], frozen: Vec::new() };
            // Of a yes that is repeated, memoryd makes nothing: it is the same turn and the same words.
            self.keep_ask(&whose, (card.turn, card.trace), &ask, offer.lang.into()).await?;
            self.approvals.cards.begun(&card.id).await?;
        }
        let state = if accepts { PLANNED } else { DECLINED };
        Ok(Answered { state: state.to_owned(), runs: Vec::new() })
    }
}

/// The words of a turn, and their language, for an offer about them.
///
/// # Errors
/// When nobody speaks in it, or it has planned enough.
fn words_of(turn: &mut Turn) -> Result<(String, Lang), Refusal> {
    if !turn.flow.attended {
        return Err(no("schedule.unattended", "nobody speaks in this turn, so nothing is offered in it", ""));
    }
    turn.count_order()?;
    let words = turn.flow.own_words().last_typed().unwrap_or_default().to_owned();
    let lang = language_of(&words, turn.world.lang);
    Ok((words, lang))
}
