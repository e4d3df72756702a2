//! Schedules: what is to be done at another time, whose it is, and which of it is due next. A projection of the chronicle; it
//! reads no clock but the one it is given, and never waits.

pub mod row;
pub mod store;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode};
use metnos_proto::msg::quiet::Quiet;
use metnos_proto::msg::schedule::{MAX_LISTED, SOON_S, ScheduleKind, Which};
use metnos_rank::forms::Said;
use metnos_rank::lexicon::is_stop;
use metnos_rank::words::words;
use metnos_schedule::Cadence;

use crate::at_rest::Keys;
use crate::chronicle::Chronicle;
use crate::chronicle::event::Event;
use crate::error::Result;
use row::{DueFiring, ScheduleRow, moment_of, ms_of};
use store::ScheduleStore;

/// How many rows of the index are looked at in one step of catching up.
const CHUNK: u32 = 4096;
/// Of how many principals it is remembered which list they were shown.
const MAX_SHOWN_TO: usize = 64;
/// How long a list that was shown counts for "the second one", in milliseconds.
pub const SHOWN_FOR_MS: u64 = 600_000;
/// How long after it was given a reminder is the one that was given last, in milliseconds.
pub const GIVEN_FOR_MS: u64 = 12 * 3_600_000;
/// How long what is due waits for somebody at a terminal or on a page to take it, before it is sent to a chat, in milliseconds.
pub const TAKEN_HERE_MS: u64 = 5_000;
/// What a timer is called.
const TIMERS: [&str; 2] = ["timer", "countdown"];
/// The most words of a schedule's text that are compared.
const MAX_WORDS: usize = 64;

/// A list that a principal was shown.
#[derive(Debug)]
struct Shown {
    numbers: Vec<u64>,
    at_ms: u64,
}

/// The schedules, and when each must be looked at.
#[derive(Debug)]
pub struct Schedules {
    store: ScheduleStore,
    /// The zone by whose clock they fire, with its text.
    zone: (String, TimeZone),
    /// The run of the door that fires now.
    door: String,
    shown: BTreeMap<String, Shown>,
    /// Quiet hours by principal. None until policyd has sent them: what others send is held until then.
    quiet: Option<BTreeMap<String, Quiet>>,
    /// The chats of persons, by their other principals: what these are to be told goes there where nobody takes it.
    chats: BTreeMap<String, String>,
    /// The principals whose persons want to be told things in their chat at once.
    chat_first: BTreeSet<String>,
    /// When the next one must be looked at; none as long as that was not looked up since the last change.
    next: Cell<Option<Option<u64>>>,
    /// What the door was told last.
    told: Option<Option<u64>>,
}

/// Whether a message can be sent to this person at any time; all others learn it when they come.
#[must_use]
pub fn can_be_sent_to(principal: &str) -> bool {
    principal.split(':').next() == Some(Channel::Telegram.name())
}

impl Schedules {
    /// Opens the table, whose words lie encrypted under these keys; nothing is due before [`Schedules::in_zone`].
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path, keys: &Keys) -> Result<Self> {
        Ok(Self {
            store: ScheduleStore::open(path, keys)?,
            zone: (String::new(), TimeZone::UTC),
            door: String::new(),
            shown: BTreeMap::new(),
            quiet: None,
            chats: BTreeMap::new(),
            chat_first: BTreeSet::new(),
            next: Cell::new(None),
            told: None,
        })
    }

    /// The table.
    #[must_use]
    pub const fn store(&self) -> &ScheduleStore {
        &self.store
    }

    /// The last event that was applied.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.store.applied()
    }

    /// The time zone by which schedules fire, and its text.
    #[must_use]
    pub const fn zone(&self) -> (&TimeZone, &String) {
        (&self.zone.1, &self.zone.0)
    }

    /// Has schedules fire by the clock of this zone from now on. When it is another one, all due times are reckoned anew.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn in_zone(&mut self, text: &str, zone: TimeZone) -> Result<()> {
        if self.zone.0 == text {
            return Ok(());
        }
        self.zone = (text.to_owned(), zone);
        self.next.set(None);
        if self.store.zone()? == text {
            return Ok(());
        }
        self.store.reckon(text, |row| self.look_ms(row))
    }

    /// The door of this run fires from now on: what an earlier one has begun may have reached its person or not.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn door_is(&mut self, session: &str) -> Result<()> {
        if self.door == session {
            return Ok(());
        }
        session.clone_into(&mut self.door);
        // It knows of nothing yet.
        self.told = None;
        self.store.begun()?.iter().try_for_each(|row| self.reckon(row))
    }

    /// These are the quiet hours from now on.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn quiet_are(&mut self, quiet: BTreeMap<String, Quiet>) -> Result<()> {
        if self.quiet.as_ref() == Some(&quiet) {
            return Ok(());
        }
        self.quiet = Some(quiet);
        self.store.from_others()?.iter().try_for_each(|row| self.reckon(row))
    }

    /// These are the chats of persons from now on, by their other principals, and these principals' persons want to be told things
    /// there at once.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn chats_are(&mut self, chats: BTreeMap<String, String>, chat_first: BTreeSet<String>) -> Result<()> {
        let before = std::mem::replace(&mut self.chats, chats);
        let first_before = std::mem::replace(&mut self.chat_first, chat_first);
        let moved = before.keys().chain(self.chats.keys()).filter(|one| before.get(*one) != self.chats.get(*one));
        let changed: BTreeSet<&String> = moved.chain(first_before.symmetric_difference(&self.chat_first)).collect();
        for principal in changed {
            self.store.reminding(principal)?.iter().try_for_each(|row| self.reckon(row))?;
        }
        Ok(())
    }

    /// The chat to which it is sent what this principal is to be told; `None` for a person without one.
    #[must_use]
    pub fn chat_of<'a>(&'a self, principal: &'a str) -> Option<&'a str> {
        if can_be_sent_to(principal) { Some(principal) } else { self.chats.get(principal).map(String::as_str) }
    }

    /// When this must be looked at for somebody who can be sent a message: as [`ScheduleRow::look_at_ms`] says, and not in quiet
    /// hours. What is somebody's at a terminal or on a page is theirs first, where one is open.
    fn look_ms(&self, row: &ScheduleRow) -> Option<u64> {
        self.chat_of(&row.to)?;
        let in_chat = can_be_sent_to(&row.to) || self.chat_first.contains(&row.to);
        let wait = if in_chat { 0 } else { TAKEN_HERE_MS };
        self.undisturbed_ms(row, row.look_at_ms(&self.zone.1, &self.door)?.saturating_add(wait))
    }

    /// That moment, or the end of the quiet hours of the one who gets what another one sends; `None` as long as they are not known.
    fn undisturbed_ms(&self, row: &ScheduleRow, at_ms: u64) -> Option<u64> {
        if row.from.is_empty() || row.urgent {
            return Some(at_ms);
        }
        let Some(quiet) = self.quiet.as_ref()?.get(&row.to) else { return Some(at_ms) };
        let at = moment_of(at_ms).to_zoned(self.zone.1.clone());
        let minute = u16::try_from(i32::from(at.hour()) * 60 + i32::from(at.minute())).unwrap_or(0);
        let Some(left) = quiet.left(minute) else { return Some(at_ms) };
        // By the clock on the wall, also where it is changed that night.
        let until = at.datetime().with().second(0).subsec_nanosecond(0).build().ok();
        let until = until.and_then(|until| until.checked_add(SignedDuration::from_mins(i64::from(left))).ok());
        let until = until.and_then(|until| self.zone.1.to_ambiguous_timestamp(until).compatible().ok());
        Some(until.map_or(at_ms, ms_of))
    }

    /// Until when this is held back for quiet hours, in milliseconds since the epoch; `None` where it is not.
    #[must_use]
    pub fn held_until(&self, row: &ScheduleRow, now_ms: u64) -> Option<u64> {
        if !row.is_live() || self.chat_of(&row.to).is_none() {
            return None;
        }
        let at = row.look_at_ms(&self.zone.1, "")?.max(now_ms);
        self.undisturbed_ms(row, at).filter(|until| *until > at)
    }

    /// Reckons anew when this one must be looked at.
    fn reckon(&self, row: &ScheduleRow) -> Result<()> {
        self.next.set(None);
        self.store.look_at(row.number, self.look_ms(row))
    }

    /// Applies what the table does not hold yet.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the table not be written; what was applied stays.
    pub fn catch_up(&mut self, chronicle: &Chronicle) -> Result<()> {
        while self.store.applied() < chronicle.head().seq {
            let rows = chronicle.index().rows_from(self.store.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let own = rows.iter().filter(|row| row.kind.is_some_and(ScheduleStore::concerns));
            let events: Vec<Event> = own.map(|row| chronicle.read(row)).collect::<Result<_>>()?;
            for number in self.store.apply(&events, last)? {
                if let Some(row) = self.store.get(number)? {
                    self.reckon(&row)?;
                }
            }
        }
        Ok(())
    }

    /// When the next one is due whose person can be sent a message, in milliseconds since the epoch.
    #[must_use]
    pub fn next_ms(&self) -> Option<u64> {
        if let Some(known) = self.next.get() {
            return known;
        }
        let next = self.store.first().unwrap_or_else(|error| {
            tracing::error!(%error, "when the next reminder is due is not known");
            None
        });
        let next = next.map(|(at, _)| at);
        self.next.set(Some(next));
        next
    }

    /// When the next one is due for this person, in milliseconds since the epoch.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn next_for(&self, to: &str) -> Result<Option<u64>> {
        let rows = self.store.reminding(to)?;
        Ok(rows.iter().filter_map(|row| row.look_at_ms(&self.zone.1, &self.door)).min())
    }

    /// What [`Self::next_ms`] says, when the door does not know it yet. From now on it does.
    pub fn news_for_door(&mut self) -> Option<Option<u64>> {
        let next = self.next_ms();
        if self.door.is_empty() || self.told == Some(next) {
            return None;
        }
        self.told = Some(next);
        Some(next)
    }

    /// The firing that is due first: for this person, or with an empty name for anybody who can be sent a message. Who wants it in
    /// the chat gets it here only where the chat did not get it in [`TAKEN_HERE_MS`].
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn due(&self, to: &str, now_ms: u64) -> Result<Option<(ScheduleRow, DueFiring)>> {
        let rows =
            if to.is_empty() { self.first_due(now_ms)?.into_iter().collect() } else { self.store.reminding(to)? };
        let due = rows.into_iter().filter_map(|row| row.due(&self.zone.1, &self.door, now_ms).map(|due| (row, due)));
        let wait = if self.chat_first.contains(to) { TAKEN_HERE_MS } else { 0 };
        let due = due.filter(|(_, due)| due.at_ms.saturating_add(wait) <= now_ms);
        Ok(due.min_by_key(|(row, due)| (due.at_ms, row.number)))
    }

    /// The one that is due first for somebody who can be sent a message and may be disturbed now.
    fn first_due(&self, now_ms: u64) -> Result<Option<ScheduleRow>> {
        loop {
            let Some((_, number)) = self.store.first()?.filter(|(at, _)| *at <= now_ms) else { return Ok(None) };
            let Some(row) = self.store.get(number)? else { return Ok(None) };
            let reached = self.chat_of(&row.to).is_some();
            match self.undisturbed_ms(&row, now_ms).filter(|_| reached) {
                Some(at) if at <= now_ms => return Ok(Some(row)),
                // It was due before the quiet hours began, and is looked at when they are over; or its person has no chat any more.
                later => {
                    self.next.set(None);
                    self.store.look_at(number, later)?;
                }
            }
        }
    }

    /// Those of these principals, or with none of everybody, in the order in which they were made.
    fn of_any(&self, principals: &[&str], ended: bool) -> Result<Vec<ScheduleRow>> {
        if principals.is_empty() {
            return self.store.of("", ended, MAX_LISTED);
        }
        let mut rows = Vec::new();
        for principal in principals {
            rows.extend(self.store.of(principal, ended, MAX_LISTED)?);
        }
        rows.sort_by_key(|row| row.number);
        Ok(rows)
    }

    /// Those of these principals, or with none of everybody, the one that is due first before the others.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn listed(&self, principals: &[&str], ended: bool) -> Result<Vec<ScheduleRow>> {
        let mut rows = self.of_any(principals, ended)?;
        rows.sort_by_cached_key(|row| (row.look_at_ms(&self.zone.1, "").unwrap_or(u64::MAX), row.number));
        Ok(rows)
    }

    /// Whether a reminder is due once within [`SOON_S`]: a timer, or the next alarm.
    #[must_use]
    pub fn is_soon(&self, row: &ScheduleRow, now_ms: u64) -> bool {
        let due = row.look_at_ms(&self.zone.1, "");
        row.kind == ScheduleKind::Reminder
            && matches!(row.cadence, Cadence::Once(_))
            && due.is_some_and(|due| due.saturating_sub(now_ms) <= SOON_S * 1_000)
    }

    /// Remembers the list that a principal was shown, for "the second one".
    pub fn was_shown(&mut self, principal: &str, rows: &[ScheduleRow], now_ms: u64) {
        self.shown.retain(|_, shown| now_ms.saturating_sub(shown.at_ms) <= SHOWN_FOR_MS);
        if self.shown.len() < MAX_SHOWN_TO || self.shown.contains_key(principal) {
            let numbers = rows.iter().map(|row| row.number).collect();
            self.shown.insert(principal.to_owned(), Shown { numbers, at_ms: now_ms });
        }
    }

    /// Which of the schedules of a person who speaks as these principals, the first of them now, or with none of everybody, are meant
    /// among those that may still fire.
    ///
    /// # Errors
    /// A refusal when none is, or more than one may be.
    pub fn meant(&self, principals: &[&str], which: &Which, now_ms: u64) -> Result<Vec<ScheduleRow>> {
        let principal = principals.first().copied().unwrap_or_default();
        let mut live = self.of_any(principals, false)?;
        let one = |found: Vec<ScheduleRow>| match found.len() {
            0 => Err(unknown().into()),
            1 => Ok(found),
            _ => Err(several().into()),
        };
        match which {
            Which::All if live.is_empty() => Err(unknown().into()),
            Which::All => Ok(live),
            Which::Only => one(live),
            Which::Timer => {
                let soon: Vec<ScheduleRow> = live.iter().filter(|row| row.is_timer()).cloned().collect();
                let named = |row: &&ScheduleRow| TIMERS.iter().any(|timer| row.what.to_lowercase().contains(timer));
                let timers: Vec<ScheduleRow> = soon.iter().filter(named).cloned().collect();
                match (soon.len(), timers.len()) {
                    (0, _) => one(live),
                    (2.., 1) => one(timers),
                    _ => one(soon),
                }
            }
            Which::Given => {
                one(self.store.given_last(principals, now_ms.saturating_sub(GIVEN_FOR_MS))?.into_iter().collect())
            }
            Which::Timers | Which::Alarms => {
                live.retain(if *which == Which::Timers { ScheduleRow::is_timer } else { ScheduleRow::is_alarm });
                if live.is_empty() { Err(unknown().into()) } else { Ok(live) }
            }
            Which::Last => one(live.pop().into_iter().collect()),
            Which::Number(number) => {
                let own = |row: &ScheduleRow| principals.is_empty() || principals.contains(&row.principal.as_str());
                one(self.store.get(*number)?.filter(|row| row.is_live() && own(row)).into_iter().collect())
            }
            Which::Place(place) => {
                let shown =
                    self.shown.get(principal).filter(|shown| now_ms.saturating_sub(shown.at_ms) <= SHOWN_FOR_MS);
                let at = place.checked_sub(1).and_then(|at| usize::try_from(at).ok());
                let number = shown.zip(at).map(|(shown, at)| shown.numbers.get(at).copied());
                match number {
                    None => Err(not_shown().into()),
                    Some(None) => Err(unknown().into()),
                    Some(Some(number)) => one(live.into_iter().filter(|row| row.number == number).collect()),
                }
            }
            Which::Called(text) => {
                let fits = is_called(text);
                one(live.into_iter().filter(|row| fits(row)).collect())
            }
        }
    }
}

/// Whether a schedule has all the words of this text that say something; none has those of a text that says nothing.
pub fn is_called(text: &str) -> impl Fn(&ScheduleRow) -> bool {
    let called: Vec<String> = words(text).into_iter().filter(|word| !is_stop(word)).collect();
    move |row: &ScheduleRow| {
        let said = Said::of(&format!("{} {}", row.what, row.when), MAX_WORDS);
        !called.is_empty() && called.iter().all(|word| said.has(word))
    }
}

fn unknown() -> Refusal {
    Refusal::new(RefusalCode::Unknown, "schedule.unknown", "no reminder like this is planned")
        .remedy("ask what is planned, and name it as it stands there")
}

fn several() -> Refusal {
    Refusal::new(RefusalCode::Invalid, "schedule.several", "more than one reminder may be meant")
        .remedy("ask what is planned, and name the one that is meant")
}

fn not_shown() -> Refusal {
    Refusal::new(RefusalCode::Invalid, "schedule.shown", "no list of reminders was shown a moment ago")
        .remedy("ask what is planned, then say which one")
}
