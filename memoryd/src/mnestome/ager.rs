//! The ager: a walk over what has crossed a threshold since it last came, and what it proposes about that. It flags and
//! proposes; it archives nothing. It runs on the clock of use, so that idle and frozen systems do not age.

use std::collections::BTreeSet;

use rusqlite::{Row, params};

use super::graph::{Mnestome, number, signed};
use super::weight::{DECAYING_BELOW, FUSION_USES, SYNTHESIS_FROM, SYNTHESIS_USES, archival_due, decayed, use_days};
use crate::error::{During, Result};
use metnos_rank::lexicon;
use metnos_rank::words::{language, stemmed, words};

/// The most mnests that one pass looks at because they have crossed a threshold; the others wait for the next, so that a
/// pass takes no longer when much crosses at once. A mnest that waits is decaying all the same: that is a question of
/// its weight.
pub const MOST_IN_A_PASS: i64 = 512;
/// And from this weight on.
pub const FUSION_FROM: f64 = 0.60;
/// What share of the weight that leads out of the one, or into the other, their mnest must have.
pub const DOMINANT: f64 = 0.80;
/// So many wishes that share most of their words are one that is wider.
pub const SIMILAR_WISHES: usize = 3;
/// What share of their words that is.
pub const SIMILAR: f64 = 0.60;
/// With how many wishes each is compared: the heaviest.
const MOST_WISHES: i64 = 256;
/// The ordinary trigger of a synthesis: so often in a use-month (design: memory §2).
pub const RECURRENCES: u64 = 5;

/// Those whose time has come, the longest overdue first.
const DUE: &str = "SELECT id, state, weight, decay_lambda, used_at FROM mnests WHERE t_cross <= ?1
                   ORDER BY t_cross, id LIMIT ?2";

pub use metnos_proto::doc::mnestome::MnestProposal as Proposal;

/// A mnest that has crossed a threshold.
struct Crossed {
    id: String,
    state: String,
    weight: f64,
    lambda: f64,
    used_at: u64,
}

fn crossed(row: &Row<'_>) -> rusqlite::Result<Crossed> {
    Ok(Crossed {
        id: row.get(0)?,
        state: row.get(1)?,
        weight: row.get(2)?,
        lambda: row.get(3)?,
        used_at: number(row, 4)?,
    })
}

fn proposal(row: &Row<'_>) -> rusqlite::Result<Proposal> {
    Ok(Proposal {
        id: row.get(0)?,
        kind: row.get(1)?,
        mnest: row.get(2)?,
        why: row.get(3)?,
        at_use: number(row, 4)?,
        seq: number(row, 5)?,
        state: row.get(6)?,
    })
}

/// A mnest that was strengthened since the ager last came.
struct Strengthened {
    id: String,
    state: String,
    weight: f64,
    uses: u64,
    src: (String, String),
    dst: (String, String),
}

/// How many mnests of one side are looked at for a share.
const MOST_BESIDE: u32 = 64;

fn stems(text: &str) -> BTreeSet<String> {
    let heard = words(text);
    let language = language(&heard);
    heard.iter().filter(|word| !lexicon::is_stop(word)).map(|word| stemmed(word, language)).collect()
}

/// How much of all their stems two texts share, in [0, 1].
#[allow(clippy::cast_precision_loss, reason = "numbers of words")]
fn shared(one: &BTreeSet<String>, two: &BTreeSet<String>) -> f64 {
    let all = one.union(two).count();
    if all == 0 { 0.0 } else { one.intersection(two).count() as f64 / all as f64 }
}

impl Mnestome {
    /// Looks at every mnest whose time has come, inside the transaction that applies line `seq`.
    pub(super) fn age(&self, seq: u64) -> Result<()> {
        let now = self.clock.now;
        let due: Vec<Crossed> = self
            .db
            .prepare_cached(DUE)
            .and_then(|mut all| all.query_map([signed(now), MOST_IN_A_PASS], crossed)?.collect())
            .during("ageing the mnestome")?;
        for one in &due {
            match one.state.as_str() {
                "proto" => self.forget_wish(&one.id)?,
                _ if one.weight > DECAYING_BELOW && one.state == "active" => self.flag(one)?,
                _ => self.propose_archival(one, seq)?,
            }
        }
        self.look_at_touched(seq)
    }

    /// What was strengthened since the last pass: wishes that come again, pairs that belong together.
    fn look_at_touched(&self, seq: u64) -> Result<()> {
        let what = "ageing the mnestome";
        let sql =
            "SELECT mnests.id, state, weight, decay_lambda, used_at, uses, src_executor, src_version, dst_executor,
                   dst_version FROM touched JOIN mnests USING (id) ORDER BY id";
        let now = self.clock.now;
        let read = |row: &Row<'_>| {
            Ok(Strengthened {
                id: row.get(0)?,
                state: row.get(1)?,
                weight: decayed(row.get(2)?, row.get(3)?, number(row, 4)?, now),
                uses: number(row, 5)?,
                src: (row.get(6)?, row.get(7)?),
                dst: (row.get(8)?, row.get::<_, Option<String>>(9)?.unwrap_or_default()),
            })
        };
        let touched: Vec<Strengthened> =
            self.db.prepare_cached(sql).and_then(|mut all| all.query_map([], read)?.collect()).during(what)?;
        for one in &touched {
            match one.state.as_str() {
                "proto" => self.look_at_wish(one, seq)?,
                "active" if one.uses >= FUSION_USES && one.weight >= FUSION_FROM => self.look_at_pair(one, seq)?,
                _ => {}
            }
        }
        self.db.prepare_cached("DELETE FROM touched").and_then(|mut gone| gone.execute([])).during(what)?;
        Ok(())
    }

    /// Wishes that come again and again could become executors; several that are nearly the same, one that is wider.
    fn look_at_wish(&self, one: &Strengthened, seq: u64) -> Result<()> {
        if one.uses >= SYNTHESIS_USES && one.weight >= SYNTHESIS_FROM {
            let ordinary = if one.uses >= RECURRENCES { ", as often as is ordinary for a synthesis" } else { "" };
            let why = format!("it was wished for {} times{ordinary}, and its weight is {:.3}", one.uses, one.weight);
            self.propose("synthesis", &one.id, &why, seq)?;
        }
        let own = stems(&one.dst.0);
        let others: Vec<(String, String)> = self
            .db
            .prepare_cached(
                "SELECT id, dst_executor FROM mnests WHERE state = 'proto' AND src_executor = ?1 AND src_version = ?2
                 ORDER BY lw DESC, id LIMIT ?3",
            )
            .and_then(|mut all| {
                let values = params![one.src.0, one.src.1, MOST_WISHES];
                all.query_map(values, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .during("ageing the mnestome")?;
        let mut alike: Vec<(String, String)> =
            others.into_iter().filter(|(_, wish)| shared(&own, &stems(wish)) >= SIMILAR).collect();
        if alike.len() < SIMILAR_WISHES {
            return Ok(());
        }
        // Under the name of the oldest, so that the same wishes are not proposed again under another's.
        alike.sort();
        let wishes: Vec<&str> = alike.iter().take(SIMILAR_WISHES).map(|(_, wish)| wish.as_str()).collect();
        let why = format!("{} wishes share most of their words: {}", alike.len(), wishes.join("; "));
        self.propose("generalisation", &alike[0].0, &why, seq)
    }

    /// Two that work for no other could be one; one that works for many, and for this one most, could have a version
    /// of its own for it.
    fn look_at_pair(&self, one: &Strengthened, seq: u64) -> Result<()> {
        let out = self.share_of(one, "mnests_from", "src_executor = ?1 AND src_version = ?2", &one.src)?;
        let into = self.share_of(one, "mnests_to", "dst_executor = ?1 AND dst_version = ?2", &one.dst)?;
        let (src, dst) = (format!("{} {}", one.src.0, one.src.1), format!("{} {}", one.dst.0, one.dst.1));
        if out >= DOMINANT && into >= DOMINANT {
            let why = format!("{src} works for hardly anything but {dst}, which is fed by hardly anything else");
            return self.propose("fusion", &one.id, &why, seq);
        }
        if into >= DOMINANT {
            let why = format!("{dst} is fed by hardly anything but {src}, which feeds others, too");
            return self.propose("specialisation", &one.id, &why, seq);
        }
        Ok(())
    }

    /// How much of the weight of the heaviest mnests on one side is this one's.
    fn share_of(&self, one: &Strengthened, index: &str, side: &str, id: &(String, String)) -> Result<f64> {
        let sql = format!(
            "SELECT id, weight, decay_lambda, used_at FROM mnests INDEXED BY {index}
             WHERE {side} AND state = 'active' ORDER BY lw DESC LIMIT {MOST_BESIDE}"
        );
        let now = self.clock.now;
        let read =
            |row: &Row<'_>| Ok((row.get::<_, String>(0)?, decayed(row.get(1)?, row.get(2)?, number(row, 3)?, now)));
        let beside: Vec<(String, f64)> = self
            .db
            .prepare_cached(&sql)
            .and_then(|mut all| all.query_map([&id.0, &id.1], read)?.collect())
            .during("ageing the mnestome")?;
        let all: f64 = beside.iter().map(|(_, weight)| weight).sum();
        let own = beside.iter().find(|(other, _)| *other == one.id).map_or(0.0, |(_, weight)| *weight);
        Ok(if all > 0.0 { own / all } else { 0.0 })
    }

    /// A wish that is not repeated is forgotten.
    fn forget_wish(&self, id: &str) -> Result<()> {
        self.db
            .prepare_cached("DELETE FROM mnests WHERE id = ?1")
            .and_then(|mut gone| gone.execute([id]))
            .during("ageing the mnestome")?;
        Ok(())
    }

    /// Still usable, and flagged; looked at again when its archival can be proposed.
    fn flag(&self, one: &Crossed) -> Result<()> {
        let next = archival_due(one.weight, one.lambda, one.used_at);
        self.db
            .prepare_cached("UPDATE mnests SET state = 'decaying', t_cross = ?2 WHERE id = ?1")
            .and_then(|mut set| set.execute(params![one.id, signed(next)]))
            .during("ageing the mnestome")?;
        Ok(())
    }

    fn propose_archival(&self, one: &Crossed, seq: u64) -> Result<()> {
        let weight = decayed(one.weight, one.lambda, one.used_at, self.clock.now);
        let unused = use_days(self.clock.now.saturating_sub(one.used_at));
        let why = format!("its weight is {weight:.3}, and it was not used for {unused:.0} use-days");
        self.propose("archival", &one.id, &why, seq)?;
        self.db
            .prepare_cached("UPDATE mnests SET state = 'decaying', t_cross = NULL WHERE id = ?1")
            .and_then(|mut set| set.execute([&one.id]))
            .during("ageing the mnestome")?;
        Ok(())
    }

    /// One proposal of a kind about a mnest: what the owner declined is not proposed again.
    fn propose(&self, kind: &str, mnest: &str, why: &str, seq: u64) -> Result<()> {
        let id = format!("{kind}-{}", mnest.get(mnest.len().saturating_sub(10)..).unwrap_or(mnest));
        self.db
            .prepare_cached("INSERT OR IGNORE INTO proposals VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'open')")
            .and_then(|mut add| add.execute(params![id, kind, mnest, why, signed(self.clock.now), signed(seq)]))
            .map(|added| self.proposed.set(self.proposed.get() || added > 0))
            .during("ageing the mnestome")
    }

    /// Whether the ager has proposed something since this was asked last.
    pub fn has_proposed(&self) -> bool {
        self.proposed.take()
    }

    /// What the ager has proposed and is not settled, oldest first, after the one that `seq` and `id` name, each with
    /// both ends of its mnest.
    ///
    /// # Errors
    /// When the database says no.
    pub fn open_proposals(&self, (seq, id): (u64, &str), limit: usize) -> Result<Vec<(Proposal, [String; 2])>> {
        // A wish that was forgotten meanwhile is proposed no longer: there is nothing that it would be about.
        let sql = "SELECT proposals.id, kind, mnest, proposals.why, at_use, seq, proposals.state,
                     trim(src_executor || ' ' || src_version), trim(dst_executor || ' ' || coalesce(dst_version, ''))
                   FROM proposals JOIN mnests ON mnests.id = mnest
                   WHERE proposals.state = 'open' AND (seq, proposals.id) > (?1, ?2) ORDER BY seq, proposals.id LIMIT ?3";
        let read = |row: &Row<'_>| Ok((proposal(row)?, [row.get(7)?, row.get(8)?]));
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db
            .prepare_cached(sql)
            .and_then(|mut all| all.query_map(params![signed(seq), id, limit], read)?.collect())
            .during("reading the proposals")
    }

    /// Everything the ager has proposed, oldest first.
    ///
    /// # Errors
    /// When the database says no.
    pub fn proposals(&self) -> Result<Vec<Proposal>> {
        self.db
            .prepare_cached("SELECT id, kind, mnest, why, at_use, seq, state FROM proposals ORDER BY seq, id")
            .and_then(|mut all| all.query_map([], proposal)?.collect())
            .during("reading the proposals")
    }
}

#[cfg(test)]
#[path = "ager_tests.rs"]
mod tests;
