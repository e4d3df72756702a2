//! A call at a set time goes on where the last one of its schedule stopped: what it is given, and what it leaves
//! ([`crate::calls::carried`]).

use metnos_proto::edge::RpcError;
use metnos_proto::executor::SEEN;
use metnos_proto::ids::{Blake3, TraceId, TurnId};
use metnos_proto::json::{child, digest};
use metnos_proto::msg::common::{CallRef, Outcome, Refusal};
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::sandboxd::{Reference, Resolve};
use serde_json::Value;

use super::Policy;
use crate::calls::carried::{self, Carry, MAX_CARRIED};
use crate::calls::outcome::{known_digest, values_of};
use crate::executors::registry::Signed;
use crate::refusals::internal;
use crate::store::not_durable;

impl Policy {
    /// What this call is given of the last one of the same kind at a set time; `None` where its executor carries nothing, or
    /// nothing is due in this turn.
    ///
    /// # Errors
    /// When it cannot be read: what goes on from the wrong place would tell everything anew, or nothing.
    pub(super) async fn carry(&self, turn: TurnId, of: &Signed, arguments: &Value) -> Result<Option<Carry>, Refusal> {
        let firing = self.calls.turns.borrow().get(turn).and_then(|turn| turn.firing.clone());
        let Some(firing) = firing.filter(|_| of.manifest.contract.carries) else { return Ok(None) };
        let call = Blake3::of(&[of.manifest.executor.name.as_bytes(), b"\0", &digest(arguments).0].concat());
        let wanted = firing.clone();
        let seen = self.base.store.run(move |db| carried::seen(db, &wanted, call)).await;
        let seen = seen
            .map_err(|error| internal(&format!("what the last call at a set time has left cannot be read: {error}")))?;
        Ok(Some(Carry { firing, call, seen }))
    }

    /// Keeps what a call that has succeeded leaves for the next one.
    ///
    /// # Errors
    /// When it cannot be kept: its answer is not given then, and the due time is tried again.
    pub(super) async fn carry_on(
        &self,
        (turn, place, trace): (TurnId, CallRef, TraceId),
        carry: Carry,
        acted: &Acted,
    ) -> Result<(), Refusal> {
        if !matches!(acted, Acted::Ran(ran) if ran.outcome == Outcome::Ok) {
            return Ok(());
        }
        let Some(after) = self.left(turn, place, trace).await? else { return Ok(()) };
        let now_ms = self.base.clock.wall_ms();
        let kept = self.base.store.run(move |db| carried::keep(db, &carry, &after, now_ms)).await;
        kept.map_err(|error| not_durable(&error))
    }

    /// The text that the result of this call leaves, as sandboxd has it; `None` where it leaves none.
    async fn left(&self, turn: TurnId, place: CallRef, trace: TraceId) -> Result<Option<String>, Refusal> {
        let pointer = child("", SEEN);
        let known = {
            let turns = self.calls.turns.borrow();
            turns.get(turn).and_then(|turn| known_digest(&turn.result_of(place)?.labels, &pointer))
        };
        let Some(known) = known else { return Ok(None) };
        let ask = Resolve { turn, references: vec![Reference { call: place, pointer }] };
        let answer = self.base.ask_sandbox(self.base.sandbox.resolve(trace, ask, [])).await;
        let (_, [values]) = answer.map_err(RpcError::into_refusal)?;
        let values = values_of(&values).map_err(|why| internal(&why))?;
        match values.as_slice() {
            [value] if digest(value) == known => {
                Ok(value.as_str().filter(|text| text.len() <= MAX_CARRIED).map(str::to_owned))
            }
            _ => Err(internal("sandboxd resolved what a call leaves to something else than it reported")),
        }
    }
}
