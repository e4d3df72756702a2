//! `panic`, `resume`, `executor disable`, `executor enable`: the owner's switches. policyd throws them; this asks and
//! says what came of it.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::{Panic, Resume, SwitchExecutor};
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::json_constant::ConstTrue;
use crate::screen::Screen;

/// Everything is stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PanicDone {
    /// It was done.
    ok: ConstTrue,
    /// Whether everything is stopped now.
    stopped: bool,
    /// How many calls were ended.
    killed: u32,
}

/// Calls can happen again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ResumeDone {
    /// It was done.
    ok: ConstTrue,
    /// Whether everything is stopped now.
    stopped: bool,
    /// Whether it was before.
    changed: bool,
}

/// An executor was switched on or off.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExecutorSwitched {
    /// It was done.
    ok: ConstTrue,
    /// Its name.
    executor: String,
    /// Whether it can be called now.
    enabled: bool,
    /// Whether that is new.
    changed: bool,
}

/// `panic`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn panic(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let (panicked, []) = Connection::to(instance)?.open::<CtlPolicyd>()?.panic(TraceId::NONE, Panic {}, [])?;
    if screen.json() {
        screen.document(&PanicDone { ok: ConstTrue, stopped: true, killed: panicked.killed })?;
    } else {
        let ended = match panicked.killed {
            0 => "nothing was running".to_owned(),
            1 => "one call was ended".to_owned(),
            many => format!("{many} calls were ended"),
        };
        screen.line(&format!("Everything is stopped: {ended}, and none is allowed until `metnosctl resume`."))?;
    }
    Ok(Exit::Done)
}

/// `resume`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn resume(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let (switched, []) = Connection::to(instance)?.open::<CtlPolicyd>()?.resume(TraceId::NONE, Resume {}, [])?;
    if screen.json() {
        screen.document(&ResumeDone { ok: ConstTrue, stopped: false, changed: switched.changed })?;
    } else if switched.changed {
        screen.line("Calls can happen again.")?;
    } else {
        screen.line("Nothing was stopped; nothing has changed.")?;
    }
    Ok(Exit::Done)
}

/// `executor disable` and `executor enable`.
///
/// # Errors
/// When there is no such executor, or policyd refuses or cannot be reached.
pub fn executor(screen: &mut Screen, reach: &mut Connection, name: &str, on: bool) -> Result<Exit, CtlError> {
    let ask = SwitchExecutor { name: name.to_owned(), on };
    let (switched, []) = reach.open::<CtlPolicyd>()?.switch_executor(TraceId::NONE, ask, [])?;
    if screen.json() {
        let (executor, changed) = (name.to_owned(), switched.changed);
        screen.document(&ExecutorSwitched { ok: ConstTrue, executor, enabled: on, changed })?;
        return Ok(Exit::Done);
    }
    let is = if on { "on" } else { "off" };
    let text = if switched.changed { format!("{name} is switched {is}.") } else { format!("{name} was {is} already.") };
    screen.line(&text)?;
    Ok(Exit::Done)
}
