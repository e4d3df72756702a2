//! When a person has said the very same before, so that what is asked day after day can be offered to be answered by itself. Nothing
//! of it is stored: it is read from the chronicle when somebody speaks for the first time since the start.

use std::collections::HashMap;

use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::RefusalCode;
use metnos_rank::words::words as folded;

use crate::chronicle::Chronicle;
use crate::chronicle::event::EventType;
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload;
use crate::memory::journal::{Answer, refused};

/// How many of a person's last words are looked at.
const LOOKED_AT: u32 = 500;
/// How many different ones of a person are kept, and how many times of each.
const MAX_DIFFERENT: usize = 500;
const MAX_TIMES: usize = 40;
/// Of how many principals.
const MAX_PRINCIPALS: usize = 64;
/// The fewest words that are a request of its own kind, and the most letters of one that anybody says again.
const MIN_WORDS: usize = 2;
const MAX_LETTERS: usize = 200;

/// The times of what was said, by who said it.
#[derive(Debug, Default)]
pub(in crate::memory) struct SaidAgain {
    principals: HashMap<String, Said>,
}

/// What one principal has said.
#[derive(Debug, Default)]
struct Said {
    /// Up to which event.
    upto: u64,
    /// When, in milliseconds since 1970, ascending, by the digest of the words.
    times: HashMap<Blake3, Vec<u64>>,
}

/// What stands for words: whether they are large or small, and how they are marked, makes no difference. `None` for what nobody says
/// again.
fn digest(words: &str) -> Option<Blake3> {
    let folded = folded(words);
    let fits = folded.len() >= MIN_WORDS && words.chars().count() <= MAX_LETTERS;
    fits.then(|| Blake3::of(folded.join(" ").as_bytes()))
}

/// The words of a person in an event; empty where they were redacted.
///
/// # Errors
/// When the chronicle cannot be read.
pub(in crate::memory) fn words_of(chronicle: &Chronicle, row: &IndexRow) -> Answer<String> {
    let event = chronicle.read(row)?;
    debug_assert_eq!(event.kind, EventType::OwnerMessage);
    if event.is_redacted() {
        return Ok(String::new());
    }
    payload::OwnerMessage::decode(&event.payload)
        .map(|words| words.text)
        .map_err(|error| refused(RefusalCode::Internal, "envelope.words", error.to_string()))
}

impl SaidAgain {
    /// When this principal has said these words before the event `before`, in seconds since 1970, ascending. `last` are the newest
    /// events of his before that one, newest first.
    ///
    /// # Errors
    /// When the chronicle cannot be read.
    pub(in crate::memory) fn times(
        &mut self,
        chronicle: &Chronicle,
        (peer, before): (&str, u64),
        words: &str,
        last: &[IndexRow],
    ) -> Answer<Vec<i64>> {
        let Some(digest) = digest(words) else { return Ok(Vec::new()) };
        if self.principals.len() >= MAX_PRINCIPALS && !self.principals.contains_key(peer) {
            self.principals.clear();
        }
        let said = self.principals.entry(peer.to_owned()).or_default();
        // Most often only the words before these are new.
        let is_known = last.iter().any(|row| row.seq <= said.upto);
        let rows = if is_known { last.to_vec() } else { chronicle.index().said_by(peer, before, LOOKED_AT)? };
        let upto = said.upto;
        for row in rows.iter().rev().filter(|row| row.seq > upto) {
            said.add(row, &words_of(chronicle, row)?);
        }
        said.upto = rows.first().map_or(upto, |row| row.seq.max(upto));
        let times = said.times.get(&digest).map(Vec::as_slice).unwrap_or_default();
        Ok(times.iter().filter_map(|ms| i64::try_from(ms / 1_000).ok()).collect())
    }

    /// Forgets everything, since something of it was redacted.
    pub(in crate::memory) fn clear(&mut self) {
        self.principals.clear();
    }
}

impl Said {
    fn add(&mut self, row: &IndexRow, words: &str) {
        let Some(digest) = digest(words) else { return };
        if self.times.len() >= MAX_DIFFERENT && !self.times.contains_key(&digest) {
            // What was said longest ago makes room.
            let oldest = self.times.iter().min_by_key(|(_, times)| times.last().copied()).map(|(digest, _)| *digest);
            oldest.map(|oldest| self.times.remove(&oldest));
        }
        let times = self.times.entry(digest).or_default();
        if times.len() >= MAX_TIMES {
            times.remove(0);
        }
        times.push(row.ts_ms);
    }
}
