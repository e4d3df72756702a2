//! What the owner decided, and what became of executors: how those events change the mnestome. Each is applied from the
//! chronicle, so that a replay does the same.

use rusqlite::{OptionalExtension, params};

use super::fitness::Word;
use super::graph::{Mnestome, Turns, signed};
use super::judged::JUDGE;
use super::weight::due;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::payload::{Checkpoint, Evolution};
use crate::error::{During, Result};

const WHAT: &str = "writing the mnestome";

impl Mnestome {
    /// Applies an event that decides something, inside the transaction. One that cannot be read changes nothing: the
    /// verification reports it.
    pub(super) fn decided(&mut self, event: &Event, turns: &dyn Turns) -> Result<()> {
        if event.kind == EventType::Evolution {
            return match Evolution::decode(&event.payload) {
                Ok(change) => self.evolved(&change, event),
                Err(_) => Ok(()),
            };
        }
        let Ok(act) = Checkpoint::decode(&event.payload) else { return Ok(()) };
        match act.act.as_str() {
            "tag" => self.tag(&act.id, &act.tag, true),
            "untag" => self.tag(&act.id, &act.tag, false),
            "archive" => self.archive(&act.id),
            "restore" => self.restore(&act.id),
            "decline" => self.settle_proposal(&act.id, "declined"),
            "freeze" => self.freeze(true, &act, event),
            "defrost" => self.freeze(false, &act, event),
            "snapshot" => self.note_snapshot(&act, event),
            "rollback" => self.roll_back(act.at_seq, turns),
            JUDGE => match (act.id.parse(), Word::named(&act.tag)) {
                (Ok(turn), Some(word)) => self.apply_feedback(turn, word, turns),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// A mnest whose executor may no longer be called is superseded; when it may again, it is as it was.
    fn evolved(&self, change: &Evolution, event: &Event) -> Result<()> {
        let (name, version) = (&change.executor, &change.version);
        if change.act == "born" {
            self.show_again(change)?;
            let sql = "SELECT id FROM mnests WHERE state = 'superseded' AND
                       ((src_executor = ?1 AND src_version = ?2) OR (dst_executor = ?1 AND dst_version = ?2)) ORDER BY id";
            let ids: Vec<String> = self
                .db
                .prepare_cached(sql)
                .and_then(|mut all| all.query_map(params![name, version], |row| row.get(0))?.collect())
                .during(WHAT)?;
            ids.iter().try_for_each(|id| self.restore(id))?;
            return self.first_ones(change, event);
        }
        self.db
            .prepare_cached(
                "UPDATE mnests SET state = 'superseded', t_cross = NULL WHERE state IN ('active', 'decaying') AND
                 ((src_executor = ?1 AND src_version = ?2) OR (dst_executor = ?1 AND dst_version = ?2))",
            )
            .and_then(|mut set| set.execute(params![name, version]))
            .during(WHAT)?;
        Ok(())
    }

    fn tag(&self, id: &str, tag: &str, wanted: bool) -> Result<()> {
        let known: Option<String> = self
            .db
            .prepare_cached("SELECT tags FROM mnests WHERE id = ?1")
            .and_then(|mut one| one.query_row([id], |row| row.get(0)).optional())
            .during(WHAT)?;
        let Some(known) = known else { return Ok(()) };
        let mut tags: Vec<String> = serde_json::from_str(&known).unwrap_or_default();
        tags.retain(|known| known != tag);
        if wanted {
            tags.push(tag.to_owned());
            tags.sort();
        }
        let text = serde_json::Value::from(tags).to_string();
        self.db
            .prepare_cached("UPDATE mnests SET tags = ?2 WHERE id = ?1")
            .and_then(|mut set| set.execute([id, &text]))
            .during(WHAT)?;
        Ok(())
    }

    fn archive(&self, id: &str) -> Result<()> {
        self.db
            .prepare_cached(
                "UPDATE mnests SET state = 'archived', t_cross = NULL
                 WHERE id = ?1 AND state IN ('active', 'decaying', 'superseded')",
            )
            .and_then(|mut set| set.execute([id]))
            .during(WHAT)?;
        self.db
            .prepare_cached(
                "UPDATE proposals SET state = 'accepted' WHERE mnest = ?1 AND kind = 'archival' AND state = 'open'",
            )
            .and_then(|mut set| set.execute([id]))
            .during(WHAT)?;
        Ok(())
    }

    /// In use again, with the weight that it has by now.
    fn restore(&self, id: &str) -> Result<()> {
        let known: Option<(f64, f64, i64)> = self
            .db
            .prepare_cached("SELECT weight, decay_lambda, used_at FROM mnests WHERE id = ?1 AND state IN ('archived', 'superseded')")
            .and_then(|mut one| one.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional())
            .during(WHAT)?;
        let Some((weight, lambda, used_at)) = known else { return Ok(()) };
        let next = due(weight, lambda, used_at.unsigned_abs(), false).map(signed);
        self.db
            .prepare_cached("UPDATE mnests SET state = 'active', t_cross = ?2 WHERE id = ?1")
            .and_then(|mut set| set.execute(params![id, next]))
            .during(WHAT)?;
        Ok(())
    }

    fn settle_proposal(&self, id: &str, state: &str) -> Result<()> {
        self.db
            .prepare_cached("UPDATE proposals SET state = ?2 WHERE id = ?1 AND state = 'open'")
            .and_then(|mut set| set.execute([id, state]))
            .during(WHAT)?;
        Ok(())
    }

    fn freeze(&mut self, frozen: bool, act: &Checkpoint, event: &Event) -> Result<()> {
        self.frozen = frozen;
        if frozen { self.note_snapshot(act, event) } else { Ok(()) }
    }

    fn note_snapshot(&self, act: &Checkpoint, event: &Event) -> Result<()> {
        self.db
            .prepare_cached("INSERT OR IGNORE INTO snapshots VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
            .and_then(|mut add| {
                let (at, seq, ts) = (signed(act.at_seq), signed(event.seq), signed(event.ts_ms));
                add.execute(params![act.id, at, act.digest, seq, ts, act.why])
            })
            .during(WHAT)?;
        Ok(())
    }

    /// The rows become what they were when line `at_seq` had been applied; the clock of use, the proposals and the list
    /// of snapshots stay. Derived from the chronicle, so that it needs no file.
    fn roll_back(&self, at_seq: u64, turns: &dyn Turns) -> Result<()> {
        let mut past = Self::in_memory(self.calls_per_use_day)?;
        turns.replay(at_seq, &mut past)?;
        self.db.execute("DELETE FROM mnests", []).during(WHAT)?;
        let mut rows = past.db.prepare("SELECT * FROM mnests ORDER BY id").during(WHAT)?;
        let columns = rows.column_count();
        let marks = vec!["?"; columns].join(", ");
        let mut add = self.db.prepare(&format!("INSERT INTO mnests VALUES ({marks})")).during(WHAT)?;
        let mut rows = rows.query([]).during(WHAT)?;
        while let Some(row) = rows.next().during(WHAT)? {
            let values: Vec<rusqlite::types::Value> =
                (0..columns).map(|column| row.get(column)).collect::<rusqlite::Result<_>>().during(WHAT)?;
            add.execute(rusqlite::params_from_iter(values)).during(WHAT)?;
        }
        Ok(())
    }
}
