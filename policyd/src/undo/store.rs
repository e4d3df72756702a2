//! Acts with a way back, in `policy.sqlite`: noted before the act begins, and moved on by statements
//! that change exactly one row, so that an inverse is never begun for an act that was taken back.

use metnos_proto::doc::undo::ActState;
use metnos_proto::ids::{CallId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Act, KEPT_MS, MAX_ACTS};
use crate::store::{Store, StoreError};

/// The table, as the form that has it makes it.
pub(crate) const TABLE: &str = "
    CREATE TABLE acts (
        n INTEGER PRIMARY KEY AUTOINCREMENT, call TEXT NOT NULL UNIQUE, turn TEXT NOT NULL, principal TEXT NOT NULL,
        executor TEXT NOT NULL, inverse TEXT NOT NULL, arguments TEXT NOT NULL, at_ms INTEGER NOT NULL, state TEXT NOT NULL
    ) STRICT;
    CREATE INDEX acts_by_turn ON acts (turn);";

/// What an act put somewhere, by digests of its words.
pub(crate) const THINGS_COLUMN: &str = "ALTER TABLE acts ADD COLUMN things TEXT NOT NULL DEFAULT '';";

const COLUMNS: &str = "call, turn, principal, executor, inverse, arguments, at_ms, state, things";

/// What was under way when policyd ended came to an end that nobody here has seen.
///
/// # Errors
/// When the database refuses.
pub(crate) fn settle(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE acts SET state = 'unknown' WHERE state = 'begun'", [])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Act>> {
    let call = row.get::<_, String>(0)?.parse::<CallId>().ok();
    let turn = row.get::<_, String>(1)?.parse::<TurnId>().ok();
    let at_ms = u64::try_from(row.get::<_, i64>(6)?).ok();
    let state = ActState::named(&row.get::<_, String>(7)?);
    let (Some(call), Some(turn), Some(at_ms), Some(state)) = (call, turn, at_ms, state) else { return Ok(None) };
    let (principal, executor, things) = (row.get(2)?, row.get(3)?, row.get(8)?);
    Ok(Some(Act {
        call,
        turn,
        principal,
        executor,
        inverse: row.get(4)?,
        arguments: row.get(5)?,
        at_ms,
        state,
        things,
    }))
}

fn whole(rows: Vec<Option<Act>>) -> Result<Vec<Act>, StoreError> {
    rows.into_iter().map(|act| act.ok_or_else(|| StoreError::Damaged("an act".to_owned()))).collect()
}

impl Store {
    /// Notes an act before it begins, and drops those that are too old or too many.
    ///
    /// # Errors
    /// When it could not be made durable: then the act must not begin.
    pub(crate) async fn note_act(&self, act: Act) -> Result<(), StoreError> {
        self.run(move |connection| {
            let now = i64::try_from(act.at_ms).unwrap_or(i64::MAX);
            let oldest = i64::try_from(act.at_ms.saturating_sub(KEPT_MS)).unwrap_or(0);
            let transaction = connection.transaction()?;
            transaction.execute("DELETE FROM acts WHERE at_ms < ?1", [oldest])?;
            transaction.execute(
                "DELETE FROM acts WHERE n <= (SELECT coalesce(max(n), 0) FROM acts) - ?1",
                [i64::from(MAX_ACTS) - 1],
            )?;
            transaction.execute(
                &format!("INSERT INTO acts ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"),
                params![
                    act.call.to_string(),
                    act.turn.to_string(),
                    act.principal,
                    act.executor,
                    act.inverse,
                    act.arguments,
                    now,
                    act.state.name(),
                    act.things
                ],
            )?;
            transaction.commit()
        })
        .await
    }

    /// Moves an act on, if it stands in one of these states; whether it did.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub(crate) async fn move_act(&self, call: CallId, from: &[ActState], to: ActState) -> Result<bool, StoreError> {
        let from: Vec<&'static str> = from.iter().map(|state| state.name()).collect();
        self.run(move |connection| {
            let mut changed = 0;
            for state in from {
                changed += connection.execute(
                    "UPDATE acts SET state = ?3 WHERE call = ?1 AND state = ?2",
                    params![call.to_string(), state, to.name()],
                )?;
                if changed > 0 {
                    break;
                }
            }
            Ok(changed == 1)
        })
        .await
    }

    /// The acts of a turn, in the order in which they began.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) async fn acts_of(&self, turn: TurnId) -> Result<Vec<Act>, StoreError> {
        let rows = self.run(move |connection| {
            let mut statement =
                connection.prepare(&format!("SELECT {COLUMNS} FROM acts WHERE turn = ?1 ORDER BY n"))?;
            statement.query_map([turn.to_string()], read)?.collect::<rusqlite::Result<Vec<_>>>()
        });
        whole(rows.await?)
    }

    /// The last acts, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) async fn last_acts(&self, most: u32) -> Result<Vec<Act>, StoreError> {
        let rows = self.run(move |connection| {
            let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM acts ORDER BY n DESC LIMIT ?1"))?;
            statement.query_map([most], read)?.collect::<rusqlite::Result<Vec<_>>>()
        });
        whole(rows.await?)
    }

    /// The acts of this principal that can be taken back, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(crate) async fn undoable_of(&self, principal: String, most: u32) -> Result<Vec<Act>, StoreError> {
        let rows = self.run(move |connection| {
            let mut statement = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM acts WHERE principal = ?1 AND state IN ('done', 'unknown', 'undoing') ORDER BY n DESC LIMIT ?2"
            ))?;
            statement.query_map(params![principal, most], read)?.collect::<rusqlite::Result<Vec<_>>>()
        });
        whole(rows.await?)
    }

    /// The turn of the last act of this principal that can be taken back.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) async fn last_turn(&self, principal: String) -> Result<Option<TurnId>, StoreError> {
        let found = self.run(move |connection| {
            connection
                .query_row(
                    "SELECT turn FROM acts WHERE principal = ?1 AND state IN ('done', 'unknown', 'undoing') ORDER BY n DESC LIMIT 1",
                    [principal],
                    |row| row.get::<_, String>(0),
                )
                .optional()
        });
        Ok(found.await?.and_then(|turn| turn.parse().ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opened::Opened;

    const KEY: [u8; 32] = [1; 32];

    fn act(n: u8, at_ms: u64) -> Act {
        Act {
            call: CallId::from_bytes([n; 16]),
            turn: TurnId::from_bytes([n / 2; 16]),
            principal: "cli:uid:1000".into(),
            executor: "fs_delete".into(),
            inverse: "fs_restore".into(),
            arguments: r#"{"path":"a"}"#.into(),
            at_ms,
            state: ActState::Begun,
            things: String::new(),
        }
    }

    fn reopened(folder: &std::path::Path) -> Store {
        for _ in 0..200 {
            match Opened::open(folder, &KEY) {
                Ok(mut opened) => return opened.start().unwrap(),
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        }
        panic!("the thread before does not end");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_act_that_was_under_way_is_unknown_afterwards_and_is_taken_back_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.note_act(act(2, 5)).await.unwrap();
        store.note_act(act(3, 6)).await.unwrap();
        assert!(store.note_act(act(3, 6)).await.is_err(), "a call is one act");
        assert!(store.move_act(act(3, 6).call, &[ActState::Begun], ActState::Done).await.unwrap());
        assert_eq!(store.last_turn("cli:uid:1000".into()).await.unwrap(), Some(act(3, 6).turn));
        assert_eq!(store.last_turn("cli:uid:1001".into()).await.unwrap(), None);
        drop(store);
        let store = reopened(folder.path());
        let states: Vec<ActState> = store.acts_of(act(2, 5).turn).await.unwrap().iter().map(|act| act.state).collect();
        assert_eq!(states, [ActState::Unknown, ActState::Done]);
        let can = [ActState::Done, ActState::Unknown, ActState::Undoing];
        assert!(store.move_act(act(3, 6).call, &can, ActState::Undoing).await.unwrap());
        assert!(store.move_act(act(3, 6).call, &can, ActState::Undone).await.unwrap());
        assert!(!store.move_act(act(3, 6).call, &can, ActState::Undoing).await.unwrap(), "once");
        assert_eq!(store.last_acts(1).await.unwrap()[0].call, act(3, 6).call);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn undo_record_expires() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.note_act(act(2, 5)).await.unwrap();
        store.note_act(act(3, 5 + KEPT_MS)).await.unwrap();
        assert_eq!(store.last_acts(9).await.unwrap().len(), 2);
        store.note_act(act(4, 6 + KEPT_MS)).await.unwrap();
        assert_eq!(store.last_acts(9).await.unwrap().len(), 2);
    }
}
