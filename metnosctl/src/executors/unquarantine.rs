//! `executor lift` and `executor relock`: the owner lets back what is in quarantine, once he has seen why it is there and
//! what would change. It shows what policyd says, and sends back the digest of exactly what was shown.

use metnos_proto::doc::executor::{QuarantineReport, QuarantinedExecutor, WayOut};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::LiftQuarantine;
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::executors::profile::{self, Change};
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::human;

/// Whom it is about: one by its name, or all.
pub(crate) type Selection<'a> = Option<&'a str>;

/// What is in quarantine, and what came of the owner's word on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QuarantineShown {
    /// Each that was asked about.
    executors: Vec<QuarantinedShown>,
    /// What a confirmation must name; empty where there is nothing to confirm.
    digest: String,
    /// Whether it was confirmed.
    confirmed: bool,
    /// Whether all that was confirmed was done.
    done: bool,
}

/// One that is quarantined, with what is different in its sandbox.
#[derive(Debug, Serialize, JsonSchema)]
struct QuarantinedShown {
    /// As policyd tells it.
    #[serde(flatten)]
    told: QuarantinedExecutor,
    /// What is different in its sandbox, where that can be locked anew.
    changes: Vec<Change>,
}

/// Shows what is quarantined; with `confirm`, lets back what that digest is about.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub(crate) fn lift_quarantine(
    screen: &mut Screen,
    reach: &mut Connection,
    whom: Selection<'_>,
    relock: bool,
    confirm: Option<&str>,
) -> Result<Exit, CtlError> {
    let ask = LiftQuarantine { name: whom.map(str::to_owned), relock, confirm: confirm.unwrap_or_default().to_owned() };
    let report = opened(reach.open::<CtlPolicyd>()?.lift_quarantine(TraceId::NONE, ask, [])?)?;
    let exit = exit_of(&report);
    let QuarantineReport { executors, digest, confirmed, done } = report;
    let with_changes = |told| Ok(QuarantinedShown { changes: changes(reach, &told)?, told });
    let executors = executors.into_iter().map(with_changes).collect::<Result<_, CtlError>>()?;
    let shown = QuarantineShown { executors, digest, confirmed, done };
    if screen.json() {
        screen.document(&shown)?;
        return Ok(exit);
    }
    show(screen, &shown, relock)?;
    if exit == Exit::Waiting {
        let verb = if relock { "relock" } else { "lift" };
        let whom = whom.unwrap_or("--all");
        screen.line(&format!("  → if you want it so: metnosctl executor {verb} {whom} --confirm {}", shown.digest))?;
    }
    Ok(exit)
}

/// What is different in the sandbox of one that would be locked anew.
fn changes(reach: &mut Connection, told: &QuarantinedExecutor) -> Result<Vec<Change>, CtlError> {
    if told.way != WayOut::Relock || told.done.is_some() {
        return Ok(Vec::new());
    }
    profile::changes(reach, &told.name, &told.version)
}

fn exit_of(report: &QuarantineReport) -> Exit {
    match (report.confirmed, report.done) {
        (true, true) => Exit::Done,
        (true, false) => Exit::Failed,
        (false, _) if !report.digest.is_empty() => Exit::Waiting,
        (false, _) if report.executors.is_empty() => Exit::Done,
        (false, _) => Exit::Failed,
    }
}

fn show(screen: &mut Screen, shown: &QuarantineShown, relock: bool) -> Result<(), CtlError> {
    if shown.executors.is_empty() {
        return screen.line("Nothing of that name is in quarantine.");
    }
    let mut last: Option<&[Change]> = None;
    for one in &shown.executors {
        let told = &one.told;
        let (name, version) = (escape::line(&told.name), escape::line(&told.version));
        match told.done {
            Some(true) => {
                screen.line(&format!("{name} {version} may be called again."))?;
                continue;
            }
            Some(false) => {
                let error = escape::line(told.error.as_deref().unwrap_or_default());
                screen.line(&format!("{name} {version} stays in quarantine: {error}"))?;
                continue;
            }
            None if shown.confirmed => continue,
            None => {}
        }
        let since = human::ago(told.since_ms, human::now_ms());
        screen.line(&format!("{name} {version} is in quarantine since {since}: {}", escape::line(&told.why)))?;
        match (told.way, relock) {
            (WayOut::Lift, true) => {
                screen.line("  Its files and its sandbox are what was signed; `executor lift` lets it back.")
            }
            (WayOut::Lift, false) => {
                screen.line("  Its files and its sandbox are what was signed, and it can be let back.")
            }
            (WayOut::Relock, false) => screen.line("  Its sandbox is another now; `executor relock` shows how."),
            (WayOut::Relock, true) if last == Some(&one.changes[..]) => {
                screen.line("  Its files are what was signed; its sandbox would change in the same way.")
            }
            (WayOut::Relock, true) => {
                last = Some(&one.changes);
                sandbox(screen, one)
            }
            (WayOut::None, _) => screen.line(&format!("  It cannot be let back: {}", escape::line(&told.fault))),
        }?;
    }
    Ok(())
}

fn sandbox(screen: &mut Screen, one: &QuarantinedShown) -> Result<(), CtlError> {
    if one.changes.is_empty() {
        return screen.line(&format!(
            "  Its files are what was signed; its sandbox is {} now, and was {}, of which only the digest was kept.",
            escape::line(&one.told.now),
            escape::line(&one.told.signed)
        ));
    }
    screen.line("  Its files are what was signed; its sandbox would change:")?;
    one.changes.iter().try_for_each(|change| screen.line(&escape::line(&format!("    {}", change.line()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quarantined(way: WayOut) -> QuarantinedExecutor {
        QuarantinedExecutor {
            name: "a".into(),
            version: "1.0.0".into(),
            why: String::new(),
            since_ms: 0,
            way,
            fault: String::new(),
            signed: String::new(),
            now: String::new(),
            done: None,
            error: None,
        }
    }

    #[test]
    fn only_what_can_be_confirmed_waits_and_only_what_was_done_is_done() {
        let of = |ways: &[WayOut], digest: &str, confirmed: bool, done: bool| {
            let executors = ways.iter().map(|way| quarantined(*way)).collect();
            exit_of(&QuarantineReport { executors, digest: digest.into(), confirmed, done })
        };
        assert_eq!(of(&[], "", false, false), Exit::Done);
        assert_eq!(of(&[WayOut::None], "", false, false), Exit::Failed);
        assert_eq!(of(&[WayOut::Lift], "blake3:00", false, false), Exit::Waiting);
        assert_eq!(of(&[WayOut::Lift], "blake3:00", true, true), Exit::Done);
        assert_eq!(of(&[WayOut::Lift], "blake3:00", true, false), Exit::Failed);
    }
}
