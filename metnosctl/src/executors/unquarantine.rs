//! `executor lift` and `executor relock`: the owner lets back what is in quarantine, once he has seen why it is there and
//! what would change. It shows what policyd says, and sends back the digest of exactly what was shown.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::policyd::LiftQuarantine;
use serde_json::Value;

use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::executors::profile::{self, Change};
use crate::screen::Screen;
use crate::screen::escape;
use crate::screen::human;

/// Whom it is about: one by its name, or all.
pub(crate) type Selection<'a> = Option<&'a str>;

/// One that is quarantined, with what is different in its sandbox.
struct QuarantinedExecutor {
    told: Value,
    changes: Vec<Change>,
}

impl QuarantinedExecutor {
    /// A text of others, harmless for a terminal.
    fn text(&self, key: &str) -> String {
        escape::line(self.told[key].as_str().unwrap_or_default())
    }
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
    let (_, [answer]) = reach.open::<CtlPolicyd>()?.lift_quarantine(TraceId::NONE, ask, [])?;
    let mut answer = document(&answer)?;
    let exit = exit_of(&answer);
    if screen.json() {
        for told in answer["executors"].as_array_mut().into_iter().flatten() {
            let changes = changes(reach, told)?;
            told["changes"] = changes.iter().map(Change::document).collect();
        }
        screen.document(&answer)?;
        return Ok(exit);
    }
    let all: Vec<QuarantinedExecutor> = answer["executors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|told| Ok(QuarantinedExecutor { told: told.clone(), changes: changes(reach, told)? }))
        .collect::<Result<_, CtlError>>()?;
    show(screen, &answer, &all, relock)?;
    let digest = answer["digest"].as_str().unwrap_or_default();
    if exit == Exit::Waiting {
        let verb = if relock { "relock" } else { "lift" };
        let whom = whom.unwrap_or("--all");
        screen.line(&format!("  → if you want it so: metnosctl executor {verb} {whom} --confirm {digest}"))?;
    }
    Ok(exit)
}

/// What is different in the sandbox of one that would be locked again.
fn changes(reach: &mut Connection, told: &Value) -> Result<Vec<Change>, CtlError> {
    let text = |key: &str| told[key].as_str().unwrap_or_default();
    if text("way") != "relock" || !told["done"].is_null() {
        return Ok(Vec::new());
    }
    profile::changes(reach, text("name"), text("version"))
}

fn exit_of(answer: &Value) -> Exit {
    if answer["confirmed"] == true {
        return if answer["done"] == true { Exit::Done } else { Exit::Failed };
    }
    let empty = answer["executors"].as_array().is_none_or(Vec::is_empty);
    match answer["digest"].as_str().unwrap_or_default() {
        "" if empty => Exit::Done,
        "" => Exit::Failed,
        _ => Exit::Waiting,
    }
}

fn show(screen: &mut Screen, answer: &Value, all: &[QuarantinedExecutor], relock: bool) -> Result<(), CtlError> {
    if all.is_empty() {
        return screen.line("Nothing of that name is in quarantine.");
    }
    let confirmed = answer["confirmed"] == true;
    let mut last: Option<&[Change]> = None;
    for one in all {
        let (name, version) = (one.text("name"), one.text("version"));
        match one.told["done"].as_bool() {
            Some(true) => {
                screen.line(&format!("{name} {version} may be called again."))?;
                continue;
            }
            Some(false) => {
                screen.line(&format!("{name} {version} stays in quarantine: {}", one.text("error")))?;
                continue;
            }
            None if confirmed => continue,
            None => {}
        }
        let since = human::ago(one.told["since_ms"].as_u64().unwrap_or_default(), human::now_ms());
        screen.line(&format!("{name} {version} is in quarantine since {since}: {}", one.text("why")))?;
        match (one.text("way").as_str(), relock) {
            ("lift", true) => {
                screen.line("  Its files and its sandbox are what was signed; `executor lift` lets it back.")
            }
            ("lift", false) => screen.line("  Its files and its sandbox are what was signed, and it can be let back."),
            ("relock", false) => screen.line("  Its sandbox is another now; `executor relock` shows how."),
            ("relock", true) if last == Some(&one.changes[..]) => {
                screen.line("  Its files are what was signed; its sandbox would change in the same way.")
            }
            ("relock", true) => {
                last = Some(&one.changes);
                sandbox(screen, one)
            }
            (_, _) => screen.line(&format!("  It cannot be let back: {}", one.text("fault"))),
        }?;
    }
    Ok(())
}

fn sandbox(screen: &mut Screen, one: &QuarantinedExecutor) -> Result<(), CtlError> {
    if one.changes.is_empty() {
        return screen.line(&format!(
            "  Its files are what was signed; its sandbox is {} now, and was {}, of which only the digest was kept.",
            one.text("now"),
            one.text("signed")
        ));
    }
    screen.line("  Its files are what was signed; its sandbox would change:")?;
    one.changes.iter().try_for_each(|change| screen.line(&escape::line(&format!("    {}", change.line()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_can_be_confirmed_waits_and_only_what_was_done_is_done() {
        let of = |executors: Value, digest: &str, confirmed: bool, done: bool| {
            exit_of(&json!({"executors": executors, "digest": digest, "confirmed": confirmed, "done": done}))
        };
        assert_eq!(of(json!([]), "", false, false), Exit::Done);
        assert_eq!(of(json!([{"way": "none"}]), "", false, false), Exit::Failed);
        assert_eq!(of(json!([{"way": "lift"}]), "blake3:00", false, false), Exit::Waiting);
        assert_eq!(of(json!([{"way": "lift"}]), "blake3:00", true, true), Exit::Done);
        assert_eq!(of(json!([{"way": "lift"}]), "blake3:00", true, false), Exit::Failed);
    }
}
