//! Cards in `policy.sqlite`. An answer is taken by one statement that changes exactly one row,
//! so that no two answers to a card can both count; it is durable before anything follows.

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId};
use rusqlite::{Connection, Row as SqlRow, params};

use crate::approvals::{Card, CardState, Count};
use crate::store::{Store, StoreError};

/// The table, as the form that has it makes it.
pub(crate) const TABLE: &str = "
    CREATE TABLE cards (
        id TEXT PRIMARY KEY, principal TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
        manifest_digest BLOB NOT NULL, code_digest BLOB NOT NULL, schema_digest BLOB NOT NULL, profile_digest BLOB NOT NULL,
        arguments TEXT NOT NULL, class TEXT NOT NULL, reversible INTEGER NOT NULL, rule TEXT NOT NULL, why TEXT NOT NULL,
        fields TEXT NOT NULL, files INTEGER, folders INTEGER, bytes INTEGER,
        made_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, state TEXT NOT NULL, answered_by TEXT NOT NULL
    ) STRICT;";

/// Every card, oldest first.
///
/// # Errors
/// [`StoreError::Damaged`] when a row is none.
pub(crate) fn load(connection: &Connection) -> Result<Vec<Card>, StoreError> {
    let mut statement = connection.prepare("SELECT * FROM cards ORDER BY made_ms, id")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, read(row)?)))?;
    rows.map(|row| {
        row.map_err(StoreError::from).and_then(|(id, card)| card.ok_or(StoreError::Damaged(format!("card {id}"))))
    })
    .collect()
}

fn read(row: &SqlRow<'_>) -> rusqlite::Result<Option<Card>> {
    let digest = |at: usize| -> rusqlite::Result<Option<Blake3>> {
        Ok(<[u8; 32]>::try_from(row.get::<_, Vec<u8>>(at)?).ok().map(Blake3))
    };
    let number = |at: usize| -> rusqlite::Result<Option<u64>> { Ok(u64::try_from(row.get::<_, i64>(at)?).ok()) };
    let maybe = |at: usize| -> rusqlite::Result<Option<u64>> {
        Ok(row.get::<_, Option<i64>>(at)?.and_then(|number| u64::try_from(number).ok()))
    };
    let (Some(manifest), Some(code), Some(schema), Some(profile)) = (digest(4)?, digest(5)?, digest(6)?, digest(7)?)
    else {
        return Ok(None);
    };
    let fields = serde_json::from_str(&row.get::<_, String>(13)?).ok();
    let state = CardState::parse(&row.get::<_, String>(19)?);
    let (Some(fields), Some(state), Some(made_ms), Some(expires_ms)) = (fields, state, number(17)?, number(18)?) else {
        return Ok(None);
    };
    let count = match (maybe(14)?, maybe(15)?, maybe(16)?) {
        (Some(files), Some(folders), Some(bytes)) => Some(Count { files, folders, bytes }),
        _ => None,
    };
    Ok(Some(Card {
        id: row.get(0)?,
        principal: row.get(1)?,
        executor: ExecutorId { name: row.get(2)?, version: row.get(3)? },
        digests: ExecutorDigests { manifest, code, schema, profile },
        arguments: row.get(8)?,
        class: row.get(9)?,
        reversible: row.get(10)?,
        rule: row.get(11)?,
        why: row.get(12)?,
        fields,
        count,
        made_ms,
        expires_ms,
        state,
        answered_by: row.get(20)?,
    }))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// Records a card, before anybody hears of it, and drops those that nobody looks at any more.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn card(&self, card: Card, forget_before_ms: u64) -> Result<(), StoreError> {
        let fields = serde_json::to_string(&card.fields).unwrap_or_else(|_| "[]".to_owned());
        self.run(move |connection| {
            connection.execute("DELETE FROM cards WHERE expires_ms < ?1", [signed(forget_before_ms)])?;
            let digests = &card.digests;
            let count = card.count;
            connection
                .execute(
                    "INSERT INTO cards VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
                    params![
                        card.id,
                        card.principal,
                        card.executor.name,
                        card.executor.version,
                        digests.manifest.0.as_slice(),
                        digests.code.0.as_slice(),
                        digests.schema.0.as_slice(),
                        digests.profile.0.as_slice(),
                        card.arguments,
                        card.class,
                        card.reversible,
                        card.rule,
                        card.why,
                        fields,
                        count.map(|count| signed(count.files)),
                        count.map(|count| signed(count.folders)),
                        count.map(|count| signed(count.bytes)),
                        signed(card.made_ms),
                        signed(card.expires_ms),
                        card.state.name(),
                        card.answered_by,
                    ],
                )
                .map(|_| ())
        })
        .await
    }

    /// Takes an answer to a card that waits and has not expired; whether this one counts.
    ///
    /// # Errors
    /// When it could not be made durable: then it does not count.
    pub async fn answer_card(&self, id: String, state: CardState, by: String, now_ms: u64) -> Result<bool, StoreError> {
        self.run(move |connection| {
            let changed = connection.execute(
                "UPDATE cards SET state = ?2, answered_by = ?3 WHERE id = ?1 AND state = 'waiting' AND expires_ms > ?4",
                params![id, state.name(), by, signed(now_ms)],
            )?;
            Ok(changed == 1)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::tests::card;
    use crate::store::Opened;

    const KEY: [u8; 32] = [1; 32];

    #[tokio::test(flavor = "current_thread")]
    async fn a_card_survives_a_restart_and_is_answered_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        store.card(card("a"), 0).await.unwrap();
        store.card(card("b"), 0).await.unwrap();
        assert!(store.card(card("a"), 0).await.is_err(), "a name is used once");
        drop(store);
        let opened = reopened(folder.path());
        assert_eq!(opened.cards, [card("a"), card("b")]);
        let store = opened.start().unwrap();
        let answer =
            async |id: &str, now| store.answer_card(id.into(), CardState::Approved, "me".into(), now).await.unwrap();
        assert!(!answer("a", card("a").expires_ms).await, "too late");
        assert!(answer("a", 2_000).await);
        assert!(!answer("a", 2_000).await, "once");
        assert!(!answer("c", 2_000).await);
        store.card(card("d"), u64::MAX / 4).await.unwrap();
        drop(store);
        let left = reopened(folder.path()).cards;
        assert_eq!(left.iter().map(|card| card.id.as_str()).collect::<Vec<_>>(), ["d"]);
    }

    fn reopened(folder: &std::path::Path) -> Opened {
        for _ in 0..200 {
            match Opened::open(folder, &KEY) {
                Ok(opened) => return opened,
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(5)),
            }
        }
        panic!("the thread before does not end");
    }
}
