//! What goes along with a call and what is left of it: secrets in, costs out. Nothing of a secret gets
//! further than sandboxd, sealed, with the one call that was decided.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::executor::FileTransfer;
use metnos_proto::ids::{Blake3, CallId, HandleId, TraceId, TurnId};
use metnos_proto::json::{self, JsonError};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::{
    Kill, MAX_LEAVES, Run, RunReport, RunWithAccountFile, RunWithAdvice, RunWithInputFile, RunWithOutputFile,
    RunWithSecrets,
};
use metnos_proto::payload::Sealed;

use crate::arguments::{Arguments, Resolved};
use crate::calls::path_locks::PathLock;
use crate::calls::turns::Turn;
use crate::executors::registry::Signed;
use crate::policy::Policy;
use crate::refusals::internal;
use crate::vault::accounts;

impl Policy {
    /// The locks on what a granted call changes, held or waited for.
    ///
    /// # Errors
    /// When too many wait already.
    pub(crate) fn path_lock(
        &self,
        signed: &Signed,
        arguments: &Result<Arguments, JsonError>,
        resolved: &Result<Resolved, Refusal>,
    ) -> Result<Option<PathLock>, Refusal> {
        let (Ok(arguments), Ok(resolved)) = (arguments, resolved) else { return Ok(None) };
        let filled = arguments.fill(&signed.spec, resolved);
        let value = filled.as_ref().map_or(arguments.value(), |filled| &filled.value);
        self.calls.path_locks.queue(&signed.manifest, &signed.spec, value, &self.base.setting.places)
    }

    /// Waits until nothing before a call changes the same paths.
    ///
    /// # Errors
    /// When that takes too long; nothing ran then.
    pub(crate) async fn turn_comes(
        &self,
        turn: TurnId,
        executor: &ExecutorId,
        lock: Option<&PathLock>,
    ) -> Result<(), Refusal> {
        let Some(lock) = lock else { return Ok(()) };
        lock.held().await.inspect_err(|refusal| {
            let why = format!("{executor} was allowed and did not run: {}: {}", refusal.rule, refusal.why);
            self.base.event("refused", &why, Some(turn));
        })
    }

    /// Whether the report is about this result and this turn. The bytes are hashed, never read for what they say.
    pub(crate) fn fitting(&self, turn: TurnId, report: &RunReport, result: &Sealed) -> Result<(), String> {
        if report.leaves.len() > MAX_LEAVES {
            return Err(format!("{} leaves, {MAX_LEAVES} is the limit", report.leaves.len()));
        }
        if report.leaves.iter().any(|leaf| !json::is_pointer(&leaf.pointer)) {
            return Err("a leaf that is at no place in a document".to_owned());
        }
        let bytes = result.read().map_err(|error| error.to_string())?;
        if Blake3::of(&bytes) != report.result {
            return Err("the result is not the one that it names".to_owned());
        }
        let turns = self.calls.turns.borrow();
        let Some(open) = turns.get(turn) else { return Ok(()) };
        let foreign = |from: CallId| !open.kept().any(|kept| kept.call == from);
        if report.inputs.iter().any(|input| foreign(input.from)) {
            return Err("it names an input that is no result of this turn".to_owned());
        }
        Ok(())
    }

    /// To sandboxd, with what a model says about the arguments where the manifest asks for that, or with the secrets that the owner gives this executor in this very moment, and only for this call.
    pub(crate) async fn hand_over(
        &self,
        signed: &Signed,
        trace: TraceId,
        run: Run,
        arguments: Sealed,
        file: Option<Sealed>,
    ) -> Result<(RunReport, [Sealed; 1]), RpcError> {
        if let Some(thinking) = &signed.manifest.mind {
            let thought = self.thought_about(signed, thinking, &run, &arguments).await?;
            let ask = RunWithAdvice { run };
            return self.base.ask_sandbox(self.base.sandbox.run_with_advice(trace, ask, [arguments, thought])).await;
        }
        if let Some(message) = &signed.manifest.message {
            self.pass_on(signed, message, &run, &arguments).await?;
        }
        if let Some(way) = &signed.manifest.file {
            return self.hand_file((signed, way), trace, run, arguments, file).await;
        }
        if let Some(account) = self.account_of(run.turn, signed, &arguments).map_err(RpcError::Refused)? {
            let ask = RunWithSecrets { run };
            return self.base.ask_sandbox(self.base.sandbox.run_with_secrets(trace, ask, [arguments, account])).await;
        }
        match self.secrets.secrets_for(signed).map_err(RpcError::Refused)? {
            None => self.base.ask_sandbox(self.base.sandbox.run(trace, run, [arguments])).await,
            Some(secrets) => {
                self.base
                    .ask_sandbox(self.base.sandbox.run_with_secrets(
                        trace,
                        RunWithSecrets { run },
                        [arguments, secrets],
                    ))
                    .await
            }
        }
    }

    /// The account that a call is about, of the person whose turn it is, as it is in this very moment; `None` where it is about
    /// none.
    fn account_of(&self, turn: TurnId, signed: &Signed, arguments: &Sealed) -> Result<Option<Sealed>, Refusal> {
        let Some(kind) = signed.manifest.account() else { return Ok(None) };
        let holder = self.calls.turns.borrow().get(turn).and_then(|open| open.world.account_holder.clone());
        let bytes = arguments.read().map_err(|error| internal(&error.to_string()))?;
        let arguments = Arguments::parse(&bytes).map_err(|error| internal(&error.to_string()))?;
        let sends = signed.manifest.sends_mail();
        let wanted = accounts::Wanted { kind, named: accounts::named_in(arguments.value()), sends };
        self.secrets.account_for(holder.as_deref(), wanted).map(Some)
    }

    /// The same with the file that it takes, or for one that it gives: the turn keeps that one for its asker, and for a later
    /// call that takes one.
    async fn hand_file(
        &self,
        (signed, way): (&Signed, &FileTransfer),
        trace: TraceId,
        run: Run,
        arguments: Sealed,
        file: Option<Sealed>,
    ) -> Result<(RunReport, [Sealed; 1]), RpcError> {
        if way.gives().is_some() {
            let turn = run.turn;
            let sandbox = &self.base.sandbox;
            let given = match self.account_of(turn, signed, &arguments).map_err(RpcError::Refused)? {
                Some(account) => {
                    let ask = RunWithAccountFile { run };
                    self.base.ask_sandbox(sandbox.run_with_account_file(trace, ask, [arguments, account])).await
                }
                None => {
                    let ask = RunWithOutputFile { run };
                    self.base.ask_sandbox(sandbox.run_with_output_file(trace, ask, [arguments])).await
                }
            };
            let (report, [result, file]) = given?;
            if let Some(open) = self.calls.turns.borrow_mut().get_mut(turn) {
                open.file = Some(file);
            }
            return Ok((report, [result]));
        }
        let missing = || internal("an executor was allowed that takes a file, and there is none");
        let file = file.ok_or_else(|| RpcError::Refused(missing()))?;
        let digest = file.digest().map_err(|error| RpcError::Refused(internal(&error.to_string())))?;
        let ask = RunWithInputFile { run, file: digest };
        self.base.ask_sandbox(self.base.sandbox.run_with_input_file(trace, ask, [arguments, file])).await
    }

    /// Gives the planner the bytes behind a handle, if no secret stands in them.
    ///
    /// # Errors
    /// When there is no such result, or it holds a secret.
    pub(crate) fn show(&self, turn: &mut Turn, handle: HandleId) -> Result<Sealed, Refusal> {
        if turn.is_secret(handle) {
            let why = "it comes from a file that holds secrets, and what a planner is shown goes into a prompt";
            return Err(Refusal::new(RefusalCode::Denied, "secret.release", why)
                .remedy("`metnosctl run fs_read path=…` shows such a file at the machine"));
        }
        if let Some(result) = turn.behind(handle) {
            self.secrets.holds_no_secret(&result)?;
        }
        share(turn, handle)
    }

    /// sandboxd went away, or did not answer, with the call in the middle.
    pub(crate) fn interrupted(self: &Rc<Self>, turn: TurnId, executor: &ExecutorId, error: &RpcError) -> Refusal {
        self.base.event("interrupted", &format!("{executor}: {error}"), Some(turn));
        if matches!(error, RpcError::Late { .. }) {
            let policy = Rc::clone(self);
            tokio::task::spawn_local(async move {
                let kill = policy.base.sandbox.kill(TraceId::NONE, Kill { turn: Some(turn) }, []);
                if let Err(error) = policy.base.ask_sandbox(kill).await {
                    tracing::error!(%error, %turn, "what is late could not be stopped");
                }
            });
        }
        Refusal::new(RefusalCode::Unavailable, "interrupted", format!("{executor} was interrupted: {error}"))
            .remedy("whether it came to its end is in the chronicle; ask again")
    }
}

/// Raises the label, then gives the bytes.
///
/// # Errors
/// When there is no such result.
pub(crate) fn share(turn: &mut Turn, handle: HandleId) -> Result<Sealed, Refusal> {
    let unknown = || Refusal::new(RefusalCode::Unknown, "handle.unknown", format!("this turn has no result {handle}"));
    let result = turn.release(handle).ok_or_else(unknown)?;
    result.share().map_err(|error| internal(&error.to_string()))
}
