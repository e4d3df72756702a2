//! `ask`: one turn. Standard output gets the answer and nothing else.

use std::io::Read;

use metnos_proto::payload::MAX_PAYLOAD;
use serde_json::json;

use crate::command_line::cli::Ask;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::Screen;
use crate::turns::turn::{Interrupt, turn};

/// Says the words, and shows the answer as it comes.
///
/// # Errors
/// When there are no words, or no turn came of them.
pub fn ask(screen: &mut Screen, instance: &Instance, ask: &Ask) -> Result<Exit, CtlError> {
    let words = words(&ask.words)?;
    streamed(screen, |screen| {
        let interrupt = Interrupt::take_over()?;
        let mut door = crate::turns::chat::greeted(screen, instance)?;
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
/// Whatever `act` meets, unless it has been told as an event.
pub fn streamed(
    screen: &mut Screen,
    act: impl FnOnce(&mut Screen) -> Result<Exit, CtlError>,
) -> Result<Exit, CtlError> {
    match act(screen) {
        Err(error) if screen.json() && !matches!(error, CtlError::Closed | CtlError::Output(_)) => {
            screen.json_line(&json!({ "event": "error", "error": error.document() }))?;
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

/// Standard input as text, bounded by what a payload may hold.
///
/// # Errors
/// When it cannot be read, is too long or is not UTF-8.
pub fn stdin_text(what: &str) -> Result<String, CtlError> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MAX_PAYLOAD).unwrap_or(u64::MAX);
    let read = std::io::stdin().lock().take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| CtlError::failed(format!("{what} cannot be read from standard input"), error, ""))?;
    if bytes.len() > MAX_PAYLOAD {
        return Err(CtlError::Usage {
            what: format!("{what} on standard input are longer than {MAX_PAYLOAD} bytes"),
            remedy: "shorten them".to_owned(),
        });
    }
    String::from_utf8(bytes).map_err(|error| CtlError::Usage {
        what: format!("{what} on standard input are not UTF-8: {error}"),
        remedy: "convert them, for example with iconv".to_owned(),
    })
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
        assert_eq!((&event["event"], &event["error"]["code"]), (&json!("error"), &json!("unreachable")));
    }
}
