//! The table of schedules, `.runtime/schedules.sqlite`: a projection of the chronicle's `schedule_event` lines. It can be
//! derived again from them, and holds no word that was taken out of them.

use std::path::Path;

use jiff::civil::DateTime;
use metnos_proto::doc::schedule::{FiringState, FiringView, ScheduleState};
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{MAX_FIRINGS, ScheduleKind};
use metnos_schedule::Cadence;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::row::{Begun, ScheduleRow, retry_after_ms};
use crate::at_rest::Keys;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::open_projection;
use crate::chronicle::payload::{PayloadRedacted, ScheduleEvent};
use crate::error::{During, Error, Result};

/// The version of the tables below.
pub const VERSION: i64 = 7;

const TABLES: &str = "
    CREATE TABLE schedules (
        number    INTEGER PRIMARY KEY,
        made_seq  INTEGER NOT NULL UNIQUE,
        made_ms   INTEGER NOT NULL,
        turn      BLOB CHECK (turn IS NULL OR length(turn) = 16),
        principal TEXT NOT NULL,
        addressee TEXT NOT NULL,
        sender    TEXT NOT NULL,
        kind      TEXT NOT NULL CHECK (kind IN ('reminder', 'message', 'ask', 'do')),
        what      BLOB NOT NULL,
        words     BLOB NOT NULL,
        assumed   TEXT NOT NULL,
        lang      TEXT NOT NULL,
        cadence   TEXT NOT NULL,
        state     TEXT NOT NULL CHECK (state IN ('active', 'paused', 'completed', 'cancelled')),
        after     TEXT NOT NULL,
        begun     TEXT,
        begun_by  TEXT NOT NULL DEFAULT '',
        missed    INTEGER NOT NULL DEFAULT 0,
        failures  INTEGER NOT NULL DEFAULT 0,
        retry_ms  INTEGER NOT NULL DEFAULT 0,
        look_ms   INTEGER,
        moved_ms  INTEGER NOT NULL DEFAULT 0,
        frozen    BLOB NOT NULL,
        opened    TEXT NOT NULL DEFAULT '',
        urgent    INTEGER NOT NULL CHECK (urgent IN (0, 1))
    ) STRICT;
    CREATE INDEX schedules_live ON schedules (principal) WHERE state IN ('active', 'paused');
    CREATE INDEX schedules_turn ON schedules (turn) WHERE turn IS NOT NULL;
    CREATE INDEX schedules_others ON schedules (number) WHERE sender <> '' AND state = 'active';
    CREATE INDEX schedules_to ON schedules (addressee) WHERE state = 'active';
    CREATE INDEX schedules_due ON schedules (look_ms, number) WHERE look_ms IS NOT NULL;
    CREATE INDEX schedules_begun ON schedules (number) WHERE begun IS NOT NULL;
    CREATE TABLE firings (
        number   INTEGER NOT NULL,
        key      TEXT NOT NULL,
        begun_ms INTEGER NOT NULL,
        ended_ms INTEGER NOT NULL DEFAULT 0,
        state    TEXT NOT NULL,
        missed   INTEGER NOT NULL,
        PRIMARY KEY (number, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), applied INTEGER NOT NULL, zone TEXT NOT NULL) STRICT;
    INSERT INTO progress VALUES (1, 0, '');";

const COLUMNS: &str = "number, made_seq, made_ms, turn, principal, addressee, opened(principal, what), opened(principal, words), assumed, lang, cadence, \
    state, after, begun, begun_by, missed, failures, retry_ms, sender, kind, moved_ms, opened(principal, frozen), opened, \
    urgent";

/// What an event says of a schedule: the names that the chronicle has for it.
pub mod act {
    /// It was made.
    pub const MADE: &str = "made";
    /// It does not fire until it is resumed.
    pub const PAUSED: &str = "paused";
    /// It fires again.
    pub const RESUMED: &str = "resumed";
    /// It never fires again.
    pub const CANCELLED: &str = "cancelled";
    /// It fires at another time.
    pub const MOVED: &str = "moved";
    /// A firing was begun that may change something: it is not begun a second time.
    pub const OPENED: &str = "opened";
    /// A firing was begun.
    pub const BEGUN: &str = "begun";
    /// The person was reached.
    pub const DELIVERED: &str = "delivered";
    /// There was nothing to report, and nothing was sent.
    pub const SILENT: &str = "silent";
    /// Nobody knows whether the person was reached.
    pub const UNSURE: &str = "unsure";
    /// The person is not known any more.
    pub const REFUSED: &str = "refused";
}

/// The database.
#[derive(Debug)]
pub struct ScheduleStore {
    db: Connection,
    applied: u64,
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

/// A text that is not what the table's own writer puts there.
fn odd(column: usize, text: &str) -> rusqlite::Error {
    let what = format!("`{text}` is not what this column holds");
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, what.into())
}

fn read(row: &Row<'_>) -> rusqlite::Result<ScheduleRow> {
    let text = |column: usize| row.get::<_, String>(column);
    let json =
        |column: usize| text(column).and_then(|text| serde_json::from_str(&text).map_err(|_| odd(column, &text)));
    let frozen = text(21)?;
    let frozen: Vec<String> =
        if frozen.is_empty() { Vec::new() } else { serde_json::from_str(&frozen).map_err(|_| odd(21, &frozen))? };
    let frozen = frozen.iter().map(|digest| Blake3::parse(digest).ok_or_else(|| odd(21, digest)));
    let cadence: Cadence = text(10).and_then(|text| serde_json::from_str(&text).map_err(|_| odd(10, &text)))?;
    let state = text(11)?;
    let after = text(12)?;
    let kind = text(19)?;
    let begun: Option<String> = row.get(13)?;
    let turn: Option<[u8; 16]> = row.get(3)?;
    let (by, missed, retry_ms) = (text(14)?, row.get(15)?, number(row, 17)?);
    Ok(ScheduleRow {
        number: number(row, 0)?,
        made_seq: number(row, 1)?,
        made_ms: number(row, 2)?,
        turn: turn.map(TurnId::from_bytes),
        principal: text(4)?,
        to: text(5)?,
        what: text(6)?,
        when: text(7)?,
        assumed: json(8)?,
        lang: if text(9)? == "it" { Lang::It } else { Lang::En },
        cadence,
        state: ScheduleState::named(&state).ok_or_else(|| odd(11, &state))?,
        after: after.parse::<DateTime>().map_err(|_| odd(12, &after))?,
        begun: begun.map(|key| Begun { key, by, missed, retry_ms }),
        failures: row.get(16)?,
        from: text(18)?,
        kind: ScheduleKind::named(&kind).ok_or_else(|| odd(19, &kind))?,
        moved_ms: number(row, 20)?,
        frozen: frozen.collect::<rusqlite::Result<_>>()?,
        opened: text(22)?,
        urgent: row.get(23)?,
    })
}

impl ScheduleStore {
    /// Opens the database, empty when there was none, whose words lie encrypted under these keys.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path, keys: &Keys) -> Result<Self> {
        let what = "opening the schedules";
        let db = open_projection(path).during(what)?;
        keys.serve(&db).during(what)?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during(what)?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the schedules")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "schedules.sqlite", found, known: VERSION }),
        }
        // What is taken out leaves nothing behind in free pages.
        db.execute_batch("PRAGMA secure_delete = ON").during(what)?;
        let applied = db.query_row("SELECT applied FROM progress", [], |row| number(row, 0)).during(what)?;
        Ok(Self { db, applied })
    }

    /// The last event that was applied, or that is known not to concern it.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether an event of this type concerns the table.
    #[must_use]
    pub fn concerns(kind: EventType) -> bool {
        matches!(kind, EventType::ScheduleEvent | EventType::PayloadRedacted)
    }

    /// Applies events in their order, up to `upto`, and gives the numbers of the schedules that they are about. What was applied
    /// before changes nothing.
    ///
    /// # Errors
    /// What went wrong; then none of them is applied.
    pub fn apply<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>, upto: u64) -> Result<Vec<u64>> {
        let what = "writing the schedules";
        let (applied, mut touched) = (self.applied, Vec::new());
        let mut events =
            events.into_iter().filter(|event| event.seq > applied && Self::concerns(event.kind)).peekable();
        if events.peek().is_none() {
            self.applied = applied.max(upto);
            return Ok(touched);
        }
        let transaction = self.db.unchecked_transaction().during(what)?;
        for event in events {
            touched.extend(enter(&transaction, event).during(what)?);
        }
        transaction.execute("UPDATE progress SET applied = ?1", [signed(upto)]).during(what)?;
        transaction.commit().during(what)?;
        self.applied = applied.max(upto);
        Ok(touched)
    }

    fn all(&self, condition: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<ScheduleRow>> {
        let sql = format!("SELECT {COLUMNS} FROM schedules WHERE {condition}");
        self.db
            .prepare_cached(&sql)
            .and_then(|mut all| all.query_map(values, read)?.collect())
            .during("reading the schedules")
    }

    /// The schedule of this number.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn get(&self, wanted: u64) -> Result<Option<ScheduleRow>> {
        Ok(self.all("number = ?1", &[&signed(wanted)])?.pop())
    }

    /// Those that may still fire, of a principal or of everybody, in the order in which they were made; with `ended`, at most as
    /// many others, the last ones.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn of(&self, principal: &str, ended: bool, most: usize) -> Result<Vec<ScheduleRow>> {
        let live = if ended { "TRUE" } else { "state IN ('active', 'paused')" };
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut found = if principal.is_empty() {
            self.all(&format!("{live} ORDER BY number DESC LIMIT ?1"), &[&most])?
        } else {
            self.all(&format!("{live} AND principal = ?1 ORDER BY number DESC LIMIT ?2"), &[&principal, &most])?
        };
        found.reverse();
        Ok(found)
    }

    /// Those that remind this person, active ones.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn reminding(&self, to: &str) -> Result<Vec<ScheduleRow>> {
        self.all("addressee = ?1 AND state = 'active' ORDER BY number", &[&to])
    }

    /// Active ones that one person has made for another.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn from_others(&self) -> Result<Vec<ScheduleRow>> {
        self.all("sender <> '' AND state = 'active' ORDER BY number", &[])
    }

    /// Those that have begun a firing whose end is not known.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn begun(&self) -> Result<Vec<ScheduleRow>> {
        self.all("begun IS NOT NULL ORDER BY number", &[])
    }

    /// The text of the zone by whose clock it was reckoned when each must be looked at; empty when that was never done.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn zone(&self) -> Result<String> {
        self.db.query_row("SELECT zone FROM progress", [], |row| row.get(0)).during("reading the schedules")
    }

    /// Reckons anew when each must be looked at, by the clock of the zone of this text.
    ///
    /// # Errors
    /// What went wrong; then nothing has changed.
    pub fn reckon(&self, zone: &str, look: impl Fn(&ScheduleRow) -> Option<u64>) -> Result<()> {
        let what = "reckoning when schedules are due";
        let transaction = self.db.unchecked_transaction().during(what)?;
        let all = self.all("state = 'active'", &[])?;
        for row in &all {
            set_look(&transaction, row.number, look(row)).during(what)?;
        }
        transaction.execute("UPDATE progress SET zone = ?1", [zone]).during(what)?;
        transaction.commit().during(what)
    }

    /// Notes when a schedule must be looked at, in milliseconds since the epoch.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn look_at(&self, number: u64, at_ms: Option<u64>) -> Result<()> {
        set_look(&self.db, number, at_ms).during("writing the schedules")
    }

    /// The one that must be looked at first among those whose persons can be sent a message, and when: no others are to be looked at.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn first(&self) -> Result<Option<(u64, u64)>> {
        let sql = "SELECT look_ms, number FROM schedules WHERE look_ms IS NOT NULL ORDER BY look_ms, number LIMIT 1";
        let read = |row: &Row<'_>| Ok((number(row, 0)?, number(row, 1)?));
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| one.query_row([], read).optional())
            .during("reading the schedules")
    }

    /// What this turn has made of just this for this person.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn made_in(&self, turn: TurnId, to: &str, what: &str, words: &str) -> Result<Option<ScheduleRow>> {
        let of = "turn = ?1 AND addressee = ?2 AND opened(principal, what) = ?3 AND opened(principal, words) = ?4";
        let found = self.all(of, &[&turn.to_bytes(), &to, &what, &words])?;
        Ok(found.into_iter().next())
    }

    /// The reminder of its own that a person who is reached at one of these was given last, since this moment. What others had
    /// said is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn given_last(&self, to: &[&str], since_ms: u64) -> Result<Option<ScheduleRow>> {
        let sql = "SELECT ended_ms, number FROM firings JOIN schedules USING (number)
                   WHERE addressee = ?1 AND firings.state = 'delivered' AND ended_ms >= ?2 AND sender = '' AND kind = 'reminder' AND length(what) > 0
                   ORDER BY ended_ms DESC LIMIT 1";
        let mut last = None;
        for one in to {
            let read = |row: &Row<'_>| Ok((number(row, 0)?, number(row, 1)?));
            let found = self
                .db
                .prepare_cached(sql)
                .and_then(|mut all| all.query_row(params![one, signed(since_ms)], read).optional());
            last = last.max(found.during("reading the firings")?);
        }
        last.map(|(_, number)| self.get(number)).transpose().map(Option::flatten)
    }

    /// How many may still fire, of this principal and of everybody.
    ///
    /// # Errors
    /// When they cannot be counted.
    pub fn counts(&self, principal: &str) -> Result<(usize, usize)> {
        let sql =
            "SELECT coalesce(sum(principal = ?1), 0), count(*) FROM schedules WHERE state IN ('active', 'paused')";
        let read = |row: &Row<'_>| Ok((number(row, 0)?, number(row, 1)?));
        let counted = self.db.prepare_cached(sql).and_then(|mut one| one.query_row([principal], read));
        let (own, all) = counted.during("counting the schedules")?;
        Ok((usize::try_from(own).unwrap_or(usize::MAX), usize::try_from(all).unwrap_or(usize::MAX)))
    }

    /// The number that the next schedule gets.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn next_number(&self) -> Result<u64> {
        let last = "SELECT max(number) FROM schedules";
        let last: Option<Option<i64>> =
            self.db.query_row(last, [], |row| row.get(0)).optional().during("reading the schedules")?;
        Ok(last.flatten().and_then(|last| u64::try_from(last).ok()).unwrap_or(0).saturating_add(1))
    }

    /// The reminders that were delivered at `to` from `from_ms` on and before `upto_ms`: due time and text, the newest first, at most
    /// `most`.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn given_between(&self, to: &str, (from_ms, upto_ms): (u64, u64), most: u32) -> Result<Vec<(String, String)>> {
        let sql = "SELECT key, opened(principal, what) FROM firings JOIN schedules USING (number)
                   WHERE addressee = ?1 AND firings.state = 'delivered' AND ended_ms >= ?2 AND ended_ms < ?3 AND kind = 'reminder'
                   AND length(what) > 0 ORDER BY ended_ms DESC LIMIT ?4";
        let values = params![to, signed(from_ms), signed(upto_ms), most];
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .during("reading the firings")
    }

    /// Whether something was planned in this turn.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn has_made(&self, turn: TurnId) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM schedules WHERE turn = ?1)";
        self.db
            .prepare_cached(sql)
            .and_then(|mut one| one.query_row([turn.to_bytes()], |row| row.get(0)))
            .during("reading the schedules")
    }

    /// The last firings of a schedule, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn firings(&self, of: u64) -> Result<Vec<FiringView>> {
        let sql = "SELECT key, begun_ms, ended_ms, state, missed FROM firings WHERE number = ?1
                   ORDER BY begun_ms DESC, key DESC LIMIT ?2";
        let read = |row: &Row<'_>| {
            let state: String = row.get(3)?;
            Ok(FiringView {
                due: row.get(0)?,
                begun_ms: number(row, 1)?,
                ended_ms: number(row, 2)?,
                state: FiringState::named(&state).ok_or_else(|| odd(3, &state))?,
                missed: row.get(4)?,
            })
        };
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(params![signed(of), MAX_FIRINGS], read)?.collect())
            .during("reading the firings")
    }
}

/// Applies one event; the number of the schedule that it is about.
fn enter(db: &Connection, event: &Event) -> rusqlite::Result<Option<u64>> {
    if event.kind == EventType::PayloadRedacted {
        return match PayloadRedacted::decode(&event.payload) {
            Ok(taken) => take_out(db, taken.seq),
            Err(_) => Ok(None),
        };
    }
    // One whose payload was taken out says nothing any more.
    let Ok(said) = ScheduleEvent::decode(&event.payload) else { return Ok(None) };
    let it = signed(said.number);
    let now = signed(event.ts_ms);
    match said.act.as_str() {
        act::MADE => made(db, event, &said)?,
        act::PAUSED => {
            let sql = "UPDATE schedules SET state = 'paused' WHERE number = ?1 AND state = 'active'";
            db.prepare_cached(sql)?.execute([it])?;
        }
        act::RESUMED => {
            // What was due meanwhile is not made up for.
            let sql =
                "UPDATE schedules SET state = 'active', after = max(after, ?2) WHERE number = ?1 AND state = 'paused'";
            db.prepare_cached(sql)?.execute(params![it, said.key])?;
        }
        act::CANCELLED => cancel(db, it)?,
        act::MOVED => {
            let sql = "UPDATE schedules SET words = sealed(principal, ?2), assumed = ?3, cadence = ?4, after = ?5, begun = NULL, begun_by = '', failures = 0,
                       retry_ms = 0, moved_ms = ?6, state = 'active' WHERE number = ?1 AND state IN ('active', 'paused')";
            let assumed = serde_json::to_string(&said.assumed).unwrap_or_default();
            db.prepare_cached(sql)?.execute(params![
                it,
                said.when,
                assumed,
                said.cadence.to_string(),
                said.key,
                now
            ])?;
        }
        act::BEGUN => {
            let sql = "UPDATE schedules SET begun = ?2, begun_by = ?3, missed = ?4, retry_ms = 0, after = max(after, ?2) WHERE number = ?1";
            db.prepare_cached(sql)?.execute(params![it, said.key, event.session.to_string(), said.missed])?;
            let sql = "INSERT INTO firings VALUES (?1, ?2, ?3, 0, 'begun', ?4)
                       ON CONFLICT (number, key) DO UPDATE SET state = 'begun'";
            db.prepare_cached(sql)?.execute(params![it, said.key, now, said.missed])?;
        }
        act::OPENED => {
            db.prepare_cached("UPDATE schedules SET opened = ?2 WHERE number = ?1")?.execute(params![it, said.key])?;
        }
        how @ (act::DELIVERED | act::SILENT) => {
            let state = if how == act::SILENT { FiringState::Silent } else { FiringState::Delivered };
            ended(db, (it, &said.key), now, state)?;
            let sql = "UPDATE schedules SET begun = NULL, begun_by = '', failures = 0 WHERE number = ?1 AND begun = ?2";
            db.prepare_cached(sql)?.execute(params![it, said.key])?;
            if is_over(db, it)? {
                let sql =
                    "UPDATE schedules SET state = 'completed' WHERE number = ?1 AND state IN ('active', 'paused')";
                db.prepare_cached(sql)?.execute([it])?;
            }
        }
        act::UNSURE => {
            ended(db, (it, &said.key), now, FiringState::Unsure)?;
            let failures: Option<u32> = db
                .prepare_cached("SELECT failures FROM schedules WHERE number = ?1")?
                .query_row([it], |row| row.get(0))
                .optional()?;
            let failures = failures.unwrap_or(0).saturating_add(1);
            let retry = signed(event.ts_ms.saturating_add(retry_after_ms(failures)));
            let sql =
                "UPDATE schedules SET begun_by = '', failures = ?3, retry_ms = ?4 WHERE number = ?1 AND begun = ?2";
            db.prepare_cached(sql)?.execute(params![it, said.key, failures, retry])?;
        }
        act::REFUSED => {
            ended(db, (it, &said.key), now, FiringState::Refused)?;
            cancel(db, it)?;
        }
        _ => return Ok(None),
    }
    Ok(Some(said.number))
}

fn set_look(db: &Connection, of: u64, at_ms: Option<u64>) -> rusqlite::Result<()> {
    let sql = "UPDATE schedules SET look_ms = ?2 WHERE number = ?1";
    db.prepare_cached(sql)?.execute(params![signed(of), at_ms.map(signed)]).map(|_| ())
}

fn made(db: &Connection, event: &Event, said: &ScheduleEvent) -> rusqlite::Result<()> {
    let sql = "INSERT OR IGNORE INTO schedules (number, made_seq, made_ms, turn, principal, addressee, what, words, assumed, lang,
               cadence, state, after, sender, kind, frozen, urgent)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, sealed(?5, ?7), sealed(?5, ?8), ?9, ?10, ?11, 'active', ?12, ?13, ?14, sealed(?5, ?15), ?16)";
    db.prepare_cached(sql)?.execute(params![
        signed(said.number),
        signed(event.seq),
        signed(event.ts_ms),
        event.turn_id.map(TurnId::to_bytes),
        event.peer,
        said.to,
        said.what,
        said.when,
        serde_json::to_string(&said.assumed).unwrap_or_default(),
        said.lang,
        said.cadence.to_string(),
        said.key,
        said.from,
        said.kind().name(),
        if said.frozen.is_empty() { String::new() } else { serde_json::to_string(&said.frozen).unwrap_or_default() },
        said.urgent,
    ])?;
    Ok(())
}

/// Whether a schedule is never due again.
fn is_over(db: &Connection, it: i64) -> rusqlite::Result<bool> {
    let sql = format!("SELECT {COLUMNS} FROM schedules WHERE number = ?1");
    let row = db.prepare_cached(&sql)?.query_row([it], read).optional()?;
    Ok(row.is_some_and(|row| row.cadence.next_after(row.after).is_none()))
}

fn cancel(db: &Connection, it: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE schedules SET state = 'cancelled', begun = NULL, begun_by = '' WHERE number = ?1 AND state <> 'completed'";
    db.prepare_cached(sql)?.execute([it]).map(|_| ())
}

fn ended(db: &Connection, (it, key): (i64, &str), now: i64, state: FiringState) -> rusqlite::Result<()> {
    let sql = "UPDATE firings SET ended_ms = ?3, state = ?4 WHERE number = ?1 AND key = ?2";
    db.prepare_cached(sql)?.execute(params![it, key, now, state.name()]).map(|_| ())
}

/// The words of a schedule were taken out of the chronicle: it is forgotten here as well.
fn take_out(db: &Connection, seq: u64) -> rusqlite::Result<Option<u64>> {
    let of = "SELECT number FROM schedules WHERE made_seq = ?1";
    let found = db.prepare_cached(of)?.query_row([signed(seq)], |row| number(row, 0)).optional()?;
    if let Some(found) = found {
        db.execute(
            "UPDATE schedules SET what = x'', words = x'', state = 'cancelled', begun = NULL WHERE number = ?1",
            [signed(found)],
        )?;
    }
    Ok(found)
}
