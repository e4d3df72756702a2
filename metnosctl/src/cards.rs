//! Cards that a turn has left: shown as policyd says they are, and answered in place by a person who sits at
//! a terminal; for everybody else they wait. An answer names the digest of exactly what was shown.

use std::io::{BufRead, IsTerminal};

use metnos_proto::edge::AskError;
use metnos_proto::edges::CtlDoor;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::door::AnswerHere;
use metnos_proto::msg::policyd::{Answer, CardWaits};
use serde_json::Value;

use crate::approval;
use crate::error::{CtlError, Exit};
use crate::screen::{Ink, Screen};

/// What a person may type.
const QUESTION: &str = "Do it?  [y] yes, once   [t] yes, and the like of it in this turn   [n] no   [Enter] not now";

/// Shows the cards of a turn and has them answered, if somebody is there who can; how many were.
///
/// # Errors
/// When the output is gone, or the door.
pub fn answered(
    screen: &mut Screen,
    door: &mut BlockingClient<CtlDoor>,
    cards: Vec<CardWaits>,
) -> Result<(Exit, usize), CtlError> {
    if !(std::io::stdin().is_terminal() && screen.watched() && screen.out_is_terminal()) {
        return Ok((Exit::Waiting, 0));
    }
    let (mut exit, mut given) = (Exit::Done, 0);
    for card in cards {
        let shown: Value = serde_json::from_str(&card.shown).unwrap_or_default();
        approval::show(screen, &shown)?;
        screen.aside(Ink::Warn, QUESTION)?;
        screen.flush()?;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        read.map_err(|error| CtlError::failed("standard input cannot be read", error, ""))?;
        let Some(answer) = answer(&line) else {
            exit = Exit::Waiting;
            screen.aside(Ink::Dim, &format!("it waits: `metnosctl approval show {}`", card.id))?;
            continue;
        };
        let ask = AnswerHere { id: card.id.clone(), digest: card.digest.clone(), answer, code: String::new() };
        match door.answer(TraceId::NONE, ask, []) {
            Ok((answered, [results])) => {
                given += 1;
                let ended = approval::done(screen, &shown, &answered, &results)?;
                exit = if exit == Exit::Done { ended } else { exit };
            }
            Err(AskError::Refused(refusal)) => {
                screen.error(&CtlError::Refused(refusal))?;
                exit = Exit::Failed;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((exit, given))
}

/// What somebody has typed; nothing for everything that is no clear answer.
fn answer(line: &str) -> Option<Answer> {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "s" | "sì" | "si" => Some(Answer::Once),
        "t" => Some(Answer::Turn),
        "n" | "no" => Some(Answer::No),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_word_is_an_answer() {
        assert!(matches!(answer("y\n"), Some(Answer::Once)));
        assert!(matches!(answer(" SÌ "), Some(Answer::Once)));
        assert!(matches!(answer("t"), Some(Answer::Turn)));
        assert!(matches!(answer("No"), Some(Answer::No)));
        for line in ["", "\n", "yes please", "ok", "yn", "1"] {
            assert!(answer(line).is_none(), "{line:?}");
        }
    }
}
