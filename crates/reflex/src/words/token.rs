//! Cuts words into tokens and says what each could be: a word, a path, an address, a number, a
//! quotation. It never changes a value: `../../../etc/passwd` stays as it was typed, because what
//! may be touched is decided elsewhere, on the real value.

mod phrases;

pub use phrases::language;

use crate::words::lexicon::{self, Mark};

/// The most tokens that are looked at; longer requests are not for the reflex.
pub const MAX_TOKENS: usize = 256;

/// What a token could be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A word of the language.
    Word,
    /// A path that names a file by its extension.
    File,
    /// A path that ends in a slash, or consists of dots: surely a folder.
    Folder,
    /// A path that could be either.
    Path,
    /// An address with a scheme.
    Url,
    /// A mail address or the name of a host.
    Address,
    /// A number.
    Number,
    /// A calendar day.
    Date,
    /// A time of day.
    Time,
    /// A quotation.
    Quoted,
    /// A pattern of names, with a star in it.
    Pattern,
}

/// One token.
#[derive(Debug, Clone, PartialEq)]
pub struct Token<'a> {
    /// Exactly what was typed, without quotation marks and trailing punctuation.
    pub text: &'a str,
    /// What it could be.
    pub kind: Kind,
    /// What the lexicon says of it; only words have a meaning.
    pub mark: Mark,
    /// Whether punctuation after it ends a clause.
    pub ends_clause: bool,
    /// Whether a colon follows it.
    pub colon: bool,
    /// Where its text begins in the words, in bytes.
    pub start: usize,
}

impl Token<'_> {
    /// Whether it is a value that some argument has to take up.
    #[must_use]
    pub const fn is_value(&self) -> bool {
        !matches!(self.kind, Kind::Word)
    }

    /// Whether it may be taken for a path.
    #[must_use]
    pub fn is_path(&self) -> bool {
        match self.kind {
            Kind::File | Kind::Folder | Kind::Path => true,
            Kind::Quoted => !matches!(path_kind(self.text), None | Some(Kind::Url | Kind::Address)),
            Kind::Word | Kind::Url | Kind::Address | Kind::Number | Kind::Date | Kind::Time | Kind::Pattern => false,
        }
    }

    /// The kind of path it is, also inside a quotation; [`Kind::Path`] when that is unknown.
    #[must_use]
    pub fn path_kind(&self) -> Kind {
        match self.kind {
            Kind::File | Kind::Folder | Kind::Path => self.kind,
            Kind::Quoted => path_kind(self.text).unwrap_or(Kind::Path),
            Kind::Word | Kind::Url | Kind::Address | Kind::Number | Kind::Date | Kind::Time | Kind::Pattern => {
                Kind::Path
            }
        }
    }
}

/// Cuts `words` into tokens; `None` when there are more than [`MAX_TOKENS`].
#[must_use]
pub fn tokens(words: &str) -> Option<Vec<Token<'_>>> {
    let mut cutter = Cutter { rest: words, at_start: true, hopeless: Vec::new(), out: Vec::new() };
    while cutter.step() {
        if cutter.out.len() > MAX_TOKENS {
            return None;
        }
    }
    let mut out = cutter.out;
    let begin = words.as_ptr() as usize;
    for token in &mut out {
        // Each text is a part of the words.
        token.start = (token.text.as_ptr() as usize).saturating_sub(begin);
    }
    phrases::join_phrases(&mut out);
    Some(out)
}

struct Cutter<'a> {
    rest: &'a str,
    /// Whether the last thing read was white space, so that a quotation may begin.
    at_start: bool,
    /// Closing marks that no longer occur, so that hostile input is not searched again and again.
    hopeless: Vec<char>,
    out: Vec<Token<'a>>,
}

impl<'a> Cutter<'a> {
    /// Reads one thing; false at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if first.is_whitespace() {
            self.rest = &self.rest[first.len_utf8()..];
            self.at_start = true;
            return true;
        }
        if self.at_start && self.quotation(first) {
            return true;
        }
        self.at_start = false;
        let end = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        let (raw, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.plain(raw);
        true
    }

    /// Takes a quotation, when one begins here and is closed.
    fn quotation(&mut self, open: char) -> bool {
        let close = match open {
            '"' => '"',
            '\'' => '\'',
            '`' => '`',
            '«' => '»',
            '“' => '”',
            '‘' => '’',
            _ => return false,
        };
        if self.hopeless.contains(&close) {
            return false;
        }
        let inner = &self.rest[open.len_utf8()..];
        let Some(end) = closing(inner, close) else {
            self.hopeless.push(close);
            return false;
        };
        let after = &inner[end + close.len_utf8()..];
        let tail = after.find(|c: char| !is_punctuation(c)).unwrap_or(after.len());
        self.out.push(Token {
            text: &inner[..end],
            kind: Kind::Quoted,
            mark: Mark::FREE,
            ends_clause: after[..tail].contains(ends_clause),
            colon: after[..tail].contains(':'),
            start: 0,
        });
        self.rest = &after[tail..];
        self.at_start = true;
        true
    }

    /// Takes a run without white space.
    fn plain(&mut self, raw: &'a str) {
        let text = trim_punctuation(raw);
        let trailing = raw.trim_start_matches(opens).strip_prefix(text).unwrap_or_default();
        let ends = trailing.contains(ends_clause);
        if text.is_empty() {
            if let (true, Some(last)) = (raw.contains(ends_clause), self.out.last_mut()) {
                last.ends_clause = true;
            }
            return;
        }
        let kind = value_kind(text).unwrap_or(Kind::Word);
        if kind == Kind::Word {
            for part in lexicon::split_apostrophes(text) {
                let mark = lexicon::mark(part);
                self.out.push(Token { text: part, kind, mark, ends_clause: false, colon: false, start: 0 });
            }
        } else {
            self.out.push(Token { text, kind, mark: Mark::FREE, ends_clause: false, colon: false, start: 0 });
        }
        if let (true, Some(last)) = (trailing.contains(':'), self.out.last_mut()) {
            last.colon = true;
        }
        if let (true, Some(last)) = (ends, self.out.last_mut()) {
            last.ends_clause = true;
        }
    }
}

/// Where the quotation ends. An apostrophe inside a word closes nothing.
fn closing(inner: &str, close: char) -> Option<usize> {
    inner.match_indices(close).map(|(at, _)| at).find(|&at| {
        let next = inner[at + close.len_utf8()..].chars().next();
        at > 0 && (!matches!(close, '\'' | '’') || next.is_none_or(|c| c.is_whitespace() || is_punctuation(c)))
    })
}

const fn is_punctuation(c: char) -> bool {
    matches!(c, '.' | ',' | ';' | ':' | '?' | '!' | '…' | ')' | ']' | '}' | '"' | '\'' | '”' | '’' | '»')
}

const fn opens(c: char) -> bool {
    matches!(c, '(' | '[' | '{' | '¿' | '¡' | '"' | '\'' | '“' | '«' | ',' | ';' | '!' | '?')
}

const fn ends_clause(c: char) -> bool {
    matches!(c, ',' | ';' | '.' | '?' | '!' | ':')
}

/// Without brackets before and punctuation behind, but with the dots of `..` and `.`.
fn trim_punctuation(raw: &str) -> &str {
    let text = raw.trim_start_matches(opens);
    let trimmed = text.trim_end_matches(is_punctuation);
    let dots = &text[trimmed.len()..];
    let is_step = trimmed.is_empty() || trimmed.ends_with('/');
    let kept = if is_step { dots.len() - dots.trim_start_matches('.').len() } else { 0 };
    match kept {
        1 | 2 => &text[..trimmed.len() + kept],
        _ => trimmed,
    }
}

/// What kind of value a run without white space is; `None` for a word.
fn value_kind(text: &str) -> Option<Kind> {
    // The common case, for which nothing has to be looked at closely.
    if text.chars().all(|c| c.is_alphabetic() || c == '\'') {
        return crate::words::when::number_word(text).map(|_| Kind::Number);
    }
    if text.contains('*') && text.len() > 1 {
        return Some(Kind::Pattern);
    }
    if text.contains("://") && text.find("://").is_some_and(|at| is_scheme(&text[..at])) {
        return Some(Kind::Url);
    }
    if is_number(text) {
        return Some(Kind::Number);
    }
    if crate::words::when::is_date(text) {
        return Some(Kind::Date);
    }
    if crate::words::when::is_time(text) {
        return Some(Kind::Time);
    }
    path_kind(text)
}

/// Says how a text looks as a path; `None` when it does not look like one.
fn path_kind(text: &str) -> Option<Kind> {
    if text.is_empty() || text.contains('*') || lexicon::is_slashed_word(text) {
        return None;
    }
    if text.contains("://") {
        return Some(Kind::Url);
    }
    let last = text.rsplit('/').next().unwrap_or(text);
    if text.ends_with('/') || matches!(last, "." | "..") || text == "~" {
        return Some(Kind::Folder);
    }
    let slash = text.contains('/');
    if !slash && text.contains('@') {
        return Some(Kind::Address);
    }
    match extension(last) {
        Some(extension) if !slash && is_host_ending(extension) => Some(Kind::Address),
        Some(_) => Some(Kind::File),
        None if slash || text.starts_with('~') => Some(Kind::Path),
        None => None,
    }
}

/// The letters after the last dot, when they look like an extension; also of `.profile`.
fn extension(name: &str) -> Option<&str> {
    let (_, extension) = name.rsplit_once('.')?;
    let good = (1..=8).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic());
    good.then_some(extension)
}

/// Endings that rather name a host than a file.
fn is_host_ending(extension: &str) -> bool {
    ["com", "org", "net", "io", "it", "eu", "de", "fr", "uk", "gov", "edu", "dev", "app"]
        .iter()
        .any(|ending| extension.eq_ignore_ascii_case(ending))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
        && digits.matches(['.', ',']).count() <= 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn values(words: &str) -> Vec<(String, Kind)> {
        tokens(words).unwrap().into_iter().filter(Token::is_value).map(|t| (t.text.to_owned(), t.kind)).collect()
    }

    fn one(words: &str) -> (String, Kind) {
        let found = values(words);
        assert_eq!(found.len(), 1, "{words}: {found:?}");
        found[0].clone()
    }

    #[test]
    fn paths_are_kept_exactly_as_typed() {
        for path in ["../../../etc/passwd", "/etc/shadow", "//etc/shadow", "/home/../etc/shadow", "notes/a\0b", "~/x"] {
            assert_eq!(one(&format!("read {path}")).0, path);
        }
    }

    #[test]
    fn a_path_says_whether_it_names_a_file_or_a_folder() {
        assert_eq!(one("read notes/welcome.md").1, Kind::File);
        assert_eq!(one("read README.md?").0, "README.md");
        assert_eq!(one("list notes/").1, Kind::Folder);
        assert_eq!(one("list ..").1, Kind::Folder);
        assert_eq!(one("list .").1, Kind::Folder);
        assert_eq!(one("list a/..").1, Kind::Folder);
        assert_eq!(one("read notes/todo").1, Kind::Path);
    }

    #[test]
    fn punctuation_after_a_value_does_not_belong_to_it() {
        for words in ["read notes/a.md.", "read notes/a.md?!", "read (notes/a.md)", "read notes/a.md, please"] {
            assert_eq!(one(words).0, "notes/a.md");
        }
    }

    #[test]
    fn addresses_numbers_and_days_are_no_paths() {
        assert_eq!(one("open https://example.com/a.md").1, Kind::Url);
        assert_eq!(one("mail bob@example.com").1, Kind::Address);
        assert_eq!(one("open example.com").1, Kind::Address);
        assert_eq!(one("add 3.14").1, Kind::Number);
        assert_eq!(one("on 2026-10-01").1, Kind::Date);
        assert_eq!(one("at 8:30").1, Kind::Time);
        assert!(values("this and/or that").is_empty());
    }

    #[test]
    fn quotations_of_every_kind_are_one_value() {
        for words in ["count \"a b c\"", "count 'a b c'", "count «a b c»", "count “a b c”?", "count `a b c`."] {
            assert_eq!(one(words), ("a b c".to_owned(), Kind::Quoted));
        }
        assert!(tokens("read \"my notes.md\"").unwrap()[1].is_path());
        assert!(!tokens("count \"my notes\"").unwrap()[1].is_path());
    }

    #[test]
    fn an_apostrophe_opens_no_quotation() {
        assert!(values("what's in the folder of my friend's").is_empty());
        assert!(values("cosa c'è nell'elenco").is_empty());
    }

    #[test]
    fn more_tokens_than_the_limit_are_refused_and_exactly_the_limit_is_not() {
        assert_eq!(tokens(&"x ".repeat(MAX_TOKENS)).unwrap().len(), MAX_TOKENS);
        assert!(tokens(&"x ".repeat(MAX_TOKENS + 1)).is_none());
    }
}
