//! What becomes of a verdict that asks: a card, durable before anybody hears of it, and the one
//! answer that counts. Nothing runs here but through the path of every other call.

use std::rc::Rc;

use metnos_policy::rules::Judgement;
use metnos_proto::edge::AskError;
use metnos_proto::executor::{Class, Role};
use metnos_proto::ids::HandleId;
use metnos_proto::json;
use metnos_proto::msg::common::{CallRef, ExecutorId, Integrity, Outcome, Refusal, RefusalCode};
use metnos_proto::msg::policyd::{Acted, CallRun};
use metnos_proto::msg::sandboxd::{Reference, Resolve};
use metnos_proto::payload::Sealed;
use serde_json::{Value, json};

use crate::act::{Call, values_of};
use crate::approvals::{self, CALL_EXPIRES_MS, Card, CardState, Count, KEPT_MS, MAX_ARGUMENTS, MAX_WAITING};
use crate::arguments::Filled;
use crate::decide::{MAX_WHY, Verdict};
use crate::policy::{Policy, head};
use crate::principal::Principal;
use crate::registry::Signed;

/// The executor that counts what an act would touch.
const COUNTER: &str = "fs_count";
/// Where counts stand among the calls of a turn: behind every number that a planner gets to.
const COUNTS_FROM: u16 = 60_000;
/// The most cards in a listing.
const MAX_LISTED: usize = 256;

/// An act that needs the owner's word.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) signed: Rc<Signed>,
    pub(crate) judgement: Judgement,
    pub(crate) filled: Filled,
}

impl Policy {
    /// Makes the card for an act, and says that it waits.
    pub(crate) async fn ask_owner(
        self: &Rc<Self>,
        call: &Call,
        principal: &str,
        executor: &ExecutorId,
        verdict: &Verdict,
        asking: &Asking,
    ) -> Refusal {
        match self.card(call, principal, executor, verdict, asking).await {
            Ok(card) => {
                let touched = card.count.map_or_else(String::new, |count| {
                    format!("; it would touch {} files in {} folders", count.files, count.folders)
                });
                let why = format!("it waits for the owner's word: {}{touched}", verdict.why);
                Refusal::new(RefusalCode::Denied, "approval.waiting", head(&why, MAX_WHY)).remedy(format!(
                    "`metnosctl approval show {id}` shows exactly what it is about; `metnosctl approval approve {id}` does it",
                    id = card.id
                ))
            }
            Err(refusal) => refusal,
        }
    }

    async fn card(
        self: &Rc<Self>,
        call: &Call,
        principal: &str,
        executor: &ExecutorId,
        verdict: &Verdict,
        asking: &Asking,
    ) -> Result<Card, Refusal> {
        let no =
            |rule: &str, why: &str| Err(Refusal::new(RefusalCode::Denied, rule, format!("{}: {why}", verdict.why)));
        if verdict.rule == "turn.questions" {
            return no("turn.questions", "say anew what is still to be done");
        }
        if !asking.filled.opaque.is_empty() {
            return no(
                "approvals.unseen",
                "a card shows every value, and this call passes one on that nobody has looked at",
            );
        }
        let arguments = String::from_utf8(json::canonical(&asking.filled.value)).unwrap_or_default();
        if arguments.is_empty() || arguments.len() > MAX_ARGUMENTS {
            return no("approvals.large", "its arguments are more than a card can show");
        }
        let now = self.clock.wall_ms();
        let same = |card: &&Card| {
            card.is_open(now)
                && card.principal == principal
                && card.executor == *executor
                && card.arguments == arguments
        };
        if let Some(card) = self.cards.borrow().values().find(same) {
            return Ok(card.clone());
        }
        if self.cards.borrow().values().filter(|card| card.is_open(now)).count() >= MAX_WAITING {
            return no("approvals.full", "too many cards wait for an answer already");
        }
        let count = self.count(call, asking).await;
        let bytes = HandleId::new().to_bytes();
        let random = [bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]];
        let manifest = &asking.signed.manifest;
        let card = Card {
            id: approvals::name_of(random),
            principal: principal.to_owned(),
            executor: executor.clone(),
            digests: asking.signed.digests.clone(),
            arguments,
            class: manifest.effects.class.name().to_owned(),
            reversible: manifest.effects.reversible,
            rule: verdict.rule.clone(),
            why: verdict.why.clone(),
            fields: asking.judgement.fields.iter().map(origin).collect(),
            count,
            made_ms: now,
            expires_ms: now.saturating_add(CALL_EXPIRES_MS),
            state: CardState::Waiting,
            answered_by: String::new(),
        };
        self.store
            .card(card.clone(), now.saturating_sub(KEPT_MS))
            .await
            .map_err(|error| not_durable(&error.to_string()))?;
        let mut cards = self.cards.borrow_mut();
        cards.retain(|_, card| card.expires_ms >= now.saturating_sub(KEPT_MS));
        cards.insert(card.id.clone(), card.clone());
        Ok(card)
    }

    /// Counts what an act would remove, by an executor that only reads; none when that is not possible.
    async fn count(self: &Rc<Self>, call: &Call, asking: &Asking) -> Option<Count> {
        if asking.signed.manifest.effects.class != Class::Destroy {
            return None;
        }
        let field = asking.judgement.fields.iter().find(|field| field.role == Role::Path)?;
        let path = asking.filled.value.pointer(&field.pointer)?.as_str()?.to_owned();
        let place = CallRef(COUNTS_FROM.saturating_add(call.place.0));
        let arguments = Sealed::new(json!({ "path": path }).to_string().as_bytes()).ok()?;
        let counting =
            Call { turn: call.turn, place, executor: COUNTER.to_owned(), arguments, notes: None, approved: None };
        // One level deep: what only reads never asks.
        let acted = Box::pin(self.mediate(counting)).await;
        match acted {
            Ok(Acted::Ran(ran)) if ran.outcome == Outcome::Ok => {}
            Ok(Acted::Ran(_) | Acted::Denied(_)) | Err(_) => return None,
        }
        let trace = self.turns.borrow().get(call.turn)?.trace;
        let reference = |pointer: &str| Reference { call: place, pointer: pointer.to_owned() };
        let ask = Resolve { turn: call.turn, references: ["/files", "/folders", "/bytes"].map(reference).to_vec() };
        let resolved: Result<_, AskError> = self.ask_sandbox(self.sandbox.resolve(trace, ask, [])).await;
        let (_, [values]) = resolved.ok()?;
        let values = values_of(&values).ok()?;
        // sandboxd's word counts as far as the digests that it gave before bear it out.
        let turns = self.turns.borrow();
        let kept = turns.get(call.turn)?.result_of(place)?;
        let reported =
            ["/files", "/folders", "/bytes"].map(|pointer| kept.labels.at(pointer).map(|part| part.part.digest));
        if !values.iter().map(json::digest).map(Some).eq(reported) {
            return None;
        }
        match values.as_slice() {
            [files, folders, bytes] => {
                Some(Count { files: files.as_u64()?, folders: folders.as_u64()?, bytes: bytes.as_u64()? })
            }
            _ => None,
        }
    }

    /// The cards, newest first.
    pub(crate) fn cards(&self) -> Value {
        let now = self.clock.wall_ms();
        let mut cards: Vec<Card> = self.cards.borrow().values().cloned().collect();
        cards.sort_by_key(|card| std::cmp::Reverse(card.made_ms));
        cards.iter().take(MAX_LISTED).map(|card| card.document(now)).collect()
    }

    /// One card.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) fn show_card(&self, id: &str) -> Result<Value, Refusal> {
        let cards = self.cards.borrow();
        cards.get(id).map(|card| card.document(self.clock.wall_ms())).ok_or_else(|| approvals::unknown(id))
    }

    /// Takes the owner's yes, once, and then does exactly that act.
    ///
    /// # Errors
    /// When the answer does not count: nothing was done then.
    pub(crate) async fn approve(
        self: &Rc<Self>,
        principal: Principal,
        id: &str,
        digest: &str,
    ) -> Result<(CallRun, Sealed), Refusal> {
        let card = self.cards.borrow().get(id).cloned().ok_or_else(|| approvals::unknown(id))?;
        card.admits(digest, self.clock.wall_ms())?;
        let same = |signed: Rc<Signed>| signed.digests == card.digests;
        if !self.registry.borrow().callable(&card.executor.name).is_some_and(same) {
            let why = format!("{} is not what it was when the card was made; nothing was done", card.executor);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.changed", why).remedy("ask for it again"));
        }
        let arguments = Sealed::new(card.arguments.as_bytes()).map_err(|error| not_durable(&error.to_string()))?;
        self.take(&card, CardState::Approved, &principal).await?;
        self.direct(principal, card.executor.name.clone(), arguments, Some(card.id.clone())).await
    }

    /// Takes the owner's no.
    ///
    /// # Errors
    /// When the answer does not count.
    pub(crate) async fn deny(self: &Rc<Self>, principal: &Principal, id: &str, digest: &str) -> Result<(), Refusal> {
        let card = self.cards.borrow().get(id).cloned().ok_or_else(|| approvals::unknown(id))?;
        card.admits(digest, self.clock.wall_ms())?;
        self.take(&card, CardState::Denied, principal).await?;
        self.event(
            "approval_denied",
            &format!("{} has denied the card {id} ({})", principal.name, card.executor),
            None,
        );
        Ok(())
    }

    /// Makes an answer durable; of two, one.
    async fn take(&self, card: &Card, state: CardState, principal: &Principal) -> Result<(), Refusal> {
        let by = principal.name.clone();
        let counts = self.store.answer_card(card.id.clone(), state, by.clone(), self.clock.wall_ms()).await;
        if !counts.map_err(|error| not_durable(&error.to_string()))? {
            let why = format!("the card {} was answered or expired in this very moment; nothing was done", card.id);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.answered", why));
        }
        if let Some(card) = self.cards.borrow_mut().get_mut(&card.id) {
            (card.state, card.answered_by) = (state, by);
        }
        Ok(())
    }
}

/// Where an argument came from, as the card has it.
fn origin(field: &metnos_policy::rules::Shown) -> [String; 4] {
    let label = match field.label.integrity {
        Integrity::Trusted => "trusted",
        Integrity::Vouched => "vouched",
        Integrity::Untrusted => "untrusted",
    };
    [field.pointer.clone(), field.role.name().to_owned(), label.to_owned(), field.source.name().to_owned()]
}

fn not_durable(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "policyd.internal", format!("what was to be remembered could not be: {why}"))
        .remedy("look at `metnosctl doctor`")
}
