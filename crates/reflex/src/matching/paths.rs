//! Which words may be paths although they do not look like one.

use std::collections::BTreeSet;

use crate::words::lexicon::Mark;
use crate::words::token::{Kind, Token};

/// Adds the names of folders that stand in the paths of a text: what lets a bare word be taken for a path.
pub fn add_folders(tokens: &[Token<'_>], known: &mut BTreeSet<String>) {
    for token in tokens.iter().filter(|token| token.is_path() && !token.text.starts_with(['/', '~'])) {
        let text = token.text.trim_end_matches('/');
        let folders = if token.path_kind() == Kind::Folder { text } else { text.rsplit_once('/').map_or("", |p| p.0) };
        let first = folders.split('/').next().unwrap_or_default();
        if !first.is_empty() && !first.starts_with('.') {
            known.insert(first.to_lowercase());
        }
    }
}

/// Whether the word at `at` may be taken for a path, and for which kind: the word after "folder" or
/// "file", or the known name of a folder.
#[must_use]
pub fn bare_path(tokens: &[Token<'_>], at: usize, known: &BTreeSet<String>) -> Option<Kind> {
    let word = tokens.get(at).filter(|token| token.kind == Kind::Word)?;
    if !matches!(word.mark, Mark::Stem(_)) {
        return None;
    }
    let mut before = tokens[..at].iter().rev();
    let mut noun = before.next();
    if noun.is_some_and(|token| is_naming(token.text)) {
        noun = before.next();
    }
    let is_last = !tokens[at + 1..].iter().any(|token| token.mark.weight() > 0.0 || token.is_value());
    match noun.map(|token| &token.mark) {
        Some(Mark::Concept("folder")) if is_last && !is_no_folder(word.text) => Some(Kind::Folder),
        Some(Mark::Concept("file")) if is_last && looks_like_name(word.text) => Some(Kind::File),
        Some(Mark::Free | Mark::And | Mark::Concept(_) | Mark::Stem(_)) | None => {
            known.contains(&word.text.to_lowercase()).then_some(Kind::Folder)
        }
    }
}

/// Words that stand beside "folder" without naming one.
#[must_use]
pub fn is_no_folder(word: &str) -> bool {
    const WORDS: &str = "again today tomorrow yesterday later recursively size structure tree only ancora oggi domani \
        ieri dopo condivisa intera dimensione struttura corrente principale";
    WORDS.split_whitespace().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether a word is rather a name than a word of the language: `README`, `todo_list`, `plan9`.
fn looks_like_name(word: &str) -> bool {
    word.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit() || matches!(c, '_' | '-'))
}

/// Whether a word says that a name follows.
#[must_use]
pub fn is_naming(word: &str) -> bool {
    const WORDS: &str = "called named chiamato chiamata chiamati chiamate";
    word.len() >= 5 && WORDS.split_ascii_whitespace().any(|known| word.eq_ignore_ascii_case(known))
}
