//! What becomes of a verdict that asks: the card for it, durable before anybody learns of it. Consecutive questions of one turn
//! share one card. What follows on an answer stands in `answers.rs`.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Class, Role};
use metnos_proto::json;
use metnos_proto::msg::common::{CallRef, ExecutorId, Integrity, Outcome, Refusal, RefusalCode, Standing};
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::sandboxd::{Reference, Resolve};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::approvals::cards::Asking;
use crate::approvals::grants::Scope;
use crate::approvals::{Card, Count, MAX_ARGUMENTS, PendingAct};
use crate::calls::call::Call;
use crate::calls::outcome::values_of;
use crate::decision::{MAX_WHY, Verdict, can_be_stored};
use crate::policy::Policy;
use crate::text::head;

/// The executor that counts what an act would touch.
const COUNTER: &str = "fs_count";
/// What its result says.
const COUNTED: [&str; 4] = ["/files", "/folders", "/bytes", "/covered"];
/// Where counts stand among the calls of a turn: behind every number that a planner gets to.
const COUNTS_FROM: u16 = 60_000;

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
        let whose = (principal, if self.people.is_owners(principal) { Standing::Owner } else { Standing::Guest });
        if let Some(file) = &call.file
            && let Err(refusal) = self.calls.files.has_room(whose, file.len(), self.base.clock.wall_ms())
        {
            return refusal;
        }
        match self.card(call, principal, executor, verdict, asking).await {
            Ok(card) => {
                if let Some(file) = call.file.as_ref().and_then(|file| file.share().ok()) {
                    let arguments = String::from_utf8(json::canonical(&asking.filled.value)).unwrap_or_default();
                    self.calls.files.waits(&card.id, &arguments, whose, file, card.expires_ms);
                }
                self.approvals.cards.tell_door_of(&card, call.turn).await;
                // Whether something is there, only those learn who read the household's files.
                let owners = matches!(self.people.paired_as(principal), Some(Standing::Adult))
                    || self.people.is_owners(principal);
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
    pub(crate) async fn card(
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
            return Err(self.approvals.cards.summary(call, principal, verdict));
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
        let _one = self.approvals.cards.making.lock().await;
        let now = self.base.clock.wall_ms();
        let same = |card: &&Card| {
            card.is_open(now)
                && card.principal == principal
                && card.acts.iter().any(|act| act.executor == asked.executor && act.arguments == asked.arguments)
        };
        if let Some(card) = self.approvals.cards.all.borrow().values().find(same) {
            return Ok(card.clone());
        }
        let mine = |card: &&Card| card.is_open(now) && card.turn == call.turn && card.principal == principal;
        let open = self.approvals.cards.all.borrow().values().find(mine).cloned();
        match open {
            Some(card) => self.approvals.cards.extend(card, asked, now).await,
            None => self.approvals.cards.fresh(call, principal, asked, now).await,
        }
    }

    /// The act as the card will show it.
    pub(crate) fn asked(
        &self,
        executor: &ExecutorId,
        arguments: String,
        verdict: &Verdict,
        asking: &Asking,
        count: Option<Count>,
    ) -> PendingAct {
        let (manifest, spec) = (&asking.signed.manifest, &asking.signed.spec);
        let always = can_be_stored(&verdict.rule, spec)
            .then(|| Scope::of(spec, &asking.filled.value, &self.base.setting.places));
        PendingAct {
            executor: executor.clone(),
            digests: asking.signed.digests.clone(),
            arguments,
            class: manifest.effects.class.name().to_owned(),
            reversible: manifest.effects.reversible,
            rule: verdict.rule.clone(),
            why: verdict.why.clone(),
            fields: asking.judgement.fields.iter().map(origin).collect(),
            count,
            cost_micro: self.budgets.price_of(&executor.name),
            targets: self.base.perimeter.targets_of(&asking.signed, &asking.filled.value),
            always,
        }
    }

    /// Counts what an act would remove, by an executor that only reads; none when that is not possible.
    pub(crate) async fn count(self: &Rc<Self>, call: &Call, asking: &Asking) -> Option<Count> {
        if asking.signed.manifest.effects.class != Class::Destroy {
            return None;
        }
        let field = asking.judgement.fields.iter().find(|field| field.role == Role::Path)?;
        let path = asking.filled.value.pointer(&field.pointer)?.as_str()?.to_owned();
        let place = CallRef(COUNTS_FROM.saturating_add(call.place.0));
        // Also what no list of a person shows: the act would touch it.
        let arguments = Value::Object(
            [("path".to_owned(), Value::from(path)), ("all".to_owned(), Value::from(true))].into_iter().collect(),
        );
        let arguments = Sealed::new(arguments.to_string().as_bytes()).ok()?;
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
        let trace = self.calls.turns.borrow().get(call.turn)?.trace;
        let reference = |pointer: &str| Reference { call: place, pointer: pointer.to_owned() };
        let ask = Resolve { turn: call.turn, references: COUNTED.map(reference).to_vec() };
        let resolved: Result<_, RpcError> = self.base.ask_sandbox(self.base.sandbox.resolve(trace, ask, [])).await;
        let (_, [values]) = resolved.ok()?;
        let values = values_of(&values).ok()?;
        // sandboxd's word counts as far as the digests that it gave before bear it out. It is for the owner's card, and no
        // planner's to refer to.
        let handle = ran.handle;
        let mut turns = self.calls.turns.borrow_mut();
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
