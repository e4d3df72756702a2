//! All of memory in the words of the edges: what is told is staged, what is asked is answered. It knows no socket.
//!
//! Whoever tells something gets its number at once, but may be told so only after
//! [`Memory::flush`]: the loop holds the answers back until then.

/// A turn must have a name: all zeroes stand for none.
fn named(turn: TurnId) -> Result<(), ServeError> {
    if turn == TurnId::NONE {
        return Err(Refusal::new(RefusalCode::Invalid, "turn.none", "the turn's id is all zeroes").into());
    }
    Ok(())
}

mod answer;
mod costs;
#[cfg(test)]
mod fitness_tests;
mod fresh;
mod head;
#[cfg(test)]
mod head_tests;
#[cfg(test)]
mod history_tests;
mod late;
mod look;
mod marked;
#[cfg(test)]
mod marked_tests;
pub mod owner;
#[cfg(test)]
mod owner_tests;
mod page;
mod recall;
mod recollect;
#[cfg(test)]
mod recollect_tests;
mod record;
mod room;
#[cfg(test)]
mod signed_tests;
mod suspended;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
mod wished;

use std::path::{Path, PathBuf};

use metnos_proto::edge::ServeError;
use metnos_proto::ids::{SessionId, TraceId, TurnId};
use metnos_proto::msg::common::{Channel, Refusal, RefusalCode, Trust};
use metnos_proto::role::RoleName;
use metnos_rank::order::RankedContracts;

use crate::chronicle::Chronicle;
use crate::chronicle::event::{Event, EventType};
use crate::chronicle::index::{IndexRow, TurnFacts};
use crate::chronicle::log::Placed;
use crate::chronicle::store::is_damage;
use crate::chronicle::time::Clock;
use crate::error::{Error, Result};
use crate::faults::{Faults, NoFaults};
use crate::ledger::Ledger;
use crate::mnestome::derive::Record;
use crate::mnestome::graph::{CONCERNS, Mnestome, Turns};
use crate::recall::store::Store;
use crate::rehearsal::Rehearsal;
use crate::tiers::medium::Medium;
use crate::tiers::workspace::Workspace;
use crate::traces::Traces;

/// How many rows of the index are looked at in one step of catching up.
const CHUNK: u32 = 1024;

/// Who tells something: the asker of the edge, and which run of it.
#[derive(Debug, Clone, Copy)]
pub struct Teller {
    /// Which daemon.
    pub role: RoleName,
    /// Which run of it.
    pub session: SessionId,
}

/// What an edge gets: the answer, or one of the two kinds of no.
pub type Told<T> = std::result::Result<T, ServeError>;

impl From<Error> for ServeError {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_refusal())
    }
}

/// The chronicle, its projections, and the workspace.
#[derive(Debug)]
pub struct Memory {
    chronicle: Chronicle,
    mnestome: Mnestome,
    mnestome_folder: PathBuf,
    traces: Traces,
    recall: Store,
    rehearsal: Option<Rehearsal>,
    /// The contracts of the executors that may be called, as ranking reads them, and the number of that pool; 0 before.
    shelf: (u64, RankedContracts),
    ledger: Ledger,
    medium: Medium,
    aside: suspended::Aside,
    workspace: Workspace,
    files_due: late::FilesDue,
    rounds: u64,
    failed: Vec<(u64, Refusal)>,
    told_head: head::ToldHead,
    /// How far the files were read, before anything may be decided on them.
    reading: head::Reading,
    instance: PathBuf,
    session: SessionId,
    /// The month for which it was last looked whether the mnestome was kept.
    month_looked_at: String,
    /// Where this machine's clock stands, for people.
    machine_zone: String,
}

impl Memory {
    /// Opens everything below the instance's directory, and catches the projections up.
    ///
    /// # Errors
    /// When a folder or database cannot be opened.
    pub fn open(
        instance: &Path,
        session: SessionId,
        clock: Box<dyn Clock>,
        faults: Box<dyn Faults>,
        calls_per_use_day: u32,
    ) -> Result<Self> {
        let mut chronicle = Chronicle::open(&instance.join(".audit"), session, clock, faults)?;
        let mnestome_folder = instance.join(".mnestome");
        let mnestome = open_mnestome(&mnestome_folder.join("mnest.sqlite"), calls_per_use_day, &mut chronicle)?;
        let traces = Traces::load(&mnestome_folder);
        let recall = recollect::open_store(&instance.join(".runtime").join("recall.sqlite"), &mut chronicle)?;
        let ledger = costs::open(instance, &mut chronicle)?;
        let medium = late::open(&instance.join(".runtime").join("medium.sqlite"), &mut chronicle)?;
        let aside = suspended::open(&instance.join(".runtime").join("suspended.sqlite"), &mut chronicle)?;
        let workspace = Workspace::open(&instance.join("workspace"))?;
        let mut memory = Self {
            chronicle,
            mnestome,
            mnestome_folder,
            traces,
            recall,
            rehearsal: None,
            shelf: Default::default(),
            ledger,
            medium,
            aside,
            workspace,
            files_due: late::FilesDue::default(),
            rounds: 0,
            failed: Vec::new(),
            told_head: head::ToldHead::default(),
            reading: head::Reading::default(),
            instance: instance.to_owned(),
            session,
            month_looked_at: String::new(),
            machine_zone: String::new(),
        };
        match memory.catch_up_mnestome() {
            Ok(()) => {}
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => tracing::error!(%error, "the mnestome is behind the chronicle"),
        }
        if let Err(error) = memory.catch_up_recall() {
            tracing::error!(%error, "not everything that was said can be found");
        }
        // Also that words are not kept here that were to be taken out when it was stopped.
        if let Err(error) = memory.catch_up_medium() {
            tracing::error!(%error, "what was said of late is not all known");
        }
        memory.trace();
        memory.enter_costs();
        memory.chronicle.stage_told();
        match memory.flush() {
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => tracing::error!(%error, "nothing can be recorded"),
            Ok(()) => {}
        }
        if memory.chronicle.altered().is_none() {
            memory.verify_anew()?;
        }
        Ok(memory)
    }

    /// The same on a machine whose own clock stands there.
    #[must_use]
    pub fn on_a_machine_at(mut self, zone: &str) -> Self {
        zone.clone_into(&mut self.machine_zone);
        self
    }

    /// The chronicle.
    #[must_use]
    pub const fn chronicle(&self) -> &Chronicle {
        &self.chronicle
    }

    /// The mnestome.
    #[must_use]
    pub const fn mnestome(&self) -> &Mnestome {
        &self.mnestome
    }

    /// The number of the flush that what is staged now waits for.
    #[must_use]
    pub const fn round(&self) -> u64 {
        self.rounds
    }

    /// How many events have been staged since the start: who sees it grow waits for the flush.
    #[must_use]
    pub const fn staged_so_far(&self) -> u64 {
        self.chronicle.staged_so_far()
    }

    /// How many bytes of payload wait for the next flush.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.chronicle.staged_bytes()
    }

    /// Why what was staged in that round is not on the disk; `None` when it is.
    #[must_use]
    pub fn failure(&self, round: u64) -> Option<&Refusal> {
        self.failed.iter().find(|(failed, _)| *failed == round).map(|(_, why)| why)
    }

    /// Forgets the failures of rounds whose answers have left.
    pub fn answered(&mut self) {
        self.failed.clear();
    }

    /// Makes everything that was staged durable and applies it to every projection.
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
        let round = self.rounds;
        self.rounds += 1;
        match self.chronicle.write() {
            Ok(()) => {}
            Err(killed @ Error::Killed(_)) => return Err(killed),
            Err(error) => {
                self.failed.push((round, error.to_refusal()));
                answer(self);
                return Err(error);
            }
        }
        // Whoever is told that a payload is gone, or that the mnestome was kept, may believe it.
        let promises =
            |placed: &Placed| matches!(placed.event.kind, EventType::PayloadRedacted | EventType::Checkpoint);
        let derived = if self.chronicle.due().iter().any(promises) { self.derive() } else { Ok(()) };
        if !matches!(derived, Err(Error::Killed(_))) {
            answer(self);
        }
        derived
    }

    /// How many events are durable and not derived from yet.
    #[must_use]
    pub fn due(&self) -> usize {
        self.chronicle.due().len()
    }

    /// Brings the index and everything that is derived up to what is durable. What goes wrong with one of them is caught
    /// up later: the lines are on the disk.
    ///
    /// # Errors
    /// Only when the process is made to end, by a test.
    pub fn derive(&mut self) -> Result<()> {
        let (written, indexed) = self.chronicle.bring_in()?;
        let Some(first) = written.first() else { return Ok(()) };
        if !indexed {
            return Ok(());
        }
        let checkpoints: Vec<Event> = written
            .iter()
            .map(|placed| &placed.event)
            .filter(|event| event.kind == EventType::Checkpoint)
            .cloned()
            .collect();
        self.enter_costs_of(written.iter().map(|placed| &placed.event));
        let projected = if self.mnestome.applied() + 1 == first.event.seq {
            self.apply_to_mnestome(written.iter().map(|placed| &placed.event))
        } else {
            self.catch_up_mnestome()
        };
        match projected {
            Err(killed @ Error::Killed(_)) => Err(killed),
            // The lines are durable: the mnestome catches up with the next ones.
            Err(error) => {
                tracing::error!(%error, "the mnestome is behind the chronicle");
                Ok(())
            }
            Ok(()) => {
                self.trace();
                self.keep_copies(checkpoints.iter());
                self.enter_costs();
                Ok(())
            }
        }
    }

    /// What is due once in a while, when nobody waits for anything.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub fn idle(&mut self) -> Result<()> {
        let itself = owner::itself(self.session);
        if self.files_are_due() {
            self.look_at_files(itself)?;
        }
        self.monthly(itself)
    }

    fn apply_to_mnestome<'a>(&mut self, events: impl IntoIterator<Item = &'a Event>) -> Result<()> {
        let Self { chronicle, mnestome, .. } = self;
        let mut faults = chronicle.take_faults();
        let applied = mnestome.apply(events, &IndexedTurns(chronicle), faults.as_mut());
        chronicle.give_faults(faults);
        applied
    }

    /// Applies what the mnestome has not heard of yet.
    fn catch_up_mnestome(&mut self) -> Result<()> {
        loop {
            let rows = self.chronicle.index().rows_from(self.mnestome.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let events = concerning(&self.chronicle, &rows)?;
            self.apply_to_mnestome(&events)?;
            self.mnestome.reached(last);
        }
    }

    /// Derives the mnestome anew, from the first line on: what it was derived from has changed.
    fn derive_anew(&mut self) -> Result<()> {
        self.mnestome.forget_everything()?;
        self.catch_up_mnestome()
    }

    /// Catches up every projection that is behind, as far as that is possible now.
    pub fn catch_up(&mut self) {
        let caught_up = self.derive().and_then(|()| self.chronicle.fit()).and_then(|()| self.catch_up_mnestome());
        if let Err(error) = caught_up {
            tracing::warn!(%error, "a projection stays behind the chronicle");
        }
    }

    /// Ends in order: everything staged is flushed, everything derived is stored.
    ///
    /// # Errors
    /// What went wrong; a next start catches up all the same.
    pub fn settle(&mut self) -> Result<()> {
        self.flush()?;
        self.mnestome.settle()
    }

    /// Makes sure that the index knows everything of a turn: an ask about a turn that has
    /// lines waiting, or due to the index, has them flushed first.
    fn settle_turn(&mut self, turn: TurnId) -> Result<()> {
        if self.chronicle.has_unindexed_of(turn) { self.flush() } else { Ok(()) }
    }

    /// What is known of a turn.
    fn turn(&mut self, turn: TurnId) -> Told<TurnFacts> {
        self.chronicle.fit()?;
        self.settle_turn(turn)?;
        self.chronicle.index().turn(turn)?.ok_or_else(|| unknown_turn(turn))
    }
}

fn unknown_turn(turn: TurnId) -> ServeError {
    Refusal::new(RefusalCode::Unknown, "turn.unknown", format!("nobody said anything in turn {turn}")).into()
}

/// Opens the mnestome; one that is damaged, or ahead of the chronicle, is moved aside and derived anew.
fn open_mnestome(path: &Path, calls_per_use_day: u32, chronicle: &mut Chronicle) -> Result<Mnestome> {
    let why = match Mnestome::open(path, calls_per_use_day) {
        Ok(mnestome) if mnestome.applied() <= chronicle.head().seq => return Ok(mnestome),
        Ok(mnestome) => {
            format!("it knows event {}, the chronicle ends at {}", mnestome.applied(), chronicle.head().seq)
        }
        Err(error) if is_damage(&error) => error.to_string(),
        Err(Error::Version { found, known, .. }) if found < known => format!("it has version {found}"),
        Err(error) => return Err(error),
    };
    let aside = crate::aside::move_database(path)?;
    chronicle.tell("mnestome_rebuilt", format!("mnest.sqlite was not usable ({why}); moved to {aside}"));
    Mnestome::open(path, calls_per_use_day)
}

/// The turns as the index knows them.
struct IndexedTurns<'a>(&'a Chronicle);

impl Turns for IndexedTurns<'_> {
    fn records(&self, close: &Event) -> Result<Option<Vec<Record>>> {
        let Some(turn) = close.turn_id else { return Ok(None) };
        let closed_here = self.0.index().turn(turn)?.is_some_and(|facts| facts.closed == Some(close.seq));
        if closed_here { records(self.0, turn, close.seq).map(Some) } else { Ok(None) }
    }

    fn records_again(&self, turn: TurnId, close: u64) -> Result<Vec<Record>> {
        records(self.0, turn, close)
    }

    fn replay(&self, upto: u64, onto: &mut Mnestome) -> Result<()> {
        while onto.applied() < upto {
            let rows = self.0.index().rows_from(onto.applied() + 1, CHUNK)?;
            let rows: Vec<IndexRow> = rows.into_iter().filter(|row| row.seq <= upto).collect();
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            onto.apply(&concerning(self.0, &rows)?, self, &mut NoFaults)?;
            onto.reached(last);
        }
        Ok(())
    }
}

/// The events among those rows that change a mnestome.
fn concerning(chronicle: &Chronicle, rows: &[IndexRow]) -> Result<Vec<Event>> {
    rows.iter()
        .filter(|row| row.kind.is_some_and(|kind| CONCERNS.contains(&kind)))
        .map(|row| chronicle.read(row))
        .collect()
}

/// The runs of a turn before event `before`.
fn records(chronicle: &Chronicle, turn: TurnId, before: u64) -> Result<Vec<Record>> {
    let run = |kind| matches!(kind, EventType::RunStarted | EventType::RunEnded);
    let rows = chronicle.index().of_turn(turn, before)?;
    let indexed = rows
        .iter()
        .filter(|row| row.kind.is_some_and(run))
        .filter_map(|row| chronicle.read(row).map(|event| Record::of(&event)).transpose());
    let fresh = chronicle.unindexed_of(turn).filter(|event| run(event.kind) && event.seq < before);
    indexed.chain(fresh.filter_map(Record::of).map(Ok)).collect()
}

/// What is known of a turn that begins now.
fn fresh_facts(trace: TraceId, channel: Channel, peer: &str, trust: Trust) -> TurnFacts {
    TurnFacts {
        trace,
        channel,
        peer: peer.to_owned(),
        trust,
        lang: String::new(),
        direct: false,
        said: None,
        opened: None,
        delivered: None,
        closed: None,
    }
}
