//! How the index's small tables follow from each event: a projection, applied once, inside the transaction that adds
//! the event. A payload that is not of its type's shape changes none of them.

use rusqlite::params;

use metnos_proto::role::RoleName;

use super::{Index, signed};
use crate::chronicle::event::{EventType, trust_name};
use crate::chronicle::log::Placed;
use crate::chronicle::payload;

/// The language of a turn whose words were taken out.
const LANG_OF_REDACTED: &str = "en";

impl Index {
    /// The small tables. A payload that is not of its type's shape changes none of them: the
    /// verification reports it.
    pub(super) fn project(&self, placed: &Placed) -> rusqlite::Result<()> {
        let event = &placed.event;
        match event.kind {
            EventType::OwnerMessage => match payload::OwnerMessage::decode(&event.payload) {
                Ok(words) => {
                    self.open_turn(placed, &words.lang, false, "said")?;
                    self.name_words(placed, &words.mark)
                }
                Err(_) if event.is_redacted() => self.open_turn(placed, LANG_OF_REDACTED, false, "said"),
                Err(_) => Ok(()),
            },
            EventType::PayloadRedacted => self.redact(placed),
            EventType::TurnOpen => match payload::TurnOpen::decode(&event.payload) {
                Ok(opened) if opened.direct && event.emitter == RoleName::Policyd => {
                    self.open_turn(placed, "en", true, "opened")
                }
                Ok(_) => self.mark(placed, "opened"),
                Err(_) => Ok(()),
            },
            EventType::AssistantMessage => self.mark(placed, "delivered"),
            EventType::TurnClose => self.mark(placed, "closed"),
            EventType::Evolution => self.evolve(placed),
            EventType::Thought
            | EventType::ToolCall
            | EventType::ToolResult
            | EventType::WorldAction
            | EventType::PolicyDecision
            | EventType::Approval
            | EventType::RunStarted
            | EventType::RunEnded
            | EventType::Heartbeat
            | EventType::ReflectionProbe
            | EventType::LatticeUpdateProposal
            | EventType::LatticeCommit
            | EventType::IdentityCheck
            | EventType::GoalEvent
            | EventType::JobEvent
            | EventType::CostEntry
            | EventType::SilkEvent
            | EventType::ScheduleEvent
            | EventType::ConstitutionModified
            | EventType::Checkpoint
            | EventType::SystemEvent => Ok(()),
        }
    }

    fn open_turn(&self, placed: &Placed, lang: &str, direct: bool, column: &'static str) -> rusqlite::Result<()> {
        let event = &placed.event;
        let (Some(turn), Some(trace), Some(channel)) = (event.turn_id, event.trace_id, event.channel) else {
            return Ok(());
        };
        let sql = format!(
            "INSERT OR IGNORE INTO turns (turn, trace, channel, peer, trust, lang, direct, {column})
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            turn.to_bytes(),
            trace.to_bytes(),
            channel.name(),
            event.peer,
            trust_name(event.trust),
            lang,
            direct,
            signed(event.seq),
        ])?;
        Ok(())
    }

    /// Notes what the channel calls the words.
    fn name_words(&self, placed: &Placed, mark: &str) -> rusqlite::Result<()> {
        let event = &placed.event;
        let Some(turn) = event.turn_id.filter(|_| !mark.is_empty()) else { return Ok(()) };
        let sql = "INSERT OR IGNORE INTO marks VALUES (?1, ?2, ?3, ?4)";
        let row = params![event.peer, mark, signed(event.seq), turn.to_bytes()];
        self.db.prepare_cached(sql)?.execute(row).map(|_| ())
    }

    /// Forgets what only the payload said, so that an index that is built anew afterwards is the same.
    fn redact(&self, placed: &Placed) -> rusqlite::Result<()> {
        let Ok(done) = payload::PayloadRedacted::decode(&placed.event.payload) else { return Ok(()) };
        let seq = signed(done.seq);
        self.db
            .prepare_cached("INSERT OR IGNORE INTO redacted VALUES (?1, ?2)")?
            .execute([seq, signed(placed.event.seq)])?;
        self.db.prepare_cached("UPDATE events SET call = NULL WHERE seq = ?1")?.execute([seq])?;
        self.db.prepare_cached("DELETE FROM marks WHERE said = ?1")?.execute([seq])?;
        self.db
            .prepare_cached("UPDATE turns SET lang = ?2 WHERE said = ?1")?
            .execute(params![seq, LANG_OF_REDACTED])?;
        Ok(())
    }

    /// Notes the first line of its kind in the turn.
    fn mark(&self, placed: &Placed, column: &'static str) -> rusqlite::Result<()> {
        let Some(turn) = placed.event.turn_id else { return Ok(()) };
        let sql = format!("UPDATE turns SET {column} = ?2 WHERE turn = ?1 AND {column} IS NULL");
        self.db.prepare_cached(&sql)?.execute(params![turn.to_bytes(), signed(placed.event.seq)])?;
        Ok(())
    }

    fn evolve(&self, placed: &Placed) -> rusqlite::Result<()> {
        let Ok(change) = payload::Evolution::decode(&placed.event.payload) else { return Ok(()) };
        let seq = signed(placed.event.seq);
        // Also where the transaction comes to nothing: then the same is read once more.
        self.pool.changes();
        if change.act == "born" {
            self.db.prepare_cached("INSERT OR REPLACE INTO executors VALUES (?1, ?2, 1, ?3, ?4)")?.execute(params![
                change.executor,
                change.version,
                change.candidate.to_string(),
                seq
            ])?;
        } else {
            self.db
                .prepare_cached("UPDATE executors SET callable = 0, seq = ?3 WHERE name = ?1 AND version = ?2")?
                .execute(params![change.executor, change.version, seq])?;
        }
        Ok(())
    }
}
