//! One call outside any planner's turn: the owner's own, that of an answered card, or a file that goes over a channel.

use std::rc::Rc;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{CallRef, Integrity, Label, Readers, Refusal};
use metnos_proto::msg::memoryd::{DirectTurn, DirectTurnDone};
use metnos_proto::msg::policyd::{Acted, CallRun};
use metnos_proto::payload::Sealed;

use crate::arguments::Arguments;
use crate::calls::call::Call;
use crate::calls::intent;
use crate::calls::opening::OpeningLine;
use crate::calls::outcome::end_of;
use crate::calls::turns::Turn;
use crate::people::principal::Principal;
use crate::policy::Policy;
use crate::refusals::internal;
use crate::text::head;
use crate::vault::guard::told;

/// How a call came about that no planner asked for.
pub(crate) enum By {
    /// The owner has typed it, every argument of it.
    Typed,
    /// This card was approved.
    Card(String),
    /// A person has sent a file over a channel, or asks for one there.
    Sent,
}

impl Policy {
    /// One call of the owner's own, as a turn of its own: what he typed is trusted, the path is the same.
    pub(crate) async fn direct(
        self: &Rc<Self>,
        principal: Principal,
        executor: String,
        arguments: Sealed,
        by: By,
    ) -> Result<(CallRun, Sealed), Refusal> {
        let done = self.direct_with(principal, executor, (arguments, None), by).await;
        done.map(|(run, result, _)| (run, result))
    }

    /// The same with the file that it takes; and the file that it gives.
    pub(crate) async fn direct_with(
        self: &Rc<Self>,
        principal: Principal,
        executor: String,
        (arguments, file): (Sealed, Option<Sealed>),
        by: By,
    ) -> Result<(CallRun, Sealed, Option<Sealed>), Refusal> {
        if let Some(name) = self.secrets.secret_in(std::iter::once(executor.as_str())) {
            return Err(told(&name));
        }
        let (turn, trace, now) = (TurnId::new(), TraceId::new(), self.base.clock.monotonic_ms());
        let name = principal.name.clone();
        let asker = match &by {
            // Without its card, nobody's private folder is shown.
            By::Card(card) => {
                self.approvals.cards.all.borrow().get(card).map(|card| card.principal.clone()).unwrap_or_default()
            }
            By::Typed | By::Sent => name.clone(),
        };
        let world = self.people.world_for(&principal, &asker);
        let mut opened = Turn::new(trace, principal, world, "", now);
        // What stands on his own command line the owner has typed, every argument of it.
        if let Some(typed) = arguments.read().ok().and_then(|bytes| Arguments::parse(&bytes).ok()) {
            opened.flow.intent =
                metnos_policy::evidence::intent::Intent::typed(intent::typed(&executor, typed.value()));
        }
        if matches!(by, By::Sent) {
            // What was sent is another principal's until the owner has looked at it.
            opened.flow.read(Label { integrity: Integrity::Untrusted, readers: Readers::Private }, true);
        }
        if let By::Card(card) = &by {
            self.approvals.cards.as_asked(card, &mut opened.flow);
        }
        let approved = match by {
            By::Card(card) => Some(card),
            By::Typed | By::Sent => None,
        };
        opened.begin_direct();
        let evicted = self.calls.turns.borrow_mut().open(turn, opened, now)?;
        if let Some(evicted) = evicted {
            self.forget(evicted);
        }
        let begun = DirectTurn { turn, trace, principal: name, executor: head(&executor, 64) };
        let card = approved.clone();
        let opening = OpeningLine::due(trace, begun);
        let known = Rc::clone(&opening);
        let call = Call {
            turn,
            place: CallRef(1),
            executor,
            arguments,
            file,
            notes: None,
            approved,
            opening: known,
            counts: false,
        };
        let acted = self.mediate(call).await;
        // What was not even decided opens its turn all the same: its end must have something to end.
        let opened = opening.record(&self.base.memory).await;
        let acted = match (opened, acted) {
            (Err(refusal), Err(_)) => Err(refusal),
            (_, acted) => acted,
        };
        let end = end_of(&acted);
        let result = match &acted {
            Ok(Acted::Ran(ran)) => self
                .calls
                .turns
                .borrow_mut()
                .get_mut(turn)
                .map(|open| crate::policy::hand_over::share(open, ran.handle)),
            Ok(Acted::Denied(_)) | Err(_) => None,
        };
        self.approvals.cards.hand_to_asker(turn, card.as_deref(), &acted);
        let given = self.calls.turns.borrow_mut().end(turn).and_then(|open| open.file);
        self.close_direct(trace, DirectTurnDone { turn, end }).await;
        let nothing = || Sealed::new(b"{}").map_err(|error| internal(&error.to_string()));
        let result = result.unwrap_or_else(nothing)?;
        Ok((CallRun { turn, acted: acted? }, result, given))
    }

    /// Has the end of a direct turn recorded. It is on its way to memoryd, before anything that is said later, when this
    /// returns; whoever called waits for his answer and not for that line, on which nothing depends.
    pub(crate) async fn close_direct(self: &Rc<Self>, trace: TraceId, done: DirectTurnDone) {
        let policy = Rc::clone(self);
        let turn = done.turn;
        let mut closing = Box::pin(async move {
            if let Err(error) = policy.base.memory.direct_turn_done(trace, done, []).await {
                tracing::error!(%error, %turn, "the end of a direct turn could not be recorded");
            }
            policy.forget(turn);
        });
        // The first poll sends.
        let sent = std::future::poll_fn(|cx| std::task::Poll::Ready(closing.as_mut().poll(cx)));
        if tokio::task::unconstrained(sent).await.is_pending() {
            tokio::task::spawn_local(closing);
        }
    }
}
