//! By which words each remembered turn is found: an FTS5 index whose every stem stands behind its scope.
//!
//! A scope is a peer. A question is looked up as stems of its own scope only, so that what
//! one person said cannot even be matched by another's question, nor change its scores. The
//! text itself stays in the chronicle, and a stem stands here as a digest under a key of its peer ([`crate::at_rest`]). Everything here can be rebuilt from there.

use std::collections::HashMap;
use std::path::Path;

use metnos_proto::msg::common::Trust;
use rusqlite::{Connection, OptionalExtension, params};

use super::{OWN_SPEAKERS, when};
use crate::at_rest::Keys;
use crate::chronicle::event::{trust_name, trust_named};
use crate::chronicle::index::open_projection;
use crate::error::{During, Error, Result};
use metnos_rank::lexicon;
use metnos_rank::words::{Language, language, stemmed, words};

/// The version of the tables.
pub const VERSION: i64 = 3;
/// After so many calls of no use, half of a turn's salience is left (design: memory §4).
pub const SALIENCE_HALF_LIFE: f64 = 2_000.0;
/// How much of what is left to one a use adds.
pub const SALIENCE_GAIN: f64 = 0.1;
/// How many scopes' turns are kept at hand.
pub const MAX_SCOPES_AT_HAND: usize = 4;
/// How often a stem is looked at in one turn: more of it says nothing new.
pub const MAX_TIMES: u32 = 64;
/// How long a silence ends a conversation, in milliseconds.
pub const SESSION_GAP_MS: u64 = 4 * 3_600_000;

const TABLES: &str = include_str!("store.sql");

/// The turn tells a time.
pub const MARK_TIME: u8 = 2;
/// The turn tells a number.
pub const MARK_NUMBER: u8 = 4;

/// A turn to be remembered.
#[derive(Debug, Clone)]
pub struct Turn<'a> {
    /// Its number: the line of the chronicle. Later turns have larger ones.
    pub doc: u64,
    /// Whose conversation it belongs to.
    pub peer: &'a str,
    /// The conversation inside the scope, when it is known; otherwise a silence of [`SESSION_GAP_MS`] ends one.
    pub session: Option<u32>,
    /// Who speaks.
    pub speaker: &'a str,
    /// When, in milliseconds since 1970.
    pub ts_ms: u64,
    /// The words.
    pub text: &'a str,
    /// Where they come from.
    pub trust: Trust,
}

/// What is at hand of a remembered turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doc {
    /// Its number.
    pub doc: u64,
    /// When, in milliseconds since 1970.
    pub ts_ms: u64,
    /// The conversation, counted inside the scope.
    pub session: u32,
    /// Who speaks, counted inside the scope.
    pub speaker: u16,
    /// How many words it has.
    pub words: u32,
    /// `MARK_…`.
    pub marks: u8,
    /// Where it comes from.
    pub trust: Trust,
    /// How much it was of use by the call of number `used_at`, in [0, 1].
    pub salience: f64,
    /// See [`Doc::salience`].
    pub used_at: u64,
}

impl Doc {
    /// How much it is of use when `calls` calls have been made: a moving average of its being shown in turns, on the
    /// clock of use.
    #[must_use]
    pub fn salience_at(&self, calls: u64) -> f64 {
        faded(self.salience, calls.saturating_sub(self.used_at))
    }
}

/// What is left of a salience after so many calls of no use.
#[allow(clippy::cast_precision_loss, reason = "numbers of calls")]
fn faded(salience: f64, calls: u64) -> f64 {
    if salience == 0.0 { 0.0 } else { salience * (-(calls as f64) / SALIENCE_HALF_LIFE).exp2() }
}

/// All turns of one peer, in their order.
#[derive(Debug, Default)]
pub struct Scope {
    number: i64,
    peer: String,
    /// The turns.
    pub docs: Vec<Doc>,
    /// The names of those who speak, by their number.
    pub speakers: Vec<String>,
}

impl Scope {
    /// The place of a turn among the scope's.
    #[must_use]
    pub fn place(&self, doc: u64) -> Option<usize> {
        self.docs.binary_search_by_key(&doc, |one| one.doc).ok()
    }

    /// Whose turns are own answers, by their number.
    #[must_use]
    pub fn own_speakers(&self) -> Vec<u16> {
        let own = |(_, name): &(u16, &String)| OWN_SPEAKERS.contains(&name.as_str());
        (0_u16..).zip(&self.speakers).filter(own).map(|(number, _)| number).collect()
    }

    fn speaker(&mut self, name: &str) -> u16 {
        let at = self.speakers.iter().position(|known| known == name).unwrap_or_else(|| {
            self.speakers.push(name.to_owned());
            self.speakers.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }
}

/// A stem as it stands in the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stem(String);

/// Where a stem stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The place of the turn among the scope's.
    pub place: u32,
    /// Which of the turn's words that carry meaning it is.
    pub offset: u32,
}

/// The database, and the scopes at hand.
#[derive(Debug)]
pub struct Store {
    db: Connection,
    keys: Keys,
    scopes: HashMap<String, Scope>,
    used: Vec<String>,
    applied: u64,
    calls: u64,
}

/// What is done to the index, in the order of the events.
#[derive(Debug, Clone)]
pub enum Step<'a> {
    /// A turn is remembered.
    Add(Turn<'a>),
    /// A turn is forgotten.
    Forget(u64),
    /// These turns were of use.
    Use(&'a [u64]),
    /// A call was made: the clock of use moves.
    Call,
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn progress(db: &Connection) -> rusqlite::Result<(u64, u64)> {
    db.query_row("SELECT applied_seq, calls FROM progress", [], |row| {
        Ok((unsigned(row.get(0)?), unsigned(row.get(1)?)))
    })
}

/// The stem of a word in one scope and language.
fn key(keys: &Keys, (scope, peer): (i64, &str), language: Language, stem: &str) -> Result<Stem> {
    let mark = match language {
        Language::English => 'e',
        Language::Italian => 'i',
    };
    Ok(Stem(format!("{scope}{mark}{}", keys.stem(peer, stem)?)))
}

const DURING: &str = "writing the recall index";
const READING: &str = "reading the recall index";

impl Store {
    /// Opens the database, empty when there was none, whose stems are digested under these keys.
    ///
    /// # Errors
    /// When it is no database or of another version.
    pub fn open(path: &Path, keys: Keys) -> Result<Self> {
        Self::over(open_projection(path).during("opening the recall index")?, keys)
    }

    /// A store that lives as long as it is held, and nowhere but in memory.
    ///
    /// # Errors
    /// When the database says no.
    pub fn ephemeral() -> Result<Self> {
        Self::over(open_projection(Path::new(":memory:")).during("opening the recall index")?, Keys::none())
    }

    fn over(db: Connection, keys: Keys) -> Result<Self> {
        let what = "opening the recall index";
        let version: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).during(what)?;
        match version {
            0 => {
                let script = format!("BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;");
                db.execute_batch(&script).during("creating the recall index")?;
            }
            VERSION => {}
            found => return Err(Error::Version { file: "recall.sqlite", found, known: VERSION }),
        }
        let (applied, calls) = progress(&db).during(what)?;
        Ok(Self { db, keys, scopes: HashMap::new(), used: Vec::new(), applied, calls })
    }

    /// How many calls have been made.
    #[must_use]
    pub const fn calls(&self) -> u64 {
        self.calls
    }

    /// Up to which line of the chronicle everything is known.
    #[must_use]
    pub const fn applied(&self) -> u64 {
        self.applied
    }

    /// Remembers turns and forgets others, and notes that everything up to line `applied` is known. All or nothing.
    ///
    /// # Errors
    /// When the database says no; then nothing of it is known.
    pub fn apply(&mut self, turns: &[Turn<'_>], redacted: &[u64], applied: u64) -> Result<()> {
        let forgotten = redacted.iter().map(|doc| Step::Forget(*doc));
        let steps: Vec<Step<'_>> = turns.iter().cloned().map(Step::Add).chain(forgotten).collect();
        self.apply_steps(&steps, applied)
    }

    /// Takes steps in their order, and notes that everything up to line `applied` is known. All or nothing.
    ///
    /// # Errors
    /// When the database says no; then nothing of it is known.
    pub fn apply_steps(&mut self, steps: &[Step<'_>], applied: u64) -> Result<()> {
        self.db.execute_batch("BEGIN IMMEDIATE").during(DURING)?;
        let done = self.apply_inside(steps, applied);
        match done.and_then(|()| self.db.execute_batch("COMMIT").during(DURING)) {
            Ok(()) => {
                self.applied = applied;
                Ok(())
            }
            Err(error) => {
                // What is at hand may be ahead of what is stored.
                self.scopes.clear();
                self.used.clear();
                self.calls = progress(&self.db).during(READING)?.1;
                if !self.db.is_autocommit() {
                    self.db.execute_batch("ROLLBACK").during(DURING)?;
                }
                Err(error)
            }
        }
    }

    fn apply_inside(&mut self, steps: &[Step<'_>], applied: u64) -> Result<()> {
        for step in steps {
            match step {
                Step::Add(turn) => self.add(turn)?,
                Step::Forget(doc) => self.forget(*doc)?,
                Step::Use(docs) => docs.iter().try_for_each(|doc| self.mark_useful(*doc))?,
                Step::Call => self.calls += 1,
            }
        }
        self.db
            .prepare_cached("UPDATE progress SET applied_seq = ?1, calls = ?2")
            .and_then(|mut set| set.execute([signed(applied), signed(self.calls)]))
            .during(DURING)?;
        Ok(())
    }

    /// A turn was shown: its salience grows. A line that is no turn has none.
    fn mark_useful(&mut self, doc: u64) -> Result<()> {
        let known = self
            .db
            .prepare_cached("SELECT salience, used_at FROM docs WHERE doc = ?1")
            .and_then(|mut one| {
                one.query_row([signed(doc)], |row| Ok((row.get::<_, f64>(0)?, row.get::<_, i64>(1)?))).optional()
            })
            .during(READING)?;
        let Some((salience, used_at)) = known else { return Ok(()) };
        let before = faded(salience, self.calls.saturating_sub(unsigned(used_at)));
        let now = before + SALIENCE_GAIN * (1.0 - before);
        self.db
            .prepare_cached("UPDATE docs SET salience = ?2, used_at = ?3 WHERE doc = ?1")
            .and_then(|mut set| set.execute(params![signed(doc), now, signed(self.calls)]))
            .during(DURING)?;
        for scope in self.scopes.values_mut() {
            if let Some(place) = scope.place(doc) {
                (scope.docs[place].salience, scope.docs[place].used_at) = (now, self.calls);
            }
        }
        Ok(())
    }

    fn add(&mut self, turn: &Turn<'_>) -> Result<()> {
        self.db
            .prepare_cached("INSERT OR IGNORE INTO scopes (peer) VALUES (?1)")
            .and_then(|mut add| add.execute([turn.peer]))
            .during(DURING)?;
        self.load_scope(turn.peer)?;
        let Some(scope) = self.scopes.get_mut(turn.peer) else { return Ok(()) };
        let session = match (turn.session, scope.docs.last()) {
            (Some(session), _) => session,
            (None, None) => 0,
            (None, Some(last)) if turn.ts_ms.saturating_sub(last.ts_ms) > SESSION_GAP_MS => last.session + 1,
            (None, Some(last)) => last.session,
        };
        let heard = words(turn.text);
        let doc = Doc {
            doc: turn.doc,
            ts_ms: turn.ts_ms,
            session,
            speaker: scope.speaker(turn.speaker),
            words: u32::try_from(heard.len()).unwrap_or(u32::MAX),
            marks: marks(&heard),
            trust: turn.trust,
            salience: 0.0,
            used_at: 0,
        };
        let number = scope.number;
        let body = body(&self.keys, turn.peer, number, &heard)?;
        insert(&self.db, number, turn.speaker, &doc, &body).during(DURING)?;
        scope.docs.push(doc);
        Ok(())
    }

    fn forget(&mut self, doc: u64) -> Result<()> {
        let delete = |sql: &str| self.db.prepare_cached(sql).and_then(|mut one| one.execute([signed(doc)]));
        delete("DELETE FROM stems WHERE rowid = ?1").during(DURING)?;
        delete("DELETE FROM docs WHERE doc = ?1").during(DURING)?;
        for scope in self.scopes.values_mut() {
            scope.docs.retain(|one| one.doc != doc);
        }
        Ok(())
    }

    /// Takes a scope's turns to hand, the least recently used leaving for it.
    fn load_scope(&mut self, peer: &str) -> Result<()> {
        self.used.retain(|other| other != peer);
        self.used.push(peer.to_owned());
        if self.scopes.contains_key(peer) {
            return Ok(());
        }
        if self.scopes.len() >= MAX_SCOPES_AT_HAND {
            self.scopes.remove(&self.used.remove(0));
        }
        if let Some(scope) = self.load(peer).during(READING)? {
            self.scopes.insert(peer.to_owned(), scope);
        }
        Ok(())
    }

    fn load(&self, peer: &str) -> rusqlite::Result<Option<Scope>> {
        let number: Option<i64> = self
            .db
            .prepare_cached("SELECT scope FROM scopes WHERE peer = ?1")?
            .query_row([peer], |row| row.get(0))
            .optional()?;
        let Some(number) = number else { return Ok(None) };
        let mut scope = Scope { number, peer: peer.to_owned(), ..Scope::default() };
        let sql = "SELECT doc, ts, session, speaker, words, marks, trust, salience, used_at FROM docs WHERE scope = ?1 ORDER BY doc";
        let mut all = self.db.prepare_cached(sql)?;
        let mut rows = all.query([number])?;
        while let Some(row) = rows.next()? {
            let speaker = scope.speaker(row.get_ref(3)?.as_str()?);
            scope.docs.push(Doc {
                doc: unsigned(row.get(0)?),
                ts_ms: unsigned(row.get(1)?),
                session: row.get(2)?,
                speaker,
                words: row.get(4)?,
                marks: row.get(5)?,
                // What cannot be read is trusted least.
                trust: trust_named(row.get_ref(6)?.as_str()?).unwrap_or(Trust::Web),
                salience: row.get(7)?,
                used_at: unsigned(row.get(8)?),
            });
        }
        Ok(Some(scope))
    }

    /// The turns of a peer; `None` when nothing is remembered of that peer.
    ///
    /// # Errors
    /// When the database says no.
    pub fn scope(&mut self, peer: &str) -> Result<Option<&Scope>> {
        self.load_scope(peer)?;
        Ok(self.scopes.get(peer))
    }

    /// A scope that [`Store::scope`] has taken to hand.
    #[must_use]
    pub fn held(&self, peer: &str) -> Option<&Scope> {
        self.scopes.get(peer)
    }

    /// How many turns are remembered, of all peers.
    ///
    /// # Errors
    /// When the database says no.
    pub fn count(&self) -> Result<u64> {
        let count = self.db.query_row("SELECT count(*) FROM docs", [], |row| row.get(0)).during(READING)?;
        Ok(unsigned(count))
    }

    /// The stems under which a word may stand in a scope, whatever the language of the text it stands in.
    ///
    /// # Errors
    /// When there is no key for them.
    pub fn stems_of(&self, scope: &Scope, word: &str) -> Result<[Stem; 2]> {
        let of = |language| key(&self.keys, (scope.number, &scope.peer), language, &stemmed(word, language));
        Ok([of(Language::English)?, of(Language::Italian)?])
    }

    /// Where a stem stands in a scope, in order, at most [`MAX_TIMES`] times in a turn. `None` when it stands in more than `most` turns.
    ///
    /// # Errors
    /// When the database says no.
    pub fn postings(&self, scope: &Scope, stem: &Stem, most: usize) -> Result<Option<Vec<Posting>>> {
        let mut found: Vec<Posting> = Vec::new();
        let (mut last, mut place, mut turns, mut times) = (None, None, 0, 0);
        let mut all = self.db.prepare_cached("SELECT doc, offset FROM places WHERE term = ?1").during(READING)?;
        let mut rows = all.query([&stem.0]).during(READING)?;
        while let Some(row) = rows.next().during(READING)? {
            let doc: i64 = row.get(0).during(READING)?;
            if last != Some(doc) {
                (last, times) = (Some(doc), 0);
                // A turn that was forgotten may stand in the index until it is next tidied.
                place = scope.place(unsigned(doc)).and_then(|place| u32::try_from(place).ok());
                turns += usize::from(place.is_some());
                if turns > most {
                    return Ok(None);
                }
            }
            times += 1;
            if let Some(place) = place.filter(|_| times <= MAX_TIMES) {
                found.push(Posting { place, offset: row.get(1).during(READING)? });
            }
        }
        Ok(Some(found))
    }
}

fn insert(db: &Connection, scope: i64, speaker: &str, doc: &Doc, body: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO docs (doc, scope, session, speaker, ts, words, marks, trust) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        signed(doc.doc),
        scope,
        doc.session,
        speaker,
        signed(doc.ts_ms),
        doc.words,
        doc.marks,
        trust_name(doc.trust)
    ])?;
    db.prepare_cached("INSERT INTO stems (rowid, body) VALUES (?1, ?2)")?.execute(params![signed(doc.doc), body])?;
    Ok(())
}

/// What is indexed of a text: the stems of its words that carry meaning.
fn body(keys: &Keys, peer: &str, scope: i64, heard: &[String]) -> Result<String> {
    let language = language(heard);
    let mut body = String::new();
    for word in heard.iter().filter(|word| !lexicon::is_stop(word)) {
        body.push_str(&key(keys, (scope, peer), language, &stemmed(word, language))?.0);
        body.push(' ');
    }
    Ok(body)
}

fn marks(heard: &[String]) -> u8 {
    let mut marks = 0;
    if when::states_time(heard) {
        marks |= MARK_TIME;
    }
    if when::states_number(heard) {
        marks |= MARK_NUMBER;
    }
    marks
}
