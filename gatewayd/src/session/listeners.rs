//! The channels that are notified of what policyd says to nobody's turn in particular.

use std::cell::RefCell;

use metnos_proto::msg::people::Revoked;
use metnos_proto::msg::policyd::{OwnerNotice, OwnersCard};

/// Calls each of those that are to be notified of one kind of thing.
type Callbacks<T> = RefCell<Vec<Box<dyn Fn(&T)>>>;

/// Whom the door notifies.
#[derive(Default)]
pub(super) struct Listeners {
    revocations: Callbacks<Revoked>,
    owners_news: Callbacks<OwnerNotice>,
    owners_cards: Callbacks<OwnersCard>,
}

impl Listeners {
    pub fn on_revoked(&self, hear: impl Fn(&str) + 'static) {
        self.revocations.borrow_mut().push(Box::new(move |revoked| hear(&revoked.principal)));
    }

    pub fn on_news(&self, hear: impl Fn(&OwnerNotice) + 'static) {
        self.owners_news.borrow_mut().push(Box::new(hear));
    }

    pub fn on_owners_card(&self, show: impl Fn(&OwnersCard) + 'static) {
        self.owners_cards.borrow_mut().push(Box::new(show));
    }

    /// A principal is a stranger again.
    pub fn revoked(&self, revoked: &Revoked) {
        self.revocations.borrow().iter().for_each(|hear| hear(revoked));
    }

    /// The owner must know this.
    pub fn news(&self, told: &OwnerNotice) {
        self.owners_news.borrow().iter().for_each(|hear| hear(told));
    }

    /// A card of another principal's is the owner's to decide.
    pub fn owners_card(&self, card: &OwnersCard) {
        self.owners_cards.borrow().iter().for_each(|show| show(card));
    }
}
