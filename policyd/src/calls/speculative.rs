//! Handing a call to sandboxd while its decision is still being recorded: sandboxd verifies and makes everything ready
//! meanwhile, and runs nothing before it has heard which line of the chronicle the decision is.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{CallId, TraceId};
use metnos_proto::msg::sandboxd::{Decided, Run, RunReport, RunSpeculative};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use tokio::task::JoinHandle;

use crate::base::Base;
use crate::executors::registry::Signed;

/// What comes of a call.
type Answer = Result<(RunReport, [Sealed; 1]), RpcError>;

/// A call that sandboxd makes ready. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct Speculative {
    base: Rc<Base>,
    call: CallId,
    trace: TraceId,
    /// Of the link to the sandboxd that it was handed to.
    generation: u32,
    answer: Option<JoinHandle<Answer>>,
}

impl Speculative {
    /// Hands a call over ahead of its record. `None` when it must wait: what it is given besides its arguments, a secret, a
    /// model's words or a file, is for a call whose decision stands, and for no other.
    pub(crate) fn prepare(
        base: &Rc<Base>,
        signed: &Signed,
        trace: TraceId,
        run: Run,
        arguments: &Sealed,
    ) -> Option<Self> {
        let given = signed.manifest.mind.is_some()
            || signed.manifest.file.is_some()
            || signed.manifest.message.is_some()
            || signed.manifest.account().is_some()
            || !crate::vault::named(&signed.manifest).is_empty();
        if given || !base.sandbox_ready() {
            return None;
        }
        let (arguments, call, sandbox) = (arguments.share().ok()?, run.call, Rc::clone(base));
        let answer = tokio::task::spawn_local(async move {
            sandbox.ask_sandbox(sandbox.sandbox.run_speculative(trace, RunSpeculative { run }, [arguments])).await
        });
        let generation = *base.sandbox.generations().borrow();
        Some(Self { base: Rc::clone(base), call, trace, generation, answer: Some(answer) })
    }
}

impl Speculative {
    /// Whether it was lost with the sandboxd that it was handed to. That one has not heard the word, so it ran nothing, and
    /// the call may be handed over anew.
    pub(crate) fn is_lost(&self) -> bool {
        self.generation != *self.base.sandbox.generations().borrow()
    }

    /// The decision stands in this line: what came of the call.
    pub(crate) async fn decided(mut self, seq: u64) -> Answer {
        let Some(answer) = self.answer.take() else { return Err(RpcError::Gone(RoleName::Sandboxd)) };
        let told = self.tell(Some(seq));
        let (_, answer) = tokio::join!(biased; told, answer);
        answer.unwrap_or(Err(RpcError::Gone(RoleName::Sandboxd)))
    }

    /// Says what became of the decision, to the sandboxd that was handed the call and to no other: one that has come in its
    /// place does not know policyd yet. A word that does not come through is as good as `None`.
    fn tell(&self, decision_seq: Option<u64>) -> impl Future<Output = ()> + 'static {
        let (base, trace, generation) = (Rc::clone(&self.base), self.trace, self.generation);
        let word = Decided { call: self.call, decision_seq };
        async move {
            if generation != *base.sandbox.generations().borrow() {
                return;
            }
            // Without the scheduler's budget, the first poll sends; nothing comes between the look and that.
            if let Err(error) = tokio::task::unconstrained(base.sandbox.decided(trace, word, [])).await {
                tracing::debug!(%error, "sandboxd has not heard what became of a decision");
            }
        }
    }
}

impl Drop for Speculative {
    fn drop(&mut self) {
        if self.answer.is_some() {
            tokio::task::spawn_local(self.tell(None));
        }
    }
}
