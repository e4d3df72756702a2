//! `budget`: what was used of what may be, and another limit for a while.

use metnos_proto::doc::budget::{BudgetAnswer, BudgetReport, BudgetRow};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::vault_budget::{BudgetAsk, BudgetOf, RaiseBudget};

use crate::command_line::nouns::BudgetCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::models::spend::money;
use crate::screen::escape;
use crate::screen::human::{ago, now_ms};
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
    let answer = opened(policyd.budget(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
        return Ok(Exit::Done);
    }
    match &answer {
        BudgetAnswer::Report(report) => show(screen, report)?,
        BudgetAnswer::Raised(raised) => {
            let limit = shown(raised.limit, raised.budget.starts_with("money."));
            let (name, whose) = (escape::line(&raised.budget), escape::line(&raised.principal));
            screen.line(&format!("`{name}` of {whose} is {limit}, {}.", until(raised.until_ms)))?;
        }
        BudgetAnswer::Restored(restored) => {
            let (name, whose) = (escape::line(&restored.budget), escape::line(&restored.principal));
            screen.line(&format!("`{name}` of {whose} is what metnos.toml says."))?;
        }
    }
    Ok(Exit::Done)
}

fn shown(number: u64, is_money: bool) -> String {
    if is_money { money(number) } else { number.to_string() }
}

fn until(until: u64) -> String {
    format!("for {} more", ago(now_ms(), until.max(now_ms())))
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

fn show(screen: &mut Screen, report: &BudgetReport) -> Result<(), CtlError> {
    let mut table = Table::new(&["WHOSE", "COUNTS", "USED", "LIMIT", "LEFT", "BUDGET", "CHANGED"]);
    for row in &report.budgets {
        let BudgetRow { used, limit, money, .. } = *row;
        let near = used > 0 && u128::from(used) * 100 >= u128::from(limit) * NEAR_PERCENT;
        table.row(vec![
            cell(&row.principal),
            cell(counts(&row.budget)),
            inked(shown(used, money), if near { Ink::Warn } else { Ink::Plain }),
            cell(shown(limit, money)),
            cell(shown(limit.saturating_sub(used), money)),
            cell(&row.budget),
            cell(row.changed_until_ms.map_or_else(String::new, until)),
        ]);
    }
    table.show(screen, 0)?;
    screen.line(&format!(
        "Births left today: {}. Calls a minute: {} of each sender.",
        report.births_left_today, report.calls_per_minute
    ))?;
    screen.line(
        "Money is in the currency of your prices (`prices` in metnos.toml; without any it stays 0.00). Days and months are \
         those of UTC. More for a while: `metnosctl budget raise WHOSE BUDGET LIMIT`.",
    )
}
