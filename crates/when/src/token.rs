//! Splits a text into words, numbers and marks: lower-case, accents folded, with the bytes that each came from.

use std::ops::Range;

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Letters.
    Word,
    /// Decimal digits.
    Number,
    /// One character of another sort.
    Mark,
}

/// A piece of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// Its letters, folded.
    pub(crate) text: String,
    pub(crate) kind: Kind,
    /// Where it stands in the text, in bytes.
    pub(crate) span: Range<usize>,
    /// Whether nothing but an apostrophe stands between it and the token before.
    pub(crate) glued: bool,
    /// Whether it begins with a capital letter.
    pub(crate) capital: bool,
    /// Whether a slip in it was corrected.
    pub(crate) corrected: bool,
}

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut glued = false;
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            glued = false;
            continue;
        }
        let after_letter = found.last().is_some_and(|last| last.kind == Kind::Word) && glued;
        if is_apostrophe(c) && after_letter {
            // An elision: the next letters are a word of their own, though nothing stands between.
            if let Some(last) = found.last_mut() {
                last.span.end = at + c.len_utf8();
            }
            found.push(Token {
                text: String::new(),
                kind: Kind::Word,
                span: at..at,
                glued,
                capital: false,
                corrected: false,
            });
            continue;
        }
        put(&mut found, at, c, glued);
        glued = true;
    }
    found.retain(|token| !token.text.is_empty());
    joined(found)
}

/// Adds a character to the last token, or as a new one.
fn put(found: &mut Vec<Token>, at: usize, c: char, glued: bool) {
    let (kind, folded) = folded(c);
    let end = at + c.len_utf8();
    if let Some(last) = found.last_mut()
        && glued
        && last.kind == kind
        && kind != Kind::Mark
    {
        if last.text.is_empty() {
            (last.span.start, last.capital) = (at, c.is_uppercase());
        }
        last.text.push_str(&folded);
        last.span.end = end;
        return;
    }
    found.push(Token { text: folded, kind, span: at..end, glued, capital: c.is_uppercase(), corrected: false });
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2018}' | '`' | '\u{b4}')
}

/// The sort of a character, and the letters without accents that stand for it.
fn folded(c: char) -> (Kind, String) {
    if c.is_ascii_digit() {
        return (Kind::Number, c.to_string());
    }
    let plain = match c {
        'à' | 'á' | 'â' | 'ä' | 'À' | 'Á' | 'Â' | 'Ä' | 'ª' => 'a',
        'è' | 'é' | 'ê' | 'ë' | 'È' | 'É' | 'Ê' | 'Ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' | 'Ì' | 'Í' | 'Î' | 'Ï' => 'i',
        'ò' | 'ó' | 'ô' | 'ö' | 'Ò' | 'Ó' | 'Ô' | 'Ö' | 'º' | '°' => 'o',
        'ù' | 'ú' | 'û' | 'ü' | 'Ù' | 'Ú' | 'Û' | 'Ü' => 'u',
        '\u{2013}' | '\u{2014}' | '\u{2012}' | '\u{2010}' | '\u{2011}' => '-',
        c if is_apostrophe(c) => '\'',
        c => c,
    };
    let kind = if plain.is_alphabetic() { Kind::Word } else { Kind::Mark };
    (kind, plain.to_lowercase().collect())
}

/// Joins what is written apart and is one word: "p.m.", "p m", "o'clock".
fn joined(tokens: Vec<Token>) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let half = half_of_day(&tokens, at).map(|count| (count, format!("{}m", token.text)));
        let clock = (token.text == "o" && tokens.get(at + 1).is_some_and(|next| next.text == "clock"))
            .then(|| (2, "oclock".to_owned()));
        let mut whole = token.clone();
        let count = match half.or(clock) {
            Some((count, text)) => {
                whole.text = text;
                whole.span.end = tokens.get(at + count - 1).map_or(whole.span.end, |last| last.span.end);
                count
            }
            None => 1,
        };
        found.push(whole);
        at += count;
    }
    found
}

/// How many tokens make up "a.m." or "p.m." behind a number or a clock; a dot that ends it belongs to it.
fn half_of_day(tokens: &[Token], at: usize) -> Option<usize> {
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    let first = tokens.get(at).filter(|token| token.text == "a" || token.text == "p")?;
    let dotted = is(at + 1, ".") && tokens.get(at + 1).is_some_and(|dot| dot.glued);
    let letter = if dotted { at + 2 } else { at + 1 };
    let behind_number = at.checked_sub(1).and_then(|before| tokens.get(before));
    let behind_number = behind_number.is_some_and(|before| before.kind == Kind::Number || before.text == "oclock");
    let close = dotted || (behind_number && !first.capital);
    if !is(letter, "m") || !close {
        return None;
    }
    let ends_dotted = dotted && is(letter + 1, ".") && tokens.get(letter + 1).is_some_and(|dot| dot.glued);
    Some(letter + 1 + usize::from(ends_dotted) - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn tokens_are_folded_words_numbers_and_marks() {
        assert_eq!(words("Lunedì alle 8:30"), ["lunedi", "alle", "8", ":", "30"]);
        assert_eq!(words("5pm, 5 p.m. and 17h30"), ["5", "pm", ",", "5", "pm", "and", "17", "h", "30"]);
        assert_eq!(words("l'altro ieri, all’una"), ["l", "altro", "ieri", ",", "all", "una"]);
        assert_eq!(words("5 o'clock on New Year's Eve"), ["5", "oclock", "on", "new", "year", "s", "eve"]);
        assert_eq!(words("1º – 3ª"), ["1", "o", "-", "3", "a"]);
    }

    #[test]
    fn spans_are_those_of_the_text() {
        let text = "è l'una p.m.!";
        for token in tokens(text) {
            assert!(text.get(token.span.clone()).is_some_and(|slice| !slice.is_empty()), "{token:?}");
        }
    }
}
