//! One turn, from the envelope to the answer. Whatever happens on the way, it ends, says how, and
//! leaves nothing open behind it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::edge::RpcError;
use metnos_proto::edges::door_planner;
use metnos_proto::envelope::Envelope;
use metnos_proto::ids::{HandleId, TraceId, TurnId};
use metnos_proto::json;
use metnos_proto::masks::masked;
use metnos_proto::msg::common::{CallRef, Channel, Lang, Outcome, Refusal};
use metnos_proto::msg::memoryd::{BeginTurn, CloseTurn};
use metnos_proto::msg::mind::StopThinking;
use metnos_proto::msg::planner::{Call, CallState, MAX_TEXT, OpenTurn, Text, TurnDone, TurnEnd};
use metnos_proto::msg::policyd::{Act, Acted, EndTurn, Intent, Literal, MAX_SLOTS, Release, SettledAct, Slot};
use metnos_proto::msg::schedule::{OfferHabit, Order, ReviewOrder, ScheduleOrder};
use metnos_proto::payload::Sealed;
use metnos_reflex::Plan;
use metnos_reflex::PlannedCall;
use metnos_reflex::Reply;
use metnos_reflex::Unable;
use metnos_reflex::answer::reminders;
use metnos_reflex::answer::reviews;
use metnos_reflex::answer::speech;
use metnos_reflex::answer::{MAX_ANSWER, Rendered, pieces, shorten};
use metnos_reflex::language_of;
use metnos_reflex::look_up::{answers, asks_for_a_fact, may_be_told};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::progress::{Progress, State};
use super::suspended::{SuspendedTurn, settled};
use super::turn_notes::TurnNotes;
use super::{CLOSE_WITHIN_MS, DeltaQueue, MAX_WHY, MAX_WISH, Planner, THINKING_WITHIN_MS};
use crate::thinking::Wish;
use crate::thinking::core::{Event, WAITING};

/// How a turn ended, and why when it gave no answer.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: TurnEnd,
    pub(super) why: String,
    /// What was missing; empty when nothing was.
    pub(super) wish: Wish,
}

/// The rule of a refusal where more than one of what is planned may be meant.
const SEVERAL: &str = "schedule.several";
/// The rules that refuse a call of which a reference finds nothing in the result that it points into.
const NOTHING_THERE: [&str; 2] = ["reference.unknown", "arguments.reference"];

impl Ended {
    fn new(end: TurnEnd, why: String) -> Self {
        Self { end, why, wish: Wish::default() }
    }

    pub(super) fn broken(why: impl Into<String>) -> Self {
        Self::new(TurnEnd::Broken, why.into())
    }
}

/// A turn that is under way, as its own task sees it.
pub(super) struct Turn {
    pub(super) id: TurnId,
    pub(super) trace: TraceId,
    pub(super) lang: Lang,
    pub(super) planner: Rc<Planner>,
    pub(super) door: Rc<TurnNotes>,
    /// How many executors were still being tested when the turn began.
    pub(super) unborn: u32,
    /// The thought that is under way; 0 when none is.
    pub(super) thinks: Cell<u32>,
    /// Whether what was said so far ends inside a line.
    pub(super) open_line: Cell<bool>,
    /// Whether it answers a scheduled question, so that no person waits for the answer.
    pub(super) is_scheduled: bool,
}

impl Planner {
    /// Runs one turn to its end.
    pub(super) async fn run(
        self: Rc<Self>,
        open: OpenTurn,
        (words, data): (String, String),
        (door, cancel, pieces): (Rc<TurnNotes>, Rc<Notify>, DeltaQueue),
    ) {
        let is_scheduled = open.channel == Channel::Scheduler;
        let turn =
            Turn { unborn: open.unborn, is_scheduled, ..Turn::new(&self, (open.turn, open.trace, open.lang), door) };
        // Not cut short, so that it is always known whether memoryd has a turn to close.
        let (has_begun, mut ended) = match turn.begin().await {
            Err(error) => (false, Ended::broken(speech::broken(&error, turn.lang))),
            Ok(envelope) => {
                let ended = tokio::select! {
                    biased;
                    () = cancel.notified() => Ended::new(TurnEnd::Cancelled, speech::cancelled(turn.lang).to_owned()),
                    () = turn.door.lost() => Ended::new(TurnEnd::Cancelled, speech::cancelled(turn.lang).to_owned()),
                    ended = turn.drive((&words, &data), envelope, pieces) => ended,
                };
                turn.stop_thinking().await;
                (true, ended)
            }
        };
        // What is asked by itself every day was wished for once, when it was set up.
        if open.channel == Channel::Scheduler {
            ended.wish = Wish::default();
        }
        self.finish(&turn, has_begun, ended).await;
    }

    /// Goes on with a turn that was suspended.
    pub(super) async fn run_on(
        self: Rc<Self>,
        (turn, trace): (TurnId, TraceId),
        mut kept: SuspendedTurn,
        acts: Vec<SettledAct>,
        (door, cancel, pieces): (Rc<TurnNotes>, Rc<Notify>, DeltaQueue),
    ) {
        let turn = Turn::new(&self, (turn, trace, kept.lang), door);
        turn.open_line.set(kept.open_line);
        let asks = kept.turn.on(Event::Settled(settled(acts)));
        let cancelled = || Ended::new(TurnEnd::Cancelled, speech::cancelled(turn.lang).to_owned());
        let ended = tokio::select! {
            biased;
            () = cancel.notified() => cancelled(),
            () = turn.door.lost() => cancelled(),
            ended = turn.within(turn.go_through(kept.turn, asks, pieces)) => ended,
        };
        turn.stop_thinking().await;
        self.finish(&turn, true, ended).await;
    }

    async fn finish(&self, turn: &Turn, has_begun: bool, ended: Ended) {
        // What waits is not over: memoryd keeps it, and policyd what was read in it.
        if ended.end != TurnEnd::Suspended {
            turn.close(has_begun, &ended).await;
        }
        self.turns.borrow_mut().remove(&turn.id);
        self.count.send_modify(|count| *count = count.saturating_sub(1));
        let why = shorten(ended.why.trim_end(), MAX_WHY).to_owned();
        let done = TurnDone { turn: turn.id, end: ended.end, why };
        // A door that goes away in this very moment has not journalled the end: the next one finds it.
        if turn.door.outlives() {
            self.detached.put(&turn.door);
        }
        if turn.door.send(door_planner::Note::TurnDone(done)).await.is_err() {
            tracing::info!(turn = %turn.id, "the door was gone when the turn ended");
        }
    }
}

impl Turn {
    fn new(planner: &Rc<Planner>, (id, trace, lang): (TurnId, TraceId, Lang), door: Rc<TurnNotes>) -> Self {
        let (thinks, open_line) = (Cell::new(0), Cell::new(false));
        let planner = Rc::clone(planner);
        Self { id, trace, lang, planner, door, unborn: 0, thinks, open_line, is_scheduled: false }
    }

    /// Asks memoryd for the envelope.
    async fn begin(&self) -> Result<Option<Envelope>, RpcError> {
        let begin = BeginTurn { turn: self.id };
        let (begun, [envelope]) = self.planner.memoryd.begin_turn(self.trace, begin, []).await?;
        let envelope = envelope
            .read()
            .map_err(|error| error.to_string())
            .and_then(|bytes| serde_json::from_slice::<Envelope>(&bytes).map_err(|error| error.to_string()));
        match envelope {
            Ok(envelope) if envelope.nonce == begun.nonce => Ok(Some(envelope)),
            Ok(_) => {
                tracing::error!(turn = %self.id, "the envelope is of another turn");
                Ok(None)
            }
            Err(error) => {
                tracing::error!(turn = %self.id, error, "the envelope cannot be read");
                Ok(None)
            }
        }
    }

    /// Notifies memoryd and policyd that the turn is over. Both clean up by themselves when they cannot be reached.
    async fn close(&self, has_begun: bool, ended: &Ended) {
        let memoryd = async {
            if has_begun {
                let wish = shorten(&ended.wish.text, MAX_WISH).to_owned();
                let signature = ended.wish.signature.clone();
                let close = CloseTurn { turn: self.id, end: ended.end.clone(), wish, signature };
                if let Err(error) = self.planner.memoryd.close_turn(self.trace, close, []).await {
                    tracing::warn!(turn = %self.id, %error, "memoryd could not close the turn");
                }
            }
        };
        let policyd = async {
            if let Err(error) = self.planner.policyd.end_turn(self.trace, EndTurn { turn: self.id }, []).await {
                tracing::warn!(turn = %self.id, %error, "policyd could not end the turn");
            }
        };
        let both = async { tokio::join!(memoryd, policyd) };
        if tokio::time::timeout(Duration::from_millis(CLOSE_WITHIN_MS), both).await.is_err() {
            tracing::warn!(turn = %self.id, "the turn could not be closed in time");
        }
    }

    /// Understands the words and does what they ask for: what the reflex is sure of at once and without cost, anything
    /// else with the model, when there is one.
    async fn drive(&self, (words, data): (&str, &str), envelope: Option<Envelope>, pieces: DeltaQueue) -> Ended {
        let Some(envelope) = envelope else {
            return Ended::broken(speech::unreadable(self.lang));
        };
        let reply = self.planner.repertoire.borrow_mut().plan(words, &envelope);
        let model = self.planner.model.borrow().clone();
        let (within, reflex) = match (reply, model) {
            (Reply::NotUnderstood(_), Some(model)) => {
                // What the person has said is quoted: a small model makes more of it.
                let said = model.constrained.then(|| self.planner.repertoire.borrow_mut().recall(words, &envelope));
                if let Some(said) = said.flatten() {
                    return match self.say(&said).await {
                        Ok(()) => Ended::new(TurnEnd::Answered, String::new()),
                        Err(error) => self.broken(&error),
                    };
                }
                return self.within(self.think((words, data), &envelope, (&model, ""), pieces)).await;
            }
            // An order that is known to be impossible a small model only makes worse; a large one may know a way round it. What
            // is asked may stand in a note all the same.
            (Reply::Cannot(known), Some(model)) if !model.constrained || crate::steps::is_question(words) => {
                let thinking = self.think((words, data), &envelope, (&model, &known.text), pieces);
                let mut ended = self.within(thinking).await;
                // Whether or not the model has said so.
                if known.is_wish && ended.wish.text.is_empty() {
                    ended.wish = Wish::of(words);
                }
                if model.constrained && ended.end == TurnEnd::Unsuccessful {
                    ended.why = known.text;
                }
                return ended;
            }
            (reply, _) => (Duration::from_millis(self.planner.turn_within_ms), self.reflex((words, &envelope), reply)),
        };
        let ended = tokio::time::timeout(within, reflex).await;
        let ended = ended.unwrap_or_else(|_| Ended::broken(speech::too_long(self.lang)));
        self.offer_habit(&ended, (words, &envelope)).await;
        ended
    }

    /// Behind an answer that was asked for on several days at this hour: policyd may offer that it comes unasked.
    async fn offer_habit(&self, ended: &Ended, (words, envelope): (&str, &Envelope)) {
        if ended.end != TurnEnd::Answered || envelope.same.is_empty() {
            return;
        }
        if self.planner.repertoire.borrow_mut().habit(words, envelope).is_none() {
            return;
        }
        if let Err(error) = self.planner.policyd.offer_habit(self.trace, OfferHabit { turn: self.id }, []).await {
            tracing::info!(turn = %self.id, %error, "no habit is offered");
        }
    }

    /// A turn with a model, as far as it comes in its time.
    async fn within(&self, turn: impl Future<Output = Result<Ended, RpcError>>) -> Ended {
        match tokio::time::timeout(Duration::from_millis(THINKING_WITHIN_MS), turn).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(error)) => self.broken(&error),
            Err(_) => Ended::broken(speech::too_long(self.lang)),
        }
    }

    /// Carries out what the reflex made of the words.
    async fn reflex(&self, (words, envelope): (&str, &Envelope), reply: Reply) -> Ended {
        match reply {
            Reply::Say(_) if may_be_told(words) && self.looked_up(words, envelope).await.unwrap_or(false) => {
                Ended::new(TurnEnd::Answered, String::new())
            }
            Reply::Say(text) => match self.say(&text).await {
                Ok(()) => Ended::new(TurnEnd::Answered, String::new()),
                Err(error) => self.broken(&error),
            },
            // Not a wish: the executor that it asks for may be among those that are still being tested.
            Reply::NotUnderstood(_) if self.unborn > 0 => {
                let why = speech::still_starting(language_of(words, self.lang), self.unborn);
                Ended::new(TurnEnd::Unsuccessful, why)
            }
            Reply::NotUnderstood(mut why) => {
                // With a model these words would not be here.
                match self.looked_up(words, envelope).await {
                    Ok(true) => return Ended::new(TurnEnd::Answered, String::new()),
                    Ok(false) => {}
                    Err(error) => return self.broken(&error),
                }
                if self.planner.model.borrow().is_none() {
                    why.push_str(&speech::no_model(language_of(words, self.lang)));
                }
                Ended { end: TurnEnd::NotUnderstood, why, wish: Wish::of(words) }
            }
            Reply::Cannot(Unable { text: why, is_wish: true }) => {
                // What cannot be looked up elsewhere may stand in a note.
                if asks_for_a_fact(words) && self.looked_up(words, envelope).await.unwrap_or(false) {
                    return Ended::new(TurnEnd::Answered, String::new());
                }
                Ended { end: TurnEnd::Unsuccessful, why, wish: Wish::of(words) }
            }
            Reply::Cannot(Unable { text, is_wish: false }) => match self.say(&text).await {
                Ok(()) => Ended::new(TurnEnd::Answered, String::new()),
                Err(error) => self.broken(&error),
            },
            Reply::Schedule(Order::List(when), lang) => {
                let beside = self.planner.repertoire.borrow_mut().calendar_then(words, (&when, lang), envelope);
                match beside {
                    Some(plan) => self.planned_then(plan, (when, lang), (words, envelope)).await,
                    None => self.schedule(Order::List(when), lang, (words, envelope)).await,
                }
            }
            Reply::Schedule(order, lang) => self.schedule(order, lang, (words, envelope)).await,
            Reply::Review(when, lang) => self.review(when, lang, &envelope.home.zone).await,
            Reply::Plan(plan) => {
                self.carry_out(plan, (words, envelope)).await.unwrap_or_else(|error| self.broken(&error))
            }
        }
    }

    /// Has something done about the person's reminders, and says what became of it.
    async fn schedule(&self, order: Order, lang: Lang, (words, envelope): (&str, &Envelope)) -> Ended {
        let home = (envelope.home.zone.as_str(), envelope.home.now);
        let ask = ScheduleOrder { turn: self.id, lang, order: order.clone() };
        let told = match self.planner.policyd.schedule(self.trace, ask, []).await {
            Ok((doc, list)) => match doc.open(list) {
                // What is not planned may have been said, or stand in a note.
                Ok(found) if found.0.is_empty() && matches!(&order, Order::Find(called) if !called.is_empty()) => {
                    match self.looked_up(words, envelope).await {
                        Ok(true) => return Ended::new(TurnEnd::Answered, String::new()),
                        Ok(false) => Ok(reminders::told(lang, &order, &found, home)),
                        Err(error) => return self.broken(&error),
                    }
                }
                list => list.map(|schedules| {
                    let told = reminders::told(lang, &order, &schedules, home);
                    told + &self.silence_notice((lang, &order), &schedules, envelope)
                }),
            },
            Err(RpcError::Refused(refusal)) => Err(refusal),
            Err(error) => return self.broken(&error),
        };
        match told {
            Ok(text) => match self.say(&text).await {
                Ok(()) => Ended::new(TurnEnd::Answered, String::new()),
                Err(error) => self.broken(&error),
            },
            Err(refusal) => {
                let why = metnos_texts::refusal(lang, &refusal);
                let choice = if refusal.rule == SEVERAL { self.all_planned(lang, home).await } else { String::new() };
                Ended::new(TurnEnd::Unsuccessful, if choice.is_empty() { why } else { format!("{why}\n{choice}") })
            }
        }
    }

    /// All that is planned, as a list to choose from; nothing where it cannot be had.
    async fn all_planned(&self, lang: Lang, home: (&str, i64)) -> String {
        let order = Order::List(String::new());
        let ask = ScheduleOrder { turn: self.id, lang, order: order.clone() };
        let list = self.planner.policyd.schedule(self.trace, ask, []).await.ok();
        let list = list.and_then(|(doc, list)| doc.open(list).ok());
        list.map_or_else(String::new, |list| reminders::told(lang, &order, &list, home).trim_end().to_owned())
    }

    /// For a scheduled question that is answered only when there is something to report: the sentence that says so; otherwise empty.
    fn silence_notice(&self, (lang, order): (Lang, &Order), made: &ScheduleList, envelope: &Envelope) -> String {
        let Order::Ask(ask) = order else { return String::new() };
        let repeats = made.0.iter().any(|one| one.next.len() > 1);
        let question = ask.what.join(" ");
        match repeats && self.planner.repertoire.borrow_mut().may_be_silent(&question, envelope) {
            true => metnos_texts::tell(lang, metnos_texts::Key::AskSilent, &[]) + "\n",
            false => String::new(),
        }
    }

    /// Says what stands in the person's calendar at a time, and behind it the reminders of that time. Whether or not the calendar can
    /// be reached, the reminders are told.
    async fn planned_then(&self, plan: Plan, (when, lang): (String, Lang), about: (&str, &Envelope)) -> Ended {
        let calendar = self.carry_out(plan, about).await.unwrap_or_else(|error| self.broken(&error));
        let ask = ScheduleOrder { turn: self.id, lang, order: Order::List(when) };
        let reminders = match self.planner.policyd.schedule(self.trace, ask, []).await {
            Ok((doc, list)) => doc.open(list),
            Err(RpcError::Refused(refusal)) => Err(refusal),
            Err(error) => return self.broken(&error),
        };
        let told = match reminders {
            Ok(all) => self.say(&reminders::beside_calendar(lang, &all)).await,
            Err(refusal) => return Ended::new(TurnEnd::Unsuccessful, metnos_texts::refusal(lang, &refusal)),
        };
        told.map_or_else(|error| self.broken(&error), |()| calendar)
    }

    /// Says what a day was like.
    async fn review(&self, when: String, lang: Lang, zone: &str) -> Ended {
        let ask = ReviewOrder { turn: self.id, lang, when: when.clone() };
        let review = match self.planner.policyd.review(self.trace, ask, []).await {
            Ok((doc, review)) => doc.open(review),
            Err(RpcError::Refused(refusal)) => Err(refusal),
            Err(error) => return self.broken(&error),
        };
        match review {
            Ok(review) => match self.say(&reviews::told(lang, &when, &review, zone)).await {
                Ok(()) => Ended::new(TurnEnd::Answered, String::new()),
                Err(error) => self.broken(&error),
            },
            Err(refusal) => Ended::new(TurnEnd::Unsuccessful, metnos_texts::refusal(lang, &refusal)),
        }
    }

    /// Answers a question that is not understood with what the person has said about it, else with the lines of the person's
    /// files which name what it is about. Whether it
    /// could: what is refused or not found leaves the question as it is.
    async fn looked_up(&self, words: &str, envelope: &Envelope) -> Result<bool, RpcError> {
        self.looked_up_after(0, (words, envelope)).await
    }

    /// The same in a turn that has made so many calls: what they were was declared, and a turn declares once.
    async fn looked_up_after(&self, made: u16, (words, envelope): (&str, &Envelope)) -> Result<bool, RpcError> {
        let said = self.planner.repertoire.borrow_mut().recall(words, envelope);
        if let Some(said) = said {
            return self.say(&said).await.map(|()| true);
        }
        let Some(mut plan) = self.planner.repertoire.borrow_mut().look_up(words, envelope) else { return Ok(false) };
        // It is one call.
        for place in plan.calls.iter_mut().map(|call| &mut call.place).chain(&mut plan.answers) {
            place.0 = place.0.saturating_add(made);
        }
        let Ok(mut progress) = Progress::new(plan) else { return Ok(false) };
        if made == 0 {
            self.declare(&progress).await?;
        }
        self.run_all(&mut progress).await?;
        let Some((call, State::Ran { handle, outcome: Outcome::Ok })) =
            progress.outcome().first().and_then(|at| progress.get(*at))
        else {
            return Ok(false);
        };
        let result = self.release(*handle).await?;
        match call.template.found(&result).filter(|_| answers(words, &result)) {
            Some(text) => self.say(&text).await.map(|()| true),
            None => Ok(false),
        }
    }

    /// Has mind stop a thought that nobody waits for any more. mind learns of the turn's end anyway.
    async fn stop_thinking(&self) {
        let thought = self.thinks.replace(0);
        if thought != 0
            && let Err(error) =
                self.planner.mind.stop_thinking(self.trace, StopThinking { turn: self.id, thought }, []).await
        {
            tracing::debug!(turn = %self.id, %error, "mind could not be asked to stop");
        }
    }

    pub(super) fn broken(&self, error: &RpcError) -> Ended {
        Ended::broken(speech::broken(error, self.lang))
    }

    async fn carry_out(&self, plan: Plan, about: (&str, &Envelope)) -> Result<Ended, RpcError> {
        let mut progress = match Progress::new(plan) {
            Ok(progress) => progress,
            Err(error) => return Ok(Ended::broken(error.to_string())),
        };
        self.run_through(&mut progress).await?;
        if self.is_missing(&progress).await? {
            // What is no contact and stands in no table may have been said, or stand in a note.
            let made = progress.calls().map(|call| call.place.0).max().unwrap_or(0);
            if self.looked_up_after(made, about).await? {
                return Ok(Ended::new(TurnEnd::Answered, String::new()));
            }
        }
        self.answer(&progress).await
    }

    /// Whether the call that answers has not found what was asked for, and its executor says that others may know it.
    async fn is_missing(&self, progress: &Progress) -> Result<bool, RpcError> {
        let told = progress.outcome();
        let [place] = told.as_slice() else { return Ok(false) };
        let Some((call, State::Ran { handle, outcome: Outcome::Ok })) = progress.get(*place) else { return Ok(false) };
        Ok(call.template.recalls() && call.template.is_missing(&self.release(*handle).await?))
    }

    /// Declares the calls, and runs them as far as they come.
    async fn run_through(&self, progress: &mut Progress) -> Result<(), RpcError> {
        self.declare(progress).await?;
        self.run_all(progress).await
    }

    /// Runs calls as far as they come.
    async fn run_all(&self, progress: &mut Progress) -> Result<(), RpcError> {
        loop {
            let wave = progress.start();
            if wave.is_empty() {
                return Ok(());
            }
            self.run_wave(&wave, progress).await?;
        }
    }

    /// Registers the intent: nothing but the owner's words has been read yet.
    async fn declare(&self, progress: &Progress) -> Result<(), RpcError> {
        let slots = progress.calls().take(MAX_SLOTS).map(foreseen).collect();
        let (frozen, []) = self.planner.policyd.intent(self.trace, Intent { turn: self.id, slots }, []).await?;
        if !frozen.ignored.is_empty() {
            tracing::info!(turn = %self.id, ignored = ?frozen.ignored, "literals that policyd did not find in the words");
        }
        Ok(())
    }

    /// Runs calls that do not depend on each other side by side. When the turn is dropped in the middle, no
    /// further call is started, and what runs is left to its quotas.
    async fn run_wave(&self, wave: &[PlannedCall], progress: &mut Progress) -> Result<(), RpcError> {
        let mut acts: JoinSet<(CallRef, Result<Acted, RpcError>)> = JoinSet::new();
        for call in wave {
            self.tell(
                (call.place, &call.executor),
                CallState::Started,
                masked(&String::from_utf8(json::canonical(&call.arguments)).unwrap_or_default()),
            )
            .await?;
            let arguments = Sealed::new(&json::canonical(&call.arguments))
                .map_err(|error| RpcError::Unsendable(error.to_string()))?;
            let (policyd, trace, place) = (Rc::clone(&self.planner.policyd), self.trace, call.place);
            let act = Act { turn: self.id, call: place, executor: call.executor.clone() };
            acts.spawn_local(
                async move { (place, policyd.act(trace, act, [arguments]).await.map(|(acted, [])| acted)) },
            );
        }
        let mut broken = None;
        while let Some(acted) = acts.join_next().await {
            let Ok((place, acted)) = acted else { continue };
            match acted {
                Ok(Acted::Ran(ran)) => progress.ran(place, ran.handle, ran.outcome),
                Ok(Acted::Denied(refusal)) | Err(RpcError::Refused(refusal))
                    if NOTHING_THERE.contains(&refusal.rule.as_str()) =>
                {
                    progress.found_nothing(place);
                }
                Ok(Acted::Denied(refusal)) => progress.denied(place, refusal),
                Err(error) => broken = Some(error),
            }
            if let Some((call, state)) = progress.get(place) {
                self.tell_state(call, state).await?;
            }
        }
        broken.map_or(Ok(()), Err)
    }

    async fn tell_state(&self, call: &PlannedCall, state: &State) -> Result<(), RpcError> {
        let (state, detail) = match state {
            State::Ran { outcome: Outcome::Ok, .. } => (CallState::Succeeded, String::new()),
            State::Ran { outcome, .. } => (CallState::Unsuccessful, outcome.name().to_owned()),
            State::Denied(refusal) => (refused(refusal), metnos_texts::refusal(self.lang, refusal)),
            // Nothing became of it: the turn breaks off and says why.
            State::Waiting | State::Running | State::Skipped => return Ok(()),
        };
        self.tell((call.place, &call.executor), state, detail).await
    }

    pub(super) async fn tell(
        &self,
        (call, executor): (CallRef, &str),
        state: CallState,
        detail: String,
    ) -> Result<(), RpcError> {
        const MAX_DETAIL: usize = 1024;
        let detail = shorten(&detail, MAX_DETAIL).to_owned();
        let note = Call { turn: self.id, call, executor: executor.to_owned(), state, detail };
        self.door.send(door_planner::Note::Call(note)).await
    }

    /// Has released what the answer needs, and nothing else, and sends it.
    async fn answer(&self, progress: &Progress) -> Result<Ended, RpcError> {
        let told = progress.outcome();
        if self.is_scheduled && self.has_nothing_to_tell(progress, &told).await? {
            return Ok(Ended::new(TurnEnd::Answered, String::new()));
        }
        let mut troubles: Vec<String> = Vec::new();
        let mut room = MAX_ANSWER;
        for place in &told {
            let Some((call, state)) = progress.get(*place) else { continue };
            match self.tell_result(call, state).await? {
                Rendered::Answer(text) => {
                    let text = if told.len() > 1 { with_heading(call, &text) } else { text };
                    if text.len() > room {
                        troubles.push(speech::truncated(None, None, self.lang));
                        break;
                    }
                    room -= text.len();
                    self.say(&text).await?;
                }
                Rendered::Trouble(why) if !troubles.contains(&why) => troubles.push(why),
                Rendered::Trouble(_) => {}
            }
        }
        let end = match progress.end() {
            TurnEnd::Answered if !troubles.is_empty() => TurnEnd::Unsuccessful,
            end @ (TurnEnd::Answered
            | TurnEnd::NotUnderstood
            | TurnEnd::Denied
            | TurnEnd::Unsuccessful
            | TurnEnd::Cancelled
            | TurnEnd::Suspended
            | TurnEnd::Broken) => end,
        };
        Ok(Ended::new(end, troubles.join("\n")))
    }

    /// Whether each of these calls has succeeded, and has nothing to report.
    async fn has_nothing_to_tell(&self, progress: &Progress, told: &[CallRef]) -> Result<bool, RpcError> {
        for place in told {
            let Some((call, State::Ran { handle, outcome: Outcome::Ok })) = progress.get(*place) else {
                return Ok(false);
            };
            if !call.template.has_nothing_to_tell(&self.release(*handle).await?) {
                return Ok(false);
            }
        }
        Ok(!told.is_empty())
    }

    async fn tell_result(&self, call: &PlannedCall, state: &State) -> Result<Rendered, RpcError> {
        match state {
            State::Ran { handle, outcome } => match speech::outcome(*outcome, self.lang) {
                Some(why) => Ok(Rendered::Trouble(why)),
                None => Ok(call.template.tell(&self.release(*handle).await?)),
            },
            State::Denied(refusal) => Ok(Rendered::Trouble(metnos_texts::refusal(self.lang, refusal))),
            State::Waiting | State::Running | State::Skipped => Ok(Rendered::Trouble(speech::unreadable(self.lang))),
        }
    }

    pub(super) async fn release(&self, handle: HandleId) -> Result<Vec<u8>, RpcError> {
        let release = Release { turn: self.id, handle };
        let (_, [result]) = self.planner.policyd.release(self.trace, release, []).await?;
        result.read().map_err(|error| RpcError::Unsendable(error.to_string()))
    }

    pub(super) async fn say(&self, text: &str) -> Result<(), RpcError> {
        if !text.is_empty() {
            self.open_line.set(!text.ends_with('\n'));
        }
        for piece in pieces(text, MAX_TEXT) {
            let text = Text { turn: self.id, text: piece.to_owned() };
            self.door.send(door_planner::Note::Text(text)).await?;
        }
        Ok(())
    }
}

/// How a call stands that was refused: what only waits for a person's word was not denied.
pub(super) fn refused(refusal: &Refusal) -> CallState {
    if refusal.rule == WAITING { CallState::Waits } else { CallState::Denied }
}

/// Names the part of an answer of several parts, when it is bare text.
fn with_heading(call: &PlannedCall, text: &str) -> String {
    match call.template.subject() {
        Some(subject) if call.template.is_text() => {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let subject: String = subject.chars().filter(|c| !c.is_control()).collect();
            format!("==> {subject} <==\n{text}{end}")
        }
        Some(_) | None => text.to_owned(),
    }
}

/// A planned call as a slot of the intent: its literals, and the places of what will turn up.
fn foreseen(call: &PlannedCall) -> Slot {
    let mut slot = Slot { executor: call.executor.clone(), literals: call.literals.clone(), open: Vec::new(), max: 1 };
    let mut waiting = vec![(String::new(), &call.arguments)];
    while let Some((pointer, value)) = waiting.pop() {
        match value {
            Value::Object(map) if !map.contains_key("$ref") => {
                waiting.extend(map.iter().map(|(name, item)| (json::child(&pointer, name), item)));
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                waiting.extend(items.map(|(index, item)| (json::child(&pointer, &index.to_string()), item)));
            }
            Value::Object(_) => slot.open.push(pointer),
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if !slot.literals.iter().any(|literal| literal.pointer == pointer) {
                    slot.literals.push(Literal { pointer, json: value.to_string() });
                }
            }
        }
    }
    slot
}
