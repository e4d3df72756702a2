//! The chronicle as the mnestome reads it.

use metnos_proto::ids::TurnId;

use super::super::journal::records;
use super::super::projection::CHUNK;
use crate::chronicle::Chronicle;
use crate::chronicle::event::Event;
use crate::chronicle::index::IndexRow;
use crate::error::Result;
use crate::faults::NoFaults;
use crate::mnestome::derive::Record;
use crate::mnestome::graph::{CONCERNS, Mnestome, Turns};

/// The turns as the index knows them.
pub(super) struct IndexedTurns<'a>(pub(super) &'a Chronicle);

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
pub(super) fn concerning(chronicle: &Chronicle, rows: &[IndexRow]) -> Result<Vec<Event>> {
    rows.iter()
        .filter(|row| row.kind.is_some_and(|kind| CONCERNS.contains(&kind)))
        .map(|row| chronicle.read(row))
        .collect()
}
