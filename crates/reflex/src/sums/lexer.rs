//! The words of a sum: numbers, signs and words that stand for signs.

use std::ops::Range;

use metnos_proto::msg::common::Lang;

use super::number;
use crate::words::lexicon::fold;

/// What a lexeme means in a sum.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Number(f64),
    Plus,
    Minus,
    Times,
    Over,
    Power,
    Percent,
    Of,
    Off,
    Open,
    Close,
    /// `half of`, `double`: times this.
    Part(f64),
    Root,
    /// `squared`: to the power of this.
    To(f64),
    /// `the square of`: what follows, to the power of this.
    Raised(f64),
    Money,
    Word,
}

/// One word, number or sign of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Lexeme {
    pub kind: Kind,
    /// In small letters, without marks.
    pub word: String,
    pub span: Range<usize>,
    /// Whether no blank stands before it.
    pub glued: bool,
}

/// Phrases that stand for signs, longest first where one begins with another.
const PHRASES: [(&str, Kind); 61] = [
    ("multiplied by", Kind::Times),
    ("times", Kind::Times),
    ("moltiplicato per", Kind::Times),
    ("divided by", Kind::Over),
    ("diviso per", Kind::Over),
    ("diviso", Kind::Over),
    ("fratto", Kind::Over),
    ("plus", Kind::Plus),
    ("piu", Kind::Plus),
    ("minus", Kind::Minus),
    ("meno", Kind::Minus),
    ("per cento", Kind::Percent),
    ("percento", Kind::Percent),
    ("percent", Kind::Percent),
    ("per cent", Kind::Percent),
    ("to the power of", Kind::Power),
    ("elevato alla", Kind::Power),
    ("elevato a", Kind::Power),
    ("squared", Kind::To(2.0)),
    ("cubed", Kind::To(3.0)),
    ("al quadrato", Kind::To(2.0)),
    ("alla seconda", Kind::To(2.0)),
    ("al cubo", Kind::To(3.0)),
    ("alla terza", Kind::To(3.0)),
    ("the square of", Kind::Raised(2.0)),
    ("square of", Kind::Raised(2.0)),
    ("il quadrato di", Kind::Raised(2.0)),
    ("quadrato di", Kind::Raised(2.0)),
    ("the cube of", Kind::Raised(3.0)),
    ("cube of", Kind::Raised(3.0)),
    ("il cubo di", Kind::Raised(3.0)),
    ("cubo di", Kind::Raised(3.0)),
    ("the square root of", Kind::Root),
    ("square root of", Kind::Root),
    ("la radice quadrata di", Kind::Root),
    ("radice quadrata di", Kind::Root),
    ("radice di", Kind::Root),
    ("one half of", Kind::Part(0.5)),
    ("half of", Kind::Part(0.5)),
    ("la meta di", Kind::Part(0.5)),
    ("meta di", Kind::Part(0.5)),
    ("two thirds of", Kind::Part(2.0 / 3.0)),
    ("a third of", Kind::Part(1.0 / 3.0)),
    ("one third of", Kind::Part(1.0 / 3.0)),
    ("un terzo di", Kind::Part(1.0 / 3.0)),
    ("due terzi di", Kind::Part(2.0 / 3.0)),
    ("three quarters of", Kind::Part(0.75)),
    ("a quarter of", Kind::Part(0.25)),
    ("one quarter of", Kind::Part(0.25)),
    ("un quarto di", Kind::Part(0.25)),
    ("tre quarti di", Kind::Part(0.75)),
    ("double", Kind::Part(2.0)),
    ("twice", Kind::Part(2.0)),
    ("il doppio di", Kind::Part(2.0)),
    ("off", Kind::Off),
    ("tip on", Kind::Of),
    ("di mancia su", Kind::Of),
    ("on", Kind::Of),
    ("su", Kind::Of),
    ("of", Kind::Of),
    ("di", Kind::Of),
];
const MONEY: [&str; 9] = ["€", "$", "£", "euro", "euros", "dollars", "dollar", "dollari", "eur"];

/// The lexemes of a text; `None` where it holds a sign that no sum has.
pub(super) fn lexemes(text: &str, lang: Lang) -> Option<Vec<Lexeme>> {
    let body = text.trim_end_matches(['?', '!', '.', '=', ' ']);
    let mut all = Vec::new();
    let mut rest = body;
    while let Some(c) = rest.chars().next() {
        let from = body.len() - rest.len();
        let length = piece(rest, c);
        let raw = &rest[..length];
        rest = &rest[length..];
        if c.is_whitespace() || matches!(c, '\'' | '’') {
            continue;
        }
        let glued = from > 0 && !body[..from].ends_with(char::is_whitespace);
        let (kind, word) = meant(raw, c, lang)?;
        all.push(Lexeme { kind, word, span: from..from + length, glued });
    }
    Some(phrases(all, lang))
}

/// How many bytes one piece takes: digits with separators between them, letters, or one sign.
fn piece(rest: &str, first: char) -> usize {
    let run = |is: fn(char) -> bool| rest.find(|c| !is(c)).unwrap_or(rest.len());
    if first.is_ascii_digit() {
        let length = run(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
        return rest[..length].trim_end_matches(['.', ',']).len();
    }
    if first.is_alphabetic() { run(char::is_alphabetic) } else { first.len_utf8() }
}

fn meant(raw: &str, first: char, lang: Lang) -> Option<(Kind, String)> {
    let word: String = raw.to_lowercase().chars().map(fold).collect();
    let kind = match first {
        '0'..='9' => Kind::Number(number::digits(raw, lang)?),
        '+' => Kind::Plus,
        '-' | '−' | '–' => Kind::Minus,
        '*' | '×' | '·' => Kind::Times,
        '/' | '÷' => Kind::Over,
        '^' => Kind::Power,
        '%' => Kind::Percent,
        '(' => Kind::Open,
        ')' => Kind::Close,
        '°' => Kind::Word,
        _ if MONEY.contains(&word.as_str()) => Kind::Money,
        _ if first.is_alphabetic() => number::word(&word).map_or(Kind::Word, Kind::Number),
        _ => return None,
    };
    Some((kind, word))
}

/// The same with phrases as one lexeme, and `twenty five` as one number.
fn phrases(all: Vec<Lexeme>, lang: Lang) -> Vec<Lexeme> {
    let mut found: Vec<Lexeme> = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let phrase = PHRASES.iter().find_map(|(phrase, kind)| Some((opens(&all[at..], phrase)?, kind.clone())));
        let between = |at: usize| at > 0 && matches!(all[at - 1].kind, Kind::Number(_) | Kind::Close | Kind::Percent);
        let sign = (lang == Lang::It && all[at].word == "per" || all[at].word == "x") && between(at);
        let (length, kind) = match phrase {
            Some((length, kind)) => (length, kind),
            None if sign => (1, Kind::Times),
            None => (1, all[at].kind.clone()),
        };
        let span = all[at].span.start..all[at + length - 1].span.end;
        let one = Lexeme { kind, word: all[at].word.clone(), span, glued: all[at].glued };
        at += length;
        let hyphen = matches!(found.last(), Some(Lexeme { kind: Kind::Minus, glued: true, .. })) && one.glued;
        let spelled = one.word.chars().all(char::is_alphabetic);
        let before = found.len().checked_sub(1 + usize::from(hyphen && spelled));
        let tens = before.and_then(|at| found.get(at)).map(|before| before.kind.clone());
        match (tens, &one.kind) {
            (Some(Kind::Number(tens)), Kind::Number(unit)) if spelled && number::joins(tens, *unit) => {
                found.truncate(before.map_or(0, |at| at + 1));
                if let Some(last) = found.last_mut() {
                    (last.kind, last.span.end) = (Kind::Number(tens + unit), one.span.end);
                }
            }
            (_, _) => found.push(one),
        }
    }
    found
}

/// How many lexemes a phrase takes with which these begin.
pub(super) fn opens(all: &[Lexeme], phrase: &str) -> Option<usize> {
    let words: Vec<&str> = phrase.split(' ').collect();
    let fits = all.len() >= words.len() && words.iter().zip(all).all(|(word, one)| one.word == *word);
    fits.then_some(words.len())
}

/// How many lexemes a phrase takes with which these end.
pub(super) fn closes(all: &[Lexeme], phrase: &str) -> Option<usize> {
    let length = phrase.split(' ').count();
    opens(all.get(all.len().checked_sub(length)?..)?, phrase)
}
