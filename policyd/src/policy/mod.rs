//! The mediator: it holds the parts of policyd and says in which order they are asked. It holds no decision of its own, and
//! no part knows of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Closed;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::policyd::PolicyReport;
use metnos_proto::msg::sandboxd::Forget;

use crate::approvals::Approvals;
use crate::approvals::cards::Cards;
use crate::approvals::codes::Codes;
use crate::approvals::grants::Grants;
use crate::base::Base;
use crate::budget::Budgets;
use crate::budget::thinking::Thinking;
use crate::calls::files::Files;
use crate::calls::path_locks::PathLocks;
use crate::calls::rate::Rate;
use crate::calls::running::RunningCalls;
use crate::calls::turns::Turns;
use crate::chronicle::anchors::Anchors;
use crate::executors::Executors;
use crate::executors::switches::SwitchTarget;
use crate::key::InstanceKey;
use crate::opened::StoredState;
use crate::people::Principals;
use crate::people::principal::Principal;
use crate::undo::Undo;
use crate::vaglio::Proposals;
use crate::vault::Secrets;

use forgetting::Forgotten;

mod act;
pub(crate) mod answers;
mod asking;
mod assist;
mod canaries;
mod carrying;
pub(crate) mod direct;
mod drafting;
mod explain;
mod forgetting;
mod funding;
pub(crate) mod gather;
mod hand_over;
mod schedule;
mod undo;

/// What calls of all turns share.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) turns: Rc<RefCell<Turns>>,
    pub(crate) rate: Rc<RefCell<Rate>>,
    pub(crate) running: Rc<RunningCalls>,
    /// Calls that change one path run one after the other.
    pub(crate) path_locks: Rc<PathLocks>,
    /// Files that pass through.
    pub(crate) files: Rc<Files>,
    pub(crate) undo: Undo,
    pub(crate) decisions: Cell<u64>,
    pub(crate) denials: Cell<u64>,
}

/// policyd, running.
#[derive(Debug)]
pub struct Policy {
    pub(crate) base: Rc<Base>,
    pub(crate) anchors: Rc<Anchors>,
    pub(crate) people: Rc<Principals>,
    pub(crate) executors: Rc<Executors>,
    pub(crate) secrets: Rc<Secrets>,
    pub(crate) budgets: Rc<Budgets>,
    pub(crate) proposals: Rc<Proposals>,
    pub(crate) thinking: Rc<Thinking>,
    pub(crate) approvals: Approvals,
    pub(crate) calls: Calls,
    pub(crate) forgotten: Forgotten,
}

impl Policy {
    /// A policyd that knows what was kept, and lets nothing be called yet.
    #[must_use]
    pub fn new(base: Rc<Base>, key: InstanceKey, kept: StoredState) -> Rc<Self> {
        let key = Rc::new(key);
        let turns = Rc::new(RefCell::new(Turns::default()));
        let rate = Rc::new(RefCell::new(Rate::new(base.setting.calls_per_minute)));
        let running = Rc::new(RunningCalls::new(Rc::clone(&turns)));
        let anchors = Anchors::new(&base, &key, kept.last_anchor);
        let secrets = Secrets::new(&base, kept.vault);
        let people = Principals::new(&base, &secrets, &turns, kept.people);
        let executors = Executors::new(&base, &key, &people, &running, kept.executors);
        let budgets = Budgets::new(&base, &people, &executors, &turns, kept.budgets);
        let proposals = Proposals::new(&base, &budgets, &executors, kept.proposals);
        let thinking = Thinking::new(&base, &budgets, &proposals, &turns, &rate);
        let approvals = Approvals {
            cards: Cards::new(&base, &people, &turns, (&secrets, kept.words.cards)),
            grants: Grants::new(&base, &executors, kept.words.grants),
            codes: Codes::new(&base, &secrets, kept.words.codes),
        };
        let calls = Calls {
            undo: Undo::new(&base, &turns),
            turns,
            rate,
            running,
            path_locks: Rc::default(),
            files: Rc::default(),
            decisions: Cell::new(0),
            denials: Cell::new(0),
        };
        let forgotten = Forgotten::default();
        Rc::new(Self {
            base,
            anchors,
            people,
            executors,
            secrets,
            budgets,
            proposals,
            thinking,
            approvals,
            calls,
            forgotten,
        })
    }

    /// Whether sandboxd is there, trusts the key, and its pool was compared.
    #[must_use]
    pub fn sandbox_ready(&self) -> bool {
        self.base.sandbox_ready()
    }

    /// Waits until the pool was looked at and every birth tried.
    pub async fn settled(&self) {
        self.executors.settled().await;
    }

    /// No call is begun any more; returns when none runs, or after `within`.
    pub async fn drain(&self, within: Duration) {
        self.calls.running.drain(within).await;
    }

    /// Writes down what was used to the last call, at an orderly end.
    pub async fn keep_all_used(&self) {
        self.budgets.keep_all_used().await;
    }

    /// Before policyd alone is stopped, has what was written since the last head signed.
    pub async fn sign_at_stop(&self) {
        self.anchors.sign_at_stop().await;
    }

    /// All daemons are stopped: returns when memoryd has told its last head and it is signed, or memoryd is gone.
    pub async fn chain_closed(&self) {
        self.anchors.chain_closed().await;
    }

    /// The syntd of this link is gone, and with it anyone who wanted its drafts.
    pub fn syntd_gone(&self, link: u32) {
        self.thinking.syntd_gone(link);
    }

    /// A served link has ended: a breach of protocol is recorded.
    pub fn closed(&self, peer: &str, closed: &Closed) {
        if let Closed::Violation(what) = closed {
            self.base.event("violation", &format!("{peer} broke the protocol: {what}"), None);
        }
    }

    /// The planner of this link is gone: its turns are over, what it left running runs out its quotas.
    pub fn planner_gone(self: &Rc<Self>, link: u32) {
        let ended = self.calls.turns.borrow_mut().end_of_link(link);
        for turn in ended {
            self.forget(turn);
        }
    }

    /// A turn is over: mind thinks no more for it, and sandboxd drops its results.
    pub(crate) fn forget(self: &Rc<Self>, turn: TurnId) {
        self.thinking.end_thinking(turn);
        if !self.base.sandbox_ready() {
            return;
        }
        let policy = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let forget = policy.base.sandbox.forget(TraceId::NONE, Forget { turn }, []);
            if let Err(error) = policy.base.ask_sandbox(forget).await {
                tracing::debug!(%error, %turn, "sandboxd has not dropped the results of a turn");
            }
        });
    }

    /// Begins what goes on beside all asks, as long as policyd runs.
    pub fn start_tasks(&self) {
        tokio::task::spawn_local(Rc::clone(&self.anchors).keep_chain());
        tokio::task::spawn_local(Rc::clone(&self.executors).keep_sandbox());
        tokio::task::spawn_local(Rc::clone(&self.executors).keep_memory());
        tokio::task::spawn_local(Rc::clone(&self.executors).hear_sandbox());
        tokio::task::spawn_local(Rc::clone(&self.proposals).keep_constitution());
        tokio::task::spawn_local(Rc::clone(&self.thinking).keep_mind());
        tokio::task::spawn_local(Rc::clone(&self.thinking).hear_mind());
    }

    /// For `status`.
    #[must_use]
    pub fn report(&self) -> PolicyReport {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let switches = self.executors.switches.borrow();
        PolicyReport {
            turns: count(self.calls.turns.borrow().len()),
            running: count(self.calls.running.reserved.get()),
            decisions_total: self.calls.decisions.get(),
            denials_total: self.calls.denials.get(),
            public_key: self.executors.key.public_hex(),
            undecided: self.anchors.undecided(),
            signed_line: self.anchors.chain.borrow().last.map_or(0, |last| last.seq),
            unsigned_lines: self.anchors.chain.borrow().unsigned,
            unborn: self.executors.unborn(),
            stopped_ms: switches.get(&SwitchTarget::All).map_or(0, |thrown| thrown.since_ms.max(1)),
            stopped_by: switches.get(&SwitchTarget::All).map_or_else(String::new, |thrown| thrown.by.clone()),
            disabled: switches.keys().filter_map(SwitchTarget::executor).map(str::to_owned).collect(),
            notices: self.people.notices.list(),
        }
    }

    /// Stops everything: nothing is allowed from here on, and what runs is ended. How many runs that were.
    ///
    /// # Errors
    /// When it was not written down, or sandboxd did not answer; it is stopped all the same.
    pub(crate) async fn stop_all(&self, principal: &Principal) -> Result<u32, Refusal> {
        let thrown = self.executors.throw(SwitchTarget::All, principal, "", None).await;
        self.thinking.stop_thinking();
        let killed = thrown?;
        self.base.event(
            "panic",
            &format!("{} has stopped everything; {killed} calls were ended", principal.name),
            None,
        );
        Ok(killed)
    }
}
