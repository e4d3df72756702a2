//! What a person's day was like: read from the chronicle and the schedules, of that person alone.

use jiff::civil::DateTime;
use jiff::{Span, Timestamp, Zoned};
use metnos_proto::doc::schedule::{DayLine, DayReview, MAX_LINES, ScheduleView};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{ReviewOf, ScheduleKind};

use super::super::Memory;
use super::super::journal::{Answer, records};
use super::schedules::{behind, stretch};
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload::{OwnerMessage, TurnClose};
use crate::error::Result;
use crate::mnestome::derive::successes;
use crate::schedules::row::{moment_of, ms_of};

/// The most requests of one person that are looked at.
const MAX_REQUESTS: usize = 2_000;
/// How many of them are read at once.
const PAGE: u32 = 200;
/// The longest words of a line, in bytes.
const MAX_WORDS: usize = 160;
/// The effect class of what changes nothing.
const READS: [&str; 2] = ["read", "net_read"];

/// A stretch of time, in milliseconds since the epoch: from the first on and before the second.
type Stretch = (u64, u64);

/// What came of a request.
enum Became {
    /// Something was changed.
    Done,
    /// It was not understood, or nobody here could meet it.
    Unmet,
    /// It was answered, or refused.
    Answered,
}

impl Memory {
    /// What was done at a person's word, what was not, and of what the person was reminded, today or at the time that is named;
    /// with what is still to come within a day of now.
    ///
    /// # Errors
    /// When the words name no time, or something cannot be read.
    pub fn day_review(&mut self, word: &ReviewOf) -> Answer<DayReview> {
        // What has ended a moment ago belongs to it.
        self.flush()?;
        let now = self.schedules_now()?;
        let (start, end) = if word.when.is_empty() {
            (now.start_of_day().map_err(|_| behind())?, now.tomorrow().map_err(|_| behind())?)
        } else {
            stretch(&word.when, word.lang, &now)?
        };
        let upto_ms = ms_of(end.timestamp()).min(self.chronicle().now_ms().saturating_add(1));
        let span = (ms_of(start.timestamp()), upto_ms);
        let person: Vec<String> = self.person(&word.principal).into_iter().map(str::to_owned).collect();
        let mut review = self.requests_between(&person, span, &now)?;
        self.reminded_between(&person, span, &now, &mut review)?;
        review.to_come = self.to_come(&word.principal, &now, word.lang)?;
        Ok(review)
    }

    /// What became of the person's requests.
    fn requests_between(&self, person: &[String], span: Stretch, now: &Zoned) -> Result<DayReview> {
        let mut rows = Vec::new();
        for principal in person {
            rows.extend(self.said_between(principal, span)?);
        }
        rows.sort_unstable_by_key(|row| row.seq);
        let mut review = DayReview { requests: count(rows.len()), ..DayReview::default() };
        for row in &rows {
            let (lines, all) = match self.became(row)? {
                Became::Done => (&mut review.done, &mut review.all_done),
                Became::Unmet => (&mut review.unmet, &mut review.all_unmet),
                Became::Answered => continue,
            };
            *all += 1;
            if lines.len() < MAX_LINES {
                let event = self.chronicle().read(row)?;
                let words = OwnerMessage::decode(&event.payload).map(|words| words.text).unwrap_or_default();
                // Words that were taken out are counted and not shown.
                if !words.is_empty() {
                    lines.push(DayLine { at: on_clock(moment_of(row.ts_ms), now), what: one_line(&words) });
                }
            }
        }
        Ok(review)
    }

    /// The lines of what this principal said then; the last [`MAX_REQUESTS`] of them. What lies outside is not looked at.
    fn said_between(&self, principal: &str, (from_ms, upto_ms): Stretch) -> Result<Vec<IndexRow>> {
        let (index, head) = (self.chronicle().index(), self.chronicle().head().seq);
        let (first, mut before) = (index.first_since(from_ms, head)?, index.first_since(upto_ms, head)?);
        let mut found = Vec::new();
        while found.len() < MAX_REQUESTS {
            let page = index.said_by(principal, before, PAGE)?;
            let Some(last) = page.last().map(|row| row.seq) else { break };
            found.extend(page.into_iter().filter(|row| first <= row.seq));
            if last < first {
                break;
            }
            before = last;
        }
        Ok(found)
    }

    fn became(&self, said: &IndexRow) -> Result<Became> {
        let index = self.chronicle().index();
        let Some(turn) = said.turn else { return Ok(Became::Answered) };
        let Some(closed) = index.turn(turn)?.and_then(|facts| facts.closed) else { return Ok(Became::Answered) };
        for id in successes(&records(self.chronicle(), turn, closed)?) {
            if index.class_of(&id)?.is_none_or(|class| !READS.contains(&class.as_str())) {
                return Ok(Became::Done);
            }
        }
        if self.schedules.store().has_made(turn)? {
            return Ok(Became::Done);
        }
        let Some(row) = index.row(closed)? else { return Ok(Became::Answered) };
        let close = TurnClose::decode(&self.chronicle().read(&row)?.payload);
        Ok(if close.is_ok_and(|close| !close.wish.is_empty()) { Became::Unmet } else { Became::Answered })
    }

    fn reminded_between(&self, person: &[String], span: Stretch, now: &Zoned, review: &mut DayReview) -> Result<()> {
        let most = u32::try_from(MAX_REQUESTS).unwrap_or(u32::MAX);
        let mut all = Vec::new();
        for principal in person {
            all.extend(self.schedules.store().given_between(principal, span, most)?);
        }
        all.sort();
        review.all_reminded = count(all.len());
        let line = |(key, what): (String, String)| {
            let due = key.parse::<DateTime>().ok().and_then(|civil| civil.to_zoned(now.time_zone().clone()).ok());
            let at = due.map_or(key, |due| on_clock(due.timestamp(), now));
            DayLine { at, what: one_line(&what) }
        };
        review.reminded = all.into_iter().take(MAX_LINES).map(line).collect();
        Ok(())
    }

    /// The reminders that are due within a day of now.
    fn to_come(&self, principal: &str, now: &Zoned, lang: Lang) -> Answer<Vec<ScheduleView>> {
        let until = now.checked_add(Span::new().days(1)).map_err(|_| behind())?;
        let mut rows = self.schedules.listed(&self.person(principal), false)?;
        rows.retain(|row| row.kind == ScheduleKind::Reminder && row.is_due_within(now.time_zone(), now, &until));
        rows.truncate(MAX_LINES);
        Ok(self.shown_to(principal, &rows, now, lang).0)
    }
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// As RFC 3339 writes it, on the clock of `now`.
fn on_clock(at: Timestamp, now: &Zoned) -> String {
    let at = at.to_zoned(now.time_zone().clone());
    at.timestamp().display_with_offset(at.offset()).to_string()
}

/// The words as they fit on a line.
fn one_line(words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut line = words;
    line.truncate(line.floor_char_boundary(MAX_WORDS));
    line
}
