//! What something costs, as policyd tells it, and what was spent, as it asks before it allows more.

use std::path::Path;

use metnos_proto::ids::TurnId;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::msg::memoryd::{Cost, Recorded, Spending, Spent};

use super::record::refused;
use super::{Memory, Teller, Told};
use crate::chronicle::Chronicle;
use crate::chronicle::event::{Draft, Event, EventType};
use crate::chronicle::line::MAX_FIELD_BYTES;
use crate::chronicle::payload::CostEntry;
use crate::chronicle::store::is_damage;
use crate::chronicle::time::Day;
use crate::error::Result;
use crate::ledger::Ledger;
use metnos_proto::msg::common::Trust;

/// The most that one entry may cost, in millionths: so that no sum of a lifetime's entries overflows.
pub const MAX_MICRO: u64 = 1_000_000_000_000;
/// How many rows of the index are looked at in one step of catching up.
const CHUNK: u32 = 4096;

/// Opens the ledger; one that is damaged, or ahead of the chronicle, is moved aside and made anew.
pub(super) fn open(instance: &Path, chronicle: &mut Chronicle) -> Result<Ledger> {
    let folder = instance.join(".runtime");
    match rustix::fs::mkdir(&folder, rustix::fs::Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(errno) => return Err(crate::error::Error::io(format!("creating {}", folder.display()), errno)),
    }
    let path = folder.join("ledger.sqlite");
    let why = match Ledger::open(&path) {
        Ok(ledger) if ledger.applied() <= chronicle.head().seq => return Ok(ledger),
        Ok(ledger) => format!("it knows event {}, the chronicle ends at {}", ledger.applied(), chronicle.head().seq),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(error) => return Err(error),
    };
    let aside = crate::aside::move_database(&path)?;
    chronicle.tell("ledger_rebuilt", format!("ledger.sqlite was not usable ({why}); moved to {aside}"));
    Ledger::open(&path)
}

impl Memory {
    /// Applies what the ledger has not heard of yet; what goes wrong is tried again with the next lines.
    pub(super) fn enter_costs(&mut self) {
        if let Err(error) = self.try_to_enter() {
            tracing::error!(%error, "the ledger is behind the chronicle");
        }
    }

    /// Applies what has just been recorded, if the ledger knows all that was before: nothing need be read for it.
    pub(super) fn enter_costs_of<'a>(&mut self, events: impl DoubleEndedIterator<Item = &'a Event> + Clone) {
        let ends = events.clone().next().zip(events.clone().next_back()).map(|(first, last)| (first.seq, last.seq));
        if let Some((first, last)) = ends
            && self.ledger.applied() + 1 == first
            && let Err(error) = self.ledger.apply(events, last)
        {
            tracing::error!(%error, "the ledger is behind the chronicle");
        }
    }

    fn try_to_enter(&mut self) -> Result<()> {
        while self.ledger.applied() < self.chronicle.head().seq {
            let rows = self.chronicle.index().rows_from(self.ledger.applied() + 1, CHUNK)?;
            let Some(last) = rows.last().map(|row| row.seq) else { return Ok(()) };
            let costs = rows.iter().filter(|row| row.kind == Some(EventType::CostEntry));
            let costs: Vec<Event> = costs.map(|row| self.chronicle.read(row)).collect::<Result<_>>()?;
            self.ledger.apply(&costs, last)?;
        }
        Ok(())
    }

    /// policyd: something is expected to cost something, did, or was never settled.
    ///
    /// # Errors
    /// When the entry makes no sense, or nothing can be recorded.
    pub fn cost(&mut self, teller: Teller, word: &Cost) -> Told<Recorded> {
        let fits = word.micro <= MAX_MICRO
            && !(word.role.is_empty() && word.executor.is_empty())
            && [&word.role, &word.executor, &word.principal].iter().all(|text| text.len() <= MAX_FIELD_BYTES);
        if !fits {
            let why = format!(
                "an entry is about a role, an executor, or a role that worked for one, and of at most {MAX_MICRO} millionths"
            );
            return Err(refused(RefusalCode::Invalid, "cost.format", why));
        }
        let payload = CostEntry {
            entry: word.entry.to_string(),
            executor: word.executor.clone(),
            micro: word.micro,
            role: word.role.clone(),
            sent: word.sent.map(|digest| digest.to_string()).unwrap_or_default(),
            stage: word.stage.name().to_owned(),
            tokens_in: word.tokens_in,
            tokens_out: word.tokens_out,
        };
        Ok(self.chronicle.stage(Draft {
            parent: None,
            emitter: teller.role,
            session: teller.session,
            turn_id: Some(word.turn).filter(|turn| *turn != TurnId::NONE),
            trace_id: None,
            kind: EventType::CostEntry,
            channel: None,
            peer: word.principal.clone(),
            trust: Trust::System,
            payload: payload.encode(),
        })?)
    }

    /// policyd: what was spent, everything that was told until now included.
    ///
    /// # Errors
    /// When the ledger cannot be read, or is behind: a cap that cannot be checked is not known to be kept.
    pub fn spending(&mut self, word: &Spending) -> Told<Spent> {
        self.flush()?;
        self.chronicle.fit()?;
        self.try_to_enter()?;
        Ok(self.ledger.spent(word.turn, &word.principal, Day::of(self.chronicle.now_ms()))?)
    }
}
