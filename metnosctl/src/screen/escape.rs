//! Text of others, made harmless for a terminal: a file's content or an executor's message
//! must never move the cursor, rename the window or reverse the reading direction. What goes
//! into a pipe is not touched here.

/// Whether a terminal could act on this character, or a reader be misled by it.
#[must_use]
pub const fn is_dangerous(c: char) -> bool {
    matches!(c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Marks, embeddings, overrides and isolates of the reading direction; separators of lines.
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Invisible tags.
        | '\u{e0000}'..='\u{e007f}')
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
    }
}

/// The text on one line: line breaks and tabs are escaped too.
#[must_use]
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_dangerous(c) { push_escaped(&mut out, c) } else { out.push(c) }
    }
    out
}

/// The text with its lines and tabs, and nothing else that a terminal acts on.
#[must_use]
pub fn block(text: &str) -> String {
    let mut flow = Flow::default();
    flow.next(text) + flow.end()
}

/// Like [`block`], for text that comes in pieces.
#[derive(Debug, Default)]
pub struct Flow {
    /// A carriage return came last: harmless before a line feed, an overwritten line elsewhere.
    returned: bool,
}

impl Flow {
    /// The next piece.
    #[must_use]
    pub fn next(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            if self.returned && c != '\n' {
                out.push_str("\\r");
            }
            self.returned = c == '\r';
            match c {
                '\r' => {}
                '\n' | '\t' => out.push(c),
                c if is_dangerous(c) => push_escaped(&mut out, c),
                c => out.push(c),
            }
        }
        out
    }

    /// What was held back, at the end.
    #[must_use]
    pub fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.returned) { "\\r" } else { "" }
    }
}

/// A line that a command has made, in whose parts others' text may stand: harmless but for the inks of `inks`, each an
/// escape sequence as it is written here. What the callers have escaped already stays as it is.
#[must_use]
pub fn ours(text: &str, inks: &[&str]) -> String {
    if !text.chars().any(is_dangerous) {
        return text.to_owned();
    }
    let (mut out, mut flow, mut rest) = (String::with_capacity(text.len()), Flow::default(), text);
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&flow.next(&rest[..at]));
        rest = &rest[at..];
        let ink = inks.iter().find(|ink| rest.starts_with(**ink)).map_or("", |ink| *ink);
        out.push_str(ink);
        if ink.is_empty() {
            out.push_str(&flow.next("\u{1b}"));
            rest = &rest[1..];
        } else {
            rest = &rest[ink.len()..];
        }
    }
    out.push_str(&flow.next(rest));
    out.push_str(flow.end());
    out
}

/// JSON text in which no character is dangerous: the escapes of JSON mean the same to programs.
#[must_use]
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        // Line feeds stand between the tokens only: inside a string they are escaped already.
        if is_dangerous(c) && c != '\n' {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_sequence_that_renames_the_window_is_shown_and_not_obeyed() {
        assert_eq!(line("a\u{1b}]0;owned\u{7}b"), "a\\x1b]0;owned\\x07b");
        assert_eq!(block("one\u{9b}2J\n\ttwo"), "one\\x9b2J\n\ttwo");
        assert_eq!(line("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
    }

    #[test]
    fn line_breaks_survive_in_a_block_and_never_in_a_line() {
        assert_eq!(block("one\r\ntwo\n"), "one\ntwo\n");
        assert_eq!(line("one\r\ntwo"), "one\\r\\ntwo");
    }

    #[test]
    fn a_carriage_return_alone_cannot_overwrite_what_was_shown() {
        assert_eq!(block("denied\rallowed"), "denied\\rallowed");
        assert_eq!(block("end\r"), "end\\r");
    }

    #[test]
    fn letters_of_any_language_are_left_alone() {
        let text = "perché «città» 漢字 👩‍👧 ñ";
        assert_eq!(block(text), text);
        assert_eq!(line(text), text);
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left_whatever_comes(text in any::<String>()) {
            prop_assert!(!line(&text).chars().any(is_dangerous));
            prop_assert!(!block(&text).chars().any(|c| is_dangerous(c) && c != '\n' && c != '\t'));
        }

        #[test]
        fn pieces_give_the_same_as_the_whole(text in "[a\r\n\u{1b}é]{0,20}", at in 0usize..20) {
            let at = text.char_indices().map(|(index, _)| index).nth(at).unwrap_or(text.len());
            let mut flow = Flow::default();
            let pieces = flow.next(&text[..at]) + &flow.next(&text[at..]) + flow.end();
            prop_assert_eq!(pieces, block(&text));
        }

        #[test]
        fn escaped_json_means_the_same(text in any::<String>()) {
            let value = serde_json::Value::String(text);
            let safe = json(&serde_json::to_string_pretty(&value).unwrap());
            prop_assert!(!safe.chars().any(|c| is_dangerous(c) && c != '\n'));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
        }
    }
}
