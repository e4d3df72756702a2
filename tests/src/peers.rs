//! Honest peers of a daemon that runs alone: a memoryd that records in memory, and a sandboxd that runs
//! nothing. They must never say more than the matrix has words for.

use std::os::fd::AsFd;
use std::thread::JoinHandle;

use metnos_proto::doc::Doc;
use metnos_proto::doc::schedule::{DayReview, ScheduleHistory, ScheduleList};
use metnos_proto::edge::{AnswererEnd, ServeError, Served};
use metnos_proto::edges::{
    PolicydMemoryd, PolicydSandboxd, SandboxdMemoryd, policyd_memoryd, policyd_sandboxd, sandboxd_memoryd,
};
use metnos_proto::ids::{Blake3, Sha256, TraceId};
use metnos_proto::link::BlockingServer;
use metnos_proto::msg::common::{Done, ExecutorDigests, ExecutorId, Outcome, Refusal, RefusalCode, Resources};
use metnos_proto::msg::drafting::{DraftTried, TryTexts};
use metnos_proto::msg::lifecycle::{RevokeTexts, Stage, TextsOf, TryBirth};
use metnos_proto::msg::memoryd::{
    Anchored, BeforeFound, BeforeOf, ChainHead, CleanTurn, ConstitutionModified, Cost, Decision, DirectTurn,
    DirectTurnDone, Ended, ExecutorBorn, ExecutorLost, ForgetTurn, KeepBefore, ModelAsked, Recorded, Redact, Spending,
    Spent, Started, SystemEvent, TurnClosed, TurnForgotten,
};
use metnos_proto::msg::people::Household;
use metnos_proto::msg::sandboxd::{
    Birth, Born, ClearFindings, Decided, Fill, Forget, Install, Kill, KilledCount, Pool, PoolEntry, PoolListing,
    Resolve, Resolved, Run, RunReport, RunSpeculative, RunWithAccountFile, RunWithAdvice, RunWithInputFile,
    RunWithOutputFile, RunWithSecrets, TrustKey,
};
use metnos_proto::msg::schedule::{
    AskFired, AskedThen, ChangeSchedules, KeepSchedule, ListSchedules, ReviewOf, SaidBefore, SaidTimes, ShowSchedule,
};
use metnos_proto::payload::Sealed;
use metnos_proto::phase::{Phases, TrustPhase};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags};

use crate::instance::Instance;
use crate::solo::{Setup, Solo};

/// Starts a daemon alone, with honest peers where it does not go on without their answer, and waits until
/// it is ready. `set` is the instance it works on.
///
/// # Panics
/// When it does not become ready.
#[must_use]
pub fn among_honest_peers(setup: &Setup, set: &Instance) -> Solo {
    let mut solo = Solo::spawn(setup);
    match setup.role {
        RoleName::Policyd => {
            memoryd_for_policyd(solo.answerer(), Memory::default());
            sandboxd_for_policyd(solo.answerer(), Sandbox::of(set));
        }
        RoleName::Sandboxd => {
            memoryd_for_sandboxd(solo.answerer(), Memory::default());
        }
        RoleName::Ctl
        | RoleName::Gatewayd
        | RoleName::Planner
        | RoleName::Syntd
        | RoleName::Mind
        | RoleName::Memoryd => {}
    }
    solo.wait_ready();
    solo
}

macro_rules! serving {
    ($(#[$doc:meta])* $function:ident($edge:ident, $module:ident, $service:ty)) => {
        $(#[$doc])*
        ///
        /// # Panics
        /// On its own thread, when the daemon breaks the protocol.
        pub fn $function(end: AnswererEnd<$edge>, mut service: $service) -> JoinHandle<()> {
            let mut server = BlockingServer::new(end).expect("a fresh channel");
            std::thread::spawn(move || {
                let mut buffer = socket::buffer();
                loop {
                    match server.receive(&mut buffer) {
                        Ok(Some(incoming)) => {
                            let outgoing = $module::dispatch(&server, incoming, &mut service).expect("an honest asker");
                            // Anyone who has gone meanwhile needs no answer.
                            let _sent = server.answer(outgoing);
                        }
                        Ok(None) => {
                            let mut fds = [PollFd::from_borrowed_fd(server.as_fd(), PollFlags::IN)];
                            rustix::event::poll(&mut fds, None).expect("poll");
                        }
                        Err(_) => return,
                    }
                }
            })
        }
    };
}

serving!(
    /// Serves policyd as memoryd until it is gone.
    memoryd_for_policyd(PolicydMemoryd, policyd_memoryd, Memory)
);
serving!(
    /// Serves sandboxd as memoryd until it is gone.
    memoryd_for_sandboxd(SandboxdMemoryd, sandboxd_memoryd, Memory)
);
serving!(
    /// Serves policyd as sandboxd until it is gone.
    sandboxd_for_policyd(PolicydSandboxd, policyd_sandboxd, Sandbox)
);

/// Counts lines, and keeps none.
#[derive(Debug, Default)]
pub struct Memory(u64);

impl Memory {
    fn recorded(&mut self) -> Served<Recorded, 0> {
        self.0 += 1;
        Ok((Recorded { seq: self.0, hash: Sha256([0; 32]) }, []))
    }
}

type FromPolicyd = BlockingServer<PolicydMemoryd>;

/// It plans nothing.
fn unplanned() -> ServeError {
    Refusal::new(RefusalCode::Unknown, "schedule.unknown", "nothing is planned").into()
}

impl policyd_memoryd::ServeBlocking for Memory {
    fn keep_schedule(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: KeepSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Err(unplanned())
    }

    fn list_schedules(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: ListSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&ScheduleList(Vec::new()))?)
    }

    fn change_schedules(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: ChangeSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Err(unplanned())
    }

    fn show_schedule(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: ShowSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleHistory>, 1> {
        Err(unplanned())
    }

    fn review(&mut self, _: &FromPolicyd, _: TraceId, _: ReviewOf, []: [Sealed; 0]) -> Served<Doc<DayReview>, 1> {
        Err(unplanned())
    }

    fn said_before(&mut self, _: &FromPolicyd, _: TraceId, _: SaidBefore, []: [Sealed; 0]) -> Served<SaidTimes, 0> {
        Err(unplanned())
    }

    fn ask_fired(&mut self, _: &FromPolicyd, _: TraceId, _: AskFired, []: [Sealed; 0]) -> Served<AskedThen, 0> {
        Err(unplanned())
    }

    fn query_page(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: metnos_proto::msg::memoryd::PageQuery,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::memoryd::QueryResult, 1> {
        Err(metnos_proto::msg::common::Refusal::new(metnos_proto::msg::common::RefusalCode::Denied, "test", "no")
            .into())
    }

    fn clean_turn(&mut self, _: &FromPolicyd, _: TraceId, _: CleanTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn household(&mut self, _: &FromPolicyd, _: TraceId, _: Household, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn decision(&mut self, _: &FromPolicyd, _: TraceId, _: Decision, [_arguments]: [Sealed; 1]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn direct_turn(&mut self, _: &FromPolicyd, _: TraceId, _: DirectTurn, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn direct_turn_done(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: DirectTurnDone,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        Ok((TurnClosed { mnests: 0 }, []))
    }

    fn executor_born(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: ExecutorBorn,
        [_contract]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn executor_lost(&mut self, _: &FromPolicyd, _: TraceId, _: ExecutorLost, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn system_event(&mut self, _: &FromPolicyd, _: TraceId, _: SystemEvent, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn anchored(&mut self, _: &FromPolicyd, _: TraceId, word: Anchored, []: [Sealed; 0]) -> Served<ChainHead, 0> {
        // One that has recorded more since has a later head.
        let (seq, hash) = if self.0 > word.seq { (self.0, Sha256([0; 32])) } else { (word.seq, word.hash) };
        Ok((ChainHead { seq, hash, root: Sha256([0; 32]), opened: word.seq, closed: false }, []))
    }

    fn model_asked(&mut self, _: &FromPolicyd, _: TraceId, _: ModelAsked, [_sent]: [Sealed; 1]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn cost(&mut self, _: &FromPolicyd, _: TraceId, _: Cost, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn spending(&mut self, _: &FromPolicyd, _: TraceId, _: Spending, []: [Sealed; 0]) -> Served<Spent, 0> {
        let none = Spent {
            turn: 0,
            principal_day: 0,
            principal_month: 0,
            day: 0,
            month: 0,
            turn_tokens: 0,
            principal_day_tokens: 0,
            principal_month_tokens: 0,
        };
        Ok((none, []))
    }

    fn constitution(
        &mut self,
        _: &FromPolicyd,
        _: TraceId,
        _: ConstitutionModified,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn redact(&mut self, _: &FromPolicyd, _: TraceId, _: Redact, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn forget_turn(&mut self, _: &FromPolicyd, _: TraceId, _: ForgetTurn, []: [Sealed; 0]) -> Served<TurnForgotten, 0> {
        Ok((TurnForgotten { lines: 0 }, []))
    }
}

type FromSandboxd = BlockingServer<SandboxdMemoryd>;

impl sandboxd_memoryd::ServeBlocking for Memory {
    fn started(&mut self, _: &FromSandboxd, _: TraceId, _: Started, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn ended(&mut self, _: &FromSandboxd, _: TraceId, _: Ended, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn keep_before(&mut self, _: &FromSandboxd, _: TraceId, _: KeepBefore, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }

    fn before_of(&mut self, _: &FromSandboxd, _: TraceId, _: BeforeOf, []: [Sealed; 0]) -> Served<BeforeFound, 0> {
        Ok((BeforeFound { before: None }, []))
    }

    fn system_event(&mut self, _: &FromSandboxd, _: TraceId, _: SystemEvent, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.recorded()
    }
}

/// Lists a pool, and runs nothing.
#[derive(Debug)]
pub struct Sandbox(Vec<PoolEntry>, Phases<TrustPhase>);

impl Sandbox {
    /// With what lies in the pool of this instance, as sandboxd would list it.
    ///
    /// # Panics
    /// When it is not the pool of an instance that has been started once.
    #[must_use]
    pub fn of(set: &Instance) -> Self {
        let mut entries = Vec::new();
        for folder in std::fs::read_dir(set.workspace("executors")).expect("the pool").flatten() {
            let Ok(version) = std::fs::read_to_string(folder.path().join("CURRENT")) else { continue };
            let version = version.trim().to_owned();
            let file = |name: &str| std::fs::read(folder.path().join(&version).join(name)).expect("a signed executor");
            let profile = String::from_utf8(file("profile.lock")).expect("text");
            entries.push(PoolEntry {
                id: ExecutorId { name: folder.file_name().to_string_lossy().into_owned(), version: version.clone() },
                digests: ExecutorDigests {
                    manifest: Blake3::of(&file("manifest.toml")),
                    code: Blake3::of(&file("main.py")),
                    schema: Blake3::of(&file("schema.json")),
                    profile: Blake3::parse(profile.trim()).expect("a profile's digest"),
                },
                fault: String::new(),
                signed: true,
            });
        }
        entries.sort_by(|a, b| a.id.name.cmp(&b.id.name));
        assert!(entries.iter().any(|entry| entry.id.name == "fs_read"), "{}", set.home().display());
        Self(entries, Phases::default())
    }
}

type ToSandboxd = BlockingServer<PolicydSandboxd>;

fn document(text: &str) -> Result<Sealed, ServeError> {
    Sealed::new(text.as_bytes()).map_err(|error| ServeError::Violation(error.to_string()))
}

impl policyd_sandboxd::ServeBlocking for Sandbox {
    fn phase_of(&mut self, _: &ToSandboxd, (): (), _: &policyd_sandboxd::Ask) -> Result<TrustPhase, ServeError> {
        Ok(self.1.of(()))
    }

    fn enter(&mut self, _: &ToSandboxd, (): (), next: Option<TrustPhase>) {
        self.1.enter((), next);
    }

    fn trust(&mut self, _: &ToSandboxd, _: TraceId, _: TrustKey, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn pool(&mut self, _: &ToSandboxd, _: TraceId, _: Pool, []: [Sealed; 0]) -> Served<PoolListing, 0> {
        Ok((PoolListing { entries: self.0.clone() }, []))
    }

    fn birth(&mut self, _: &ToSandboxd, _: TraceId, birth: Birth, []: [Sealed; 0]) -> Served<Born, 1> {
        Err(ServeError::Violation(format!("{} was born already", birth.id)))
    }

    fn install(&mut self, _: &ToSandboxd, _: TraceId, _: Install, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn clear_findings(&mut self, _: &ToSandboxd, _: TraceId, _: ClearFindings, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn try_birth(&mut self, _: &ToSandboxd, _: TraceId, birth: TryBirth, []: [Sealed; 0]) -> Served<Born, 1> {
        Err(ServeError::Violation(format!("{} was born already", birth.id)))
    }

    fn try_texts(&mut self, _: &ToSandboxd, _: TraceId, ask: TryTexts, _: [Sealed; 1]) -> Served<DraftTried, 1> {
        Err(ServeError::Violation(format!("{} was drafted by nobody", ask.id)))
    }

    fn stage(&mut self, _: &ToSandboxd, _: TraceId, stage: Stage, _: [Sealed; 1]) -> Served<Done, 0> {
        Err(ServeError::Violation(format!("{} was imported by nobody", stage.id)))
    }

    fn texts(&mut self, _: &ToSandboxd, _: TraceId, ask: TextsOf, []: [Sealed; 0]) -> Served<Done, 1> {
        Err(ServeError::Violation(format!("{} was exported by nobody", ask.id)))
    }

    fn revoke_texts(&mut self, _: &ToSandboxd, _: TraceId, _: RevokeTexts, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn resolve(&mut self, _: &ToSandboxd, _: TraceId, _: Resolve, []: [Sealed; 0]) -> Served<Resolved, 1> {
        Ok((Resolved { digests: Vec::new() }, [document("[]")?]))
    }

    fn run(&mut self, _: &ToSandboxd, _: TraceId, _: Run, [_arguments]: [Sealed; 1]) -> Served<RunReport, 1> {
        let result = r#"{"content":"","ok":true,"size":0}"#;
        let report = RunReport {
            outcome: Outcome::Ok,
            result: Blake3::of(result.as_bytes()),
            leaves: Vec::new(),
            inputs: Vec::new(),
            resources: Resources { wall_us: 0, cpu_us: 0, peak_kib: 0, output_bytes: 0, ..Resources::NONE },
        };
        Ok((report, [document(result)?]))
    }

    fn fill(&mut self, _: &ToSandboxd, _: TraceId, _: Fill, [arguments]: [Sealed; 1]) -> Served<Done, 1> {
        Ok((Done {}, [arguments]))
    }

    fn run_with_input_file(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunWithInputFile { run, file: _ }: RunWithInputFile,
        [arguments, _file]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])
    }

    fn run_with_output_file(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunWithOutputFile { run }: RunWithOutputFile,
        [arguments]: [Sealed; 1],
    ) -> Served<RunReport, 2> {
        let (report, [result]) = policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])?;
        Ok((report, [result, document("")?]))
    }

    fn run_with_account_file(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunWithAccountFile { run }: RunWithAccountFile,
        [arguments, _account]: [Sealed; 2],
    ) -> Served<RunReport, 2> {
        let (report, [result]) = policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])?;
        Ok((report, [result, document("")?]))
    }

    fn run_with_advice(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunWithAdvice { run }: RunWithAdvice,
        [arguments, _thought]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])
    }

    fn run_speculative(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunSpeculative { run }: RunSpeculative,
        [arguments]: [Sealed; 1],
    ) -> Served<RunReport, 1> {
        policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])
    }

    fn decided(&mut self, _: &ToSandboxd, _: TraceId, _: Decided, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }

    fn run_with_secrets(
        &mut self,
        to: &ToSandboxd,
        trace: TraceId,
        RunWithSecrets { run }: RunWithSecrets,
        [arguments, _secrets]: [Sealed; 2],
    ) -> Served<RunReport, 1> {
        policyd_sandboxd::ServeBlocking::run(self, to, trace, run, [arguments])
    }

    fn kill(&mut self, _: &ToSandboxd, _: TraceId, _: Kill, []: [Sealed; 0]) -> Served<KilledCount, 0> {
        Ok((KilledCount { killed: 0 }, []))
    }

    fn forget(&mut self, _: &ToSandboxd, _: TraceId, _: Forget, []: [Sealed; 0]) -> Served<Done, 0> {
        Ok((Done {}, []))
    }
}
