//! The daemons of a scene: each answers its admin edge from the lines of the plan.

use std::sync::Arc;
use std::time::Duration;

use metnos_proto::doc::automation::HookAnswer;
use metnos_proto::doc::models::{ModelList, ModelScan, ModelTest};
use metnos_proto::doc::{Doc, Document};
use metnos_proto::edge::{AnswererEnd, RawEnd, ServeError, Served};
use metnos_proto::edges::{CtlDoor, CtlMemoryd, CtlMind, CtlPolicyd, CtlSandboxd};
use metnos_proto::edges::{EdgeId, ctl_door, ctl_memoryd, ctl_mind, ctl_policyd, ctl_sandboxd};
use metnos_proto::ids::{Blake3, CallId, HandleId, Sha256, TraceId, TurnId};
use metnos_proto::link::{BlockingServer, LinkError};
use metnos_proto::msg::common::*;
use metnos_proto::msg::door::*;
use metnos_proto::msg::memoryd::*;
use metnos_proto::msg::mind::*;
use metnos_proto::msg::planner::*;
use metnos_proto::msg::policyd::*;
use metnos_proto::msg::sandboxd::*;
use metnos_proto::payload::Sealed;
use metnos_proto::phase::VerifyPhase;
use metnos_proto::socket;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::json;

use super::{PATIENCE, Shared, owned};

/// The turn of every scene.
pub const TURN: TurnId = TurnId::from_bytes([1; 16]);

/// What the daemons say.
#[derive(Default, Clone)]
pub struct Lines {
    /// The pieces of the answer.
    pub texts: Vec<String>,
    /// How the turn ends, and why; none when only a stop ends it.
    pub end: Option<(TurnEnd, String)>,
    /// The door leaves after the first piece.
    pub door_leaves: bool,
    /// What comes of a call, and its result.
    pub call: Option<(Acted, String)>,
    /// The registry's state of the one executor there is.
    pub quarantined: bool,
    /// Findings in the chronicle.
    pub findings: Vec<Finding>,
    /// The head that policyd has signed bears another signature.
    pub forged_anchor: bool,
    /// Why policyd distrusts the chronicle.
    pub broken: String,
    /// The chronicle's lines.
    pub tail: String,
    /// SOUL.md waits for the rite.
    pub constitution_pending: bool,
    /// The mnests.
    pub mnests: String,
    /// A canary that is not stopped.
    pub escape: bool,
}

pub fn sealed(text: &str) -> Sealed {
    Sealed::new(text.as_bytes()).unwrap()
}

/// A document as an answer.
pub fn told<T: Document>(document: &T) -> Served<Doc<T>, 1> {
    Ok(Doc::seal(document)?)
}

pub struct Daemon(Shared);

impl Daemon {
    pub fn lines(&self) -> Lines {
        self.0.lock().unwrap().daemons.clone()
    }

    pub fn heard(&self, words: String) {
        self.0.lock().unwrap().heard.push(words);
    }
}

impl ctl_door::ServeBlocking for Daemon {
    fn hook_secret(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        ask: metnos_proto::msg::door::HookSecret,
        _: [Sealed; 0],
    ) -> Served<Doc<HookAnswer>, 1> {
        self.heard(format!("{ask:?}"));
        told(&owned::hook(&ask))
    }

    fn fire_timer(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        ask: metnos_proto::msg::door::FireTimer,
        _: [Sealed; 0],
    ) -> Served<Said, 0> {
        self.heard(format!("fire {}", ask.name));
        Ok((Said { turn: TURN }, []))
    }

    fn answer(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        ask: AnswerHere,
        _: [Sealed; 0],
    ) -> Served<Answered, 1> {
        self.heard(format!("{:?} {} {}", ask.answer, ask.id, ask.digest));
        Ok((Answered { state: "denied".into(), runs: Vec::new() }, [sealed("[]")]))
    }

    fn say(&mut self, link: &BlockingServer<CtlDoor>, _: TraceId, _: Say, [words]: [Sealed; 1]) -> Served<Said, 0> {
        self.heard(String::from_utf8(words.read().unwrap()).unwrap());
        let lines = self.lines();
        let call = Call {
            turn: TURN,
            call: CallRef(1),
            executor: "fs_read".into(),
            state: CallState::Started,
            detail: "x".into(),
        };
        link.note(&ctl_door::Note::Call(call)).unwrap();
        for text in lines.texts {
            link.note(&ctl_door::Note::Text(Text { turn: TURN, text })).unwrap();
        }
        if let Some((end, why)) = lines.end {
            link.note(&ctl_door::Note::TurnDone(TurnDone { turn: TURN, end, why })).unwrap();
        }
        Ok((Said { turn: TURN }, []))
    }

    fn stop(&mut self, link: &BlockingServer<CtlDoor>, _: TraceId, stop: Stop, _: [Sealed; 0]) -> Served<Cancelled, 0> {
        self.heard(format!("stop {}", stop.turn == TURN));
        let done = TurnDone { turn: TURN, end: TurnEnd::Cancelled, why: "somebody cancelled it".into() };
        link.note(&ctl_door::Note::TurnDone(done)).unwrap();
        Ok((Cancelled { was_open: true }, []))
    }

    fn remind_me(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        _: RemindMe,
        _: [Sealed; 0],
    ) -> Served<Reminded, 0> {
        Err(Refusal::new(RefusalCode::Unavailable, "test", "nobody is reminded of anything here").into())
    }

    fn greet(&mut self, _: &BlockingServer<CtlDoor>, _: TraceId, _: Greet, _: [Sealed; 0]) -> Served<Greeted, 0> {
        Ok((Greeted { lang: Lang::En }, []))
    }

    fn put_token(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        _: PutToken,
        [token]: [Sealed; 1],
    ) -> Served<Done, 0> {
        self.heard(format!("token of {} bytes", token.read().unwrap().len()));
        Ok((Done {}, []))
    }

    fn door_status(
        &mut self,
        _: &BlockingServer<CtlDoor>,
        _: TraceId,
        _: DoorStatus,
        _: [Sealed; 0],
    ) -> Served<DoorReport, 0> {
        Ok((
            DoorReport {
                sessions: 1,
                turns: 0,
                turns_total: 3,
                models: "none".into(),
                http: "127.0.0.1:42618".into(),
                telegram: String::new(),
            },
            [],
        ))
    }
}

pub fn id() -> ExecutorId {
    ExecutorId { name: "fs_read".into(), version: "1.0.0".into() }
}

impl ctl_sandboxd::ServeBlocking for Daemon {
    fn verify_executor(
        &mut self,
        _: &BlockingServer<CtlSandboxd>,
        _: TraceId,
        _: VerifyExecutor,
        _: [Sealed; 0],
    ) -> Served<Verified, 0> {
        let digest = Blake3::of(b"x");
        let digests = ExecutorDigests { manifest: digest, code: digest, schema: digest, profile: digest };
        let entry = PoolEntry { id: id(), digests, fault: String::new(), signed: !self.lines().quarantined };
        Ok((Verified { entries: vec![entry] }, []))
    }

    fn selftest(
        &mut self,
        _: &BlockingServer<CtlSandboxd>,
        _: TraceId,
        ask: Selftest,
        _: [Sealed; 0],
    ) -> Served<Selftested, 1> {
        let families =
            r#"[{"name": "files", "about": "Opening.", "cases": 2}, {"name": "lies", "about": "Lying.", "cases": 1}]"#;
        let one = r#"[{"name": "a", "layer": "mounts", "held": true, "carrier": "warm", "wanted": "ENOENT", "came": "", "skipped": false},
            {"name": "b", "layer": "seccomp", "skipped": true}]"#;
        let bad = r#"[{"name": "c\u001b[2J", "layer": "channel", "held": false, "carrier": "warm", "wanted": "bad_output", "came": "ok", "skipped": false}]"#;
        Ok(match ask.family.as_str() {
            "" => (Selftested { tried: 0, held: 0 }, [sealed(families)]),
            "files" => (Selftested { tried: 1, held: 1 }, [sealed(one)]),
            _ => (Selftested { tried: 1, held: 0 }, [sealed(bad)]),
        })
    }

    fn canaries(
        &mut self,
        _: &BlockingServer<CtlSandboxd>,
        _: TraceId,
        _: Canaries,
        _: [Sealed; 0],
    ) -> Served<CanaryReport, 0> {
        let canary = Canary { attempt: "socket".into(), stopped: !self.lines().escape, detail: "EPERM".into() };
        Ok((CanaryReport { canaries: vec![canary] }, []))
    }

    fn profiles(
        &mut self,
        _: &BlockingServer<CtlSandboxd>,
        _: TraceId,
        _: ProfilesOf,
        _: [Sealed; 0],
    ) -> Served<Profiled, 1> {
        let plan = |wall_s: u32| json!({"profile": "fs-read-workspace", "limits": {"wall_s": wall_s}, "mounts": []});
        let changed = self.lines().quarantined;
        let one = json!({
            "version": "1.0.0", "lock": "blake3:aa", "locked": if changed { "blake3:bb" } else { "blake3:aa" },
            "plan": plan(2), "locked_plan": plan(if changed { 3 } else { 2 }),
        });
        Ok((Profiled { versions: 1 }, [Sealed::new(json!([one]).to_string().as_bytes()).unwrap()]))
    }

    fn sandbox_status(
        &mut self,
        _: &BlockingServer<CtlSandboxd>,
        _: TraceId,
        _: SandboxStatus,
        _: [Sealed; 0],
    ) -> Served<SandboxReport, 0> {
        let interpreter = "/usr/bin/python3".into();
        Ok((SandboxReport { running: 0, runs_total: 3, mode: "exec".into(), interpreter, layers: Vec::new() }, []))
    }
}

impl ctl_mind::ServeBlocking for Daemon {
    fn health(
        &mut self,
        _: &BlockingServer<CtlMind>,
        _: TraceId,
        _: MindHealth,
        _: [Sealed; 0],
    ) -> Served<MindReport, 0> {
        Ok((MindReport { roles: Vec::new(), says: "No model is configured.".into() }, []))
    }

    fn list_models(
        &mut self,
        _: &BlockingServer<CtlMind>,
        _: TraceId,
        ask: ListModels,
        _: [Sealed; 0],
    ) -> Served<Doc<ModelList>, 1> {
        self.heard(format!("{ask:?}"));
        told(&ModelList { substrates: Vec::new(), roles: Vec::new() })
    }

    fn scan_models(
        &mut self,
        _: &BlockingServer<CtlMind>,
        _: TraceId,
        ask: ScanModels,
        _: [Sealed; 0],
    ) -> Served<Doc<ModelScan>, 1> {
        self.heard(format!("{ask:?}"));
        told(&ModelScan { substrates: Vec::new() })
    }

    fn test_model(
        &mut self,
        _: &BlockingServer<CtlMind>,
        _: TraceId,
        ask: TestModel,
        _: [Sealed; 0],
    ) -> Served<Doc<ModelTest>, 1> {
        self.heard(format!("{ask:?}"));
        told(&owned::model_test(&ask.model))
    }

    fn put_key(&mut self, _: &BlockingServer<CtlMind>, _: TraceId, ask: PutKey, [key]: [Sealed; 1]) -> Served<Done, 0> {
        self.heard(format!("{ask:?} with {} bytes", key.len()));
        Ok((Done {}, []))
    }
}

/// How the one executor stands.
const FITNESS: &str = concat!(
    r#"{"name":"fs_read","version":"1.0.0","fitness":0.5,"judged":3,"without_signal":0,"used_days_ago":1.5,"below":""}"#,
    "\n"
);

/// A ledger in which nothing stands.
const LEDGER: &str = "{\"active_days\":0,\"median\":0,\"low\":0,\"high\":0}\n";

impl ctl_memoryd::ServeBlocking for Daemon {
    fn phase_of(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        (): (),
        _: &ctl_memoryd::Ask,
    ) -> Result<VerifyPhase, ServeError> {
        // A verification is over at once.
        Ok(VerifyPhase::Free)
    }

    fn enter(&mut self, _: &BlockingServer<CtlMemoryd>, (): (), _: Option<VerifyPhase>) {}

    fn tail(&mut self, _: &BlockingServer<CtlMemoryd>, _: TraceId, ask: Tail, _: [Sealed; 0]) -> Served<Tailed, 1> {
        self.heard(format!("tail {} after {}", ask.lines, ask.after));
        Ok((Tailed { lines: 1, last_seq: 1 }, [sealed(&self.lines().tail)]))
    }

    fn verify(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Verify,
        [anchors]: [Sealed; 1],
    ) -> Served<VerifyReport, 0> {
        self.heard(format!("verify since {} with {} bytes of anchors", ask.since, anchors.len()));
        let findings = self.lines().findings;
        let head = Recorded { seq: 7, hash: Sha256([3; 32]) };
        Ok((VerifyReport { lines: 7, head, findings_total: findings.len() as u64, findings }, []))
    }

    fn query(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Query,
        _: [Sealed; 0],
    ) -> Served<QueryResult, 1> {
        self.heard(format!("look {ask:?}"));
        let found = match ask {
            Query::Lines(_) | Query::Search(_) => self.lines().tail,
            Query::Mnests(_) => self.lines().mnests.trim_matches(['[', ']']).replace('\n', ""),
            Query::Fitness => FITNESS.to_owned(),
            Query::Ledger => LEDGER.to_owned(),
            Query::Proof(_) | Query::Secrets(_) | Query::Proposals | Query::Snapshots => String::new(),
        };
        Ok((QueryResult { lines: 1, next: 0 }, [sealed(&found)]))
    }

    fn decide(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: OwnersAct,
        _: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.heard(format!("decide {ask:?}"));
        Ok((Recorded { seq: 8, hash: Sha256([3; 32]) }, []))
    }

    fn mnests(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        _: Mnests,
        _: [Sealed; 0],
    ) -> Served<MnestCount, 1> {
        Ok((MnestCount { mnests: 1 }, [sealed(&self.lines().mnests)]))
    }

    fn recollect(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        ask: Recollect,
        [words]: [Sealed; 1],
    ) -> Served<Recollected, 1> {
        let words = String::from_utf8(words.read().unwrap_or_default()).unwrap_or_default();
        self.heard(format!("recollect {ask:?}: {words}"));
        let found = match ask {
            Recollect::Search(_) => "[]",
            Recollect::Explain(_) => {
                r#"{"holds":true,"item":{"seq":1,"ts":"","event_type":"owner_message","emitter":"gatewayd","payload_sha256":"","hash":""},
                    "peer":"cli:uid:1000","trust":"owner","said":null,
                    "path":[{"seq":1,"prev_hash":"","hash":"","holds":true}],"head":1,"causes":[]}"#
            }
            Recollect::Late(_) => "{\"summaries\":[],\"messages\":[],\"tasks\":[]}",
            Recollect::Traces => "{\"use_time\":1,\"modularity\":0.5,\"traces\":[]}",
        };
        Ok((Recollected { items: 0 }, [sealed(found)]))
    }

    fn rehearse(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        _: Rehearse,
        _: [Sealed; 1],
    ) -> Served<Recollected, 1> {
        Ok((Recollected { items: 0 }, [sealed("null")]))
    }

    fn memory_status(
        &mut self,
        _: &BlockingServer<CtlMemoryd>,
        _: TraceId,
        _: MemoryStatus,
        _: [Sealed; 0],
    ) -> Served<MemoryReport, 0> {
        Ok((
            MemoryReport {
                head: Recorded { seq: 7, hash: Sha256([3; 32]) },
                mnests: 1,
                use_time_milli: 20,
                torn: 0,
                altered: String::new(),
                frozen: false,
            },
            [],
        ))
    }
}

/// A result that ran.
pub fn ran(outcome: Outcome) -> Acted {
    Acted::Ran(Ran {
        call: CallId::from_bytes([2; 16]),
        handle: HandleId::from_bytes([3; 16]),
        outcome,
        label: Label { integrity: Integrity::Untrusted, readers: Readers::Private },
        leaves: Vec::new(),
        line: 1,
        resources: Resources { wall_us: 1, cpu_us: 1, peak_kib: 1, output_bytes: 1, ..Resources::NONE },
    })
}

macro_rules! serve {
    ($end:expr, $plan:expr, $($edge:ident in $module:ident),*) => {
        match $end.edge {
            $(EdgeId::$edge => {
                let mut server = BlockingServer::<$edge>::new(AnswererEnd::new($end).unwrap()).unwrap();
                let mut daemon = Daemon($plan);
                let mut buffer = socket::buffer();
                let mut answered = 0;
                loop {
                    match server.receive(&mut buffer) {
                        Ok(Some(incoming)) => {
                            let outgoing = $module::dispatch(&server, incoming, &mut daemon).unwrap();
                            server.answer(outgoing).unwrap();
                            // The caller is greeted first.
                            answered += 1;
                            if daemon.lines().door_leaves && answered > 1 && EdgeId::$edge == EdgeId::CtlDoor {
                                return;
                            }
                        }
                        Ok(None) => {
                            let within = Timespec::try_from(PATIENCE).unwrap();
                            rustix::event::poll(&mut [PollFd::new(&server, PollFlags::IN)], Some(&within)).unwrap();
                        }
                        Err(LinkError::Gone) => return,
                        Err(error) => panic!("{error}"),
                    }
                }
            })*
            other => panic!("no such admin edge: {other:?}"),
        }
    };
}

/// Serves one end, on a thread of its own.
pub fn start(end: RawEnd, plan: Shared) {
    let plan = Arc::clone(&plan);
    std::thread::spawn(move || {
        serve!(end, plan, CtlDoor in ctl_door, CtlPolicyd in ctl_policyd, CtlSandboxd in ctl_sandboxd,
               CtlMind in ctl_mind, CtlMemoryd in ctl_memoryd);
    });
}

/// Waits until something is so.
pub fn until(mut is_so: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came to be so");
        std::thread::sleep(Duration::from_millis(5));
    }
}
