//! What goes along with a call and what is left of it: secrets in, costs out. Nothing of a secret gets past this file but
//! sealed, to sandboxd, with the one call that was decided.

use std::rc::Rc;

use metnos_proto::edge::RpcError;
use metnos_proto::executor::FileTransfer;
use metnos_proto::ids::{Blake3, CallId, HandleId, TraceId, TurnId};
use metnos_proto::json::JsonError;
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::CostStage;
use metnos_proto::msg::policyd::Acted;
use metnos_proto::msg::sandboxd::{
    Kill, Run, RunReport, RunWithAdvice, RunWithInputFile, RunWithOutputFile, RunWithSecrets,
};
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::calls::act::Call;
use crate::calls::turns::Turn;
use crate::executors::registry::Signed;
use crate::policy::Policy;
use crate::refusals::internal;
use crate::vault;

impl Policy {
    /// To sandboxd, with what a model says about the arguments where the manifest asks for that, or with the secrets that the owner gives this executor in this very moment, and only for this call.
    pub(crate) async fn hand_over(
        self: &Rc<Self>,
        signed: &Signed,
        trace: TraceId,
        run: Run,
        arguments: Sealed,
        file: Option<Sealed>,
    ) -> Result<(RunReport, [Sealed; 1]), RpcError> {
        if let Some(thinking) = &signed.manifest.mind {
            let thought = self.thought_about(signed, thinking, &run, &arguments).await?;
            let ask = RunWithAdvice { run };
            return self.ask_sandbox(self.sandbox.run_with_advice(trace, ask, [arguments, thought])).await;
        }
        if let Some(way) = &signed.manifest.file {
            return self.hand_file(way, trace, run, arguments, file).await;
        }
        match self.secrets_for(signed).map_err(RpcError::Refused)? {
            None => self.ask_sandbox(self.sandbox.run(trace, run, [arguments])).await,
            Some(secrets) => {
                self.ask_sandbox(self.sandbox.run_with_secrets(trace, RunWithSecrets { run }, [arguments, secrets]))
                    .await
            }
        }
    }

    /// The same with the file that it takes, or for one that it gives: the turn keeps that one for its asker.
    async fn hand_file(
        self: &Rc<Self>,
        way: &FileTransfer,
        trace: TraceId,
        run: Run,
        arguments: Sealed,
        file: Option<Sealed>,
    ) -> Result<(RunReport, [Sealed; 1]), RpcError> {
        if way.gives().is_some() {
            let turn = run.turn;
            let given = self
                .ask_sandbox(self.sandbox.run_with_output_file(trace, RunWithOutputFile { run }, [arguments]))
                .await;
            let (report, [result, file]) = given?;
            if let Some(open) = self.turns.borrow_mut().get_mut(turn) {
                open.file = Some(file);
            }
            return Ok((report, [result]));
        }
        let missing = || internal("an executor was allowed that takes a file, and there is none");
        let file = file.ok_or_else(|| RpcError::Refused(missing()))?;
        let digest = file.digest().map_err(|error| RpcError::Refused(internal(&error.to_string())))?;
        let ask = RunWithInputFile { run, file: digest };
        self.ask_sandbox(self.sandbox.run_with_input_file(trace, ask, [arguments, file])).await
    }

    /// Arguments that hold a secret go no further than this: neither into a record nor to sandboxd.
    pub(crate) fn without_secret(
        &self,
        call: &mut Call,
        digest: &mut Blake3,
        arguments: Result<Arguments, JsonError>,
    ) -> Result<(Result<Arguments, JsonError>, Option<String>), Refusal> {
        if self.house().vault.borrow().is_empty() {
            return Ok((arguments, None));
        }
        let bytes = call.arguments.read().map_err(|error| internal(&error.to_string()))?;
        // As it was written, and as it is read.
        let written = String::from_utf8_lossy(&bytes);
        let mut all = arguments.as_ref().map(|arguments| texts(arguments.value())).unwrap_or_default();
        all.push(written.as_ref());
        let told = self.secret_in(all.into_iter());
        let told = told.or_else(|| self.secret_in(std::iter::once(call.executor.as_str())));
        let Some(name) = told else {
            drop(written);
            return Ok((arguments, None));
        };
        let nothing = b"{}";
        call.arguments = Sealed::new(nothing).map_err(|error| internal(&error.to_string()))?;
        *digest = Blake3::of(nothing);
        if self.secret_in(std::iter::once(call.executor.as_str())).is_some() {
            "withheld".clone_into(&mut call.executor);
        }
        Ok((Arguments::parse(nothing), Some(name)))
    }

    /// The same for a question about a call that nobody makes.
    pub(crate) fn told_in_question(
        &self,
        arguments: Result<Arguments, JsonError>,
        bytes: &[u8],
    ) -> (Result<Arguments, JsonError>, Option<String>) {
        let written = String::from_utf8_lossy(bytes);
        let mut all = arguments.as_ref().map(|arguments| texts(arguments.value())).unwrap_or_default();
        all.push(written.as_ref());
        match self.secret_in(all.into_iter()) {
            Some(name) => (Arguments::parse(b"{}"), Some(name)),
            None => (arguments, None),
        }
    }

    /// Refuses bytes that hold a secret: they are shown to no planner and to no model. They are searched, and not read.
    ///
    /// # Errors
    /// Which secret, never its value.
    pub(crate) fn holds_no_secret(&self, sealed: &Sealed) -> Result<(), Refusal> {
        if self.house().vault.borrow().is_empty() {
            return Ok(());
        }
        let bytes = sealed.read().map_err(|error| internal(&error.to_string()))?;
        let written = String::from_utf8_lossy(&bytes);
        // As it was before JSON wrote it: good enough to find a text in, and for nothing else.
        let read = written.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\\\", "\\");
        match self.secret_in([&*written, &*read].into_iter()) {
            None => Ok(()),
            Some(name) => Err(Refusal::new(
                RefusalCode::Denied,
                vault::TOLD,
                format!("it holds the secret `{name}`, which is shown to nobody"),
            )
            .remedy("take it out of where it stands; an executor that needs it is given it by policyd")),
        }
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
            self.holds_no_secret(&result)?;
        }
        share(turn, handle)
    }

    /// What a call did cost: its price when it ran or may have, nothing when it certainly did not.
    pub(crate) async fn settle_cost(
        &self,
        entry: (CallId, TurnId, TraceId),
        whose: (&str, &ExecutorId),
        price: u64,
        ran: &Result<Acted, Refusal>,
    ) {
        let micro = match ran {
            Ok(Acted::Ran(_)) => price,
            Ok(Acted::Denied(_)) => 0,
            // Whether it ran is not known: the estimate stays.
            Err(_) => return,
        };
        if let Err(refusal) = self.ledger(CostStage::Actual, entry, whose, micro).await {
            tracing::warn!(why = refusal.why, "a cost could not be settled; the estimate counts");
        }
    }

    /// sandboxd went away, or did not answer, with the call in the middle.
    pub(crate) fn interrupted(self: &Rc<Self>, turn: TurnId, executor: &ExecutorId, error: &RpcError) -> Refusal {
        self.event("interrupted", &format!("{executor}: {error}"), Some(turn));
        if matches!(error, RpcError::Late { .. }) {
            let policy = Rc::clone(self);
            tokio::task::spawn_local(async move {
                let kill = policy.sandbox.kill(TraceId::NONE, Kill { turn: Some(turn) }, []);
                if let Err(error) = policy.ask_sandbox(kill).await {
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

/// Every text of a document: keys and values.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.iter().flat_map(|(key, value)| [vec![key.as_str()], texts(value)].concat()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
