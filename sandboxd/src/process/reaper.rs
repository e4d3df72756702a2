//! Processes that have given their result and are being ended. What a call costs ends with its result; that the kernel then
//! takes a process and its namespaces apart, no call has to wait for. None is left: each is killed and collected here as soon
//! as no call would be held up by it, at the latest when there are too many.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;

use rustix::process::{Signal, WaitId, WaitIdOptions};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::process::groups::Group;

/// The most processes that are ending at once; the next one waits for the oldest.
pub const MAX_ENDING: usize = 64;

/// See the head of this file.
#[derive(Debug, Default)]
pub struct Reaper {
    ending: RefCell<VecDeque<EndingProcess>>,
    more: Notify,
}

impl Reaper {
    /// Takes a process, by its descriptor, to end and collect it soon, and then its control group.
    pub fn take(&self, process: AsyncFd<OwnedFd>, group: Option<Group>) {
        let mut ending = self.ending.borrow_mut();
        while ending.len() >= MAX_ENDING
            && let Some(oldest) = ending.pop_front()
        {
            collect(&oldest.process);
        }
        ending.push_back(EndingProcess { process, _group: group });
        self.more.notify_one();
    }

    /// Collects for as long as this process lives, each time after `moment` has come.
    pub async fn keep<F: Future<Output = ()>>(self: Rc<Self>, moment: impl Fn() -> F) {
        loop {
            self.more.notified().await;
            moment().await;
            self.settle().await;
        }
    }

    /// Ends and collects until none is left.
    pub async fn settle(&self) {
        self.ending.borrow().iter().for_each(|ending| end(&ending.process));
        loop {
            // Taken out while it is waited for; put back if the waiter is dropped.
            let Some(oldest) = self.ending.borrow_mut().pop_front() else { return };
            let waited = WaitGuard { reaper: self, process: Some(oldest) };
            waited.end().await;
        }
    }

    /// How many are still ending.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ending.borrow().len()
    }
}

/// A process that is ending. Its group is dropped after it.
#[derive(Debug)]
struct EndingProcess {
    process: AsyncFd<OwnedFd>,
    _group: Option<Group>,
}

struct WaitGuard<'a> {
    reaper: &'a Reaper,
    process: Option<EndingProcess>,
}

impl WaitGuard<'_> {
    async fn end(mut self) {
        if let Some(EndingProcess { process, .. }) = &self.process {
            end(process);
            // Without a notification it is waited for below.
            let _ = process.readable().await;
            collect(process);
        }
        self.process = None;
    }
}

impl Drop for WaitGuard<'_> {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.reaper.ending.borrow_mut().push_front(process);
        }
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        for ending in self.ending.get_mut().drain(..) {
            collect(&ending.process);
        }
    }
}

fn end(process: &AsyncFd<OwnedFd>) {
    // It can only be gone already.
    let _ = rustix::process::pidfd_send_signal(process.get_ref(), Signal::KILL);
}

fn collect(process: &AsyncFd<OwnedFd>) {
    end(process);
    let _ = rustix::process::waitid(WaitId::PidFd(process.get_ref().as_fd()), WaitIdOptions::EXITED);
}
