//! Every document of the HTTP channel: what is read and what is written, each as one type. The description of the channel
//! is made from these types, so that it says what the door does. Names and meaning are in `docs/formats.md`.

pub mod describe;
pub(super) mod media;
pub(super) mod messages;
pub mod openapi;
pub mod problem;

use metnos_proto::doc::card::CardView;
use metnos_proto::doc::chronicle::{EventOutline, Exchange};
use metnos_proto::doc::executor::ExecutorSeen;
use metnos_proto::doc::mnestome::Mnest;
use metnos_proto::doc::schedule::ScheduleView;
use metnos_proto::msg::common;
use metnos_proto::msg::planner::CallState;
use metnos_texts::card;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A document of a request, with what each of its fields is to be, for a client that sent another.
pub trait RequestDocument: serde::de::DeserializeOwned {
    /// Fields and what is expected of them.
    const EXPECTED: &'static [(&'static str, &'static str)];
}

/// The form of a code, as it is shown.
const CODE: &str = "a code such as K7-DELTA-19, from `metnosctl pairing invite http`";
/// The form of an answer to a card, as it is shown.
pub const ANSWERS: &str = "once, turn or no: what lasts longer is said at the machine";
/// The form of words, as it is shown.
pub const WORDS: &str = "what you say, as a text";

/// A code is shown.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// As `K7-DELTA-19`.
    #[schemars(length(max = 32))]
    pub code: String,
    /// Give a cookie in the place of a token: pages of the door only.
    #[serde(default)]
    pub cookie: bool,
}

impl std::fmt::Debug for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pair").field("cookie", &self.cookie).finish_non_exhaustive()
    }
}

impl RequestDocument for Pair {
    const EXPECTED: &'static [(&'static str, &'static str)] = &[("code", CODE), ("cookie", "true or false")];
}

/// Words.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// What you say: at most 64 KiB, and more than blanks.
    #[schemars(length(min = 1))]
    pub text: String,
}

impl RequestDocument for Say {
    const EXPECTED: &'static [(&'static str, &'static str)] = &[("text", WORDS)];
}

/// An answer to a card.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The digest that the card was shown with.
    pub digest: String,
    /// What you say to it.
    pub answer: Choice,
    /// A one-time code, for a card that needs one.
    #[serde(default)]
    pub code: String,
}

impl RequestDocument for Answer {
    const EXPECTED: &'static [(&'static str, &'static str)] =
        &[("digest", "the digest that the card was shown with"), ("answer", ANSWERS), ("code", "a one-time code")];
}

/// What can be said to a card from afar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Choice {
    /// Yes, now.
    Once,
    /// Yes, for the rest of the turn.
    Turn,
    /// No.
    No,
}

/// A request of chat completions. Fields that mean nothing here, such as a temperature, are passed over.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Chat {
    /// The one model there is: `metnos`.
    #[schemars(extend("const" = "metnos"))]
    pub model: String,
    /// A conversation, whose last message is its user's: only that is taken.
    #[schemars(length(min = 1))]
    pub messages: Vec<ChatMessage>,
    /// Whether the answer is to come as it is made.
    #[serde(default)]
    pub stream: Option<bool>,
    /// None: Metnos calls its own tools.
    #[serde(default)]
    #[schemars(length(max = 0))]
    pub tools: Option<Vec<Value>>,
    /// None, in the older words.
    #[serde(default)]
    #[schemars(length(max = 0))]
    pub functions: Option<Vec<Value>>,
    /// How many answers: one.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1))]
    pub n: Option<u32>,
}

impl RequestDocument for Chat {
    const EXPECTED: &'static [(&'static str, &'static str)] = &[
        ("model", "\"metnos\""),
        ("messages", "a list of messages, the last of which has the role user and a text"),
        ("stream", "true or false"),
        ("tools", "none: Metnos calls tools of its own, under its own policy"),
        ("functions", "none: Metnos calls tools of its own, under its own policy"),
        ("n", "1"),
    ];
}

/// A message of a conversation.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ChatMessage {
    /// Whose: only the last, a `user`'s, is believed.
    pub role: String,
    /// What it says.
    #[serde(default)]
    pub content: Option<Content>,
}

/// What a message says.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Content {
    /// As a text.
    Text(String),
    /// As parts, all of which are texts.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Part {
    /// `text`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The text.
    #[serde(default)]
    pub text: Option<String>,
}

/// Why something was not done: RFC 9457, with the rule, the remedy, and the part that does not fit.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Problem {
    /// `about:blank`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// Why, for a person.
    pub detail: String,
    /// Which rule or limit said no.
    pub rule: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Which part of the request does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What stood there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
}

/// Who a person is.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// The owner.
    Owner,
    /// A grown-up member of the household.
    Adult,
    /// Another person whom he has paired.
    Guest,
    /// Nobody known.
    Stranger,
}

impl From<common::Standing> for Standing {
    fn from(standing: common::Standing) -> Self {
        match standing {
            common::Standing::Owner => Self::Owner,
            common::Standing::Adult => Self::Adult,
            common::Standing::Guest => Self::Guest,
            common::Standing::Stranger => Self::Stranger,
        }
    }
}

/// How far a person goes without asking.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Reads only.
    ReadOnly,
    /// Daily use.
    Supervised,
    /// Almost everything at home, for a while.
    Full,
}

impl From<common::Level> for Level {
    fn from(level: common::Level) -> Self {
        match level {
            common::Level::ReadOnly => Self::ReadOnly,
            common::Level::Supervised => Self::Supervised,
            common::Level::Full => Self::Full,
        }
    }
}

/// A language.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    /// English.
    En,
    /// Italian.
    It,
}

impl From<common::Lang> for Lang {
    fn from(lang: common::Lang) -> Self {
        match lang {
            common::Lang::En => Self::En,
            common::Lang::It => Self::It,
        }
    }
}

/// A client is known from now on.
#[derive(Serialize, JsonSchema)]
pub struct Paired {
    /// As the chronicle names this client.
    pub principal: String,
    /// What it is.
    pub standing: Standing,
    /// To be shown as `Authorization: Bearer` from now on. It is kept nowhere else. A cookie stands in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl std::fmt::Debug for Paired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Paired");
        shown.field("principal", &self.principal).field("standing", &self.standing).finish_non_exhaustive()
    }
}

/// Who asks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Status {
    /// As the chronicle names this client.
    pub principal: String,
    /// The name of the person who speaks so, where it is somebody's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub person: String,
    /// What it is.
    pub standing: Standing,
    /// How far it goes without asking.
    pub level: Level,
    /// The language it is spoken to in.
    pub lang: Lang,
    /// How the door is, for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub door: Option<DoorNumbers>,
}

/// How the door is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoorNumbers {
    /// Sessions at the terminal.
    pub sessions: u32,
    /// Turns under way.
    pub turns: u32,
    /// Turns since the door was started.
    pub turns_total: u64,
    /// What is known of the models.
    pub models: String,
    /// Connections.
    pub connections: usize,
}

/// A turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Turn {
    /// Its name.
    pub turn: String,
    /// How it stands.
    pub state: State,
    /// The answer, as far as it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// Why, when it did not end with an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// How a turn stands.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Under way.
    Open,
    /// Waits for the answer to a card.
    Suspended,
    /// Over.
    Done,
}

/// How a turn ended: `answered`, `not_understood`, `denied`, `unsuccessful`, `cancelled` or `broken`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct End(pub String);

/// A turn was stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stopped {
    /// Which.
    pub turn: String,
    /// Whether it was under way.
    pub was_open: bool,
}

/// The words of a turn were forgotten: what was said, what was answered, and what a model was sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Forgotten {
    /// Which.
    pub turn: String,
    /// How many lines of the chronicle lost their words; 0 where they had lost them before.
    pub lines: u32,
}

/// Cards that wait for an answer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Cards {
    /// Those that the client may see, the oldest first.
    pub cards: Vec<CardShown>,
}

/// A card that waits, as far as a client needs it: what people see of it, and what an answer is bound to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardShown {
    /// Its name.
    pub id: String,
    /// What an answer is bound to.
    pub digest: String,
    /// `waiting`.
    pub state: String,
    /// Who asks for it.
    pub principal: String,
    /// The name of the person who asks, where it is somebody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// Whether this client's answer counts only with a one-time code.
    pub hard: bool,
    /// Whether this client's answer counts at all.
    pub here: bool,
    /// When it was made, or last added to, in milliseconds since the epoch.
    pub made_ms: u64,
    /// Until when it can be answered.
    pub expires_ms: u64,
    /// Whether it offers to do something unasked from now on. Such a card is answered with yes (`once`) or no.
    pub offer: bool,
    /// Its lines as people see them.
    pub parts: Vec<CardPart>,
}

/// A line of a card.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardPart {
    /// What the line is about.
    pub field: String,
    /// Of which act, from 1 on; 0 for the whole card.
    pub act: u64,
    /// What stands before it, in the reader's language.
    pub label: String,
    /// The line.
    pub text: String,
}

impl From<card::Part> for CardPart {
    fn from(part: card::Part) -> Self {
        let card::Part { field, act, label, text } = part;
        Self { field: field.name().to_owned(), act: act as u64, label, text }
    }
}

impl CardShown {
    /// What policyd shows of a card, and its lines.
    #[must_use]
    pub fn of(card: &CardView) -> Self {
        let face = card::face(Some(card), &card.id, card.lang.into());
        Self {
            id: card.id.clone(),
            digest: card.digest.clone(),
            state: card.state.name().to_owned(),
            principal: card.principal.clone(),
            person: card.person.clone(),
            hard: card.hard,
            // What nobody has said is closed.
            here: card.here == Some(true),
            made_ms: card.made_ms,
            expires_ms: card.expires_ms,
            offer: card.offer.is_some(),
            parts: face.parts.into_iter().map(CardPart::from).collect(),
        }
    }
}

/// A card was answered.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Settled {
    /// Which.
    pub card: String,
    /// `approved` or `denied`; of an offer, `planned` or `declined`.
    pub state: String,
    /// How many acts ran.
    pub runs: usize,
}

/// The models, for clients of chat completions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Models {
    /// `list`.
    pub object: &'static str,
    /// One.
    pub data: Vec<Model>,
}

/// The one model.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Model {
    /// `metnos`.
    pub id: &'static str,
    /// `model`.
    pub object: &'static str,
    /// Seconds since the epoch.
    pub created: u64,
    /// `metnos`.
    pub owned_by: &'static str,
}

/// An answer of chat completions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Completion {
    /// Its name.
    pub id: String,
    /// `chat.completion`.
    pub object: &'static str,
    /// When its turn was opened, in seconds since the epoch.
    pub created: u64,
    /// `metnos`.
    pub model: &'static str,
    /// One.
    pub choices: Vec<ChatChoice>,
}

/// The one choice.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatChoice {
    /// 0.
    pub index: u32,
    /// What is said.
    pub message: ChatAnswer,
    /// None.
    pub logprobs: Option<Value>,
    /// `stop`.
    pub finish_reason: &'static str,
}

/// What is said.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatAnswer {
    /// `assistant`.
    pub role: &'static str,
    /// The answer.
    pub content: String,
    /// None.
    pub refusal: Option<String>,
}

/// A piece of an answer of chat completions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Chunk {
    /// The answer's name.
    pub id: String,
    /// `chat.completion.chunk`.
    pub object: &'static str,
    /// When its turn was opened, in seconds since the epoch.
    pub created: u64,
    /// `metnos`.
    pub model: &'static str,
    /// One.
    pub choices: Vec<ChunkChoice>,
}

/// The one choice of a piece.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChunkChoice {
    /// 0.
    pub index: u32,
    /// What is said.
    pub delta: Delta,
    /// None.
    pub logprobs: Option<Value>,
    /// `stop` in the last piece.
    pub finish_reason: Option<&'static str>,
}

/// What a piece says.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Delta {
    /// `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// A part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// Why something was not done, in the words of chat completions.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatProblem {
    /// Why.
    pub error: ChatError,
}

/// Why.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChatError {
    /// For a person.
    pub message: String,
    /// Of which kind.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Which part of the request does not fit.
    pub param: Option<String>,
    /// Which rule or limit said no.
    pub code: String,
}

/// Executors.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorsPage {
    /// With the reason where one does not work.
    pub executors: Vec<ExecutorSeen>,
    /// The cursor of the next page; none after the last.
    pub next: Option<u64>,
}

/// The graph of use, heaviest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MnestsPage {
    /// Each as `metnosctl mnest list --json` has it.
    pub mnests: Vec<Mnest>,
    /// The cursor of the next page; none after the last.
    pub next: Option<u64>,
}

/// What happened, newest first: for the owner everything, for a guest what he has caused. No words are in it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AuditPage {
    /// Each with its turn, channel, executor, verdict and outcome, where it has them.
    pub lines: Vec<EventOutline>,
    /// The cursor of the next page; none after the last. A page may have fewer lines than were asked for.
    pub next: Option<u64>,
}

/// What the caller has said and was answered, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnsPage {
    /// Each with the words, the answer, and how it ended. One that is under way is not among them.
    pub turns: Vec<Exchange>,
    /// The cursor of the next page; none after the last. A page may have fewer turns than were asked for.
    pub next: Option<u64>,
}

/// What the person who calls has said and was answered, on any channel, newest first. What was forgotten is not among it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryPage {
    /// Each with its channel, the words and the answer.
    pub turns: Vec<Exchange>,
    /// The cursor of the next page; none after the last. A page may have fewer turns than were asked for, or none.
    pub next: Option<u64>,
}

/// What is planned for the caller, the one that is due first before the others.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SchedulesPage {
    /// Each with what it reminds of, and the next times.
    pub schedules: Vec<ScheduleView>,
    /// The cursor of the next page; none after the last.
    pub next: Option<u64>,
}

/// What was planned was cancelled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SchedulesChanged {
    /// How it stands now.
    pub schedules: Vec<ScheduleView>,
}

/// A webhook was heard.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookTaken {
    /// The turn that does what was set up. What becomes of it, its sender is not shown.
    pub turn: String,
}

/// A part of the answer: the event `text`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TextEvent {
    /// The turn.
    pub turn: String,
    /// The part.
    pub text: String,
}

/// A call of an executor: the event `call`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CallEvent {
    /// The turn.
    pub turn: String,
    /// The call.
    pub call: String,
    /// The executor.
    pub executor: String,
    /// How it goes.
    pub state: CallStands,
    /// More of it, in a line.
    pub detail: String,
}

/// How a call goes.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallStands {
    /// It has begun.
    Started,
    /// It has worked.
    Succeeded,
    /// It has not.
    Unsuccessful,
    /// It was not allowed.
    Denied,
    /// It waits for the answer to a card.
    Waits,
}

impl From<&CallState> for CallStands {
    fn from(state: &CallState) -> Self {
        match state {
            CallState::Started => Self::Started,
            CallState::Succeeded => Self::Succeeded,
            CallState::Unsuccessful => Self::Unsuccessful,
            CallState::Denied => Self::Denied,
            CallState::Waits => Self::Waits,
        }
    }
}

/// How far a call has come: the event `progress`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgressEvent {
    /// The turn.
    pub turn: String,
    /// The call.
    pub call: String,
    /// So much is done.
    pub done: u64,
    /// Of so much; 0 when nobody knows.
    pub total: u64,
}

/// A card: the event `card`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CardEvent {
    /// The turn.
    pub turn: String,
    /// The card.
    pub card: String,
    /// `waiting`, or what became of it.
    pub state: String,
    /// What an answer is bound to, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its lines as people see them, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<CardPart>>,
    /// What it shows, while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown: Option<Value>,
    /// Who has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How many of its acts ran on the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ran: Option<u32>,
}

/// A turn is over: the event `done`, the last.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoneEvent {
    /// The turn.
    pub turn: String,
    /// How it ended.
    pub end: End,
    /// Why, when it did not end with an answer.
    pub why: String,
}

/// Something is due that the client is to be reminded of: the event `reminder`, on each open socket.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReminderEvent {
    /// The reminder, as a sentence.
    pub text: String,
}

/// The reply to `listen`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listened {
    /// The turn.
    pub turn: String,
}

/// The turn goes on elsewhere for a while: the event `again`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgainEvent {
    /// The turn.
    pub turn: String,
    /// After how many milliseconds the client may listen to it once more.
    pub after_ms: u64,
}

/// What a client says over a WebSocket: one object a message.
#[derive(Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
pub enum Do {
    /// Says something, and receives the turn.
    Say {
        /// What you say.
        text: String,
        /// Comes back with the reply.
        #[serde(default, rename = "ref")]
        reference: String,
    },
    /// Receives a turn, from this event on.
    Listen {
        /// The turn.
        turn: String,
        /// The id of the last event that was heard; empty for all.
        #[serde(default)]
        after: String,
        /// Comes back with the reply.
        #[serde(default, rename = "ref")]
        reference: String,
    },
    /// Stops a turn.
    Stop {
        /// The turn.
        turn: String,
        /// Comes back with the reply.
        #[serde(default, rename = "ref")]
        reference: String,
    },
    /// Answers a card.
    Answer {
        /// The card.
        card: String,
        /// The digest that it was shown with.
        digest: String,
        /// What you say to it.
        answer: Choice,
        /// A one-time code, for a card that needs one.
        #[serde(default)]
        code: String,
        /// Comes back with the reply.
        #[serde(default, rename = "ref")]
        reference: String,
    },
    /// Asks for the cards that wait.
    Cards {
        /// Comes back with the reply.
        #[serde(default, rename = "ref")]
        reference: String,
    },
}

impl Do {
    /// What comes back with the reply.
    #[must_use]
    pub fn reference(&self) -> &str {
        match self {
            Self::Say { reference, .. }
            | Self::Listen { reference, .. }
            | Self::Stop { reference, .. }
            | Self::Answer { reference, .. }
            | Self::Cards { reference } => reference,
        }
    }
}

impl RequestDocument for Do {
    const EXPECTED: &'static [(&'static str, &'static str)] = &[
        ("do", "say, listen, stop, answer or cards"),
        ("text", WORDS),
        ("turn", "the name of a turn"),
        ("after", "the id of an event of this turn, such as 12.345"),
        ("card", "the name of a card"),
        ("digest", "the digest that the card was shown with"),
        ("answer", ANSWERS),
        ("code", "a one-time code"),
        ("ref", "a text of at most 64 bytes"),
    ];
}

/// What is sent over a WebSocket: one object a message. The events are those of a stream; a `reply` answers what the
/// client has said; after `again` it may listen to the turn once more; `reminder` belongs to no turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tell {
    /// `text`, `call`, `progress`, `card`, `done`, `reply`, `again` or `reminder`.
    pub event: &'static str,
    /// The event's id, to come back with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the client had called what this answers.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The status of a reply, as HTTP has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The document.
    pub data: Value,
}
