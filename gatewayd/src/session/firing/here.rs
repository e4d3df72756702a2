//! Reminders for a person who is here, at a terminal or over HTTP: nothing can be sent to him while he is away. An open chat waits
//! for them; else they stand before the answer to what he says next.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Standing};
use metnos_proto::msg::door::{RemindMe, Reminded};
use metnos_proto::msg::planner::Text;
use metnos_proto::msg::policyd::Identified;
use metnos_proto::msg::schedule::{Firing, FiringEnd, NextFiring};

use super::super::speaker::{Speaker, SpeakerSession, TurnNote};
use super::super::{Door, Session};
use super::alarm::now_ms;
use super::asked::{HERE_WITHIN_MS, OnItsWay};

/// The most reminders that a person is given with one answer.
pub const MAX_WITH_ANSWER: usize = 8;
/// How long an open chat waits for a reminder before it asks again, in milliseconds. A wall clock that was set is noticed then.
const WAIT_MS: u64 = 60_000;

impl Door {
    /// Waits until something is due for this person, for a minute at most.
    async fn due_here(&self, principal: &str) -> Result<Option<Firing>, RpcError> {
        let over = tokio::time::sleep(Duration::from_millis(WAIT_MS));
        tokio::pin!(over);
        loop {
            // Whatever is planned from here on is noticed.
            let planned = self.planned.notified();
            tokio::pin!(planned);
            planned.as_mut().enable();
            if let Some(firing) = self.take_due(principal).await? {
                return Ok(Some(firing));
            }
            let ask = NextFiring { to: principal.to_owned() };
            let (next, []) = self.peers.memoryd.next_firing(TraceId::NONE, ask, []).await?;
            let left = Duration::from_millis(next.at_ms.map_or(WAIT_MS, |at| at.saturating_sub(now_ms()).max(1)));
            tokio::select! {
                () = &mut over => return Ok(None),
                () = planned => {}
                () = tokio::time::sleep(left) => {}
            }
        }
    }

    /// Waits until something is due for this person, for a minute at most, and says it. How it ended is for the caller to say.
    ///
    /// # Errors
    /// When the person is a stranger, or a peer does not answer.
    pub(crate) async fn reminder_for(self: &Rc<Self>, speaker: &Speaker) -> Result<Option<(Firing, String)>, Refusal> {
        let who = self.known(speaker).await?;
        let Some(firing) = self.due_here(&who.principal).await.map_err(RpcError::into_refusal)? else {
            return Ok(None);
        };
        match self.said_by(&firing, who.standing, HERE_WITHIN_MS).await {
            Ok(text) => Ok(Some((firing, text))),
            Err(end) => {
                self.firing_ended(&firing, end).await;
                Ok(None)
            }
        }
    }

    /// Who this is.
    async fn known(&self, speaker: &Speaker) -> Result<Identified, Refusal> {
        let who = self.identify(speaker).await?;
        if who.standing == Standing::Stranger {
            let why = "nobody who is not known here is reminded of anything";
            return Err(Refusal::new(RefusalCode::Denied, "principal.unpaired", why));
        }
        Ok(who)
    }

    /// Gives a person who is here what could not be sent to him: it stands before the answer to what he says. What was given, for
    /// the journal.
    pub(in crate::session) async fn give_here(
        self: &Rc<Self>,
        voice: &SpeakerSession,
        who: &Identified,
        turn: TurnId,
    ) -> String {
        let mut said = String::new();
        match voice.speaker.channel {
            Channel::Cli | Channel::Http => {}
            Channel::Telegram | Channel::Scheduler | Channel::Hook | Channel::Timer | Channel::Metnos => return said,
        }
        for _ in 0..MAX_WITH_ANSWER {
            let firing = match self.take_due(&who.principal).await {
                Ok(Some(firing)) => firing,
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "whether a reminder is due is not known now");
                    break;
                }
            };
            let on_its_way = OnItsWay::of(self, &firing);
            let text = self.said_by(&firing, who.standing, HERE_WITHIN_MS).await;
            on_its_way.arrived();
            let text = match text {
                Ok(text) => text + "\n",
                Err(end) => {
                    self.firing_ended(&firing, end).await;
                    continue;
                }
            };
            let given = voice.sink.deliver(TurnNote::Text(Text { turn, text: text.clone() })).await;
            let end = if given { FiringEnd::Delivered } else { FiringEnd::Unsure };
            self.firing_ended(&firing, end).await;
            if !given {
                break;
            }
            said.push_str(&text);
        }
        said
    }
}

/// A chat that waits for a reminder, until it does no more.
struct Listening<'a>(&'a Cell<bool>);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Session {
    /// What the user of an open chat is to be reminded of next. That the one before was shown is said with this ask; of one that
    /// was not acknowledged nobody knows.
    ///
    /// # Errors
    /// When the user is a stranger, or memoryd does not answer.
    pub(in crate::session) async fn next_reminder(
        &self,
        voice: &SpeakerSession,
        ask: RemindMe,
    ) -> Result<Reminded, Refusal> {
        let who = self.door.known(&voice.speaker).await?;
        // Of two that wait, the second would make the door forget what the first was given.
        if self.listens.replace(true) {
            return Err(Refusal::new(RefusalCode::Busy, "door.listens", "this chat waits for reminders already"));
        }
        let _listening = Listening(&self.listens);
        let before = self.reminded.borrow_mut().take();
        if let Some(firing) = before {
            self.door.firing_ended(&firing, if ask.shown { FiringEnd::Delivered } else { FiringEnd::Unsure }).await;
        }
        let due = self.door.due_here(&who.principal).await.map_err(RpcError::into_refusal)?;
        // From here on the chat that goes away is one of which nobody knows whether it was shown.
        self.reminded.borrow_mut().clone_from(&due);
        let Some(firing) = due else { return Ok(Reminded { text: String::new() }) };
        match self.door.said_by(&firing, who.standing, HERE_WITHIN_MS).await {
            Ok(text) => Ok(Reminded { text }),
            Err(end) => {
                self.reminded.borrow_mut().take();
                self.door.firing_ended(&firing, end).await;
                Ok(Reminded { text: String::new() })
            }
        }
    }

    /// The chat is gone: of what it was given last nobody knows whether it was shown.
    pub(in crate::session) async fn end_reminder(&self) {
        let last = self.reminded.borrow_mut().take();
        if let Some(firing) = last {
            self.door.firing_ended(&firing, FiringEnd::Unsure).await;
        }
    }
}
