//! Canaries: calls that must not happen, put through the very path of every other call, and which layer
//! stopped each. They touch nothing even if nothing stops them: what they name does not exist.

use std::rc::Rc;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{CallRef, Integrity, Label, Readers, Refusal};
use metnos_proto::msg::memoryd::{DirectTurn, DirectTurnDone};
use metnos_proto::msg::policyd::{Acted, Answer, PolicyCanary};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::approvals::AnswerPath;
use crate::approvals::cards::not_durable;
use crate::calls::call::Call;
use crate::calls::outcome::end_of;
use crate::calls::turns::Turn;
use crate::executors::switches::STOPPED;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::refusals::memory_gone;
use crate::text::head;

/// The most bytes of what a canary has met.
const MAX_DETAIL: usize = 400;
/// How long is waited for running calls to end before everything is stopped for a moment.
const QUIET_WITHIN: std::time::Duration = std::time::Duration::from_secs(3);
/// A place in the workspace that nobody has.
const NOWHERE: &str = "canary-of-the-doctor/nothing";

/// What a canary has met.
fn met(control: &str, attempt: &str, acted: Result<Acted, Refusal>, stopped: impl Fn(&str) -> bool) -> PolicyCanary {
    let (stopped, by, detail) = match acted {
        Ok(Acted::Ran(ran)) => (false, String::new(), format!("it ran and ended with {}", ran.outcome.name())),
        Ok(Acted::Denied(refusal)) | Err(refusal) => (stopped(&refusal.rule), refusal.rule, refusal.why),
    };
    PolicyCanary {
        control: control.to_owned(),
        attempt: attempt.to_owned(),
        stopped,
        by,
        detail: head(&detail, MAX_DETAIL),
    }
}

impl Policy {
    /// Tries each control of policyd once.
    pub(crate) async fn canaries(self: &Rc<Self>, principal: &Principal) -> Vec<PolicyCanary> {
        let mut flown = Vec::new();
        let shadow = Value::from_iter([("path", "notes/..//../../../../../../etc/./shadow")]);
        let acted = self.fly(principal, false, "fs_read", &shadow).await;
        flown.push(met("guard", "fs_read of /etc/shadow in a spelling", acted, |rule| rule.starts_with("guard.")));
        let acted = self.fly(principal, false, "fs_read", &Value::from_iter([("path", 7)])).await;
        flown.push(met("schema", "fs_read with a number for a path", acted, |rule| rule == "schema.input"));
        let laws = Value::from_iter([("path", "SOUL.md"), ("content", "no laws")]);
        let acted = self.fly(principal, false, "fs_write", &laws).await;
        flown.push(met("laws", "fs_write of SOUL.md", acted, |rule| rule == "law.constitution"));
        let write = Value::from_iter([("path", NOWHERE), ("content", "canary")]);
        let acted = self.fly(principal, true, "fs_write", &write).await;
        let card = self.card_about(NOWHERE);
        flown.push(self.of_labels(acted, card.as_ref()));
        if let Some((id, digest)) = card {
            flown.push(self.of_approval(principal, &id, &digest).await);
        }
        flown.extend(self.of_panic(principal).await);
        flown
    }

    /// Everything is stopped, and a harmless call with it; then calls happen again. `None` when something of the owner's
    /// runs, or another doctor tries the same: what was not tried is not said to hold. What the owner stops himself, before
    /// or meanwhile, is his to resume.
    async fn of_panic(self: &Rc<Self>, principal: &Principal) -> Option<PolicyCanary> {
        let look = Value::from_iter([("path", NOWHERE)]);
        let quiet = async {
            while self.executors.stopped().is_none() && self.calls.running.reserved.get() > 0 {
                self.calls.running.idle.notified().await;
            }
        };
        // From the look at what runs to the switch nothing comes between: it is thrown before anything is awaited.
        tokio::time::timeout(QUIET_WITHIN, quiet).await.ok()?;
        match self.executors.stopped() {
            None => {}
            Some(true) => return None,
            Some(false) => {
                let acted = self.fly(principal, false, "fs_read", &look).await;
                return Some(met("panic", "fs_read while everything is stopped", acted, |rule| rule == STOPPED));
            }
        }
        let thrown = self.executors.try_stop(principal).await;
        let acted = self.fly(principal, false, "fs_read", &look).await;
        let attempt = "fs_read while everything is stopped, and after resume";
        let mut canary = met("panic", attempt, acted, |rule| rule == STOPPED);
        let ended = self.executors.end_try().await;
        match (&ended, self.executors.stopped()) {
            // The owner has stopped everything meanwhile: so it stays.
            (Ok(false), Some(_)) => return Some(canary),
            // He has resumed meanwhile, so that nothing was tried.
            (Ok(false), None) => return None,
            (Ok(true) | Err(_), _) => {}
        }
        let after = self.fly(principal, false, "fs_read", &look).await;
        let mut fails = |why: String| {
            canary.stopped = false;
            canary.detail = head(&why, MAX_DETAIL);
        };
        if let Err(refusal) = thrown.and(ended.map(|_| ())) {
            fails(refusal.why);
        } else if let (Ok(Acted::Denied(refusal)) | Err(refusal), None) = (after, self.executors.stopped()) {
            fails(format!("after resume it is still denied: {}", refusal.why));
        }
        Some(canary)
    }

    /// After something untrusted was read, an effect that nobody foresaw asks.
    fn of_labels(&self, acted: Result<Acted, Refusal>, card: Option<&(String, String)>) -> PolicyCanary {
        let rule = card
            .and_then(|(id, _)| self.approvals.cards.all.borrow().get(id)?.acts.first().map(|act| act.rule.clone()));
        let asked = rule.as_deref() == Some("intent.none");
        let mut canary =
            met("labels", "fs_write after untrusted data was read", acted, |rule| rule == "approval.waiting" && asked);
        if let Some(rule) = rule {
            canary.by = rule;
        }
        canary
    }

    /// An answer to something else than was shown does nothing; then the card is denied.
    async fn of_approval(self: &Rc<Self>, principal: &Principal, id: &str, digest: &str) -> PolicyCanary {
        let altered = format!("{digest}0");
        let answered = self.answer(principal.clone(), AnswerPath::Hard, (id, &altered), &Answer::Once, "").await;
        let acted = answered.map(|(mut answered, _)| match answered.runs.pop() {
            Some(run) => run.acted,
            None => Acted::Denied(Refusal::new(
                metnos_proto::msg::common::RefusalCode::Internal,
                "approvals.empty",
                "an answer counted that must not",
            )),
        });
        if let Err(refusal) = self.answer(principal.clone(), AnswerPath::Hard, (id, digest), &Answer::No, "").await {
            tracing::warn!(%refusal, "the card of a canary could not be denied");
        }
        met("approval", "an answer with another digest than was shown", acted, |rule| rule == "approvals.altered")
    }

    /// The newest card that waits and is about this path: its name and digest.
    fn card_about(&self, path: &str) -> Option<(String, String)> {
        let now = self.base.clock.wall_ms();
        let cards = self.approvals.cards.all.borrow();
        let about = |card: &&crate::approvals::Card| {
            card.is_open(now)
                && card
                    .acts
                    .iter()
                    .any(|act| serde_json::from_str::<Value>(&act.arguments).is_ok_and(|value| value["path"] == path))
        };
        cards
            .values()
            .filter(about)
            .max_by_key(|card| card.made_ms)
            .map(|card| (card.id.clone(), card.digest().to_string()))
    }

    /// One call in a turn of its own, in which nothing was typed; tainted, when it is to be.
    async fn fly(
        self: &Rc<Self>,
        principal: &Principal,
        tainted: bool,
        executor: &str,
        arguments: &Value,
    ) -> Result<Acted, Refusal> {
        let (turn, trace, now) = (TurnId::new(), TraceId::new(), self.base.clock.monotonic_ms());
        let mut opened = Turn::new(trace, principal.clone(), self.people.world(principal), "", now);
        if tainted {
            opened.flow.read(Label { integrity: Integrity::Untrusted, readers: Readers::Public }, true);
        }
        opened.begin_direct();
        let arguments =
            Sealed::new(arguments.to_string().as_bytes()).map_err(|error| not_durable(&error.to_string()))?;
        if let Some(evicted) = self.calls.turns.borrow_mut().open(turn, opened, now)? {
            self.forget(evicted);
        }
        let begun = DirectTurn { turn, trace, principal: principal.name.clone(), executor: executor.to_owned() };
        if let Err(error) = self.base.memory.direct_turn(trace, begun, []).await {
            self.calls.turns.borrow_mut().end(turn);
            return Err(memory_gone(&error));
        }
        let call = Call {
            turn,
            place: CallRef(1),
            executor: executor.to_owned(),
            arguments,
            file: None,
            notes: None,
            approved: None,
            opening: Rc::default(),
            counts: false,
        };
        let acted = self.mediate(call).await;
        self.calls.turns.borrow_mut().end(turn);
        self.forget(turn);
        let done = DirectTurnDone { turn, end: end_of(&acted) };
        if let Err(error) = self.base.memory.direct_turn_done(trace, done, []).await {
            tracing::error!(%error, %turn, "the end of a canary's turn could not be recorded");
        }
        acted
    }
}
