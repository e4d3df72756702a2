//! Calls that were handed over while their decision was still being recorded: everything about them may be made ready, and
//! nothing of them runs before policyd has said which line of the chronicle the decision is.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::ids::CallId;
use tokio::sync::oneshot;

/// How long a call waits for that word: longer than memoryd may take to record a decision, and no longer.
pub const DECIDED_WITHIN: Duration = Duration::from_secs(15);

/// Those that wait, each with the link on which it came. As many as may run at once, for each has taken its place.
#[derive(Debug, Default)]
pub struct SpeculativeCalls {
    waiting: RefCell<BTreeMap<CallId, Waiting>>,
}

/// The link, and where the line is said.
type Waiting = (u32, oneshot::Sender<Option<u64>>);

/// One that waits, until it is dropped.
#[derive(Debug)]
pub struct Expected {
    speculative: Rc<SpeculativeCalls>,
    call: CallId,
    told: oneshot::Receiver<Option<u64>>,
}

impl SpeculativeCalls {
    /// A call has come on this link ahead of its decision's record; `None` when one with this number waits already.
    pub fn expect(self: &Rc<Self>, link: u32, call: CallId) -> Option<Expected> {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.contains_key(&call) {
            return None;
        }
        let (announce, told) = oneshot::channel();
        waiting.insert(call, (link, announce));
        Some(Expected { speculative: Rc::clone(self), call, told })
    }

    /// What became of the record, said on this link. Nothing happens when no such call of this link waits: it may have been
    /// refused meanwhile.
    pub fn announce(&self, link: u32, call: CallId, seq: Option<u64>) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.get(&call).is_none_or(|(of, _)| *of != link) {
            return;
        }
        if let Some((_, announce)) = waiting.remove(&call) {
            let _ = announce.send(seq);
        }
    }

    /// This link has ended: no decision will come over it.
    pub fn forget(&self, link: u32) {
        self.waiting.borrow_mut().retain(|_, (of, _)| *of != link);
    }
}

impl Expected {
    /// The line of the decision; `None` when there will be none, or it did not come in time.
    pub async fn line(mut self) -> Option<u64> {
        tokio::time::timeout(DECIDED_WITHIN, &mut self.told).await.ok()?.ok()?
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.speculative.waiting.borrow_mut().remove(&self.call);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn call_receives_its_own_line_once_from_its_own_link_only() {
        let speculative = Rc::new(SpeculativeCalls::default());
        let (one, two) = (CallId::new(), CallId::new());
        let (first, second) = (speculative.expect(1, one).unwrap(), speculative.expect(1, two).unwrap());
        assert!(speculative.expect(1, one).is_none(), "it waits already");
        speculative.announce(2, one, Some(7));
        speculative.announce(1, two, None);
        speculative.announce(1, one, Some(8));
        speculative.announce(1, one, Some(9));
        assert_eq!((first.line().await, second.line().await), (Some(8), None));
        assert!(speculative.waiting.borrow().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn call_without_recorded_decision_does_not_wait_for_ever() {
        let speculative = Rc::new(SpeculativeCalls::default());
        let began = tokio::time::Instant::now();
        assert_eq!(speculative.expect(1, CallId::new()).unwrap().line().await, None);
        assert_eq!(began.elapsed(), DECIDED_WITHIN);
        assert!(speculative.waiting.borrow().is_empty());
    }

    #[test]
    fn cancelled_speculative_call_leaves_nothing() {
        let speculative = Rc::new(SpeculativeCalls::default());
        let call = CallId::new();
        drop(speculative.expect(1, call));
        speculative.announce(1, call, Some(1));
        let (kept, gone) = (speculative.expect(1, CallId::new()), speculative.expect(2, CallId::new()));
        speculative.forget(2);
        assert_eq!(speculative.waiting.borrow().len(), 1);
        drop((kept, gone));
        assert!(speculative.waiting.borrow().is_empty() && speculative.expect(2, call).is_some());
    }
}
