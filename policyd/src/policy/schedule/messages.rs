//! What a call of an executor with `[message]` says, passed on: policyd has memoryd keep it, once the call is allowed and recorded,
//! and the door gives it to the person. The executor itself reaches nobody.

use metnos_policy::text::carriers;
use metnos_proto::edge::RpcError;
use metnos_proto::executor::MessageArguments;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::{Fill, Run};
use metnos_proto::msg::schedule::{KeepSchedule, ScheduleKind};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::executors::registry::Signed;
use crate::policy::Policy;
use crate::refusals::internal;

/// What is told, and to whom.
struct Told {
    text: String,
    /// The name of the person; empty for the one whose turn it is.
    to: String,
}

impl Policy {
    /// Has the person told what the arguments of an allowed call say.
    ///
    /// # Errors
    /// When the arguments cannot be read or hold a secret, the person cannot be told, or memoryd refuses: nothing ran, and nobody was
    /// told anything.
    pub(in crate::policy) async fn pass_on(
        &self,
        signed: &Signed,
        message: &MessageArguments,
        run: &Run,
        arguments: &Sealed,
    ) -> Result<(), RpcError> {
        let copy = arguments.share().map_err(|error| RpcError::Refused(internal(&error.to_string())))?;
        let fill = Fill { turn: run.turn, id: run.id.clone(), digests: signed.digests.clone() };
        let filled = self.base.ask_sandbox(self.base.sandbox.fill(run.trace, fill, [copy])).await;
        let (_, [filled]) = filled.map_err(|error| RpcError::Refused(error.into_refusal()))?;
        self.pass_on_filled(signed, message, run, &filled).await.map_err(RpcError::Refused)
    }

    async fn pass_on_filled(
        &self,
        signed: &Signed,
        message: &MessageArguments,
        run: &Run,
        filled: &Sealed,
    ) -> Result<(), Refusal> {
        self.secrets.holds_no_secret(filled)?;
        let told = read(message, filled)?;
        let (principal, typed, lang) = {
            let mut turns = self.calls.turns.borrow_mut();
            let turn = turns.known(run.turn)?;
            turn.count_order()?;
            (turn.principal.name.clone(), turn.flow.own_words().clone(), turn.world.lang)
        };
        let (from, recipient) = self.people.persons.borrow().one_told(&principal, &told.to, message.only_on())?;
        // To others goes what was typed, or what a card has shown, letter by letter.
        let what = if from.is_empty() { carriers::inert(&told.text, &typed) } else { told.text };
        self.may_still_run(signed, run)?;
        let urgent = !from.is_empty() && self.proposals.is_emergency(&what);
        let keep = KeepSchedule {
            turn: run.turn,
            trace: run.trace,
            principal,
            told_in: self.people.lang_of(&recipient.at),
            to: recipient.at,
            from,
            kind: ScheduleKind::Message,
            what,
            when: String::new(),
            early: false,
            lang,
            frozen: Vec::new(),
            urgent,
        };
        self.keep_one(run.trace, keep).await.map(|_| ())
    }
}

/// What the arguments say.
fn read(message: &MessageArguments, filled: &Sealed) -> Result<Told, Refusal> {
    let invalid = |why: &str| Refusal::new(RefusalCode::Invalid, "message.arguments", why);
    let bytes = filled.read().map_err(|error| internal(&error.to_string()))?;
    let limits = Limits { max_bytes: bytes.len(), ..Limits::ARGUMENTS };
    let value = Value::Object(json::parse_object(&bytes, limits).map_err(|error| invalid(&error.to_string()))?);
    let text = value.pointer(&message.text).and_then(Value::as_str).unwrap_or_default();
    if text.trim().is_empty() {
        return Err(invalid("a message without a text tells nobody anything"));
    }
    let to = message.to.as_deref().and_then(|to| value.pointer(to)).and_then(Value::as_str).unwrap_or_default();
    Ok(Told { text: text.to_owned(), to: to.to_owned() })
}
