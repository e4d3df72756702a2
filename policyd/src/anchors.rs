//! The heads of the chronicle, signed and kept: whoever rewrites it, memoryd included, is caught by them (design:
//! memory §1). Nothing here is ever replaced, and nothing is decided before the memoryd at hand has proven that its chronicle
//! is what was signed.

use std::rc::Rc;
use std::time::Duration;

use metnos_proto::chain::{Anchor, GENESIS};
use metnos_proto::edge::AskError;
use metnos_proto::edges::policyd_memoryd::Note;
use metnos_proto::ids::{Sha256, TraceId};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::{Anchored, ChainHead};
use metnos_proto::msg::policyd::MAX_ANCHORS;
use metnos_proto::role::RoleName;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::act::memory_gone;
use crate::policy::Policy;
use crate::store::{Store, StoreError};

/// How long to wait before a memoryd that could not say is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long a decision waits for a memoryd that is being started anew. With [`PROVEN_WITHIN`] it is less than the shortest time
/// in which an ask that decides is answered (`fund_turn` in proto's edges).
const HERE_WITHIN: Duration = Duration::from_secs(3);
/// How long a decision waits for the proof of the memoryd that has come.
const PROVEN_WITHIN: Duration = Duration::from_secs(5);
/// What is said while nobody knows.
const UNPROVEN: &str = "memoryd has not shown yet that the chronicle is what policyd has signed, so nothing is decided";
/// The rule under which memoryd says that its chronicle was altered.
const ALTERED: &str = "chronicle.altered";

/// What is known of the chronicle.
#[derive(Debug, Default)]
pub struct Chain {
    /// The head that was signed last.
    pub last: Option<Anchor>,
    /// Why the chronicle is not what was signed; `None` while nothing speaks against it.
    pub broken: Option<String>,
    /// The link over which memoryd has said whether its chronicle is what was signed; 0 while it has to. Sent anew with all that
    /// is learned of it, also that it could not say.
    proven: watch::Sender<u32>,
    /// Over which link memoryd could not say so, and why.
    hindered: Option<(u32, Refusal)>,
}

/// Makes the table, beside those of the registry.
pub(crate) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS anchors (
             seq INTEGER PRIMARY KEY CHECK (seq >= 1),
             hash BLOB NOT NULL CHECK (length(hash) = 32), root BLOB NOT NULL CHECK (length(root) = 32),
             ts_ms INTEGER NOT NULL, signature BLOB NOT NULL CHECK (length(signature) = 64)
         ) STRICT;
         CREATE TRIGGER IF NOT EXISTS anchors_stay BEFORE UPDATE ON anchors
             BEGIN SELECT RAISE(ABORT, 'an anchor never changes'); END;",
    )
}

fn read(row: &Row<'_>) -> rusqlite::Result<(Anchor, [u8; 64])> {
    let number = |column: usize| -> rusqlite::Result<u64> {
        let number: i64 = row.get(column)?;
        u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, number))
    };
    let anchor = Anchor { seq: number(0)?, hash: Sha256(row.get(1)?), root: Sha256(row.get(2)?), ts_ms: number(3)? };
    Ok((anchor, row.get(4)?))
}

/// The head that was signed last.
pub(crate) fn last(connection: &Connection) -> rusqlite::Result<Option<Anchor>> {
    let sql = "SELECT seq, hash, root, ts_ms, signature FROM anchors ORDER BY seq DESC LIMIT 1";
    Ok(connection.query_row(sql, [], read).optional()?.map(|(anchor, _)| anchor))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// Keeps a signed head, durably.
    ///
    /// # Errors
    /// When it could not be made durable.
    pub async fn anchored(&self, anchor: Anchor, signature: [u8; 64]) -> Result<(), StoreError> {
        self.run(move |connection| {
            let values = params![signed(anchor.seq), anchor.hash.0, anchor.root.0, signed(anchor.ts_ms), signature];
            connection.execute("INSERT INTO anchors VALUES (?1, ?2, ?3, ?4, ?5)", values).map(|_| ())
        })
        .await
    }

    /// The whole database as the bytes of one file, consistent while it is in use.
    ///
    /// # Errors
    /// When the database says no.
    pub async fn copy(&self) -> Result<Vec<u8>, StoreError> {
        self.run(|connection| {
            // What stands in the write-ahead log goes into the copy, too; a file without a log must not say it has one.
            let mut copy = Connection::open_in_memory()?;
            rusqlite::backup::Backup::new(connection, &mut copy)?.run_to_completion(1024, Duration::ZERO, None)?;
            copy.execute_batch("PRAGMA journal_mode = DELETE;")?;
            Ok(copy.serialize("main")?.to_vec())
        })
        .await
    }

    /// The signed heads after line `after`, at most [`MAX_ANCHORS`] and one more.
    ///
    /// # Errors
    /// When the database says no.
    pub async fn anchors(&self, after: u64) -> Result<Vec<(Anchor, [u8; 64])>, StoreError> {
        self.run(move |connection| {
            let sql = "SELECT seq, hash, root, ts_ms, signature FROM anchors WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            connection.prepare(sql)?.query_map([signed(after), i64::from(MAX_ANCHORS) + 1], read)?.collect()
        })
        .await
    }
}

impl Policy {
    /// What was signed before this start.
    pub fn know_anchor(&self, last: Option<Anchor>) {
        self.chain.borrow_mut().last = last;
    }

    /// Nothing is decided on a chronicle that is not what was signed, nor before the memoryd at hand has proven that it is:
    /// waits a moment for that.
    ///
    /// # Errors
    /// What speaks against the chronicle, or hinders memoryd from proving it.
    pub(crate) async fn chain_holds(&self) -> Result<(), Refusal> {
        if let Some(said) = self.said_of_chain() {
            return said;
        }
        let here = async { self.memory.generations().wait_for(|generation| *generation != 0).await.is_ok() };
        if !timeout(HERE_WITHIN, here).await.unwrap_or(false) {
            return self.said_of_chain().unwrap_or_else(|| Err(memory_gone(&AskError::Gone(RoleName::Memoryd))));
        }
        let mut news = self.chain.borrow().proven.subscribe();
        let said = async {
            loop {
                if let Some(said) = self.said_of_chain() {
                    return Some(said);
                }
                news.changed().await.ok()?;
            }
        };
        timeout(PROVEN_WITHIN, said).await.ok().flatten().unwrap_or_else(|| {
            Err(Refusal::new(RefusalCode::Unavailable, "chronicle.unproven", UNPROVEN)
                .remedy("try again in a moment, or look at `metnosctl status`"))
        })
    }

    /// Why nothing is decided now; empty when the chronicle is what was signed.
    pub(crate) fn undecided(&self) -> String {
        match self.said_of_chain() {
            Some(Ok(())) => String::new(),
            Some(Err(refusal)) => refusal.why,
            None => UNPROVEN.to_owned(),
        }
    }

    /// What is known of the chronicle of the memoryd at hand; `None` while it has to prove itself.
    fn said_of_chain(&self) -> Option<Result<(), Refusal>> {
        let chain = self.chain.borrow();
        if let Some(why) = &chain.broken {
            let why = format!("the chronicle is not what policyd has signed, so nothing is decided: {why}");
            return Some(Err(Refusal::new(RefusalCode::Unavailable, "chronicle.anchor", why).remedy(
                "`metnosctl audit verify` shows where; restore the instance from a backup: `metnosctl restore`",
            )));
        }
        let here = Some(*self.memory.generations().borrow()).filter(|generation| *generation != 0)?;
        if *chain.proven.borrow() == here {
            return Some(Ok(()));
        }
        chain.hindered.clone().filter(|(link, _)| *link == here).map(|(_, refusal)| Err(refusal))
    }

    /// Has every memoryd that comes prove itself by the head that was signed last, then signs what it tells, until the
    /// daemon ends.
    pub async fn keep_chain(self: Rc<Self>) {
        let Some(mut notes) = self.memory.take_notes() else { return };
        let mut generations = self.memory.generations();
        loop {
            let here = *generations.borrow_and_update();
            let (proven, broken) = self.chain_stands();
            let unproven = here != 0 && here != proven;
            if unproven && self.prove(here).await {
                continue;
            }
            tokio::select! {
                changed = generations.changed() => if changed.is_err() { return },
                note = notes.recv() => match note {
                    // One told before memoryd's proof may be read only after it; one that has lost lines tells the same. Nothing
                    // is decided until it has proven itself anew.
                    Some(Note::ChainHead(head)) if !unproven && !broken => {
                        if !self.anchor(head).await {
                            self.chain_is(0, None);
                        }
                    }
                    // Of one that has yet to prove itself, did not, or has gone.
                    Some(Note::ChainHead(_)) => {}
                    None => return,
                },
                () = tokio::time::sleep(ASK_AGAIN), if unproven => {}
            }
        }
    }

    /// Over which link memoryd has proven itself, and whether the chronicle is not what was signed.
    fn chain_stands(&self) -> (u32, bool) {
        let chain = self.chain.borrow();
        let proven = *chain.proven.borrow();
        (proven, chain.broken.is_some())
    }

    /// Tells whoever waits for it over which link memoryd has proven itself, or could not.
    fn chain_is(&self, proven: u32, hindered: Option<(u32, Refusal)>) {
        let mut chain = self.chain.borrow_mut();
        chain.hindered = hindered;
        chain.proven.send_replace(proven);
    }

    /// Asks memoryd over link `here`, or over one that came since, whether the last head still stands; whether it has answered.
    async fn prove(self: &Rc<Self>, here: u32) -> bool {
        let last = self.chain.borrow().last;
        let (seq, hash) = last.map_or((0, GENESIS), |last| (last.seq, last.hash));
        match self.memory.anchored(TraceId::NONE, Anchored { seq, hash }, []).await {
            Ok((head, [])) => {
                self.chain.borrow_mut().broken = None;
                let told = head.seq;
                if !self.anchor(head).await {
                    self.distrust(format!("line {seq} was signed, and memoryd tells that line {told} is the last"));
                }
            }
            Err(AskError::Refused(refusal)) if refusal.rule == ALTERED => self.distrust(refusal.why),
            Err(error) => {
                tracing::warn!(%error, "memoryd has not said whether the chronicle is what was signed");
                // One that is there and cannot say is not waited for; one that has gone is.
                let hindered = match error {
                    AskError::Refused(refusal) => {
                        let why = format!(
                            "memoryd cannot show that the chronicle is what was signed, so nothing is decided: {}",
                            refusal.why
                        );
                        Some((here, Refusal { why, ..refusal }))
                    }
                    _ => None,
                };
                self.chain_is(0, hindered);
                return false;
            }
        }
        self.chain_is(here, None);
        true
    }

    /// Signs a head and keeps it. Another one at the line that was signed last is an alarm; one before it says nothing by
    /// itself: `false`.
    async fn anchor(self: &Rc<Self>, head: ChainHead) -> bool {
        let last = self.chain.borrow().last;
        if let Some(last) = last.filter(|last| head.seq <= last.seq) {
            if head.seq == last.seq && head.hash != last.hash {
                self.distrust(format!("line {} was signed, and memoryd tells of another one there", last.seq));
            }
            return head.seq == last.seq;
        }
        if head.seq == 0 {
            return true;
        }
        let anchor = Anchor { seq: head.seq, hash: head.hash, root: head.root, ts_ms: self.clock.wall_ms() };
        match self.store.anchored(anchor, self.key.sign_anchor(&anchor)).await {
            Ok(()) => self.chain.borrow_mut().last = Some(anchor),
            Err(error) => tracing::error!(%error, "a head of the chronicle could not be kept"),
        }
        true
    }

    fn distrust(self: &Rc<Self>, why: String) {
        tracing::error!(%why, "the chronicle is not what was signed: nothing is decided any more");
        self.chain.borrow_mut().broken = Some(why.clone());
        self.event("chronicle_broken", &why, None);
    }
}
