//! What becomes of a verdict that asks: a stored word that answers it, or a card, durable before anybody
//! hears of it. Consecutive questions of one turn share one card. What follows on an answer stands in
//! `answers.rs`; nothing runs from here but through the path of every other call.

use std::rc::Rc;

use metnos_policy::rules::Judgement;
use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Class, Role};
use metnos_proto::ids::{HandleId, TraceId};
use metnos_proto::json;
use metnos_proto::msg::common::{CallRef, ExecutorId, Integrity, Outcome, Refusal, RefusalCode, Standing};
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::sandboxd::{Reference, Resolve};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::approvals::grants::{Question, Scope};
use crate::approvals::{self, Asked, CALL_EXPIRES_MS, Card, CardState, Count, KEPT_MS, MAX_ACTS, MAX_ARGUMENTS};
use crate::arguments::Filled;
use crate::calls::act::Call;
use crate::calls::outcome::values_of;
use crate::decision::{MAX_WHY, Verdict, can_be_stored};
use crate::executors::registry::Signed;
use crate::policy::{Policy, head};
use crate::shares::{CARDS, Taken};

/// The executor that counts what an act would touch.
const COUNTER: &str = "fs_count";
/// What its result says.
const COUNTED: [&str; 4] = ["/files", "/folders", "/bytes", "/covered"];
/// Where counts stand among the calls of a turn: behind every number that a planner gets to.
const COUNTS_FROM: u16 = 60_000;

/// An act that needs the owner's word.
#[derive(Debug)]
pub(crate) struct Asking {
    pub(crate) signed: Rc<Signed>,
    pub(crate) judgement: Judgement,
    pub(crate) filled: Filled,
}

impl Policy {
    /// What the owner has answered for longer than once to such a call: the card, and whether it says always. A never
    /// comes before an always.
    pub(crate) fn stored_word(&self, question: &Question<'_>) -> Option<(String, bool)> {
        let grants = self.grants.borrow();
        let fitting = grants.values().filter(|grant| grant.answers(question));
        fitting.min_by_key(|grant| grant.allows).map(|grant| (grant.id.clone(), grant.allows))
    }

    /// Makes the card for an act, and says that it waits.
    pub(crate) async fn ask_owner(
        self: &Rc<Self>,
        call: &Call,
        principal: &str,
        executor: &ExecutorId,
        verdict: &Verdict,
        asking: &Asking,
    ) -> Refusal {
        let whose = (principal, if self.is_owners(principal) { Standing::Owner } else { Standing::Guest });
        if let Some(file) = &call.file
            && let Err(refusal) = self.files.has_room(whose, file.len(), self.clock.wall_ms())
        {
            return refusal;
        }
        match self.card(call, principal, executor, verdict, asking).await {
            Ok(card) => {
                if let Some(file) = call.file.as_ref().and_then(|file| file.share().ok()) {
                    let arguments = String::from_utf8(json::canonical(&asking.filled.value)).unwrap_or_default();
                    self.files.waits(&card.id, &arguments, whose, file, card.expires_ms);
                }
                self.tell_door_of(&card, call.turn).await;
                // Whether something is there, only the owner hears.
                let owners = self.is_owners(principal);
                let touched =
                    card.acts.last().filter(|_| owners).and_then(|act| act.count).map_or_else(String::new, |count| {
                        let least = if count.covered > 0 { "at least " } else { "" };
                        format!("; it would touch {least}{} files in {} folders", count.files, count.folders)
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

    /// One card for this act: the one of its turn that waits, or a new one.
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
            return Err(self.summary(call, principal, verdict));
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
        let count = self.count(call, asking).await;
        let asked = self.asked(executor, arguments, verdict, asking, count);
        // One at a time: a card that is added to is never added to twice at once.
        let _one = self.carding.lock().await;
        let now = self.clock.wall_ms();
        let same = |card: &&Card| {
            card.is_open(now)
                && card.principal == principal
                && card.acts.iter().any(|act| act.executor == asked.executor && act.arguments == asked.arguments)
        };
        if let Some(card) = self.cards.borrow().values().find(same) {
            return Ok(card.clone());
        }
        let mine = |card: &&Card| card.is_open(now) && card.turn == call.turn && card.principal == principal;
        let open = self.cards.borrow().values().find(mine).cloned();
        match open {
            Some(card) => self.extend(card, asked, now).await,
            None => self.fresh(call, principal, asked, now).await,
        }
    }

    /// The act as the card will show it.
    fn asked(
        &self,
        executor: &ExecutorId,
        arguments: String,
        verdict: &Verdict,
        asking: &Asking,
        count: Option<Count>,
    ) -> Asked {
        let (manifest, spec) = (&asking.signed.manifest, &asking.signed.spec);
        let always =
            can_be_stored(&verdict.rule, spec).then(|| Scope::of(spec, &asking.filled.value, &self.setting.places));
        Asked {
            executor: executor.clone(),
            digests: asking.signed.digests.clone(),
            arguments,
            class: manifest.effects.class.name().to_owned(),
            reversible: manifest.effects.reversible,
            rule: verdict.rule.clone(),
            why: verdict.why.clone(),
            fields: asking.judgement.fields.iter().map(origin).collect(),
            count,
            cost_micro: self.price_of(&executor.name),
            targets: self.targets_of(asking),
            always,
        }
    }

    async fn fresh(self: &Rc<Self>, call: &Call, principal: &str, asked: Asked, now: u64) -> Result<Card, Refusal> {
        let standing = if self.is_owners(principal) { Standing::Owner } else { Standing::Guest };
        let taken = {
            let cards = self.cards.borrow();
            let open = cards.values().filter(|card| card.is_open(now));
            Taken::of(principal, open.map(|card| (card.principal.as_str(), self.is_owners(&card.principal), 1)))
        };
        if let Some(bound) = CARDS.full(standing, taken) {
            let why = format!("{}: {bound} cards wait for an answer already", asked.why);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.full", why).remedy("answer some of them first"));
        }
        let bytes = HandleId::new().to_bytes();
        let random = [bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]];
        let card = Card {
            id: approvals::name_of(random),
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
            made_ms: now,
            expires_ms: now.saturating_add(CALL_EXPIRES_MS),
            state: CardState::Waiting,
            answered_by: String::new(),
            begun: 0,
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

    /// Adds an act to the card of its turn: it is another card from then on, and an answer to what was shown
    /// before does not count.
    async fn extend(&self, card: Card, asked: Asked, now: u64) -> Result<Card, Refusal> {
        let bytes: usize = card.acts.iter().map(|act| act.arguments.len()).sum();
        if card.acts.len() >= MAX_ACTS || bytes + asked.arguments.len() > MAX_ARGUMENTS {
            let why = format!("{}: the card {} holds no more; it waits for an answer", asked.why, card.id);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.full", why));
        }
        let before = card.digest().to_string();
        let mut acts = card.acts.clone();
        acts.push(asked);
        let card = Card { acts, made_ms: now, expires_ms: now.saturating_add(CALL_EXPIRES_MS), ..card };
        let extended = self.store.extend_card(card.clone(), before).await;
        if !extended.map_err(|error| not_durable(&error.to_string()))? {
            let why = format!("the card {} was answered in this very moment; ask again", card.id);
            return Err(Refusal::new(RefusalCode::Denied, "approvals.answered", why));
        }
        self.cards.borrow_mut().insert(card.id.clone(), card.clone());
        Ok(card)
    }

    /// More questions than a turn may put: it stops, and one card sums up what was asked before.
    fn summary(&self, call: &Call, principal: &str, verdict: &Verdict) -> Refusal {
        if let Some(turn) = self.turns.borrow_mut().get_mut(call.turn) {
            turn.stopped = true;
        }
        let now = self.clock.wall_ms();
        let cards = self.cards.borrow();
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

    /// Counts what an act would remove, by an executor that only reads; none when that is not possible.
    async fn count(self: &Rc<Self>, call: &Call, asking: &Asking) -> Option<Count> {
        if asking.signed.manifest.effects.class != Class::Destroy {
            return None;
        }
        let field = asking.judgement.fields.iter().find(|field| field.role == Role::Path)?;
        let path = asking.filled.value.pointer(&field.pointer)?.as_str()?.to_owned();
        let place = CallRef(COUNTS_FROM.saturating_add(call.place.0));
        let arguments = Sealed::new(Value::from_iter([("path", path)]).to_string().as_bytes()).ok()?;
        let counting = Call {
            turn: call.turn,
            place,
            executor: COUNTER.to_owned(),
            arguments,
            file: None,
            notes: None,
            approved: None,
            opening: Rc::default(),
            counts: true,
        };
        // One level deep: what only reads never asks.
        let acted = Box::pin(self.mediate(counting)).await;
        let ran = match acted {
            Ok(Acted::Ran(ran)) if ran.outcome == Outcome::Ok => ran,
            Ok(Acted::Ran(_) | Acted::Denied(_)) | Err(_) => return None,
        };
        let trace = self.turns.borrow().get(call.turn)?.trace;
        let reference = |pointer: &str| Reference { call: place, pointer: pointer.to_owned() };
        let ask = Resolve { turn: call.turn, references: COUNTED.map(reference).to_vec() };
        let resolved: Result<_, RpcError> = self.ask_sandbox(self.sandbox.resolve(trace, ask, [])).await;
        let (_, [values]) = resolved.ok()?;
        let values = values_of(&values).ok()?;
        // sandboxd's word counts as far as the digests that it gave before bear it out. It is for the owner's card, and no
        // planner's to refer to.
        let handle = ran.handle;
        let mut turns = self.turns.borrow_mut();
        let kept = turns.get_mut(call.turn)?.give(handle)?;
        let reported = COUNTED.map(|pointer| kept.labels.at(pointer).map(|part| part.part.digest));
        if !values.iter().map(json::digest).map(Some).eq(reported) {
            return None;
        }
        match values.as_slice() {
            [files, folders, bytes, covered] => Some(Count {
                files: files.as_u64()?,
                folders: folders.as_u64()?,
                bytes: bytes.as_u64()?,
                covered: covered.as_u64()?,
            }),
            _ => None,
        }
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

pub(crate) fn not_durable(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "policyd.internal", format!("what was to be remembered could not be: {why}"))
        .remedy("look at `metnosctl doctor`")
}
