//! `schedule`: what is to be done at another time. `parse` reads words about time and asks no daemon; everything else is policyd's
//! to allow and memoryd's to keep.

pub mod parse;

use metnos_proto::doc::schedule::{FiringView, ScheduleHistory, ScheduleList, ScheduleView};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::common::Lang;
use metnos_proto::msg::schedule::{AddReminder, ScheduleAct, ScheduleAsk, ScheduleChange, ShowSchedule, Which};

use crate::command_line::nouns::ScheduleCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::human::{self, now_ms};
use crate::screen::table::{Table, cell};

/// What stands in place of another person's words.
const SEALED: &str = "(sealed)";

/// Does what `schedule` says.
///
/// # Errors
/// When the moment or the zone is none; when a daemon refuses or cannot be reached.
pub fn schedule(
    screen: &mut Screen,
    place: impl FnOnce() -> Result<Instance, CtlError>,
    command: &ScheduleCommand,
) -> Result<Exit, CtlError> {
    let change =
        |number: u64, act: ScheduleAct| ScheduleAsk::Change(ScheduleChange { which: Which::Number(number), act });
    let ask = match command {
        ScheduleCommand::Parse(asked) => return parse::parse(screen, place, asked),
        ScheduleCommand::Show { number } | ScheduleCommand::History { number } => {
            return show(screen, &place()?, *number);
        }
        ScheduleCommand::List { all } => ScheduleAsk::List(*all),
        ScheduleCommand::Add(add) => {
            let what = add.what.join(" ");
            let spoken = metnos_reflex::spoken_in(&format!("{what} {}", add.when));
            let lang = add.lang.or(spoken).unwrap_or(Lang::En);
            let to = add.to.clone().unwrap_or_default();
            ScheduleAsk::Add(AddReminder { what, when: add.when.clone(), lang, to, asks: add.ask })
        }
        ScheduleCommand::Pause { number } => change(*number, ScheduleAct::Pause),
        ScheduleCommand::Resume { number } => change(*number, ScheduleAct::Resume),
        ScheduleCommand::Cancel { number } => change(*number, ScheduleAct::Cancel),
        ScheduleCommand::RunNow { number } => change(*number, ScheduleAct::RunNow),
        ScheduleCommand::Modify { number, when } => change(*number, ScheduleAct::Move(vec![when.join(" ")])),
    };
    let mut policyd = Connection::to(&place()?)?.open::<CtlPolicyd>()?;
    let schedules = opened(policyd.schedules(TraceId::NONE, ask, [])?)?;
    list(screen, &schedules)
}

fn list(screen: &mut Screen, schedules: &ScheduleList) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(schedules)?;
        return Ok(Exit::Done);
    }
    if schedules.0.is_empty() {
        screen.line("Nothing is planned.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["NO", "KIND", "STATE", "WHEN", "NEXT", "TO", "WHAT"]);
    for one in &schedules.0 {
        table.row(vec![
            cell(one.number.to_string()),
            cell(one.kind.name()),
            cell(one.state.name()),
            cell(&one.told),
            cell(one.next.first().map_or("-", String::as_str)),
            cell(&one.to),
            cell(if one.sealed { SEALED } else { &one.what }),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, instance: &Instance, number: u64) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = ShowSchedule { number, lang: Lang::En };
    let history = opened(policyd.show_schedule(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&history)?;
        return Ok(Exit::Done);
    }
    let ScheduleHistory { schedule, firings } = &history;
    facts(screen, schedule)?;
    if firings.is_empty() {
        screen.line("It has not fired yet.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["DUE", "BEGUN", "STATE", "MISSED BEFORE"]);
    let now = now_ms();
    for FiringView { due, begun_ms, state, missed, .. } in firings {
        let begun = human::ago(*begun_ms, now);
        table.row(vec![cell(due), cell(begun), cell(state.name()), cell(missed.to_string())]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

fn facts(screen: &mut Screen, one: &ScheduleView) -> Result<(), CtlError> {
    let next = if one.next.is_empty() { "never again".to_owned() } else { one.next.join(", ") };
    let (what, said) = if one.sealed { (SEALED, SEALED) } else { (one.what.as_str(), one.when.as_str()) };
    for (name, fact) in [
        ("kind", &one.kind.name().to_owned()),
        ("what", &what.to_owned()),
        ("when", &format!("{} (said: {said})", one.told)),
        ("next", &next),
        ("zone", &one.zone),
        ("whose", &one.principal),
        ("to", &one.to),
        ("state", &one.state.name().to_owned()),
    ] {
        screen.line(&escape::line(&format!("{name:6} {fact}")))?;
    }
    Ok(())
}
