//! `rite`: what only the owner does, at the machine. It shows what policyd says the file holds, and sends back the
//! digest of exactly what was shown.

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::vaglio::Rite;
use serde_json::Value;

use crate::command_line::nouns::RiteCommand;
use crate::daemons::connection::{Connection, document};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::escape;

/// Does what the command says.
///
/// # Errors
/// When policyd refuses or cannot be reached.
pub fn rite(screen: &mut Screen, instance: &Instance, command: &RiteCommand) -> Result<Exit, CtlError> {
    let RiteCommand::Constitution { confirm } = command;
    let mut policyd = Connection::to(instance)?.open::<CtlPolicyd>()?;
    let ask = confirm.as_ref().map_or(Rite::Look, |digest| Rite::Constitution(digest.clone()));
    let (_, [answer]) = policyd.rite(TraceId::NONE, ask, [])?;
    let answer = document(&answer)?;
    if screen.json() {
        screen.document(&answer)?;
    } else {
        show(screen, &answer)?;
    }
    Ok(if answer["pending"] == true { Exit::Waiting } else { Exit::Done })
}

/// As one line that no terminal takes for an order: a file may hold anything.
fn text(value: &Value) -> String {
    escape::line(value.as_str().unwrap_or_default())
}

fn laws(screen: &mut Screen, title: &str, of: &Value) -> Result<(), CtlError> {
    screen.line(&format!("{title} ({})", text(&of["digest"])))?;
    for (at, law) in of["laws"].as_array().into_iter().flatten().enumerate() {
        screen.line(&format!("  {}. {}: {}", at + 1, text(&law["name"]), text(&law["text"])))?;
    }
    Ok(())
}

fn show(screen: &mut Screen, answer: &Value) -> Result<(), CtlError> {
    if answer["in_force"].is_null() {
        screen.line("No constitution is in force.")?;
    } else {
        laws(screen, "The Laws in force", &answer["in_force"])?;
    }
    if answer["pending"] != true {
        return screen.line("SOUL.md says the same.");
    }
    screen.line(&format!(
        "Pending: {}. Nothing is done of Metnos's own accord until this is settled.",
        text(&answer["why"])
    ))?;
    let file = &answer["file"];
    if text(&file["digest"]).is_empty() {
        return screen.line(&format!("  → mend workspace/SOUL.md: {}", text(&file["fault"])));
    }
    laws(screen, "SOUL.md", file)?;
    let how = format!("  → if you want it so: metnosctl rite constitution --confirm {}", text(&file["digest"]));
    screen.line(&how)
}
