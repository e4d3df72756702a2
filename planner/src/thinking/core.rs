//! The loop itself: a state machine from what has happened to what is to be asked. It asks for money before it
//! thinks, registers the intent before the first act, and ends within its bounds whatever a model says.

mod round;

use metnos_proto::doc::schedule::ScheduleList;
use metnos_proto::ids::HandleId;
use metnos_proto::msg::common::{CallRef, Label, Lang, Outcome, Refusal};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::Slot;
use metnos_proto::msg::schedule::Order;
use metnos_proto::prompt::{Message, Prompt, Reply, Stop};
use serde::{Deserialize, Serialize};

use super::calls::{Calls, RunResult, State};
use super::data;
use super::prompt::{Frame, size};
use super::reply::{ParsedReply, ResultRequest, parse_reply};
use super::said::{self, Act, Became};
use super::schedules::SCHEDULE;
use super::speech::{self, EndReason};
use super::tools;
use super::{
    BYTES_PER_TOKEN, FUND_TOKENS, MAX_PROMPT, MAX_SAID, MAX_THOUGHTS, MAX_TOKENS, MAX_USELESS, REPLY_TOKENS, Wish,
};

/// The rule of policyd's that says a call waits for a person's word.
pub const WAITING: &str = "approval.waiting";
/// The most bytes of an answer that are looked at for what it claims.
const MAX_ANSWER: usize = 32 * 1024;
/// The longest reason of a refusal below an answer, in characters.
const MAX_WHY: usize = 200;
/// How mind's rules begin by which a thought is refused for want of funds; also when a new mind knows of none.
const FUNDS: &str = "mind.fund";

/// What has happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// So many tokens may still be used.
    Funded(u64),
    /// None may.
    NotFunded(Refusal),
    /// The model has answered, and it took so many tokens.
    Thought(Reply, u64),
    /// It could not be asked, or did not answer.
    NoThought(Refusal),
    /// The intent is registered, as far as policyd found it in the words.
    Frozen,
    /// A call ran.
    Ran(CallRef, RunResult),
    /// A call was refused, or waits.
    Denied(CallRef, Refusal),
    /// A result was released, and the context stands there now.
    Released(CallRef, Vec<u8>, Label),
    /// It was not.
    NotReleased(CallRef, Refusal),
    /// The cards of this turn were answered: what became of the calls that waited, in their order.
    Settled(Vec<Settled>),
    /// The turn cannot be suspended: it goes on without those calls.
    NotSuspended,
    /// The last change was taken back: how many acts of it, and how many are left as they were.
    Undone(u32, u32),
    /// It was not.
    NotUndone(Refusal),
    /// What was asked about the person's reminders was done: those that it was about.
    Scheduled(ScheduleList),
    /// It was not.
    NotScheduled(Refusal),
}

/// What became of a call that waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The executor.
    pub executor: String,
    /// How it ran; `None` when it did not.
    pub left: Option<RunResult>,
}

/// What is to be asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Tokens for the turn.
    Fund(u64),
    /// A thought of this number.
    Think {
        /// Its number in the turn.
        thought: u32,
        /// What is asked.
        prompt: Box<Prompt>,
        /// The most tokens of the reply.
        max_tokens: u32,
    },
    /// The person is shown this, which the reply of the last thought has said.
    Say(String),
    /// The intent is to be registered.
    Intend(Vec<Slot>),
    /// A call.
    Act(CallRef),
    /// A result is to be released.
    Release(CallRef, HandleId),
    /// The turn is to be suspended until a person has answered.
    Suspend,
    /// The last change of this person is to be taken back.
    Undo,
    /// Something about the person's reminders.
    Schedule(Order),
    /// The person is shown this below the answer: what was done, by the records.
    Below(String),
    /// The turn is over.
    End {
        /// How.
        end: TurnEnd,
        /// Why, for a person; empty when it was answered.
        why: String,
        /// What was missing; empty when nothing was.
        wish: Wish,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    New,
    Funding,
    Thinking,
    Intending,
    Acting,
    Suspended,
    Over,
}

/// One wish of the model's in the reply that is being carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Entry {
    id: String,
    name: String,
    places: Vec<CallRef>,
    shows: Vec<Show>,
    said: String,
    failed: bool,
    /// The last change is to be taken back, and policyd has not said yet what became of that.
    #[serde(default)]
    undoes: bool,
    /// What is asked about the person's reminders, until policyd has answered.
    #[serde(default)]
    order: Option<Order>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Show {
    look: ResultRequest,
    state: Shown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Shown {
    Wanted,
    Asked,
    Is(String),
}

/// A turn with a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelLoop {
    frame: Frame,
    messages: Vec<Message>,
    calls: Calls,
    round: Vec<Entry>,
    stage: Stage,
    context: Label,
    intended: bool,
    /// No more calls: the next thought is the last.
    closing: bool,
    thoughts: u32,
    useless: u32,
    used: u64,
    funded: u64,
    /// The last thought was refused for want of funds: a second time in a row ends the turn.
    begged: bool,
    said: usize,
    wish: Wish,
    reply_tokens: u32,
    /// The most tokens that the model reads and writes at once; 0 when that is not known.
    window: u32,
    /// What the person was told, as much of its end as is looked at for claims.
    #[serde(default)]
    answer: String,
    /// What became of taking back the last change; `None` when nobody has asked for it.
    #[serde(default)]
    undone: Option<UndoState>,
    /// What became of orders about reminders.
    #[serde(default)]
    orders: Vec<Ordered>,
}

/// An order about reminders that was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Ordered {
    /// The class of effects that it counts as.
    class: String,
    /// The confirmation shown to the person; empty for a list, and for a refused order.
    told: String,
    /// Why it was not done.
    refused: Option<String>,
}

/// Taking back the last change: once in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum UndoState {
    Asked,
    Done,
    Not(String),
}

impl ModelLoop {
    /// A turn that begins. `window` is the model's, 0 when it is not known.
    #[must_use]
    pub fn new(frame: Frame, opening: String, window: u32) -> Self {
        let reply_tokens = if window == 0 { REPLY_TOKENS } else { REPLY_TOKENS.min((window / 4).max(256)) };
        Self {
            frame,
            messages: vec![Message::User { text: opening }],
            calls: Calls::default(),
            round: Vec::new(),
            stage: Stage::New,
            context: Label::CLEAN,
            intended: false,
            closing: false,
            thoughts: 0,
            useless: 0,
            used: 0,
            funded: 0,
            begged: false,
            said: 0,
            wish: Wish::default(),
            reply_tokens,
            window,
            answer: String::new(),
            undone: None,
            orders: Vec::new(),
        }
    }

    /// The calls, for anyone who carries out an ask.
    #[must_use]
    pub const fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Whether the model writes what the person sees as it is, so that it can be shown as it comes.
    #[must_use]
    pub const fn streams(&self) -> bool {
        self.frame.native
    }

    /// The language of the words.
    #[must_use]
    pub const fn lang(&self) -> Lang {
        self.frame.lang
    }

    /// The executors of the calls that wait for a person's word.
    pub fn waiting(&self) -> impl Iterator<Item = &str> {
        self.calls.each().filter(|one| matches!(one.state, State::Waits(_))).map(|one| one.executor.as_str())
    }

    /// What is asked first.
    pub fn start(&mut self) -> Vec<Ask> {
        if self.stage == Stage::New { self.think() } else { Vec::new() }
    }

    /// What follows from an event. One that nobody waits for changes nothing.
    pub fn on(&mut self, event: Event) -> Vec<Ask> {
        match (self.stage, event) {
            (Stage::Funding, Event::Funded(tokens)) => self.is_funded(tokens),
            (Stage::Funding, Event::NotFunded(no)) => self.end(TurnEnd::Broken, Some(EndReason::Unfunded(no))),
            (Stage::Thinking, Event::Thought(reply, tokens)) => self.has_thought(&reply, tokens),
            (Stage::Thinking, Event::NoThought(no)) => self.has_not_thought(&no),
            (Stage::Intending, Event::Frozen) => {
                self.stage = Stage::Acting;
                self.go_on()
            }
            (Stage::Acting, Event::Ran(place, left)) => {
                self.calls.ran(place, left.clone());
                self.show_unasked(place, &left);
                self.go_on()
            }
            (Stage::Acting, Event::Denied(place, refusal)) => {
                if refusal.rule == WAITING {
                    self.calls.waits(place, &refusal);
                } else {
                    self.calls.denied(place, &refusal);
                }
                self.go_on()
            }
            (Stage::Acting, Event::Released(place, bytes, context)) => {
                self.context = self.context.join(context);
                self.released(place, &bytes);
                self.go_on()
            }
            (Stage::Acting, Event::NotReleased(place, refusal)) => {
                self.is_shown(place, |_| format!("it cannot be shown: {refusal}"));
                self.go_on()
            }
            (Stage::Acting, Event::Undone(undone, kept)) => self.has_undone(undone, kept),
            (Stage::Acting, Event::NotUndone(no)) => self.has_not_undone(&no),
            (Stage::Acting, Event::Scheduled(list)) => self.has_scheduled(&list),
            (Stage::Acting, Event::NotScheduled(no)) => self.has_not_scheduled(&no),
            (Stage::Suspended, Event::Settled(acts)) => self.settled(acts),
            (Stage::Suspended, Event::NotSuspended) => self.finish_round(),
            (
                Stage::New
                | Stage::Funding
                | Stage::Thinking
                | Stage::Intending
                | Stage::Acting
                | Stage::Suspended
                | Stage::Over,
                _,
            ) => Vec::new(),
        }
    }

    // ---- thinking --------------------------------------------------------

    /// Asks for the next thought, or for what it may cost.
    fn think(&mut self) -> Vec<Ask> {
        if self.thoughts >= MAX_THOUGHTS {
            return self.end(TurnEnd::Broken, Some(EndReason::Bound));
        }
        let Some(tokens) = self.fit() else { return self.end(TurnEnd::Broken, Some(EndReason::TooLong)) };
        let wanted = self.used.saturating_add(tokens);
        if wanted > MAX_TOKENS {
            return self.end(TurnEnd::Broken, Some(EndReason::Bound));
        }
        if wanted > self.funded {
            self.stage = Stage::Funding;
            return vec![Ask::Fund(FUND_TOKENS.max(tokens).min(MAX_TOKENS - self.used))];
        }
        self.ask()
    }

    fn is_funded(&mut self, tokens: u64) -> Vec<Ask> {
        if tokens == 0 {
            return self.end(TurnEnd::Broken, Some(EndReason::UsedUp));
        }
        self.funded = self.used.saturating_add(tokens);
        // What is too little mind refuses; nobody here knows how a model counts.
        self.ask()
    }

    fn ask(&mut self) -> Vec<Ask> {
        self.thoughts += 1;
        if self.thoughts == MAX_THOUGHTS {
            self.closing = true;
        }
        self.stage = Stage::Thinking;
        let prompt = Box::new(self.prompt());
        vec![Ask::Think { thought: self.thoughts, prompt, max_tokens: self.reply_tokens }]
    }

    fn prompt(&self) -> Prompt {
        let mut prompt = self.frame.prompt(&self.messages, !self.closing);
        if self.closing {
            let text = "No further call can be made. Answer the person now, with what you have.".to_owned();
            prompt.messages.push(Message::User { text });
        }
        prompt
    }

    /// Leaves out what was shown first until the prompt is small enough; how many tokens it takes, about.
    fn fit(&mut self) -> Option<u64> {
        loop {
            let bytes = size(&self.prompt());
            let tokens = bytes.div_ceil(BYTES_PER_TOKEN) as u64 + u64::from(self.reply_tokens);
            if bytes <= MAX_PROMPT && (self.window == 0 || tokens <= u64::from(self.window)) {
                return Some(tokens);
            }
            if !self.leave_out() {
                return None;
            }
        }
    }

    /// Takes the oldest data out of the conversation; false when there is none left.
    fn leave_out(&mut self) -> bool {
        const LEFT_OUT: &str = "(shown before, and left out now)";
        let last = self.messages.len().saturating_sub(1);
        let mut texts = self.messages[..last].iter_mut().skip(1).flat_map(|message| match message {
            Message::User { text } => vec![text],
            Message::Results { results } => results.iter_mut().map(|result| &mut result.text).collect(),
            Message::Assistant { .. } => Vec::new(),
        });
        match texts.find(|text| text.len() > 2 * LEFT_OUT.len()) {
            Some(text) => {
                LEFT_OUT.clone_into(text);
                true
            }
            None => false,
        }
    }

    fn has_not_thought(&mut self, no: &Refusal) -> Vec<Ask> {
        // What was given may have been used up by what came before; more is asked for once.
        if no.rule.starts_with(FUNDS) && !self.begged {
            self.begged = true;
            self.funded = self.used;
            self.thoughts -= 1;
            return self.think();
        }
        self.end(TurnEnd::Broken, Some(EndReason::Unasked(no.clone())))
    }

    fn has_thought(&mut self, reply: &Reply, tokens: u64) -> Vec<Ask> {
        self.used = self.used.saturating_add(tokens.max(1));
        self.begged = false;
        let heard = parse_reply(reply, &self.frame, &self.messages);
        let mut asks = Vec::new();
        if !heard.text.is_empty() {
            self.said = self.said.saturating_add(heard.text.len());
            if self.said > MAX_SAID {
                return self.end(TurnEnd::Broken, Some(EndReason::TooMuch));
            }
            asks.push(Ask::Say(heard.text.clone()));
            self.remember_answer(&heard.text);
        }
        asks.extend(self.follow(reply.stop, heard));
        asks
    }

    /// What follows from a reply that was read.
    fn follow(&mut self, stop: Stop, heard: ParsedReply) -> Vec<Ask> {
        let is_answer = !heard.text.trim().is_empty();
        if stop == Stop::Refused {
            return self.end(TurnEnd::Unsuccessful, Some(EndReason::Refused));
        }
        if !heard.wrong.is_empty() {
            return self.mend(heard.again.0, heard.wrong);
        }
        if heard.wants.is_empty() {
            return match (is_answer, stop) {
                (true, Stop::Length) => self.end(TurnEnd::Unsuccessful, Some(EndReason::CutOff)),
                (true, Stop::End | Stop::Calls | Stop::Stopped | Stop::Refused) => self.end(TurnEnd::Answered, None),
                (false, _) => {
                    self.mend(heard.again.0, "your reply was empty; call a tool, or answer the person".to_owned())
                }
            };
        }
        if self.closing {
            return if is_answer {
                self.end(TurnEnd::Answered, None)
            } else {
                self.end(TurnEnd::Broken, Some(EndReason::Bound))
            };
        }
        let (text, calls) = heard.again;
        self.messages.push(Message::Assistant { text, calls });
        self.take_on(heard.wants)
    }

    /// Tells the model what is wrong with its reply, as long as that is likely to help.
    fn mend(&mut self, text: String, wrong: String) -> Vec<Ask> {
        self.useless += 1;
        if self.useless >= MAX_USELESS || self.closing {
            return self.end(TurnEnd::Broken, Some(EndReason::Useless));
        }
        let text = if text.trim().is_empty() { "(nothing)".to_owned() } else { text };
        self.messages.push(Message::Assistant { text, calls: Vec::new() });
        self.messages.push(Message::User { text: format!("This could not be used: {wrong}.") });
        self.think()
    }

    // ---- the end ---------------------------------------------------------

    /// Keeps the end of what was said, which is where a claim stands.
    fn remember_answer(&mut self, text: &str) {
        self.answer.push_str(text);
        self.answer.push('\n');
        let excess = self.answer.len().saturating_sub(MAX_ANSWER);
        if excess > 0 {
            self.answer.drain(..self.answer.ceil_char_boundary(excess));
        }
    }

    /// What became of each call, for what stands below the answer.
    fn acts(&self) -> Vec<Act> {
        let lang = self.frame.lang;
        let undone = self.undone.iter().map(|undone| Act {
            executor: tools::UNDO.to_owned(),
            class: "self_modify".to_owned(),
            line: 0,
            became: match undone {
                UndoState::Asked => Became::NotMade,
                UndoState::Done => Became::Done { used: true },
                UndoState::Not(why) => Became::Refused(why.clone()),
            },
        });
        let calls = self.calls.each().map(|one| {
            let (line, became) = match &one.state {
                State::Ran(left) if left.outcome == Outcome::Ok => {
                    let used = one.seen || left.handle == HandleId::NONE || self.calls.is_passed_on(one.place);
                    (left.line, Became::Done { used })
                }
                State::Ran(left) => (left.line, Became::Failed(said::why_not(left.outcome, &left.class, lang))),
                State::Denied(why) => {
                    let why = self.calls.refusal(one).map_or_else(|| why.clone(), |no| metnos_texts::because(lang, no));
                    (0, Became::Refused(data::line(&why, MAX_WHY)))
                }
                State::Pending | State::Running | State::Waits(_) | State::Skipped(_) => (0, Became::NotMade),
            };
            let class = self.frame.classes.get(&one.executor).cloned().unwrap_or_default();
            Act { executor: one.executor.clone(), class, line, became }
        });
        let orders = self.orders.iter().map(|one| Act {
            executor: SCHEDULE.to_owned(),
            class: one.class.clone(),
            line: 0,
            became: match &one.refused {
                None => Became::Done { used: true },
                Some(why) => Became::Refused(why.clone()),
            },
        });
        undone.chain(orders).chain(calls).collect()
    }

    /// What was planned, in the sentences of Metnos: nobody need trust the model's.
    fn planned(&self) -> String {
        let told = self.orders.iter().map(|one| one.told.as_str()).filter(|told| !told.is_empty());
        told.collect::<Vec<_>>().join("\n")
    }

    fn end(&mut self, end: TurnEnd, why: Option<EndReason>) -> Vec<Ask> {
        self.stage = Stage::Over;
        let lang = self.frame.lang;
        let acts = self.acts();
        let is_told = !self.answer.trim().is_empty();
        let mut asks = Vec::new();
        let lines =
            |parts: [String; 2]| parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
        let below = lines([self.planned(), said::below(&self.answer, &acts, lang)]);
        if is_told && !below.is_empty() {
            asks.push(Ask::Below(below));
        }
        let why = why.map(|why| {
            let done = if is_told { String::new() } else { lines([self.planned(), said::done(&acts, lang)]) };
            let sentence = speech::why(&why, lang);
            if done.is_empty() { sentence } else { format!("{sentence}\n{done}") }
        });
        asks.push(Ask::End { end, why: data::spoken(&why.unwrap_or_default()), wish: std::mem::take(&mut self.wish) });
        asks
    }
}
