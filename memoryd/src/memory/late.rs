//! The medium tier and the six files, as memory keeps them: what was said of late, what was done, and what the owner's
//! files are now. It reads the files and never writes one.

use std::os::fd::BorrowedFd;
use std::path::Path;

use metnos_proto::envelope::{Done, Earlier};
use metnos_proto::msg::memoryd::{MAX_RECALLED, SearchMemory};
use serde_json::{Value, json};

use super::{CHUNK, Memory, Teller, Told, records};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload::{self, FileDigest, IdentityCheck};
use crate::chronicle::store::is_damage;
use crate::chronicle::time::instant_text;
use crate::error::Result;
use crate::mnestome::derive::successes;
use crate::recall::Change;
use crate::tiers::medium::{Entry, Medium, Message, Summary, Task};

/// How many summaries of longer ago a planner is shown.
pub const MAX_EARLIER: usize = 2;
/// How many of the last tasks a planner is shown.
pub const MAX_DONE: usize = 5;
/// How long after a first sign the files are looked at, in milliseconds: an editor saves in several steps.
pub const SETTLE_MS: u64 = 200;
/// The files are recorded no more often, in milliseconds: whoever may write the workspace cannot fill the chronicle.
pub const FILES_EVERY_MS: u64 = 5_000;

/// Opens the medium tier; one that is damaged, or ahead of the chronicle, is moved aside and derived anew.
pub(super) fn open(path: &Path, chronicle: &mut Chronicle) -> Result<Medium> {
    let why = match Medium::open(path) {
        Ok(medium) if medium.applied() <= chronicle.head().seq => return Ok(medium),
        Ok(medium) => format!("it knows event {}, the chronicle ends at {}", medium.applied(), chronicle.head().seq),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(error) => return Err(error),
    };
    let aside = crate::aside::move_database(path)?;
    chronicle.tell("medium_rebuilt", format!("medium.sqlite was not usable ({why}); moved to {aside}"));
    Medium::open(path)
}

/// When the six files are looked at next.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct FilesDue {
    /// When, in milliseconds; `None` while nothing has moved.
    at_ms: Option<u64>,
    /// When they were last recorded.
    recorded_ms: u64,
}

/// What an event means here, if anything; what was taken out is not read.
fn entry(chronicle: &Chronicle, row: &IndexRow) -> Result<Option<Entry>> {
    let concerns = matches!(
        row.kind,
        Some(EventType::OwnerMessage | EventType::AssistantMessage | EventType::TurnClose | EventType::IdentityCheck)
    );
    if !concerns {
        return Ok(None);
    }
    let event = chronicle.read(row)?;
    if event.kind == EventType::TurnClose {
        return done(chronicle, &event);
    }
    if event.kind == EventType::IdentityCheck {
        let digests = |check: IdentityCheck| check.changed.into_iter().map(|file| (file.name, file.digest)).collect();
        return Ok(IdentityCheck::decode(&event.payload).ok().map(digests).map(Entry::Files));
    }
    Ok(match Change::of(&event) {
        Some(Change::Said { seq, peer, ts_ms, text, .. }) => {
            let own = event.kind == EventType::OwnerMessage;
            Some(Entry::Said { seq, peer, ts_ms, own, text })
        }
        Some(Change::TakenOut(_) | Change::Shown(_) | Change::Called) | None => None,
    })
}

fn done(chronicle: &Chronicle, close: &Event) -> Result<Option<Entry>> {
    let Some(turn) = close.turn_id else { return Ok(None) };
    let closed_here = chronicle.index().turn(turn)?.is_some_and(|facts| facts.closed == Some(close.seq));
    let Some(ended) = payload::TurnClose::decode(&close.payload).ok().filter(|_| closed_here) else { return Ok(None) };
    let executors = successes(&records(chronicle, turn, close.seq)?).into_iter().map(|id| id.name).collect();
    Ok(Some(Entry::Done { seq: close.seq, peer: close.peer.clone(), ts_ms: close.ts_ms, ended: ended.end, executors }))
}

impl Memory {
    /// Applies what the medium tier has not heard of yet. When words that it holds were taken out since, it is derived
    /// anew, without them.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the database not be written; what was applied stays.
    pub fn catch_up_medium(&mut self) -> Result<()> {
        while self.medium.applied() < self.chronicle.head().seq {
            let rows = self.chronicle.index().rows_from(self.medium.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            if self.forgets_what_was_taken_out(&rows)? {
                continue;
            }
            let entries: Vec<Entry> = rows
                .iter()
                .map(|row| entry(&self.chronicle, row))
                .filter_map(Result::transpose)
                .collect::<Result<_>>()?;
            self.medium.apply(&entries, last)?;
        }
        Ok(())
    }

    fn forgets_what_was_taken_out(&mut self, rows: &[IndexRow]) -> Result<bool> {
        for row in rows.iter().filter(|row| row.kind == Some(EventType::PayloadRedacted)) {
            if let Some(Change::TakenOut(seq)) = Change::of(&self.chronicle.read(row)?)
                && self.medium.knows(seq)?
            {
                self.medium.forget_everything()?;
                self.medium.leave_nothing_behind()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Of longer ago, for a turn: summaries of the principal's own words, and what was done last. Nothing, when it
    /// cannot be looked up.
    pub(super) fn earlier(&mut self, peer: &str) -> (Vec<Summary>, Vec<Task>) {
        let found = self
            .catch_up_medium()
            .and_then(|()| Ok((self.medium.summaries(peer, MAX_EARLIER)?, self.medium.tasks(peer, MAX_DONE)?)));
        found.unwrap_or_else(|error| {
            tracing::error!(%error, "nothing of longer ago is shown in this turn");
            (Vec::new(), Vec::new())
        })
    }

    /// The owner: what was said of late, what was done, and what is left of older talk.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn late(&mut self, word: &SearchMemory) -> Told<(usize, Value)> {
        self.catch_up_medium()?;
        let limit = word.limit.min(MAX_RECALLED) as usize;
        let messages: Vec<Value> = self.medium.messages(&word.peer, limit)?.iter().map(message).collect();
        let summaries: Vec<Value> = self.medium.summaries(&word.peer, limit)?.iter().map(summary).collect();
        let tasks: Vec<Value> = self.medium.tasks(&word.peer, limit)?.iter().map(task).collect();
        let items = messages.len() + summaries.len() + tasks.len();
        Ok((items, json!({ "summaries": summaries, "messages": messages, "tasks": tasks })))
    }

    /// What tells when a file of the workspace has changed; `None` where the kernel cannot.
    #[must_use]
    pub fn files_watch(&self) -> Option<BorrowedFd<'_>> {
        self.workspace.watch()
    }

    /// Something moved in the workspace: the six files are looked at in a moment.
    pub fn files_moved(&mut self) {
        self.workspace.hear();
        let now = self.chronicle.now_ms();
        let earliest = self.files_due.recorded_ms.saturating_add(FILES_EVERY_MS);
        self.files_due.at_ms.get_or_insert((now + SETTLE_MS).max(earliest));
    }

    /// How long the loop may sleep before [`Memory::idle`] must look at the files; `None` for as long as it likes.
    #[must_use]
    pub fn files_wait_ms(&self) -> Option<u64> {
        // A clock that was set back must not make the wait longer than it can ever be.
        self.files_due.at_ms.map(|at| at.saturating_sub(self.chronicle.now_ms()).min(FILES_EVERY_MS))
    }

    pub(super) fn files_are_due(&self) -> bool {
        self.files_wait_ms() == Some(0)
    }

    /// Looks at the six files at the start, for what was changed while nobody watched.
    ///
    /// # Errors
    /// As [`Memory::look_at_files`].
    pub fn look_at_files_at_start(&mut self) -> Result<()> {
        self.look_at_files(super::owner::itself(self.session))
    }

    /// Looks at the six files, and records which of them are others than when they were last recorded.
    ///
    /// # Errors
    /// When it cannot be recorded; a file that cannot be read is told of in the log only.
    pub fn look_at_files(&mut self, teller: Teller) -> Result<()> {
        self.files_due.at_ms = None;
        self.catch_up_medium()?;
        let identity = match self.workspace.identity() {
            Ok(identity) => identity,
            Err(error) => {
                tracing::error!(%error, "the six files could not be read");
                return Ok(());
            }
        };
        let mut changed = Vec::new();
        for (name, digest) in self.workspace.digests() {
            let was = self.medium.file(name)?.unwrap_or_default();
            if was != digest {
                changed.push(FileDigest { digest, name: name.to_owned(), was });
            }
        }
        if changed.is_empty() {
            return Ok(());
        }
        self.files_due.recorded_ms = self.chronicle.now_ms();
        let check = IdentityCheck { changed, identity: identity.hex() };
        match self.stage_alone(teller, EventType::IdentityCheck, check.encode()) {
            Ok(_) => self.flush(),
            Err(no) => {
                tracing::error!(%no, "that the six files have changed could not be recorded");
                Ok(())
            }
        }
    }
}

/// Of a summary what a planner may read at once: the principal's own words.
pub(super) fn shown_earlier(summaries: Vec<Summary>) -> Vec<Earlier> {
    summaries
        .into_iter()
        .filter(|one| !one.own.is_empty())
        .map(|one| Earlier { from_seq: one.from_seq, upto_seq: one.upto_seq, cited: one.cited, text: one.own })
        .collect()
}

/// Of a task what a planner may read at once.
pub(super) fn shown_done(tasks: Vec<Task>) -> Vec<Done> {
    tasks.into_iter().map(|one| Done { seq: one.seq, ended: one.ended, executors: one.executors }).collect()
}

fn message(one: &Message) -> Value {
    let speaker = if one.own { "peer" } else { crate::recall::SPEAKER_METNOS };
    json!({ "seq": one.seq, "ts": instant_text(one.ts_ms), "speaker": speaker, "text": one.text })
}

fn summary(one: &Summary) -> Value {
    json!({
        "from_seq": one.from_seq,
        "upto_seq": one.upto_seq,
        "from": instant_text(one.from_ms),
        "upto": instant_text(one.upto_ms),
        "messages": one.messages,
        "own": one.own,
        "answers": one.answers,
        "cited": one.cited,
    })
}

fn task(one: &Task) -> Value {
    json!({ "seq": one.seq, "ts": instant_text(one.ts_ms), "ended": one.ended, "executors": one.executors })
}
