//! Where a token begins and ends in the words that surround it.

/// What stands before and after each place where `text` occurs.
pub(crate) fn occurrences<'a>(words: &'a str, text: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    words.match_indices(text).map(move |(at, found)| (&words[..at], &words[at + found.len()..]))
}

/// Characters that belong to the token they stand next to.
fn joins(c: char) -> bool {
    c.is_alphanumeric() || "_-/\\.@~%+=:&?$*".contains(c)
}

/// A colon, an equals sign or a bracket introduces a token: `to:ada@home` names `ada@home`.
pub(crate) fn begins_token(before: &str, text: &str) -> bool {
    let rest = before.trim_end_matches(':');
    if rest.len() < before.len() && !text.starts_with('/') {
        return rest.chars().next_back().is_none_or(char::is_alphabetic) && before.len() - rest.len() == 1;
    }
    before.chars().next_back().is_none_or(|c| !joins(c))
}

/// Sentence punctuation ends a token when nothing of the token follows it.
pub(crate) fn ends_token(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',', ';', ':', '!', '?']);
    match rest.chars().next() {
        None => true,
        Some(c) if rest.len() == after.len() => !joins(c),
        Some(c) => c.is_whitespace() || "\"'`)]}»”’".contains(c),
    }
}
