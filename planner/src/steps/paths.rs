//! The paths that a request names in full.

/// The paths that a request names in full.
pub(super) fn typed(words: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '/' | '.' | '~');
    let parts = words.split(|c: char| c.is_whitespace() || matches!(c, '"' | '«' | '»' | '“' | '”' | '`'));
    parts.map(move |part| part.trim_matches(edge).trim_end_matches(['.', '/'])).filter(|part| is_path(part))
}

/// Whether a part of a request is a path: it has a slash between letters, or an ending.
fn is_path(part: &str) -> bool {
    let ending = |ending: &str| {
        (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let name = part.rsplit('/').next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ending(end));
    part.len() <= 255 && !part.contains("://") && !part.contains('@') && has_ending
}
