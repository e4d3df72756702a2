//! A whole memory in a temporary instance, and the peers that speak to it, played by hand.
#![allow(clippy::unwrap_used, clippy::new_without_default, missing_docs)]

use metnos_proto::edge::ServeError;
use metnos_proto::edges::planner_memoryd;
use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::Example;
use metnos_proto::ids::{Blake3, CallId, SessionId, TraceId, TurnId};
use metnos_proto::msg::common::{
    CallRef, Channel, ExecutorDigests, ExecutorId, InputRef, Lang, Outcome, Resources, Standing,
};
use metnos_proto::msg::memoryd::{
    BeginTurn, CleanTurn, CloseTurn, Decision, Delivered, DirectTurn, DirectTurnDone, Ended, ExecutorBorn, Received,
    Recorded, Started, TurnClosed, Verdict, WishedSignature,
};
use metnos_proto::msg::people::{Household, Member, Unsealed};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::phase::{Machine, RecallPhase};
use metnos_proto::role::RoleName;

use super::{Answer, Asker, Memory};
use crate::at_rest;
use crate::chronicle::line::{parse_line, to_line};
use crate::chronicle::testing::{HandClock, MORNING, Script, copy_dir};
use crate::error::Result;
use crate::mnestome::clock::CALLS_PER_USE_DAY;

pub const PEER: &str = "cli:uid:1000";

pub struct Instance {
    pub dir: tempfile::TempDir,
    pub clock: HandClock,
    pub script: Script,
    pub calls_per_use_day: u32,
    /// Whether it is one of a version that encrypted nothing.
    pub unencrypted: bool,
}

impl Instance {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in [".audit", ".mnestome", ".runtime", "workspace"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let clock = HandClock::at(MORNING);
        Self { dir, clock, script: Script::default(), calls_per_use_day: CALLS_PER_USE_DAY, unencrypted: false }
    }

    pub fn try_open(&self) -> Result<Memory> {
        let session = SessionId::from_bytes([9; 16]);
        let (clock, faults) = (Box::new(self.clock.clone()), Box::new(self.script.clone()));
        let keys = if self.unencrypted { at_rest::Keys::none() } else { self.keys() };
        Memory::open(self.dir.path(), session, clock, faults, self.calls_per_use_day, &keys)
    }

    /// The keys under which it lies encrypted.
    pub fn keys(&self) -> at_rest::Keys {
        at_rest::tests::keys(&self.dir.path().join(".audit"), 7).unwrap()
    }

    /// The lines of a day's file as a reader with the keys sees them, each with its newline.
    pub fn day_lines(&self, day: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join(format!(".audit/{day}.jsonl"))).unwrap();
        let read = |line: &str| {
            let mut event = parse_line(line.as_bytes()).unwrap();
            event.payload = self.keys().from_file(event.seq, &event.peer, &event.payload).unwrap().into_owned();
            String::from_utf8(to_line(&event)).unwrap()
        };
        text.lines().map(read).collect()
    }

    /// Opened, and told who the owner is.
    pub fn open(&self) -> Memory {
        let mut memory = self.try_open().unwrap();
        memory.household(household_of(Vec::new())).unwrap();
        memory
    }

    pub fn after_kill(&self) -> Self {
        let clock = self.clock.clone();
        let later = Self { clock, calls_per_use_day: self.calls_per_use_day, ..Self::new() };
        copy_dir(self.dir.path(), later.dir.path());
        later
    }
}

/// A household of these persons whose owner speaks as [`PEER`], with no broken seal.
pub fn household_of(people: Vec<Member>) -> Household {
    Household { people, owner: vec![PEER.to_owned()], unsealed: Vec::new(), accounts: Vec::new() }
}

/// The same with the seal of this principal broken for good.
pub fn unsealed(principal: &str) -> Household {
    let open = Unsealed { principal: principal.to_owned(), until_ms: u64::MAX };
    Household { unsealed: vec![open], ..household_of(Vec::new()) }
}

pub fn turn(n: u8) -> TurnId {
    TurnId::from_bytes([n; 16])
}

pub fn trace(n: u8) -> TraceId {
    TraceId::from_bytes([n; 16])
}

pub fn call(turn: u8, place: u16) -> CallId {
    let mut bytes = [turn; 16];
    bytes[14..].copy_from_slice(&place.to_be_bytes());
    CallId::from_bytes(bytes)
}

pub fn id(name: &str) -> ExecutorId {
    ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() }
}

pub fn asker(role: RoleName) -> Asker {
    Asker { role, session: SessionId::from_bytes([role as u8; 16]) }
}

pub fn received(n: u8) -> Received {
    Received {
        turn: turn(n),
        trace: trace(n),
        channel: Channel::Cli,
        principal: PEER.to_owned(),
        standing: Standing::Owner,
        lang: Lang::It,
        mark: String::new(),
    }
}

pub fn decision(n: u8, place: u16, name: &str, verdict: Verdict) -> Decision {
    Decision {
        turn: turn(n),
        trace: trace(n),
        call: call(n, place),
        place: CallRef(place),
        principal: PEER.to_owned(),
        channel: Channel::Cli,
        id: id(name),
        arguments: Blake3::of(b"{}"),
        verdict,
        rule: "level.supervised".to_owned(),
        why: String::new(),
    }
}

pub fn started(n: u8, place: u16, name: &str, decision_seq: u64, inputs: &[u16]) -> Started {
    let input = |from: &u16| InputRef { from: call(n, *from), pointer: "/content".into(), argument: "/text".into() };
    Started {
        turn: turn(n),
        trace: trace(n),
        call: call(n, place),
        place: CallRef(place),
        id: id(name),
        arguments: Blake3::of(b"{}"),
        profile: Blake3::of(b"profile"),
        decision_seq,
        inputs: inputs.iter().map(input).collect(),
    }
}

pub fn ended(n: u8, place: u16, name: &str, started_seq: u64, outcome: Outcome) -> Ended {
    Ended {
        turn: turn(n),
        trace: trace(n),
        call: call(n, place),
        id: id(name),
        outcome,
        error_class: String::new(),
        result: Blake3::of(b"result"),
        resources: Resources { wall_us: 12_345, cpu_us: 10, peak_kib: 9000, output_bytes: 6, ..Resources::NONE },
        started_seq,
    }
}

pub fn candidate(name: &str, examples: &[&str]) -> Candidate {
    Candidate {
        name: name.to_owned(),
        version: "1.0.0".to_owned(),
        summary: name.replace('_', " "),
        examples: examples.iter().map(|text| Example::plain(*text)).collect(),
        patterns: Vec::new(),
        class: "read".to_owned(),
        input: serde_json::json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        output: serde_json::json!({ "type": "object" }),
        roles: vec![("/path".to_owned(), "path".to_owned())],
        reads: Vec::new(),
        offered: true,
        contract: String::new(),
        answer: metnos_proto::executor::answer::Answer::default(),
    }
}

pub fn no(told: Answer<impl std::fmt::Debug>) -> String {
    match told.unwrap_err() {
        ServeError::Refused(refusal) => refusal.rule,
        ServeError::Violation(_) => "violation".to_owned(),
    }
}

impl Memory {
    /// What the dispatcher does before a word of the planner reaches its handler.
    pub fn admit(&mut self, word: &planner_memoryd::Ask) -> Answer<()> {
        self.phase_of(RecallPhase::subject(word), word)?.admit(word)?;
        Ok(())
    }

    /// The head as policyd gets it.
    pub fn chain_head(&self) -> Option<metnos_proto::msg::memoryd::ChainHead> {
        super::chain_head::chain_head(self.chronicle())
    }

    pub fn say(&mut self, n: u8, words: &str) -> Recorded {
        self.received(asker(RoleName::Gatewayd), &received(n), words.as_bytes().to_vec()).unwrap()
    }

    pub fn begin(&mut self, n: u8) -> Envelope {
        let (begun, bytes) = self.begin_turn(asker(RoleName::Planner), &BeginTurn { turn: turn(n) }).unwrap();
        let envelope: Envelope = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(envelope.nonce, begun.nonce);
        envelope
    }

    pub fn decide(&mut self, decision: &Decision) -> Recorded {
        self.decision(asker(RoleName::Policyd), decision, b"{}".to_vec()).unwrap()
    }

    pub fn run(&mut self, n: u8, place: u16, name: &str, inputs: &[u16], outcome: Outcome) {
        let decided = self.decide(&decision(n, place, name, Verdict::Allow));
        let sandboxd = asker(RoleName::Sandboxd);
        let begun = Memory::started(self, sandboxd, &started(n, place, name, decided.seq, inputs)).unwrap();
        Memory::ended(self, sandboxd, &ended(n, place, name, begun.seq, outcome)).unwrap();
    }

    pub fn closed(&mut self, n: u8, wish: &str) -> TurnClosed {
        let word = CloseTurn {
            turn: turn(n),
            end: TurnEnd::Answered,
            wish: wish.to_owned(),
            signature: WishedSignature::default(),
        };
        self.close_turn(asker(RoleName::Planner), &word).unwrap()
    }

    pub fn answer(&mut self, n: u8, text: &str) -> Recorded {
        let word = Delivered { turn: turn(n), end: TurnEnd::Answered };
        self.delivered(asker(RoleName::Gatewayd), &word, text.as_bytes().to_vec()).unwrap()
    }

    /// policyd says that nothing of lower trust was read in the turn.
    pub fn was_clean(&mut self, n: u8, principal: &str) {
        self.clean_turn(&CleanTurn { turn: turn(n), principal: principal.to_owned() });
    }

    pub fn born(&mut self, candidate: &Candidate) -> Answer<Recorded> {
        let digest = Blake3::of(candidate.name.as_bytes());
        let digests = ExecutorDigests { manifest: digest, code: digest, schema: digest, profile: digest };
        let word = ExecutorBorn { id: id(&candidate.name), digests };
        self.executor_born(asker(RoleName::Policyd), &word, &serde_json::to_vec(candidate).unwrap())
    }

    /// "How many words are in notes/welcome.md": fs_read, then text_stats on its content.
    pub fn count_words(&mut self, n: u8) -> TurnClosed {
        self.say(n, "how many words are in notes/welcome.md");
        self.begin(n);
        self.run(n, 1, "fs_read", &[], Outcome::Ok);
        self.run(n, 2, "text_stats", &[1], Outcome::Ok);
        self.answer(n, "42 words");
        let closed = self.closed(n, "");
        self.flush().unwrap();
        closed
    }

    pub fn direct(&mut self, n: u8, executor: &str) -> Recorded {
        let word =
            DirectTurn { turn: turn(n), trace: trace(n), principal: PEER.to_owned(), executor: executor.to_owned() };
        self.direct_turn(asker(RoleName::Policyd), &word).unwrap()
    }

    pub fn direct_done(&mut self, n: u8) -> TurnClosed {
        let word = DirectTurnDone { turn: turn(n), end: TurnEnd::Denied };
        self.direct_turn_done(asker(RoleName::Policyd), &word).unwrap()
    }
}
