//! Events for tests, by hand and at random.
#![allow(clippy::unwrap_used, clippy::new_without_default, missing_docs)]

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

use metnos_proto::ids::{SessionId, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Trust};
use metnos_proto::role::RoleName;
use proptest::prelude::*;

use super::event::{Draft, Event, EventType, GENESIS};
use super::store::Chronicle;
use super::time::{Clock, LAST_MS};
use super::verify::Verify;
use crate::at_rest::Keys;
use crate::error::Result;
use crate::faults::{Fault, Faults, Step};
use metnos_proto::msg::memoryd::VerifyReport;

/// 2026-04-25T08:12:00Z.
pub const MORNING: u64 = 1_777_104_720_000;

/// A clock that is set by hand.
#[derive(Debug, Clone)]
pub struct HandClock(pub Rc<Cell<u64>>);

impl HandClock {
    pub fn at(ms: u64) -> Self {
        Self(Rc::new(Cell::new(ms)))
    }

    pub fn set(&self, ms: u64) {
        self.0.set(ms);
    }

    pub fn advance(&self, ms: u64) {
        self.0.set(self.0.get() + ms);
    }
}

impl Clock for HandClock {
    fn now_ms(&self) -> u64 {
        self.0.get()
    }
}

pub fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([n; 16])
}

pub fn draft(kind: EventType, payload: &str) -> Draft {
    Draft {
        parent: None,
        emitter: RoleName::Gatewayd,
        session: SessionId::from_bytes([1; 16]),
        turn_id: None,
        trace_id: None,
        kind,
        channel: Some(Channel::Cli),
        peer: "cli:uid:1000".to_owned(),
        trust: Trust::Owner,
        payload: payload.to_owned(),
    }
}

pub fn note(n: u64) -> Draft {
    draft(EventType::SystemEvent, &format!("{{\"kind\":\"note\",\"text\":\"{n}\"}}"))
}

pub fn event(seq: u64) -> Event {
    Event::seal(note(seq), seq, GENESIS, MORNING)
}

pub fn any_event() -> impl Strategy<Value = Event> {
    let ids = (any::<[u8; 16]>(), any::<Option<[u8; 16]>>(), any::<Option<[u8; 16]>>());
    let words = (".{0,12}", ".{0,12}", ".{0,12}", ".{0,12}");
    let choices = (
        prop::sample::select(RoleName::ALL),
        prop::sample::select(EventType::ALL),
        prop::option::of(prop::sample::select(vec![Channel::Cli, Channel::Http, Channel::Metnos])),
        prop::sample::select(vec![Trust::Owner, Trust::Guest, Trust::Web, Trust::System]),
    );
    let numbers = (1..=u64::MAX, prop::option::of(1..=u64::MAX), 0..=LAST_MS, any::<[u8; 32]>());
    (ids, words, choices, numbers).prop_map(|(ids, words, choices, numbers)| {
        let draft = Draft {
            parent: numbers.1,
            emitter: choices.0,
            session: SessionId::from_bytes(ids.0),
            turn_id: ids.1.map(TurnId::from_bytes),
            trace_id: ids.2.map(TraceId::from_bytes),
            kind: choices.1,
            channel: choices.2,
            peer: words.0,
            trust: choices.3,
            payload: serde_json::json!({ "text": words.1 }).to_string(),
        };
        let mut event = Event::seal(draft, numbers.0, metnos_proto::ids::Sha256(numbers.3), numbers.2);
        event.agent_id = words.2;
        event.model = words.3;
        event.hash = event.computed_hash();
        event
    })
}

/// A fault at one of the times that a step is reached, counted from the script's beginning.
#[derive(Debug, Clone, Default)]
pub struct Script(Rc<RefCell<Vec<(Step, usize, Fault)>>>);

impl Script {
    /// The fault happens the next time but `skip` that the step is reached.
    pub fn add(&self, step: Step, skip: usize, fault: Fault) {
        self.0.borrow_mut().push((step, skip, fault));
    }

    /// Nothing breaks any more.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    pub fn is_done(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl Faults for Script {
    fn at(&mut self, step: Step) -> Option<Fault> {
        let mut all = self.0.borrow_mut();
        let at = all.iter().position(|(due, _, _)| *due == step)?;
        if all[at].1 == 0 {
            return Some(all.remove(at).2);
        }
        all[at].1 -= 1;
        None
    }
}

/// A chronicle in a folder of its own, with a clock and faults at hand.
pub struct Bench {
    pub dir: tempfile::TempDir,
    pub clock: HandClock,
    pub script: Script,
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, clock: HandClock::at(MORNING), script: Script::default() }
    }

    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    pub fn try_open(&self) -> Result<Chronicle> {
        let session = SessionId::from_bytes([9; 16]);
        let (clock, script) = (Box::new(self.clock.clone()), Box::new(self.script.clone()));
        Chronicle::open(self.dir.path(), session, clock, script, Keys::none())
    }

    pub fn open(&self) -> Chronicle {
        self.try_open().unwrap()
    }

    /// Appends `n` notes in flushes of their own, a minute apart.
    pub fn fill(&self, n: u64) {
        let mut chronicle = self.open();
        for i in 0..n {
            chronicle.stage(note(i)).unwrap();
            chronicle.flush().unwrap();
            self.clock.advance(60_000);
        }
    }

    /// The same disk for a process that was killed just now: nothing of the old one's memory.
    pub fn after_kill(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy_dir(self.dir.path(), dir.path());
        Self { dir, clock: self.clock.clone(), script: Script::default() }
    }

    pub fn day_file(&self) -> std::path::PathBuf {
        self.path("2026-04-25.jsonl")
    }

    pub fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(self.day_file()).unwrap().lines().map(str::to_owned).collect()
    }

    pub fn write_lines(&self, lines: &[String]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(self.day_file(), text).unwrap();
    }
}

pub fn copy_dir(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub fn verify(chronicle: &Chronicle) -> VerifyReport {
    Verify::new(chronicle).unwrap().run(chronicle).unwrap()
}

/// The kinds of what is wrong.
pub fn kinds(chronicle: &Chronicle) -> Vec<String> {
    verify(chronicle).findings.into_iter().map(|finding| finding.kind).collect()
}
