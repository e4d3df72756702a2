//! What the owner must know of an executor at once, wherever he is: that it was set aside, or that it tried what none has a
//! use for. Bounded: one that cries without end is told of once an hour, and what nobody hears is not waited for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use metnos_proto::edges::door_policyd;
use metnos_proto::msg::common::ExecutorId;
use metnos_proto::msg::policyd::{MAX_NOTICES, Notice, NoticeKind, OwnerTold};

use crate::births::MAX_WHY;
use crate::policy::{Policy, head};

/// The same is told again after so long, in milliseconds.
pub const AGAIN_AFTER_MS: u64 = 3_600_000;

/// What he was told last, oldest first, and what no door has heard yet.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    last: RefCell<VecDeque<Notice>>,
    unheard: RefCell<VecDeque<Notice>>,
}

impl Notices {
    /// Keeps one, unless the same was told within the hour; whether it is to be told.
    fn keep(&self, notice: &Notice) -> bool {
        let same = |other: &Notice| {
            (&other.kind, &other.id) == (&notice.kind, &notice.id)
                && notice.at_ms.saturating_sub(other.at_ms) < AGAIN_AFTER_MS
        };
        let mut last = self.last.borrow_mut();
        if last.iter().any(same) {
            return false;
        }
        push(&mut last, notice.clone());
        true
    }

    /// For `status`.
    pub(crate) fn list(&self) -> Vec<Notice> {
        self.last.borrow().iter().cloned().collect()
    }

    fn unheard(&self, notice: Notice) {
        push(&mut self.unheard.borrow_mut(), notice);
    }
}

fn push(all: &mut VecDeque<Notice>, notice: Notice) {
    if all.len() >= MAX_NOTICES {
        all.pop_front();
    }
    all.push_back(notice);
}

impl Policy {
    /// Has the owner told.
    pub(crate) fn tell_owner(self: &Rc<Self>, kind: NoticeKind, id: &ExecutorId, why: &str) {
        let notice = Notice { at_ms: self.clock.wall_ms(), kind, id: id.clone(), why: head(why, MAX_WHY) };
        if self.notices.keep(&notice) {
            self.pass_on(notice);
        }
    }

    /// A door has come: it hears what none has heard.
    pub(crate) fn tell_unheard(self: &Rc<Self>) {
        let unheard: Vec<Notice> = self.notices.unheard.borrow_mut().drain(..).collect();
        unheard.into_iter().for_each(|notice| self.pass_on(notice));
    }

    fn pass_on(self: &Rc<Self>, notice: Notice) {
        let Some(door) = self.door.open() else { return self.notices.unheard(notice) };
        let to = self.house().people.borrow().owners().take(MAX_NOTICES).map(str::to_owned).collect();
        let policy = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let note = door_policyd::Note::OwnerTold(OwnerTold { to, notice: notice.clone() });
            if let Err(error) = door.send(note).await {
                tracing::info!(%error, "no door hears what the owner must know");
                policy.notices.unheard(notice);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(name: &str, kind: NoticeKind, at_ms: u64) -> Notice {
        let id = ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() };
        Notice { at_ms, kind, id, why: "x".to_owned() }
    }

    #[test]
    fn one_that_cries_without_end_is_told_of_once_an_hour_and_the_oldest_makes_room() {
        let notices = Notices::default();
        assert!(notices.keep(&notice("a", NoticeKind::Alarm, 1)));
        assert!(!notices.keep(&notice("a", NoticeKind::Alarm, AGAIN_AFTER_MS)));
        assert!(notices.keep(&notice("a", NoticeKind::SetAside, 2)), "another kind is told");
        assert!(notices.keep(&notice("b", NoticeKind::Alarm, 2)), "another executor is told");
        assert!(notices.keep(&notice("a", NoticeKind::Alarm, 1 + AGAIN_AFTER_MS)));
        (0..MAX_NOTICES).for_each(|n| assert!(notices.keep(&notice(&format!("c{n}"), NoticeKind::Alarm, 9))));
        let list = notices.list();
        assert_eq!((list.len(), list[0].id.name.as_str()), (MAX_NOTICES, "c0"));
    }
}
