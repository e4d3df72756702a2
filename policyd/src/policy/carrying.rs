//! Passes state from one scheduled call to the next ([`crate::calls::carried`]).

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
    /// The state for this call; `None` if its executor has none, or no firing opened this turn.
    ///
    /// # Errors
    /// When it cannot be read: with a wrong state a call would repeat or skip items.
    pub(super) async fn state_for(
        &self,
        turn: TurnId,
        of: &Signed,
        arguments: &Value,
    ) -> Result<Option<Carry>, Refusal> {
        let firing = self.calls.turns.borrow().get(turn).and_then(|turn| turn.firing.clone());
        let Some(firing) = firing.filter(|_| of.manifest.contract.carries) else { return Ok(None) };
        let call = Blake3::of(&[of.manifest.executor.name.as_bytes(), b"\0", &digest(arguments).0].concat());
        let wanted = firing.clone();
        let seen = self.base.store.run(move |db| carried::seen(db, &wanted, call)).await;
        let seen = seen.map_err(|error| internal(&format!("the state of a scheduled call cannot be read: {error}")))?;
        Ok(Some(Carry { firing, call, seen }))
    }

    /// Stores the state that a successful call returned.
    ///
    /// # Errors
    /// When it cannot be stored. The call fails then, and the firing is repeated.
    pub(super) async fn store_state(
        &self,
        (turn, place, trace): (TurnId, CallRef, TraceId),
        carry: Carry,
        acted: &Acted,
    ) -> Result<(), Refusal> {
        if !matches!(acted, Acted::Ran(ran) if ran.outcome == Outcome::Ok) {
            return Ok(());
        }
        let Some(after) = self.returned_state(turn, place, trace).await? else { return Ok(()) };
        let now_ms = self.base.clock.wall_ms();
        let kept = self.base.store.run(move |db| carried::keep(db, &carry, &after, now_ms)).await;
        kept.map_err(|error| not_durable(&error))
    }

    /// The state in the result of this call, resolved by sandboxd; `None` if there is none.
    async fn returned_state(&self, turn: TurnId, place: CallRef, trace: TraceId) -> Result<Option<String>, Refusal> {
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
            _ => Err(internal("sandboxd resolved the state of a call to another value than it reported")),
        }
    }
}
