//! A sandboxd that notes what it is handed, runs nothing, and lies on demand.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policyd::executors::seeds::Seed;
use metnos_proto::doc::draft::DraftTrial;
use metnos_proto::edge::{ServeError, Served, Word};
use metnos_proto::edges::PolicydSandboxd;
use metnos_proto::edges::policyd_sandboxd::{Ask, Note, Serve};
use metnos_proto::ids::{Blake3, CallId};
use metnos_proto::json;
use metnos_proto::link_async::{Cx, Notes};
use metnos_proto::msg::common::{
    Done, ExecutorDigests, ExecutorId, InputRef, Leaf, Outcome, Refusal, RefusalCode, Resources,
};
use metnos_proto::msg::drafting::{DraftTried, TryTexts};
use metnos_proto::msg::lifecycle::{RevokeTexts, Stage, TextsOf, TryBirth};
use metnos_proto::msg::sandboxd::{
    Birth, BirthCase, Born, ClearFindings, Decided, Fill, Forget, Install, Kill, KilledCount, Pool, PoolEntry,
    PoolListing, Resolve, Resolved, Run, RunReport, RunSpeculative, RunWithAccountFile, RunWithAdvice,
    RunWithInputFile, RunWithOutputFile, RunWithSecrets, TrustKey,
};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::TrustPhase;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use super::{Log, testing};

/// An executor as it lies in the pool.
#[derive(Debug, Clone)]
pub struct FakeExecutor {
    pub name: &'static str,
    pub manifest: String,
    pub code: String,
    pub schema: String,
    pub profile: String,
    pub signed: bool,
}

impl FakeExecutor {
    /// One that reads a path of the workspace, and takes a text.
    pub fn reader(name: &'static str) -> Self {
        let properties =
            json!({"path": {"type": "string", "minLength": 1, "maxLength": 4096}, "text": {"type": "string"}});
        Self {
            name,
            manifest: testing::manifest_text(name, &[("/path", "path")]),
            code: "def run(args, ctx): ...".to_owned(),
            schema: testing::schema_text(&properties, &[]),
            profile: "profile".to_owned(),
            signed: false,
        }
    }

    pub fn id(&self) -> ExecutorId {
        let version = self.manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
        ExecutorId { name: self.name.to_owned(), version: version.unwrap().to_owned() }
    }

    pub fn digests(&self) -> ExecutorDigests {
        let of = |text: &str| Blake3::of(text.as_bytes());
        ExecutorDigests {
            manifest: of(&self.manifest),
            code: of(&self.code),
            schema: of(&self.schema),
            profile: of(&self.profile),
        }
    }

    pub fn seed(&self) -> Seed {
        let digests = self.digests();
        Seed { name: self.name, manifest: digests.manifest, code: digests.code, schema: digests.schema }
    }

    fn candidate(&self) -> Value {
        json!({"manifest": self.manifest, "code": self.code, "schema": self.schema})
    }
}

/// How it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lie {
    None,
    /// The result is not what its digest says.
    WrongDigest,
    /// More leaves than there may be.
    ManyLeaves,
    /// An input from a call of nobody.
    ForeignInput,
    /// Another value than the result had.
    WrongValue,
    /// The tested candidate is another one.
    WrongCandidate,
    /// A birth test does not hold.
    FailingTest,
    /// No birth tests at all.
    NoTests,
    /// Refuses to run.
    Refuses,
    /// Ends in the middle of a run.
    Dies,
    /// Ends in the middle of an installation.
    DiesAtInstall,
    /// Takes the key only when it has nearly used up the time that the supervisor gives it to start. The clock must stand still.
    StartsSlowly,
}

/// Where a call learns which line its decision is.
type Tell = oneshot::Sender<Option<u64>>;

pub struct FakeSandbox {
    log: Log,
    pub executors: RefCell<Vec<FakeExecutor>>,
    pub lie: Cell<Lie>,
    /// How runs end, when not as their result says.
    pub outcome: Cell<Option<Outcome>>,
    /// Runs and trials of drafts take one permit each; none left, they wait.
    pub gate: Rc<Semaphore>,
    /// What runs give back.
    pub result: RefCell<Value>,
    /// The arguments of runs, byte for byte.
    pub arguments: RefCell<Vec<Vec<u8>>>,
    pub calls: RefCell<Vec<CallId>>,
    /// Calls that came ahead of their decision's record, and wait for word of it.
    ahead: RefCell<BTreeMap<(u32, CallId), Tell>>,
    /// How many of them were called off.
    pub called_off: Cell<usize>,
    notes: RefCell<Option<Notes<PolicydSandboxd>>>,
    trusted: Cell<u32>,
}

impl FakeSandbox {
    pub fn new(log: Log, executors: Vec<FakeExecutor>) -> Self {
        Self {
            log,
            executors: RefCell::new(executors),
            lie: Cell::new(Lie::None),
            outcome: Cell::new(None),
            gate: Rc::new(Semaphore::new(1_000)),
            result: RefCell::new(json!({"ok": true, "content": "hello", "size": 5})),
            arguments: RefCell::default(),
            calls: RefCell::default(),
            ahead: RefCell::default(),
            called_off: Cell::new(0),
            notes: RefCell::default(),
            trusted: Cell::new(0),
        }
    }

    fn note(&self, line: String) {
        self.log.borrow_mut().push(line);
    }

    /// Tells policyd something unasked.
    pub async fn tell(&self, note: Note) {
        let notes = self.notes.borrow().clone().unwrap();
        notes.send(note).await.unwrap();
    }

    fn find(&self, id: &ExecutorId) -> FakeExecutor {
        self.executors.borrow().iter().find(|executor| executor.name == id.name).unwrap().clone()
    }
}

impl Serve for FakeSandbox {
    /// As the real one: nothing before the key, on every link anew.
    fn phase_of(&self, cx: &Cx<PolicydSandboxd>, (): (), ask: &Ask) -> Result<TrustPhase, ServeError> {
        if self.trusted.get() == cx.generation {
            return Ok(TrustPhase::Trusted);
        }
        if !matches!(ask, Ask::TrustKey(_)) {
            self.note(format!("BEFORE THE KEY {}", ask.name()));
        }
        Ok(TrustPhase::Untrusted)
    }

    fn enter(&self, _: &Cx<PolicydSandboxd>, (): (), _: Option<TrustPhase>) {}

    async fn trust(self: Rc<Self>, cx: Cx<PolicydSandboxd>, _: TrustKey, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note("trust".to_owned());
        if self.lie.get() == Lie::StartsSlowly {
            tokio::time::sleep(std::time::Duration::from_secs(19)).await;
            tokio::time::resume();
        }
        self.trusted.set(cx.generation);
        self.notes.replace(Some(cx.notes()));
        Ok((Done {}, []))
    }

    async fn pool(self: Rc<Self>, _: Cx<PolicydSandboxd>, _: Pool, []: [Sealed; 0]) -> Served<PoolListing, 0> {
        self.note("pool".to_owned());
        let executors = self.executors.borrow();
        let entries = executors.iter().map(|executor| PoolEntry {
            id: executor.id(),
            digests: executor.digests(),
            fault: String::new(),
            signed: executor.signed,
        });
        Ok((PoolListing { entries: entries.collect() }, []))
    }

    async fn birth(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Birth, []: [Sealed; 0]) -> Served<Born, 1> {
        self.note(format!("birth {}", ask.id.name));
        let mut tested = self.find(&ask.id);
        let passed = self.lie.get() != Lie::FailingTest;
        if self.lie.get() == Lie::WrongCandidate {
            tested.code.push_str("  # and one thing more");
        }
        let case =
            BirthCase { name: "reads".to_owned(), passed, detail: "what came is not what was expected".to_owned() };
        let cases = if self.lie.get() == Lie::NoTests { Vec::new() } else { vec![case] };
        Ok((Born { cases }, [super::sealed(&tested.candidate())]))
    }

    async fn install(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Install, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note(format!("install {}", ask.id.name));
        if self.lie.get() == Lie::DiesAtInstall {
            return Err(ServeError::Violation("dies".to_owned()));
        }
        let mut executors = self.executors.borrow_mut();
        let executor = executors.iter_mut().find(|executor| executor.name == ask.id.name).unwrap();
        assert_eq!((executor.digests(), ask.signature.len()), (ask.digests, 64));
        executor.signed = true;
        Ok((Done {}, []))
    }

    async fn clear_findings(
        self: Rc<Self>,
        _: Cx<PolicydSandboxd>,
        ask: ClearFindings,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.note(format!("pardon {}", ask.id.name));
        if self.find(&ask.id).digests() != ask.digests {
            return Err(Refusal::new(RefusalCode::Denied, "birth.changed", "they changed in between").into());
        }
        Ok((Done {}, []))
    }

    /// A draft passes its test, unless its code says otherwise.
    async fn try_texts(
        self: Rc<Self>,
        _: Cx<PolicydSandboxd>,
        ask: TryTexts,
        [trial]: [Sealed; 1],
    ) -> Served<DraftTried, 1> {
        let trial = DraftTrial::read(&trial).unwrap();
        self.note(format!("try_texts {} {}", ask.id, trial.inputs.len()));
        let _permit = self.gate.acquire().await.unwrap();
        let passed = !trial.files["main.py"].to_string().contains("WRONG");
        let case = BirthCase { name: "works".to_owned(), passed, detail: String::new() };
        Ok((DraftTried { cases: vec![case] }, [crate::peers::sealed(&json!([]))]))
    }

    async fn try_birth(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: TryBirth, []: [Sealed; 0]) -> Served<Born, 1> {
        self.note(format!("try {}", ask.id.name));
        let executor = self.find(&ask.id);
        let case = BirthCase { name: "works".to_owned(), passed: true, detail: String::new() };
        Ok((Born { cases: vec![case] }, [crate::peers::sealed(&executor.candidate())]))
    }

    async fn stage(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Stage, [texts]: [Sealed; 1]) -> Served<Done, 0> {
        self.note(format!("stage {} {}", ask.id, texts.len()));
        Ok((Done {}, []))
    }

    async fn texts(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: TextsOf, []: [Sealed; 0]) -> Served<Done, 1> {
        let executor = self.find(&ask.id);
        let texts = json!({
            "manifest.toml": executor.manifest, "main.py": executor.code, "schema.json": executor.schema,
            "tests/birth.py": "",
        });
        Ok((Done {}, [crate::peers::sealed(&texts)]))
    }

    async fn revoke_texts(
        self: Rc<Self>,
        _: Cx<PolicydSandboxd>,
        ask: RevokeTexts,
        []: [Sealed; 0],
    ) -> Served<Done, 0> {
        self.note(format!("revoke_texts {}", ask.id.name));
        Ok((Done {}, []))
    }

    async fn resolve(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Resolve, []: [Sealed; 0]) -> Served<Resolved, 1> {
        self.note("resolve".to_owned());
        let mut values: Vec<Value> = ask
            .references
            .iter()
            .map(|one| self.result.borrow().pointer(&one.pointer).cloned().unwrap_or_default())
            .collect();
        if self.lie.get() == Lie::WrongValue {
            values[0] = json!("notes/another.md");
        }
        let digests = values.iter().map(json::digest).collect();
        Ok((Resolved { digests }, [super::sealed(&Value::Array(values))]))
    }

    async fn run_with_secrets(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunWithSecrets { run }: RunWithSecrets,
        [arguments, secrets]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        self.note(format!("keyed {}", String::from_utf8(secrets.read().unwrap()).unwrap()));
        Serve::run(self, cx, run, [arguments]).await
    }

    async fn fill(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Fill, [arguments]: [Sealed; 1]) -> Served<Done, 1> {
        self.note(format!("fill {}", ask.id.name));
        Ok((Done {}, [arguments]))
    }

    async fn run_with_input_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunWithInputFile { run, file: digest }: RunWithInputFile,
        [arguments, file]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        assert_eq!(file.digest().unwrap(), digest, "another file than was decided on");
        self.note(format!("taking {}", file.len()));
        Serve::run(self, cx, run, [arguments]).await
    }

    async fn run_with_output_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunWithOutputFile { run }: RunWithOutputFile,
        [arguments]: [Sealed; 1],
    ) -> Served<RunReport, 2> {
        self.note("giving".to_owned());
        let (report, [result]) = Serve::run(self, cx, run, [arguments]).await?;
        Ok((report, [result, Sealed::new(b"given").unwrap()]))
    }

    async fn run_with_account_file(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunWithAccountFile { run }: RunWithAccountFile,
        [arguments, account]: [Sealed; 2],
    ) -> Served<RunReport, 2> {
        self.note(format!("giving from {}", String::from_utf8(account.read().unwrap()).unwrap()));
        let (report, [result]) = Serve::run(self, cx, run, [arguments]).await?;
        Ok((report, [result, Sealed::new(b"attached").unwrap()]))
    }

    async fn run_with_advice(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunWithAdvice { run }: RunWithAdvice,
        [arguments, thought]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        self.note(format!("advised {}", String::from_utf8(thought.read().unwrap()).unwrap()));
        Serve::run(self, cx, run, [arguments]).await
    }

    async fn run(self: Rc<Self>, _: Cx<PolicydSandboxd>, ask: Run, [arguments]: [Sealed; 1]) -> Served<RunReport, 1> {
        let bytes = arguments.read().unwrap();
        assert_eq!(Blake3::of(&bytes), ask.arguments, "other arguments than were decided on");
        assert!(ask.decision_seq > 0);
        self.note(format!("run {} {}", ask.place, ask.id.name));
        self.arguments.borrow_mut().push(bytes);
        self.calls.borrow_mut().push(ask.call);
        match self.lie.get() {
            Lie::Refuses => {
                return Err(Refusal::new(RefusalCode::Denied, "verify.digest", "main.py was changed").into());
            }
            Lie::Dies => return Err(ServeError::Violation("dies".to_owned())),
            Lie::None
            | Lie::WrongDigest
            | Lie::ManyLeaves
            | Lie::ForeignInput
            | Lie::WrongValue
            | Lie::WrongCandidate
            | Lie::FailingTest
            | Lie::NoTests
            | Lie::DiesAtInstall
            | Lie::StartsSlowly => {}
        }
        self.gate.acquire().await.unwrap().forget();
        let value = self.result.borrow().clone();
        let result = json::canonical(&value);
        let mut report = RunReport {
            outcome: if value["ok"] == json!(true) { Outcome::Ok } else { Outcome::Error },
            result: Blake3::of(&result),
            leaves: json::leaves(&value, 256),
            inputs: Vec::new(),
            resources: Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE },
        };
        if let Some(outcome) = self.outcome.get() {
            report.outcome = outcome;
        }
        match self.lie.get() {
            Lie::WrongDigest => report.result = Blake3::of(b"something else"),
            Lie::ManyLeaves => report.leaves = vec![Leaf { pointer: "/a".to_owned(), digest: Blake3::of(b"a") }; 257],
            Lie::ForeignInput => {
                report.inputs =
                    vec![InputRef { from: CallId::new(), pointer: String::new(), argument: "/text".to_owned() }];
            }
            Lie::None
            | Lie::WrongValue
            | Lie::WrongCandidate
            | Lie::FailingTest
            | Lie::NoTests
            | Lie::Refuses
            | Lie::Dies
            | Lie::DiesAtInstall
            | Lie::StartsSlowly => {}
        }
        Ok((report, [Sealed::new(&result).unwrap()]))
    }

    async fn run_speculative(
        self: Rc<Self>,
        cx: Cx<PolicydSandboxd>,
        RunSpeculative { mut run }: RunSpeculative,
        arguments: [Sealed; 1],
    ) -> Served<RunReport, 1> {
        let (tell, told) = oneshot::channel();
        self.ahead.borrow_mut().insert((cx.generation, run.call), tell);
        match told.await.unwrap_or(None) {
            Some(seq) => {
                run.decision_seq = seq;
                Self::run(self, cx, run, arguments).await
            }
            None => {
                self.called_off.set(self.called_off.get() + 1);
                Err(Refusal::new(RefusalCode::Unavailable, "decision.unrecorded", "it was called off").into())
            }
        }
    }

    async fn decided(self: Rc<Self>, cx: Cx<PolicydSandboxd>, word: Decided, []: [Sealed; 0]) -> Served<Done, 0> {
        if let Some(tell) = self.ahead.borrow_mut().remove(&(cx.generation, word.call)) {
            let _ = tell.send(word.decision_seq);
        }
        Ok((Done {}, []))
    }

    async fn kill(self: Rc<Self>, _: Cx<PolicydSandboxd>, _: Kill, []: [Sealed; 0]) -> Served<KilledCount, 0> {
        self.note("kill".to_owned());
        Ok((KilledCount { killed: 0 }, []))
    }

    async fn forget(self: Rc<Self>, _: Cx<PolicydSandboxd>, _: Forget, []: [Sealed; 0]) -> Served<Done, 0> {
        self.note("forget".to_owned());
        Ok((Done {}, []))
    }
}
