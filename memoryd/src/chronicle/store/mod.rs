//! The chronicle as memoryd holds it: stage, flush, read. No line is acknowledged before it is on the disk.

pub mod recover;
pub mod redact;
#[cfg(test)]
mod store_tests;

use std::path::Path;

use metnos_proto::ids::{SessionId, Sha256, TurnId};
use metnos_proto::msg::memoryd::Recorded;

use crate::at_rest::Keys;
use crate::chronicle::event::{Draft, Event, EventType, GENESIS};
use crate::chronicle::index::{Index, IndexRow};
use crate::chronicle::line::check_draft;
use crate::chronicle::log::{Log, Place, Placed};
use crate::chronicle::time::{Clock, Day};
use crate::chronicle::view::View;
use crate::error::{Error, Result};
use crate::faults::{Faults, NoFaults, Step, step};
use recover::apply;

/// How many bytes of payload may wait for one flush; the loop flushes when they are more.
pub const MAX_ROUND_BYTES: usize = 32 * 1024 * 1024;
/// How far the clock may fall behind the last event before an event records it, in milliseconds.
pub const CLOCK_BACK_MS: u64 = 2_000;

/// How much memoryd itself may have to tell while nothing can be recorded.
pub const MAX_NOTES: usize = 64;

/// The last event of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its number; 0 when there is none.
    pub seq: u64,
    /// Its hash.
    pub hash: Sha256,
    /// Its time.
    pub ts_ms: u64,
}

impl Head {
    /// Of a chronicle without events.
    pub const EMPTY: Self = Self { seq: 0, hash: GENESIS, ts_ms: 0 };

    /// The head when `event` is the last.
    #[must_use]
    pub const fn of(event: &Event) -> Self {
        Self { seq: event.seq, hash: event.hash, ts_ms: event.ts_ms }
    }

    /// As it travels on the wire.
    #[must_use]
    pub const fn recorded(&self) -> Recorded {
        Recorded { seq: self.seq, hash: self.hash }
    }
}

/// Whether events can be recorded.
#[derive(Debug)]
enum Health {
    Sound,
    /// The index lacks events that the log has: caught up before anything else is recorded.
    Behind,
    /// The log is not what was written.
    Altered(String),
}

/// What a flush has done.
#[derive(Debug)]
pub struct Flushed {
    /// The events that are now durable, in order.
    pub events: Vec<Placed>,
    /// Whether the index knows them; otherwise it is caught up before the next.
    pub indexed: bool,
}

/// The log, its index and the executors' view.
pub struct Chronicle {
    log: Log,
    index: Index,
    view: View,
    clock: Box<dyn Clock>,
    faults: Box<dyn Faults>,
    session: SessionId,
    health: Health,
    head: Head,
    /// The last line that was in the files when they were opened.
    opened: u64,
    staged: Vec<Event>,
    staged_bytes: usize,
    staged_so_far: u64,
    /// What is durable, and not in the index yet.
    due: Vec<Placed>,
    /// System events of memoryd itself, not staged yet.
    notes: Vec<Draft>,
    /// Those that are staged: noted again when the flush goes wrong.
    staged_notes: Vec<Draft>,
    clock_back_noted: bool,
    torn: u32,
}

impl std::fmt::Debug for Chronicle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Chronicle").field("head", &self.head).field("health", &self.health).finish_non_exhaustive()
    }
}

impl Chronicle {
    /// Opens the chronicle in `dir` (`.audit`), whose payloads lie encrypted under `keys`: catches the index up, sets a torn end
    /// aside.
    ///
    /// A chronicle that was altered is opened all the same, so that it can be read and
    /// verified, but records nothing: [`Chronicle::ensure_writable`] says why.
    ///
    /// # Errors
    /// When a file cannot be opened, or the index is of another version.
    pub fn open(
        dir: &Path,
        session: SessionId,
        clock: Box<dyn Clock>,
        mut faults: Box<dyn Faults>,
        keys: Keys,
    ) -> Result<Self> {
        let mut log = Log::open(dir, keys)?;
        let (index, mut told) = open_index(dir)?;
        let fresh = index.head()?.is_none();
        let mut view = View::open(&dir.join("executors"), index.view_end()?)?;
        let mut health = Health::Sound;
        let mut head = Head::EMPTY;
        let mut torn = 0;
        match recover::catch_up(&mut log, &index, &mut view, faults.as_mut()) {
            Ok(done) => {
                head = done.head;
                let added = done.added;
                if added > 0 && fresh {
                    told.push(("index_rebuilt", format!("the index was empty; {added} events were added")));
                } else if added > 0 {
                    // After a crash this is as it should be; otherwise another process has written them.
                    let first = head.seq + 1 - added;
                    told.push((
                        "caught_up",
                        format!("events {first} to {} were in the log and not yet in the index", head.seq),
                    ));
                }
                if let Some(what) = done.torn {
                    torn = 1;
                    told.push(("torn", what));
                }
            }
            Err(Error::Altered(why)) => {
                tracing::error!(%why, "the chronicle was altered; nothing is recorded");
                head = index.head()?.map_or(head, |row| Head { seq: row.seq, hash: row.hash, ts_ms: row.ts_ms });
                health = Health::Altered(why);
            }
            Err(error) => return Err(error),
        }
        if matches!(health, Health::Sound) {
            let done = redact::carry_out(&log, &index, &mut view, faults.as_mut())?;
            if done > 0 {
                told.push(("redacted_late", format!("{done} payloads were to be taken out, and are now")));
            }
        }
        let notes = told.into_iter().map(|(kind, text)| Draft::own(session, kind, text)).collect();
        Ok(Self {
            log,
            index,
            view,
            clock,
            faults,
            session,
            health,
            head,
            opened: head.seq,
            staged: Vec::new(),
            staged_bytes: 0,
            staged_so_far: 0,
            due: Vec::new(),
            notes,
            staged_notes: Vec::new(),
            clock_back_noted: false,
            torn,
        })
    }

    /// Whether anything can be recorded now. Catches the index up when it is behind.
    ///
    /// # Errors
    /// Why not.
    pub fn ensure_writable(&mut self) -> Result<()> {
        match &self.health {
            Health::Sound => Ok(()),
            Health::Altered(why) => Err(Error::Altered(why.clone())),
            Health::Behind => {
                let done = recover::catch_up(&mut self.log, &self.index, &mut self.view, self.faults.as_mut())?;
                self.head = done.head;
                self.health = Health::Sound;
                Ok(())
            }
        }
    }

    /// Gives an event its place behind those that wait already. It is durable after the next
    /// [`Chronicle::flush`], and must not be acknowledged before.
    ///
    /// # Errors
    /// When it does not fit the format, or nothing can be recorded.
    pub fn stage(&mut self, draft: Draft) -> Result<Recorded> {
        self.ensure_writable()?;
        check_draft(&draft)?;
        // Before it is staged, so that only its own asker is refused when no key can be made.
        self.log.keys().ensure(&draft.peer)?;
        self.stage_waiting();
        Ok(self.push(draft))
    }

    /// Whether the line at that row has this payload.
    #[must_use]
    pub fn says(&self, row: &IndexRow, payload: &str) -> bool {
        self.log.keys().is_digest_of(row.payload, row.turn, payload)
    }

    /// Stages the events of memoryd itself, before the next one of a peer.
    fn stage_waiting(&mut self) {
        let now = self.clock.now_ms();
        let behind = now.saturating_add(CLOCK_BACK_MS) < self.head.ts_ms;
        if behind && !self.clock_back_noted {
            let text = format!("the clock is {} ms behind the last event", self.head.ts_ms - now);
            self.notes.push(Draft::own(self.session, "clock_back", text));
        }
        self.clock_back_noted = behind;
        for draft in std::mem::take(&mut self.notes) {
            self.staged_notes.push(draft.clone());
            self.push(draft);
        }
    }

    fn push(&mut self, mut draft: Draft) -> Recorded {
        draft.payload = self.log.keys().salted(&draft.peer, draft.turn_id, draft.payload);
        // One instant for all that share a flush, so that a round never lies in two days' files.
        let (last, ts_ms) = match self.staged.last() {
            Some(event) => (Head::of(event), event.ts_ms),
            None => (self.head, self.head.ts_ms.max(self.clock.now_ms())),
        };
        let event = Event::seal(draft, last.seq + 1, last.hash, ts_ms);
        let recorded = Head::of(&event).recorded();
        self.staged_bytes += event.payload.len();
        self.staged_so_far += 1;
        self.staged.push(event);
        recorded
    }

    /// Notes a system event of memoryd itself: recorded before the next event, and dropped when more
    /// than [`MAX_NOTES`] wait for a disk that can be written.
    pub fn note(&mut self, kind: &str, text: String) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Draft::own(self.session, kind, text));
        }
    }

    /// Stages the events of memoryd itself, if anything can be recorded.
    pub fn stage_notes(&mut self) {
        if !self.notes.is_empty() && self.ensure_writable().is_ok() {
            self.stage_waiting();
        }
    }

    /// How many bytes of payload wait.
    #[must_use]
    pub const fn staged_bytes(&self) -> usize {
        self.staged_bytes
    }

    /// How many events have been staged since the start.
    pub const fn staged_so_far(&self) -> u64 {
        self.staged_so_far
    }

    /// Whether events wait.
    #[must_use]
    pub fn has_staged(&self) -> bool {
        !self.staged.is_empty()
    }

    /// Whether an event of that turn waits, or is durable and not in the index yet.
    #[must_use]
    pub fn has_unindexed_of(&self, turn: TurnId) -> bool {
        self.unindexed_of(turn).next().is_some()
    }

    /// The events of that turn that the index does not know yet, those that are durable first.
    pub fn unindexed_of(&self, turn: TurnId) -> impl Iterator<Item = &Event> {
        let durable = self.due.iter().map(|placed| &placed.event);
        durable.chain(&self.staged).filter(move |event| event.turn_id == Some(turn))
    }

    /// Whether an event of that turn, other than the one that opens it, waits to be durable.
    pub fn has_staged_call_of(&self, turn: TurnId) -> bool {
        self.staged.iter().any(|event| event.turn_id == Some(turn) && event.kind != EventType::TurnOpen)
    }

    /// What is durable and not in the index yet.
    #[must_use]
    pub fn due(&self) -> &[Placed] {
        &self.due
    }

    /// Makes everything that waits durable, with one write and one sync, then indexes it.
    ///
    /// # Errors
    /// What went wrong; then nothing of it stays, and no asker may be acknowledged.
    pub fn flush(&mut self) -> Result<Flushed> {
        self.write()?;
        let (events, indexed) = self.bring_in()?;
        Ok(Flushed { events, indexed })
    }

    /// The first half of a flush: one write and one sync. From here on the events may be acknowledged. They are due to
    /// the index until [`Chronicle::bring_in`], which follows before anybody is answered out of it.
    ///
    /// # Errors
    /// What went wrong; then nothing of it stays, and no asker may be acknowledged.
    pub fn write(&mut self) -> Result<()> {
        let events = std::mem::take(&mut self.staged);
        self.staged_bytes = 0;
        let Some(last) = events.last() else { return Ok(()) };
        let day = Day::of(last.ts_ms);
        let head = Head::of(last);
        let notes = std::mem::take(&mut self.staged_notes);
        let written = self.log.to_file(&events).and_then(|(bytes, spans)| {
            let start = self.log.append(day, &bytes, self.faults.as_mut())?;
            Ok((start, spans))
        });
        let (start, spans) = written.inspect_err(|error| {
            self.notes.splice(..0, notes);
            if let Error::Altered(why) = error {
                self.health = Health::Altered(why.clone());
            }
        })?;
        self.head = head;
        let placed = |(event, (offset, bytes))| Placed { event, place: Place { day, offset: start + offset, bytes } };
        self.due.extend(events.into_iter().zip(spans).map(placed));
        Ok(())
    }

    /// The second half of a flush: the index gets all that is due. What that was, and whether the index knows it
    /// now; otherwise it is caught up before the next event.
    ///
    /// # Errors
    /// Only when the process is made to end, by a test.
    pub fn bring_in(&mut self) -> Result<(Vec<Placed>, bool)> {
        let events = std::mem::take(&mut self.due);
        if events.is_empty() {
            return Ok((events, true));
        }
        if matches!(self.health, Health::Sound) {
            self.health = Health::Behind;
        }
        let indexed = self.index_events(&events)?;
        if indexed && events.iter().any(|placed| placed.event.kind == EventType::PayloadRedacted) {
            self.carry_out_redactions()?;
        }
        Ok((events, indexed))
    }

    /// Brings the index up to date. The lines are durable, so an index that cannot be written
    /// takes nothing back; it only has to be caught up before the next event.
    fn index_events(&mut self, events: &[Placed]) -> Result<bool> {
        let Self { log, index, view, faults, .. } = self;
        let done = step(faults.as_mut(), Step::Index, "writing the index", || apply(log, index, view, events));
        match done {
            Ok(()) => {
                if matches!(self.health, Health::Behind) {
                    self.health = Health::Sound;
                }
                Ok(true)
            }
            Err(killed @ Error::Killed(_)) => Err(killed),
            Err(error) => {
                tracing::error!(%error, "the index is behind the log");
                Ok(false)
            }
        }
    }

    /// Takes out what was ordered to be taken out. The order is durable: what goes wrong here is tried again at the
    /// next start, and recorded.
    fn carry_out_redactions(&mut self) -> Result<()> {
        let Self { log, index, view, faults, .. } = self;
        match redact::carry_out(log, index, view, faults.as_mut()) {
            Ok(_) => Ok(()),
            Err(killed @ Error::Killed(_)) => Err(killed),
            Err(error) => {
                tracing::error!(%error, "a payload is still there");
                self.note("redaction_waits", format!("a payload could not be taken out yet: {error}"));
                Ok(())
            }
        }
    }

    /// The chronicle is not what it was when policyd signed its head: nothing more is recorded on it.
    pub fn distrust(&mut self, why: String) {
        tracing::error!(%why, "the chronicle was altered; nothing is recorded");
        self.health = Health::Altered(why);
    }

    /// Why nothing is recorded, if that is so.
    #[must_use]
    pub fn altered(&self) -> Option<&str> {
        match &self.health {
            Health::Altered(why) => Some(why),
            Health::Sound | Health::Behind => None,
        }
    }

    /// Asks whether the process is made to end before its answers leave. Tests only.
    ///
    /// # Errors
    /// [`Error::Killed`].
    pub fn acknowledge(&mut self) -> Result<()> {
        step(self.faults.as_mut(), Step::Acknowledge, "answering", || Ok(()))
    }

    /// The last durable event.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.head
    }

    /// The number of the last line that was in the files when they were opened.
    #[must_use]
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// How many torn ends were set aside at start.
    #[must_use]
    pub const fn torn(&self) -> u32 {
        self.torn
    }

    /// What time it is.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// The index, to look things up.
    #[must_use]
    pub const fn index(&self) -> &Index {
        &self.index
    }

    /// The log, to read lines.
    #[must_use]
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// Lends out the faults that tests inject, for the projections that stand beside the chronicle.
    pub fn take_faults(&mut self) -> Box<dyn Faults> {
        std::mem::replace(&mut self.faults, Box::new(NoFaults))
    }

    /// Takes them back.
    pub fn give_faults(&mut self, faults: Box<dyn Faults>) {
        self.faults = faults;
    }

    /// Reads the event that the index knows at that row, or is about to.
    ///
    /// # Errors
    /// When the log does not hold it there.
    pub fn read(&self, row: &IndexRow) -> Result<Event> {
        let due = self.due.iter().find(|due| due.event.seq == row.seq).map(|due| due.event.clone());
        let event = due.map_or_else(|| self.log.read(row.place), Ok)?;
        let altered = || Error::Altered(format!("event {} is another one", row.seq));
        if event.hash == row.hash { Ok(event) } else { Err(altered()) }
    }
}

/// Opens the index; one that is damaged is moved aside and begun anew.
fn open_index(dir: &Path) -> Result<(Index, Vec<(&'static str, String)>)> {
    let path = dir.join("index.sqlite");
    match Index::open(&path) {
        Ok(index) => Ok((index, Vec::new())),
        Err(error) if is_damage(&error) => {
            let aside = crate::damaged_db::move_database(&path)?;
            Ok((Index::open(&path)?, vec![("index_damaged", format!("{error}; moved to {aside}"))]))
        }
        // A projection of an earlier version is made again; one of a later version is kept.
        Err(Error::Version { found, known, .. }) if found < known => {
            let aside = crate::damaged_db::move_database(&path)?;
            Ok((Index::open(&path)?, vec![("index_older", format!("it had version {found}; moved to {aside}"))]))
        }
        Err(error) => Err(error),
    }
}

/// Whether a database is damaged, as against locked, missing or full.
#[must_use]
pub fn is_damage(error: &Error) -> bool {
    use rusqlite::ErrorCode;
    matches!(error, Error::Sqlite { source, .. } if matches!(
        source.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)))
}
