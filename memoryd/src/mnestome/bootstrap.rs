//! The rows that a young mnestome begins with: of the executors that are born before anything was called, whose text can
//! become whose argument, by their signed contracts. Observed use counts for more as soon as there is any.

use rusqlite::params;
use serde_json::Value;

use super::graph::{Mnestome, id_of, signed};
use super::weight::{BOOTSTRAP, LAMBDA, due, lw};
use crate::chronicle::event::Event;
use crate::chronicle::payload::Evolution;
use crate::error::{During, Result};

/// The owner finds these rows by this word.
pub const TAG: &str = "bootstrap";
const WHAT: &str = "writing the mnestome";

/// Whether a schema's own properties hold a text that can be handed on; only the required ones when `required`.
fn has_text(schema: &Value, required: bool) -> bool {
    let wanted = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        !required || names.is_some_and(|names| names.iter().any(|one| one == name))
    };
    let text =
        |one: &Value| one.get("contentMediaType").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("text/"));
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|all| all.iter().any(|(name, one)| text(one) && wanted(name)))
}

impl Mnestome {
    /// An executor was born. While nothing was ever called, it is joined to those born before it.
    pub(super) fn first_ones(&self, change: &Evolution, event: &Event) -> Result<()> {
        if self.calls > 0 {
            return Ok(());
        }
        let part =
            |name: &str, required: bool| change.candidate.get(name).is_some_and(|schema| has_text(schema, required));
        let (gives, takes) = (part("output", false), part("input", true));
        let others: Vec<(String, String, bool, bool)> = self
            .db
            .prepare_cached("SELECT name, version, gives, takes FROM first_ones ORDER BY name, version")
            .and_then(|mut all| {
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect()
            })
            .during(WHAT)?;
        let own = (change.executor.as_str(), change.version.as_str());
        for (name, version, other_gives, other_takes) in &others {
            let other = (name.as_str(), version.as_str());
            if own.0 == other.0 {
                continue;
            }
            if gives && *other_takes {
                self.begin_with(own, other, event)?;
            }
            if takes && *other_gives {
                self.begin_with(other, own, event)?;
            }
        }
        self.db
            .prepare_cached("INSERT OR REPLACE INTO first_ones VALUES (?1, ?2, ?3, ?4)")
            .and_then(|mut add| add.execute(params![own.0, own.1, gives, takes]))
            .during(WHAT)?;
        Ok(())
    }

    fn begin_with(&self, src: (&str, &str), dst: (&str, &str), event: &Event) -> Result<()> {
        let now = self.clock.now;
        let id = id_of([src.0, src.1, dst.0, dst.1], event.seq, event.ts_ms);
        let tags = Value::from(vec![TAG]).to_string();
        self.db
            .prepare_cached(
                "INSERT OR IGNORE INTO mnests (id, src_executor, src_version, dst_executor, dst_version, weight, uses,
                 ts_first, ts_last, decay_lambda, tags, state, desired_signature, why, last_event_seq, used_at, lw, t_cross)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7, ?8, ?9, 'active', NULL, NULL, ?10, ?11, ?12, ?13)",
            )
            .and_then(|mut add| {
                add.execute(params![
                    id,
                    src.0,
                    src.1,
                    dst.0,
                    dst.1,
                    BOOTSTRAP,
                    signed(event.ts_ms),
                    LAMBDA,
                    tags,
                    signed(event.seq),
                    signed(now),
                    lw(BOOTSTRAP, LAMBDA, now),
                    due(BOOTSTRAP, LAMBDA, now, false).map(signed),
                ])
            })
            .during(WHAT)?;
        Ok(())
    }
}
