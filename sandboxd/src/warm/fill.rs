//! How the pool is filled, a step at a time: a zygote, empty children, code compiled, expected executors sealed with theirs.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::msg::common::Outcome;
use tokio::time::Instant;

use super::broker::Broker;
use super::channel::send;
use super::stock::{self, PoolState, StockAction, WarmKey};
use super::waiting::Waiting;
use super::zygote::Zygote;
use super::{Idle, MAX_COMPILED, MAX_TOLD, Pool};
use crate::confine::approved::GrantView;
use crate::process::frames::{self, Instruction};
use crate::process::input::{CallRequest, Taken};
use crate::process::limits::{AwaitedEnd, supervise};

impl Pool {
    /// One step towards a full pool; how long to rest when there is none to take.
    pub(super) async fn step(&self) -> Result<Option<Duration>, String> {
        let standing = self.standing();
        match stock::next(&standing) {
            StockAction::Zygote => self.renew().await.map(|()| None),
            StockAction::Fork => {
                let idle = self.fork(!self.is_crowded()).await?;
                self.children.borrow_mut().push(idle);
                Ok(None)
            }
            StockAction::Release => {
                self.children.borrow_mut().pop();
                self.habits.borrow_mut().calm();
                Ok(None)
            }
            StockAction::Rest(rest) => {
                if self.compile_one().await? || self.expect_one().await? {
                    return Ok(None);
                }
                Ok(Some(rest))
            }
        }
    }

    fn standing(&self) -> PoolState {
        self.children.borrow_mut().retain(Idle::is_alive);
        // Those that have ended are collected by that, without a wait.
        self.ending.borrow_mut().retain(Idle::is_alive);
        let zygote = self.zygote.borrow();
        PoolState {
            zygote: zygote.is_some(),
            age: zygote.as_ref().map_or(Duration::ZERO, |(_, since)| since.elapsed()),
            forks: self.forks.get(),
            suspect: self.suspect.get() || !self.in_step(),
            children: self.children.borrow().len(),
            quiet: self.last_call.get().map(|last| last.elapsed()),
        }
    }

    /// Whether zygote and broker can still be asked.
    fn in_step(&self) -> bool {
        self.zygote.borrow().as_ref().is_none_or(|(zygote, _)| zygote.in_step())
            && self.broker.borrow().as_ref().is_none_or(|broker| broker.in_step())
    }

    /// A new zygote in the place of the old one. Of one that is worn out, nothing that waits is worse than before: it
    /// shares its layout with no more than it did. Of one that is suspect nothing is kept, nor anything it has compiled.
    async fn renew(&self) -> Result<(), String> {
        let suspect = self.suspect.replace(false) || !self.in_step() || !self.is_open();
        let zygote = Zygote::start(&self.launcher, &self.base).await?;
        if suspect {
            self.clear();
            self.broker.replace(Some(Rc::new(Broker::start()?)));
        }
        let before = self.zygote.replace(Some((Rc::new(zygote), Instant::now())));
        // A fork that is under way holds it a moment longer.
        if let Some(before) = before.and_then(|(zygote, _)| Rc::into_inner(zygote)) {
            let process = before.end();
            self.ending.borrow_mut().push(process);
        }
        self.forks.set(0);
        self.count(|counts| counts.zygotes += 1);
        Ok(())
    }

    /// Has the code of one executor compiled, in a sealed process that does not run it; `false` when all are.
    async fn compile_one(&self) -> Result<bool, String> {
        let next = self
            .known
            .borrow()
            .iter()
            .find(|(_, known)| known.compiled.is_none())
            .map(|(key, known)| (*key, Rc::clone(&known.code)));
        let Some((key, code)) = next else { return Ok(false) };
        let idle = self.fork(false).await?;
        self.seal(&idle, &self.base, GrantView::ANY).await?;
        let launched = idle.take().ok_or("a fresh child has ended")?;
        let mut words = frames::frame(Instruction::Source, &code);
        words.extend(frames::frame(Instruction::Request, br#"{"entry":"compile"}"#));
        let never = std::future::pending();
        let limits = &self.base.spec().limits;
        let finished = supervise(
            launched,
            limits,
            CallRequest::words(&words),
            Taken::default(),
            AwaitedEnd::AtDeath,
            never,
            |_, _| {},
        )
        .await;
        let compiled = match finished.outcome {
            Outcome::Ok if finished.result.len() <= MAX_COMPILED => finished.result,
            // What cannot be compiled is sent as text, and fails where it belongs: in its call.
            Outcome::Ok
            | Outcome::Error
            | Outcome::Crashed
            | Outcome::BadOutput
            | Outcome::CpuExceeded
            | Outcome::MemoryExceeded
            | Outcome::Timeout
            | Outcome::OutputTooLarge
            | Outcome::ProcessesExceeded
            | Outcome::Killed
            | Outcome::Interrupted
            | Outcome::SandboxFailed
            | Outcome::DiskExceeded
            | Outcome::DiskFull
            | Outcome::Failed => Vec::new(),
        };
        if let Some(known) = self.known.borrow_mut().get_mut(&key) {
            known.compiled = Some(compiled.into());
        }
        Ok(true)
    }

    /// Makes one expected executor wait; `false` when all do.
    async fn expect_one(&self) -> Result<bool, String> {
        let expected: BTreeSet<WarmKey> = self.habits.borrow().expected().iter().copied().collect();
        self.waiting.borrow_mut().retain(|key, waiting| expected.contains(key) && waiting.idle.is_alive());
        let missing = {
            let known = self.known.borrow();
            let waiting = self.waiting.borrow();
            expected.into_iter().find_map(|key| {
                let known = known.get(&key).filter(|known| known.encoded_code().len() <= MAX_TOLD)?;
                (!waiting.contains_key(&key)).then(|| (key, known.clone()))
            })
        };
        let Some((key, known)) = missing else { return Ok(false) };
        let idle = self.fork(true).await?;
        let mounted = self.seal(&idle, &known.plan, GrantView::ANY).await?;
        send(idle.channel()?, &known.encoded_code(), &[]).map_err(|error| format!("telling the code: {error}"))?;
        self.waiting.borrow_mut().insert(key, Waiting { idle, mounted });
        Ok(true)
    }
}
