//! `rite`: what only the owner does, at the machine. It shows what policyd says the file holds, and sends back the
//! digest of exactly what was shown.

use metnos_proto::doc::vaglio::{ConstitutionReport, Law};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::vaglio::Rite;

use crate::command_line::nouns::RiteCommand;
use crate::daemons::connection::{Connection, opened};
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
    let answer = opened(policyd.rite(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&answer)?;
    } else {
        show(screen, &answer)?;
    }
    Ok(if answer.pending { Exit::Waiting } else { Exit::Done })
}

/// Each text as one line that no terminal takes for an order: a file may hold anything.
fn laws(screen: &mut Screen, title: &str, digest: &str, laws: &[Law]) -> Result<(), CtlError> {
    screen.line(&format!("{title} ({})", escape::line(digest)))?;
    for (at, law) in laws.iter().enumerate() {
        screen.line(&format!("  {}. {}: {}", at + 1, escape::line(&law.name), escape::line(&law.text)))?;
    }
    Ok(())
}

fn show(screen: &mut Screen, answer: &ConstitutionReport) -> Result<(), CtlError> {
    match &answer.in_force {
        None => screen.line("No constitution is in force.")?,
        Some(in_force) => laws(screen, "The Laws in force", &in_force.digest, &in_force.laws)?,
    }
    if !answer.pending {
        return screen.line("SOUL.md says the same.");
    }
    screen.line(&format!(
        "Pending: {}. Nothing is done of Metnos's own accord until this is settled.",
        escape::line(&answer.why)
    ))?;
    let file = &answer.file;
    if file.digest.is_empty() {
        return screen.line(&format!("  → mend workspace/SOUL.md: {}", escape::line(&file.fault)));
    }
    laws(screen, "SOUL.md", &file.digest, &file.laws)?;
    let how = format!("  → if you want it so: metnosctl rite constitution --confirm {}", escape::line(&file.digest));
    screen.line(&how)
}
