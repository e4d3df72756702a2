//! The ledger as memory keeps it: what was spent, as far as the chronicle says.

use std::path::Path;

use metnos_proto::msg::memoryd::{Spending as SpendingAsk, Spent};

use super::journal::Answer;
use super::projection;
use super::views::Page;
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::time::Day;
use crate::error::{Error, Result};
use crate::ledger::Ledger;

/// How many rows of the index are looked at in one step of catching up.
const CHUNK: u32 = 4096;

/// What was spent.
#[derive(Debug)]
pub(super) struct Spending {
    ledger: Ledger,
}

impl Spending {
    /// Opens the ledger, in the instance's folder of what is derived.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) fn open(folder: &Path, chronicle: &mut Chronicle) -> Result<Self> {
        match rustix::fs::mkdir(folder, rustix::fs::Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(Error::io(format!("creating {}", folder.display()), errno)),
        }
        let path = folder.join("ledger.sqlite");
        let ledger = projection::open(&path, chronicle, "ledger_rebuilt", Ledger::open, Ledger::applied)?;
        Ok(Self { ledger })
    }

    /// Applies what the ledger does not hold yet; what goes wrong is tried again with the next lines.
    pub(super) fn enter(&mut self, chronicle: &Chronicle) {
        if let Err(error) = self.catch_up(chronicle) {
            tracing::error!(%error, "the ledger is behind the chronicle");
        }
    }

    /// Applies what has just been recorded, if the ledger knows all that was before: nothing need be read for it.
    pub(super) fn enter_all<'a>(&mut self, events: impl DoubleEndedIterator<Item = &'a Event> + Clone) {
        let ends = events.clone().next().zip(events.clone().next_back()).map(|(first, last)| (first.seq, last.seq));
        if let Some((first, last)) = ends
            && self.ledger.applied() + 1 == first
            && let Err(error) = self.ledger.apply(events, last)
        {
            tracing::error!(%error, "the ledger is behind the chronicle");
        }
    }

    /// Applies what the ledger does not hold yet.
    ///
    /// # Errors
    /// When the chronicle cannot be read or the ledger not be written; what was applied stays.
    pub(super) fn catch_up(&mut self, chronicle: &Chronicle) -> Result<()> {
        while self.ledger.applied() < chronicle.head().seq {
            let rows = chronicle.index().rows_from(self.ledger.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let costs = rows.iter().filter(|row| row.kind == Some(EventType::CostEntry));
            let costs: Vec<Event> = costs.map(|row| chronicle.read(row)).collect::<Result<_>>()?;
            self.ledger.apply(&costs, last)?;
        }
        Ok(())
    }

    /// What was spent on a turn, and by a principal today and this month.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn spent(&self, word: &SpendingAsk, now_ms: u64) -> Answer<Spent> {
        Ok(self.ledger.spent(word.turn, &word.principal, Day::of(now_ms))?)
    }

    /// The forecast, then every total.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub(super) fn page(&self, now_ms: u64) -> Answer<Page> {
        let mut page = Page::default();
        page.add(&self.ledger.forecast(Day::of(now_ms))?)?;
        self.ledger.totals()?.iter().try_for_each(|total| page.add(total))?;
        Ok(page)
    }
}
