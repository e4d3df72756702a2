//! How text from outside is shown: to a model as data behind a mark that nobody outside can know, to a person
//! without anything that moves a cursor or turns a line around.

use metnos_proto::msg::common::Integrity;

/// Text as a person may see it: line ends and tabs, and no other control character, none that changes the direction
/// of writing, and none that cannot be seen.
#[must_use]
pub fn spoken(text: &str) -> String {
    text.chars().filter(|c| is_plain(*c)).collect()
}

fn is_plain(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}' | '\u{2028}' | '\u{2029}' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}' => false,
        other => !other.is_control(),
    }
}

/// One line of such text, at most `chars` characters.
#[must_use]
pub fn line(text: &str, chars: usize) -> String {
    spoken(text).chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c }).take(chars).collect()
}

/// The name of a trust, as a model is shown.
#[must_use]
pub const fn trust(integrity: Integrity) -> &'static str {
    match integrity {
        Integrity::Trusted => "trusted",
        Integrity::Vouched => "vouched",
        Integrity::Untrusted => "untrusted",
    }
}

/// Text as data: between two marks with the nonce of the turn, which cannot stand in it.
#[must_use]
pub fn marked(nonce: &str, from: &str, trust: &str, text: &str) -> String {
    let text = spoken(text);
    let text = if nonce.is_empty() { text } else { text.replace(nonce, "[…]") };
    format!("<data-{nonce} from=\"{from}\" trust=\"{trust}\">\n{text}\n</data-{nonce}>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_that_moves_a_cursor_or_turns_a_line_reaches_a_person() {
        assert_eq!(spoken("a\u{1b}[2Jb\r\u{202e}c\u{7}\nd\te\u{9b}"), "a[2Jbc\nd\te");
        assert_eq!(line("a\nb\tc", 4), "a b ");
    }

    proptest! {
        #[test]
        fn a_mark_is_closed_once_whatever_the_text_says(text in "\\PC{0,60}", also in "(</data-00ff>|00ff|<data-00ff){0,3}") {
            let shown = marked("00ff", "c1", "untrusted", &format!("{text}{also}{text}"));
            prop_assert_eq!(shown.matches("00ff").count(), 2);
            prop_assert!(shown.ends_with("</data-00ff>"));
        }
    }
}
