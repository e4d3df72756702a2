//! One call, in the order that nothing may change: verified, resolved, recorded as started, run,
//! judged, recorded as ended, reported. Without the first record nothing runs; without the second
//! nothing is reported. A call that comes ahead of its decision's record is not recorded as started before that is said to
//! stand in the chronicle.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::{RpcError, ServeError, Served};
use metnos_proto::edges::{PolicydSandboxd, SandboxdMemoryd, policyd_sandboxd};
use metnos_proto::executor::KEEP;
use metnos_proto::ids::{Blake3, CallId, TurnId};
use metnos_proto::json::{self, Limits, MAX_DEPTH};
use metnos_proto::link_async::{Client, Notes};
use metnos_proto::msg::common::{
    Done, ExecutorDigests, ExecutorId, InputRef, Outcome, Refusal, RefusalCode, Resources,
};
use metnos_proto::msg::memoryd::{BeforeFound, BeforeOf, Ended, KeepBefore, MAX_BEFORE, Started};
use metnos_proto::msg::sandboxd::{Fill, Run, RunProgress, RunReport};
use metnos_proto::payload::{Filling, Sealed};
use serde_json::Value;
use tokio::sync::{oneshot, watch};

use super::Service;
use crate::confine::approved::Approved;
use crate::confine::hidden::Cover;
use crate::machine::mounted::not_in_the_way;
use crate::plan::Plan;
use crate::pool::named::{NamedPaths, one_name_each, words_name};
use crate::pool::registry::Denial;
use crate::pool::results::Resolved;
use crate::pool::running::{NotAdmitted, RunOwner, Slot};
use crate::pool::secret_injection::{CallInput, SealedInput};
use crate::pool::speculative::Expected;
use crate::pool::{Entry, Job, JobFile, Keeper, Keeping, Sandbox, Secrets};
use crate::verify::Verified;
use crate::verify::output::{Judged, judge};

/// How often an end is sent to a memoryd that was gone or late; it answers a repeated one as it did before.
pub const ENDED_TRIES: u32 = 4;
/// How long to wait before it is sent again, in milliseconds: doubling.
const ENDED_AGAIN_MS: u64 = 200;
/// The least time between two notes about one run, in milliseconds.
pub const PROGRESS_EVERY_MS: u64 = 100;

/// Everything that is certain before a call runs.
struct Prepared {
    verified: Rc<Verified>,
    arguments: Vec<u8>,
    inputs: Vec<InputRef>,
    slot: Slot,
    given: CallInput,
    open: FolderAccess,
    /// The sandbox of this call where it is less than the executor's own.
    only: Option<Plan>,
}

/// What of its folders a call does not see, and what it may write that others may not.
struct FolderAccess {
    covers: Vec<Cover>,
    opens: Vec<String>,
}

/// What comes out of a call: the report, the result, and the file of an executor that gives one and has succeeded.
pub(crate) type CallOutput = (RunReport, Sealed, Option<Sealed>);

/// Where the line of a call's decision is known from.
#[derive(Debug)]
pub enum DecisionLine {
    /// It came with the call.
    Known(u64),
    /// It will be said.
    Expected(Expected),
}

/// Has what a call is about to change recorded by memoryd.
struct WithMemory<'a> {
    memory: &'a Client<SandboxdMemoryd>,
    ask: &'a Run,
    /// The line of its start, once that is recorded.
    started_at: &'a Cell<Option<u64>>,
}

impl std::fmt::Debug for WithMemory<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "what call {} keeps", self.ask.call)
    }
}

impl Keeper for WithMemory<'_> {
    fn keep(&self, before: Vec<u8>) -> Keeping<'_> {
        Box::pin(async move {
            let Run { turn, trace, call, id, .. } = self.ask;
            // It was begun only after its start was recorded.
            let started_seq = self.started_at.get().ok_or("its start is not recorded yet")?;
            let before = String::from_utf8(before).map_err(|_| "what it would keep is no text")?;
            let word = KeepBefore { turn: *turn, trace: *trace, call: *call, id: id.clone(), started_seq, before };
            let kept = self.memory.keep_before(*trace, word, []).await;
            kept.map(drop).map_err(|error| {
                format!("what it was about to change could not be kept, so nothing was changed: {error}")
            })
        })
    }
}

impl<S: Sandbox> Service<S> {
    /// Carries out what policyd has decided.
    pub(crate) async fn call(
        self: &Rc<Self>,
        notes: Notes<PolicydSandboxd>,
        link: u32,
        ask: Run,
        (arguments, comes): (Sealed, SealedInput),
        line: DecisionLine,
    ) -> Result<CallOutput, ServeError> {
        let arguments = arguments.read().map_err(|error| internal(&error.to_string()))?;
        if Blake3::of(&arguments) != ask.arguments {
            return Err(ServeError::Violation(format!(
                "the arguments of call {} are not those that were decided on",
                ask.call
            )));
        }
        let prepared = self.prepare(link, &ask, &arguments, comes).await?;
        let Prepared { verified, arguments, inputs, slot, given, open, only } = prepared;
        let CallInput { secrets, thought, file } = given;
        let into = match &file {
            Some(JobFile::Gives(into)) => Some(Rc::clone(into)),
            Some(JobFile::Takes(_)) | None => None,
        };
        let contract = &verified.executor.manifest.contract;
        let before = if contract.restores { self.before_of(&ask, &arguments).await? } else { None };
        let began = self.results.borrow_mut().begin(ask.turn, ask.place);
        began.map_err(|error| error.refusal())?;
        let (recorded, begin) = oneshot::channel();
        let started_at = Cell::new(None);
        let start = async {
            let seq = self.started(&ask, line, &inputs).await?;
            started_at.set(Some(seq));
            self.runs_total.set(self.runs_total.get().saturating_add(1));
            // It can only have been stopped meanwhile.
            let _ = recorded.send(());
            Ok::<u64, Refusal>(seq)
        };
        let entry = match file {
            Some(file) => Entry::Filed { args: arguments, file },
            None if contract.restores => Entry::Undoing { args: arguments, before },
            None => Entry::Call { args: arguments, thought },
        };
        let with_memory = WithMemory { memory: &self.memory, ask: &ask, started_at: &started_at };
        let keeper = contract.keeps.then_some(&with_memory as &dyn Keeper);
        let plan = only.as_ref().unwrap_or(&verified.executor.plan);
        let running = self.execute((&verified, plan), (entry, &secrets, &open, keeper), &slot, &ask, notes, begin);
        // Made ready while its start is recorded; it runs only after that.
        let (started, judged) = tokio::join!(start, running);
        let started_seq = match started {
            Ok(seq) => seq,
            Err(refusal) => {
                self.results.borrow_mut().give_up(ask.turn, ask.place);
                return Err(refusal.into());
            }
        };
        // Made before the record, so that its failure is found before anything is promised.
        let sealed = Sealed::new(&judged.bytes);
        // Nobody else has it by now. What a call that failed has given is no file.
        let given = into.and_then(Rc::into_inner).filter(|_| judged.outcome == Outcome::Ok).map(RefCell::into_inner);
        let given = given.map(Filling::seal).transpose().map_err(|error| error.to_string());
        let given = given.and_then(|file| secrets.not_in(file));
        drop(secrets);
        let ended = self.ended(&ask, &judged, started_seq).await;
        drop(slot);
        if let Err(refusal) = ended {
            self.results.borrow_mut().give_up(ask.turn, ask.place);
            return Err(refusal.into());
        }
        let (report, [result]) = self.report(&ask, inputs, &judged, sealed)?;
        let given = given.map_err(|error| internal(&format!("{}'s file cannot be handed on: {error}", ask.id)))?;
        Ok((report, result, given))
    }

    /// Verifies and resolves; takes a place among the running.
    async fn prepare(
        self: &Rc<Self>,
        link: u32,
        ask: &Run,
        arguments: &[u8],
        comes: SealedInput,
    ) -> Result<Prepared, Refusal> {
        if self.draining.get() {
            return Err(Refusal::new(RefusalCode::Busy, "sandboxd.stopping", "sandboxd is stopping")
                .remedy("try again in a moment"));
        }
        let slot = self.running.admit(RunOwner { link, turn: Some(ask.turn) }, Some(ask.call)).map_err(not_admitted)?;
        let verified = self.verified(ask.turn, &ask.id, &ask.digests).await?;
        not_in_the_way(self.sandbox.mounted(), &verified.executor.plan)?;
        let only = ask.only.as_ref().map(|folders| verified.executor.plan.only(folders));
        let only = only.transpose().map_err(|error| {
            let why = format!("{} does not run: what it is granted cannot be narrowed: {error}", ask.id);
            Refusal::new(RefusalCode::Internal, "sandbox.narrow", why)
        })?;
        let given = CallInput::read(comes, &verified, &ask.id)?;
        let (bytes, inputs) = self.filled(ask.turn, &ask.id, &verified, arguments)?;
        let plan = only.as_ref().unwrap_or(&verified.executor.plan);
        self.sandbox.room(plan).map_err(|why| {
            Refusal::new(RefusalCode::Unavailable, "sandbox.disk_full", format!("{} does not run: {why}", ask.id))
                .remedy("make room on the disk, then try again; what only reads still runs")
        })?;
        let open = self.find_covers(&verified, plan, arguments, &ask.own).await?;
        Ok(Prepared { verified, arguments: bytes, inputs, slot, given, open, only })
    }

    /// What must not exist in the call's world, which is made by `plan`. Only what its own words name is left there: what a
    /// reference brings was not read when it was decided.
    async fn find_covers(
        &self,
        verified: &Verified,
        plan: &Plan,
        arguments: &[u8],
        own: &str,
    ) -> Result<FolderAccess, Refusal> {
        let executor = &verified.executor;
        let NamedPaths { secrets, kept: opens } = words_name(&executor.manifest, plan, arguments)?;
        let covers = self.sandbox.find_covers(plan, &secrets, own).await.map_err(|why| {
            Refusal::new(
                RefusalCode::Unavailable,
                "sandbox.look_through",
                format!("{} does not run: {why}", executor.id),
            )
            .remedy(
                "what a call must not see is looked for before it runs; make the folder smaller, or grant a part of it",
            )
        })?;
        Ok(FolderAccess { covers, opens })
    }

    async fn verified(
        self: &Rc<Self>,
        turn: TurnId,
        id: &ExecutorId,
        digests: &ExecutorDigests,
    ) -> Result<Rc<Verified>, Refusal> {
        let found = self.registry.borrow_mut().for_run(id, digests);
        match found {
            Ok(verified) => Ok(verified),
            Err(denial) => {
                if let Denial::Found(why) = &denial {
                    self.quarantine(id, why, Some(turn)).await;
                }
                Err(denial.refusal(id))
            }
        }
    }

    /// The arguments with their references resolved, as the executor gets them, and where those came from.
    fn filled(
        &self,
        turn: TurnId,
        id: &ExecutorId,
        verified: &Verified,
        arguments: &[u8],
    ) -> Result<(Vec<u8>, Vec<InputRef>), Refusal> {
        let resolved = self.results.borrow_mut().resolve(turn, arguments);
        let Resolved { arguments, bytes, inputs } = resolved.map_err(|error| error.refusal())?;
        if let Some(fault) = verified.executor.contract.input_fault(&arguments) {
            let why = format!("the arguments of {id}, with their references resolved, do not fit its schema: {fault}");
            return Err(Refusal::new(RefusalCode::Invalid, "schema.input", why));
        }
        one_name_each(&verified.executor.manifest, &verified.executor.plan, &arguments)?;
        Ok((bytes, inputs))
    }

    /// The arguments of a call that a model is to think about first. Nothing runs, and nothing is recorded.
    pub(crate) async fn fill(self: &Rc<Self>, ask: &Fill, arguments: &Sealed) -> Served<Done, 1> {
        let arguments = arguments.read().map_err(|error| internal(&error.to_string()))?;
        let verified = self.verified(ask.turn, &ask.id, &ask.digests).await?;
        let (bytes, _) = self.filled(ask.turn, &ask.id, &verified, &arguments)?;
        Ok((Done {}, [Sealed::new(&bytes).map_err(|error| internal(&error.to_string()))?]))
    }

    /// Has the start made durable, once the decision is; the number of its line.
    async fn started(&self, ask: &Run, line: DecisionLine, inputs: &[InputRef]) -> Result<u64, Refusal> {
        let decision_seq = match line {
            DecisionLine::Known(seq) => seq,
            DecisionLine::Expected(expected) => expected.line().await.ok_or_else(|| undecided(&ask.id))?,
        };
        let word = Started {
            turn: ask.turn,
            trace: ask.trace,
            call: ask.call,
            place: ask.place,
            id: ask.id.clone(),
            arguments: ask.arguments,
            profile: ask.digests.profile,
            decision_seq,
            inputs: inputs.to_vec(),
        };
        match self.memory.started(ask.trace, word, []).await {
            Ok((recorded, [])) => Ok(recorded.seq),
            Err(error) => {
                let why = format!("the start of {} could not be recorded, so nothing was run: {error}", ask.id);
                Err(unrecorded(why))
            }
        }
    }

    /// Runs it and judges what came. What was stopped meanwhile does not begin.
    async fn execute(
        &self,
        (verified, plan): (&Verified, &Plan),
        (entry, secrets, open, keeper): (Entry, &Secrets, &FolderAccess, Option<&dyn Keeper>),
        slot: &Slot,
        ask: &Run,
        notes: Notes<PolicydSandboxd>,
        begin: oneshot::Receiver<()>,
    ) -> Judged {
        if slot.is_killed() {
            let nothing = Resources::NONE;
            return Judged::without_result(Outcome::Killed, "before it began", nothing);
        }
        let executor = &verified.executor;
        let (progress, reports) = watch::channel((0, 0));
        let tell = |done, total| {
            progress.send_replace((done, total));
        };
        let code = executor.code.as_slice();
        let (turn, call, kill, begin) = (Some(ask.turn), ask.call, slot.kill(), Some(begin));
        let approved = Approved(Some(&ask.folders));
        let job = Job {
            turn,
            plan,
            code,
            entry,
            secrets,
            progress: &tell,
            approved,
            covers: Some(&open.covers),
            opens: &open.opens,
            kill,
            begin,
            keeper,
        };
        let finished = tokio::select! {
            biased;
            finished = self.sandbox.run(job) => finished,
            never = forward(reports, notes, call) => match never {},
        };
        let finished = secrets.withhold(finished);
        if !finished.alarms.is_empty() {
            let (id, told) = (&executor.id, finished.alarms.join("; "));
            let text = format!("{id} tried in call {call} what no executor has a use for: {told}");
            tracing::warn!(%id, %call, told, "an alarm");
            self.event("alarm", &text, Some(ask.turn)).await;
            self.send_alarm(id, &format!("call {call}: {told}")).await;
        }
        if finished.outcome != Outcome::Ok || !finished.log.is_empty() {
            let (outcome, detail, log) = (finished.outcome.name(), &finished.detail, &finished.log);
            tracing::debug!(id = %executor.id, %call, outcome, %detail, ?log, "an executor has ended");
        }
        judge(executor, finished)
    }

    /// What the call that this one takes back had kept; `None` when there is nothing.
    async fn before_of(&self, ask: &Run, arguments: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let earlier = serde_json::from_slice::<Value>(arguments).ok();
        let earlier = earlier.and_then(|all| all.get(KEEP)?.as_str()?.parse::<CallId>().ok());
        let Some(call) = earlier else {
            let why = format!("{} takes back another call, and its arguments name none", ask.id);
            return Err(Refusal::new(RefusalCode::Invalid, "before.call", why));
        };
        let gone = |why: String| unrecorded(format!("what call {call} had kept could not be read: {why}"));
        let found = self.memory.before_of(ask.trace, BeforeOf { turn: ask.turn, call }, []).await;
        let (BeforeFound { before }, []) = found.map_err(|error| gone(error.to_string()))?;
        let Some(before) = before else { return Ok(None) };
        let limits = Limits { max_bytes: MAX_BEFORE, max_depth: MAX_DEPTH };
        let object = json::parse_object(before.as_bytes(), limits).map_err(|error| gone(error.to_string()))?;
        Ok(Some(json::canonical(&Value::Object(object))))
    }

    /// Has the end made durable, also when memoryd is being restarted.
    async fn ended(&self, ask: &Run, judged: &Judged, started_seq: u64) -> Result<(), Refusal> {
        let word = Ended {
            turn: ask.turn,
            trace: ask.trace,
            call: ask.call,
            id: ask.id.clone(),
            outcome: judged.outcome,
            error_class: judged.error_class.clone(),
            result: judged.digest,
            resources: judged.resources.clone(),
            started_seq,
        };
        let mut wait_ms = ENDED_AGAIN_MS;
        let mut tries = 1;
        loop {
            let error = match self.memory.ended(ask.trace, word.clone(), []).await {
                Ok((_, [])) => return Ok(()),
                Err(error) => error,
            };
            let again = matches!(error, RpcError::Gone(_) | RpcError::Late { .. }) && tries < ENDED_TRIES;
            if !again {
                tracing::error!(%error, call = %ask.call, "an end could not be recorded");
                let why =
                    format!("{} ran, but its end could not be recorded, so its result is withheld: {error}", ask.id);
                return Err(unrecorded(why));
            }
            tokio::time::sleep(Duration::from_millis(wait_ms)).await;
            (tries, wait_ms) = (tries + 1, wait_ms * 2);
        }
    }

    /// Keeps the result for later references, and hands it on.
    fn report(
        &self,
        ask: &Run,
        inputs: Vec<InputRef>,
        judged: &Judged,
        sealed: Result<Sealed, metnos_proto::payload::PayloadError>,
    ) -> Served<RunReport, 1> {
        let sealed = sealed.and_then(|sealed| Ok((sealed.share()?, sealed)));
        let (kept, sealed) = match sealed {
            Ok(both) => both,
            Err(error) => {
                self.results.borrow_mut().give_up(ask.turn, ask.place);
                let why = format!("{} ran, but there is no memory to hand its result on: {error}", ask.id);
                return Err(internal(&why));
            }
        };
        if !self.results.borrow_mut().keep(ask.turn, ask.place, ask.call, kept) {
            tracing::debug!(turn = %ask.turn, place = %ask.place, "a result is not kept for later calls");
        }
        let report = RunReport {
            outcome: judged.outcome,
            result: judged.digest,
            leaves: judged.leaves(),
            inputs,
            resources: judged.resources.clone(),
        };
        Ok((report, [sealed]))
    }
}

/// Passes on how far a run is: the latest word, and not too often. Ends when it is dropped.
async fn forward(mut reports: watch::Receiver<(u64, u64)>, notes: Notes<PolicydSandboxd>, call: CallId) -> Infallible {
    while reports.changed().await.is_ok() {
        let (done, total) = *reports.borrow_and_update();
        let note = policyd_sandboxd::Note::RunProgress(RunProgress { call, done, total });
        if notes.send(note).await.is_err() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(PROGRESS_EVERY_MS)).await;
    }
    std::future::pending().await
}

pub(crate) fn not_admitted(why: NotAdmitted) -> Refusal {
    match why {
        NotAdmitted::Full => {
            let why = format!("{} calls are running, which is the limit", crate::pool::running::MAX_RUNNING);
            Refusal::new(RefusalCode::Busy, "quota.concurrent", why).remedy("try again in a moment")
        }
        NotAdmitted::Twice => {
            Refusal::new(RefusalCode::Denied, "call.twice", "this very call was run before; nothing runs twice")
        }
    }
}

fn undecided(id: &ExecutorId) -> Refusal {
    let why = format!("policyd has not said that its decision about {id} stands in the chronicle, so nothing was run");
    Refusal::new(RefusalCode::Unavailable, "decision.unrecorded", why)
        .remedy("try again in a moment, or look at `metnosctl status`")
}

fn unrecorded(why: String) -> Refusal {
    Refusal::new(RefusalCode::Unavailable, "memory.gone", why)
        .remedy("memoryd is restarted by itself; try again in a moment, or look at `metnosctl status`")
}

fn internal(why: &str) -> ServeError {
    Refusal::new(RefusalCode::Internal, "sandboxd.internal", why).remedy("look at the log of sandboxd").into()
}
