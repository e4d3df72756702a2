//! What the owner asks and decides, over the admin edge.

use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{
    MAX_WHY, MemoryReport, MnestCount, OwnersAct, Query, QueryResult, Recollect, Recollected, Recorded, Rehearse, Tail,
    Tailed,
};

use super::super::Memory;
use super::super::journal::{Answer, Asker, refused};
use super::super::recollection::{explain, found_items};
use super::super::views::sealed::Seals;
use super::super::views::{self, lines};
use crate::chronicle::payload::Checkpoint;

impl Memory {
    /// The last lines, those of others without their words.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn tail(&self, word: &Tail) -> Answer<(Tailed, Vec<u8>)> {
        lines::tail(self.chronicle(), self.seals(), word)
    }

    /// Every mnest, as a JSON array.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn mnests(&self) -> Answer<(MnestCount, Vec<u8>)> {
        self.usage.mnests()
    }

    /// How memory is.
    ///
    /// # Errors
    /// When the mnestome cannot be read.
    pub fn status(&self) -> Answer<MemoryReport> {
        let chronicle = self.chronicle();
        Ok(MemoryReport {
            head: chronicle.head().recorded(),
            mnests: u32::try_from(self.mnestome().count()?).unwrap_or(u32::MAX),
            use_time_milli: self.mnestome().now() / 1000,
            torn: chronicle.torn(),
            frozen: self.mnestome().is_frozen(),
            altered: chronicle.altered().unwrap_or_default().chars().take(MAX_WHY / 4).collect(),
        })
    }

    /// A view of the chronicle, the mnestome or the ledger.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn query(&self, query: &Query) -> Answer<(QueryResult, Vec<u8>)> {
        let chronicle = self.chronicle();
        let page = match query {
            Query::Lines(wanted) => lines::lines(chronicle, self.seals(), wanted)?,
            Query::Search(wanted) => lines::search(chronicle, self.seals(), wanted)?,
            Query::Proof(wanted) => lines::proof(chronicle, self.seals(), wanted)?,
            Query::Secrets(from) => lines::secrets(chronicle, *from)?,
            Query::Mnests(wanted) => self.usage.heaviest(wanted)?,
            Query::Proposals => views::list(self.usage.proposals()?)?,
            Query::Snapshots => views::list(self.mnestome().snapshots()?)?,
            Query::Ledger => self.spending.page(chronicle.now_ms())?,
            Query::Fitness => views::list(self.mnestome().fitness()?)?,
        };
        Ok(page.answer())
    }

    /// What is remembered?
    ///
    /// # Errors
    /// When the question is no text, there is no such line, or memory cannot be read.
    pub fn recollect(&mut self, word: &Recollect, beside: &[u8]) -> Answer<(Recollected, Vec<u8>)> {
        match word {
            Recollect::Search(search) | Recollect::Late(search) => self.seals().admit(&search.peer)?,
            Recollect::Explain(_) | Recollect::Traces => {}
        }
        let chronicle = &self.journal.chronicle;
        match word {
            Recollect::Search(search) => {
                let question = std::str::from_utf8(beside)
                    .map_err(|_| refused(RefusalCode::Invalid, "memory.question", "the question is not UTF-8"))?;
                let today = self.files.today(chronicle.now_ms());
                let items = self.recollection.search(chronicle, search, question, today)?;
                found_items(items.len(), &items)
            }
            Recollect::Late(search) => {
                let talk = self.medium.recent_talk(chronicle, search)?;
                found_items(talk.messages.len() + talk.summaries.len() + talk.tasks.len(), &talk)
            }
            Recollect::Explain(seq) => {
                let explained = explain(chronicle, *seq)?;
                self.seals().admit(&explained.peer)?;
                found_items(1, &explained)
            }
            Recollect::Traces => found_items(self.usage.traces().traces.len(), self.usage.traces()),
        }
    }

    /// What of others is withheld from the owner at this moment.
    pub(in crate::memory) fn seals(&self) -> Seals<'_> {
        Seals::new(&self.who_is_who, self.chronicle().now_ms())
    }

    /// A measurement, where nothing has been lived.
    ///
    /// # Errors
    /// When something was said here, or what came beside the ask is not of its form.
    pub fn rehearse(&mut self, word: &Rehearse, beside: &[u8]) -> Answer<(Recollected, Vec<u8>)> {
        let mnests = self.mnestome().count()?;
        self.recollection.rehearse(&self.journal.chronicle, mnests, word, beside)
    }

    /// The owner decides about what was derived.
    ///
    /// # Errors
    /// When there is no such mnest, proposal or snapshot, the act makes no sense as things are, or nothing can be recorded.
    pub fn owner_decides(&mut self, asker: Asker, word: &OwnersAct) -> Answer<Recorded> {
        self.flush()?;
        self.journal.chronicle.ensure_writable()?;
        // What an earlier error of the disk has kept from it; whether an act makes sense is asked of it.
        self.usage.catch_up(&mut self.journal.chronicle)?;
        let act = self.usage.decided(word, self.chronicle().head().seq + 1)?;
        match word {
            OwnersAct::Rollback(_) => self.roll_back(asker, &act),
            OwnersAct::Tag(_)
            | OwnersAct::Untag(_)
            | OwnersAct::Archive(_)
            | OwnersAct::Restore(_)
            | OwnersAct::Decline(_)
            | OwnersAct::Freeze(_)
            | OwnersAct::Defrost(_)
            | OwnersAct::Snapshot(_)
            | OwnersAct::Judge(_) => self.checkpoint(asker, &act),
        }
    }

    /// Returns to a snapshot. What is now is kept first, so that this can be taken back.
    fn roll_back(&mut self, asker: Asker, back: &Checkpoint) -> Answer<Recorded> {
        let name = format!("before-{}", self.chronicle().head().seq + 1);
        let kept = self.usage.keeping("snapshot", &name, &format!("kept before the return to {}", back.id))?;
        self.checkpoint(asker, &kept)?;
        let recorded = self.checkpoint(asker, back)?;
        let now = self.mnestome().digest()?;
        if now != back.digest {
            // What was kept was derived from lines of which a payload was taken out since.
            let why = format!("{} had {}, and is {now} now", back.id, back.digest);
            self.journal.chronicle.note("rollback_differs", why);
        }
        Ok(recorded)
    }
}
