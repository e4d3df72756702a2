//! What the planner puts aside when a turn waits for somebody's word, and what a model was sent. Neither is interpreted
//! here: the one is handed back once, the other kept as a line.

use std::path::Path;

use metnos_proto::edges::planner_memoryd::Ask as Word;
use metnos_proto::ids::{Blake3, TurnId};
use metnos_proto::msg::common::{RefusalCode, Trust};
use metnos_proto::msg::memoryd::{MAX_SUSPENDED_BYTES, ModelAsked, Recorded, SuspendTurn, TakeUpTurn, TurnTakenUp};
use metnos_proto::msg::mind::MAX_PROMPT;
use metnos_proto::phase::RecallPhase;
use rusqlite::{Connection, OptionalExtension, params};

use super::record::{clean, open_turn, refused};
use super::{Memory, Teller, Told};
use crate::chronicle::Chronicle;
use crate::chronicle::event::EventType;
use crate::chronicle::index::{IndexRow, open_projection};
use crate::chronicle::payload::{self, PolicyDecision};
use crate::chronicle::store::is_damage;
use crate::error::{During, Result};

/// The most turns that are put aside; beyond, the oldest is given up.
pub const MAX_SUSPENDED: usize = 64;
/// How long a turn may be put aside, in milliseconds: longer than a card for a call can be answered.
pub const SUSPENDED_MS: u64 = 3_600_000;
/// The most thoughts of one turn of which it is kept what was sent: more than a planner that keeps to its bounds has.
pub const MAX_ASKED: usize = 64;
/// The most bytes of what was sent for one thought that are kept: a prompt, as its provider has it.
pub const MAX_SENT: usize = MAX_PROMPT + (1 << 20);
/// The longest name of a model that is kept, in bytes.
const MAX_MODEL: usize = 256;

const TABLES: &str = "CREATE TABLE IF NOT EXISTS aside (
    turn BLOB PRIMARY KEY CHECK (length(turn) = 16),
    at_ms INTEGER NOT NULL,
    state BLOB NOT NULL
) STRICT;";
const WRITING: &str = "putting a turn aside";

/// The turns that are put aside.
#[derive(Debug)]
pub(super) struct Aside {
    db: Connection,
}

/// Opens what is put aside; when it is damaged, nothing is.
pub(super) fn open(path: &Path, chronicle: &mut Chronicle) -> Result<Aside> {
    let why = match Aside::open(path) {
        Ok(aside) => return Ok(aside),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(error) => return Err(error),
    };
    let aside = crate::aside::move_database(path)?;
    chronicle.tell("suspended_lost", format!("suspended.sqlite was not usable ({why}); moved to {aside}"));
    Aside::open(path)
}

fn ms(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Aside {
    fn open(path: &Path) -> Result<Self> {
        let db = open_projection(path).during(WRITING)?;
        // Unlike a projection this is kept nowhere else.
        db.execute_batch("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;").during(WRITING)?;
        db.execute_batch(TABLES).during(WRITING)?;
        Ok(Self { db })
    }

    pub(super) fn has(&self, turn: TurnId, now_ms: u64) -> Result<bool> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let sql = "SELECT 1 FROM aside WHERE turn = ?1 AND at_ms >= ?2";
        let found = self
            .db
            .prepare_cached(sql)
            .and_then(|mut ask| ask.query_row(params![turn.to_bytes().as_slice(), since], |_| Ok(())).optional());
        Ok(found.during(WRITING)?.is_some())
    }

    /// Keeps a state, and gives up what is too old or too much.
    fn put(&self, turn: TurnId, now_ms: u64, state: &[u8]) -> Result<()> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let most = i64::try_from(MAX_SUSPENDED).unwrap_or(i64::MAX);
        self.db.execute("DELETE FROM aside WHERE at_ms < ?1", [since]).during(WRITING)?;
        self.db
            .execute(
                "INSERT OR REPLACE INTO aside (turn, at_ms, state) VALUES (?1, ?2, ?3)",
                params![turn.to_bytes().as_slice(), ms(now_ms), state],
            )
            .during(WRITING)?;
        self.db
            .execute(
                "DELETE FROM aside WHERE turn NOT IN (SELECT turn FROM aside ORDER BY at_ms DESC, turn DESC LIMIT ?1)",
                [most],
            )
            .during(WRITING)?;
        Ok(())
    }

    /// Takes a state out: it is there no more.
    fn take(&self, turn: TurnId, now_ms: u64) -> Result<Option<Vec<u8>>> {
        let since = ms(now_ms.saturating_sub(SUSPENDED_MS));
        let sql = "DELETE FROM aside WHERE turn = ?1 RETURNING state, at_ms";
        let taken: Option<(Vec<u8>, i64)> = self
            .db
            .query_row(sql, [turn.to_bytes().as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
            .during(WRITING)?;
        Ok(taken.filter(|(_, at)| *at >= since).map(|(state, _)| state))
    }

    /// Gives up a turn, if it is put aside.
    pub(super) fn forget(&self, turn: TurnId) -> Result<()> {
        self.db.execute("DELETE FROM aside WHERE turn = ?1", [turn.to_bytes().as_slice()]).during(WRITING)?;
        Ok(())
    }
}

impl Memory {
    /// In which phase a turn is for its planner, which says `word` about it.
    ///
    /// # Errors
    /// When the turn is unknown; or closed, unless its close is said again.
    pub fn phase_of(&mut self, turn: TurnId, word: &Word) -> Told<RecallPhase> {
        let facts = self.turn(turn)?;
        if facts.direct {
            return Ok(RecallPhase::Direct);
        }
        if facts.closed.is_some() && matches!(word, Word::CloseTurn(_)) {
            return Ok(RecallPhase::Closed);
        }
        open_turn(turn, &facts)?;
        if facts.opened.is_none() {
            return Ok(RecallPhase::Received);
        }
        let waits = self.aside.has(turn, self.chronicle.now_ms())?;
        Ok(if waits { RecallPhase::Suspended } else { RecallPhase::Begun })
    }

    /// The planner, or policyd for an executor: a model was asked, and this was sent to it.
    ///
    /// # Errors
    /// When the turn is unknown, or there is too much to be kept.
    pub fn model_asked(&mut self, teller: Teller, word: &ModelAsked, sent: Vec<u8>) -> Told<Recorded> {
        let facts = self.turn(word.turn)?;
        if word.model.len() > MAX_MODEL {
            let why = format!("the name of a model has at most {MAX_MODEL} bytes");
            return Err(refused(RefusalCode::Invalid, "thought.model", why));
        }
        // The planner is presumed hijacked: what it may have written down is bounded.
        if sent.len() > MAX_SENT {
            let why = format!("{} bytes were sent for one thought; at most {MAX_SENT} are kept", sent.len());
            return Err(refused(RefusalCode::Invalid, "thought.size", why));
        }
        let is_thought = |row: &IndexRow| row.kind == Some(EventType::Thought);
        let before = self.chronicle.index().of_turn(word.turn, u64::MAX)?;
        if before.iter().filter(|row| is_thought(row)).count() >= MAX_ASKED {
            let why = format!("of one turn the prompts of {MAX_ASKED} thoughts are kept, and these are there");
            return Err(refused(RefusalCode::Busy, "thought.count", why));
        }
        let digest = Blake3::of(&sent).to_string();
        let (sent, encoding) = PolicyDecision::spell_arguments(sent);
        let model = clean(word.model.clone());
        let payload = payload::Thought { digest, encoding, model, sent, thought: word.thought }.encode();
        self.stage_in(teller, word.turn, &facts, facts.root(), (EventType::Thought, Trust::System, payload))
    }

    /// The planner: a turn waits for somebody's word.
    ///
    /// # Errors
    /// When there is too much to be kept.
    pub fn suspend_turn(&mut self, word: &SuspendTurn, state: &[u8]) -> Told<()> {
        if state.len() > MAX_SUSPENDED_BYTES {
            let why = format!("{} bytes are to be put aside; at most {MAX_SUSPENDED_BYTES} are kept", state.len());
            return Err(refused(RefusalCode::Invalid, "suspend.size", why));
        }
        Ok(self.aside.put(word.turn, self.chronicle.now_ms(), state)?)
    }

    /// The planner: the turn goes on.
    ///
    /// # Errors
    /// When the turn is unknown, or nothing is put aside for it.
    pub fn take_up_turn(&mut self, word: &TakeUpTurn) -> Told<(TurnTakenUp, Vec<u8>)> {
        let nothing = || {
            let why = format!("turn {} was not put aside, or too long ago", word.turn);
            refused(RefusalCode::Unknown, "turn.not_suspended", why)
        };
        let facts = self.turn(word.turn)?;
        // The owner's own call may wait for a card, too. The planner knows no more than that a card was answered.
        if facts.direct {
            return Err(nothing());
        }
        let state = self.aside.take(word.turn, self.chronicle.now_ms())?.ok_or_else(nothing)?;
        Ok((TurnTakenUp { trace: facts.trace }, state))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn aside() -> (tempfile::TempDir, Aside) {
        let dir = tempfile::tempdir().unwrap();
        let aside = Aside::open(&dir.path().join("suspended.sqlite")).unwrap();
        (dir, aside)
    }

    #[test]
    fn suspended_turn_is_handed_back_once_after_restart() {
        let (dir, aside) = aside();
        let turn = TurnId::new();
        aside.put(turn, 1_000, b"state").unwrap();
        drop(aside);
        let aside = Aside::open(&dir.path().join("suspended.sqlite")).unwrap();
        assert!(aside.has(turn, 1_000).unwrap());
        assert_eq!(aside.take(turn, 2_000).unwrap().unwrap(), b"state");
        assert!(aside.take(turn, 2_000).unwrap().is_none() && !aside.has(turn, 2_000).unwrap());
    }

    #[test]
    fn taking_up_unsuspended_turn_is_refused_without_violation() {
        let instance = crate::memory::testing::Instance::new();
        let mut memory = instance.open();
        let _call = memory.direct(1, "fs_read");
        memory.say(2, "do it");
        memory.say(3, "do it");
        memory.begin(3);
        for turn in [1, 2, 3] {
            let word = TakeUpTurn { turn: crate::memory::testing::turn(turn) };
            memory.admit(&Word::TakeUpTurn(word.clone())).unwrap();
            assert_eq!(crate::memory::testing::no(memory.take_up_turn(&word)), "turn.not_suspended", "{turn}");
        }
        // The one that was only said can still begin.
        memory.begin(2);
    }

    #[test]
    fn a_planner_has_only_so_much_written_down_about_what_was_sent() {
        let instance = crate::memory::testing::Instance::new();
        let mut memory = instance.open();
        memory.say(1, "do it");
        memory.begin(1);
        let planner = crate::memory::testing::teller(metnos_proto::role::RoleName::Planner);
        let turn = crate::memory::testing::turn(1);
        let asked = |thought| ModelAsked { turn, thought, model: "a/b".to_owned() };
        for thought in 1..=u32::try_from(MAX_ASKED).unwrap() {
            memory.model_asked(planner, &asked(thought), b"{}".to_vec()).unwrap();
        }
        let no = |told| crate::memory::testing::no(told);
        assert_eq!(no(memory.model_asked(planner, &asked(99), b"{}".to_vec())), "thought.count");
        memory.say(2, "do it");
        memory.begin(2);
        let other = ModelAsked { turn: crate::memory::testing::turn(2), thought: 1, model: String::new() };
        assert_eq!(no(memory.model_asked(planner, &other, vec![b'x'; MAX_SENT + 1])), "thought.size");
        assert!(memory.model_asked(planner, &other, b"{}".to_vec()).is_ok());
    }

    #[test]
    fn expired_suspended_turn_is_dropped_and_oldest_evicted() {
        let (_dir, aside) = aside();
        let old = TurnId::new();
        aside.put(old, 0, b"x").unwrap();
        assert!(aside.has(old, SUSPENDED_MS).unwrap() && !aside.has(old, SUSPENDED_MS + 1).unwrap());
        assert!(aside.take(old, SUSPENDED_MS + 1).unwrap().is_none());
        let turns: Vec<TurnId> = (0..=MAX_SUSPENDED).map(|_| TurnId::new()).collect();
        for (at, turn) in turns.iter().enumerate() {
            aside.put(*turn, at as u64, b"x").unwrap();
        }
        assert!(!aside.has(turns[0], 0).unwrap());
        assert!(turns[1..].iter().all(|turn| aside.has(*turn, 0).unwrap()));
    }
}
