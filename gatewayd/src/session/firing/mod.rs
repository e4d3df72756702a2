//! Firings of schedules: the door waits until memoryd says that one is due, has it begun there, and gives the reminder to its
//! person. It knows no time of its own. That one was begun is on the disk first; how it ended is recorded, and where nobody can
//! know that, the next try says so.

pub mod alarm;
pub mod asked;
mod here;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::edges::door_memoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Standing};
use metnos_proto::msg::schedule::{Firing, FiringEnd, FiringEnded, NextFiring, ScheduleKind, TakeFiring};
use metnos_texts::{Key, plain, say, tell};
use tokio::sync::mpsc;

use alarm::{Alarm, now_ms};

use super::Door;
use super::speaker::Speaker;

/// The most reminders that are on their way at once.
pub const MAX_ON_THEIR_WAY: usize = 16;
/// How often a peer that is just being restarted is asked.
const TRIES: u32 = 5;
/// How long the door waits before it asks again, in milliseconds.
const AGAIN_MS: u64 = 1_000;
/// How long it waits when memoryd can record nothing, in milliseconds: nothing is given then, and nothing is lost.
const UNRECORDED_MS: u64 = 30_000;

/// A timer of the kernel, see [`alarm::open`].
pub type Timer = std::os::fd::OwnedFd;
/// Sends a text to a chat; whether it has surely arrived.
pub type Messenger = Rc<dyn Fn(String, String) -> Pin<Box<dyn Future<Output = bool>>>>;

/// Whether a message may be sent to a chat now.
pub type MaySend = Rc<dyn Fn(String) -> Pin<Box<dyn Future<Output = bool>>>>;

/// The way to chats, where there is one.
#[derive(Default)]
pub(super) struct Chats {
    messenger: RefCell<Option<Messenger>>,
    may_send: RefCell<Option<MaySend>>,
}

impl Chats {
    /// Whether a message may be sent to this chat now, as its channel says.
    async fn may_send(&self, sender: &str) -> bool {
        let asked = self.may_send.borrow().clone();
        match asked {
            Some(asked) => asked(sender.to_owned()).await,
            None => true,
        }
    }
}

/// The text of a reminder, or of a message.
pub(super) fn text(firing: &Firing) -> String {
    let lang = firing.lang;
    // What Metnos itself says, or was asked to say, is said as it stands.
    if firing.kind == ScheduleKind::Message && firing.from.is_empty() {
        return notes(firing, firing.what.clone(), "\n");
    }
    let from = if firing.from.is_empty() { "none" } else { &firing.from };
    let what = plain::sentence(&firing.what);
    let key = if firing.kind == ScheduleKind::Message { Key::Message } else { Key::Reminder };
    notes(firing, tell(lang, key, &[("what", (&what).into()), ("from", from.into())]), " ")
}

/// A text with what is not as it should be behind it: that it comes late, that others went by, that it may have been given before.
fn notes(firing: &Firing, mut text: String, between: &str) -> String {
    let (lang, mut between) = (firing.lang, between);
    let mut add = |more: String| {
        text = format!("{text}{between}{more}");
        between = " ";
    };
    if !firing.due.is_empty() {
        add(tell(lang, Key::ReminderDue, &[("due", (&firing.due).into())]));
    }
    if firing.missed > 0 {
        add(tell(lang, Key::ReminderMissed, &[("count", u64::from(firing.missed).into())]));
    }
    if firing.again {
        add(say(lang, Key::ReminderAgain));
    }
    text
}

impl Door {
    /// Has reminders sent to chats by `messenger`.
    pub fn set_messenger(&self, messenger: Messenger) {
        *self.chats.messenger.borrow_mut() = Some(messenger);
    }

    /// Has `asked` say whether a message may be sent to a chat, before one is sent unasked.
    pub fn set_may_send(&self, asked: MaySend) {
        *self.chats.may_send.borrow_mut() = Some(asked);
    }

    /// Has the door woken by this timer, which was opened before the lock.
    ///
    /// # Errors
    /// When it cannot be watched.
    pub fn set_timer(&self, timer: Timer) -> std::io::Result<()> {
        *self.alarm.borrow_mut() = Some(Rc::new(Alarm::new(timer)?));
        Ok(())
    }

    /// Fires what is due, for as long as the daemon lives.
    pub(super) async fn fire_schedules(self: Rc<Self>) {
        let Some(mut notes) = self.peers.memoryd.take_notes() else { return };
        let mut generations = self.peers.memoryd.generations();
        let (ended, mut ends) = mpsc::channel::<()>(MAX_ON_THEIR_WAY);
        let mut on_their_way = 0_usize;
        generations.mark_changed();
        let mut due = None;
        loop {
            tokio::select! {
                biased;
                changed = generations.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    if *generations.borrow_and_update() != 0 {
                        due = self.next_due().await;
                    }
                }
                Some(note) = notes.recv() => {
                    let door_memoryd::Note::FiringDue(next) = note;
                    due = next.at_ms;
                }
                Some(()) = ends.recv() => on_their_way = on_their_way.saturating_sub(1),
                () = self.until_due(due), if due.is_some() && on_their_way < MAX_ON_THEIR_WAY => {
                    on_their_way += usize::from(self.begin_due(&ended).await);
                    due = self.next_due().await;
                }
            }
        }
    }

    /// Begins the firing that is due, and has it given; whether there was one. `ended` learns when that has ended.
    async fn begin_due(self: &Rc<Self>, ended: &mpsc::Sender<()>) -> bool {
        match self.take_due("").await {
            Ok(Some(firing)) => {
                let (door, ended) = (Rc::clone(self), ended.clone());
                tokio::task::spawn_local(async move {
                    door.give(firing).await;
                    // The loop lives as long as the door does.
                    let _ = ended.send(()).await;
                });
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(%error, "a reminder is due and cannot be begun");
                tokio::time::sleep(Duration::from_millis(UNRECORDED_MS)).await;
                false
            }
        }
    }

    /// When memoryd must be asked next; in a moment, when it does not say.
    async fn next_due(&self) -> Option<u64> {
        match self.peers.memoryd.next_firing(TraceId::NONE, NextFiring { to: String::new() }, []).await {
            Ok((next, [])) => next.at_ms,
            // A new link is asked anew.
            Err(RpcError::Gone(_)) => None,
            Err(error) => {
                tracing::warn!(%error, "memoryd does not say when the next reminder is due");
                Some(now_ms().saturating_add(UNRECORDED_MS))
            }
        }
    }

    async fn until_due(&self, due: Option<u64>) {
        let Some(due) = due else { return std::future::pending().await };
        let alarm = self.alarm.borrow().clone();
        let failed = match alarm {
            Some(alarm) => alarm.until(due).await.err(),
            None => None,
        };
        if let Some(error) = &failed {
            tracing::error!(%error, "the alarm does not ring: the door counts by itself");
        }
        let left = due.saturating_sub(now_ms());
        if failed.is_some() || self.alarm.borrow().is_none() {
            tokio::time::sleep(Duration::from_millis(left)).await;
        }
    }

    /// Has the firing begun that is due first, for this person or for anybody who can be sent a message.
    pub(in crate::session) async fn take_due(&self, to: &str) -> Result<Option<Firing>, RpcError> {
        let ask = TakeFiring { to: to.to_owned() };
        let (taken, []) = self.peers.memoryd.take_firing(TraceId::NONE, ask, []).await?;
        Ok(taken.firing)
    }

    /// Gives a reminder to its person, and has recorded how that ended.
    async fn give(self: &Rc<Self>, firing: Firing) {
        let end = self.sent(&firing).await;
        self.firing_ended(&firing, end).await;
    }

    async fn sent(self: &Rc<Self>, firing: &Firing) -> FiringEnd {
        let Some((channel, sender)) = firing.to.split_once(':') else { return FiringEnd::Refused };
        let Some(channel) = Channel::named(channel) else { return FiringEnd::Refused };
        let speaker = Speaker { channel, sender: sender.to_owned(), lang: None };
        if !self.chats.may_send(sender).await {
            return FiringEnd::Unsure;
        }
        let mut tried = 0;
        let standing = loop {
            match self.identify(&speaker).await {
                Ok(who) => break who.standing,
                Err(refusal) if tried + 1 < TRIES => {
                    tracing::info!(%refusal, "a reminder waits: policyd does not say who it is for");
                    tokio::time::sleep(Duration::from_millis(AGAIN_MS)).await;
                    tried += 1;
                }
                Err(refusal) => {
                    tracing::warn!(%refusal, "a reminder is tried again later");
                    return FiringEnd::Unsure;
                }
            }
        };
        if standing == Standing::Stranger {
            return FiringEnd::Refused;
        }
        let said = match self.said_by(firing, standing, asked::AWAY_WITHIN_MS).await {
            Ok(said) => said,
            Err(end) => return end,
        };
        // A member may have joined while it was answered.
        if !self.chats.may_send(sender).await {
            return FiringEnd::Unsure;
        }
        let messenger = self.chats.messenger.borrow().clone();
        match messenger {
            Some(send) if send(sender.to_owned(), said).await => FiringEnd::Delivered,
            Some(_) | None => FiringEnd::Unsure,
        }
    }

    pub(crate) async fn firing_ended(&self, firing: &Firing, end: FiringEnd) {
        for _ in 0..TRIES {
            let ended = FiringEnded { number: firing.number, key: firing.key.clone(), end: end.clone() };
            match self.peers.memoryd.firing_ended(TraceId::NONE, ended, []).await {
                Ok(_) => return,
                Err(error @ RpcError::Refused(_)) => {
                    tracing::warn!(%error, number = firing.number, "how a reminder ended is not recorded");
                    return;
                }
                // memoryd is being restarted.
                Err(error) => {
                    tracing::info!(%error, "how a reminder ended is recorded in a moment");
                    tokio::time::sleep(Duration::from_millis(AGAIN_MS)).await;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use metnos_proto::ids::TurnId;
    use metnos_proto::msg::common::Lang;
    use metnos_proto::msg::planner::TurnEnd;

    use super::super::stage::Stage;
    use super::*;
    use crate::testing::{run, until};

    fn firing(number: u64, to: &str, what: &str) -> Firing {
        let (key, due) = ("2026-11-24T09:00:00".to_owned(), String::new());
        let (to, from, kind) = (to.into(), String::new(), ScheduleKind::Reminder);
        Firing {
            number,
            key,
            to,
            from,
            kind,
            what: what.into(),
            due,
            missed: 0,
            again: false,
            repeats: false,
            lang: Lang::En,
        }
    }

    /// A messenger that says so whether something arrived, and what it was given.
    fn messenger(arrives: bool) -> (Messenger, Rc<RefCell<Vec<String>>>) {
        let sent: Rc<RefCell<Vec<String>>> = Rc::default();
        let log = Rc::clone(&sent);
        let send = move |chat: String, text: String| -> Pin<Box<dyn Future<Output = bool>>> {
            log.borrow_mut().push(format!("{chat}: {text}"));
            Box::pin(std::future::ready(arrives))
        };
        (Rc::new(send), sent)
    }

    #[test]
    fn text_of_a_reminder_says_what_is_not_as_it_should_be() {
        let plain = firing(1, "telegram:7", "call the dentist");
        assert_eq!(text(&plain), "Reminder: Call the dentist.");
        let late = Firing { due: "today at 9:00".into(), missed: 2, again: true, lang: Lang::It, ..plain.clone() };
        let told = text(&late);
        let others = Firing { from: "Marco".into(), ..plain.clone() };
        assert_eq!(text(&others), "Reminder from Marco: Call the dentist.");
        let message = Firing { kind: ScheduleKind::Message, lang: Lang::It, ..others };
        assert_eq!(text(&message), "Marco dice: Call the dentist.");
        assert!(told.starts_with("Promemoria: Call the dentist. Era per today at 9:00. Le 2 volte prima"), "{told}");
        assert!(told.ends_with("non ho potuto sapere se ti era arrivato."), "{told}");
    }

    #[test]
    fn due_reminders_are_sent_to_their_chats_and_their_ends_recorded() {
        run(async {
            let stage = Stage::new();
            let (send, sent) = messenger(true);
            stage.door.set_messenger(send);
            *stage.script.due.borrow_mut() = vec![firing(1, "telegram:7", "one"), firing(2, "telegram:8", "two")];
            until(|| stage.script.asked("firing_ended").len() == 2).await;
            let mut all = sent.borrow().clone();
            all.sort();
            assert_eq!(all, ["7: Reminder: One.", "8: Reminder: Two."]);
            let ended = stage.script.asked("firing_ended");
            assert!(ended.iter().all(|line| line.ends_with("Delivered")), "{ended:?}");
        });
    }

    #[test]
    fn reminder_that_may_not_have_arrived_is_unsure_and_a_strangers_refused() {
        for (arrives, standing, end) in [
            (false, Standing::Guest, "Unsure"),
            (true, Standing::Stranger, "Refused"),
            (true, Standing::Owner, "Delivered"),
        ] {
            run(async move {
                let stage = Stage::new();
                let (send, sent) = messenger(arrives);
                stage.door.set_messenger(send);
                stage.script.standing.set(standing);
                *stage.script.due.borrow_mut() = vec![firing(1, "telegram:7", "one")];
                until(|| !stage.script.asked("firing_ended").is_empty()).await;
                assert_eq!(stage.script.asked("firing_ended"), [format!("firing_ended 1 {end}")]);
                assert_eq!(sent.borrow().len(), usize::from(standing != Standing::Stranger));
            });
        }
    }

    #[test]
    fn reminder_of_the_terminal_stands_before_the_answer_and_in_the_journal() {
        run(async {
            let stage = Stage::new();
            *stage.script.due.borrow_mut() = vec![firing(3, "cli:uid:1000", "stretch"), firing(4, "cli:uid:7", "x")];
            let mut person = stage.person(1_000);
            person.say(b"hello").await.unwrap();
            until(|| !stage.opened().is_empty()).await;
            let turn: TurnId = stage.opened()[0];
            stage.planner_says(turn, "Hello.").await;
            stage.planner_ends(turn, TurnEnd::Answered).await;
            let (told, done) = person.listen().await;
            assert_eq!((told.as_str(), done.end), ("Reminder: Stretch.\nHello.", TurnEnd::Answered));
            assert_eq!(stage.script.asked("firing_ended"), ["firing_ended 3 Delivered"]);
            assert_eq!(stage.script.asked("delivered answered").len(), 1);
            assert!(stage.script.asked("delivered")[0].contains("Stretch"));
        });
    }

    fn question(number: u64, to: &str) -> Firing {
        Firing { kind: ScheduleKind::Ask, ..firing(number, to, "what is planned") }
    }

    #[test]
    fn question_is_answered_in_a_turn_of_its_own_and_sent() {
        run(async {
            let stage = Stage::new();
            let (send, sent) = messenger(true);
            stage.door.set_messenger(send);
            *stage.script.due.borrow_mut() = vec![question(5, "telegram:7")];
            until(|| !stage.opened().is_empty()).await;
            let turn = stage.opened()[0];
            stage.planner_says(turn, "1. tomorrow at 9:00: call\n").await;
            stage.planner_ends(turn, TurnEnd::Answered).await;
            until(|| !stage.script.asked("firing_ended").is_empty()).await;
            assert_eq!(*sent.borrow(), ["7: “what is planned”, as you asked:\n1. tomorrow at 9:00: call"]);
            assert_eq!(stage.script.asked("fire_ask"), ["fire_ask 5 2026-11-24T09:00:00"]);
            assert_eq!(stage.script.asked("received"), ["received telegram:7 what is planned"]);
            assert_eq!(stage.script.asked("firing_ended"), ["firing_ended 5 Delivered"]);
            assert!(stage.script.asked("register_prompt").is_empty(), "the door says only which question it is");
        });
    }

    #[test]
    fn question_that_repeats_is_silent_when_there_is_nothing_to_report() {
        run(async {
            let stage = Stage::new();
            let (send, sent) = messenger(true);
            stage.door.set_messenger(send);
            let due = [true, true, false].into_iter().zip(1..);
            let due = due.map(|(repeats, number)| Firing { repeats, ..question(number, "telegram:7") });
            *stage.script.due.borrow_mut() = due.collect();
            let ends = [TurnEnd::Answered, TurnEnd::Broken, TurnEnd::Answered];
            for (at, end) in ends.into_iter().enumerate() {
                until(|| stage.opened().len() > at).await;
                stage.planner_ends(stage.opened()[at], end).await;
                until(|| stage.script.asked("firing_ended").len() > at).await;
            }
            let recorded = ["firing_ended 1 Silent", "firing_ended 2 Delivered", "firing_ended 3 Delivered"];
            assert_eq!(stage.script.asked("firing_ended"), recorded);
            let sent = sent.borrow();
            assert_eq!(sent.len(), 2, "{sent:?}");
            assert!(!sent[0].contains("nothing to tell"), "what failed is not nothing: {sent:?}");
            assert!(sent[1].ends_with("as you asked:\nThere is nothing to tell."), "{sent:?}");
        });
    }

    #[test]
    fn question_of_the_terminal_is_answered_before_what_is_said_next() {
        run(async {
            let stage = Stage::new();
            *stage.script.due.borrow_mut() = vec![question(6, "cli:uid:1000")];
            let mut person = stage.person(1_000);
            let by_itself = async {
                until(|| !stage.opened().is_empty()).await;
                let turn = stage.opened()[0];
                stage.planner_says(turn, "Nothing is planned.").await;
                stage.planner_ends(turn, TurnEnd::Answered).await;
            };
            let (said, ()) = tokio::join!(person.say(b"hello"), by_itself);
            said.unwrap();
            until(|| stage.opened().len() == 2).await;
            let turn = stage.opened()[1];
            stage.planner_says(turn, "Hello.").await;
            stage.planner_ends(turn, TurnEnd::Answered).await;
            let (told, _) = person.listen().await;
            assert_eq!(told, "“what is planned”, as you asked:\nNothing is planned.\nHello.");
            assert_eq!(stage.script.asked("firing_ended"), ["firing_ended 6 Delivered"]);
        });
    }

    #[test]
    fn question_of_nobody_known_is_over_and_one_that_failed_says_why() {
        run(async {
            let stage = Stage::new();
            let (send, sent) = messenger(true);
            stage.door.set_messenger(send);
            *stage.script.due.borrow_mut() = vec![question(7, "telegram:7")];
            until(|| !stage.opened().is_empty()).await;
            let turn = stage.opened()[0];
            stage.planner_ends(turn, TurnEnd::Unsuccessful).await;
            until(|| !sent.borrow().is_empty()).await;
            assert!(sent.borrow()[0].starts_with("7: “what is planned”, as you asked:"), "{:?}", sent.borrow());
            stage.script.standing.set(Standing::Stranger);
            *stage.script.due.borrow_mut() = vec![question(8, "telegram:7")];
        });
    }
}
