//! What was of use: how executors stand, as rows that follow from the ends of turns, from the owner's words about them, and
//! from births. Written in the transaction that applies the line; nothing is decided here.

use metnos_proto::doc::mnestome::{BelowThreshold, ExecutorFitness};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::ExecutorId;
use rusqlite::{OptionalExtension, Row, params};

use super::derive::Record;
use super::fitness::{self, Below, Goal, Standing, Word, leaves_an_effect, shares};
use super::graph::{Mnestome, Turns, number, signed};
use super::weight::{UseTime, use_days};
use crate::chronicle::event::Event;
use crate::chronicle::payload::{Evolution, TurnClose};
use crate::error::{During, Result};

/// The owner's act of judging a turn, as the chronicle calls it.
pub const JUDGE: &str = "judge";
/// So many turns back the owner can judge.
pub const MOST_TURNS: i64 = 4096;

const WHAT: &str = "writing the mnestome";

/// A turn that was judged.
struct Turn {
    seq: u64,
    at: UseTime,
    goal: Goal,
    word: Word,
}

/// How executors stand, and whether they leave an effect.
struct Known(Vec<(ExecutorId, (Standing, bool))>);

impl Known {
    fn of(&self, id: &ExecutorId) -> Option<(Standing, bool)> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, found)| *found)
    }

    fn leaves_an_effect(&self, id: &ExecutorId) -> bool {
        self.of(id).is_some_and(|(_, effect)| effect)
    }
}

fn standing(row: &Row<'_>) -> rusqlite::Result<Standing> {
    Ok(Standing {
        sum: row.get("sum")?,
        at: number(row, row.as_ref().column_index("at_use")?)?,
        judged: number(row, row.as_ref().column_index("judged")?)?,
        without_signal: number(row, row.as_ref().column_index("without_signal")?)?,
        used_at: number(row, row.as_ref().column_index("used_at")?)?,
    })
}

impl Mnestome {
    /// An executor may be called from now on, or again: it is in sight.
    pub(super) fn show_again(&self, change: &Evolution) -> Result<()> {
        let class = change.candidate.get("class").and_then(serde_json::Value::as_str).unwrap_or_default();
        let id = ExecutorId { name: change.executor.clone(), version: change.version.clone() };
        let now = self.clock.now;
        let mut standing = self.standing(&id)?.map_or_else(|| Standing::fresh(now), |(standing, _)| standing);
        standing.show_again(now);
        self.write_standing(&id, &standing, leaves_an_effect(class))
    }

    /// The turn is over: what it says of each executor that was called in it.
    pub(super) fn judge_turn(&self, close: &Event, records: &[Record]) -> Result<()> {
        let (Some(turn), Ok(closed)) = (close.turn_id, TurnClose::decode(&close.payload)) else { return Ok(()) };
        if records.is_empty() {
            return Ok(());
        }
        let (now, goal) = (self.clock.now, Goal::of(&closed));
        let known = self.known(records)?;
        for share in shares(records, goal, Word::Unsaid, |id| known.leaves_an_effect(id)) {
            let (mut standing, effect) = known.of(&share.id).unwrap_or((Standing::fresh(now), false));
            standing.used(&share, now);
            self.write_standing(&share.id, &standing, effect)?;
        }
        let added = self
            .db
            .prepare_cached(
                "INSERT OR IGNORE INTO judged_turns (turn, seq, at_use, goal, word) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut add| {
                let row = params![turn.to_string(), signed(close.seq), signed(now), goal.name(), Word::Unsaid.name()];
                add.execute(row)
            })
            .during(WHAT)?;
        if added > 0 {
            let oldest = self.db.last_insert_rowid().saturating_sub(MOST_TURNS);
            self.db
                .prepare_cached("DELETE FROM judged_turns WHERE n <= ?1")
                .and_then(|mut gone| gone.execute([oldest]))
                .during(WHAT)?;
        }
        Ok(())
    }

    /// The owner's last word on a turn counts: what the turn said of its executors becomes what it says with that word.
    pub(super) fn apply_feedback(&self, turn: TurnId, word: Word, turns: &dyn Turns) -> Result<()> {
        let Some(judged) = self.judged_turn(turn)? else { return Ok(()) };
        let records = turns.records_again(turn, judged.seq)?;
        let known = self.known(&records)?;
        let said_with = |word| shares(&records, judged.goal, word, |id| known.leaves_an_effect(id));
        let now = self.clock.now;
        // The same calls in the same order, whatever the word.
        for (was, share) in said_with(judged.word).iter().zip(said_with(word)) {
            if let Some((mut standing, effect)) = known.of(&share.id) {
                standing.judge_again(was, &share, judged.at, now);
                self.write_standing(&share.id, &standing, effect)?;
            }
        }
        self.db
            .prepare_cached("UPDATE judged_turns SET word = ?2 WHERE turn = ?1")
            .and_then(|mut set| set.execute(params![turn.to_string(), word.name()]))
            .during(WHAT)?;
        Ok(())
    }

    /// How the executors of these records stand.
    fn known(&self, records: &[Record]) -> Result<Known> {
        let mut known = Known(Vec::new());
        for record in records {
            let Record::Started { id, .. } = record else { continue };
            if known.of(id).is_none()
                && let Some(found) = self.standing(id)?
            {
                known.0.push((id.clone(), found));
            }
        }
        Ok(known)
    }

    /// Whether the owner can still judge this turn.
    ///
    /// # Errors
    /// When the database says no.
    pub fn can_be_judged(&self, turn: TurnId) -> Result<bool> {
        Ok(self.judged_turn(turn)?.is_some())
    }

    fn judged_turn(&self, turn: TurnId) -> Result<Option<Turn>> {
        let read = |row: &Row<'_>| {
            let (goal, word): (String, String) = (row.get(2)?, row.get(3)?);
            Ok(Turn {
                seq: number(row, 0)?,
                at: number(row, 1)?,
                goal: Goal::named(&goal).unwrap_or(Goal::CutOff),
                word: Word::named(&word).unwrap_or(Word::Unsaid),
            })
        };
        self.db
            .prepare_cached("SELECT seq, at_use, goal, word FROM judged_turns WHERE turn = ?1")
            .and_then(|mut one| one.query_row([turn.to_string()], read).optional())
            .during("reading the mnestome")
    }

    /// How one stands, and whether it leaves an effect; none when it is unknown.
    fn standing(&self, id: &ExecutorId) -> Result<Option<(Standing, bool)>> {
        self.db
            .prepare_cached("SELECT * FROM fitness WHERE name = ?1 AND version = ?2")
            .and_then(|mut one| {
                one.query_row([&id.name, &id.version], |row| Ok((standing(row)?, row.get("effect")?))).optional()
            })
            .during("reading the mnestome")
    }

    fn write_standing(&self, id: &ExecutorId, standing: &Standing, effect: bool) -> Result<()> {
        self.db
            .prepare_cached("INSERT OR REPLACE INTO fitness VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
            .and_then(|mut set| {
                set.execute(params![
                    id.name,
                    id.version,
                    effect,
                    standing.sum,
                    signed(standing.at),
                    signed(standing.judged),
                    signed(standing.without_signal),
                    signed(standing.used_at),
                ])
            })
            .during(WHAT)?;
        Ok(())
    }

    /// How every executor stands that was ever born or called, by name and version.
    ///
    /// # Errors
    /// When the database says no.
    pub fn fitness(&self) -> Result<Vec<ExecutorFitness>> {
        let now = self.clock.now;
        let read = |row: &Row<'_>| {
            let one = standing(row)?;
            Ok(ExecutorFitness {
                name: row.get("name")?,
                version: row.get("version")?,
                fitness: one.fitness(now),
                judged: one.judged,
                without_signal: one.without_signal,
                used_days_ago: use_days(now.saturating_sub(one.used_at)),
                below: match one.below(now) {
                    Some(Below::Trial) => BelowThreshold::Trial,
                    Some(Below::Unfit) => BelowThreshold::Unfit,
                    Some(Below::Disused) => BelowThreshold::Disused,
                    None => BelowThreshold::No,
                },
            })
        };
        self.db
            .prepare_cached("SELECT * FROM fitness ORDER BY name, version")
            .and_then(|mut all| all.query_map([], read)?.collect())
            .during("reading the mnestome")
    }

    /// The executors that planners are not shown in this turn.
    ///
    /// # Errors
    /// When the database says no.
    pub fn hidden_executors(&self, turn: TurnId) -> Result<Vec<ExecutorId>> {
        let below = self.fitness()?.into_iter().filter(|one| one.below != BelowThreshold::No);
        let ids = below.map(|one| ExecutorId { name: one.name, version: one.version });
        Ok(ids.filter(|id| !fitness::explored(turn, id)).collect())
    }
}
