//! One word of a text, with what the compiler must know of it.

/// One word, or one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// Folded: without marks, in small letters.
    pub word: String,
    /// Whether it begins with a capital letter.
    pub capital: bool,
    /// Whether it opens a sentence, where a capital says nothing.
    pub opens: bool,
    /// Whether it stands between quotation marks.
    pub quoted: bool,
    /// Which clause it belongs to, counted from 0.
    pub clause: usize,
    /// Which part of the text it belongs to: parts end with clauses, at commas, and where two statements are joined.
    pub part: usize,
    /// Whether the clause ends as a question.
    pub asks: bool,
}

impl Token {
    /// Whether it is written in digits.
    #[must_use]
    pub fn is_number(&self) -> bool {
        self.word.starts_with(|c: char| c.is_ascii_digit())
    }
}
