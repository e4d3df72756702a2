//! What every part of policyd builds on: the settings, the clock, the store, the peers that it asks, and what it sees of
//! the disk. It decides nothing, and knows of no part that uses it.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::{PolicydMemoryd, PolicydMind, PolicydSandboxd};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::{Client, MAX_IN_FLIGHT};
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::{MAX_EVENT_TEXT, SystemEvent};
use metnos_proto::role::RoleName;
use tokio::sync::{Semaphore, watch};

use crate::clock::Clock;
use crate::decision::MAX_RUNNING;
use crate::perimeter::Perimeter;
use crate::refusals::memory_gone;
use crate::setting::Setting;
use crate::store::Store;
use crate::text::head;

/// How long a call waits for a sandboxd that is being restarted, in milliseconds.
pub const SANDBOX_WITHIN_MS: u64 = 3_000;
/// The most asks to sandboxd about calls at once; of the client's own a few more are left for trust and births, and one for
/// each call to say what became of its decision.
const MAX_TO_SANDBOX: usize = MAX_IN_FLIGHT - 4 - MAX_RUNNING;
const _: () = assert!(MAX_RUNNING < MAX_TO_SANDBOX, "every call that may run must find room");
/// The most events on their way to memoryd; more are only logged.
pub(crate) const MAX_EVENTS: usize = 32;

/// The ways to those whom policyd asks.
#[derive(Debug, Clone)]
pub struct Peers {
    /// Runs what was decided.
    pub sandbox: Rc<Client<PolicydSandboxd>>,
    /// Makes durable what was decided.
    pub memory: Rc<Client<PolicydMemoryd>>,
    /// Judges, and thinks as far as it was funded.
    pub mind: Rc<Client<PolicydMind>>,
}

/// See the module.
pub struct Base {
    pub(crate) setting: Rc<Setting>,
    pub(crate) clock: Box<dyn Clock>,
    pub(crate) store: Store,
    pub(crate) sandbox: Rc<Client<PolicydSandboxd>>,
    pub(crate) memory: Rc<Client<PolicydMemoryd>>,
    pub(crate) mind: Rc<Client<PolicydMind>>,
    pub(crate) perimeter: Perimeter,
    /// The generation of sandboxd that trusts the key and whose pool was compared; 0 for none.
    pub(crate) established: watch::Sender<u32>,
    /// Room for asks to sandboxd: less than its client has, so that none waits inside the client.
    to_sandbox: Semaphore,
    /// Events that are on their way to memoryd.
    events: Cell<usize>,
}

impl std::fmt::Debug for Base {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Base").field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl Base {
    /// With a sandboxd that is not established yet.
    #[must_use]
    pub fn new(store: Store, clock: Box<dyn Clock>, peers: Peers, perimeter: Perimeter) -> Rc<Self> {
        let Peers { sandbox, memory, mind } = peers;
        Rc::new(Self {
            setting: Rc::clone(&perimeter.setting),
            clock,
            store,
            sandbox,
            memory,
            mind,
            perimeter,
            established: watch::Sender::new(0),
            to_sandbox: Semaphore::new(MAX_TO_SANDBOX),
            events: Cell::new(0),
        })
    }

    /// A line in the chronicle that is waited for: without it, what it is about does not happen.
    pub(crate) async fn chronicled(&self, kind: &str, text: &str) -> Result<u64, Refusal> {
        let text = head(text, MAX_EVENT_TEXT);
        let event = SystemEvent { kind: kind.to_owned(), text, turn: None };
        let (recorded, []) =
            self.memory.system_event(TraceId::NONE, event, []).await.map_err(|error| memory_gone(&error))?;
        Ok(recorded.seq)
    }

    /// Whether sandboxd is there, trusts the key, and its pool was compared.
    #[must_use]
    pub fn sandbox_ready(&self) -> bool {
        let established = *self.established.borrow();
        established != 0 && established == *self.sandbox.generations().borrow()
    }

    /// Waits a moment for a sandboxd that is being restarted.
    pub(crate) async fn sandbox_soon(&self) {
        if self.sandbox_ready() {
            return;
        }
        let mut established = self.established.subscribe();
        let waiting = established.wait_for(|_| self.sandbox_ready());
        let _ = tokio::time::timeout(Duration::from_millis(SANDBOX_WITHIN_MS), waiting).await;
    }

    /// Asks the sandboxd that was established, and no other: what is asked here never waits for the next
    /// one, where it would come before the key.
    pub(crate) async fn ask_sandbox<T>(&self, ask: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
        let gone = RpcError::Gone(RoleName::Sandboxd);
        let Ok(_room) = self.to_sandbox.acquire().await else { return Err(gone) };
        if !self.sandbox_ready() {
            return Err(gone);
        }
        // Without the scheduler's budget, the first poll sends; nothing comes between the look and that.
        tokio::task::unconstrained(ask).await
    }

    /// Has something recorded that nobody waits for.
    pub(crate) fn event(self: &Rc<Self>, kind: &str, text: &str, turn: Option<TurnId>) {
        tracing::warn!(kind, text, "event");
        if self.events.get() >= MAX_EVENTS {
            return;
        }
        self.events.set(self.events.get() + 1);
        let text = head(text, MAX_EVENT_TEXT);
        let event = SystemEvent { kind: kind.to_owned(), text, turn };
        let base = Rc::clone(self);
        tokio::task::spawn_local(async move {
            if let Err(error) = base.memory.system_event(TraceId::NONE, event, []).await {
                tracing::error!(%error, "an event could not be recorded");
            }
            base.events.set(base.events.get() - 1);
        });
    }
}
