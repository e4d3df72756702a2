//! Texts of persons and models, made fit to stand in one line.

/// As one line: control characters, and those that change how others are shown, become spaces.
#[must_use]
pub fn line(text: &str) -> String {
    let shown: String = text.chars().map(|c| if c.is_control() || is_unseen(c) { ' ' } else { c }).collect();
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a character changes how others are shown, and is not seen itself.
#[must_use]
pub const fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a text, at most so many bytes, whole characters only.
#[must_use]
pub fn cut(mut text: String, bytes: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_one_line_of_visible_characters() {
        assert_eq!(line(" a\n\u{202e}b\u{200b} "), "a b");
        assert_eq!(cut("àb".to_owned(), 1), "");
    }
}
