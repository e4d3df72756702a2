//! The medium tier as memory keeps it: what was said recently, what was done, and the digests of the six files.

use std::path::Path;

use metnos_proto::doc::memory::{RecentMessage, RecentTalk, RecentTask, TalkSpeaker, TalkSummary};
use metnos_proto::envelope::{Done, Earlier};
use metnos_proto::msg::memoryd::{MAX_RECALLED, SearchMemory};

use super::journal::{Answer, records};
use super::projection::{self, CHUNK};
use crate::at_rest::Keys;
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::IndexRow;
use crate::chronicle::payload::{self, IdentityCheck};
use crate::chronicle::time::instant_text;
use crate::error::Result;
use crate::mnestome::derive::successes;
use crate::recall::Change;
use crate::tiers::medium::{Entry, Medium, Message, Summary, Task};

/// How many summaries of longer ago a planner is shown.
pub const MAX_EARLIER: usize = 2;
/// How many of the last tasks a planner is shown.
pub const MAX_DONE: usize = 5;

/// What was said recently, and what is left of older talk.
#[derive(Debug)]
pub(super) struct MediumTier {
    medium: Medium,
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

impl MediumTier {
    /// Opens the database.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(path: &Path, chronicle: &mut Chronicle, keys: &Keys) -> Result<Self> {
        let open = |path: &Path| Medium::open(path, keys);
        Ok(Self { medium: projection::open(path, chronicle, "medium_rebuilt", open, Medium::applied)? })
    }

    /// Applies what the medium tier does not hold yet. When words that it holds were taken out since, it is derived
    /// anew, without them.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the database not be written; what was applied stays.
    pub(super) fn catch_up(&mut self, chronicle: &Chronicle) -> Result<()> {
        while self.medium.applied() < chronicle.head().seq {
            let rows = chronicle.index().rows_from(self.medium.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            if self.forgets_what_was_taken_out(chronicle, &rows)? {
                continue;
            }
            let entries: Vec<Entry> =
                rows.iter().map(|row| entry(chronicle, row)).filter_map(Result::transpose).collect::<Result<_>>()?;
            self.medium.apply(&entries, last)?;
        }
        Ok(())
    }

    fn forgets_what_was_taken_out(&mut self, chronicle: &Chronicle, rows: &[IndexRow]) -> Result<bool> {
        for row in rows.iter().filter(|row| row.kind == Some(EventType::PayloadRedacted)) {
            if let Some(Change::TakenOut(seq)) = Change::of(&chronicle.read(row)?)
                && self.medium.knows(seq)?
            {
                self.medium.forget_everything()?;
                self.medium.leave_nothing_behind()?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The digest of one of the six files when it was last recorded.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn file(&self, name: &str) -> Result<Option<String>> {
        self.medium.file(name)
    }

    /// Of longer ago, for a turn: summaries of the principal's own words, and what was done last. Nothing, when it
    /// cannot be looked up.
    pub(super) fn earlier(&mut self, chronicle: &Chronicle, peer: &str) -> (Vec<Earlier>, Vec<Done>) {
        let found = self
            .catch_up(chronicle)
            .and_then(|()| Ok((self.medium.summaries(peer, MAX_EARLIER)?, self.medium.tasks(peer, MAX_DONE)?)));
        let (summaries, tasks) = found.unwrap_or_else(|error| {
            tracing::error!(%error, "nothing of longer ago is shown in this turn");
            (Vec::new(), Vec::new())
        });
        (shown_earlier(summaries), shown_done(tasks))
    }

    /// The owner: what was said of late, what was done, and what is left of older talk.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn recent_talk(&mut self, chronicle: &Chronicle, word: &SearchMemory) -> Answer<RecentTalk> {
        self.catch_up(chronicle)?;
        let limit = word.limit.min(MAX_RECALLED) as usize;
        Ok(RecentTalk {
            summaries: self.medium.summaries(&word.peer, limit)?.into_iter().map(summary).collect(),
            messages: self.medium.messages(&word.peer, limit)?.into_iter().map(message).collect(),
            tasks: self.medium.tasks(&word.peer, limit)?.into_iter().map(task).collect(),
        })
    }
}

/// Of a summary what a planner may read at once: the principal's own words.
fn shown_earlier(summaries: Vec<Summary>) -> Vec<Earlier> {
    summaries
        .into_iter()
        .filter(|one| !one.own.is_empty())
        .map(|one| Earlier { from_seq: one.from_seq, upto_seq: one.upto_seq, cited: one.cited, text: one.own })
        .collect()
}

/// Of a task what a planner may read at once.
fn shown_done(tasks: Vec<Task>) -> Vec<Done> {
    tasks.into_iter().map(|one| Done { seq: one.seq, ended: one.ended, executors: one.executors }).collect()
}

fn message(one: Message) -> RecentMessage {
    let speaker = if one.own { TalkSpeaker::Peer } else { TalkSpeaker::Metnos };
    RecentMessage { seq: one.seq, ts: instant_text(one.ts_ms), speaker, text: one.text }
}

fn summary(one: Summary) -> TalkSummary {
    TalkSummary {
        from_seq: one.from_seq,
        upto_seq: one.upto_seq,
        from: instant_text(one.from_ms),
        upto: instant_text(one.upto_ms),
        messages: one.messages,
        own: one.own,
        answers: one.answers,
        cited: one.cited,
    }
}

fn task(one: Task) -> RecentTask {
    RecentTask { seq: one.seq, ts: instant_text(one.ts_ms), ended: one.ended, executors: one.executors }
}
