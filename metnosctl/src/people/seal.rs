//! `seal`: the owner reads what is kept of another person, who is told.

use metnos_proto::doc::people::BrokenSeals;
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::msg::people::{BreakSeal, SealAsk};

use crate::command_line::nouns::SealCommand;
use crate::daemons::connection::{Connection, opened};
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::screen::human::now_ms;
use crate::screen::table::{Table, cell};

/// Milliseconds of a minute.
const MINUTE_MS: u64 = 60_000;

/// Does what `seal` says.
///
/// # Errors
/// When policyd refuses or cannot be reached; then no seal was broken.
pub fn seal(screen: &mut Screen, instance: &Instance, command: &SealCommand) -> Result<Exit, CtlError> {
    let ask = match command {
        SealCommand::List => SealAsk::List,
        SealCommand::Break { who, reason } => SealAsk::Break(BreakSeal { who: who.clone(), why: reason.clone() }),
        SealCommand::Close { who } => SealAsk::Close(who.clone()),
    };
    let seals = opened(Connection::to(instance)?.open::<CtlPolicyd>()?.seals(TraceId::NONE, ask, [])?)?;
    if screen.json() {
        screen.document(&seals)?;
    } else {
        list(screen, &seals, now_ms())?;
    }
    Ok(Exit::Done)
}

fn list(screen: &mut Screen, BrokenSeals(seals): &BrokenSeals, now_ms: u64) -> Result<(), CtlError> {
    if seals.is_empty() {
        return screen.line("No seal is broken: what is kept of other persons is shown to nobody else.");
    }
    let mut table = Table::new(&["WHOSE", "OPEN FOR", "TOLD ON", "WHY"]);
    for seal in seals {
        let minutes = seal.until_ms.saturating_sub(now_ms).div_ceil(MINUTE_MS);
        table.row(vec![
            cell(&seal.who),
            cell(format!("{minutes} min")),
            cell(seal.principals.join(", ")),
            cell(&seal.why),
        ]);
    }
    table.show(screen, 0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;
    use metnos_proto::doc::people::BrokenSeal;

    #[test]
    fn broken_seals_are_listed_with_whom_was_told() {
        let (mut paper, out, _) = screen(false, [false, false], false);
        list(&mut paper, &BrokenSeals(Vec::new()), 0).unwrap();
        assert!(out.text().starts_with("No seal is broken"), "{}", out.text());
        let seal = BrokenSeal {
            who: "Luca".into(),
            principals: vec!["telegram:2".into(), "http:a".into()],
            why: "he is lost".into(),
            until_ms: 61_000,
        };
        let (mut paper, out, _) = screen(false, [false, false], false);
        list(&mut paper, &BrokenSeals(vec![seal]), 0).unwrap();
        let text = out.text();
        for part in ["Luca", "2 min", "telegram:2, http:a", "he is lost"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
