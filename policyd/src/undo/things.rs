//! Acts by what they were about: the list or file that they touched, as a person calls it, or the one thing that they put there.
//! Of what was written, digests of words are kept and no word.

use metnos_policy::text::words::Words;
use metnos_proto::ids::Blake3;
use metnos_proto::msg::common::Lang;
use serde_json::Value;

use super::Act;

/// The most lines, and the most words of one, that are kept of an act; of more, nothing.
const MAX_LINES: usize = 32;
const MAX_WORDS: usize = 12;
/// How many digits of a word's digest are kept.
const DIGITS: usize = 12;
/// What says nothing of which thing is meant.
const ARTICLES: &str = "the a an some my our il lo la i gli le l un uno una del dello della dei degli delle dell mio mia miei mie nostro nostra";

/// What an act is to a thing that was called by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    /// It touched that list or file, or put that thing alone somewhere.
    Whole,
    /// That thing is one of several that it put somewhere.
    Among,
}

/// The words of a line that say which thing it is, by their digests.
fn words_of(line: &str) -> Vec<String> {
    let lower = line.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let tells = |word: &&str| !ARTICLES.split_ascii_whitespace().any(|known| known == *word);
    words.filter(tells).map(|word| Blake3::of(word.as_bytes()).hex().chars().take(DIGITS).collect()).collect()
}

/// The things of these texts, a line each.
pub(crate) fn of<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<Vec<String>> =
        texts.flat_map(str::lines).map(words_of).filter(|words| !words.is_empty()).take(MAX_LINES + 1).collect();
    if lines.len() > MAX_LINES || lines.iter().any(|words| words.len() > MAX_WORDS) {
        return String::new();
    }
    lines.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("\n")
}

/// What this act is to the thing that was called so; `None` when it is nothing to it.
pub(crate) fn touch(act: &Act, called: &str) -> Option<Touch> {
    let arguments: Value = serde_json::from_str(&act.arguments).unwrap_or_default();
    let mut words = Words::default();
    words.add(called, Lang::En);
    let names = |path: &str| words.name_file(path) || words.call_file(path);
    if ["path", "to"].iter().filter_map(|key| arguments[key].as_str()).any(names) {
        return Some(Touch::Whole);
    }
    let said = words_of(called);
    let means = |line: &str| {
        let line: Vec<&str> = line.split(' ').collect();
        !said.is_empty() && said.iter().all(|word| line.contains(&word.as_str()))
    };
    let lines: Vec<&str> = act.things.lines().collect();
    match (lines.iter().any(|line| means(line)), lines.len()) {
        (false, _) => None,
        (true, 1) => Some(Touch::Whole),
        (true, _) => Some(Touch::Among),
    }
}

#[cfg(test)]
mod tests {
    use metnos_proto::doc::undo::ActState;
    use metnos_proto::ids::{CallId, TurnId};

    use super::*;

    fn act(path: &str, content: &str) -> Act {
        Act {
            call: CallId::from_bytes([1; 16]),
            turn: TurnId::NONE,
            principal: "cli:uid:1000".into(),
            executor: "fs_append".into(),
            inverse: "fs_restore".into(),
            arguments: serde_json::json!({ "path": path }).to_string(),
            at_ms: 1,
            state: ActState::Done,
            things: of([content].into_iter()),
        }
    }

    #[test]
    fn act_is_known_by_its_list_its_file_or_the_one_thing_put_there() {
        let milk = act("notes/shopping.md", "- 2 l of milk");
        for called in
            ["the shopping list", "la lista della spesa", "notes/shopping.md", "shopping.md", "the milk", "Milk"]
        {
            assert_eq!(touch(&milk, called), Some(Touch::Whole), "{called}");
        }
        for called in ["the packing list", "the eggs", "milk chocolate", "the", "", "notes/a.md"] {
            assert_eq!(touch(&milk, called), None, "{called}");
        }
        let many = act("notes/shopping.md", "- milk\n- eggs");
        assert_eq!(touch(&many, "the milk"), Some(Touch::Among));
        assert_eq!(touch(&many, "the list"), Some(Touch::Whole));
    }

    #[test]
    fn no_word_is_kept_and_long_texts_leave_nothing() {
        let kept = of(["- milk\n\n- the eggs"].into_iter());
        assert_eq!(kept.lines().count(), 2);
        assert!(!kept.contains("milk") && kept.bytes().all(|b| b.is_ascii_hexdigit() || b == b'\n' || b == b' '));
        assert_eq!(of([&*"x\n".repeat(MAX_LINES + 1)].into_iter()), "");
        assert_eq!(of([&*"x ".repeat(MAX_WORDS + 1)].into_iter()), "");
    }
}
