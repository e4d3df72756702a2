//! Schedules: policyd has them kept, listed and changed; the door has them fired. What is due is known here alone.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Zoned};
use metnos_proto::doc::schedule::{ScheduleHistory, ScheduleList, ScheduleState, ScheduleView};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::{Lang, Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{PageOf, Recorded};
use metnos_proto::msg::schedule::{
    ASK_EVERY_S, AskFired, AskedThen, BEGUN_BEFORE, ChangeSchedules, Firing, FiringDue, FiringEnd, FiringEnded,
    FiringTaken, KeepSchedule, ListSchedules, MAX_ASKS_OF_ONE, MAX_MESSAGE, MAX_OF_ONE, MAX_SCHEDULES, MAX_WHAT,
    MAX_WHEN, NextFiring, ScheduleAct, ScheduleKind, ShowSchedule, TakeFiring, Which,
};
use metnos_schedule::{Assumed, Cadence, Unfit, key_at};
use metnos_when::{Context, Grain, Kind, Reading};

use super::super::Memory;
use super::super::journal::{Answer, Asker, clean, refused};
use super::super::views::Page;
use crate::chronicle::event::{Draft, EventType};
use crate::chronicle::payload::ScheduleEvent;
use crate::error::{Error, Result};
use crate::schedules::is_called;
use crate::schedules::row::{LATE_MS, ScheduleRow, language_of, moment_of, ms_of};
use crate::schedules::store::act;

/// The name of a language in a line.
const fn name_of(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::It => "it",
    }
}

impl Memory {
    /// Keeps a reminder.
    ///
    /// # Errors
    /// When its time is none, is past, or may be one of two; when there are too many; or nothing can be recorded.
    pub fn keep_schedule(&mut self, asker: Asker, word: &KeepSchedule) -> Answer<ScheduleList> {
        self.journal.room_for_more()?;
        let now = self.schedules_now()?;
        check(word)?;
        if word.turn != TurnId::NONE
            && let Some(row) = self.schedules.store().made_in(word.turn, &word.to, &word.what, &word.when)?
        {
            return Ok(self.shown(&[row], &now, word.lang));
        }
        let due = when_due(word, &now)?;
        if let Some(row) = self.planned_already(word, &due.0)? {
            let mut list = self.shown(&[row], &now, word.lang);
            list.0.iter_mut().for_each(|view| view.already = true);
            return Ok(list);
        }
        self.room_for_schedule(&word.principal)?;
        if word.kind.opens_turn() {
            self.room_for_ask(&word.principal, (&due.0, &due.2), &now)?;
        }
        self.make_schedule(asker, word, due, &now)
    }

    /// Makes a reminder that was found to be sound, due as it says.
    fn make_schedule(
        &mut self,
        asker: Asker,
        word: &KeepSchedule,
        (cadence, assumed, key): (Cadence, Vec<Assumed>, String),
        now: &Zoned,
    ) -> Answer<ScheduleList> {
        let number = self.schedules.store().next_number()?;
        let event = ScheduleEvent {
            ask: word.kind.opens_turn(),
            assumed: assumed.iter().map(|one| assumption(*one).to_owned()).collect(),
            cadence: serde_json::to_value(&cadence).unwrap_or_default(),
            from: clean(word.from.clone()),
            frozen: word.frozen.iter().map(ToString::to_string).collect(),
            key,
            lang: name_of(word.told_in).to_owned(),
            message: word.kind == ScheduleKind::Message,
            to: word.to.clone(),
            urgent: word.urgent,
            what: clean(word.what.clone()),
            when: clean(word.when.clone()),
            ..ScheduleEvent::new(act::MADE, number)
        };
        let turn = Some(word.turn).filter(|turn| *turn != TurnId::NONE);
        self.stage_schedule(asker, &word.principal, turn, &event)?;
        self.flush()?;
        let row = self.schedules.store().get(number)?.ok_or_else(behind)?;
        Ok(self.shown(&[row], now, word.lang))
    }

    /// What is planned with the same words for the same times: a person who asks for it once more wants one, and not two. A message
    /// is not: who says something twice has it said twice.
    fn planned_already(&self, word: &KeepSchedule, cadence: &Cadence) -> Answer<Option<ScheduleRow>> {
        if word.kind == ScheduleKind::Message {
            return Ok(None);
        }
        let what = clean(word.what.clone()).to_lowercase();
        let is_same = |row: &ScheduleRow| {
            row.state == ScheduleState::Active
                && (row.kind, &row.to, &row.frozen, row.urgent) == (word.kind, &word.to, &word.frozen, word.urgent)
                && row.cadence == *cadence
                && row.what.to_lowercase() == what
        };
        Ok(self.schedules.listed(&self.person(&word.principal), false)?.into_iter().find(is_same))
    }

    fn room_for_schedule(&self, principal: &str) -> Answer<()> {
        let (own, all) = self.schedules.store().counts(principal)?;
        if own >= MAX_OF_ONE || all >= MAX_SCHEDULES { Err(full(own).into()) } else { Ok(()) }
    }

    /// Whether one more question of this person may be answered by itself, and as often as this.
    fn room_for_ask(&self, principal: &str, (cadence, key): (&Cadence, &str), now: &Zoned) -> Answer<()> {
        let own = self.schedules.listed(&self.person(principal), false)?;
        if own.iter().filter(|row| row.kind.opens_turn()).count() >= MAX_ASKS_OF_ONE {
            let why = format!("{MAX_ASKS_OF_ONE} of your requests are answered by themselves already");
            return Err(Refusal::new(RefusalCode::Busy, "schedule.asks", why)
                .remedy("cancel some of them first")
                .into());
        }
        rare_enough(cadence, key, now)
    }

    /// What is asked by a firing that the door has begun. That it was given out is on the disk first where something may be changed.
    ///
    /// # Errors
    /// When it was not begun, has ended, asks nothing, or was given out before and may have changed something.
    pub fn ask_fired(&mut self, asker: Asker, word: &AskFired) -> Answer<AskedThen> {
        self.journal.room_for_more()?;
        self.flush()?;
        self.schedules_now()?;
        let row = self.schedules.store().get(word.number)?;
        let is_begun = |row: &ScheduleRow| row.begun.as_ref().is_some_and(|begun| begun.key == word.key);
        let Some(row) = row.filter(|row| row.kind.opens_turn() && row.is_live() && is_begun(row)) else {
            let why = format!("schedule {} asks nothing at {}", word.number, word.key);
            return Err(refused(RefusalCode::Unknown, "schedule.firing", why));
        };
        let ScheduleRow { principal, to, what, lang, frozen, opened, .. } = row;
        if !frozen.is_empty() {
            if opened == word.key {
                let why = format!("schedule {} was begun at {} before, and may have been done", word.number, word.key);
                return Err(refused(RefusalCode::Denied, BEGUN_BEFORE, why));
            }
            let event = ScheduleEvent { key: word.key.clone(), ..ScheduleEvent::new(act::OPENED, word.number) };
            self.stage_schedule(asker, &principal, None, &event)?;
            self.flush()?;
        }
        Ok(AskedThen { principal, to, what, lang, frozen })
    }

    /// Lists schedules.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn list_schedules(&mut self, word: &ListSchedules) -> Answer<ScheduleList> {
        let now = self.schedules_now()?;
        let mut rows = self.schedules.listed(&self.person(&word.principal), word.ended)?;
        if !word.when.is_empty() {
            let (start, end) = stretch(&word.when, word.lang, &now)?;
            rows.retain(|row| row.kind != ScheduleKind::Message && row.is_due_within(now.time_zone(), &start, &end));
        }
        match word.called.as_deref() {
            Some("") => {
                let now_ms = self.chronicle().now_ms();
                rows.retain(|row| self.schedules.is_soon(row, now_ms));
            }
            Some(called) => {
                let fits = is_called(called);
                rows.retain(|row| row.kind != ScheduleKind::Message && fits(row));
            }
            None => {}
        }
        if word.shown {
            let now_ms = self.chronicle().now_ms();
            self.schedules.was_shown(&word.principal, &rows, now_ms);
        }
        Ok(self.shown_to(&word.principal, &rows, &now, word.lang))
    }

    /// Changes schedules, all of those that are meant or none.
    ///
    /// # Errors
    /// When none is meant or more than one may be, or nothing can be recorded.
    pub fn change_schedules(&mut self, asker: Asker, word: &ChangeSchedules) -> Answer<ScheduleList> {
        self.journal.room_for_more()?;
        // What has ended a moment ago is known before it is looked up.
        self.flush()?;
        let now = self.schedules_now()?;
        let now_ms = self.chronicle().now_ms();
        if word.principal.is_empty() && matches!(word.change.which, Which::Called(_)) {
            // Whether one is found would tell what stands in it.
            let why = "at the machine a reminder is named by its number";
            return Err(refused(RefusalCode::Invalid, "schedule.number", why));
        }
        let rows = self.schedules.meant(&self.person(&word.principal), &word.change.which, now_ms)?;
        if word.principal.is_empty()
            && rows.iter().any(|row| row.kind == ScheduleKind::Message && self.who_is_who.is_anothers(&row.to))
        {
            // What somebody is to be told of a broken seal is not taken back.
            let why = "what another person is told is not changed at the machine";
            return Err(refused(RefusalCode::Denied, "schedule.message", why));
        }
        let becomes = match &word.change.act {
            ScheduleAct::Move(parts) => return self.move_schedule(asker, word, (&parts.join(" "), false), rows, &now),
            ScheduleAct::RunNow => return self.run_now(asker, word, rows, &now),
            ScheduleAct::Earlier(parts) => {
                return self.move_schedule(asker, word, (&parts.join(" "), true), rows, &now);
            }
            ScheduleAct::Pause => ScheduleState::Paused,
            ScheduleAct::Resume => ScheduleState::Active,
            ScheduleAct::Cancel => ScheduleState::Cancelled,
        };
        for row in rows.iter().filter(|row| row.state != becomes) {
            let key = key_of(&now);
            let event = ScheduleEvent { key, ..ScheduleEvent::new(word.change.act.name(), row.number) };
            self.stage_schedule(asker, &row.principal, None, &event)?;
        }
        self.flush()?;
        let read = |row: &ScheduleRow| self.schedules.store().get(row.number);
        let rows: Vec<ScheduleRow> = rows.iter().filter_map(|row| read(row).transpose()).collect::<Result<_>>()?;
        Ok(self.shown_to(&word.principal, &rows, &now, word.lang))
    }

    /// Has a schedule fire now as well: the same once, due at once. The owner has nothing of others fire at the machine.
    fn run_now(
        &mut self,
        asker: Asker,
        word: &ChangeSchedules,
        mut rows: Vec<ScheduleRow>,
        now: &Zoned,
    ) -> Answer<ScheduleList> {
        let own = |row: &ScheduleRow| !self.who_is_who.is_anothers(&row.principal) || !word.principal.is_empty();
        let Some(row) = rows.pop().filter(|row| rows.is_empty() && row.kind != ScheduleKind::Message && own(row))
        else {
            let why = "what fires now is one reminder or question of your own";
            return Err(refused(RefusalCode::Denied, "schedule.now", why));
        };
        self.room_for_schedule(&row.principal)?;
        let again = KeepSchedule {
            turn: TurnId::NONE,
            trace: metnos_proto::ids::TraceId::NONE,
            principal: row.principal,
            to: row.to,
            from: row.from,
            kind: row.kind,
            what: row.what,
            when: row.when,
            early: false,
            lang: word.lang,
            told_in: row.lang,
            frozen: row.frozen,
            urgent: row.urgent,
        };
        let (due, key) = at_once(now)?;
        self.make_schedule(asker, &again, (due, Vec::new(), key), now)
    }

    /// Puts a schedule to the time that these words name; one that was given already is planned once more.
    fn move_schedule(
        &mut self,
        asker: Asker,
        word: &ChangeSchedules,
        (when, earlier): (&str, bool),
        mut rows: Vec<ScheduleRow>,
        now: &Zoned,
    ) -> Answer<ScheduleList> {
        let Some(row) = rows.pop().filter(|_| rows.is_empty()) else {
            let why = "one reminder at a time gets another time";
            return Err(refused(RefusalCode::Invalid, "schedule.several", why.to_owned()));
        };
        if row.kind == ScheduleKind::Message || when.len() > MAX_WHEN || when.contains(char::is_control) {
            let why = format!("what is moved is a reminder, and its new time has at most {MAX_WHEN} bytes on one line");
            return Err(refused(RefusalCode::Invalid, "schedule.form", why));
        }
        let language = language_of(word.lang);
        let hour = metnos_when::bare_hour(when, language);
        let words = hour.as_deref().unwrap_or(when);
        let read = |at: &Zoned| metnos_when::read(words, &Context::new(at.clone(), language));
        if !earlier && (word.change.which == Which::Given || !row.is_live()) {
            self.room_for_schedule(&word.principal)?;
            let due = Cadence::of_reading(&read(now), now).map_err(|unfit| misfit(&unfit, when))?;
            let again = KeepSchedule {
                turn: TurnId::NONE,
                trace: metnos_proto::ids::TraceId::NONE,
                principal: word.principal.clone(),
                to: row.to,
                from: String::new(),
                kind: row.kind,
                what: row.what,
                when: when.to_owned(),
                early: false,
                lang: word.lang,
                told_in: row.lang,
                frozen: row.frozen,
                urgent: row.urgent,
            };
            return self.make_schedule(asker, &again, (due.0, due.1, key_of(now)), now);
        }
        let moved = if earlier {
            row.cadence.earlier(&read(now), now).map(|cadence| (cadence, Vec::new()))
        } else {
            row.cadence.moved(read, now)
        };
        let (cadence, assumed) = moved.map_err(|unfit| misfit(&unfit, when))?;
        if row.kind.opens_turn() {
            rare_enough(&cadence, &key_of(now), now)?;
        }
        let event = ScheduleEvent {
            assumed: assumed.iter().map(|one| assumption(*one).to_owned()).collect(),
            cadence: serde_json::to_value(&cadence).unwrap_or_default(),
            key: key_of(now),
            when: clean(when.to_owned()),
            ..ScheduleEvent::new(act::MOVED, row.number)
        };
        self.stage_schedule(asker, &row.principal, None, &event)?;
        self.flush()?;
        let row = self.schedules.store().get(row.number)?.ok_or_else(behind)?;
        Ok(self.shown_to(&word.principal, &[row], now, word.lang))
    }

    /// Shows a schedule with its last firings.
    ///
    /// # Errors
    /// If no schedule has this number, or its record cannot be read.
    pub fn show_schedule(&mut self, word: &ShowSchedule) -> Answer<ScheduleHistory> {
        let now = self.schedules_now()?;
        let none =
            || refused(RefusalCode::Unknown, "schedule.unknown", format!("there is no schedule {}", word.number));
        let row = self.schedules.store().get(word.number)?.ok_or_else(none)?;
        let firings = self.schedules.store().firings(word.number)?;
        let schedule = self.shown_to("", &[row], &now, word.lang).0.pop().ok_or_else(behind)?;
        Ok(ScheduleHistory { schedule, firings })
    }

    /// When the door must look next.
    ///
    /// # Errors
    /// When the schedules cannot be read.
    pub fn next_firing(&mut self, asker: Asker, word: &NextFiring) -> Answer<FiringDue> {
        self.schedules_now()?;
        self.schedules.door_is(&asker.session.to_string())?;
        if !word.to.is_empty() {
            return Ok(FiringDue { at_ms: self.schedules.next_for(&word.to)? });
        }
        Ok(FiringDue { at_ms: self.schedules.news_for_door().unwrap_or_else(|| self.schedules.next_ms()) })
    }

    /// The same, for a door that does not know it yet.
    pub fn firing_news(&mut self) -> Option<FiringDue> {
        self.schedules.news_for_door().map(|at_ms| FiringDue { at_ms })
    }

    /// Has schedules fire by the household's time zone as it is now.
    pub(in crate::memory) fn schedules_by_the_clock(&mut self) {
        if let Err(error) = self.schedules_now() {
            tracing::error!(%error, "the schedules are behind the chronicle");
        }
    }

    /// Begins the firing that is due first. That it was begun is on the disk before the door learns of it.
    ///
    /// # Errors
    /// When nothing can be recorded: then nothing was begun.
    pub fn take_firing(&mut self, asker: Asker, word: &TakeFiring) -> Answer<FiringTaken> {
        let now_ms = self.chronicle().now_ms();
        self.schedules_now()?;
        self.schedules.door_is(&asker.session.to_string())?;
        if self.schedules.due(&word.to, now_ms)?.is_none() {
            return Ok(FiringTaken { firing: None });
        }
        // What was begun a moment ago is known before anything else is begun.
        self.flush()?;
        self.journal.chronicle.ensure_writable()?;
        let now = self.schedules_now()?;
        let Some((row, due)) = self.schedules.due(&word.to, now_ms)? else { return Ok(FiringTaken { firing: None }) };
        let event =
            ScheduleEvent { key: due.key.clone(), missed: due.missed, ..ScheduleEvent::new(act::BEGUN, row.number) };
        self.stage_schedule(asker, &row.principal, None, &event)?;
        let since_ms = if row.kind == ScheduleKind::Message { row.made_ms } else { due.at_ms };
        let is_late = now_ms.saturating_sub(since_ms) > LATE_MS;
        let civil = due.key.parse::<DateTime>().ok().filter(|_| is_late);
        let due_words = civil.map(|key| metnos_schedule::moment(key, now.datetime(), language_of(row.lang)));
        let (key, missed, again) = (due.key, due.missed, due.again);
        let repeats = !matches!(row.cadence, Cadence::Once(_));
        let ScheduleRow { number, to, from, kind, what, lang, .. } = row;
        let chat = self.schedules.chat_of(&to).filter(|_| word.to.is_empty()).map(str::to_owned);
        let to = chat.unwrap_or(to);
        let due = due_words.unwrap_or_default();
        let firing = Firing { number, key, to, from, kind, what, due, missed, again, repeats, lang };
        Ok(FiringTaken { firing: Some(firing) })
    }

    /// A firing has ended.
    ///
    /// # Errors
    /// When it was not begun, or nothing can be recorded.
    pub fn firing_ended(&mut self, asker: Asker, word: &FiringEnded) -> Answer<Recorded> {
        self.flush()?;
        self.schedules_now()?;
        let row = self.schedules.store().get(word.number)?;
        let begun = row.filter(|row| row.begun.as_ref().is_some_and(|begun| begun.key == word.key));
        let Some(row) = begun else {
            let why = format!("schedule {} has no firing of {} that has not ended", word.number, word.key);
            return Err(refused(RefusalCode::Unknown, "schedule.firing", why));
        };
        let how = match word.end {
            FiringEnd::Delivered => act::DELIVERED,
            FiringEnd::Unsure => act::UNSURE,
            FiringEnd::Refused => act::REFUSED,
            FiringEnd::Silent => act::SILENT,
        };
        let event = ScheduleEvent { key: word.key.clone(), ..ScheduleEvent::new(how, word.number) };
        Ok(self.stage_schedule(asker, &row.principal, None, &event)?)
    }

    /// A page of what is planned for a principal.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn schedules_page(&mut self, wanted: &PageOf) -> Answer<Page> {
        let now = self.schedules_now()?;
        let rows = self.schedules.listed(&self.person(&wanted.principal), false)?;
        let begin = usize::try_from(wanted.from).unwrap_or(usize::MAX).min(rows.len());
        let end = begin.saturating_add(wanted.lines as usize).min(rows.len());
        let mut page = Page::default();
        let views = rows[begin..end].iter().flat_map(|row| self.shown(std::slice::from_ref(row), &now, row.lang).0);
        views.into_iter().try_for_each(|view| page.add(&view))?;
        page.next = if end < rows.len() { end as u64 } else { 0 };
        Ok(page)
    }

    /// The moment on the household's clock, by which everything about schedules is reckoned. What was recorded is applied.
    pub(super) fn schedules_now(&mut self) -> Result<Zoned> {
        self.derive()?;
        self.schedules.catch_up(&self.journal.chronicle)?;
        let now_ms = self.chronicle().now_ms();
        let (text, zone) = self.files.zone();
        let seconds = moment_of(now_ms).as_second();
        let now = zone.at(seconds).unwrap_or_else(|| moment_of(now_ms).to_zoned(TimeZone::UTC));
        self.schedules.in_zone(&text, now.time_zone().clone())?;
        Ok(now)
    }

    fn shown(&self, rows: &[ScheduleRow], now: &Zoned, lang: Lang) -> ScheduleList {
        let view = |row: &ScheduleRow| ScheduleView {
            person: self.who_is_who.other_name(&row.principal, &row.to),
            held: self.held_until(row, now),
            in_chat: self.schedules.chat_of(&row.to).is_some(),
            ..row.view(now, self.schedules.zone().1, lang)
        };
        ScheduleList(rows.iter().map(view).collect())
    }

    /// Until when this is held back for quiet hours, as RFC 3339 writes it.
    fn held_until(&self, row: &ScheduleRow, now: &Zoned) -> String {
        let until = self.schedules.held_until(row, self.chronicle().now_ms()).map(moment_of);
        until
            .map(|until| until.display_with_offset(until.to_zoned(now.time_zone().clone()).offset()).to_string())
            .unwrap_or_default()
    }

    /// The same for this principal; for an empty one, the owner at the machine, without the words of what is between others.
    pub(super) fn shown_to(&self, principal: &str, rows: &[ScheduleRow], now: &Zoned, lang: Lang) -> ScheduleList {
        let mut list = self.shown(rows, now, lang);
        let seals = self.seals();
        let between_others = |view: &ScheduleView| seals.hold(&view.principal) && seals.hold(&view.to);
        for view in list.0.iter_mut().filter(|view| principal.is_empty() && between_others(view)) {
            view.what.clear();
            view.when.clear();
            view.sealed = true;
        }
        list
    }

    /// All principals of the person who speaks as this one; none for an empty one, which is everybody.
    pub(super) fn person<'a>(&'a self, principal: &'a str) -> Vec<&'a str> {
        if principal.is_empty() { Vec::new() } else { self.who_is_who.principals_with(principal) }
    }

    fn stage_schedule(
        &mut self,
        asker: Asker,
        principal: &str,
        turn: Option<TurnId>,
        event: &ScheduleEvent,
    ) -> Result<Recorded> {
        self.journal.chronicle.stage(Draft {
            parent: None,
            emitter: asker.role,
            session: asker.session,
            turn_id: turn,
            trace_id: None,
            kind: EventType::ScheduleEvent,
            channel: None,
            peer: principal.to_owned(),
            trust: metnos_proto::msg::common::Trust::System,
            payload: event.encode(),
        })
    }
}

/// The key that stands for a moment: what is due after it has a later one.
fn key_of(now: &Zoned) -> String {
    key_at(now.time_zone(), now.timestamp()).unwrap_or_else(|| now.datetime()).to_string()
}

/// When it is due, what had to be assumed for that, and the key after which it is due first.
fn when_due(word: &KeepSchedule, now: &Zoned) -> Answer<(Cadence, Vec<Assumed>, String)> {
    if word.kind == ScheduleKind::Message {
        let (due, key) = at_once(now)?;
        return Ok((due, Vec::new(), key));
    }
    let language = language_of(word.lang);
    // "An alarm for 7".
    let hour = word.early.then(|| metnos_when::bare_hour(&word.when, language)).flatten();
    let words = hour.as_deref().unwrap_or(&word.when);
    let reading = metnos_when::read(words, &Context::new(now.clone(), language));
    let reading = if word.early { in_the_morning(reading) } else { reading };
    let (cadence, assumed) = Cadence::of_reading(&reading, now).map_err(|unfit| misfit(&unfit, &word.when))?;
    Ok((cadence, assumed, key_of(now)))
}

/// Due at once, with the key after which that is due first.
fn at_once(now: &Zoned) -> Answer<(Cadence, String)> {
    // The second that has just begun, so that it is due at once also while the clock shows an hour for the second time.
    let at = now.datetime().with().subsec_nanosecond(0).build().map_err(|_| behind())?;
    let before = at.checked_sub(SignedDuration::from_secs(1)).map_err(|_| behind())?;
    Ok((Cadence::Once(at), before.to_string()))
}

/// Whether a question is asked no more often than it may be. Irregular times repeat within what is looked at here.
fn rare_enough(cadence: &Cadence, key: &str, now: &Zoned) -> Answer<()> {
    const LOOKED_AT: usize = 64;
    let mut after = key.parse::<DateTime>().map_err(|_| behind())?;
    let mut last: Option<u64> = None;
    for _ in 0..LOOKED_AT {
        let Some(due) = cadence.next_due(now.time_zone(), after) else { break };
        let at = ms_of(due.at);
        if last.is_some_and(|last| at.saturating_sub(last) < ASK_EVERY_S * 1_000) {
            let why = format!("a question is answered by itself at most every {} minutes", ASK_EVERY_S / 60);
            return Err(refused(RefusalCode::Invalid, "schedule.often", why));
        }
        (last, after) = (Some(at), due.key);
    }
    Ok(())
}

/// From when to when words about time go, both on the clock. What is a moment goes as far as it is exact: "at 9" to ten.
pub(super) fn stretch(when: &str, lang: Lang, now: &Zoned) -> Answer<(Zoned, Zoned)> {
    let no = || {
        let why = format!("\"{when}\" is no time at which something could be planned");
        refused(RefusalCode::Invalid, "schedule.time", why)
    };
    if when.len() > MAX_WHEN {
        return Err(no());
    }
    let reading = metnos_when::read(when, &Context::new(now.clone(), language_of(lang)));
    let start = reading.start.filter(|_| matches!(reading.kind, Kind::Instant | Kind::Interval)).ok_or_else(no)?;
    let length = match reading.grain {
        Some(Grain::Second | Grain::Minute) | None => Span::new().minutes(1),
        Some(Grain::Hour) => Span::new().hours(1),
        Some(Grain::Day) => Span::new().days(1),
        Some(Grain::Week) => Span::new().weeks(1),
        Some(Grain::Month) => Span::new().months(1),
        Some(Grain::Quarter) => Span::new().months(3),
        Some(Grain::Year) => Span::new().years(1),
        Some(Grain::Decade) => Span::new().years(10),
    };
    let end = reading.end.map_or_else(|| start.checked_add(length).map_err(|_| no()), Ok)?;
    // "In the next 3 hours" is asked of what is left of this hour as well.
    let coming = reading.assumed.contains(&"whole-units") && start > *now;
    Ok((if coming { now.clone() } else { start }, end))
}

/// Of two readings the one in the morning.
fn in_the_morning(mut reading: Reading) -> Reading {
    let is_early = |one: &Reading| one.start.as_ref().is_some_and(|start| start.hour() < 12);
    match reading.readings.iter().position(is_early) {
        Some(at) => reading.readings.swap_remove(at),
        None => reading,
    }
}

/// The name of what had to be assumed, for programs.
const fn assumption(one: Assumed) -> &'static str {
    match one {
        Assumed::Nine => "nine",
        Assumed::Beginning => "beginning",
        Assumed::AfterOverlap => "after_overlap",
    }
}

pub(super) fn behind() -> Error {
    Refusal::new(RefusalCode::Unavailable, "memory.index", "what was recorded cannot be looked up now").into()
}

fn full(own: usize) -> Refusal {
    let whose = if own >= MAX_OF_ONE { "of yours" } else { "in this household" };
    Refusal::new(RefusalCode::Busy, "schedule.full", format!("too many reminders {whose} are planned already"))
        .remedy("cancel some of them")
}

fn check(word: &KeepSchedule) -> Answer<()> {
    let sound =
        |text: &str, most: usize| !text.trim().is_empty() && text.len() <= most && !text.contains(char::is_control);
    let most = if word.kind == ScheduleKind::Message { MAX_MESSAGE } else { MAX_WHAT };
    let said =
        if word.kind == ScheduleKind::Message { word.what.replace(['\n', '\t'], " ") } else { word.what.clone() };
    let timed = if word.kind == ScheduleKind::Message { word.when.is_empty() } else { sound(&word.when, MAX_WHEN) };
    if sound(&said, most) && timed && word.from.len() <= MAX_WHEN && !word.from.contains(char::is_control) {
        return Ok(());
    }
    let why =
        format!("a reminder says of what in 1 to {MAX_WHAT} bytes, and when in 1 to {MAX_WHEN}, on one line each");
    Err(refused(RefusalCode::Invalid, "schedule.form", why))
}

/// Why words about time are no time at which somebody can be reminded.
fn misfit(unfit: &Unfit, when: &str) -> Refusal {
    let no = |rule: &str, why: String, remedy: &str| Refusal::new(RefusalCode::Invalid, rule, why).remedy(remedy);
    match unfit {
        Unfit::None => no(
            "schedule.time",
            format!("\"{when}\" names no time that is understood"),
            "say it like \"tomorrow at 9\", \"in 20 minutes\" or \"every Monday at 7:30\"",
        ),
        Unfit::Ambiguous(_) => no(
            "schedule.ambiguous",
            format!("\"{when}\" may be in the morning or in the evening"),
            "say which: \"at 8 in the morning\", \"at 20:00\"",
        ),
        Unfit::Past => no("schedule.past", format!("\"{when}\" is over"), "name a time that is still to come"),
        Unfit::Invalid(invalid) => {
            no("schedule.time", format!("\"{when}\" cannot be kept: {invalid}"), "say it in another way")
        }
        Unfit::Repeats => no(
            "schedule.repeats",
            format!("the reminder repeats, and \"{when}\" is one time"),
            "say when it is to be from now on, such as \"every Monday at 8:00\"",
        ),
        Unfit::Vague => {
            no("schedule.vague", format!("\"{when}\" is not exact enough"), "name a day, and if you like an hour")
        }
    }
}
