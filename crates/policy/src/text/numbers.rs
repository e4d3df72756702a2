//! Numbers in the owner's words: which of them are quantities, which are called ids, and which only count the items of a
//! list. A number that is called nothing identifies nothing (design: policy §7).

use crate::text::boundaries::ends_token;
use crate::text::dates::Moment;

/// Texts of so many digits and more, and no letter, are names of their own: accounts, phones.
const MANY_DIGITS: usize = 7;
/// The most numbers that are looked back over in `ids 3, 5 and 7`.
const MAX_LISTED: usize = 32;
/// The longest number of an item in a list, in digits.
const MARKER_DIGITS: usize = 3;

/// What makes a number after it the number of a house, a room or a line, although it is called one.
const PLACES: &[&str] = &[
    "via",
    "viale",
    "piazza",
    "corso",
    "largo",
    "vicolo",
    "strada",
    "civico",
    "interno",
    "binario",
    "tavolo",
    "stanza",
    "street",
    "st",
    "road",
    "rd",
    "avenue",
    "ave",
    "lane",
    "square",
    "drive",
    "house",
    "flat",
    "apartment",
    "apt",
    "suite",
    "floor",
    "room",
    "platform",
    "gate",
    "table",
    "bus",
    "tram",
    "line",
];

/// Whether a text is a bare number, a time or a count: it has no letter, few digits, and is neither a day nor an address.
#[must_use]
pub fn is_short(text: &str) -> bool {
    let digits = text.chars().filter(|c| c.is_numeric()).count();
    (1..MANY_DIGITS).contains(&digits)
        && !text.chars().any(char::is_alphabetic)
        && Moment::parse(text).is_none()
        && !is_ipv4(text)
}

/// Whether a text is an address of a machine, in four numbers.
fn is_ipv4(text: &str) -> bool {
    text.split('.').count() == 4 && text.split('.').all(|part| part.parse::<u8>().is_ok())
}

/// Whether digits between these are called an id: `id 7`, `no. 7`, `n. 7`, `#7`, `ids 3, 5 and 7`.
#[must_use]
pub fn is_id(before: &str, after: &str) -> bool {
    if !ends_token(after) {
        return false;
    }
    if let Some(before) = before.strip_suffix('#') {
        // `#7` at the beginning of a line counts the items of a list.
        let line = before.rsplit('\n').next().unwrap_or_default();
        return line.ends_with([' ', '(', '"', '\'', ':']) && !line.trim().is_empty() && !is_place(line);
    }
    let named = before.trim_end_matches([' ', ':', '\'', '"']);
    if named.len() == before.len() {
        return false;
    }
    let (rest, word) = last_word(named);
    match word.as_str() {
        "id" | "ids" | "#" => true,
        "no." | "n." => !is_place(rest),
        _ => is_listed(named),
    }
}

/// Whether these words end in the beginning of a list of ids: `ids 3, 5 and`.
fn is_listed(mut words: &str) -> bool {
    let mut open = false;
    for _ in 0..MAX_LISTED {
        let (rest, word) = last_word(words);
        let number = word.trim_matches(['\'', '"', ',']);
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        match word.as_str() {
            "ids" => return true,
            "and" | "or" | "e" | "ed" | "o" | "&" if !open => open = true,
            _ if is_number && (open || word.ends_with(',')) => open = false,
            _ => return false,
        }
        words = rest;
    }
    false
}

/// The last word, in small letters, and what stands before it.
fn last_word(words: &str) -> (&str, String) {
    let words = words.trim_end_matches([' ', ':', '\'', '"']);
    let at = words.rfind(|c: char| c.is_whitespace() || c == '(').map_or(0, |at| at + 1);
    (&words[..at], words[at..].to_lowercase())
}

/// Whether one of the last words names a street or a place whose number follows.
fn is_place(words: &str) -> bool {
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    words.split_whitespace().rev().take(4).map(word).any(|word| PLACES.contains(&word.as_str()))
}

/// The words with blanks in the place of every number that only counts the items of a list: `1. …`, `2) …`, `#3 …` at the
/// beginning of a line, or anywhere as one of a row that goes on.
#[must_use]
pub fn without_markers(words: &str) -> String {
    let found = markers(words);
    let counts = |one: &Marker| {
        let next = |other: &Marker| {
            other.kind == one.kind && (other.number == one.number + 1 || other.number + 1 == one.number)
        };
        one.begins || found.iter().any(next)
    };
    let mut left = words.to_owned();
    for one in found.iter().filter(|one| counts(one)) {
        left.replace_range(one.from..one.to, &" ".repeat(one.to - one.from));
    }
    left
}

/// A number that may count an item.
struct Marker {
    from: usize,
    to: usize,
    number: u32,
    /// What follows it.
    kind: char,
    /// It stands at the beginning of its line.
    begins: bool,
}

fn markers(words: &str) -> Vec<Marker> {
    let mut found = Vec::new();
    let mut line = 0;
    for text in words.split_inclusive('\n') {
        let mut at = line;
        for token in text.split_inclusive(char::is_whitespace) {
            let begins = words[line..at].chars().all(|c| !c.is_alphanumeric());
            found.extend(marker(token, at, begins));
            at += token.len();
        }
        line += text.len();
    }
    found
}

/// `1.`, `1)`, `(1)`, `1:` and `#1` alone as a token.
fn marker(token: &str, at: usize, begins: bool) -> Option<Marker> {
    let bare = token.trim_end();
    let inner = bare.trim_start_matches(['(', '#', '*', '-', '"']);
    let digits = inner.find(|c: char| !c.is_ascii_digit()).unwrap_or(inner.len());
    let after = &inner[digits..];
    if digits == 0 || digits > MARKER_DIGITS || !matches!(after, "" | "." | ")" | ":" | ".)" | ")." | "-") {
        return None;
    }
    let hash = bare.starts_with('#');
    // `5:` and `#5` inside a line say something else; a bare number does so everywhere.
    let counts = match after {
        "" => hash && begins,
        ":" | "-" => begins,
        _ => true,
    };
    let from = at + (bare.len() - inner.len());
    let kind = after.chars().next().unwrap_or('#');
    counts.then(|| Some(Marker { from, to: from + digits, number: inner[..digits].parse().ok()?, kind, begins }))?
}

/// A decimal number by value: `5`, `5.0` and `5,00` are one.
#[derive(Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    whole: String,
    fraction: String,
}

impl Decimal {
    /// Reads digits with at most one decimal point or comma; exponents and groups of thousands are
    /// not understood, so that nothing is taken for something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once(['.', ',']).unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return None;
        }
        let whole = whole.trim_start_matches('0').to_owned();
        let fraction = fraction.trim_end_matches('0').to_owned();
        let zero = whole.is_empty() && fraction.is_empty();
        Some(Self { negative: negative && !zero, whole, fraction })
    }
}

/// The numbers that stand in `words` as tokens, as they were typed.
pub fn tokens(words: &str) -> impl Iterator<Item = &str> {
    words
        .split(|c: char| c.is_whitespace() || "\"'`’()[]{}€$£¥%".contains(c))
        .map(|token| token.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        // "1.000" is a thousand to some and one to others: nobody's word for either.
        .filter(|token| {
            !token
                .split_once(['.', ','])
                .is_some_and(|(whole, rest)| rest.len() == 3 && whole.len() < 4 && !whole.starts_with('0'))
        })
}

/// The numbers that stand in `words`, by value.
pub fn all(words: &str) -> impl Iterator<Item = Decimal> {
    tokens(words).filter_map(Decimal::parse)
}
