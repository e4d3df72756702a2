//! All of memory in the words of the edges. [`Memory`] only sequences its parts: the `journal` that is written first, and
//! what is derived from it. It knows no socket.
//!
//! Who has something recorded gets its number at once, but may be answered only after [`Memory::flush`]: the loop holds the
//! answers back until then.

mod chain_head;
mod clean_turns;
mod envelope;
mod household;
mod journal;
mod medium_tier;
mod owner_files;
mod projection;
mod recollection;
mod spending;
mod suspended;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod usage;
mod views;
mod words;

use std::os::fd::BorrowedFd;
use std::path::Path;

use metnos_proto::ids::{SessionId, TurnId};
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::memoryd::ChainHead;

use chain_head::ChainHeads;
use clean_turns::CleanTurns;
use envelope::Catalogue;
use household::WhoIsWho;
use journal::Journal;
use medium_tier::MediumTier;
use owner_files::OwnerFiles;
use recollection::Recollection;
use spending::Spending;
use suspended::SuspendedTurns;
use usage::Usage;

use crate::at_rest::Keys;
use crate::chronicle::Chronicle;
use crate::chronicle::event::EventType;
use crate::chronicle::index::TurnFacts;
use crate::chronicle::log::Placed;
use crate::chronicle::payload::IdentityCheck;
use crate::chronicle::time::Clock;
use crate::error::{Error, Result};
use crate::faults::Faults;
use crate::mnestome::graph::Mnestome;
use crate::schedules::Schedules;
use crate::schedules::store::ScheduleStore;

pub use journal::{Answer, Asker};

/// The journal, what is derived from it, and the workspace.
#[derive(Debug)]
pub struct Memory {
    journal: Journal,
    usage: Usage,
    recollection: Recollection,
    spending: Spending,
    medium: MediumTier,
    suspended: SuspendedTurns,
    schedules: Schedules,
    who_is_who: WhoIsWho,
    clean: CleanTurns,
    files: OwnerFiles,
    catalogue: Catalogue,
    heads: ChainHeads,
}

impl Memory {
    /// Opens everything below the instance's directory, encrypted under these keys, and catches up what is derived.
    ///
    /// # Errors
    /// When a folder or database cannot be opened.
    pub fn open(
        instance: &Path,
        session: SessionId,
        clock: Box<dyn Clock>,
        faults: Box<dyn Faults>,
        calls_per_use_day: u32,
        keys: &Keys,
    ) -> Result<Self> {
        let mut chronicle = Chronicle::open(&instance.join(".audit"), session, clock, faults, keys.clone())?;
        let runtime = instance.join(".runtime");
        let usage = Usage::open(instance.join(".mnestome"), calls_per_use_day, &mut chronicle)?;
        let recollection = Recollection::open(&runtime.join("recall.sqlite"), &mut chronicle, keys)?;
        let spending = Spending::open(&runtime, &mut chronicle)?;
        let medium = MediumTier::open(&runtime.join("medium.sqlite"), &mut chronicle, keys)?;
        let suspended = SuspendedTurns::open(&runtime.join("suspended.sqlite"), &mut chronicle, keys)?;
        let path = runtime.join("schedules.sqlite");
        let open = |path: &Path| Schedules::open(path, keys);
        let schedules = projection::open(&path, &mut chronicle, "schedules_rebuilt", open, Schedules::applied)?;
        let files = OwnerFiles::open(&instance.join("workspace"))?;
        let mut memory = Self {
            journal: Journal::new(chronicle, session),
            usage,
            recollection,
            spending,
            medium,
            suspended,
            schedules,
            who_is_who: WhoIsWho::default(),
            clean: CleanTurns::default(),
            files,
            catalogue: Catalogue::default(),
            heads: ChainHeads::default(),
        };
        memory.catch_up_at_start()?;
        Ok(memory)
    }

    /// Catches up every part, as far as that is possible, and begins to verify the chronicle.
    fn catch_up_at_start(&mut self) -> Result<()> {
        let chronicle = &mut self.journal.chronicle;
        match self.usage.catch_up(chronicle) {
            Ok(()) => {}
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => tracing::error!(%error, "the mnestome is behind the chronicle"),
        }
        if let Err(error) = self.recollection.catch_up(chronicle) {
            tracing::error!(%error, "not everything that was said can be found");
        }
        // Also that words are not kept here that were to be taken out when it was stopped.
        if let Err(error) = self.medium.catch_up(chronicle) {
            tracing::error!(%error, "the medium tier is behind the chronicle");
        }
        if let Err(error) = self.schedules.catch_up(chronicle) {
            tracing::error!(%error, "the schedules are behind the chronicle");
        }
        self.usage.find_traces();
        self.spending.enter(chronicle);
        chronicle.stage_notes();
        match self.flush() {
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => tracing::error!(%error, "nothing can be recorded"),
            Ok(()) => {}
        }
        if self.chronicle().altered().is_none() {
            self.heads.verify_anew(&self.journal.chronicle)?;
        }
        Ok(())
    }

    /// The same on a machine in this time zone.
    #[must_use]
    pub fn with_machine_zone(mut self, zone: &str) -> Self {
        self.files.set_machine_zone(zone);
        self
    }

    /// The chronicle.
    #[must_use]
    pub const fn chronicle(&self) -> &Chronicle {
        &self.journal.chronicle
    }

    /// The mnestome.
    #[must_use]
    pub const fn mnestome(&self) -> &Mnestome {
        &self.usage.mnestome
    }

    /// The number of the flush that what is staged now waits for.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.journal.round()
    }

    /// How many events have been staged since the start: a word that makes it grow is answered after the flush.
    #[must_use]
    pub const fn staged_so_far(&self) -> u64 {
        self.journal.chronicle.staged_so_far()
    }

    /// How many bytes of payload wait for the next flush.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.journal.chronicle.staged_bytes()
    }

    /// Why what was staged in that round is not on the disk; `None` when it is.
    #[must_use]
    pub fn failure(&self, round: u64) -> Option<&Refusal> {
        self.journal.failure(round)
    }

    /// Forgets the failures of rounds whose answers have left.
    pub fn answered(&mut self) {
        self.journal.answered();
    }

    /// Makes everything that was staged durable and applies it to everything that is derived.
    ///
    /// # Errors
    /// What went wrong on the way to the disk. The round's [`Memory::failure`] says so to each asker.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_answering(|_| {})?;
        self.derive()
    }

    /// Makes everything that was staged durable. When it is, or is known not to be, `answer` lets the answers leave: an
    /// event that is on the disk is never lost. What follows from it is due until [`Memory::derive`], which the caller
    /// sees to before anything else than a new event is answered.
    ///
    /// # Errors
    /// As [`Memory::flush`].
    pub fn flush_answering(&mut self, answer: impl FnOnce(&Self)) -> Result<()> {
        match self.journal.write() {
            Ok(()) => {}
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => {
                answer(self);
                return Err(error);
            }
        }
        // An answer that a payload is gone, or that the mnestome was kept, must be true when it leaves.
        let promises =
            |placed: &Placed| matches!(placed.event.kind, EventType::PayloadRedacted | EventType::Checkpoint);
        let derived = if self.chronicle().due().iter().any(promises) { self.derive() } else { Ok(()) };
        if !matches!(derived, Err(Error::Killed(_))) {
            answer(self);
        }
        derived
    }

    /// How many events are durable and not derived from yet.
    #[must_use]
    pub fn due(&self) -> usize {
        self.chronicle().due().len()
    }

    /// Brings the index and everything that is derived up to what is durable. What goes wrong with one of them is caught
    /// up later: the lines are on the disk.
    ///
    /// # Errors
    /// Only when the process is made to end, by a test.
    pub fn derive(&mut self) -> Result<()> {
        let chronicle = &mut self.journal.chronicle;
        let (written, indexed) = chronicle.bring_in()?;
        if written.is_empty() || !indexed {
            return Ok(());
        }
        let events = written.iter().map(|placed| &placed.event);
        self.spending.enter_all(events.clone());
        if events.clone().any(|event| ScheduleStore::concerns(event.kind))
            && let Err(error) = self.schedules.catch_up(chronicle)
        {
            tracing::error!(%error, "the schedules are behind the chronicle");
        }
        match self.usage.derive(chronicle, events.clone()) {
            Err(killed @ Error::Killed(_)) => Err(killed),
            // The lines are durable: the mnestome catches up with the next ones.
            Err(error) => {
                tracing::error!(%error, "the mnestome is behind the chronicle");
                Ok(())
            }
            Ok(()) => {
                self.usage.find_traces();
                self.usage.keep_copies(chronicle, events);
                self.spending.enter(chronicle);
                Ok(())
            }
        }
    }

    /// What is due once in a while, when nothing else is to do.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn idle(&mut self) -> Result<()> {
        if self.files_wait_ms() == Some(0) {
            self.look_at_files()?;
        }
        self.keep_month()
    }

    /// Catches up everything that is behind, as far as that is possible now.
    pub fn catch_up(&mut self) {
        let derived = self.derive().and_then(|()| self.journal.chronicle.ensure_writable());
        if let Err(error) = derived.and_then(|()| self.usage.catch_up(&mut self.journal.chronicle)) {
            tracing::warn!(%error, "a projection stays behind the chronicle");
        }
    }

    /// Ends in order: everything staged is flushed, everything derived is stored.
    ///
    /// # Errors
    /// What went wrong; a next start catches up all the same.
    pub fn settle(&mut self) -> Result<()> {
        self.flush()?;
        self.usage.mnestome.settle()
    }

    /// Makes sure that the index knows everything of a turn: an ask about a turn that has
    /// lines waiting, or due to the index, has them flushed first.
    fn settle_turn(&mut self, turn: TurnId) -> Result<()> {
        if self.chronicle().has_unindexed_of(turn) { self.flush() } else { Ok(()) }
    }

    /// What is known of a turn.
    fn turn(&mut self, turn: TurnId) -> Answer<TurnFacts> {
        self.journal.chronicle.ensure_writable()?;
        self.settle_turn(turn)?;
        self.journal.indexed_turn(turn)
    }

    /// What is known of a turn, for a word about one of its calls.
    fn turn_of_call(&mut self, turn: TurnId) -> Answer<TurnFacts> {
        match self.journal.turn_of_call(turn)? {
            Some(facts) => Ok(facts),
            None => self.turn(turn),
        }
    }

    /// The last head, after [`Memory::settle`]: no line follows it.
    #[must_use]
    pub fn last_head(&self) -> Option<ChainHead> {
        chain_head::last_head(self.chronicle())
    }

    /// The head, when it is time to notify policyd: enough lines are new, or the first of them has waited long enough.
    pub fn head_due(&mut self) -> Option<ChainHead> {
        self.heads.due(&self.journal.chronicle)
    }

    /// Notes that policyd was notified of a head.
    pub const fn head_notified(&mut self, head: &ChainHead) {
        self.heads.notified(head);
    }

    /// Notes that policyd could not be notified: tried again when as much time has passed as lines may wait.
    pub fn head_not_notified(&mut self) {
        self.heads.not_notified(self.journal.chronicle.now_ms());
    }

    /// How long the loop may sleep before [`Memory::head_due`] must be asked again; `None` for as long as it likes.
    #[must_use]
    pub fn head_wait_ms(&self) -> Option<u64> {
        self.heads.wait_ms(self.chronicle().now_ms())
    }

    /// Reads on in the files, at most so many bytes; `true` while there is more to read.
    ///
    /// # Errors
    /// When a file or the index cannot be read.
    pub fn verify_on(&mut self, bytes: u64) -> Result<bool> {
        self.heads.verify_on(&mut self.journal.chronicle, bytes)
    }

    /// Notifies when a file of the workspace has changed; `None` where the kernel cannot.
    #[must_use]
    pub fn files_watch(&self) -> Option<BorrowedFd<'_>> {
        self.files.watch()
    }

    /// Something moved in the workspace: the six files are looked at in a moment.
    pub fn files_moved(&mut self) {
        self.files.moved(self.journal.chronicle.now_ms());
    }

    /// How long the loop may sleep before [`Memory::idle`] must look at the files; `None` for as long as it likes.
    #[must_use]
    pub fn files_wait_ms(&self) -> Option<u64> {
        self.files.wait_ms(self.chronicle().now_ms())
    }

    /// Looks at the six files, and records which of them are others than when they were last recorded.
    ///
    /// # Errors
    /// When it cannot be recorded; a file that cannot be read is only logged.
    pub fn look_at_files(&mut self) -> Result<()> {
        let changes = self.files.changes(&self.journal.chronicle, &mut self.medium)?;
        // One of them says in which time zone the household lives.
        self.schedules_by_the_clock();
        match changes {
            None => Ok(()),
            Some(check) => self.record_files(&check),
        }
    }

    fn record_files(&mut self, check: &IdentityCheck) -> Result<()> {
        match self.journal.stage_alone(self.journal.itself(), EventType::IdentityCheck, check.encode()) {
            Ok(_) => self.flush(),
            Err(error) => {
                tracing::error!(%error, "that the six files have changed could not be recorded");
                Ok(())
            }
        }
    }

    /// Once a month a snapshot of the mnestome is kept, and copies older than a year are compressed.
    ///
    /// # Errors
    /// When it cannot be recorded.
    fn keep_month(&mut self) -> Result<()> {
        let Some(month) = self.usage.month_to_keep(&mut self.journal.chronicle)? else { return Ok(()) };
        let asker = self.journal.itself();
        let act = self.usage.keeping("snapshot", &month, "kept once a month");
        if let Err(error) = act.and_then(|act| self.checkpoint(asker, &act)) {
            tracing::error!(%error, "the mnestome could not be kept this month");
        }
        Ok(())
    }

    /// Whether the ager has proposed something since this was asked last: syntd is notified then.
    pub fn ager_proposed(&self) -> bool {
        self.usage.mnestome.has_proposed()
    }

    /// Records that a peer broke the protocol.
    pub fn violated(&mut self, peer: &str, what: &str) {
        self.journal.violated(peer, what);
    }
}
