//! `budget`: what was used of what may be, and another limit for a while.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::house::{BudgetAsk, BudgetOf, RaiseBudget};
use serde_json::Value;

use crate::command_line::nouns::BudgetCommand;
use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::models::spend::money;
use crate::screen::human::{ago, now_ms, scalar};
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};

/// From that part of a budget on it is shown as a warning, in percent.
const NEAR_PERCENT: u128 = 80;

/// Does what `budget` says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn budget(screen: &mut Screen, instance: &Instance, command: &BudgetCommand) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let of = |principal: &String, budget: &String| BudgetOf { principal: principal.clone(), budget: budget.clone() };
    let ask = match command {
        BudgetCommand::Show { principal } => BudgetAsk::Show(principal.clone().unwrap_or_default()),
        BudgetCommand::Raise { principal, budget, limit, time } => {
            BudgetAsk::Raise(RaiseBudget { of: of(principal, budget), limit: *limit, seconds: *time })
        }
        BudgetCommand::Restore { principal, budget } => BudgetAsk::Restore(of(principal, budget)),
    };
    let (_, [answer]) = policyd.budget(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    let name = scalar(&answer["budget"]);
    match command {
        BudgetCommand::Show { .. } => show(screen, &answer)?,
        BudgetCommand::Raise { principal, .. } => {
            let limit = shown(&answer, "limit", name.starts_with("money."));
            screen.line(&format!("`{name}` of {principal} is {limit}, {}.", until(&answer["until_ms"])))?;
        }
        BudgetCommand::Restore { principal, .. } => {
            screen.line(&format!("`{name}` of {principal} is what metnos.toml says."))?;
        }
    }
    Ok(Exit::Done)
}

fn shown(row: &Value, key: &str, is_money: bool) -> String {
    let number = row[key].as_u64().unwrap_or(0);
    if is_money { money(number) } else { number.to_string() }
}

fn until(ms: &Value) -> String {
    let left = |until: u64| format!("for {} more", ago(now_ms(), until.max(now_ms())));
    ms.as_u64().map_or_else(String::new, left)
}

/// What a budget counts, for people.
fn counts(name: &str) -> &'static str {
    match name {
        "calls.running" => "calls at the same time",
        "calls.day" => "calls today",
        "writes.day" => "calls today that change something",
        "money.turn" => "money in one turn",
        "money.day" | "money.house_day" => "money today",
        "money.month" | "money.house_month" => "money this month",
        "tokens.turn" => "tokens in one turn",
        "tokens.day" => "tokens today",
        "tokens.month" => "tokens this month",
        _ => "",
    }
}

fn show(screen: &mut Screen, answer: &Value) -> Result<(), CtlError> {
    let mut table = Table::new(&["WHOSE", "COUNTS", "USED", "LIMIT", "LEFT", "BUDGET", "CHANGED"]);
    for row in answer["budgets"].as_array().into_iter().flatten() {
        let is_money = row["money"] == true;
        let (used, limit) = (row["used"].as_u64().unwrap_or(0), row["limit"].as_u64().unwrap_or(0));
        let near = used > 0 && u128::from(used) * 100 >= u128::from(limit) * NEAR_PERCENT;
        let (name, left) = (scalar(&row["budget"]), limit.saturating_sub(used));
        table.row(vec![
            cell(scalar(&row["principal"])),
            cell(counts(&name)),
            inked(shown(row, "used", is_money), if near { Ink::Warn } else { Ink::Plain }),
            cell(shown(row, "limit", is_money)),
            cell(if is_money { money(left) } else { left.to_string() }),
            cell(name),
            cell(until(&row["changed_until_ms"])),
        ]);
    }
    table.show(screen, 0)?;
    screen.line(&format!(
        "Births left today: {}. Calls a minute: {} of each sender.",
        answer["births_left_today"], answer["calls_per_minute"]
    ))?;
    screen.line(
        "Money is in the currency of your prices (`prices` in metnos.toml; without any it stays 0.00). Days and months are \
         those of UTC. More for a while: `metnosctl budget raise WHOSE BUDGET LIMIT`.",
    )
}
