//! What one turn looks like in its chat so far, as the door reports it. It keeps what is sent, within bounds, and waits for
//! nobody: the message editor shows it when Telegram permits.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use metnos_proto::msg::common::Lang;
use metnos_proto::msg::planner::{CallState, TurnDone};
use metnos_proto::msg::policyd::{CardSettled, CardWaits};
use tokio::sync::Notify;

use super::phrases;
use crate::session::relay::MAX_ANSWER;
use crate::session::speaker::{NoteDelivery, NoteSink, TurnNote};

/// The most events of one turn that wait to be shown.
pub const MAX_EVENTS: usize = 64;

/// What must be shown, whatever else is shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A card waits.
    Card(CardWaits),
    /// A card was answered.
    Settled(CardSettled),
    /// The turn is done, or suspended.
    Done(TurnDone),
}

/// See the module.
#[derive(Debug)]
pub struct View {
    lang: Lang,
    text: RefCell<String>,
    doing: RefCell<String>,
    events: RefCell<VecDeque<Event>>,
    changed: Notify,
    closed: Cell<bool>,
}

impl View {
    /// Of a turn that has said nothing.
    #[must_use]
    pub fn new(lang: Lang) -> Self {
        Self {
            lang,
            text: RefCell::default(),
            doing: RefCell::default(),
            events: RefCell::default(),
            changed: Notify::new(),
            closed: Cell::new(false),
        }
    }

    /// The language of the chat.
    #[must_use]
    pub fn lang(&self) -> Lang {
        self.lang
    }

    /// Waits until there is something new.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What comes next of what must be shown.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        self.events.borrow_mut().pop_front()
    }

    /// The answer so far, which is shown now.
    #[must_use]
    pub fn take(&self) -> String {
        self.doing.borrow_mut().clear();
        std::mem::take(&mut *self.text.borrow_mut())
    }

    /// What a message on the way shows: the answer so far, else what is being done.
    #[must_use]
    pub fn draft(&self) -> String {
        let text = self.text.borrow();
        if text.trim().is_empty() {
            format!("{} …{}", phrases::working(self.lang), self.doing.borrow())
        } else {
            text.clone()
        }
    }

    /// Nothing more is shown.
    pub fn close(&self) {
        self.closed.set(true);
    }

    fn take_in(&self, told: TurnNote) {
        match told {
            TurnNote::Text(text) => {
                let mut all = self.text.borrow_mut();
                // The door itself passes no more on than this.
                if all.len() + text.text.len() <= MAX_ANSWER {
                    all.push_str(&text.text);
                }
            }
            TurnNote::Call(call) => match call.state {
                CallState::Started => *self.doing.borrow_mut() = format!("\n{}", call.executor),
                CallState::Succeeded | CallState::Unsuccessful | CallState::Denied | CallState::Waits => {}
            },
            TurnNote::Progress(progress) => {
                let mut doing = self.doing.borrow_mut();
                let name = doing.lines().nth(1).unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
                let of = if progress.total == 0 { String::new() } else { format!("/{}", progress.total) };
                *doing = format!("\n{name} {}{of}", progress.done);
            }
            TurnNote::CardWaits(card) => self.push(Event::Card(card)),
            TurnNote::CardSettled(settled) => self.push(Event::Settled(settled)),
            TurnNote::TurnDone(done) => self.push(Event::Done(done)),
        }
    }

    fn push(&self, event: Event) {
        let mut events = self.events.borrow_mut();
        // Six questions stop a turn: more than this many is none of the door's.
        if events.len() < MAX_EVENTS {
            events.push_back(event);
        }
    }
}

impl NoteSink for View {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        if !self.closed.get() {
            self.take_in(told);
            self.changed.notify_one();
        }
        let open = !self.closed.get();
        Box::pin(async move { open })
    }

    fn is_open(&self) -> bool {
        !self.closed.get()
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::ids::TurnId;
    use metnos_proto::msg::common::CallRef;
    use metnos_proto::msg::planner::{Call, Progress, Text, TurnEnd};

    use super::*;

    const TURN: TurnId = TurnId::NONE;

    #[test]
    fn a_draft_says_what_is_being_done_until_there_are_words() {
        let view = View::new(Lang::En);
        assert_eq!(view.draft(), "Working on it …");
        let call = Call {
            turn: TURN,
            call: CallRef(1),
            executor: "fs_find".into(),
            state: CallState::Started,
            detail: "x".into(),
        };
        view.take_in(TurnNote::Call(call));
        assert_eq!(view.draft(), "Working on it …\nfs_find");
        for (done, total, shown) in [(3, 0, "fs_find 3"), (4, 9, "fs_find 4/9")] {
            view.take_in(TurnNote::Progress(Progress { turn: TURN, call: CallRef(1), done, total }));
            assert_eq!(view.draft(), format!("Working on it …\n{shown}"));
        }
        for text in ["one ", "two"] {
            view.take_in(TurnNote::Text(Text { turn: TURN, text: text.into() }));
        }
        assert_eq!(
            (view.draft().as_str(), view.take().as_str(), view.draft().as_str()),
            ("one two", "one two", "Working on it …")
        );
    }

    #[test]
    fn telegram_view_is_bounded_and_stops_when_closed() {
        let view = View::new(Lang::It);
        let piece = "x".repeat(32 << 10);
        for _ in 0..(MAX_ANSWER >> 15) + 9 {
            view.take_in(TurnNote::Text(Text { turn: TURN, text: piece.clone() }));
        }
        assert!(view.take().len() <= MAX_ANSWER);
        for _ in 0..MAX_EVENTS + 5 {
            view.take_in(TurnNote::TurnDone(TurnDone { turn: TURN, end: TurnEnd::Answered, why: String::new() }));
        }
        assert_eq!(std::iter::from_fn(|| view.event()).count(), MAX_EVENTS);
        view.close();
        let _told = view.deliver(TurnNote::Text(Text { turn: TURN, text: "late".into() }));
        assert!(!view.is_open() && view.take().is_empty());
    }
}
