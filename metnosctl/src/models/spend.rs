//! `spend`: the ledger as memoryd keeps it, and what an active day costs.

use metnos_proto::msg::memoryd::Query;
use serde_json::{Value, json};

use crate::audit::documents;
use crate::audit::search::page;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::human::{counted, scalar};
use crate::screen::table::{Table, cell};

/// Millionths in whole units of money: two places, and more only where there is more.
pub(crate) fn money(micro: u64) -> String {
    metnos_texts::card::money(micro)
}

/// `spend`.
///
/// # Errors
/// When memoryd refuses or cannot be reached.
pub fn spend(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let (bytes, _) = page(&mut Connection::to(instance)?, Query::Ledger)?;
    let unreadable = |why: String| CtlError::failed("the ledger", why, "look at `metnosctl doctor`");
    let mut rows = documents(&bytes).map_err(unreadable)?;
    let forecast = if rows.is_empty() { json!({}) } else { rows.remove(0) };
    if screen.json() {
        screen.document(&json!({ "forecast": forecast, "entries": rows }))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        screen.line("Nothing was spent yet: no model was asked, and no executor that was called costs anything.")?;
        screen.line("What may be spent: `metnosctl budget show`.")?;
        return Ok(Exit::Done);
    }
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap_or(0);
    let mut table = Table::new(&["DAY", "FOR", "ON", "SPENT", "TOKENS", "ENTRIES", "OPEN"]);
    for row in &rows {
        let on = if row["role"] == "" { scalar(&row["executor"]) } else { scalar(&row["role"]) };
        table.row(vec![
            cell(scalar(&row["day"])),
            cell(scalar(&row["principal"])),
            cell(on),
            cell(money(number(row, "micro"))),
            cell(scalar(&row["tokens"])),
            cell(scalar(&row["entries"])),
            cell(scalar(&row["open"])),
        ]);
    }
    table.show(screen, 0)?;
    screen.line("SPENT is in the currency of your prices; OPEN is set aside for turns that are under way. Days are those of UTC.")?;
    let days = number(&forecast, "active_days");
    if days > 0 {
        let (median, low, high) = (number(&forecast, "median"), number(&forecast, "low"), number(&forecast, "high"));
        let from = counted(days, "active day", "active days");
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
