//! The words of policyd and of the owner, answered. It must never run anything for anybody but
//! policyd, nor before policyd has said whose signature counts.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::doc::draft::DraftTrial;
use metnos_proto::doc::sandbox::{EscapeFamily, EscapeTry};
use metnos_proto::edge::{AnswererEnd, Served};
use metnos_proto::edges::policyd_sandboxd::Note;
use metnos_proto::edges::{CtlSandboxd, PolicydSandboxd, SandboxdMemoryd, ctl_sandboxd, policyd_sandboxd};
use metnos_proto::executor::is_name;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::json::{self, Limits};
use metnos_proto::link_async::{Client, Closed, Cx, Notes};
use metnos_proto::msg::common::{ExecutorId, Refusal, RefusalCode};
use metnos_proto::msg::drafting::DraftTried;
use metnos_proto::msg::memoryd::{MAX_EVENT_TEXT, SystemEvent};
use metnos_proto::msg::sandboxd::{
    Alarmed, Birth, Born, Canaries, CanaryReport, PoolEntry, Profiled, ProfilesOf, Quarantined, Resolve, Resolved,
    SandboxReport, SandboxStatus, Selftest, Selftested, TrustKey, Verified, VerifyExecutor,
};
use metnos_proto::parcel::Texts;
use metnos_proto::payload::Sealed;
use serde::Serialize;
use serde_json::Value;

use crate::pool::Sandbox;
use crate::pool::files::FileError;
use crate::pool::registry::Registry;
use crate::pool::results::Results;
use crate::pool::running::{RunOwner, Running};
use crate::pool::speculative::SpeculativeCalls;
use crate::selftest::escape;
use crate::verify::{birth, scan};

pub mod call;
mod link;

use call::not_admitted;
use link::PolicyLink;

/// The most bytes of the reason in a note.
const MAX_WHY: usize = 2000;

/// sandboxd: what may run, what runs, and what came of it.
#[derive(Debug)]
pub struct Service<S> {
    pub(crate) sandbox: S,
    pub(crate) registry: RefCell<Registry>,
    pub(crate) results: RefCell<Results>,
    pub(crate) running: Rc<Running>,
    pub(crate) speculative: Rc<SpeculativeCalls>,
    pub(crate) memory: Rc<Client<SandboxdMemoryd>>,
    pub(crate) draining: Cell<bool>,
    pub(crate) runs_total: Cell<u64>,
    /// The link on which policyd has sent the key of the instance.
    policy: RefCell<Option<(u32, Notes<PolicydSandboxd>)>>,
    trying: Cell<bool>,
}

impl<S: Sandbox> Service<S> {
    /// A service over these parts.
    #[must_use]
    pub fn new(sandbox: S, registry: Registry, memory: Rc<Client<SandboxdMemoryd>>) -> Rc<Self> {
        Rc::new(Self {
            sandbox,
            registry: RefCell::new(registry),
            results: RefCell::default(),
            running: Rc::default(),
            speculative: Rc::default(),
            memory,
            draining: Cell::new(false),
            runs_total: Cell::new(0),
            policy: RefCell::new(None),
            trying: Cell::new(false),
        })
    }

    /// The daemon is ready.
    pub fn ready(&self) {
        self.sandbox.serving();
    }

    /// Serves one link of policyd. When it ends, so does what was run for it: no peer could receive its result.
    pub async fn serve_policyd(self: Rc<Self>, end: AnswererEnd<PolicydSandboxd>) -> Closed {
        let link = end.generation();
        let closed = policyd_sandboxd::serve(end, Rc::new(PolicyLink::new(Rc::clone(&self)))).await;
        self.speculative.forget(link);
        let killed = self.running.kill(|whose| whose.link == link);
        if self.policy.borrow().as_ref().is_some_and(|(trusted, _)| *trusted == link) {
            self.policy.replace(None);
            self.results.borrow_mut().clear();
        }
        if killed > 0 {
            tracing::warn!(killed, "policyd is gone, and what ran for it was stopped");
        }
        self.breach("policyd", &closed).await;
        closed
    }

    /// Serves one link of `metnosctl`.
    pub async fn serve_ctl(self: Rc<Self>, end: AnswererEnd<CtlSandboxd>) -> Closed {
        let closed = ctl_sandboxd::serve(end, Rc::clone(&self)).await;
        self.breach("metnosctl", &closed).await;
        closed
    }

    async fn breach(&self, who: &str, closed: &Closed) {
        match closed {
            Closed::Gone => {}
            Closed::Violation(what) => {
                self.event("violation", &format!("{who} broke the protocol: {what}"), None).await
            }
        }
    }

    /// No new calls; those that run get `grace` to end, then are stopped, and their ends still recorded.
    pub async fn drain(&self, grace: Duration) {
        self.draining.set(true);
        if tokio::time::timeout(grace, self.running.idle()).await.is_err() {
            let killed = self.running.kill(|_| true);
            tracing::warn!(killed, "what was still running was stopped");
            self.running.idle().await;
        }
    }

    /// Notifies policyd and the chronicle that an executor is quarantined.
    pub(crate) async fn quarantine(&self, id: &ExecutorId, why: &str, turn: Option<TurnId>) {
        tracing::warn!(%id, why, "quarantined");
        let notes = self.policy.borrow().as_ref().map(|(_, notes)| notes.clone());
        if let Some(notes) = notes {
            let note = Note::Quarantined(Quarantined { id: id.clone(), why: head(why, MAX_WHY) });
            if let Err(error) = notes.send(note).await {
                // It learns of it from the next listing.
                tracing::warn!(%error, "policyd was not told");
            }
        }
        self.event("quarantine", &format!("{id} is not what was signed: {why}"), turn).await;
    }

    /// Notifies policyd, which notifies the owner.
    pub(crate) async fn send_alarm(&self, id: &ExecutorId, why: &str) {
        let Some(notes) = self.policy.borrow().as_ref().map(|(_, notes)| notes.clone()) else { return };
        let note = Note::Alarmed(Alarmed { id: id.clone(), why: head(why, MAX_WHY) });
        if let Err(error) = notes.send(note).await {
            tracing::warn!(%error, "policyd does not hear of an alarm");
        }
    }

    pub(crate) async fn event(&self, kind: &str, text: &str, turn: Option<TurnId>) {
        let event = SystemEvent { kind: kind.to_owned(), text: head(text, MAX_EVENT_TEXT), turn };
        if let Err(error) = self.memory.system_event(TraceId::NONE, event, []).await {
            tracing::error!(%error, kind, text, "an event could not be recorded");
        }
    }

    /// Looks at these executors, one after the other, and reports those that are quarantined.
    async fn inspect_all(&self, ids: Result<Vec<ExecutorId>, FileError>) -> Result<Vec<PoolEntry>, Refusal> {
        let unreadable = |error: FileError| {
            let (code, remedy) = match &error {
                FileError::TooMany { .. } => (RefusalCode::Busy, "move what is not needed out of workspace/executors"),
                FileError::Missing(_)
                | FileError::NotPlain(_)
                | FileError::TooLong { .. }
                | FileError::Unreadable { .. }
                | FileError::Taken(_)
                | FileError::Later { .. } => (RefusalCode::Unavailable, "try again in a moment"),
            };
            Refusal::new(code, "pool.unreadable", format!("the pool of executors: {error}")).remedy(remedy)
        };
        let mut entries = Vec::new();
        for id in ids.map_err(unreadable)? {
            let looked = self.registry.borrow_mut().inspect(&id).map_err(unreadable)?;
            if let Some(why) = &looked.quarantined {
                self.quarantine(&id, why, None).await;
            }
            entries.push(looked.entry);
            // A pool full of large executors must not hold up what runs.
            tokio::task::yield_now().await;
        }
        Ok(entries)
    }

    fn trust(&self, link: u32, notes: Notes<PolicydSandboxd>, key: &TrustKey) -> Result<(), Refusal> {
        self.registry.borrow_mut().trust(&key.public_key)?;
        // A policyd that starts anew knows of no turn, nor of anything that runs.
        self.running.kill(|whose| whose.link != link);
        self.results.borrow_mut().clear();
        self.policy.replace(Some((link, notes)));
        Ok(())
    }

    async fn birth(&self, link: u32, ask: Birth, tightest: bool) -> Served<Born, 1> {
        if self.draining.get() {
            return Err(Refusal::new(RefusalCode::Busy, "sandboxd.stopping", "sandboxd is stopping").into());
        }
        let slot = self.running.admit(RunOwner { link, turn: None }, None).map_err(not_admitted)?;
        let candidate = match tightest {
            true => self.registry.borrow().for_trial(&ask.id, &ask.digests),
            false => self.registry.borrow().for_birth(&ask.id, &ask.digests),
        };
        let (executor, texts, tests) = candidate?;
        let stillborn = |why: String| Refusal::new(RefusalCode::Invalid, "birth.tests", format!("{}: {why}", ask.id));
        if tightest {
            // Nobody has signed it: its text is looked at before a line of it runs.
            let unfit = |why: String| Refusal::new(RefusalCode::Invalid, "birth.scan", format!("{}: {why}", ask.id));
            scan::run(&self.sandbox, &executor.manifest, &texts.code, slot.kill()).await.map_err(unfit)?;
        }
        let cases =
            birth::run(&self.sandbox, &executor, &tests, birth::BIRTH, || slot.kill()).await.map_err(stillborn)?;
        let candidate = birth::candidate(&texts).map_err(stillborn)?;
        let candidate = Sealed::new(&candidate).map_err(|error| stillborn(error.to_string()))?;
        crate::sys::give_back_memory();
        Ok((Born { cases }, [candidate]))
    }

    /// Tries a draft that lies nowhere: its text is scanned before a line of it runs, and it runs where nothing is granted.
    async fn try_texts(&self, link: u32, id: &ExecutorId, trial: &Sealed) -> Served<DraftTried, 1> {
        if self.draining.get() {
            return Err(Refusal::new(RefusalCode::Busy, "sandboxd.stopping", "sandboxd is stopping").into());
        }
        let unfit = |rule: &str, why: String| Refusal::new(RefusalCode::Invalid, rule, format!("{id}: {why}"));
        let DraftTrial { files, inputs, all } = DraftTrial::read(trial).map_err(|why| unfit("draft.form", why))?;
        let texts = Texts::read(files).map_err(|why| unfit("draft.form", why))?;
        let patience = if all { birth::TRIAL } else { birth::MUTANT };
        let slot = self.running.admit(RunOwner { link, turn: None }, None).map_err(not_admitted)?;
        let executor = self.registry.borrow().for_draft(id, &texts)?;
        let scanned = scan::run(&self.sandbox, &executor.manifest, &executor.code, slot.kill()).await;
        scanned.map_err(|why| unfit("birth.scan", why))?;
        let cases = birth::run(&self.sandbox, &executor, texts.tests.as_bytes(), patience, || slot.kill()).await;
        let cases = cases.map_err(|why| unfit("birth.tests", why))?;
        let holds = cases.iter().all(|case| case.passed);
        let inputs = if holds { inputs } else { Vec::new() };
        let tried = birth::run_inputs(&self.sandbox, &executor, &inputs, || slot.kill()).await;
        let tried = serde_json::to_vec(&tried.map_err(|why| unfit("birth.tests", why))?);
        let tried = tried.map_err(|error| unfit("draft.form", error.to_string()))?;
        let tried = Sealed::new(&tried).map_err(|error| unfit("draft.form", error.to_string()))?;
        crate::sys::give_back_memory();
        Ok((DraftTried { cases }, [tried]))
    }

    fn resolve(&self, ask: &Resolve) -> Served<Resolved, 1> {
        let values = self.results.borrow_mut().values(ask.turn, &ask.references, Limits::ARGUMENTS);
        let values = values.map_err(|error| error.refusal())?;
        let digests = values.iter().map(json::digest).collect();
        Ok((Resolved { digests }, [sealed(&Value::Array(values))?]))
    }

    fn status(&self) -> SandboxReport {
        let registry = self.registry.borrow();
        let interpreter = &registry.installation().interpreter;
        SandboxReport {
            running: u32::try_from(self.running.count()).unwrap_or(u32::MAX),
            runs_total: self.runs_total.get(),
            mode: self.sandbox.mode().name().to_owned(),
            interpreter: format!("{} ({})", interpreter.program, interpreter.version),
            layers: self.sandbox.layers(),
        }
    }
}

impl<S: Sandbox> ctl_sandboxd::Serve for Service<S> {
    async fn verify_executor(
        self: Rc<Self>,
        _cx: Cx<CtlSandboxd>,
        VerifyExecutor { name }: VerifyExecutor,
        []: [Sealed; 0],
    ) -> Served<Verified, 0> {
        if !is_name(&name) {
            return Err(unknown(&name).into());
        }
        let ids = {
            let registry = self.registry.borrow();
            let nobody = ExecutorId { name: name.clone(), version: String::new() };
            registry.trusted().map_err(|denial| denial.refusal(&nobody))?;
            registry.versions(&name)
        };
        let entries = self.inspect_all(ids).await?;
        if entries.is_empty() {
            return Err(unknown(&name).into());
        }
        Ok((Verified { entries }, []))
    }

    async fn canaries(
        self: Rc<Self>,
        _cx: Cx<CtlSandboxd>,
        Canaries {}: Canaries,
        []: [Sealed; 0],
    ) -> Served<CanaryReport, 0> {
        if self.trying.replace(true) {
            return Err(Refusal::new(RefusalCode::Busy, "canaries.running", "the canaries are being tried already")
                .remedy("try again in a moment")
                .into());
        }
        let canaries = self.sandbox.canaries().await;
        self.trying.set(false);
        Ok((CanaryReport { canaries }, []))
    }

    async fn selftest(
        self: Rc<Self>,
        _cx: Cx<CtlSandboxd>,
        Selftest { family }: Selftest,
        []: [Sealed; 0],
    ) -> Served<Selftested, 1> {
        let untried = |why: String| Refusal::new(RefusalCode::Invalid, "selftest.suite", why);
        if family.is_empty() {
            let families = escape::families().map_err(untried)?;
            let about = |family: &escape::Family| EscapeFamily {
                name: family.name.clone(),
                about: family.about.clone(),
                cases: family.cases.len(),
            };
            let families: Vec<EscapeFamily> = families.iter().map(about).collect();
            return Ok((Selftested { tried: 0, held: 0 }, [sealed(&families)?]));
        }
        // One at a time, and stopped with everything else that runs. No link of policyd has this number.
        let slot = self.running.admit(RunOwner { link: 0, turn: None }, None).map_err(not_admitted)?;
        if self.draining.get() || self.trying.replace(true) {
            return Err(Refusal::new(RefusalCode::Busy, "selftest.running", "something is being tried already")
                .remedy("try again in a moment")
                .into());
        }
        let tried = escape::try_all(&self.sandbox, &family, || slot.kill()).await;
        self.trying.set(false);
        let tried = tried.map_err(untried)?;
        let count = |which: &dyn Fn(&EscapeTry) -> bool| {
            u32::try_from(tried.iter().filter(|one| which(one)).count()).unwrap_or(u32::MAX)
        };
        let (all, held) = (count(&|one| !one.skipped), count(&|one| one.held == Some(true)));
        Ok((Selftested { tried: all, held }, [sealed(&tried)?]))
    }

    async fn profiles(
        self: Rc<Self>,
        _cx: Cx<CtlSandboxd>,
        ProfilesOf { name }: ProfilesOf,
        []: [Sealed; 0],
    ) -> Served<Profiled, 1> {
        let ids = if is_name(&name) { self.registry.borrow().versions(&name).unwrap_or_default() } else { Vec::new() };
        if ids.is_empty() {
            return Err(unknown(&name).into());
        }
        let profiles = ids.iter().map(|id| self.registry.borrow().profile(id)).collect::<Result<Vec<_>, _>>()?;
        let versions = u32::try_from(profiles.len()).unwrap_or(u32::MAX);
        Ok((Profiled { versions }, [sealed(&profiles)?]))
    }

    async fn sandbox_status(
        self: Rc<Self>,
        _cx: Cx<CtlSandboxd>,
        SandboxStatus {}: SandboxStatus,
        []: [Sealed; 0],
    ) -> Served<SandboxReport, 0> {
        Ok((self.status(), []))
    }
}

fn unknown(name: &str) -> Refusal {
    let name: String = name.escape_debug().take(80).collect();
    Refusal::new(RefusalCode::Unknown, "executor.unknown", format!("there is no executor `{name}` in the pool"))
        .remedy("`metnosctl executor list` shows those that there are")
}

fn sealed(document: &impl Serialize) -> Result<Sealed, Refusal> {
    Sealed::new(&json::canonical_of(document))
        .map_err(|error| Refusal::new(RefusalCode::Internal, "sandboxd.internal", error.to_string()))
}

fn head(text: &str, most: usize) -> String {
    text.get(..text.floor_char_boundary(most)).unwrap_or_default().to_owned()
}
