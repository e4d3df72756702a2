//! A turn with a model: carries out what the loop asks, each thing by the peer that has it, and passes on what the
//! model writes as it arrives. It decides nothing; what follows from an answer is the loop's.

use std::rc::Rc;
use std::time::{SystemTime, UNIX_EPOCH};

use metnos_proto::edge::RpcError;
use metnos_proto::envelope::Envelope;
use metnos_proto::json::{self, Limits};
use metnos_proto::masks::masked;
use metnos_proto::msg::common::{CallRef, Outcome, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{MAX_SUSPENDED_BYTES, ModelAsked, SuspendTurn};
use metnos_proto::msg::mind::{MAX_REPLY, RoleModel, Think, Thought, ThoughtDelta};
use metnos_proto::msg::planner::{CallState, TurnEnd};
use metnos_proto::msg::policyd::{Act, Acted, FundTurn, Intent, Release, UndoLast};
use metnos_proto::msg::schedule::ScheduleOrder;
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::Reply;
use metnos_proto::turn_log::Entry;
use metnos_reflex::language_of;
use serde::Serialize;
use tokio::task::JoinSet;

use super::DeltaQueue;
use super::drive::{Ended, Turn, refused};
use super::suspended::SuspendedTurn;
use super::turn_loop::TurnLoop;
use crate::thinking::calls::{RunResult, State};
use crate::thinking::core::{Ask, Event};
use crate::thinking::data::{self, spoken};
use crate::thinking::failure::error_class;
use crate::thinking::redact_stream::RedactStream;
use crate::thinking::{ROLE, Wish, speech};

/// What an ask has come to: an event for the loop, or the link to a peer that the turn cannot do without is gone.
type StepResult = Result<Event, RpcError>;

/// The longest name of a model that is recorded, in characters.
const MAX_MODEL: usize = 64;

/// What of a thought's text was passed on already, as it came.
#[derive(Debug, Default)]
struct StreamedText {
    thought: u32,
    text: String,
    /// What of it is not for people.
    redactor: RedactStream,
    /// A piece was lost or the turn was never notified of one: what follows is sent at the end.
    lost: bool,
    /// What begins so may be a call that is written as text: nobody is shown it before it was read whole.
    held: bool,
}

impl Turn {
    /// Drives the loop to its end. `known` is what the reflex knows to be impossible about the words; empty for nothing.
    pub(super) async fn think(
        &self,
        (words, data): (&str, &str),
        envelope: &Envelope,
        (model, known): (&RoleModel, &str),
        pieces: DeltaQueue,
    ) -> Result<Ended, RpcError> {
        let planner = Rc::clone(&self.planner);
        tokio::task::spawn_local(async move { planner.hear_of_models().await });
        let lang = language_of(words, self.lang);
        let mut turn = TurnLoop::new(envelope, (words, data), lang, (model, known), now());
        let asks = turn.start();
        self.go_through(turn, asks, pieces).await
    }

    /// Carries out asks and what follows from them, to the end or until it must be waited.
    pub(super) async fn go_through(
        &self,
        mut turn: TurnLoop,
        asks: Vec<Ask>,
        (mut pieces, lost_in): DeltaQueue,
    ) -> Result<Ended, RpcError> {
        let mut under_way: JoinSet<StepResult> = JoinSet::new();
        let mut passed = StreamedText::default();
        let mut asks = asks;
        loop {
            for ask in asks {
                if let Some(ended) = self.carry(ask, &mut turn, &mut under_way, &mut passed).await? {
                    return Ok(ended);
                }
            }
            asks = tokio::select! {
                biased;
                Some(piece) = pieces.recv(), if turn.streams() => {
                    passed.lost |= lost_in.get() == piece.thought;
                    self.pass_on(piece, &mut passed).await?;
                    Vec::new()
                }
                Some(came) = under_way.join_next() => {
                    let event = match came {
                        Ok(came) => came?,
                        Err(error) => return Ok(Ended::broken(error.to_string())),
                    };
                    if matches!(event, Event::Thought(..) | Event::NoThought(_)) {
                        self.thinks.set(0);
                    }
                    self.tell_of(&turn, &event).await?;
                    turn.on(event)
                }
                // The loop waits for nothing and has not ended: it never does, and a turn must not hang on it.
                else => return Ok(Ended::broken(speech::why(&speech::EndReason::Bound, self.lang))),
            };
        }
    }

    /// Begins to carry out an ask; how the turn ended, when that is what it says.
    async fn carry(
        &self,
        ask: Ask,
        turn: &mut TurnLoop,
        under_way: &mut JoinSet<StepResult>,
        passed: &mut StreamedText,
    ) -> Result<Option<Ended>, RpcError> {
        let (id, trace) = (self.id, self.trace);
        match ask {
            Ask::Fund(tokens) => {
                let policyd = Rc::clone(&self.planner.policyd);
                under_way.spawn_local(async move {
                    let funded = policyd.fund_turn(trace, FundTurn { turn: id, tokens }, []).await;
                    or_no(funded.map(|(funded, [])| Event::Funded(funded.tokens)), Event::NotFunded)
                });
            }
            Ask::Think { thought, prompt, max_tokens } => {
                *passed = StreamedText { thought, ..StreamedText::default() };
                self.thinks.set(thought);
                let (mind, think) =
                    (Rc::clone(&self.planner.mind), Think { turn: id, thought, role: ROLE.to_owned(), max_tokens });
                let prompt = sealed(&prompt)?;
                let (memoryd, places) = (Rc::clone(&self.planner.memoryd), Rc::clone(&self.planner.places));
                under_way.spawn_local(async move {
                    // It is never closed.
                    let _place = places.acquire().await;
                    // A mind that is gone is no reason to give up what was done.
                    let (answer, [reply, sent]) = match mind.think(trace, think, [prompt]).await {
                        Ok(answered) => answered,
                        Err(error) => return Ok(Event::NoThought(error.into_refusal())),
                    };
                    let asked = ModelAsked { turn: id, thought, model: data::line(&answer.model, MAX_MODEL) };
                    // Nothing follows from a thought before the chronicle has what was sent for it.
                    match memoryd.model_asked(trace, asked, [sent]).await {
                        Ok(_) => Ok(parse_thought(&answer, &reply).unwrap_or_else(Event::NoThought)),
                        Err(error) => Ok(Event::NoThought(error.into_refusal())),
                    }
                });
            }
            Ask::Say(text) => self.say_rest(&text, passed).await?,
            Ask::Intend(slots) => {
                let policyd = Rc::clone(&self.planner.policyd);
                under_way.spawn_local(async move {
                    match policyd.intent(trace, Intent { turn: id, slots }, []).await {
                        Ok((frozen, [])) => {
                            tracing::debug!(turn = %id, frozen = frozen.frozen, ignored = ?frozen.ignored, "intent");
                            Ok(Event::Frozen)
                        }
                        // Without an intent everything is decided as if nothing had been foreseen.
                        Err(RpcError::Refused(no)) => {
                            tracing::info!(turn = %id, %no, "the intent was not taken");
                            Ok(Event::Frozen)
                        }
                        Err(error) => Err(error),
                    }
                });
            }
            Ask::Act(place) => self.act(place, turn, under_way).await?,
            Ask::Release(place, handle) => {
                let policyd = Rc::clone(&self.planner.policyd);
                under_way.spawn_local(async move {
                    let released = policyd.release(trace, Release { turn: id, handle }, []).await;
                    let released = released.and_then(|(released, [bytes])| {
                        let bytes = bytes.read().map_err(|error| RpcError::Unsendable(error.to_string()))?;
                        Ok(Event::Released(place, bytes, released.context))
                    });
                    or_no(released, |no| Event::NotReleased(place, no))
                });
            }
            Ask::Undo => {
                let policyd = Rc::clone(&self.planner.policyd);
                under_way.spawn_local(async move {
                    let undone = policyd.undo_last(trace, UndoLast { turn: id }, []).await;
                    or_no(undone.map(|(was, [])| Event::Undone(was.undone, was.kept)), Event::NotUndone)
                });
            }
            Ask::Schedule(order) => {
                let (policyd, lang) = (Rc::clone(&self.planner.policyd), turn.lang());
                under_way.spawn_local(async move {
                    match policyd.schedule(trace, ScheduleOrder { turn: id, lang, order }, []).await {
                        Ok((doc, list)) => Ok(doc.open(list).map_or_else(Event::NotScheduled, Event::Scheduled)),
                        Err(error) => or_no(Err(error), Event::NotScheduled),
                    }
                });
            }
            Ask::Below(text) => {
                // A paragraph of its own, whatever the answer ended with.
                let gap = if self.open_line.get() { "\n\n" } else { "\n" };
                self.say(&format!("{gap}{}", spoken(&text))).await?;
            }
            Ask::Suspend => return self.suspend(turn, under_way).await,
            Ask::End { end, why, wish } => return Ok(Some(Ended { end, why, wish })),
        }
        Ok(None)
    }

    /// Has memoryd keep the turn until a person has answered. Where that is not possible, it goes on without.
    async fn suspend(&self, turn: &TurnLoop, under_way: &mut JoinSet<StepResult>) -> Result<Option<Ended>, RpcError> {
        let why = speech::waits(self.lang).to_owned();
        let mut told = self.door.told();
        told.push(Entry::Done(TurnEnd::Suspended, why.clone()));
        let mut kept = SuspendedTurn { turn: turn.clone(), lang: self.lang, open_line: self.open_line.get(), told };
        let mut state = sealed(&kept)?;
        if state.len() > MAX_SUSPENDED_BYTES {
            kept.told.clear();
            state = sealed(&kept)?;
        }
        match self.planner.memoryd.suspend_turn(self.trace, SuspendTurn { turn: self.id }, [state]).await {
            Ok(_) => Ok(Some(Ended { end: TurnEnd::Suspended, why, wish: Wish::default() })),
            Err(error) => {
                tracing::warn!(turn = %self.id, %error, "the turn could not be put aside");
                under_way.spawn_local(async { Ok(Event::NotSuspended) });
                Ok(None)
            }
        }
    }

    async fn act(&self, place: CallRef, turn: &TurnLoop, under_way: &mut JoinSet<StepResult>) -> Result<(), RpcError> {
        let Some(one) = turn.calls().get(place) else { return Ok(()) };
        let arguments = json::canonical(&one.arguments);
        let shown = masked(&String::from_utf8_lossy(&arguments));
        self.tell((place, &one.executor), CallState::Started, shown).await?;
        let arguments = Sealed::new(&arguments).map_err(|error| RpcError::Unsendable(error.to_string()))?;
        let act = Act { turn: self.id, call: place, executor: one.executor.clone() };
        let (policyd, trace) = (Rc::clone(&self.planner.policyd), self.trace);
        under_way.spawn_local(async move {
            let acted = policyd.act(trace, act, [arguments]).await.map(|(acted, [])| match acted {
                Acted::Ran(ran) => Event::Ran(
                    place,
                    RunResult {
                        handle: ran.handle,
                        outcome: ran.outcome,
                        label: ran.label,
                        bytes: ran.resources.output_bytes,
                        line: ran.line,
                        class: if ran.outcome == Outcome::Error { error_class(&ran.leaves) } else { String::new() },
                    },
                ),
                Acted::Denied(no) => Event::Denied(place, no),
            });
            or_no(acted, |no| Event::Denied(place, no))
        });
        Ok(())
    }

    /// Tells the person what became of a call.
    async fn tell_of(&self, turn: &TurnLoop, event: &Event) -> Result<(), RpcError> {
        let (place, state, detail) = match event {
            Event::Ran(place, left) if left.outcome == Outcome::Ok => (place, CallState::Succeeded, String::new()),
            Event::Ran(place, left) => (place, CallState::Unsuccessful, left.outcome.name().to_owned()),
            Event::Denied(place, no) => (place, refused(no), metnos_texts::refusal(self.lang, no)),
            Event::Funded(_)
            | Event::NotFunded(_)
            | Event::Thought(..)
            | Event::NoThought(_)
            | Event::Frozen
            | Event::Released(..)
            | Event::NotReleased(..)
            | Event::Settled(_)
            | Event::NotSuspended
            | Event::Undone(..)
            | Event::NotUndone(_)
            | Event::Scheduled(_)
            | Event::NotScheduled(_) => return Ok(()),
        };
        let Some(one) = turn.calls().get(*place).filter(|one| one.state == State::Running) else { return Ok(()) };
        self.tell((*place, &one.executor), state, detail).await
    }

    /// A piece of the thought that is under way goes to the person as it comes.
    async fn pass_on(&self, piece: ThoughtDelta, passed: &mut StreamedText) -> Result<(), RpcError> {
        let room = crate::thinking::MAX_SAID.saturating_sub(passed.text.len());
        passed.lost |= piece.text.len() > room;
        if piece.thought != passed.thought || self.thinks.get() != passed.thought || passed.lost {
            return Ok(());
        }
        passed.held |= may_be_call(&piece.text);
        if passed.held {
            return Ok(());
        }
        self.begin_line(passed).await?;
        passed.text.push_str(&piece.text);
        let shown = passed.redactor.shown(&piece.text);
        self.say_shown(&shown).await
    }

    /// What of a reply's text was not passed on as it came.
    async fn say_rest(&self, text: &str, passed: &mut StreamedText) -> Result<(), RpcError> {
        match text.strip_prefix(passed.text.as_str()) {
            Some(rest) => {
                let shown = passed.redactor.shown(rest) + &passed.redactor.rest();
                if !shown.is_empty() {
                    self.begin_line(passed).await?;
                }
                self.say_shown(&shown).await
            }
            None => {
                tracing::warn!(turn = %self.id, "what the model wrote in pieces is not what its reply says");
                Ok(())
            }
        }
    }

    async fn say_shown(&self, shown: &str) -> Result<(), RpcError> {
        if shown.is_empty() { Ok(()) } else { self.say(&spoken(shown)).await }
    }

    /// What another thought says begins on a line of its own.
    async fn begin_line(&self, passed: &StreamedText) -> Result<(), RpcError> {
        if passed.text.is_empty() && self.open_line.get() { self.say("\n").await } else { Ok(()) }
    }
}

/// Whether what a model writes may go on as a call: a sign that one begins with stands in it. The end of the thought decides.
fn may_be_call(piece: &str) -> bool {
    piece.contains(['<', '{', '[', '`'])
}

/// The time, in seconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or_default()
}

/// A refusal is an event for the loop; anything else that went wrong ends the turn.
fn or_no(came: Result<Event, RpcError>, no: impl FnOnce(Refusal) -> Event) -> StepResult {
    match came {
        Err(RpcError::Refused(refusal)) => Ok(no(refusal)),
        other => other,
    }
}

fn sealed(document: &impl Serialize) -> Result<Sealed, RpcError> {
    let bytes = serde_json::to_vec(document).map_err(|error| RpcError::Unsendable(error.to_string()))?;
    Sealed::new(&bytes).map_err(|error| RpcError::Unsendable(error.to_string()))
}

/// The reply beside a thought.
fn parse_thought(thought: &Thought, reply: &Sealed) -> Result<Event, Refusal> {
    let no = |why: String| Refusal::new(RefusalCode::Invalid, "mind.reply", why);
    if reply.len() > MAX_REPLY {
        return Err(no(format!("a reply of {} bytes came; at most {MAX_REPLY} are read", reply.len())));
    }
    let bytes = reply.read().map_err(|error| no(error.to_string()))?;
    let value = json::parse_strict(&bytes, Limits::result(MAX_REPLY)).map_err(|error| no(error.to_string()))?;
    let reply: Reply = serde_json::from_value(value).map_err(|error| no(error.to_string()))?;
    Ok(Event::Thought(reply, thought.usage.tokens()))
}
