//! `policy check`: what would become of a call, every step in words. It asks policyd, which
//! decides on it as on any other and then does nothing.

use metnos_proto::doc::policy::{PolicyCheck, StepOutcome, Verdict};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::CheckPolicy;
use metnos_proto::payload::Sealed;
use serde_json::Value;

use crate::command_line::cli::CheckCall;
use crate::daemons::connection::{Connection, opened};
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
    let check = opened(policyd.check_policy(TraceId::NONE, ask, [sealed])?)?;
    if screen.json() {
        screen.document(&check)?;
    } else {
        show(screen, &check)?;
    }
    Ok(if check.verdict == Verdict::Allow { Exit::Done } else { Exit::Failed })
}

fn show(screen: &mut Screen, check: &PolicyCheck) -> Result<(), CtlError> {
    screen.line(&format!(
        "{} ({}, level {}) asks for {}: {} [{}]",
        check.principal,
        check.standing.name(),
        check.level.name(),
        check.executor,
        check.verdict.name(),
        check.rule,
    ))?;
    screen.line(&format!("at this level, without asking: {}", check.without_asking))?;
    let mut steps = Table::new(&["STEP", "OUTCOME", "WHY"]);
    for step in &check.steps {
        let ink = match step.outcome {
            StepOutcome::Passed => Ink::Good,
            StepOutcome::Asks => Ink::Warn,
            StepOutcome::Denies => Ink::Bad,
        };
        steps.row(vec![cell(&step.step), inked(step.outcome.name(), ink), cell(&step.why)]);
    }
    steps.show(screen, 0)?;
    if !check.arguments.is_empty() {
        let mut table = Table::new(&["ARGUMENT", "ROLE", "LABEL", "FROM"]);
        for one in &check.arguments {
            table.row([&one.pointer, &one.role, &one.label, &one.source].map(cell).into());
        }
        table.show(screen, 0)?;
    }
    if !check.remedy.is_empty() {
        screen.line(&format!("→ {}", check.remedy))?;
    }
    Ok(())
}
