//! Texts on their way out, cut to a length.

/// The beginning of a text, at most so many bytes, whole characters only.
pub(crate) fn head(text: &str, bytes: usize) -> String {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
