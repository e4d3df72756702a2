//! `executor archive`, `restore` and `revoke`: the owner's word on the life of an executor. policyd does it; this asks, and says
//! what came of it. What cannot be taken back is shown first, and asked for with the digest of exactly that.

use metnos_proto::doc::executor::{LifecycleAnswer, LifecycleChange, State};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::lifecycle::{LifecycleAsk, LifecycleTarget, Revocation};

use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::escape;

fn ask(reach: &mut Connection, ask: LifecycleAsk) -> Result<LifecycleChange, CtlError> {
    match opened(reach.open::<CtlPolicyd>()?.life(TraceId::NONE, ask, [])?)? {
        LifecycleAnswer::Changed(change) => Ok(change),
        LifecycleAnswer::Signed(_) => Err(unasked()),
    }
}

/// An answer came that belongs to another ask.
pub(crate) fn unasked() -> CtlError {
    CtlError::failed("what policyd says cannot be read", "it answers another ask", "look at `metnosctl doctor`")
}

fn word(name: &str, reason: &str) -> LifecycleTarget {
    LifecycleTarget { name: name.to_owned(), reason: reason.to_owned() }
}

/// Name and version.
fn who(change: &LifecycleChange) -> String {
    escape::line(&format!("{} {}", change.name, change.version))
}

/// Says what there is to say, and ends.
fn print_outcome(
    screen: &mut Screen,
    answer: &LifecycleChange,
    exit: Exit,
    lines: &[String],
) -> Result<Exit, CtlError> {
    if screen.json() {
        screen.document(answer)?;
    } else {
        lines.iter().try_for_each(|line| screen.line(line))?;
    }
    Ok(exit)
}

/// `executor archive`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub(crate) fn archive(
    screen: &mut Screen,
    reach: &mut Connection,
    name: &str,
    reason: Option<&str>,
) -> Result<Exit, CtlError> {
    let answer = ask(reach, LifecycleAsk::Archive(word(name, reason.unwrap_or_default())))?;
    let line = if answer.changed {
        format!("{} is in the archive; `metnosctl executor restore {name} --reason …` brings it back.", who(&answer))
    } else {
        format!("{} was in the archive already: {}", who(&answer), escape::line(&answer.why))
    };
    print_outcome(screen, &answer, Exit::Done, &[line])
}

/// `executor restore`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub(crate) fn restore(screen: &mut Screen, reach: &mut Connection, name: &str, reason: &str) -> Result<Exit, CtlError> {
    let answer = ask(reach, LifecycleAsk::Restore(word(name, reason)))?;
    if answer.state == State::Quarantined {
        let lines = [
            format!("{} is out of the archive, and in quarantine: {}", who(&answer), escape::line(&answer.why)),
            format!("  → `metnosctl executor lift {name}` or `relock {name}` says whether it can be let back"),
        ];
        return print_outcome(screen, &answer, Exit::Failed, &lines);
    }
    let line = match answer.changed {
        true => format!("{} is back.", who(&answer)),
        false => format!("{} was not in the archive.", who(&answer)),
    };
    print_outcome(screen, &answer, Exit::Done, &[line])
}

/// `executor revoke`.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub(crate) fn revoke(
    screen: &mut Screen,
    reach: &mut Connection,
    name: &str,
    reason: &str,
    confirm: Option<&str>,
) -> Result<Exit, CtlError> {
    let confirm = confirm.unwrap_or_default().to_owned();
    let ask_for = Revocation { name: name.to_owned(), reason: reason.to_owned(), confirm };
    let answer = ask(reach, LifecycleAsk::Revoke(ask_for))?;
    if !answer.digest.is_empty() {
        let lines = [
            format!("{} is {}. To revoke its signature cannot be taken back:", who(&answer), answer.state.name()),
            "  nothing lets this version be called again; its files stay where they are.".to_owned(),
            format!("  → if you want it so, say the same with --confirm {}", escape::line(&answer.digest)),
        ];
        return print_outcome(screen, &answer, Exit::Waiting, &lines);
    }
    let line = match answer.changed {
        true => format!("The signature of {} is revoked.", who(&answer)),
        false => format!("The signature of {} was revoked already: {}", who(&answer), escape::line(&answer.why)),
    };
    print_outcome(screen, &answer, Exit::Done, &[line])
}
