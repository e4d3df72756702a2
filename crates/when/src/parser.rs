//! What every rule works on: the tokens, the tables of the language, and the moment from which is counted.
//!
//! A rule is a function from a position to what stands there and the position behind it. It tries its forms and keeps the
//! longest. No rule calls itself at the same position, so the work is bounded by the number of tokens.

use jiff::civil::DateTime;

use crate::token::{Kind, Token};
use crate::wall::{Point, Wall};
use crate::words::{self, Table, Words};
use crate::{Context, Language};

/// What a rule found, and the position behind it.
pub(crate) type Found<T> = Option<(T, usize)>;

/// The text and what it is read against.
#[derive(Clone, Copy)]
pub(crate) struct Parser<'a> {
    pub(crate) tokens: &'a [Token],
    pub(crate) language: Language,
    pub(crate) words: &'static Words,
    /// The person's moment.
    pub(crate) now: Point,
    /// What recurs is looked for from here on: the end of an interval behind its beginning.
    pub(crate) after: DateTime,
    pub(crate) day_first: bool,
    /// The person's clock.
    pub(crate) wall: Wall<'a>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(tokens: &'a [Token], context: &'a Context) -> Self {
        let wall = Wall { zone: context.now.time_zone(), now: context.now.timestamp() };
        let now = wall.point(wall.now);
        Self {
            tokens,
            language: context.language,
            words: words::of(context.language),
            now,
            after: *now,
            wall,
            day_first: context.day_first.unwrap_or(context.language == Language::Italian),
        }
    }

    /// The same text, read as from a later moment on.
    pub(crate) fn from(self, after: DateTime) -> Self {
        Self { after, ..self }
    }

    pub(crate) fn token(&self, at: usize) -> Option<&'a Token> {
        self.tokens.get(at)
    }

    pub(crate) fn text(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    pub(crate) fn is(&self, at: usize, text: &str) -> bool {
        self.text(at) == text && !text.is_empty()
    }

    pub(crate) fn any(&self, at: usize, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(at, text))
    }

    /// Whether nothing stands between the token and the one before.
    pub(crate) fn glued(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| token.glued)
    }

    /// Digits as a number, with how many there are.
    pub(crate) fn digits(&self, at: usize) -> Option<(i64, usize)> {
        let token = self.token(at).filter(|token| token.kind == Kind::Number && token.text.len() <= 6)?;
        Some((token.text.parse().ok()?, token.text.len()))
    }

    /// The position behind a phrase: its words one after the other, with a hyphen or a dot between them if need be.
    pub(crate) fn phrase(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut next = at;
        for (count, word) in phrase.split(' ').enumerate() {
            if count > 0 && word != "-" && self.any(next, &["-", "."]) && self.glued(next) {
                next += 1;
            }
            if !self.is(next, word) {
                return None;
            }
            next += 1;
        }
        Some(next)
    }

    /// The longest of several phrases.
    pub(crate) fn one_of(&self, at: usize, phrases: &[&str]) -> Option<usize> {
        phrases.iter().filter_map(|phrase| self.phrase(at, phrase)).max()
    }

    /// What the longest phrase of a table means.
    pub(crate) fn meaning<T: Copy>(&self, at: usize, table: Table<T>) -> Found<T> {
        table
            .iter()
            .filter_map(|(phrase, meaning)| self.phrase(at, phrase).map(|next| (*meaning, next)))
            .max_by_key(|(_, next)| *next)
    }

    /// The position behind a phrase, or the same where none stands there.
    pub(crate) fn skip(&self, at: usize, phrases: &[&str]) -> usize {
        self.one_of(at, phrases).unwrap_or(at)
    }

    /// The position behind the dot of an abbreviation.
    pub(crate) fn skip_dot(&self, at: usize) -> usize {
        if self.is(at, ".") && self.glued(at) && at + 1 < self.tokens.len() && !self.glued(at + 1) {
            at + 1
        } else {
            at
        }
    }

    pub(crate) fn english(&self) -> bool {
        self.language == Language::English
    }
}

/// The longer of two findings; the first where they are equally long.
pub(crate) fn longest<T>(found: impl IntoIterator<Item = Option<(T, usize)>>) -> Found<T> {
    let mut best: Found<T> = None;
    for candidate in found.into_iter().flatten() {
        if best.as_ref().is_none_or(|(_, next)| candidate.1 > *next) {
            best = Some(candidate);
        }
    }
    best
}
