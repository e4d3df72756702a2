//! `ask`: one turn. Standard output gets the answer and nothing else.

use crate::command_line::cli::Ask;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::turns::input::stdin_text;
use crate::turns::interrupt::Interrupt;
use crate::turns::turn::{TurnEvent, greeted, turn};

/// Says the words, and shows the answer as it comes.
///
/// # Errors
/// When there are no words, or no turn came of them.
pub fn ask(screen: &mut Screen, instance: &Instance, ask: &Ask) -> Result<Exit, CtlError> {
    let words = words(&ask.words)?;
    streamed(screen, |screen| {
        let interrupt = Interrupt::take_over()?;
        let mut door = greeted(screen, instance)?;
        let exit = turn(screen, &mut door, &interrupt, &words)?;
        if screen.watched() && screen.out_is_terminal() {
            crate::health::channels::say_trouble(screen, &mut door)?;
            crate::policy::vaglio::say_due(screen, instance)?;
        }
        Ok(exit)
    })
}

/// Does something whose output is a stream: for a program, an error is an event of it.
///
/// # Errors
/// Whatever `act` meets, unless it was sent as an event.
pub fn streamed(
    screen: &mut Screen,
    act: impl FnOnce(&mut Screen) -> Result<Exit, CtlError>,
) -> Result<Exit, CtlError> {
    match act(screen) {
        Err(error) if screen.json() && !matches!(error, CtlError::Closed | CtlError::Output(_)) => {
            screen.json_line(&TurnEvent::Error { error: error.document() })?;
            Ok(error.exit())
        }
        other => other,
    }
}

/// The words of the command line, or of standard input for a single `-`.
fn words(words: &[String]) -> Result<String, CtlError> {
    let text = if let [dash] = words
        && dash == "-"
    {
        stdin_text("the words")?
    } else {
        words.join(" ")
    };
    if text.trim().is_empty() {
        return Err(CtlError::Usage {
            what: "there are no words to say".to_owned(),
            remedy: "for example: `metnosctl ask \"read notes/welcome.md\"`".to_owned(),
        });
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::screen::testing::screen;

    #[test]
    fn words_are_joined_and_nothing_is_no_words() {
        assert_eq!(words(&["read".into(), "notes/a b.md".into()]).unwrap(), "read notes/a b.md");
        assert_eq!(words(&[" ".into(), "\n".into()]).unwrap_err().exit(), Exit::Usage);
    }

    #[test]
    fn for_a_program_an_error_is_the_last_event_of_the_stream() {
        let (mut paper, out, _) = screen(true, [false, false], false);
        let exit = streamed(&mut paper, |_| Err(CtlError::supervisor("gone"))).unwrap();
        assert_eq!(exit, Exit::Unreachable);
        let event: serde_json::Value = serde_json::from_str(out.text().trim_end()).unwrap();
        assert_eq!((event["event"].as_str(), event["error"]["code"].as_str()), (Some("error"), Some("unreachable")));
    }
}
