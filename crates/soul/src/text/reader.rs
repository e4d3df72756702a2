//! A text split into its words: whether each has a capital, opens a sentence, is quoted, is asked.

use metnos_rank::words::words;

use super::lists::{BREAKS, JOINS};
use super::token::Token;

/// The most words of one text that are looked at.
pub const MAX_TOKENS: usize = 4_096;

/// What is shortened before a name, and ends no sentence with its point.
const TITLES: [&str; 12] = ["dr", "mr", "mrs", "ms", "st", "prof", "sig", "dott", "ing", "avv", "geom", "p"];

/// Where the reading of a text stands.
#[derive(Default)]
struct Reader {
    found: Vec<Token>,
    /// The first word of the sentence.
    sentence: usize,
    raw: String,
    clause: usize,
    part: usize,
    opens: bool,
    quoted: bool,
    /// Whether a single quotation mark is open.
    single: bool,
    /// Whether the next character was already read, as a part of `n't`.
    skip: bool,
}

/// The words of a text, in their order.
#[must_use]
pub fn tokens(text: &str) -> Vec<Token> {
    let mut reader = Reader { opens: true, ..Reader::default() };
    let chars: Vec<char> = text.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        if reader.found.len() >= MAX_TOKENS {
            break;
        }
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        reader.read(*c, next);
    }
    reader.flush();
    reader.found.truncate(MAX_TOKENS);
    reader.found
}

impl Reader {
    fn read(&mut self, c: char, next: char) {
        if std::mem::take(&mut self.skip) {
            return;
        }
        let in_number = self.raw.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':'))
            && !self.raw.is_empty()
            && next.is_ascii_digit();
        match c {
            _ if c.is_alphanumeric() || is_mark(c) => self.raw.push(c),
            '.' | ',' | ':' if in_number => self.raw.push(c),
            '\'' | '‘' | '’' if self.raw.is_empty() && (self.single || next.is_alphanumeric()) => {
                self.quote(!self.single)
            }
            '\'' | '’' if self.single && !next.is_alphanumeric() => self.quote(false),
            '\'' | '’' => self.apostrophe(next),
            '.' if TITLES.contains(&self.raw.to_lowercase().as_str()) => self.flush(),
            '.' | '!' | '?' | ';' | ':' | '\n' => self.end_clause(c),
            '"' | '“' | '”' | '«' | '»' => {
                self.flush();
                self.quoted = !self.quoted;
                self.opens = self.opens || self.quoted;
            }
            ',' | '(' | ')' => {
                self.flush();
                self.part += 1;
            }
            _ => self.flush(),
        }
    }

    fn quote(&mut self, single: bool) {
        self.flush();
        self.single = single;
        self.opens = self.opens || single;
    }

    /// `don't` is `do not`, `Anna's` is `Anna`, `l'acqua` is `l acqua`.
    fn apostrophe(&mut self, next: char) {
        if next == 't' && self.raw.ends_with('n') {
            if !self.raw.eq_ignore_ascii_case("can") {
                self.raw.pop();
            }
            self.flush();
            "not".clone_into(&mut self.raw);
            self.flush();
            self.skip = true;
        } else {
            self.flush();
        }
    }

    /// A question asks from where its sentence begins.
    fn end_clause(&mut self, by: char) {
        self.flush();
        if by == '?' {
            for token in &mut self.found[self.sentence..] {
                token.asks = true;
            }
        }
        if by != ':' {
            self.sentence = self.found.len();
        }
        self.clause += 1;
        self.part += 1;
        self.opens = by != ':';
    }

    fn flush(&mut self) {
        let raw = std::mem::take(&mut self.raw);
        let capital = raw.starts_with(char::is_uppercase);
        for word in pieces(&raw) {
            if self.is_left_of_contraction(&word) {
                continue;
            }
            if BREAKS.has_word(&word) {
                self.clause += 1;
            }
            if BREAKS.has_word(&word) || JOINS.has_word(&word) {
                self.part += 1;
            }
            let (opens, quoted) = (self.opens, self.quoted || self.single);
            let (clause, part) = (self.clause, self.part);
            self.found.push(Token { word, capital, opens, quoted, clause, part, asks: false });
            self.opens = false;
        }
    }

    /// What stands behind an apostrophe and says nothing: `'s`, `'m`.
    fn is_left_of_contraction(&self, word: &str) -> bool {
        matches!(word, "s" | "m") && !self.found.is_empty()
    }
}

/// The words of a run without white space: a number with its points, commas and colons is one, `3pm` is `3 pm`.
fn pieces(raw: &str) -> Vec<String> {
    let digits = raw.chars().take_while(char::is_ascii_digit).count();
    if digits > 0 && raw.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':')) {
        return vec![raw.to_owned()];
    }
    if digits > 0 && raw.chars().skip(digits).all(char::is_alphabetic) {
        return words(&format!("{} {}", &raw[..digits], &raw[digits..]));
    }
    words(raw)
}

/// A mark that belongs to the letter before it.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<String> {
        tokens(text).into_iter().map(|token| token.word).collect()
    }

    #[test]
    fn contractions_numbers_and_elisions_are_told_apart() {
        assert_eq!(of("I don't like Anna's 3pm tea"), ["i", "do", "not", "like", "anna", "3", "pm", "tea"]);
        assert_eq!(of("alle 15:30, l'acqua costa 1.200,50 €."), ["alle", "15:30", "l", "acqua", "costa", "1.200,50"]);
        assert_eq!(of("it ends at 8. Then 2026-12-03"), ["it", "ends", "at", "8", "then", "2026", "12", "03"]);
    }

    #[test]
    fn clauses_capitals_and_quotes_are_kept() {
        let found = tokens("Do I like fish? No: \"Anna likes it\", but Bruno hates it");
        let one = |word: &str| found.iter().find(|token| token.word == word).cloned();
        assert!(one("fish").is_some_and(|token| token.asks && token.clause == 0));
        assert!(one("anna").is_some_and(|token| token.quoted && token.capital && token.opens));
        assert!(one("bruno").is_some_and(|token| token.capital && !token.opens && !token.quoted));
        assert_ne!(one("likes").map(|token| token.clause), one("hates").map(|token| token.clause));
    }

    #[test]
    fn single_quotes_are_told_from_apostrophes() {
        let quoted = |text: &str| -> Vec<String> {
            tokens(text).into_iter().filter(|token| token.quoted).map(|token| token.word).collect()
        };
        assert_eq!(quoted("read this mail: 'we moved to Rome' and Anna's reply"), ["we", "moved", "to", "rome"]);
        assert!(quoted("the dogs' garden, l'acqua and don't").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_split_into_folded_words(text in "\\PC{0,120}") {
            for token in tokens(&text) {
                prop_assert!(!token.word.is_empty());
                prop_assert!(token.word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | ',' | ':')), "{token:?}");
            }
        }
    }
}
