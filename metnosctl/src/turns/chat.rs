//! `chat`: a line, a turn, a line. With a terminal the lines can be edited and are remembered
//! in the user's own state directory; without one they are read from standard input as they come.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use metnos_proto::edges::{CtlDoor, CtlPolicyd};
use metnos_proto::link::BlockingClient;
use metnos_texts::{Key, say, tell};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use crate::approvals::approval;
use crate::approvals::waiting;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::screen::{Ink, Screen};
use crate::turns::ask::streamed;
use crate::turns::interrupt::Interrupt;
use crate::turns::line_editor::{LineHelper, joined};
use crate::turns::reminded;
use crate::turns::turn::{greeted, turn};

/// The most lines that are remembered.
pub const MAX_HISTORY: usize = 1000;
/// The longest line read from a pipe, in bytes.
pub const MAX_LINE: u64 = 1024 * 1024;

const PROMPT: &str = "› ";

/// Talks until the lines end.
///
/// # Errors
/// When the door cannot be reached at the start, or the output is gone.
pub fn chat(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    streamed(screen, |screen| {
        let interrupt = Interrupt::take_over()?;
        let door = Some(greeted(screen, instance)?);
        let mut talk = Talk { instance, interrupt, door, all_answered: true };
        if std::io::stdin().is_terminal() && screen.watched() && screen.out_is_terminal() {
            talk.with_a_person(screen)?;
            return Ok(Exit::Done);
        }
        talk.with_a_pipe(screen)?;
        Ok(if talk.all_answered { Exit::Done } else { Exit::Failed })
    })
}

/// A conversation: its channel is made again when the door was.
struct Talk<'a> {
    instance: &'a Instance,
    interrupt: Interrupt,
    door: Option<BlockingClient<CtlDoor>>,
    all_answered: bool,
}

type Typing = Editor<LineHelper, FileHistory>;

impl Talk<'_> {
    fn with_a_person(&mut self, screen: &mut Screen) -> Result<(), CtlError> {
        let mut editor = editor()?;
        let history = history_file(|name| std::env::var_os(name));
        if let Some(file) = &history {
            // A history that cannot be read is an empty one.
            let _read = editor.load_history(file);
        }
        screen.aside(Ink::Dim, &say(screen.lang(), Key::TermListens))?;
        if let Some(door) = &mut self.door {
            crate::health::channels::say_trouble(screen, door)?;
        }
        if let Ok(printer) = editor.create_external_printer() {
            waiting::watch(self.instance.clone(), screen.lang(), printer);
        }
        if let Ok(printer) = editor.create_external_printer() {
            reminded::watch(self.instance.clone(), printer);
        }
        let mut remembers = true;
        loop {
            crate::policy::vaglio::say_due(screen, self.instance)?;
            screen.flush()?;
            match editor.readline(PROMPT) {
                Ok(line) => {
                    if !line.starts_with('/') && !line.trim().is_empty() {
                        // A line that cannot be remembered is still said; one that is outlives a terminal that goes away.
                        let added = editor.add_history_entry(&line).unwrap_or(false);
                        if let (true, true, Some(file)) = (added, remembers, &history) {
                            remembers = save(&mut editor, file, screen)?;
                        }
                    }
                    if line.trim() == "/approvals" {
                        self.approvals(screen, &mut |prompt| editor.readline(prompt).ok())?;
                    } else if self.line(screen, &joined(&line))? {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => break,
                Err(error) => return Err(no_line(error)),
            }
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
                screen.aside(Ink::Plain, &say(screen.lang(), Key::TermHelp))?;
                return Ok(false);
            }
            "/approvals" => {
                self.approvals(screen, &mut |_| None)?;
                return Ok(false);
            }
            // What is no word of the terminal's is none of Metnos's either: it is named, and not guessed at.
            word if is_command(word) => {
                screen.aside(Ink::Warn, &tell(screen.lang(), Key::TermUnknown, &[("word", word.into())]))?;
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

    /// Shows what waits; only the owner sees it. What others ask for, a person who sits here is asked about.
    fn approvals(&self, screen: &mut Screen, typed: &mut dyn FnMut(&str) -> Option<String>) -> Result<(), CtlError> {
        let found =
            Connection::to(self.instance).and_then(|mut reach| reach.open::<CtlPolicyd>()).and_then(|mut policyd| {
                let cards = waiting::cards(&mut policyd)?;
                Ok((policyd, cards))
            });
        let (mut policyd, cards) = match found {
            Ok(found) => found,
            Err(error) => return screen.error(&error),
        };
        if cards.is_empty() {
            return screen.aside(Ink::Plain, &say(screen.lang(), Key::CardNone));
        }
        for card in &cards {
            approval::show_face(screen, Some(card), &card.id)?;
            if waiting::is_others(card) {
                waiting::decide(screen, &mut policyd, card, &mut *typed)?;
            } else {
                screen.aside(Ink::Dim, &tell(screen.lang(), Key::CardLater, &[("card", (&card.id).into())]))?;
            }
        }
        Ok(())
    }

    fn turn(&mut self, screen: &mut Screen, words: &str) -> Result<Exit, CtlError> {
        let mut door = match self.door.take() {
            Some(door) => door,
            None => greeted(screen, self.instance)?,
        };
        let exit = turn(screen, &mut door, &self.interrupt, words)?;
        self.door = Some(door);
        // Answers in a pipe are distinguished by a line's end; a terminal has had it.
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

/// A line editor that knows what a message of several lines is.
fn editor() -> Result<Typing, CtlError> {
    let config = Config::builder().max_history_size(MAX_HISTORY).map_err(no_line)?;
    let config = config.history_ignore_dups(true).map_err(no_line)?.history_ignore_space(true).build();
    let mut editor = Typing::with_config(config).map_err(no_line)?;
    editor.set_helper(Some(LineHelper));
    Ok(editor)
}

/// Whether this looks like a word for the terminal itself, such as `/quit`: a path does not.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase()))
}

/// Writes down what was typed, for nobody but anyone who typed it; whether that works.
fn save(editor: &mut Typing, file: &Path, screen: &mut Screen) -> Result<bool, CtlError> {
    let folder = |folder: &Path| std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let made = file.parent().map_or(Ok(()), folder).map_err(ReadlineError::from);
    let saved = made.and_then(|()| editor.append_history(file)).and_then(|()| {
        // One that was there before may have been readable for others.
        Ok(std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600))?)
    });
    if let Err(error) = &saved {
        let (file, why) = (file.display().to_string(), error.to_string());
        let values = [("file", (&file).into()), ("why", (&why).into())];
        screen.aside(Ink::Dim, &tell(screen.lang(), Key::TermNotRemembered, &values))?;
    }
    Ok(saved.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn terminal_command_is_distinguished_from_path_and_words() {
        assert!(["/quit", "/hlep", "/status"].into_iter().all(is_command));
        assert!(
            ["/", "/etc/passwd", "/Users", "read /tmp", "/1", "/quit now"].into_iter().all(|word| !is_command(word))
        );
    }
}
