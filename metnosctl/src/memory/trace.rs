//! `trace`: the communities of executors that work together, as memoryd last found them.

use metnos_proto::doc::mnestome::{OneTrace, Trace, Traces};
use metnos_proto::msg::memoryd::Recollect;

use crate::command_line::cli::TraceCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::memory::recollect;
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::human::shortened;
use crate::screen::table::{Table, cell};

/// The most characters of a trace's members in the list for people.
const MAX_SHOWN: usize = 80;

/// `trace list|show`.
///
/// # Errors
/// When memoryd refuses or cannot be reached, or there is no such trace.
pub fn trace(screen: &mut Screen, instance: &Instance, command: &TraceCommand) -> Result<Exit, CtlError> {
    let found: Traces = recollect(&mut Connection::to(instance)?, Recollect::Traces, "")?;
    match command {
        TraceCommand::List => list(screen, &found),
        TraceCommand::Show { id } => show(screen, found, id),
    }
}

fn members(trace: &Trace) -> Vec<String> {
    trace.members.iter().map(|(name, version)| format!("{name} {version}")).collect()
}

fn list(screen: &mut Screen, found: &Traces) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(found)?;
        return Ok(Exit::Done);
    }
    if found.traces.is_empty() {
        screen.line("There are no traces yet: no two executors have worked together so far.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "EXECUTORS", "INSIDE", "OUTSIDE", "MEMBERS"]);
    for trace in &found.traces {
        let members = members(trace);
        table.row(vec![
            cell(trace.id.clone()),
            cell(members.len().to_string()),
            cell(format!("{:.3}", trace.inside)),
            cell(format!("{:.3}", trace.outside)),
            cell(shortened(&members.join(", "), MAX_SHOWN)),
        ]);
    }
    table.show(screen, 0)?;
    screen.line(&format!("modularity {:.3}", found.modularity))?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, found: Traces, id: &str) -> Result<Exit, CtlError> {
    let Traces { use_time, modularity, traces } = found;
    let mut fitting = traces.into_iter().filter(|trace| trace.id.ends_with(id));
    let (Some(trace), None) = (fitting.next(), fitting.next()) else {
        let what = format!("no single trace's id ends with `{id}`");
        return Err(CtlError::Usage { what, remedy: "`metnosctl trace list` names them".to_owned() });
    };
    if screen.json() {
        screen.document(&OneTrace { trace, modularity, use_time })?;
        return Ok(Exit::Done);
    }
    screen.line(&escape::line(&trace.id))?;
    for member in members(&trace) {
        screen.line(&format!("  {}", escape::line(&member)))?;
    }
    screen.line(&format!("weight inside {:.3}, outside {:.3}", trace.inside, trace.outside))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    fn found() -> Traces {
        let trace = |id: &str, members: [&str; 2], inside: f64| Trace {
            id: id.to_owned(),
            members: members.map(|name| (name.to_owned(), "1.0.0".to_owned())).into(),
            inside,
            outside: 0.0,
        };
        let traces =
            vec![trace("trace_01A", ["fs_read", "text_stats"], 0.15), trace("trace_01B", ["web_get", "fs_write"], 0.3)];
        Traces { use_time: 1, modularity: 0.25, traces }
    }

    #[test]
    fn a_trace_is_one_row_and_the_modularity_stands_below() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        list(&mut paper, &found()).unwrap();
        let lines: Vec<String> = out.text().lines().map(str::to_owned).collect();
        assert!(
            lines[1].starts_with("trace_01A  2          0.150   0.000    fs_read 1.0.0, text_stats 1.0.0"),
            "{}",
            lines[1]
        );
        assert_eq!(lines[3], "modularity 0.250");
    }

    #[test]
    fn trace_is_found_by_unambiguous_end_of_its_id() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        show(&mut paper, found(), "1B").unwrap();
        assert!(out.text().contains("  web_get 1.0.0"));
        for wrong in ["", "trace_01", "Z"] {
            assert_eq!(show(&mut paper, found(), wrong).unwrap_err().exit(), Exit::Usage, "{wrong}");
        }
    }
}
