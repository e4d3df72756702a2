//! A mind that notes what it is told, meters as it is ordered to, and judges what it is ordered to say.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::PolicydMind;
use metnos_proto::edges::policyd_mind::{Note, Serve};
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::link_async::{Cx, Notes};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::mind::{Assist, EndFund, Fund, Funded, Judge, Thought, ThoughtUsed, Usage};
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{Prompt, Reply, Stop};

use super::Log;

/// How it judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Says {
    /// It has no model for that.
    NoModel,
    /// A reply with this text.
    Text(String),
    /// These bytes for a reply.
    Bytes(Vec<u8>),
    /// It ends.
    Dies,
    /// Never anything.
    Nothing,
}

pub struct FakeMind {
    log: Log,
    /// What each turn has used, as it tells it at the end.
    pub used: RefCell<BTreeMap<TurnId, (u64, u64)>>,
    pub says: RefCell<Says>,
    /// The runs of drafts that it was told of.
    pub runs: RefCell<BTreeSet<TurnId>>,
    /// Ends when a turn is over, silently.
    pub dies_at_ends: Cell<bool>,
    /// What it was shown for its last judgement.
    pub shown: RefCell<Option<Prompt>>,
    pub notes: RefCell<Option<Notes<PolicydMind>>>,
}

pub fn usage(tokens_in: u64, tokens_out: u64, micro: u64) -> Usage {
    Usage { tokens_in, tokens_cached: 0, tokens_out, micro, counted: true }
}

impl FakeMind {
    pub fn new(log: Log) -> Self {
        Self {
            log,
            used: RefCell::default(),
            says: RefCell::new(Says::NoModel),
            runs: RefCell::default(),
            dies_at_ends: Cell::new(false),
            shown: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// A thought of this turn has ended.
    pub async fn thought(&self, turn: TurnId, thought: u32, usage: Usage) {
        {
            let mut used = self.used.borrow_mut();
            let used = used.entry(turn).or_default();
            *used = (used.0.saturating_add(usage.tokens()), used.1.saturating_add(usage.micro));
        }
        self.tell(turn, thought, usage).await;
    }

    /// Says that one has.
    pub async fn tell(&self, turn: TurnId, thought: u32, usage: Usage) {
        let notes = self.notes.borrow().clone().unwrap();
        let role = if self.runs.borrow().contains(&turn) { "synth" } else { "interface" };
        let (role, model) = (role.to_owned(), "fake/fake".to_owned());
        let sent = Blake3::of(b"sent");
        let note = ThoughtUsed { turn, thought, role, model, usage, sent, failed: String::new() };
        notes.send(Note::ThoughtUsed(note)).await.unwrap();
    }
}

impl Serve for FakeMind {
    async fn judge(self: Rc<Self>, cx: Cx<PolicydMind>, _: Judge, [prompt]: [Sealed; 1]) -> Served<Thought, 2> {
        self.notes.replace(Some(cx.notes()));
        self.log.borrow_mut().push("judge".to_owned());
        self.shown.replace(Some(serde_json::from_slice(&prompt.read().unwrap()).unwrap()));
        let says = self.says.borrow().clone();
        let reply = match says {
            Says::NoModel => {
                return Err(Refusal::new(RefusalCode::Unavailable, "mind.no_model", "no model").into());
            }
            Says::Dies => return Err(ServeError::Violation("dies".to_owned())),
            Says::Nothing => return std::future::pending().await,
            Says::Bytes(bytes) => bytes,
            Says::Text(text) => serde_json::to_vec(&Reply { text, calls: Vec::new(), stop: Stop::End }).unwrap(),
        };
        let thought = Thought { model: "fake/fake".to_owned(), usage: usage(100, 20, 7) };
        Ok((thought, [Sealed::new(&reply).unwrap(), Sealed::new(b"sent").unwrap()]))
    }

    async fn assist(self: Rc<Self>, cx: Cx<PolicydMind>, ask: Assist, [arguments]: [Sealed; 1]) -> Served<Thought, 2> {
        self.notes.replace(Some(cx.notes()));
        let arguments = String::from_utf8(arguments.read().unwrap()).unwrap();
        self.log.borrow_mut().push(format!("assist {} {} {arguments}", ask.role, ask.thought));
        let says = self.says.borrow().clone();
        let text = match says {
            Says::Text(text) => text,
            Says::Dies => return Err(ServeError::Violation("dies".to_owned())),
            Says::Nothing => return std::future::pending().await,
            Says::NoModel | Says::Bytes(_) => {
                return Err(Refusal::new(RefusalCode::Unavailable, "mind.no_model", "no model")
                    .remedy("set one")
                    .into());
            }
        };
        let took = usage(100, 20, 7);
        self.thought(ask.turn, ask.thought, took.clone()).await;
        let reply = serde_json::to_vec(&Reply { text, calls: Vec::new(), stop: Stop::End }).unwrap();
        let thought = Thought { model: "fake/fake".to_owned(), usage: took };
        Ok((thought, [Sealed::new(&reply).unwrap(), Sealed::new(b"sent").unwrap()]))
    }

    async fn fund(self: Rc<Self>, cx: Cx<PolicydMind>, ask: Fund, []: [Sealed; 0]) -> Served<Funded, 0> {
        self.notes.replace(Some(cx.notes()));
        if ask.drafts && *self.says.borrow() == Says::NoModel {
            self.log.borrow_mut().push("no drafts".to_owned());
            return Err(Refusal::new(RefusalCode::Unavailable, "mind.no_model", "no model").into());
        }
        let drafts = if ask.drafts { " drafts" } else { "" };
        if ask.drafts {
            self.runs.borrow_mut().insert(ask.turn);
        }
        self.log.borrow_mut().push(format!("fund {} {}{drafts}", ask.tokens, ask.micro));
        let (tokens, micro) = self.used.borrow().get(&ask.turn).copied().unwrap_or_default();
        Ok((Funded { tokens, micro }, []))
    }

    async fn end_fund(self: Rc<Self>, _: Cx<PolicydMind>, ask: EndFund, []: [Sealed; 0]) -> Served<Funded, 0> {
        // The end of nobody's turn is a greeting.
        if ask.turn != TurnId::NONE {
            self.log.borrow_mut().push("end_fund".to_owned());
        }
        if self.dies_at_ends.get() {
            return Err(ServeError::Violation("dies".to_owned()));
        }
        let (tokens, micro) = self.used.borrow().get(&ask.turn).copied().unwrap_or_default();
        Ok((Funded { tokens, micro }, []))
    }
}
