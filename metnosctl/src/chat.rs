//! `chat`: a line, a turn, a line. With a terminal the lines can be edited and are remembered
//! in the user's own state directory; without one they are read from standard input as they come.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read};
use std::path::PathBuf;

use metnos_proto::edges::CtlDoor;
use metnos_proto::link::BlockingClient;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::ask::streamed;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::reach::Reach;
use crate::screen::{Ink, Screen};
use crate::turn::{Interrupt, turn};

/// The most lines that are remembered.
pub const MAX_HISTORY: usize = 1000;
/// The longest line read from a pipe, in bytes.
pub const MAX_LINE: u64 = 1024 * 1024;

const PROMPT: &str = "› ";
const HELP: &str = "\
Say what you want done: \"read notes/welcome.md\", \"leggi notes/welcome.md\", \"what can you do\".
Ctrl-C cancels a turn, or the line being typed. Ctrl-D or /quit ends the conversation.
A line that begins with a blank is not remembered.";

/// Talks until the lines end.
///
/// # Errors
/// When the door cannot be reached at the start, or the output is gone.
pub fn chat(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    streamed(screen, |screen| {
        let interrupt = Interrupt::take_over()?;
        let mut reach = Reach::to(instance)?;
        let door = Some(reach.open::<CtlDoor>()?);
        let mut talk = Talk { instance, interrupt, door, all_answered: true };
        if std::io::stdin().is_terminal() && screen.watched() && screen.out_is_terminal() {
            talk.with_a_person(screen)?;
            return Ok(Exit::Done);
        }
        talk.with_a_pipe(screen)?;
        Ok(if talk.all_answered { Exit::Done } else { Exit::Failed })
    })
}

/// A conversation: its channel is made anew when the door was.
struct Talk<'a> {
    instance: &'a Instance,
    interrupt: Interrupt,
    door: Option<BlockingClient<CtlDoor>>,
    all_answered: bool,
}

impl Talk<'_> {
    fn with_a_person(&mut self, screen: &mut Screen) -> Result<(), CtlError> {
        let config = Config::builder().max_history_size(MAX_HISTORY).map_err(no_line)?;
        let config = config.history_ignore_dups(true).map_err(no_line)?.history_ignore_space(true).build();
        let mut editor: Editor<(), FileHistory> = Editor::with_config(config).map_err(no_line)?;
        let history = history_file(|name| std::env::var_os(name));
        if let Some(file) = &history {
            // A history that cannot be read is an empty one.
            let _read = editor.load_history(file);
        }
        screen.aside(Ink::Dim, "Metnos listens. /help for help, Ctrl-D to end.")?;
        loop {
            crate::vaglio::say_due(screen, self.instance)?;
            screen.flush()?;
            match editor.readline(PROMPT) {
                Ok(line) => {
                    if !line.starts_with('/') {
                        // A line that cannot be remembered is still said.
                        let _added = editor.add_history_entry(&line);
                    }
                    if self.line(screen, &line)? {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(no_line(error)),
            }
        }
        if let Some(file) = &history {
            save(&mut editor, file, screen)?;
        }
        Ok(())
    }

    fn with_a_pipe(&mut self, screen: &mut Screen) -> Result<(), CtlError> {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let unreadable = |error| CtlError::failed("standard input cannot be read", error, "");
            let read = input.by_ref().take(MAX_LINE + 1).read_until(b'\n', &mut line).map_err(unreadable)?;
            if read == 0 {
                return Ok(());
            }
            if u64::try_from(read).unwrap_or(u64::MAX) > MAX_LINE {
                return Err(CtlError::Usage {
                    what: format!("a line of standard input is longer than {MAX_LINE} bytes"),
                    remedy: "put the text into a file of the workspace, and ask about the file".to_owned(),
                });
            }
            let line = String::from_utf8(line).map_err(|error| CtlError::Usage {
                what: format!("a line of standard input is not UTF-8: {error}"),
                remedy: "convert it, for example with iconv".to_owned(),
            })?;
            if self.line(screen, &line)? {
                return Ok(());
            }
        }
    }

    /// One line; whether it ends the conversation. What goes wrong in a turn ends only the turn.
    fn line(&mut self, screen: &mut Screen, line: &str) -> Result<bool, CtlError> {
        match line.trim() {
            "" => return Ok(false),
            "/quit" | "/exit" => return Ok(true),
            "/help" => {
                screen.aside(Ink::Plain, HELP)?;
                return Ok(false);
            }
            words => match self.turn(screen, words) {
                Ok(exit) => self.all_answered &= exit == Exit::Done,
                Err(error @ (CtlError::Closed | CtlError::Output(_))) => return Err(error),
                Err(error) => {
                    self.all_answered = false;
                    // Whatever state the channel is in, the next line gets a new one.
                    self.door = None;
                    streamed(screen, |screen| match screen.json() {
                        true => Err(error),
                        false => screen.error(&error).map(|()| Exit::Failed),
                    })?;
                }
            },
        }
        Ok(false)
    }

    fn turn(&mut self, screen: &mut Screen, words: &str) -> Result<Exit, CtlError> {
        let mut door = match self.door.take() {
            Some(door) => door,
            None => Reach::to(self.instance)?.open::<CtlDoor>()?,
        };
        let exit = turn(screen, &mut door, &self.interrupt, words)?;
        self.door = Some(door);
        // Answers in a pipe are told apart by a line's end; a terminal has had it.
        if !screen.out_is_terminal() && !screen.json() {
            screen.end_text(true)?;
        }
        Ok(exit)
    }
}

fn no_line(error: ReadlineError) -> CtlError {
    CtlError::failed("the line editor does not work here", error, "pipe the lines in: `metnosctl chat < lines.txt`")
}

/// Where the lines are remembered: with the user, never in the instance.
fn history_file(var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("metnos").join("chat_history"))
}

fn save(editor: &mut Editor<(), FileHistory>, file: &std::path::Path, screen: &mut Screen) -> Result<(), CtlError> {
    let saved = file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(ReadlineError::from);
    if let Err(error) = saved.and_then(|()| editor.save_history(file)) {
        screen.aside(
            Ink::Dim,
            &format!("the lines of this conversation are not remembered: {}: {error}", file.display()),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn lines_are_remembered_with_the_user_and_nowhere_without_a_home() {
        let var = |pairs: &'static [(&str, &str)]| {
            move |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        let of = |pairs| history_file(var(pairs));
        assert_eq!(of(&[("HOME", "/h")]).as_deref(), Some(Path::new("/h/.local/state/metnos/chat_history")));
        assert_eq!(
            of(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")]).as_deref(),
            Some(Path::new("/s/metnos/chat_history"))
        );
        assert_eq!(of(&[("HOME", "relative")]), None);
        assert_eq!(of(&[]), None);
    }
}
