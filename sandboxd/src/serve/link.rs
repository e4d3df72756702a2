//! One link of policyd: each of its words, passed on once it was admitted.

use std::cell::Cell;
use std::rc::Rc;

use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::PolicydSandboxd;
use metnos_proto::edges::policyd_sandboxd::{self, Ask};
use metnos_proto::json::{self, Limits};
use metnos_proto::link_async::Cx;
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::drafting::{DraftTried, TryTexts};
use metnos_proto::msg::lifecycle::{RevokeTexts, Stage, TextsOf, TryBirth};
use metnos_proto::msg::sandboxd::{
    Birth, Born, ClearFindings, Decided, Fill, Forget, Install, Kill, KilledCount, Pool, PoolListing, Resolve,
    Resolved, Run, RunReport, RunSpeculative, RunWithAccountFile, RunWithAdvice, RunWithInputFile, RunWithOutputFile,
    RunWithSecrets, TrustKey,
};
use metnos_proto::parcel::{MAX_PARCEL_BYTES, Texts};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::TrustPhase;

use super::call::{CallOutput, DecisionLine, not_admitted};
use super::{Service, sealed};
use crate::pool::Sandbox;
use crate::pool::running::NotAdmitted;
use crate::pool::secret_injection::SealedInput;

/// From how many bytes of results on the memory that a turn has passed through is given back at its end.
const LARGE_RESULTS: usize = 256 << 10;

/// One link of policyd, and how far it is.
#[derive(Debug)]
pub(super) struct PolicyLink<S> {
    service: Rc<Service<S>>,
    phase: Cell<TrustPhase>,
}

impl<S: Sandbox> PolicyLink<S> {
    pub(super) const fn new(service: Rc<Service<S>>) -> Self {
        Self { service, phase: Cell::new(TrustPhase::Untrusted) }
    }
}

impl<S: Sandbox> policyd_sandboxd::Serve for PolicyLink<S> {
    fn phase_of(&self, _: &Cx<PolicydSandboxd>, (): (), _: &Ask) -> Result<TrustPhase, ServeError> {
        Ok(self.phase.get())
    }

    /// A key that is refused changes nothing: what was accepted is stored by [`Self::trust`], which does not wait.
    fn enter(&self, _: &Cx<PolicydSandboxd>, (): (), _: Option<TrustPhase>) {}

    async fn trust(self: Rc<Self>, cx: Cx<PolicydSandboxd>, ask: TrustKey, []: [Sealed; 0]) -> Served<Done, 0> {
        self.service.trust(cx.generation, cx.notes(), &ask)?;
        self.phase.set(TrustPhase::Trusted);
        Ok((Done {}, []))
    }

    async fn pool(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, _: Pool, []: [Sealed; 0]) -> Served<PoolListing, 0> {
        let ids = self.service.registry.borrow().ids();
        Ok((PoolListing { entries: self.service.inspect_all(ids).await? }, []))
    }

    async fn birth(self: Rc<Self>, cx: Cx<PolicydSandboxd>, ask: Birth, []: [Sealed; 0]) -> Served<Born, 1> {
        self.service.birth(cx.generation, ask, false).await
    }

    async fn try_birth(self: Rc<Self>, cx: Cx<PolicydSandboxd>, ask: TryBirth, []: [Sealed; 0]) -> Served<Born, 1> {
        self.service.birth(cx.generation, Birth { id: ask.id, digests: ask.digests }, true).await
    }

    async fn try_texts(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: TryTexts,
        [trial]: [Sealed; 1],
    ) -> Served<DraftTried, 1> {
        self.service.try_texts(cx.generation, &ask.id, &trial).await
    }

    async fn stage(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Stage, [texts]: [Sealed; 1]) -> Served<Done, 0> {
        let unfit = |why: String| Refusal::new(RefusalCode::Invalid, "stage.unfit", why);
        let bytes = texts.read().map_err(|error| unfit(error.to_string()))?;
        let limits = Limits { max_bytes: MAX_PARCEL_BYTES, max_depth: 1 };
        let object = json::parse_object(&bytes, limits).map_err(|error| unfit(error.to_string()))?;
        let texts = Texts::read(object).map_err(unfit)?;
        self.service.registry.borrow().stage(&ask.id, &texts)?;
        tracing::info!(id = %ask.id, "staged");
        Ok((Done {}, []))
    }

    async fn texts(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: TextsOf, []: [Sealed; 0]) -> Served<Done, 1> {
        let texts = self.service.registry.borrow().texts(&ask.id, &ask.digests)?;
        Ok((Done {}, [sealed(&texts.document())?]))
    }

    async fn install(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Install, []: [Sealed; 0]) -> Served<Done, 0> {
        self.service.registry.borrow_mut().install(&ask.id, &ask.digests, &ask.signature)?;
        tracing::info!(id = %ask.id, "installed");
        Ok((Done {}, []))
    }

    async fn clear_findings(
        self: Rc<Self>,
        _cx: Cx<PolicydSandboxd>,
        ask: ClearFindings,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.service.registry.borrow_mut().clear_findings(&ask.id, &ask.digests)?;
        tracing::info!(id = %ask.id, "the owner lets it back");
        Ok((Done {}, []))
    }

    async fn revoke_texts(
        self: Rc<Self>,
        _cx: Cx<PolicydSandboxd>,
        ask: RevokeTexts,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.service.registry.borrow_mut().revoke_texts(&ask.id, &ask.digests)?;
        tracing::info!(id = %ask.id, "its signature is revoked");
        Ok((Done {}, []))
    }

    async fn resolve(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Resolve, []: [Sealed; 0]) -> Served<Resolved, 1> {
        self.service.resolve(&ask)
    }

    async fn run(self: Rc<Self>, cx: Cx<PolicydSandboxd>, ask: Run, [arguments]: [Sealed; 1]) -> Served<RunReport, 1> {
        let line = DecisionLine::Known(ask.decision_seq);
        plain(self.service.call(cx.notes(), cx.generation, ask, (arguments, SealedInput::Nothing), line).await)
    }

    async fn fill(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Fill, [arguments]: [Sealed; 1]) -> Served<Done, 1> {
        self.service.fill(&ask, &arguments).await
    }

    async fn run_with_advice(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunWithAdvice,
        [arguments, thought]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        let line = DecisionLine::Known(ask.run.decision_seq);
        plain(
            self.service
                .call(cx.notes(), cx.generation, ask.run, (arguments, SealedInput::Thought(thought)), line)
                .await,
        )
    }

    async fn run_with_secrets(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunWithSecrets,
        [arguments, secrets]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        let line = DecisionLine::Known(ask.run.decision_seq);
        plain(
            self.service
                .call(cx.notes(), cx.generation, ask.run, (arguments, SealedInput::Secrets(secrets)), line)
                .await,
        )
    }

    async fn run_with_input_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunWithInputFile,
        [arguments, file]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        let RunWithInputFile { run, file: digest } = ask;
        let (comes, line) = ((arguments, SealedInput::File(file, digest)), DecisionLine::Known(run.decision_seq));
        plain(self.service.call(cx.notes(), cx.generation, run, comes, line).await)
    }

    async fn run_with_output_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunWithOutputFile,
        [arguments]: [Sealed; 1],
    ) -> Served<RunReport, 2> {
        let (comes, line) = ((arguments, SealedInput::Gives), DecisionLine::Known(ask.run.decision_seq));
        let (report, result, file) = self.service.call(cx.notes(), cx.generation, ask.run, comes, line).await?;
        Ok((report, [result, file.map_or_else(nothing, Ok)?]))
    }

    async fn run_with_account_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunWithAccountFile,
        [arguments, account]: [Sealed; 2],
    ) -> Served<RunReport, 2> {
        let comes = (arguments, SealedInput::GivesFrom(account));
        let line = DecisionLine::Known(ask.run.decision_seq);
        let (report, result, file) = self.service.call(cx.notes(), cx.generation, ask.run, comes, line).await?;
        Ok((report, [result, file.map_or_else(nothing, Ok)?]))
    }

    async fn run_speculative(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        ask: RunSpeculative,
        [arguments]: [Sealed; 1],
    ) -> Served<RunReport, 1> {
        let RunSpeculative { run } = ask;
        let Some(expected) = self.service.speculative.expect(cx.generation, run.call) else {
            return Err(not_admitted(NotAdmitted::Twice).into());
        };
        let (comes, line) = ((arguments, SealedInput::Nothing), DecisionLine::Expected(expected));
        plain(self.service.call(cx.notes(), cx.generation, run, comes, line).await)
    }

    async fn decided(self: Rc<Self>, cx: Cx<PolicydSandboxd>, ask: Decided, []: [Sealed; 0]) -> Served<Done, 0> {
        self.service.speculative.announce(cx.generation, ask.call, ask.decision_seq);
        Ok((Done {}, []))
    }

    async fn kill(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Kill, []: [Sealed; 0]) -> Served<KilledCount, 0> {
        let killed = self.service.running.kill(|whose| ask.turn.is_none() || ask.turn == whose.turn);
        Ok((KilledCount { killed }, []))
    }

    async fn forget(self: Rc<Self>, _cx: Cx<PolicydSandboxd>, ask: Forget, []: [Sealed; 0]) -> Served<Done, 0> {
        let bytes = self.service.results.borrow_mut().forget(ask.turn);
        // A small result has left nothing behind that would be missed, and the next call wants the same memory again.
        if bytes >= LARGE_RESULTS {
            crate::sys::give_back_memory();
        }
        Ok((Done {}, []))
    }
}

/// What comes out of a call that gives no file.
fn plain(out: Result<CallOutput, ServeError>) -> Served<RunReport, 1> {
    out.map(|(report, result, _)| (report, [result]))
}

fn nothing() -> Result<Sealed, Refusal> {
    Sealed::new(b"").map_err(|error| Refusal::new(RefusalCode::Internal, "sandboxd.internal", error.to_string()))
}
