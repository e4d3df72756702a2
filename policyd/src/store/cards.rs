//! Cards, stored words and the owner's one-time codes in `policy.sqlite`. An answer is taken by one
//! statement that changes exactly one row, and names the digest of what was shown, so that no two answers
//! to a card can both count; each act of a card is begun by another such statement, so that none is begun
//! twice. All of it is durable before anything follows.

use metnos_proto::ids::{TraceId, TurnId};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};

use crate::approvals::grants::Grant;
use crate::approvals::matter::matter;
use crate::approvals::totp::Enrolled;
use crate::approvals::{Card, CardState};
use crate::store::{Store, StoreError};
use crate::vault::Vault;

/// The table of form 2, whose cards held one act each.
pub(crate) const FIRST_TABLE: &str = "CREATE TABLE cards (id TEXT PRIMARY KEY) STRICT;";

/// The tables, as the form that has them makes them. Cards of before have expired by then.
pub(crate) const TABLES: &str = "
    DROP TABLE cards;
    CREATE TABLE cards (
        id TEXT PRIMARY KEY, principal TEXT NOT NULL, turn TEXT NOT NULL, acts TEXT NOT NULL, digest TEXT NOT NULL,
        made_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL, state TEXT NOT NULL, answered_by TEXT NOT NULL,
        begun INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE grants (id TEXT PRIMARY KEY, body TEXT NOT NULL, expires_ms INTEGER NOT NULL) STRICT;
    CREATE TABLE codes (
        one INTEGER PRIMARY KEY CHECK (one = 1), secret BLOB NOT NULL, confirmed INTEGER NOT NULL,
        last_step INTEGER NOT NULL, wrong INTEGER NOT NULL, locked_until_ms INTEGER NOT NULL
    ) STRICT;";

/// What a turn is opened anew with, when it is gone by the time its card is answered.
pub(crate) const TRACE_COLUMN: &str = "ALTER TABLE cards ADD COLUMN trace TEXT NOT NULL DEFAULT '';";

/// What a card is about, sealed with the key of the vault: it holds what persons have said. Cards of before have their acts in
/// the column of that name, in plain text.
pub(crate) const MATTER_COLUMN: &str = "ALTER TABLE cards ADD COLUMN matter BLOB NOT NULL DEFAULT x'';";

const COLUMNS: &str = "id, principal, turn, acts, made_ms, expires_ms, state, answered_by, begun, trace, matter";

/// What of this was in the database when it was opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Words {
    /// Every card, oldest first.
    pub cards: Vec<Card>,
    /// Every stored word.
    pub grants: Vec<Grant>,
    /// The owner's codes.
    pub codes: Option<Enrolled>,
}

/// Reads all of it.
///
/// # Errors
/// [`StoreError::Damaged`] when a row is none.
pub(crate) fn load(connection: &Connection, vault: &Vault) -> Result<Words, StoreError> {
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM cards ORDER BY made_ms, id"))?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, read(row, vault)?)))?;
    let card = |(id, card): (String, Option<Card>)| card.ok_or(StoreError::Damaged(format!("card {id}")));
    let cards = rows.map(|row| row.map_err(StoreError::from).and_then(card)).collect::<Result<_, _>>()?;
    let mut statement = connection.prepare("SELECT id, body FROM grants ORDER BY id")?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let grant = |(id, body): (String, String)| {
        serde_json::from_str(&body).map_err(|_| StoreError::Damaged(format!("grant {id}")))
    };
    let grants = rows.map(|row| row.map_err(StoreError::from).and_then(grant)).collect::<Result<_, _>>()?;
    let codes = connection
        .query_row("SELECT secret, confirmed, last_step, wrong, locked_until_ms FROM codes", [], |row| {
            Ok(Enrolled {
                secret: row.get(0)?,
                confirmed: row.get(1)?,
                last_step: unsigned(row.get(2)?),
                wrong: row.get(3)?,
                locked_until_ms: unsigned(row.get(4)?),
            })
        })
        .optional()?;
    Ok(Words { cards, grants, codes })
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn read(row: &SqlRow<'_>, vault: &Vault) -> rusqlite::Result<Option<Card>> {
    let number = |at: usize| -> rusqlite::Result<Option<u64>> { Ok(u64::try_from(row.get::<_, i64>(at)?).ok()) };
    let turn = row.get::<_, String>(2)?.parse::<TurnId>().ok();
    let matter = matter(&row.get::<_, String>(0)?, (&row.get::<_, String>(3)?, &row.get::<_, Vec<u8>>(10)?), vault);
    let state = CardState::parse(&row.get::<_, String>(6)?);
    let begun = number(8)?.and_then(|begun| usize::try_from(begun).ok());
    let (Some(turn), Some((acts, offer)), Some(state), Some(begun), Some(made_ms), Some(expires_ms)) =
        (turn, matter, state, begun, number(4)?, number(5)?)
    else {
        return Ok(None);
    };
    let (id, principal, answered_by) = (row.get(0)?, row.get(1)?, row.get(7)?);
    // A card of before the column has none, and its turn is not opened anew.
    let trace = row.get::<_, String>(9)?.parse::<TraceId>().unwrap_or(TraceId::NONE);
    Ok(Some(Card { id, principal, turn, trace, acts, offer, made_ms, expires_ms, state, answered_by, begun }))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// Records a card with its matter, sealed, before anybody learns of it, and drops those that nobody looks at any more.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn card(&self, card: Card, matter: Vec<u8>, forget_before_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            connection.execute("DELETE FROM cards WHERE expires_ms < ?1", [signed(forget_before_ms)])?;
            connection
                .execute(
                    "INSERT INTO cards VALUES (?1, ?2, ?3, '', ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10)",
                    params![
                        card.id,
                        card.principal,
                        card.turn.to_string(),
                        card.digest().to_string(),
                        signed(card.made_ms),
                        signed(card.expires_ms),
                        card.state.name(),
                        card.answered_by,
                        card.trace.to_string(),
                        matter,
                    ],
                )
                .map(|_| ())
        })
        .await
    }

    /// Records that a card that waits has become `card`, with its matter, sealed; whether it still waited as `before`.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn extend_card(&self, card: Card, matter: Vec<u8>, before: String) -> Result<bool, StoreError> {
        self.run(move |connection| {
            let changed = connection.execute(
                "UPDATE cards SET acts = '', matter = ?3, digest = ?4, made_ms = ?5, expires_ms = ?6
                 WHERE id = ?1 AND state = 'waiting' AND digest = ?2",
                params![
                    card.id,
                    before,
                    matter,
                    card.digest().to_string(),
                    signed(card.made_ms),
                    signed(card.expires_ms)
                ],
            )?;
            Ok(changed == 1)
        })
        .await
    }

    /// Takes an answer to a card that waits, as it was shown, and has not expired; whether this one counts.
    ///
    /// # Errors
    /// When it could not be made durable: then it does not count.
    pub async fn answer_card(
        &self,
        id: String,
        digest: String,
        state: CardState,
        by: String,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        self.run(move |connection| {
            let changed = connection.execute(
                "UPDATE cards SET state = ?3, answered_by = ?4
                 WHERE id = ?1 AND digest = ?2 AND state = 'waiting' AND expires_ms > ?5",
                params![id, digest, state.name(), by, signed(now_ms)],
            )?;
            Ok(changed == 1)
        })
        .await
    }

    /// Begins act number `at` of an approved card; whether nobody had.
    ///
    /// # Errors
    /// When it could not be made durable: then it must not begin.
    pub async fn begin_of_card(&self, id: String, at: usize) -> Result<bool, StoreError> {
        let at = i64::try_from(at).unwrap_or(i64::MAX - 1);
        self.run(move |connection| {
            let changed = connection.execute(
                "UPDATE cards SET begun = ?2 + 1 WHERE id = ?1 AND state = 'approved' AND begun = ?2",
                params![id, at],
            )?;
            Ok(changed == 1)
        })
        .await
    }

    /// Deletes these cards.
    ///
    /// # Errors
    /// When it could not be made durable: then all of them are there.
    pub async fn forget_cards(&self, ids: Vec<String>) -> Result<(), StoreError> {
        self.run(move |connection| {
            let change = connection.transaction()?;
            for id in &ids {
                change.execute("DELETE FROM cards WHERE id = ?1", [id])?;
            }
            change.commit()
        })
        .await
    }

    /// Stores a word of the owner's, and drops those that have ended.
    ///
    /// # Errors
    /// When it could not be made durable: then it does not count.
    pub async fn grant(&self, grant: Grant, now_ms: u64) -> Result<(), StoreError> {
        self.run(move |connection| {
            let body = serde_json::to_string(&grant)
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
            connection.execute("DELETE FROM grants WHERE expires_ms <= ?1", [signed(now_ms)])?;
            connection
                .execute("INSERT INTO grants VALUES (?1, ?2, ?3)", params![grant.id, body, signed(grant.expires_ms)])
                .map(|_| ())
        })
        .await
    }

    /// Takes a stored word back; whether there was one.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn revoke(&self, id: String) -> Result<bool, StoreError> {
        self.run(move |connection| Ok(connection.execute("DELETE FROM grants WHERE id = ?1", [id])? == 1)).await
    }

    /// Keeps the owner's codes, or forgets them.
    ///
    /// # Errors
    /// When it could not be made durable: then no code counts.
    pub async fn codes(&self, codes: Option<Enrolled>) -> Result<(), StoreError> {
        self.run(move |connection| match codes {
            None => connection.execute("DELETE FROM codes", []).map(|_| ()),
            Some(codes) => connection
                .execute(
                    "INSERT OR REPLACE INTO codes VALUES (1, ?1, ?2, ?3, ?4, ?5)",
                    params![
                        codes.secret,
                        codes.confirmed,
                        signed(codes.last_step),
                        codes.wrong,
                        signed(codes.locked_until_ms)
                    ],
                )
                .map(|_| ()),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::approvals::grants::{Scope, Target};
    use crate::approvals::matter::sealed;
    use crate::approvals::tests::{asked, card, offered};
    use crate::opened::Opened;

    const KEY: [u8; 32] = [1; 32];

    #[tokio::test(flavor = "current_thread")]
    async fn a_card_survives_a_restart_and_is_answered_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = Opened::open(folder.path(), &KEY).unwrap();
        let store = first.start().unwrap();
        let vault = first.kept.vault.0;
        let offer = Card { acts: Vec::new(), offer: Some(offered()), ..card("b") };
        let keep = async |one: &Card, forget| store.card(one.clone(), sealed(&vault, one).unwrap(), forget).await;
        keep(&card("a"), 0).await.unwrap();
        keep(&offer, 0).await.unwrap();
        assert!(keep(&card("a"), 0).await.is_err(), "a name is used once");
        drop(store);
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let holds = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
            assert!(
                !holds("what is planned") && !holds(r#""path":"old""#),
                "what a card is about lies open on the disk"
            );
        }
        let mut opened = reopened(folder.path());
        assert_eq!(opened.kept.words.cards, [card("a"), offer]);
        let store = opened.start().unwrap();
        let digest = card("a").digest().to_string();
        let answer = async |id: &str, digest: &str, now| {
            store.answer_card(id.into(), digest.into(), CardState::Approved, "me".into(), now).await.unwrap()
        };
        assert!(!answer("a", &digest, card("a").expires_ms).await, "too late");
        assert!(!answer("a", "blake3:other", 2_000).await, "as it was not shown");
        assert!(answer("a", &digest, 2_000).await);
        assert!(!answer("a", &digest, 2_000).await, "once");
        assert!(!answer("c", &digest, 2_000).await);
        assert!(store.begin_of_card("a".into(), 0).await.unwrap());
        assert!(!store.begin_of_card("a".into(), 0).await.unwrap(), "each act once");
        assert!(!store.begin_of_card("b".into(), 0).await.unwrap(), "not without a yes");
        let last = card("d");
        store.card(last.clone(), sealed(&opened.kept.vault.0, &last).unwrap(), u64::MAX / 4).await.unwrap();
        drop(store);
        let left = reopened(folder.path()).kept.words.cards;
        assert_eq!(left.iter().map(|card| card.id.as_str()).collect::<Vec<_>>(), ["d"]);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn extended_card_has_new_digest_and_answered_card_is_not_extended() {
        let folder = tempfile::tempdir().unwrap();
        let mut opened = Opened::open(folder.path(), &KEY).unwrap();
        let store = opened.start().unwrap();
        let seal = |card: &Card| sealed(&opened.kept.vault.0, card).unwrap();
        store.card(card("a"), seal(&card("a")), 0).await.unwrap();
        let more = Card { acts: vec![asked(), asked()], ..card("a") };
        let (old, new) = (card("a").digest().to_string(), more.digest().to_string());
        assert!(store.extend_card(more.clone(), seal(&more), old.clone()).await.unwrap());
        assert!(!store.extend_card(more.clone(), seal(&more), old.clone()).await.unwrap());
        let answer = async |digest: &str| {
            store.answer_card("a".into(), digest.into(), CardState::Approved, "me".into(), 2_000).await.unwrap()
        };
        assert!(!answer(&old).await);
        assert!(answer(&new).await);
        assert!(!store.extend_card(more.clone(), seal(&more), new).await.unwrap());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn stored_words_and_codes_survive_a_restart_until_they_are_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let store = Opened::open(folder.path(), &KEY).unwrap().start().unwrap();
        let grant = Grant {
            id: "a".into(),
            principal: "cli:uid:1000".into(),
            executor: asked().executor,
            digests: asked().digests,
            scope: Scope { targets: vec![("/path".into(), Target::Within("/w".into()))] },
            allows: true,
            turn: None,
            made_ms: 1,
            expires_ms: 9,
            uses: 0,
        };
        store.grant(grant.clone(), 1).await.unwrap();
        let codes = Enrolled { wrong: 3, ..Enrolled::new(vec![7; 20]) };
        store.codes(Some(codes.clone())).await.unwrap();
        drop(store);
        let mut opened = reopened(folder.path());
        assert_eq!((opened.kept.words.grants.clone(), opened.kept.words.codes.clone()), (vec![grant], Some(codes)));
        let store = opened.start().unwrap();
        assert!(store.revoke("a".into()).await.unwrap());
        assert!(!store.revoke("a".into()).await.unwrap());
        store.codes(None).await.unwrap();
        drop(store);
        assert_eq!(reopened(folder.path()).kept.words, Words::default());
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
