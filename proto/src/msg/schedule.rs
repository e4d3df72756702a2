//! Schedules: what is to be done at another time. policyd says what may be kept, memoryd keeps it and knows what is due, the
//! door fires it.

use postcard_schema::Schema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{Blake3, TraceId, TurnId};
use crate::json;
use crate::msg::common::Lang;
use crate::msg::quiet::Quiet;
use crate::words;

/// The longest text of a reminder, in bytes.
pub const MAX_WHAT: usize = 512;
/// The longest message, in bytes; it may have several lines.
pub const MAX_MESSAGE: usize = 8 << 10;
/// The longest words about its time, in bytes.
pub const MAX_WHEN: usize = 256;
/// The most parts of either in the words of a request: "every Monday, remind me at 7 …" says when in two.
pub const MAX_PARTS: usize = 4;
/// All others of the household, where one person could stand.
pub const EVERYBODY: &str = "*";
/// The most schedules of one principal that may still fire.
pub const MAX_OF_ONE: usize = 200;
/// The most questions of one principal that may still be answered by themselves: each of them runs executors.
pub const MAX_ASKS_OF_ONE: usize = 20;
/// How long it takes at least between two answers to such a question, in seconds.
pub const ASK_EVERY_S: u64 = 900;
/// The rule of the refusal of a request that was given out for this due time before, and may have changed something.
pub const BEGUN_BEFORE: &str = "schedule.begun";
/// The most calls that are frozen for one schedule.
pub const MAX_FROZEN: usize = 4;
/// The most schedules of an instance that may still fire.
pub const MAX_SCHEDULES: usize = 100_000;
/// The most schedules that one turn may make or change.
pub const MAX_OF_TURN: u32 = 4;
/// How soon what is due once is a timer or the next alarm, in seconds: a day.
pub const SOON_S: u64 = 86_400;
/// The most firings in a history.
pub const MAX_FIRINGS: u32 = 100;
/// The most schedules in a list.
pub const MAX_LISTED: usize = 500;

/// What is done when a schedule fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Schema, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// A person is reminded of something.
    Reminder,
    /// A person is told what another one has said, at once.
    Message,
    /// A question of a person is answered.
    Ask,
    /// What a person has asked for is done: the calls that were frozen when it was made, and no others that change anything.
    Do,
}

impl ScheduleKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reminder, Self::Message, Self::Ask, Self::Do];

    /// How it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reminder => "reminder",
            Self::Message => "message",
            Self::Ask => "ask",
            Self::Do => "do",
        }
    }

    /// Whether a turn of its own is opened when it fires.
    #[must_use]
    pub const fn opens_turn(self) -> bool {
        match self {
            Self::Ask | Self::Do => true,
            Self::Reminder | Self::Message => false,
        }
    }

    /// The one that is written so.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == text)
    }
}

words! {
    // ---- from the planner to policyd -----------------------------------

    /// Do something about the schedules of this turn's principal. The list of those that it was about comes beside the answer.
    pub struct ScheduleOrder {
        /// Which turn.
        pub turn: TurnId,
        /// The language in which times are worded.
        pub lang: Lang,
        /// What.
        pub order: Order,
    }

    /// See [`ScheduleOrder`].
    pub enum Order {
        /// Remind the principal, or somebody else.
        Remind(Remind),
        /// Tell somebody else something, at once.
        Tell(Tell),
        /// Answer a question of the principal at another time, or do what the principal asks for then.
        Ask(Ask),
        /// List what is planned: all of it, or what is due at the time that these words name.
        List(String),
        /// List what is planned that has all these words; with none, what is due once within [`SOON_S`].
        Find(String),
        /// Change what is planned.
        Change(ScheduleChange),
        /// Hold what others send the principal between these hours; none: at no hour.
        Quiet(Option<Quiet>),
    }

    /// Texts that stand in the principal's own words; each of at most [`MAX_PARTS`] parts, in their order.
    pub struct Remind {
        /// Of what. At most [`MAX_WHAT`] bytes.
        pub what: Vec<String>,
        /// When. At most [`MAX_WHEN`] bytes.
        pub when: Vec<String>,
        /// Of a time that may be in the morning or in the evening, the morning is meant: somebody is to be woken.
        pub early: bool,
        /// Who is reminded, as the principal calls that person; empty for himself.
        pub to: String,
    }

    /// Texts that stand in the principal's own words.
    pub struct Tell {
        /// Who is told, as the principal calls that person; [`EVERYBODY`] for all others of the household.
        pub to: String,
        /// What; of at most [`MAX_PARTS`] parts in their order, and [`MAX_WHAT`] bytes.
        pub what: Vec<String>,
    }

    /// A question that is answered by itself; texts that stand in the principal's own words.
    pub struct Ask {
        /// What is asked, as it would be asked then; of at most [`MAX_PARTS`] parts in their order, and [`MAX_WHAT`] bytes.
        pub what: Vec<String>,
        /// When; as in [`Remind::when`].
        pub when: Vec<String>,
        /// The calls that may change something then, each by its [`frozen_call`]; none for a question. At most [`MAX_FROZEN`].
        pub frozen: Vec<Blake3>,
    }

    /// See [`Order::Change`].
    pub struct ScheduleChange {
        /// Which schedules.
        pub which: Which,
        /// What becomes of them.
        pub act: ScheduleAct,
    }

    /// Which of the schedules that may still fire.
    pub enum Which {
        /// The one of this number.
        Number(u64),
        /// The one at this place of the list that the principal was shown last, from 1 on.
        Place(u32),
        /// The one whose text has all these words.
        Called(String),
        /// The only one that there is.
        Only,
        /// The only timer that runs; of several, the one that is called so; where none does, the only one of all.
        Timer,
        /// All timers that run: what is due once, so many minutes after it was asked for.
        Timers,
        /// All alarms: what somebody is to be woken by.
        Alarms,
        /// The one that was made last.
        Last,
        /// All of them.
        All,
        /// The one that the person was reminded of last.
        Given,
    }

    /// What becomes of a schedule.
    pub enum ScheduleAct {
        /// It does not fire until it is resumed.
        Pause,
        /// It fires again, from now on.
        Resume,
        /// It never fires again.
        Cancel,
        /// It fires at another time: when, in parts of the principal's own words, as in [`Remind::when`]. One that was given already
        /// is given once more then.
        Move(Vec<String>),
        /// It fires now as well, once, and stays as it is.
        RunNow,
        /// It fires earlier, by the time that these parts of the principal's own words name.
        Earlier(Vec<String>),
    }

    /// What was the principal's day like? It comes beside the answer.
    pub struct ReviewOrder {
        /// In which turn.
        pub turn: TurnId,
        /// The language of `when`, and in which times are worded.
        pub lang: Lang,
        /// Of what time; empty for today. At most [`MAX_WHEN`] bytes.
        pub when: String,
    }

    /// The words of this turn may be a habit: the same was asked on several days at about this hour. policyd looks for itself, and
    /// offers the person to do it unasked from then on. The planner learns no more than whether an offer was made.
    pub struct OfferHabit {
        /// In which turn.
        pub turn: TurnId,
    }

    /// See [`OfferHabit`].
    pub struct HabitOffered {
        /// Whether a card with the offer was made.
        pub offered: bool,
    }

    // ---- from the owner to policyd -------------------------------------

    /// The owner manages schedules at the machine. The list of those that it was about comes beside the answer.
    pub enum ScheduleAsk {
        /// List them; also those that have ended.
        List(bool),
        /// Remind the owner.
        Add(AddReminder),
        /// Change one.
        Change(ScheduleChange),
    }

    /// See [`ScheduleAsk::Add`].
    pub struct AddReminder {
        /// Of what.
        pub what: String,
        /// When.
        pub when: String,
        /// The language of both.
        pub lang: Lang,
        /// Who is reminded, by name; empty for the owner.
        pub to: String,
        /// Whether `what` is a question to be answered then, to the owner alone.
        pub asks: bool,
    }

    /// Show a schedule with its firings.
    pub struct ShowSchedule {
        /// Which.
        pub number: u64,
        /// The language in which times are worded.
        pub lang: Lang,
    }

    // ---- from policyd to memoryd ---------------------------------------

    /// Keep a reminder that was allowed. The list of it alone comes beside the answer. The same again in one turn is answered
    /// as before.
    pub struct KeepSchedule {
        /// The turn that it was asked for in; [`TurnId::NONE`] at the machine.
        pub turn: TurnId,
        /// Its trace.
        pub trace: TraceId,
        /// Whose it is.
        pub principal: String,
        /// Who is reminded.
        pub to: String,
        /// By whom, where that is another person: the name.
        pub from: String,
        /// What is done then.
        pub kind: ScheduleKind,
        /// Of what; for [`ScheduleKind::Ask`] and [`ScheduleKind::Do`], the request.
        pub what: String,
        /// When, in words; empty for a message.
        pub when: String,
        /// As in [`Remind::early`].
        pub early: bool,
        /// The language of these words.
        pub lang: Lang,
        /// The language in which the one who is reminded is spoken to.
        pub told_in: Lang,
        /// As in [`Ask::frozen`]; none but for [`ScheduleKind::Do`].
        pub frozen: Vec<Blake3>,
        /// Whether it is given in the quiet hours of the one who is reminded, too: the owner's telos calls it an emergency.
        pub urgent: bool,
    }

    /// List schedules.
    pub struct ListSchedules {
        /// Whose; empty for everybody's.
        pub principal: String,
        /// The language in which times are worded.
        pub lang: Lang,
        /// Also those that have ended.
        pub ended: bool,
        /// Only those that are due at the time that these words name; empty for all. At most [`MAX_WHEN`] bytes.
        pub when: String,
        /// Only those that have all these words; with an empty text, those that are due once within [`SOON_S`].
        pub called: Option<String>,
        /// Whether the principal is shown the list, so that "the second one" means one of it.
        pub shown: bool,
    }

    /// Change schedules.
    pub struct ChangeSchedules {
        /// Whose; empty for everybody's.
        pub principal: String,
        /// Which, and what becomes of them.
        pub change: ScheduleChange,
        /// The language in which times are worded.
        pub lang: Lang,
    }

    /// What was a person's day like, or another stretch of time?
    pub struct ReviewOf {
        /// One of the principals as which the person speaks.
        pub principal: String,
        /// The language of `when`, and in which times are worded.
        pub lang: Lang,
        /// As in [`ReviewOrder::when`].
        pub when: String,
    }

    /// When were the words of this turn said before, by the same principal?
    pub struct SaidBefore {
        /// Which turn.
        pub turn: TurnId,
    }

    /// See [`SaidBefore`].
    pub struct SaidTimes {
        /// When, in seconds since 1970, ascending. None for a turn that no person has opened.
        pub times: Vec<i64>,
        /// The zone in which that person's days are reckoned, as `USER.md` has it.
        pub zone: String,
    }

    /// The request of a firing that was begun and has not ended. That of [`ScheduleKind::Do`] is given out once for each due time:
    /// whatever dies, nothing is done twice.
    pub struct AskFired {
        /// The schedule.
        pub number: u64,
        /// As in [`Firing::key`].
        pub key: String,
    }

    /// See [`AskFired`].
    pub struct AskedThen {
        /// Who has asked.
        pub principal: String,
        /// Who is given the answer: the same person.
        pub to: String,
        /// What was asked.
        pub what: String,
        /// The language of these words.
        pub lang: Lang,
        /// As in [`Ask::frozen`].
        pub frozen: Vec<Blake3>,
    }

    // ---- from the door to policyd --------------------------------------

    /// A question fires, or something is to be done: open a turn on it that changes nothing but by its frozen calls. Its words come
    /// beside the answer, as memoryd has kept them.
    pub struct FireAsk {
        /// The schedule.
        pub number: u64,
        /// As in [`Firing::key`].
        pub key: String,
    }

    // ---- from the door to memoryd --------------------------------------

    /// When must the door look next?
    pub struct NextFiring {
        /// For whom; empty for anybody who can be sent a message.
        pub to: String,
    }

    /// When the next schedule is due for those who were asked about. Also a note about all who can be sent a message, when that
    /// has changed.
    pub struct FiringDue {
        /// In milliseconds since the epoch; none when nothing is.
        pub at_ms: Option<u64>,
    }

    /// Begin the firing that is due first. It is durable when it is answered, so that it is never begun twice unnoticed.
    pub struct TakeFiring {
        /// Whom it is for; empty for anybody who can be sent a message.
        pub to: String,
    }

    /// See [`TakeFiring`].
    pub struct FiringTaken {
        /// None when nothing is due.
        pub firing: Option<Firing>,
    }

    /// What is to be done now.
    pub struct Firing {
        /// The schedule.
        pub number: u64,
        /// The time by the clock on the wall at which it was due.
        pub key: String,
        /// Who is reminded.
        pub to: String,
        /// As in [`KeepSchedule::from`].
        pub from: String,
        /// What is to be done.
        pub kind: ScheduleKind,
        /// Of what; the request of [`ScheduleKind::Ask`] and [`ScheduleKind::Do`].
        pub what: String,
        /// When it was due, for a person; empty when that was just now.
        pub due: String,
        /// How many due times before this one went by.
        pub missed: u32,
        /// Whether it may have been given before.
        pub again: bool,
        /// Whether the schedule is one that repeats.
        pub repeats: bool,
        /// The language of the reminder.
        pub lang: Lang,
    }

    /// How a firing ended.
    pub struct FiringEnded {
        /// The schedule.
        pub number: u64,
        /// As in [`Firing::key`].
        pub key: String,
        /// How.
        pub end: FiringEnd,
    }

    /// See [`FiringEnded`].
    pub enum FiringEnd {
        /// The person was reached.
        Delivered,
        /// Nobody knows whether the person was reached: it is tried again later.
        Unsure,
        /// The person is not known here any more: the schedule is cancelled.
        Refused,
        /// There was nothing to report, and nothing was sent.
        Silent,
    }
}

/// Names a call whose arguments were fixed when a schedule was made: BLAKE3 over the executor's name, a zero byte, and the
/// arguments in canonical JSON, references included.
#[must_use]
pub fn frozen_call(executor: &str, arguments: &Value) -> Blake3 {
    let mut bytes = executor.as_bytes().to_vec();
    bytes.push(0);
    bytes.extend(json::canonical(arguments));
    Blake3::of(&bytes)
}

impl Order {
    /// Whether somebody else than the principal is to be told or reminded.
    #[must_use]
    pub const fn is_for_another(&self) -> bool {
        match self {
            Self::Remind(remind) => !remind.to.is_empty(),
            Self::Tell(_) => true,
            Self::Ask(_) | Self::List(_) | Self::Find(_) | Self::Change(_) | Self::Quiet(_) => false,
        }
    }
}

impl ScheduleAct {
    /// The name of the state that it leads to, as the chronicle has it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Cancel => "cancelled",
            Self::RunNow => "made",
            Self::Move(_) | Self::Earlier(_) => "moved",
        }
    }
}
