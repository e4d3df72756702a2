//! Questions that are answered by themselves: the door has policyd open a turn on the words that memoryd has kept, has the planner
//! answer it, and collects the answer. It knows no word of the question that it could put in another's mouth.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::edge::RpcError;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Standing};
use metnos_proto::msg::memoryd::Received;
use metnos_proto::msg::planner::{CancelTurn, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::PromptRegistered;
use metnos_proto::msg::schedule::{BEGUN_BEFORE, FireAsk, Firing, FiringEnd, ScheduleKind};
use metnos_proto::payload::Sealed;
use metnos_reflex::answer::shorten;
use metnos_texts::{Key, tell};
use tokio::sync::Notify;

use super::super::speaker::{NoteDelivery, NoteSink, Speaker, SpeakerSession, TurnNote};
use super::super::{Door, phrases};
use super::{AGAIN_MS, TRIES, notes, text};

/// The longest answer that is given, in bytes.
pub const MAX_ANSWER: usize = 6_000;
/// How long an answer is waited for where the person is away, in milliseconds.
pub const AWAY_WITHIN_MS: u64 = 300_000;
/// The same where somebody is here and waits for it.
pub const HERE_WITHIN_MS: u64 = 20_000;

/// What a turn says, until it is done.
#[derive(Debug, Default)]
struct Collected {
    said: RefCell<String>,
    done: RefCell<Option<TurnDone>>,
    over: Notify,
}

impl NoteSink for Collected {
    fn deliver(&self, told: TurnNote) -> NoteDelivery<'_> {
        match told {
            TurnNote::Text(text) => {
                let mut said = self.said.borrow_mut();
                if said.len() <= MAX_ANSWER {
                    said.push_str(&text.text);
                }
            }
            TurnNote::TurnDone(done) => {
                *self.done.borrow_mut() = Some(done);
                self.over.notify_one();
            }
            // Nobody is there to look at them, and policyd asks nobody in such a turn.
            TurnNote::Call(_) | TurnNote::Progress(_) | TurnNote::CardWaits(_) | TurnNote::CardSettled(_) => {}
        }
        Box::pin(std::future::ready(true))
    }

    fn is_open(&self) -> bool {
        true
    }
}

impl Collected {
    /// What was said, and why it was not more.
    fn answer(&self) -> String {
        let said = self.said.borrow();
        let why = self.done.borrow().as_ref().map(|done| done.why.clone()).unwrap_or_default();
        let parts = [said.trim_end(), why.trim_end()];
        let all = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        let shown = shorten(&all, MAX_ANSWER);
        if shown.len() < all.len() { format!("{shown}…") } else { all }
    }
}

/// A firing on its way to somebody who may go away meanwhile: then nobody knows whether it arrived, and that is recorded.
pub(super) struct OnItsWay(Option<(Rc<Door>, Firing)>);

impl OnItsWay {
    pub(super) fn of(door: &Rc<Door>, firing: &Firing) -> Self {
        Self(Some((Rc::clone(door), firing.clone())))
    }

    /// Somebody else says from here on how it ended.
    pub(super) fn arrived(mut self) {
        self.0 = None;
    }
}

impl Drop for OnItsWay {
    fn drop(&mut self) {
        if let Some((door, firing)) = self.0.take() {
            tokio::task::spawn_local(async move { door.firing_ended(&firing, FiringEnd::Unsure).await });
        }
    }
}

impl Door {
    /// What is said when this fires.
    ///
    /// # Errors
    /// How the firing ends where nothing is said: the person is not known any more, it is tried again, or a question that repeats has
    /// nothing to report this time.
    pub(super) async fn said_by(
        self: &Rc<Self>,
        firing: &Firing,
        standing: Standing,
        within_ms: u64,
    ) -> Result<String, FiringEnd> {
        if !firing.kind.opens_turn() {
            return Ok(text(firing));
        }
        let mut tried = 0;
        let (answer, end) = loop {
            match self.answered(firing, standing, within_ms).await {
                Ok(answered) => break answered,
                // It may have been done before somebody died: it is never done twice.
                Err(refusal) if refusal.rule == BEGUN_BEFORE => {
                    let unsure = tell(firing.lang, Key::DoUnsure, &[("what", (&firing.what).into())]);
                    return Ok(notes(firing, unsure, " "));
                }
                Err(refusal) if matches!(refusal.code, RefusalCode::Denied | RefusalCode::Unknown) => {
                    tracing::warn!(%refusal, number = firing.number, "a question is answered to nobody");
                    return Err(FiringEnd::Refused);
                }
                Err(refusal) if tried + 1 < TRIES => {
                    tracing::info!(%refusal, "a question is asked again in a moment");
                    tokio::time::sleep(Duration::from_millis(AGAIN_MS)).await;
                    tried += 1;
                }
                Err(refusal) => {
                    tracing::warn!(%refusal, number = firing.number, "a question is asked again later");
                    return Err(FiringEnd::Unsure);
                }
            }
        };
        // The planner says nothing when no call has anything to report. A question that is asked once is answered in any case.
        let is_nothing = answer.is_empty() && end == Some(TurnEnd::Answered) && firing.kind == ScheduleKind::Ask;
        if is_nothing && firing.repeats {
            return Err(FiringEnd::Silent);
        }
        let answer = if is_nothing { tell(firing.lang, Key::AskNothing, &[]) } else { answer };
        let key = if firing.kind == ScheduleKind::Do { Key::DoDone } else { Key::AskAnswer };
        let head = tell(firing.lang, key, &[("what", (&firing.what).into())]);
        Ok(notes(firing, format!("{head}\n{answer}"), "\n"))
    }

    /// Has the question answered in a turn of its own: what is said, and how the turn ended where that is known.
    async fn answered(
        self: &Rc<Self>,
        firing: &Firing,
        standing: Standing,
        within_ms: u64,
    ) -> Result<(String, Option<TurnEnd>), Refusal> {
        let fire = FireAsk { number: firing.number, key: firing.key.clone() };
        let asked = self.peers.policyd.fire_ask(TraceId::NONE, fire, []).await;
        let (fired, [words]) = asked.map_err(RpcError::into_refusal)?;
        let received = Received {
            turn: fired.turn,
            trace: fired.trace,
            channel: Channel::Scheduler,
            principal: fired.principal.clone(),
            standing,
            lang: fired.lang,
            mark: String::new(),
        };
        let internal = |why: String| Refusal::new(RefusalCode::Internal, "words.share", why);
        let share: Sealed = words.share().map_err(|error| internal(error.to_string()))?;
        let journalled = self.peers.memoryd.received(fired.trace, received, [share]).await;
        journalled.map_err(RpcError::into_refusal)?;
        let sink = Rc::new(Collected::default());
        let speaker = Speaker { channel: Channel::Scheduler, sender: firing.number.to_string(), lang: None };
        let voice = SpeakerSession::new(speaker, self.number(), Rc::clone(&sink) as Rc<dyn NoteSink>);
        let registered = PromptRegistered { turn: fired.turn, trace: fired.trace, unborn: 0 };
        self.open(&voice, (fired.lang, String::new()), &registered, words, None).await;
        if tokio::time::timeout(Duration::from_millis(within_ms), sink.over.notified()).await.is_err() {
            // What it has said so far is given, and that it is not all.
            let cancel = CancelTurn { turn: fired.turn };
            if let Err(error) = self.peers.planner.cancel_turn(fired.trace, cancel, []).await {
                tracing::info!(%error, "a question that takes too long could not be stopped");
            }
            let why = phrases::too_long(fired.lang);
            sink.done.borrow_mut().get_or_insert(TurnDone { turn: fired.turn, end: TurnEnd::Broken, why });
        }
        let end = sink.done.borrow().as_ref().map(|done| done.end.clone());
        Ok((sink.answer(), end))
    }
}
