//! One schedule as memory keeps it, and what of it is due: arithmetic on values, without a database and without a clock.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use metnos_proto::doc::schedule::{ScheduleState, ScheduleView};
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::ScheduleKind;
use metnos_schedule::{Cadence, Language};

/// What is counted in the words of a timer.
const UNITS: [&str; 12] =
    ["second", "seconds", "sec", "minute", "minutes", "min", "mins", "secondo", "secondi", "minuto", "minuti", "mezz"];
/// How an alarm is called, in part.
const ALARMS: [&str; 4] = ["alarm", "wake", "svegl", "allarme"];
/// The most upcoming due times that are listed for a schedule.
const NEXT: usize = 3;
/// A firing that was begun so much later than it was due is late, and says so, in milliseconds.
pub const LATE_MS: u64 = 120_000;
/// What is due within so short a time is said with its second.
const WITHIN_SECONDS: std::time::Duration = std::time::Duration::from_secs(60);
/// How long a firing that may have failed waits for the next try, at first and at most, in milliseconds.
const RETRY_MS: u64 = 60_000;
const MAX_RETRY_MS: u64 = 3_600_000;

/// A firing that was begun and has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// The civil time at which it was due.
    pub key: String,
    /// The run of the door that began it; empty when that door has said that it does not know how it ended.
    pub by: String,
    /// How many due times before it went by.
    pub missed: u32,
    /// From when on it is tried again, in milliseconds since the epoch.
    pub retry_ms: u64,
}

/// A schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRow {
    /// Its number.
    pub number: u64,
    /// The line that made it.
    pub made_seq: u64,
    /// When that was, in milliseconds since the epoch.
    pub made_ms: u64,
    /// The turn in which it was asked for.
    pub turn: Option<TurnId>,
    /// Whose it is.
    pub principal: String,
    /// Who is reminded.
    pub to: String,
    /// Who has it said, where that is another person: the name.
    pub from: String,
    /// What is done when it fires.
    pub kind: ScheduleKind,
    /// Of what, or what is asked.
    pub what: String,
    /// When, in words.
    pub when: String,
    /// What was assumed about it.
    pub assumed: Vec<String>,
    /// The language of the reminder.
    pub lang: Lang,
    /// When.
    pub cadence: Cadence,
    /// Where it stands.
    pub state: ScheduleState,
    /// The civil time after which it is due next.
    pub after: DateTime,
    /// The firing that has not ended.
    pub begun: Option<Begun>,
    /// How many tries of that one may have failed.
    pub failures: u32,
    /// When it was put to another time last, in milliseconds since the epoch; 0 where it never was.
    pub moved_ms: u64,
    /// The calls that may change something when it fires.
    pub frozen: Vec<Blake3>,
    /// The due time for which these were given out; empty before that.
    pub opened: String,
    /// Whether it is given in the quiet hours of the one who is reminded, too.
    pub urgent: bool,
}

/// A firing that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueFiring {
    /// The civil time at which it was due: its key.
    pub key: String,
    /// The same in milliseconds since the epoch.
    pub at_ms: u64,
    /// How many due times before it went by.
    pub missed: u32,
    /// Whether it may have been given before.
    pub again: bool,
}

/// Milliseconds since the epoch; 0 before it.
pub fn ms_of(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or(0)
}

/// The moment of that many milliseconds since the epoch; the last one that there is beyond it.
pub fn moment_of(ms: u64) -> Timestamp {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX)
}

/// How long the try after so many failures is waited for, in milliseconds.
pub fn retry_after_ms(failures: u32) -> u64 {
    RETRY_MS.checked_shl(failures.saturating_sub(1)).unwrap_or(MAX_RETRY_MS).min(MAX_RETRY_MS)
}

/// The language of words about time.
pub const fn language_of(lang: Lang) -> Language {
    match lang {
        Lang::En => Language::English,
        Lang::It => Language::Italian,
    }
}

impl ScheduleRow {
    /// Whether it may still fire.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        matches!(self.state, ScheduleState::Active | ScheduleState::Paused)
    }

    /// Whether it is a timer: due once, so many minutes or seconds after it was asked for, or called so.
    #[must_use]
    pub fn is_timer(&self) -> bool {
        let words = self.when.to_lowercase();
        let counts = words.split(|c: char| !c.is_alphabetic()).any(|word| UNITS.contains(&word))
            || ["timer", "countdown"].iter().any(|timer| self.what.to_lowercase().contains(timer));
        self.kind == ScheduleKind::Reminder && matches!(self.cadence, Cadence::Once(_)) && counts
    }

    /// Whether somebody is to be woken by it.
    #[must_use]
    pub fn is_alarm(&self) -> bool {
        let what = self.what.to_lowercase();
        self.kind == ScheduleKind::Reminder && ALARMS.iter().any(|alarm| what.contains(alarm))
    }

    /// When this must be looked at next, in milliseconds since the epoch; `None` for one that will not fire, or that the door
    /// of this run is about to give.
    #[must_use]
    pub fn look_at_ms(&self, zone: &TimeZone, door: &str) -> Option<u64> {
        if self.state != ScheduleState::Active {
            return None;
        }
        match &self.begun {
            Some(begun) if !begun.by.is_empty() && begun.by == door => None,
            Some(begun) => Some(begun.retry_ms),
            None => self.cadence.next_due(zone, self.after).map(|due| ms_of(due.at)),
        }
    }

    /// The firing that is due at `now_ms`. Of several due times that went by, the last one; one that was begun and whose end
    /// nobody knows comes before all others, and again.
    #[must_use]
    pub fn due(&self, zone: &TimeZone, door: &str, now_ms: u64) -> Option<DueFiring> {
        if self.look_at_ms(zone, door)? > now_ms {
            return None;
        }
        if let Some(Begun { key, missed, .. }) = &self.begun {
            let at =
                key.parse::<DateTime>().ok().and_then(|civil| zone.to_ambiguous_timestamp(civil).compatible().ok());
            let at_ms = at.map_or(self.made_ms, ms_of);
            return Some(DueFiring { key: key.clone(), at_ms, missed: *missed, again: true });
        }
        let overdue = self.cadence.overdue(zone, self.after, moment_of(now_ms))?;
        Some(DueFiring {
            key: overdue.latest.key.to_string(),
            at_ms: ms_of(overdue.latest.at),
            missed: overdue.missed,
            again: false,
        })
    }

    /// When it is due, in words. Nobody waits for the second of something that is not due within the next minute.
    fn told(&self, now: DateTime, lang: Lang) -> String {
        let language = language_of(lang);
        match self.cadence {
            Cadence::Once(at) if at.duration_since(now).unsigned_abs() >= WITHIN_SECONDS => {
                let minute = at.with().second(0).build().unwrap_or(at);
                Cadence::Once(minute).told(language, now)
            }
            Cadence::Once(_) | Cadence::Cron(_) | Cadence::Rule { .. } => self.cadence.told(language, now),
        }
    }

    /// Whether it is due from `start` on and before `end`.
    #[must_use]
    pub fn is_due_within(&self, zone: &TimeZone, start: &Zoned, end: &Zoned) -> bool {
        let before = start.datetime().checked_sub(SignedDuration::from_secs(1)).unwrap_or_else(|_| start.datetime());
        let due = self.cadence.next_due(zone, self.after.max(before));
        self.state == ScheduleState::Active
            && due.is_some_and(|due| start.timestamp() <= due.at && due.at < end.timestamp())
    }

    /// As people and programs see it, on the clock of `now`.
    #[must_use]
    pub fn view(&self, now: &Zoned, zone: &str, lang: Lang) -> ScheduleView {
        let (mut next, mut after) = (Vec::new(), self.after);
        while self.state == ScheduleState::Active && next.len() < NEXT {
            let Some(due) = self.cadence.next_due(now.time_zone(), after) else { break };
            let at = due.at.to_zoned(now.time_zone().clone());
            next.push(due.at.display_with_offset(at.offset()).to_string());
            after = due.key;
        }
        ScheduleView {
            number: self.number,
            principal: self.principal.clone(),
            to: self.to.clone(),
            person: String::new(),
            kind: self.kind,
            what: self.what.clone(),
            when: self.when.clone(),
            told: self.told(now.datetime(), lang),
            assumed: self.assumed.clone(),
            next,
            zone: zone.to_owned(),
            state: self.state,
            made_ms: self.made_ms,
            moved_ms: self.moved_ms,
            held: String::new(),
            in_chat: false,
            sealed: false,
            already: false,
        }
    }
}
