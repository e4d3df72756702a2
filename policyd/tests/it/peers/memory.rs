//! A memoryd that notes what it is told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_proto::doc::Doc;
use metnos_proto::doc::schedule::{DayReview, ScheduleHistory, ScheduleList};
use metnos_proto::edge::{ServeError, Served};
use metnos_proto::edges::PolicydMemoryd;
use metnos_proto::edges::policyd_memoryd::Serve;
use metnos_proto::ids::{Blake3, CallId, Sha256, TurnId};
use metnos_proto::link_async::{Cx, Notes};
use metnos_proto::msg::common::{Done, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{
    Anchored, ChainHead, CleanTurn, ConstitutionModified, Cost, Decision, DirectTurn, DirectTurnDone, ExecutorBorn,
    ExecutorLost, ForgetTurn, ModelAsked, Recorded, Redact, Spending, Spent, SystemEvent, TurnClosed, TurnForgotten,
    VERIFYING,
};
use metnos_proto::msg::people::Household;
use metnos_proto::msg::schedule::{
    AskFired, AskedThen, ChangeSchedules, KeepSchedule, ListSchedules, ReviewOf, SaidBefore, SaidTimes, ShowSchedule,
};
use metnos_proto::payload::Sealed;
use tokio::sync::Semaphore;

use super::Log;
use super::schedules::FakeSchedules;

/// How the next answers go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Honest,
    /// Says no.
    Refuses,
    /// Records what it is told, and does not say whether its chronicle is what was signed.
    Evades,
    /// Records what it is told, and is still reading its chronicle.
    Reads,
    /// Ends without an answer.
    Dies,
}

/// Turn, principal, millionths, tokens.
pub type Entry = (TurnId, String, u64, u64);

pub struct FakeMemory {
    log: Log,
    /// The last line: a chronicle outlives the policyd that writes to it.
    pub seq: Cell<u64>,
    pub mood: Cell<Mood>,
    /// Decisions take one permit each; none left, they wait.
    pub gate: Rc<Semaphore>,
    /// Births take one permit each.
    pub births: Rc<Semaphore>,
    /// Answers on what was signed take one permit each.
    pub proofs: Rc<Semaphore>,
    /// Ends at the birth of an executor.
    pub dies_at_births: Cell<bool>,
    /// Which heads it was asked about.
    pub heads: RefCell<Vec<String>>,
    /// The way to tell a head unasked.
    pub notes: RefCell<Option<Notes<PolicydMemoryd>>>,
    /// The head it tells.
    pub head: RefCell<ChainHead>,
    /// What was spent.
    pub ledger: RefCell<BTreeMap<CallId, Entry>>,
    /// Why its chronicle is not what was signed.
    pub altered: RefCell<Option<String>>,
    /// The turns whose answers may be shown later.
    pub clean: RefCell<Vec<TurnId>>,
    /// What is planned.
    pub schedules: FakeSchedules,
    /// Who is who.
    pub household: RefCell<Household>,
    /// When what is said was said before, in seconds since 1970.
    pub said_before: RefCell<Vec<i64>>,
}

impl FakeMemory {
    pub fn new(log: Log) -> Self {
        Self {
            log,
            seq: Cell::new(0),
            mood: Cell::new(Mood::Honest),
            gate: Rc::new(Semaphore::new(1_000)),
            births: Rc::new(Semaphore::new(1_000)),
            proofs: Rc::new(Semaphore::new(1_000)),
            dies_at_births: Cell::new(false),
            heads: RefCell::default(),
            notes: RefCell::default(),
            head: RefCell::new(ChainHead {
                seq: 0,
                hash: Sha256([0; 32]),
                root: Sha256([0; 32]),
                opened: 0,
                closed: false,
            }),
            ledger: RefCell::default(),
            altered: RefCell::default(),
            clean: RefCell::default(),
            schedules: FakeSchedules::default(),
            said_before: RefCell::default(),
            household: RefCell::new(Household {
                people: Vec::new(),
                owner: Vec::new(),
                unsealed: Vec::new(),
                accounts: Vec::new(),
            }),
        }
    }

    fn note(&self, line: String) -> Served<Recorded, 0> {
        self.log.borrow_mut().push(line);
        match self.mood.get() {
            Mood::Honest | Mood::Evades | Mood::Reads => {}
            Mood::Refuses => return Err(Refusal::new(RefusalCode::Unavailable, "disk.full", "the disk is full").into()),
            Mood::Dies => return Err(ServeError::Violation("dies".to_owned())),
        }
        self.seq.set(self.seq.get() + 1);
        Ok((Recorded { seq: self.seq.get(), hash: Sha256([0; 32]) }, []))
    }
}

impl Serve for FakeMemory {
    async fn household(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: Household, []: [Sealed; 0]) -> Served<Done, 0> {
        if self.mood.get() == Mood::Refuses {
            return Err(Refusal::new(RefusalCode::Unavailable, "disk.full", "the disk is full").into());
        }
        *self.household.borrow_mut() = ask;
        Ok((Done {}, []))
    }

    async fn keep_schedule(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: KeepSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        let _ = self.note(format!("keep_schedule {} -> {}: {} | {}", ask.principal, ask.to, ask.what, ask.when))?;
        Ok(Doc::seal(&self.schedules.keep(&ask))?)
    }

    async fn list_schedules(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ListSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        Ok(Doc::seal(&self.schedules.list(&ask))?)
    }

    async fn change_schedules(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ChangeSchedules,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleList>, 1> {
        let _ = self.note(format!("change_schedules {} {}", ask.principal, ask.change.act.name()))?;
        Ok(Doc::seal(&self.schedules.change(&ask)?)?)
    }

    async fn show_schedule(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ShowSchedule,
        []: [Sealed; 0],
    ) -> Served<Doc<ScheduleHistory>, 1> {
        Ok(Doc::seal(&self.schedules.show(&ask)?)?)
    }

    async fn review(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ReviewOf,
        []: [Sealed; 0],
    ) -> Served<Doc<DayReview>, 1> {
        Ok(Doc::seal(&self.schedules.review(&ask))?)
    }

    async fn said_before(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        _: SaidBefore,
        []: [Sealed; 0],
    ) -> Served<SaidTimes, 0> {
        Ok((SaidTimes { times: self.said_before.borrow().clone(), zone: "UTC".to_owned() }, []))
    }

    async fn ask_fired(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: AskFired, []: [Sealed; 0]) -> Served<AskedThen, 0> {
        Ok((self.schedules.fired(&ask)?, []))
    }

    async fn query_page(
        self: std::rc::Rc<Self>,
        _: metnos_proto::link_async::Cx<metnos_proto::edges::PolicydMemoryd>,
        _: metnos_proto::msg::memoryd::PageQuery,
        []: [Sealed; 0],
    ) -> Served<metnos_proto::msg::memoryd::QueryResult, 1> {
        Err(metnos_proto::msg::common::Refusal::new(
            metnos_proto::msg::common::RefusalCode::Denied,
            "test",
            "nobody looks here",
        )
        .into())
    }

    async fn decision(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: Decision,
        [arguments]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        assert_eq!(Blake3::of(&arguments.read().unwrap()), ask.arguments, "the line is about other arguments");
        self.gate.acquire().await.unwrap().forget();
        self.note(format!(
            "decision {} {} {} {} {}",
            ask.place,
            ask.id.name,
            ask.verdict.name(),
            ask.rule,
            ask.principal
        ))
    }

    async fn direct_turn(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: DirectTurn,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("direct_turn {} {}", ask.executor, ask.principal))
    }

    async fn direct_turn_done(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: DirectTurnDone,
        []: [Sealed; 0],
    ) -> Served<TurnClosed, 0> {
        self.note(format!("direct_turn_done {}", ask.end.name()))?;
        Ok((TurnClosed { mnests: 0 }, []))
    }

    async fn executor_born(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ExecutorBorn,
        [contract]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        let contract: metnos_proto::envelope::Candidate = serde_json::from_slice(&contract.read().unwrap()).unwrap();
        assert_eq!((contract.name, contract.version), (ask.id.name.clone(), ask.id.version.clone()));
        if self.dies_at_births.get() {
            self.log.borrow_mut().push(format!("died at the birth of {}", ask.id.name));
            return Err(ServeError::Violation("dies".to_owned()));
        }
        if self.births.available_permits() == 0 {
            self.log.borrow_mut().push(format!("bearing {}", ask.id.name));
        }
        self.births.acquire().await.unwrap().forget();
        self.note(format!("born {}", ask.id.name))
    }

    async fn executor_lost(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ExecutorLost,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("lost {}", ask.id.name))
    }

    async fn system_event(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: SystemEvent,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("event {}: {}", ask.kind, ask.text))
    }

    async fn anchored(self: Rc<Self>, cx: Cx<PolicydMemoryd>, ask: Anchored, []: [Sealed; 0]) -> Served<ChainHead, 0> {
        *self.notes.borrow_mut() = Some(cx.notes());
        if ask.whole {
            self.heads.borrow_mut().push(format!("anchored {}{}", ask.seq, if ask.closed { " closed" } else { "" }));
            self.proofs.acquire().await.unwrap().forget();
        } else {
            self.log.borrow_mut().push(format!("signed after {}", ask.seq));
        }
        if let Some(why) = self.altered.borrow().clone() {
            return Err(Refusal::new(RefusalCode::Unavailable, "chronicle.altered", why).into());
        }
        if self.mood.get() == Mood::Evades {
            return Err(Refusal::new(RefusalCode::Unavailable, "memory.index", "the index is behind the log").into());
        }
        if self.mood.get() == Mood::Reads {
            return Err(Refusal::new(RefusalCode::Busy, VERIFYING, "40 % of it is verified").into());
        }
        let head = self.head.borrow().clone();
        if head.seq > 0 {
            return Ok((head, []));
        }
        // Of a chronicle that is as long as what was recorded here.
        let seq = self.seq.get();
        Ok((ChainHead { seq, hash: Sha256([u8::try_from(seq % 256).unwrap(); 32]), ..head }, []))
    }

    async fn clean_turn(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: CleanTurn, []: [Sealed; 0]) -> Served<Done, 0> {
        self.clean.borrow_mut().push(ask.turn);
        Ok((Done {}, []))
    }

    async fn forget_turn(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ForgetTurn,
        []: [Sealed; 0],
    ) -> Served<TurnForgotten, 0> {
        let (_, []) = self.note(format!("forget_turn {}", ask.principal))?;
        Ok((TurnForgotten { lines: 2 }, []))
    }

    async fn redact(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: Redact, []: [Sealed; 0]) -> Served<Recorded, 0> {
        self.note(format!("redact {} {}", ask.seq, ask.why))
    }

    async fn constitution(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ConstitutionModified,
        []: [Sealed; 0],
    ) -> Served<Recorded, 0> {
        self.note(format!("constitution_modified {} {}", ask.from, ask.to))
    }

    async fn model_asked(
        self: Rc<Self>,
        _: Cx<PolicydMemoryd>,
        ask: ModelAsked,
        [sent]: [Sealed; 1],
    ) -> Served<Recorded, 0> {
        self.note(format!("asked {} {}", ask.model, sent.len()))
    }

    async fn cost(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: Cost, []: [Sealed; 0]) -> Served<Recorded, 0> {
        let tokens = ask.tokens_in + ask.tokens_out;
        let thought = if ask.role.is_empty() { String::new() } else { format!(" {tokens} {}", ask.role) };
        let noted = self.note(format!("cost {} {} {}{thought}", ask.stage.name(), ask.principal, ask.micro))?;
        self.ledger.borrow_mut().insert(ask.entry, (ask.turn, ask.principal, ask.micro, tokens));
        Ok(noted)
    }

    async fn spending(self: Rc<Self>, _: Cx<PolicydMemoryd>, ask: Spending, []: [Sealed; 0]) -> Served<Spent, 0> {
        let ledger = self.ledger.borrow();
        let sum = |fits: &dyn Fn(&Entry) -> bool| -> u64 {
            ledger.values().filter(|entry| fits(entry)).map(|entry| entry.2).sum()
        };
        let tokens = |fits: &dyn Fn(&Entry) -> bool| -> u64 {
            ledger.values().filter(|entry| fits(entry)).map(|entry| entry.3).sum()
        };
        let (turn_tokens, my_tokens) = (tokens(&|it| it.0 == ask.turn), tokens(&|it| it.1 == ask.principal));
        let (turn, mine, all) = (sum(&|it| it.0 == ask.turn), sum(&|it| it.1 == ask.principal), sum(&|_| true));
        let spent = Spent {
            turn,
            principal_day: mine,
            principal_month: mine,
            day: all,
            month: all,
            turn_tokens,
            principal_day_tokens: my_tokens,
            principal_month_tokens: my_tokens,
        };
        Ok((spent, []))
    }
}
