//! Messages of several lines at the line editor: when one goes on, and what it is then. Purely.

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

/// The line that begins and ends a block within a message.
const FENCE: &str = "```";
/// What can be said to the terminal itself.
const WORDS: [&str; 3] = ["/approvals", "/help", "/quit"];

/// See the module.
#[derive(Debug)]
pub struct LineHelper;

/// Whether the message goes on: its last line ends with a backslash, or a block is open.
#[must_use]
pub fn goes_on(input: &str) -> bool {
    let fences = input.lines().filter(|line| line.trim_start().starts_with(FENCE)).count();
    let slashes = input.len() - input.trim_end_matches('\\').len();
    fences % 2 == 1 || slashes % 2 == 1
}

/// The message without the backslashes that only said that it goes on.
#[must_use]
pub fn joined(input: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_block = false;
    let mut all = input.split('\n').peekable();
    while let Some(line) = all.next() {
        is_block ^= line.trim_start().starts_with(FENCE);
        let slashes = line.len() - line.trim_end_matches('\\').len();
        let only_says_so = !is_block && slashes % 2 == 1 && all.peek().is_some();
        lines.push(if only_says_so { &line[..line.len() - 1] } else { line });
    }
    lines.join("\n")
}

impl Validator for LineHelper {
    fn validate(&self, typed: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(typed.input()) { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..at).unwrap_or_default();
        let fits = |word: &&&str| !typed.is_empty() && word.starts_with(typed);
        Ok((0, WORDS.iter().filter(fits).map(|word| (*word).to_owned()).collect()))
    }
}

impl Hinter for LineHelper {
    type Hint = String;
}

impl Highlighter for LineHelper {}

impl Helper for LineHelper {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_goes_on_after_a_backslash_and_within_a_block() {
        for open in ["a\\", "a\\\nb\\", "note:\n```", "```\nfn x() {}\n", "\\\\\\"] {
            assert!(goes_on(open), "{open:?}");
        }
        for whole in ["", "a", "a\\\nb", "```\nx\n```", "a\\\\", "what is ``` here"] {
            assert!(!goes_on(whole), "{whole:?}");
        }
    }

    #[test]
    fn trailing_backslash_continuations_are_joined() {
        assert_eq!(joined("one\\\ntwo\nthree"), "one\ntwo\nthree");
        assert_eq!(joined("```\na \\\nb\n```"), "```\na \\\nb\n```");
        assert_eq!(joined("C:\\dir\\"), "C:\\dir\\");
        assert_eq!(joined("a\\\\\nb"), "a\\\\\nb");
    }

    proptest::proptest! {
        #[test]
        fn nothing_is_lost_but_backslashes_at_the_end_of_lines(text in "[a-c\\\\`\n ]{0,40}") {
            let bare = |text: &str| text.replace('\\', "");
            proptest::prop_assert_eq!(bare(&joined(&text)), bare(&text));
            proptest::prop_assert_eq!(joined(&text).lines().count(), text.lines().count());
        }
    }
}
