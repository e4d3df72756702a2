//! Which command a message is, read from its text.

/// What can be commanded (design: interfaces §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// What can be said.
    Help,
    /// How Metnos is.
    Status,
    /// Take back the last thing.
    Undo,
    /// What waits.
    Approvals,
    /// Send a file of the workspace.
    File,
    /// Stop.
    Pause,
}

/// Reads a command, also one that names the bot, or the words for taking back: those are never begun twice either. What only
/// looks like one is words like any other.
#[must_use]
pub fn read(text: &str) -> Option<Command> {
    if crate::session::undo::asked(text).is_some() {
        return Some(Command::Undo);
    }
    let word = text.trim().strip_prefix('/')?;
    match word.split('@').next()? {
        // The word that every conversation with a bot begins with, as its button or behind a link.
        "start" => Some(Command::Help),
        start if start.starts_with("start ") => Some(Command::Help),
        "help" => Some(Command::Help),
        "status" => Some(Command::Status),
        "undo" => Some(Command::Undo),
        "approvals" => Some(Command::Approvals),
        "pause" => Some(Command::Pause),
        "file" => Some(Command::File),
        file if file.starts_with("file ") => Some(Command::File),
        _ => None,
    }
}

/// The file that is asked for: everything behind the command's word, as it was written.
pub(in crate::telegram) fn file_in(text: &str) -> &str {
    text.trim().split_once(char::is_whitespace).map_or("", |(_, path)| path.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_one_alone_also_with_the_name_of_the_bot() {
        let all = ["help", "status", "undo", "approvals", "pause", "file"].map(|word| read(&format!("/{word}")));
        let wanted = [Command::Help, Command::Status, Command::Undo, Command::Approvals, Command::Pause, Command::File];
        assert_eq!(all, wanted.map(Some));
        assert_eq!(
            [read("/undo@metnos_bot"), read(" /start "), read("/start K7-DELTA-19")],
            [Some(Command::Undo), Some(Command::Help), Some(Command::Help)]
        );
        for (words, path) in [
            ("/file notes/a plan.pdf", "notes/a plan.pdf"),
            ("/file@metnos_bot  a@b.txt ", "a@b.txt"),
            ("/file a@b.txt", "a@b.txt"),
            ("/file", ""),
        ] {
            assert_eq!((read(words), file_in(words)), (Some(Command::File), path), "{words}");
        }
        for words in ["undo that, please", "annulla", "take back the milk"] {
            assert_eq!(read(words), Some(Command::Undo), "{words}");
        }
        for words in ["undo the page", "/undone", "/files a", "/undo that", "what is /help", "", "/", "/Undo"] {
            assert_eq!(read(words), None, "{words}");
        }
    }
}
