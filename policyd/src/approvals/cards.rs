//! The cards as they are kept: made, added to and answered once, each durable before anybody learns of it. What follows on an
//! answer is the mediator's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::rules::Judgement;
use metnos_proto::doc::card::HabitOffer;
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::msg::common::{Refusal, RefusalCode, Standing};
use metnos_proto::msg::policyd::Answer;
use tokio::sync::Mutex;

use crate::approvals::matter::sealed;
use crate::approvals::{
    self, AnswerPath, CALL_EXPIRES_MS, Card, CardState, KEPT_MS, MAX_ACTS, MAX_ARGUMENTS, PendingAct, no,
};
use crate::arguments::Filled;
use crate::base::Base;
use crate::calls::call::Call;
use crate::calls::turns::Turns;
use crate::decision::{MAX_WHY, Verdict};
use crate::executors::registry::Signed;
use crate::people::Principals;
use crate::people::principal::Principal;
use crate::shares::{CARDS, Taken};
use crate::text::head;
use crate::vault::Secrets;

/// The most offers that wait at once, in all and of one principal: an offer is open for days.
const MAX_OFFERS: usize = 64;
const MAX_OFFERS_OF_ONE: usize = 3;

/// An act that needs the owner's word.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) signed: Rc<Signed>,
    pub(crate) judgement: Judgement,
    pub(crate) filled: Filled,
}

/// The cards.
#[derive(Debug)]
pub(crate) struct Cards {
    pub(super) base: Rc<Base>,
    pub(super) people: Rc<Principals>,
    pub(super) turns: Rc<RefCell<Turns>>,
    /// What a card is about is sealed with the vault's key.
    secrets: Rc<Secrets>,
    /// What waits for the owner's word, and what was answered lately, by name.
    pub(crate) all: RefCell<BTreeMap<String, Card>>,
    /// Held by anyone who makes a card or adds to one.
    pub(crate) making: Mutex<()>,
}

impl Cards {
    pub(crate) fn new(
        base: &Rc<Base>,
        people: &Rc<Principals>,
        turns: &Rc<RefCell<Turns>>,
        (secrets, kept): (&Rc<Secrets>, Vec<Card>),
    ) -> Self {
        Self {
            secrets: Rc::clone(secrets),
            base: Rc::clone(base),
            people: Rc::clone(people),
            turns: Rc::clone(turns),
            all: RefCell::new(kept.into_iter().map(|card| (card.id.clone(), card)).collect()),
            making: Mutex::default(),
        }
    }

    /// Whether this is a person whose answer counts for this card.
    pub(crate) fn may_answer(
        &self,
        principal: &Principal,
        way: AnswerPath,
        card: &Card,
        answer: &Answer,
    ) -> Result<(), Refusal> {
        if card.offer.is_some() && matches!(answer, Answer::Turn | Answer::Always(_) | Answer::Never) {
            return Err(no("approvals.offer", "an offer is answered with yes or no; nothing was done".to_owned()));
        }
        if way == AnswerPath::Hard {
            // What is offered to another person is not the owner's to take.
            let sees = card.offer.is_none() || self.people.is_owners(&card.principal);
            return if sees { Ok(()) } else { Err(approvals::unknown(&card.id)) };
        }
        if card.principal != principal.name && !self.decides_for(principal, card) {
            // Another principal's card looks exactly like one that there is not.
            return Err(approvals::unknown(&card.id));
        }
        match answer {
            Answer::Once | Answer::Turn | Answer::No => Ok(()),
            Answer::Always(_) | Answer::Never => {
                let why = "a word for longer than this turn is taken at the machine only; nothing was done".to_owned();
                Err(no("approvals.hard", why).remedy(format!("`metnosctl approval approve {} --always`", card.id)))
            }
        }
    }

    /// Makes an answer durable; of two, one.
    pub(crate) async fn take(&self, card: &Card, state: CardState, principal: &Principal) -> Result<(), Refusal> {
        let (by, digest) = (principal.name.clone(), card.digest().to_string());
        let counts =
            self.base.store.answer_card(card.id.clone(), digest, state, by.clone(), self.base.clock.wall_ms()).await;
        if !counts.map_err(|error| not_durable(&error.to_string()))? {
            let why = format!("the card {} was answered or has changed in this very moment; nothing was done", card.id);
            return Err(no("approvals.answered", why));
        }
        if let Some(card) = self.all.borrow_mut().get_mut(&card.id) {
            (card.state, card.answered_by) = (state, by);
        }
        Ok(())
    }

    /// Forgets the cards of a turn whose words are forgotten: they quote them. A request that waits for its answer stays.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub(crate) async fn forget_of(&self, turn: TurnId, principal: &str) -> Result<(), Refusal> {
        let now = self.base.clock.wall_ms();
        let goes = |card: &&Card| {
            let waits = card.offer.is_none() && (card.is_open(now) || card.is_half_done(now));
            card.turn == turn && card.principal == principal && !waits
        };
        let ids: Vec<String> = self.all.borrow().values().filter(goes).map(|card| card.id.clone()).collect();
        self.base.store.forget_cards(ids.clone()).await.map_err(|error| not_durable(&error.to_string()))?;
        self.all.borrow_mut().retain(|id, _| !ids.contains(id));
        Ok(())
    }

    /// Records that what an approved offer has promised is planned.
    pub(crate) async fn begun(&self, id: &str) -> Result<(), Refusal> {
        let begins = self.base.store.begin_of_card(id.to_owned(), 0).await;
        begins.map_err(|error| not_durable(&error.to_string()))?;
        if let Some(card) = self.all.borrow_mut().get_mut(id) {
            card.begun = 1;
        }
        Ok(())
    }

    pub(crate) async fn fresh(
        &self,
        call: &Call,
        principal: &str,
        asked: PendingAct,
        now: u64,
    ) -> Result<Card, Refusal> {
        if let Some(bound) = self.full(principal, now) {
            let why = format!("{}: {bound} cards wait for an answer already", asked.why);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.full", why).remedy("answer some of them first"));
        }
        let card = Card {
            id: fresh_name(),
            principal: principal.to_owned(),
            turn: call.turn,
            // Only a planner's turn goes on.
            trace: self
                .turns
                .borrow()
                .get(call.turn)
                .filter(|_| call.notes.is_some())
                .map_or(TraceId::NONE, |turn| turn.trace),
            acts: vec![asked],
            offer: None,
            made_ms: now,
            expires_ms: now.saturating_add(CALL_EXPIRES_MS),
            state: CardState::Waiting,
            answered_by: String::new(),
            begun: 0,
        };
        self.keep(card, now).await
    }

    /// Whether an offer may be made to this principal. Offers have places of their own, and take none from what was asked for.
    pub(crate) fn has_room_for_offer(&self, principal: &str) -> bool {
        let now = self.base.clock.wall_ms();
        let cards = self.all.borrow();
        let open = || cards.values().filter(|card| card.offer.is_some() && card.is_open(now));
        open().count() < MAX_OFFERS && open().filter(|card| card.principal == principal).count() < MAX_OFFERS_OF_ONE
    }

    /// A card that offers this to its principal, until it is answered or `expires_ms`. `None` where there is no room for it.
    pub(crate) async fn offer(
        &self,
        principal: &str,
        turn: TurnId,
        (offer, expires_ms): (HabitOffer, u64),
    ) -> Result<Option<Card>, Refusal> {
        let _one = self.making.lock().await;
        let now = self.base.clock.wall_ms();
        if !self.has_room_for_offer(principal) {
            return Ok(None);
        }
        let card = Card {
            id: fresh_name(),
            principal: principal.to_owned(),
            turn,
            trace: TraceId::NONE,
            acts: Vec::new(),
            offer: Some(offer),
            made_ms: now,
            expires_ms,
            state: CardState::Waiting,
            answered_by: String::new(),
            begun: 0,
        };
        self.keep(card, now).await.map(Some)
    }

    /// How many cards there may be for this principal, when so many wait.
    fn full(&self, principal: &str, now: u64) -> Option<usize> {
        let standing = if self.people.is_owners(principal) { Standing::Owner } else { Standing::Guest };
        let cards = self.all.borrow();
        let open = cards.values().filter(|card| card.offer.is_none() && card.is_open(now));
        let taken =
            Taken::of(principal, open.map(|card| (card.principal.as_str(), self.people.is_owners(&card.principal), 1)));
        CARDS.full(standing, taken)
    }

    /// What a card is about, as it is stored.
    fn sealed(&self, card: &Card) -> Result<Vec<u8>, Refusal> {
        sealed(&self.secrets.vault.borrow(), card).ok_or_else(|| not_durable("it could not be sealed"))
    }

    /// Keeps a card, durably first.
    async fn keep(&self, card: Card, now: u64) -> Result<Card, Refusal> {
        let matter = self.sealed(&card)?;
        self.base
            .store
            .card(card.clone(), matter, now.saturating_sub(KEPT_MS))
            .await
            .map_err(|error| not_durable(&error.to_string()))?;
        let mut cards = self.all.borrow_mut();
        cards.retain(|_, card| card.expires_ms >= now.saturating_sub(KEPT_MS));
        cards.insert(card.id.clone(), card.clone());
        Ok(card)
    }

    /// Adds an act to the card of its turn: it is another card from then on, and an answer to what was shown
    /// before does not count.
    pub(crate) async fn extend(&self, card: Card, asked: PendingAct, now: u64) -> Result<Card, Refusal> {
        let bytes: usize = card.acts.iter().map(|act| act.arguments.len()).sum();
        if card.acts.len() >= MAX_ACTS || bytes + asked.arguments.len() > MAX_ARGUMENTS {
            let why = format!("{}: the card {} holds no more; it waits for an answer", asked.why, card.id);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.full", why));
        }
        let before = card.digest().to_string();
        let mut acts = card.acts.clone();
        acts.push(asked);
        let card = Card { acts, made_ms: now, expires_ms: now.saturating_add(CALL_EXPIRES_MS), ..card };
        let extended = self.base.store.extend_card(card.clone(), self.sealed(&card)?, before).await;
        if !extended.map_err(|error| not_durable(&error.to_string()))? {
            let why = format!("the card {} was answered in this very moment; ask again", card.id);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.answered", why));
        }
        self.all.borrow_mut().insert(card.id.clone(), card.clone());
        Ok(card)
    }

    /// More questions than a turn may put: it stops, and one card sums up what was asked before.
    pub(crate) fn summary(&self, call: &Call, principal: &str, verdict: &Verdict) -> Refusal {
        if let Some(turn) = self.turns.borrow_mut().get_mut(call.turn) {
            turn.stopped = true;
        }
        let now = self.base.clock.wall_ms();
        let cards = self.all.borrow();
        let card =
            cards.values().find(|card| card.is_open(now) && card.turn == call.turn && card.principal == principal);
        let remedy = card.map_or_else(
            || "say anew what is still to be done".to_owned(),
            |card| {
                format!(
                    "`metnosctl approval show {}` sums up what it has asked so far; say anew what is still to be done",
                    card.id
                )
            },
        );
        Refusal::new(RefusalCode::Denied, "turn.questions", head(&verdict.why, MAX_WHY)).remedy(remedy)
    }
}

/// A name for a card that no other has.
fn fresh_name() -> String {
    let bytes = HandleId::new().to_bytes();
    approvals::name_of([bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]])
}

pub(crate) fn not_durable(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "policyd.internal", format!("what was to be remembered could not be: {why}"))
        .remedy("look at `metnosctl doctor`")
}
