//! `spend`: the ledger as memoryd keeps it, and what an active day costs.

use metnos_proto::doc::chronicle::{DaySpending, SpendingForecast};
use metnos_proto::msg::memoryd::Query;
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::documents;
use crate::audit::search::page;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::human::counted;
use crate::screen::table::{Table, cell};

/// Millionths in whole units of money: two places, and more only where there is more.
pub(crate) fn money(micro: u64) -> String {
    metnos_texts::card::money(micro)
}

/// What was spent, and what an active day costs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Spending {
    /// What an active day costs.
    pub forecast: SpendingForecast,
    /// What was spent, by day, principal and thing.
    pub entries: Vec<DaySpending>,
}

impl Spending {
    /// Reads the forecast, and the entries that follow it one a line.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let (first, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&bytes[..end], &bytes[end..]),
            None => (bytes, &bytes[..0]),
        };
        let forecast = serde_json::from_slice(first).map_err(|error| error.to_string())?;
        Ok(Self { forecast, entries: documents(rest)? })
    }
}

/// How many tokens models have read and written in all.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn tokens_spent(instance: &Instance) -> Result<u64, CtlError> {
    Ok(read(instance)?.entries.iter().map(|entry| entry.tokens).sum())
}

fn read(instance: &Instance) -> Result<Spending, CtlError> {
    let (bytes, _) = page(&mut Connection::to(instance)?, Query::Ledger)?;
    Spending::read(&bytes).map_err(|why| CtlError::failed("the ledger", why, "look at `metnosctl doctor`"))
}

/// `spend`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn spend(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let spent = read(instance)?;
    if screen.json() {
        screen.document(&spent)?;
        return Ok(Exit::Done);
    }
    if spent.entries.is_empty() {
        screen.line("Nothing was spent yet: no model was asked, and no executor that was called costs anything.")?;
        screen.line("What may be spent: `metnosctl budget show`.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["DAY", "FOR", "ON", "SPENT", "TOKENS", "ENTRIES", "OPEN"]);
    for row in spent.entries {
        table.row(vec![
            cell(row.day),
            cell(row.principal),
            cell(if row.role.is_empty() { row.executor } else { row.role }),
            cell(money(row.micro)),
            cell(row.tokens.to_string()),
            cell(row.entries.to_string()),
            cell(row.open.to_string()),
        ]);
    }
    table.show(screen, 0)?;
    screen.line("SPENT is in the currency of your prices; OPEN is set aside for turns that are under way. Days are those of UTC.")?;
    let SpendingForecast { active_days, median, low, high } = spent.forecast;
    if active_days > 0 {
        let from = counted(active_days as u64, "active day", "active days");
        let (median, low, high) = (money(median), money(low), money(high));
        screen.line(&format!("An active day costs {median} (from {low} to {high}, over {from})."))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_in_whole_units_to_the_last_millionth_that_there_is() {
        assert_eq!(money(0), "0.00");
        assert_eq!(money(1_500_000), "1.50");
        assert_eq!(money(12_345_678), "12.345678");
    }
}
