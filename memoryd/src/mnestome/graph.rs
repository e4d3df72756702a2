//! The mnestome's database: rows, constraints, and how they follow from events. Nothing else writes to it.
//!
//! `.mnestome/mnest.sqlite`. Each event is applied once: the number of the last one stands in
//! the same transaction, so that deriving a turn twice changes nothing.

use std::path::Path;

use metnos_proto::doc::mnestome::DesiredSignature;
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::ExecutorId;
use rusqlite::{Connection, OptionalExtension, Row, params};
use sha2::Digest;

use super::clock::UseClock;
use super::derive::{Fed, Record, fed, last_success, undone};
use super::fitness::Word;
use super::weight::{AGER_EVERY, FUSION_USES, LAMBDA, REWARD, UseTime, decayed, due, lw, reinforced};
use super::wish::{same, wished, with_example};
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::open_projection;
use crate::chronicle::payload::TurnClose;
use crate::chronicle::time::Day;
use crate::error::{During, Error, Result};
use crate::faults::{Faults, Step, step};

/// The version of the tables below.
pub const VERSION: i64 = 6;
/// The most wishes that are kept: for one more the lightest leaves.
pub const MAX_WISHES: u32 = 256;
/// After so many applied events the clock's state is stored even if no turn was closed.
pub const STORE_EVERY: u64 = 256;

const TABLES: &str = include_str!("graph.sql");

pub use metnos_proto::doc::mnestome::Mnest;

/// A wish and how often it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// What is wished for.
    pub text: String,
    /// How often.
    pub times: u64,
}

/// The events of a turn, for the derivation: where they come from is not the graph's concern.
pub trait Turns {
    /// The records of the turn that `close` closes, before it, in order; `None` when the turn
    /// was closed before.
    ///
    /// # Errors
    /// When the chronicle cannot be read.
    fn records(&self, close: &Event) -> Result<Option<Vec<Record>>>;

    /// The records of a turn that line `close` has closed, in order, to be looked at again.
    ///
    /// # Errors
    /// When the chronicle cannot be read.
    fn records_again(&self, turn: TurnId, close: u64) -> Result<Vec<Record>> {
        // Turns that are only rehearsed are never judged later.
        let _ = (turn, close);
        Ok(Vec::new())
    }

    /// Applies all that concerns a mnestome, up to event `upto`, to one that is empty.
    ///
    /// # Errors
    /// When the chronicle cannot be read.
    fn replay(&self, upto: u64, onto: &mut Mnestome) -> Result<()> {
        // Turns that are only rehearsed know no owner, and so no return to an earlier state.
        let _ = (upto, onto);
        Ok(())
    }
}

/// The types of event that change a mnestome.
pub const CONCERNS: [EventType; 5] =
    [EventType::RunStarted, EventType::TurnClose, EventType::Evolution, EventType::Checkpoint, EventType::SystemEvent];

/// The database and the clock of use.
#[derive(Debug)]
pub struct Mnestome {
    pub(super) db: Connection,
    pub(super) clock: UseClock,
    applied: u64,
    stored: u64,
    pub(super) calls_per_use_day: u32,
    /// Calls since the instance was born.
    pub(super) calls: u64,
    pub(super) frozen: bool,
    /// The ager has proposed something of which syntd was not notified yet.
    pub(super) proposed: std::cell::Cell<bool>,
}

pub(super) fn number(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) const COLUMNS: &str =
    "id, src_executor, src_version, dst_executor, dst_version, weight, uses, ts_first, ts_last,
    decay_lambda, tags, state, desired_signature, why, last_event_seq, used_at, t_cross";

pub(super) fn read_mnest(row: &Row<'_>, now: UseTime) -> rusqlite::Result<Mnest> {
    let (weight, lambda): (f64, f64) = (row.get(5)?, row.get(9)?);
    let state: String = row.get(11)?;
    let crossed = row.get::<_, Option<i64>>(16)?.is_some_and(|cross| cross <= signed(now));
    Ok(Mnest {
        id: row.get(0)?,
        src_executor: row.get(1)?,
        src_version: row.get(2)?,
        dst_executor: row.get(3)?,
        dst_version: row.get(4)?,
        weight: decayed(weight, lambda, number(row, 15)?, now),
        uses: number(row, 6)?,
        ts_first: number(row, 7)?,
        ts_last: number(row, 8)?,
        decay_lambda: lambda,
        tags: serde_json::from_str(&row.get::<_, String>(10)?).unwrap_or_default(),
        // The crossing is a query, not a sweep: what has passed it reads as decaying at once.
        state: if state == "active" && crossed { "decaying".to_owned() } else { state },
        desired_signature: row.get::<_, Option<String>>(12)?.and_then(|text| serde_json::from_str(&text).ok()),
        why: row.get(13)?,
        last_event_seq: number(row, 14)?,
    })
}

/// One update of one row.
struct Change<'a> {
    src: &'a ExecutorId,
    dst_name: &'a str,
    dst_version: Option<&'a str>,
    ts_ms: u64,
    seq: u64,
    desired_signature: Option<String>,
    why: Option<&'static str>,
}

impl Mnestome {
    /// Opens the database, empty when there was none.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path, calls_per_use_day: u32) -> Result<Self> {
        let what = "opening the mnestome";
        Self::on(open_projection(path).during(what)?, calls_per_use_day)
    }

    /// A mnestome in memory: what one would be, derived from a part of the chronicle.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory(calls_per_use_day: u32) -> Result<Self> {
        Self::on(Connection::open_in_memory().during("opening the mnestome")?, calls_per_use_day)
    }

    fn on(db: Connection, calls_per_use_day: u32) -> Result<Self> {
        let what = "opening the mnestome";
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during(what)?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the mnestome")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "mnest.sqlite", found, known: VERSION }),
        }
        let (clock, calls, frozen) = (UseClock::START, 0, false);
        let proposed = std::cell::Cell::default();
        let mut mnestome = Self { db, clock, applied: 0, stored: 0, calls_per_use_day, calls, frozen, proposed };
        mnestome.reload()?;
        Ok(mnestome)
    }

    /// Goes back to what is stored.
    fn reload(&mut self) -> Result<()> {
        let (applied, clock, calls, frozen) = self
            .db
            .query_row("SELECT applied_seq, use_time, day, today, calls, frozen FROM progress", [], |row| {
                let clock = UseClock { now: number(row, 1)?, day: Day(row.get(2)?), today: number(row, 3)? };
                Ok((number(row, 0)?, clock, number(row, 4)?, row.get(5)?))
            })
            .during("reading the mnestome")?;
        (self.applied, self.stored, self.clock) = (applied, applied, clock);
        (self.calls, self.frozen) = (calls, frozen);
        Ok(())
    }

    /// The last event that was applied.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether nothing ages until the owner says so.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// The clock of use.
    #[must_use]
    pub const fn now(&self) -> UseTime {
        self.clock.now
    }

    /// Applies events in their order; those that were applied before change nothing.
    ///
    /// # Errors
    /// What went wrong; then none of them is applied.
    pub fn apply<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event>,
        turns: &dyn Turns,
        faults: &mut dyn Faults,
    ) -> Result<()> {
        let mut writing = false;
        let applied = self.apply_inside(events, turns, &mut writing).and_then(|()| {
            if !writing && self.applied - self.stored < STORE_EVERY {
                return Ok(());
            }
            self.begin(&mut writing)?;
            self.store()?;
            let db = &self.db;
            step(faults, Step::Mnestome, "writing the mnestome", || {
                db.execute_batch("COMMIT").during("writing the mnestome")
            })?;
            self.stored = self.applied;
            Ok(())
        });
        if applied.is_err() {
            if !self.db.is_autocommit() {
                self.db.execute_batch("ROLLBACK").during("writing the mnestome")?;
            }
            self.reload()?;
        }
        applied
    }

    /// Forgets every mnest and how far it has come, to be derived anew.
    ///
    /// # Errors
    /// When the database says no.
    pub fn forget_everything(&mut self) -> Result<()> {
        self.db
            .execute_batch(
                "BEGIN IMMEDIATE; DELETE FROM mnests; DELETE FROM proposals; DELETE FROM snapshots; DELETE FROM touched;
                 DELETE FROM first_ones; DELETE FROM fitness; DELETE FROM judged_turns;
                 UPDATE progress SET applied_seq = 0, use_time = 0, day = 0, today = 0, calls = 0, frozen = 0; COMMIT;",
            )
            .during("writing the mnestome")?;
        self.reload()
    }

    /// Everything up to event `seq` is applied, since nothing after the last one concerns the mnestome.
    pub const fn reached(&mut self, seq: u64) {
        if seq > self.applied {
            self.applied = seq;
        }
    }

    /// Stores how far it has come.
    ///
    /// # Errors
    /// When the database says no.
    pub fn settle(&mut self) -> Result<()> {
        if self.applied > self.stored {
            self.store()?;
            self.stored = self.applied;
        }
        Ok(())
    }

    fn begin(&self, writing: &mut bool) -> Result<()> {
        if !*writing {
            self.db.execute_batch("BEGIN IMMEDIATE").during("writing the mnestome")?;
            *writing = true;
        }
        Ok(())
    }

    fn store(&self) -> Result<()> {
        self.db
            .prepare_cached(
                "UPDATE progress SET applied_seq = ?1, use_time = ?2, day = ?3, today = ?4, calls = ?5, frozen = ?6",
            )
            .and_then(|mut set| {
                set.execute(params![
                    signed(self.applied),
                    signed(self.clock.now),
                    self.clock.day.0,
                    signed(self.clock.today),
                    signed(self.calls),
                    self.frozen,
                ])
            })
            .during("writing the mnestome")?;
        Ok(())
    }

    fn apply_inside<'a>(
        &mut self,
        events: impl IntoIterator<Item = &'a Event>,
        turns: &dyn Turns,
        writing: &mut bool,
    ) -> Result<()> {
        for event in events {
            if event.seq <= self.applied {
                continue;
            }
            if event.kind == EventType::RunStarted && !self.frozen {
                self.clock.tick(Day::of(event.ts_ms), self.calls_per_use_day);
                self.calls += 1;
                if self.calls.is_multiple_of(AGER_EVERY) {
                    self.begin(writing)?;
                    self.age(event.seq)?;
                }
            } else if event.kind == EventType::Evolution || event.kind == EventType::Checkpoint {
                self.begin(writing)?;
                self.decided(event, turns)?;
            } else if event.kind == EventType::TurnClose
                && let Some(records) = turns.records(event)?
            {
                self.begin(writing)?;
                self.close_turn(event, &records)?;
                self.judge_turn(event, &records)?;
            } else if let Some(turn) = undone(event) {
                self.begin(writing)?;
                self.apply_feedback(turn, Word::Undone, turns)?;
            }
            self.applied = event.seq;
        }
        Ok(())
    }

    fn close_turn(&self, close: &Event, records: &[Record]) -> Result<()> {
        for Fed { src, dst, ts_ms } in fed(records) {
            self.reinforce(&Change {
                src: &src,
                dst_name: &dst.name,
                dst_version: Some(&dst.version),
                ts_ms,
                seq: close.seq,
                desired_signature: None,
                why: None,
            })?;
        }
        let Ok(closed) = TurnClose::decode(&close.payload) else { return Ok(()) };
        let Some(wished) = wished(&closed) else { return Ok(()) };
        let src = last_success(records).unwrap_or(ExecutorId { name: String::new(), version: String::new() });
        let known = self.wished_before(&src, &wished.name)?;
        let (name, before) = known.unwrap_or((wished.name, DesiredSignature::default()));
        // Who wishes for the same and says nothing of it takes back nothing.
        let said: DesiredSignature = serde_json::from_str(&closed.signature).unwrap_or_else(|_| before.clone());
        let summary =
            if wished.example.is_empty() { name.clone() } else { with_example(&before.summary, &wished.example) };
        let signature = DesiredSignature { summary, ..said };
        self.reinforce(&Change {
            src: &src,
            dst_name: &name,
            dst_version: None,
            ts_ms: close.ts_ms,
            seq: close.seq,
            desired_signature: serde_json::to_string(&signature).ok(),
            why: Some("the planner found no executor for these words"),
        })?;
        self.forget_lightest_wishes()
    }

    /// The wish of this name or this description, if it was made before: its name, and what was said of it.
    fn wished_before(&self, src: &ExecutorId, name: &str) -> Result<Option<(String, DesiredSignature)>> {
        let sql = "SELECT dst_executor, desired_signature FROM mnests
                   WHERE state = 'proto' AND src_executor = ?1 AND src_version = ?2 ORDER BY id LIMIT ?3";
        let wishes: Vec<(String, String)> = self
            .db
            .prepare_cached(sql)
            .and_then(|mut all| {
                let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
                all.query_map(params![src.name, src.version, MAX_WISHES], read)?.collect()
            })
            .during("reading the mnestome")?;
        let found = wishes.into_iter().find(|(other, _)| same(other, name));
        Ok(found.map(|(name, signature)| (name, serde_json::from_str(&signature).unwrap_or_default())))
    }

    /// So many wishes are kept, the heaviest.
    fn forget_lightest_wishes(&self) -> Result<()> {
        self.db
            .prepare_cached(
                "DELETE FROM mnests WHERE id IN
                 (SELECT id FROM mnests WHERE state = 'proto' ORDER BY lw DESC, id DESC LIMIT -1 OFFSET ?1)",
            )
            .and_then(|mut gone| gone.execute([MAX_WISHES]))
            .during("writing the mnestome")?;
        Ok(())
    }

    /// Strengthens a mnest, or makes it.
    fn reinforce(&self, change: &Change<'_>) -> Result<()> {
        let what = "writing the mnestome";
        let now = self.clock.now;
        let known = self
            .db
            .prepare_cached(
                "SELECT id, weight, decay_lambda, used_at, uses FROM mnests WHERE src_executor = ?1 AND src_version = ?2
                 AND dst_executor = ?3 AND coalesce(dst_version, '') = ?4",
            )
            .and_then(|mut one| {
                let key =
                    params![change.src.name, change.src.version, change.dst_name, change.dst_version.unwrap_or("")];
                one.query_row(key, |row| {
                    let (weight, lambda): (f64, f64) = (row.get(1)?, row.get(2)?);
                    Ok((row.get::<_, String>(0)?, weight, lambda, number(row, 3)?, number(row, 4)?))
                })
                .optional()
            })
            .during(what)?;
        if let Some((id, weight, lambda, then, uses)) = known {
            let weight = reinforced(weight, lambda, then, now, REWARD);
            let cross = due(weight, lambda, now, change.dst_version.is_none()).map(signed);
            self.db
                .prepare_cached(
                    "UPDATE mnests SET weight = ?2, uses = uses + 1, ts_last = max(ts_last, ?3), last_event_seq = ?4,
                     used_at = ?5, lw = ?6, t_cross = ?7, desired_signature = coalesce(?8, desired_signature),
                     state = CASE state WHEN 'decaying' THEN 'active' WHEN 'archived' THEN 'active' ELSE state END
                     WHERE id = ?1",
                )
                .and_then(|mut set| {
                    set.execute(params![
                        id,
                        weight,
                        signed(change.ts_ms),
                        signed(change.seq),
                        signed(now),
                        lw(weight, lambda, now),
                        cross,
                        change.desired_signature
                    ])
                })
                .during(what)?;
            return self.touch(&id, uses + 1, change.dst_version.is_none());
        }
        let weight = reinforced(0.0, LAMBDA, now, now, REWARD);
        let id = mnest_id(change);
        self.db
            .prepare_cached(
                "INSERT INTO mnests (id, src_executor, src_version, dst_executor, dst_version, weight, uses, ts_first,
                 ts_last, decay_lambda, tags, state, desired_signature, why, last_event_seq, used_at, lw, t_cross)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7, ?8, '[]', ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
            )
            .and_then(|mut add| {
                add.execute(params![
                    id,
                    change.src.name,
                    change.src.version,
                    change.dst_name,
                    change.dst_version,
                    weight,
                    signed(change.ts_ms),
                    LAMBDA,
                    if change.dst_version.is_some() { "active" } else { "proto" },
                    change.desired_signature,
                    change.why,
                    signed(change.seq),
                    signed(now),
                    lw(weight, LAMBDA, now),
                    due(weight, LAMBDA, now, change.dst_version.is_none()).map(signed),
                ])
            })
            .during(what)?;
        self.touch(&id, 1, change.dst_version.is_none())
    }

    /// Notes that the ager should look at a mnest: at a wish, and at what is used often enough to be proposed about.
    fn touch(&self, id: &str, uses: u64, proto: bool) -> Result<()> {
        if !proto && uses < FUSION_USES {
            return Ok(());
        }
        self.db
            .prepare_cached("INSERT OR IGNORE INTO touched VALUES (?1)")
            .and_then(|mut add| add.execute([id]))
            .during("writing the mnestome")?;
        Ok(())
    }
}

/// The id of a new mnest: a ULID of the event's time whose random part is a digest of the edge
/// and the event, so that a replay gives the same.
fn mnest_id(change: &Change<'_>) -> String {
    let version = change.dst_version.unwrap_or("");
    id_of([&change.src.name, &change.src.version, change.dst_name, version], change.seq, change.ts_ms)
}

/// See [`mnest_id`].
pub(super) fn id_of(edge: [&str; 4], seq: u64, ts_ms: u64) -> String {
    let mut digest = sha2::Sha256::new();
    for part in edge {
        digest.update(part.as_bytes());
        digest.update([0]);
    }
    digest.update(seq.to_be_bytes());
    let digest: [u8; 32] = digest.finalize().into();
    let mut bytes = [0; 16];
    bytes[..6].copy_from_slice(&ts_ms.to_be_bytes()[2..]);
    bytes[6..].copy_from_slice(&digest[..10]);
    format!("mnest_{}", ulid::Ulid::from_bytes(bytes))
}
