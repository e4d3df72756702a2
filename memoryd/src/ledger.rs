//! The ledger: what was spent, by whom, on what, and where it leads. A projection of the chronicle's `cost_entry`
//! events, in whole millionths; it holds no cap and refuses nothing, that is policyd's.
//!
//! `.runtime/ledger.sqlite`. An estimate is replaced by what it did cost; one that is never settled counts as it is.

use std::path::Path;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::memoryd::Spent;
use rusqlite::{Connection, Row, params};

use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::open_projection;
use crate::chronicle::payload::CostEntry;
use crate::chronicle::time::Day;
use crate::error::{During, Error, Result};

/// The version of the tables below.
pub const VERSION: i64 = 1;
/// The forecast looks at so many active days (design: memory §6).
pub const FORECAST_DAYS: usize = 7;

const TABLES: &str = "
    CREATE TABLE entries (
        entry     TEXT PRIMARY KEY,
        stage     TEXT NOT NULL CHECK (stage IN ('estimate', 'actual', 'unsettled')),
        micro     INTEGER NOT NULL CHECK (micro >= 0),
        tokens    INTEGER NOT NULL CHECK (tokens >= 0),
        turn      BLOB CHECK (turn IS NULL OR length(turn) = 16),
        day       INTEGER NOT NULL,
        month     TEXT NOT NULL,
        principal TEXT NOT NULL,
        role      TEXT NOT NULL,
        executor  TEXT NOT NULL
    ) STRICT;
    CREATE INDEX entries_by_day ON entries (day);
    CREATE INDEX entries_by_turn ON entries (turn) WHERE turn IS NOT NULL;
    CREATE TABLE progress (one INTEGER PRIMARY KEY CHECK (one = 1), applied INTEGER NOT NULL) STRICT;
    INSERT INTO progress VALUES (1, 0);";

pub use metnos_proto::doc::chronicle::{DaySpending as Total, SpendingForecast as Forecast};

/// The database.
#[derive(Debug)]
pub struct Ledger {
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

/// `2026-04` of `2026-04-25`.
fn month_of(day: Day) -> String {
    day.to_string().chars().take(7).collect()
}

impl Ledger {
    /// Opens the database, empty when there was none.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path) -> Result<Self> {
        let what = "opening the ledger";
        let db = open_projection(path).during(what)?;
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during(what)?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the ledger")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "ledger.sqlite", found, known: VERSION }),
        }
        let applied = db.query_row("SELECT applied FROM progress", [], |row| number(row, 0)).during(what)?;
        Ok(Self { db, applied })
    }

    /// The last event that was applied, or that is known not to concern it.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Applies events in their order, up to `upto`; those that were applied before change nothing.
    ///
    /// # Errors
    /// What went wrong; then none of them is applied.
    pub fn apply<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>, upto: u64) -> Result<()> {
        let what = "writing the ledger";
        let mut costs = events.into_iter().filter(|event| event.kind == EventType::CostEntry).peekable();
        if costs.peek().is_none() {
            // Nothing to store: after a restart the same rows are skipped once more.
            self.applied = self.applied.max(upto);
            return Ok(());
        }
        let transaction = self.db.unchecked_transaction().during(what)?;
        for event in costs {
            if event.seq > self.applied
                && let Ok(cost) = CostEntry::decode(&event.payload)
            {
                enter(&transaction, event, &cost).during(what)?;
            }
        }
        transaction.execute("UPDATE progress SET applied = ?1", [signed(upto)]).during(what)?;
        transaction.commit().during(what)?;
        self.applied = self.applied.max(upto);
        Ok(())
    }

    /// What was spent, for the caps, as of `today`.
    ///
    /// # Errors
    /// When the database says no.
    pub fn spent(&self, turn: TurnId, principal: &str, today: Day) -> Result<Spent> {
        let sum = |column: &str, condition: &str, values: &[&dyn rusqlite::ToSql]| -> Result<u64> {
            let sql = format!("SELECT coalesce(sum({column}), 0) FROM entries WHERE {condition}");
            self.db
                .prepare_cached(&sql)
                .and_then(|mut one| one.query_row(values, |row| number(row, 0)))
                .during("reading the ledger")
        };
        let (day, month) = (today.0, month_of(today));
        Ok(Spent {
            turn: sum("micro", "turn = ?1", &[&turn.to_bytes()])?,
            principal_day: sum("micro", "day = ?1 AND principal = ?2", &[&day, &principal])?,
            principal_month: sum("micro", "month = ?1 AND principal = ?2", &[&month, &principal])?,
            day: sum("micro", "day = ?1", &[&day])?,
            month: sum("micro", "month = ?1", &[&month])?,
            turn_tokens: sum("tokens", "turn = ?1", &[&turn.to_bytes()])?,
            principal_day_tokens: sum("tokens", "day = ?1 AND principal = ?2", &[&day, &principal])?,
            principal_month_tokens: sum("tokens", "month = ?1 AND principal = ?2", &[&month, &principal])?,
        })
    }

    /// What was spent by day, principal, role and executor, newest day first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn totals(&self) -> Result<Vec<Total>> {
        let sql = "SELECT day, principal, role, executor, sum(micro), sum(tokens), count(*), sum(stage <> 'actual')
                   FROM entries GROUP BY day, principal, role, executor ORDER BY day DESC, sum(micro) DESC, principal, role, executor
                   LIMIT 10000";
        let read = |row: &Row<'_>| {
            Ok(Total {
                day: Day(row.get(0)?).to_string(),
                principal: row.get(1)?,
                role: row.get(2)?,
                executor: row.get(3)?,
                micro: number(row, 4)?,
                tokens: number(row, 5)?,
                entries: number(row, 6)?,
                open: number(row, 7)?,
            })
        };
        self.db.prepare_cached(sql).and_then(|mut all| all.query_map([], read)?.collect()).during("reading the ledger")
    }

    /// What an active day costs: the median of the last [`FORECAST_DAYS`] days before `today` on which anything was
    /// spent, with the cheapest and the dearest of them as its band.
    ///
    /// # Errors
    /// When the database says no.
    pub fn forecast(&self, today: Day) -> Result<Forecast> {
        let sql = "SELECT sum(micro) AS spent FROM entries WHERE day < ?1 GROUP BY day HAVING spent > 0
                   ORDER BY day DESC LIMIT ?2";
        let days: Vec<u64> = self
            .db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(params![today.0, FORECAST_DAYS as i64], |row| number(row, 0))?.collect())
            .during("reading the ledger")?;
        Ok(forecast(days))
    }
}

fn enter(db: &Connection, event: &Event, cost: &CostEntry) -> rusqlite::Result<()> {
    let day = Day::of(event.ts_ms);
    let tokens = signed(cost.tokens_in.saturating_add(cost.tokens_out));
    if cost.stage == "unsettled" {
        // The estimate counts; one that was settled stays settled.
        db.prepare_cached("UPDATE entries SET stage = 'unsettled' WHERE entry = ?1 AND stage = 'estimate'")?
            .execute([&cost.entry])?;
        return Ok(());
    }
    db.prepare_cached(
        "INSERT INTO entries VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (entry) DO UPDATE SET stage = ?2, micro = ?3, tokens = ?4 WHERE ?2 = 'actual' AND stage <> 'actual'",
    )?
    .execute(params![
        cost.entry,
        cost.stage,
        signed(cost.micro),
        tokens,
        event.turn_id.map(TurnId::to_bytes),
        day.0,
        month_of(day),
        event.peer,
        cost.role,
        cost.executor,
    ])?;
    Ok(())
}

fn forecast(mut days: Vec<u64>) -> Forecast {
    days.sort_unstable();
    let middle = days.len() / 2;
    let median = match (days.get(middle), days.len() % 2) {
        (None, _) => 0,
        (Some(one), 1) => *one,
        (Some(upper), _) => {
            let lower = days.get(middle - 1).copied().unwrap_or(0);
            lower + (upper - lower) / 2
        }
    };
    Forecast {
        active_days: days.len(),
        median,
        low: days.first().copied().unwrap_or(0),
        high: days.last().copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::chronicle::event::GENESIS;
    use crate::chronicle::testing::{MORNING, draft};
    use crate::chronicle::time::DAY_MS;
    use proptest::prelude::*;

    fn cost(seq: u64, entry: u64, stage: &str, micro: u64, day: u64) -> Event {
        let payload = CostEntry {
            entry: entry.to_string(),
            executor: String::new(),
            micro,
            role: "chat".into(),
            sent: String::new(),
            stage: stage.into(),
            tokens_in: 10,
            tokens_out: 1,
        };
        let mut one = draft(EventType::CostEntry, &payload.encode());
        one.turn_id = Some(TurnId::from_bytes([1; 16]));
        Event::seal(one, seq, GENESIS, MORNING + day * DAY_MS)
    }

    fn ledger() -> (tempfile::TempDir, Ledger) {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(&dir.path().join("ledger.sqlite")).unwrap();
        (dir, ledger)
    }

    fn today() -> Day {
        Day::of(MORNING)
    }

    const PEER: &str = "cli:uid:1000";

    #[test]
    fn an_estimate_counts_until_it_is_settled_and_for_good_when_it_is_not() {
        let (_dir, mut ledger) = ledger();
        let spent = |ledger: &Ledger| ledger.spent(TurnId::from_bytes([1; 16]), PEER, today()).unwrap();
        ledger.apply(&[cost(1, 1, "estimate", 100, 0)], 1).unwrap();
        assert_eq!(spent(&ledger).turn, 100);
        ledger
            .apply(&[cost(2, 1, "actual", 70, 0), cost(3, 2, "estimate", 50, 0), cost(4, 2, "unsettled", 0, 0)], 4)
            .unwrap();
        let now = spent(&ledger);
        assert_eq!((now.turn, now.principal_day, now.day, now.month, now.principal_month), (120, 120, 120, 120, 120));
        assert_eq!((now.turn_tokens, now.principal_day_tokens, now.principal_month_tokens), (22, 22, 22));
        let later = ledger.spent(TurnId::from_bytes([2; 16]), PEER, Day(today().0 + 1)).unwrap();
        assert_eq!((later.turn_tokens, later.principal_day_tokens, later.principal_month_tokens), (0, 0, 22));
        ledger.apply(&[cost(5, 1, "actual", 9_999, 0), cost(6, 1, "unsettled", 0, 0)], 6).unwrap();
        assert_eq!(spent(&ledger).turn, 120, "what is settled stays settled");
        assert_eq!(ledger.spent(TurnId::NONE, "cli:uid:1", today()).unwrap().principal_day, 0);
        assert_eq!(ledger.totals().unwrap()[0].open, 1);
    }

    #[test]
    fn nothing_is_entered_twice_also_over_a_restart() {
        let (dir, mut ledger) = ledger();
        let events = [cost(1, 1, "actual", 100, 0), cost(2, 2, "actual", 5, 0)];
        ledger.apply(&events, 2).unwrap();
        ledger.apply(&events, 2).unwrap();
        drop(ledger);
        let mut ledger = Ledger::open(&dir.path().join("ledger.sqlite")).unwrap();
        assert_eq!(ledger.applied(), 2);
        ledger.apply(&events, 2).unwrap();
        assert_eq!(ledger.spent(TurnId::NONE, PEER, today()).unwrap().day, 105);
    }

    #[test]
    fn the_forecast_is_the_median_of_the_last_seven_active_days_before_today() {
        let (_dir, mut ledger) = ledger();
        let per_day = [9_000, 1, 0, 2, 3, 40, 5, 6, 7];
        let mut seq = 0;
        let mut events = Vec::new();
        for (day, micro) in per_day.into_iter().enumerate() {
            seq += 1;
            events.push(cost(seq, seq, "actual", micro, day as u64));
        }
        events.push(cost(seq + 1, 99, "actual", 777, 9));
        ledger.apply(&events, seq + 1).unwrap();
        let today = Day::of(MORNING + 9 * DAY_MS);
        let expected = Forecast { active_days: 7, median: 5, low: 1, high: 40 };
        assert_eq!(ledger.forecast(today).unwrap(), expected, "today, idle days and what is older do not count");
        assert_eq!(forecast(vec![]), Forecast { active_days: 0, median: 0, low: 0, high: 0 });
        assert_eq!(forecast(vec![4, 2]).median, 3);
    }

    proptest! {
        #[test]
        fn the_sums_are_those_of_the_last_word_on_each_entry(words in prop::collection::vec((0_u64..6, 0_usize..3, 0_u64..1000, 0_u64..3), 0..40)) {
            let (_dir, mut ledger) = ledger();
            let mut expected: std::collections::HashMap<u64, (bool, u64, u64)> = std::collections::HashMap::new();
            let mut events = Vec::new();
            for (at, (entry, stage, micro, day)) in words.iter().enumerate() {
                let stage = ["estimate", "actual", "unsettled"][*stage];
                events.push(cost(at as u64 + 1, *entry, stage, *micro, *day));
                match (stage, expected.get(entry).copied()) {
                    ("estimate", None) => { expected.insert(*entry, (false, *micro, *day)); }
                    ("actual", None) => { expected.insert(*entry, (true, *micro, *day)); }
                    ("actual", Some((false, _, day))) => { expected.insert(*entry, (true, *micro, day)); }
                    _ => {}
                }
            }
            ledger.apply(&events, events.len() as u64).unwrap();
            for day in 0..3 {
                let sum: u64 = expected.values().filter(|one| one.2 == day).map(|one| one.1).sum();
                let at = Day::of(MORNING + day * DAY_MS);
                prop_assert_eq!(ledger.spent(TurnId::NONE, PEER, at).unwrap().day, sum);
            }
        }
    }
}
