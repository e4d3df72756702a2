//! `policy check`: what would become of a call, every step in words. It asks policyd, which
//! decides on it as on any other and then does nothing.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::CheckPolicy;
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::command_line::cli::CheckCall;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::table::{Table, cell, inked};
use crate::screen::{Ink, Screen};
use crate::turns::run;
use crate::turns::values;

/// Asks, and shows the explanation.
///
/// # Errors
/// When the arguments are none, or policyd cannot be reached.
pub fn check(screen: &mut Screen, instance: &Instance, call: &CheckCall) -> Result<Exit, CtlError> {
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let arguments = match call.arguments.as_slice() {
        [object] if object.trim_start().starts_with('{') => {
            values::check_object(object)?;
            object.clone().into_bytes()
        }
        pairs => {
            let pairs = values::pairs(pairs)?;
            let input =
                if values::need_schema(&pairs) { run::input_schema(&mut policyd, &call.executor)? } else { None };
            Value::Object(values::arguments(pairs, input.as_ref())).to_string().into_bytes()
        }
    };
    let sealed =
        Sealed::new(&arguments).map_err(|error| CtlError::failed("the arguments cannot be sent", error, ""))?;
    let ask = CheckPolicy { principal: call.principal.clone(), executor: call.executor.clone() };
    let (_, [explained]) = policyd.check_policy(TraceId::NONE, ask, [sealed])?;
    let unreadable =
        |why: String| CtlError::failed("the explanation cannot be read", why, "look at `metnosctl doctor`");
    let bytes = explained.read().map_err(|error| unreadable(error.to_string()))?;
    let document: Value = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if screen.json() {
        screen.document(&document)?;
    } else {
        show(screen, &document)?;
    }
    Ok(if document["verdict"] == "allow" { Exit::Done } else { Exit::Failed })
}

fn show(screen: &mut Screen, document: &Value) -> Result<(), CtlError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let says = |key: &str| text(&document[key]);
    screen.line(&format!(
        "{} ({}, level {}) asks for {}: {} [{}]",
        says("principal"),
        says("standing"),
        says("level"),
        says("executor"),
        says("verdict"),
        says("rule"),
    ))?;
    screen.line(&format!("at this level, without asking: {}", says("without_asking")))?;
    let mut steps = Table::new(&["STEP", "OUTCOME", "WHY"]);
    for step in document["steps"].as_array().into_iter().flatten() {
        let outcome = text(&step["outcome"]);
        let ink = match outcome.as_str() {
            "passed" | "allow" => Ink::Good,
            "ask" => Ink::Warn,
            _ => Ink::Bad,
        };
        steps.row(vec![cell(text(&step["step"])), inked(&outcome, ink), cell(text(&step["why"]))]);
    }
    steps.show(screen, 0)?;
    let arguments = document["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !arguments.is_empty() {
        let mut table = Table::new(&["ARGUMENT", "ROLE", "LABEL", "FROM"]);
        for argument in arguments {
            table.row(["pointer", "role", "label", "source"].iter().map(|key| cell(text(&argument[*key]))).collect());
        }
        table.show(screen, 0)?;
    }
    if !says("remedy").is_empty() {
        screen.line(&format!("→ {}", says("remedy")))?;
    }
    Ok(())
}
