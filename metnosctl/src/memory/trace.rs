//! `trace`: the communities of executors that work together, as memoryd last found them.

use metnos_proto::msg::memoryd::Recollect;
use serde_json::{Value, json};

use crate::command_line::cli::TraceCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::memory::recollect;
use crate::screen::Screen;
use crate::screen::human::{scalar, shortened};
use crate::screen::table::{Table, cell};

/// The most characters of a trace's members in the list for people.
const MAX_SHOWN: usize = 80;

/// `trace list|show`.
///
/// # Errors
/// When memoryd refuses or cannot be reached, or there is no such trace.
pub fn trace(screen: &mut Screen, instance: &Instance, command: &TraceCommand) -> Result<Exit, CtlError> {
    let found = recollect(&mut Connection::to(instance)?, Recollect::Traces, "")?;
    match command {
        TraceCommand::List => list(screen, &found),
        TraceCommand::Show { id } => show(screen, &found, id),
    }
}

fn traces(found: &Value) -> &[Value] {
    found.get("traces").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn number(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_f64).map_or_else(String::new, |number| format!("{number:.3}"))
}

fn members(trace: &Value) -> Vec<String> {
    let pairs = trace.get("members").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    pairs
        .iter()
        .map(|pair| {
            pair.as_array().map_or_else(String::new, |pair| pair.iter().map(scalar).collect::<Vec<_>>().join(" "))
        })
        .collect()
}

fn list(screen: &mut Screen, found: &Value) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(found)?;
        return Ok(Exit::Done);
    }
    if traces(found).is_empty() {
        screen.line("There are no traces yet: no two executors have worked together so far.")?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["ID", "EXECUTORS", "INSIDE", "OUTSIDE", "MEMBERS"]);
    for trace in traces(found) {
        let members = members(trace);
        table.row(vec![
            cell(trace.get("id").map_or_else(String::new, scalar)),
            cell(members.len().to_string()),
            cell(number(trace, "inside")),
            cell(number(trace, "outside")),
            cell(shortened(&members.join(", "), MAX_SHOWN)),
        ]);
    }
    table.show(screen, 0)?;
    screen.line(&format!("modularity {}", number(found, "modularity")))?;
    Ok(Exit::Done)
}

fn show(screen: &mut Screen, found: &Value, id: &str) -> Result<Exit, CtlError> {
    let fits = |trace: &&Value| trace.get("id").and_then(Value::as_str).is_some_and(|known| known.ends_with(id));
    let mut fitting = traces(found).iter().filter(fits);
    let (Some(trace), None) = (fitting.next(), fitting.next()) else {
        let what = format!("no single trace's id ends with `{id}`");
        return Err(CtlError::Usage { what, remedy: "`metnosctl trace list` names them".to_owned() });
    };
    if screen.json() {
        screen.document(
            &json!({ "trace": trace, "modularity": found.get("modularity"), "use_time": found.get("use_time") }),
        )?;
        return Ok(Exit::Done);
    }
    screen.line(&trace.get("id").map_or_else(String::new, scalar))?;
    for member in members(trace) {
        screen.line(&format!("  {member}"))?;
    }
    screen.line(&format!("weight inside {}, outside {}", number(trace, "inside"), number(trace, "outside")))?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    fn found() -> Value {
        json!({"use_time": 1, "modularity": 0.25, "traces": [
            {"id": "trace_01A", "members": [["fs_read", "1.0.0"], ["text_stats", "1.0.0"]], "inside": 0.15, "outside": 0.0},
            {"id": "trace_01B", "members": [["web_get", "1.0.0"], ["fs_write", "1.0.0"]], "inside": 0.3, "outside": 0.0},
        ]})
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
        show(&mut paper, &found(), "1B").unwrap();
        assert!(out.text().contains("  web_get 1.0.0"));
        for wrong in ["", "trace_01", "Z"] {
            assert_eq!(show(&mut paper, &found(), wrong).unwrap_err().exit(), Exit::Usage, "{wrong}");
        }
    }
}
