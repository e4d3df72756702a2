//! A part of a text that makes one statement, and where its words come from.

use super::lists;
use super::token::Token;

/// The words between two marks of punctuation, or up to a `but`.
#[derive(Debug, Clone, Copy)]
pub struct Clause<'a> {
    /// Its words, in their order; never none.
    pub tokens: &'a [Token],
}

impl<'a> Clause<'a> {
    /// The clauses of a text.
    #[must_use]
    pub fn of(tokens: &'a [Token]) -> Vec<Self> {
        tokens.chunk_by(|one, next| one.clause == next.clause).map(|tokens| Self { tokens }).collect()
    }

    /// Whether it is a question: by its mark, or by how it begins.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.tokens.first().is_some_and(|token| token.asks || token.opens && lists::ASKS.has_word(&token.word))
    }

    /// Its parts.
    pub fn parts(&self) -> impl Iterator<Item = &'a [Token]> {
        self.tokens.chunk_by(|one, next| one.part == next.part)
    }

    /// Whether what it says is quoted of somebody.
    #[must_use]
    pub fn is_quoted(&self) -> bool {
        self.tokens.iter().filter(|token| token.quoted).count() * 2 > self.tokens.len()
    }
}
