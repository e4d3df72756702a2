//! What use has taught: the mnestome, the traces found in it, and copies of it. All of it follows from the chronicle.

mod acts;
mod replay;
mod snapshots;
mod views;

use std::path::{Path, PathBuf};

use metnos_proto::msg::common::ExecutorId;

#[cfg(test)]
pub(super) use acts::MAX_SNAPSHOT_NAME;
use replay::{IndexedTurns, concerning};

use super::projection::{self, CHUNK};
use crate::chronicle::Chronicle;
use crate::chronicle::event::Event;
use crate::error::Result;
use crate::mnestome::graph::Mnestome;
use crate::traces::{Link, Trace, Traces};

/// The mnestome, and what is found in it and kept of it.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) mnestome: Mnestome,
    traces: Traces,
    /// Where the mnestome's files lie.
    folder: PathBuf,
    /// The month for which it was last checked whether there is a snapshot.
    month_checked: String,
}

impl Usage {
    /// Opens the mnestome in its folder.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(folder: PathBuf, calls_per_use_day: u32, chronicle: &mut Chronicle) -> Result<Self> {
        let open = |path: &Path| Mnestome::open(path, calls_per_use_day);
        let path = folder.join("mnest.sqlite");
        let mnestome = projection::open(&path, chronicle, "mnestome_rebuilt", open, Mnestome::applied)?;
        let traces = Traces::load(&folder);
        Ok(Self { mnestome, traces, folder, month_checked: String::new() })
    }

    /// Applies events that were just recorded; catches up when others are missing before them.
    ///
    /// # Errors
    /// When the mnestome cannot be written; what was applied stays.
    pub(super) fn derive<'a>(
        &mut self,
        chronicle: &mut Chronicle,
        events: impl Iterator<Item = &'a Event> + Clone,
    ) -> Result<()> {
        match events.clone().next() {
            Some(first) if self.mnestome.applied() + 1 == first.seq => self.apply(chronicle, events),
            Some(_) | None => self.catch_up(chronicle),
        }
    }

    fn apply<'a>(&mut self, chronicle: &mut Chronicle, events: impl IntoIterator<Item = &'a Event>) -> Result<()> {
        let mut faults = chronicle.take_faults();
        let applied = self.mnestome.apply(events, &IndexedTurns(chronicle), faults.as_mut());
        chronicle.give_faults(faults);
        applied
    }

    /// Applies what the mnestome does not hold yet.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the mnestome not be written; what was applied stays.
    pub(super) fn catch_up(&mut self, chronicle: &mut Chronicle) -> Result<()> {
        loop {
            let rows = chronicle.index().rows_from(self.mnestome.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let events = concerning(chronicle, &rows)?;
            self.apply(chronicle, &events)?;
            self.mnestome.reached(last);
        }
    }

    /// Derives the mnestome anew, from the first line on: what it was derived from has changed.
    ///
    /// # Errors
    /// As [`Usage::catch_up`].
    pub(super) fn derive_anew(&mut self, chronicle: &mut Chronicle) -> Result<()> {
        self.mnestome.forget_everything()?;
        self.catch_up(chronicle)
    }

    /// Looks for traces, when it is time to.
    pub(super) fn find_traces(&mut self) {
        let now = self.mnestome.now();
        if !self.traces.due(now) {
            return;
        }
        let found = self.mnestome.list().and_then(|mnests| {
            let links: Vec<Link> = mnests.iter().filter_map(Link::of).collect();
            let found = Traces::find(&links, &self.traces, now);
            found.store(&self.folder).map(|()| found)
        });
        match found {
            Ok(found) => self.traces = found,
            // Tried again with the next event: nothing depends on them.
            Err(error) => tracing::error!(%error, "the traces are as they were"),
        }
    }

    /// All traces as they were last found.
    pub(super) const fn traces(&self) -> &Traces {
        &self.traces
    }

    /// The trace that an executor belongs to.
    pub(super) fn trace_of(&self, id: &ExecutorId) -> Option<&Trace> {
        self.traces.of(&id.name, &id.version)
    }
}
