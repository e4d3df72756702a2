//! Whole numbers and ordinals, in digits and in words.

use crate::parser::{Found, Parser};
use crate::token::Kind;

/// A whole number: digits, or words up to ninety-nine.
pub(crate) fn cardinal(p: &Parser<'_>, at: usize) -> Found<i64> {
    if let Some((number, _)) = p.digits(at) {
        return Some((number, at + 1));
    }
    spelled(p, at)
}

/// A number in words.
pub(crate) fn spelled(p: &Parser<'_>, at: usize) -> Found<i64> {
    if let Some(number) = compound(p, p.text(at)) {
        return Some((number, at + 1));
    }
    if let Some((tens, next)) = p.meaning(at, p.words.tens) {
        let unit = if p.is(next, "-") && p.glued(next) { next + 1 } else { next };
        let follows = p.meaning(unit, p.words.numbers).filter(|(number, _)| p.english() && (1..=9).contains(number));
        return Some(follows.map_or((tens, next), |(number, after)| (tens + number, after)));
    }
    p.meaning(at, p.words.numbers)
}

/// Tens and a unit in one word: "ventidue", "twentytwo".
fn compound(p: &Parser<'_>, word: &str) -> Option<i64> {
    let (tens, rest) = p.words.tens.iter().find_map(|(name, tens)| Some((*tens, word.strip_prefix(name)?)))?;
    let unit = p.words.numbers.iter().find(|(name, number)| *name == rest && (1..=9).contains(number))?;
    Some(tens + unit.1)
}

/// An ordinal: "3rd", "third", "twenty-first"; "3°", "terzo", "ventunesimo".
pub(crate) fn ordinal(p: &Parser<'_>, at: usize) -> Found<i64> {
    if let Some((number, length)) = p.digits(at) {
        let ending: &[&str] = if p.english() { &["st", "nd", "rd", "th"] } else { &["o", "a", "esimo", "esima"] };
        return (length <= 2 && p.any(at + 1, ending) && p.glued(at + 1)).then_some((number, at + 2));
    }
    if let Some((tens, next)) = p.meaning(at, p.words.tens).filter(|_| p.english()) {
        let unit = if p.is(next, "-") { next + 1 } else { next };
        return p.meaning(unit, p.words.ordinals).filter(|(n, _)| *n <= 9).map(|(n, after)| (tens + n, after));
    }
    p.meaning(at, p.words.ordinals).or_else(|| Some((italian_ordinal(p, p.text(at))?, at + 1)))
}

/// "undicesimo" to "novantanovesimo": a number without its last vowel, and the ending.
fn italian_ordinal(p: &Parser<'_>, word: &str) -> Option<i64> {
    if p.english() {
        return None;
    }
    let stem = word.strip_suffix("esimo").or_else(|| word.strip_suffix("esima"))?;
    let numbers = p.words.numbers.iter().chain(p.words.tens).filter(|(_, number)| *number > 10);
    let cut = |name: &str| name.strip_suffix(['a', 'e', 'i', 'o']).unwrap_or(name).to_owned();
    let plain = numbers.clone().find(|(name, _)| cut(name) == stem).map(|(_, number)| *number);
    plain.or_else(|| {
        p.words.tens.iter().find_map(|(name, tens)| {
            let rest = stem.strip_prefix(name)?;
            let unit =
                p.words.numbers.iter().find(|(unit, n)| (1..=9).contains(n) && (cut(unit) == rest || *unit == rest))?;
            Some(tens + unit.1)
        })
    })
}

/// A number with a half or a decimal fraction, in so many of 60: "2.5", "two and a half", "2 e mezzo".
pub(crate) fn sixtieths(p: &Parser<'_>, at: usize) -> Found<i64> {
    let (number, next) = cardinal(p, at)?;
    let whole = number.checked_mul(60)?;
    let digits = p.token(at).is_some_and(|token| token.kind == Kind::Number);
    if digits && p.any(next, &[".", ","]) && p.glued(next) && p.glued(next + 1) {
        let (fraction, length) = p.digits(next + 1)?;
        let of = match length {
            1 => 10,
            2 => 100,
            _ => return None,
        };
        return Some((whole + fraction * 60 / of, next + 2));
    }
    let half = if p.english() { p.phrase(next, "and a half") } else { None };
    Some(half.map_or((whole, next), |after| (whole + 30, after)))
}

/// A year: four digits, or two behind an apostrophe.
pub(crate) fn year(p: &Parser<'_>, at: usize) -> Found<i16> {
    if p.is(at, "'") && p.glued(at + 1) {
        let (number, length) = p.digits(at + 1)?;
        return (length == 2).then(|| Some((full_year(number)?, at + 2)))?;
    }
    if let Some(rest) = p.text(at).strip_prefix("duemila").filter(|_| !p.english()) {
        let small = || p.words.numbers.iter().find(|(name, _)| *name == rest).map(|(_, number)| *number);
        let more = if rest.is_empty() { Some(0) } else { compound(p, rest).or_else(small) };
        let tens = || p.words.tens.iter().find(|(name, _)| *name == rest).map(|(_, number)| *number);
        return i16::try_from(2_000 + more.or_else(tens)?).ok().map(|year| (year, at + 1));
    }
    if let Some(found) = spelled_year(p, at) {
        return Some(found);
    }
    let (number, length) = p.digits(at)?;
    (length == 4 && (1_000..=2_999).contains(&number)).then(|| Some((i16::try_from(number).ok()?, at + 1)))?
}

/// "nineteen eighty-six", "nineteen oh one", "nineteen hundred ninety three"; "millenovecentonovantanove".
fn spelled_year(p: &Parser<'_>, at: usize) -> Found<i16> {
    if !p.english() {
        let rest = p.text(at).strip_prefix("millenovecento")?;
        let small = || p.words.numbers.iter().find(|(name, _)| *name == rest).map(|(_, number)| *number);
        let tens = || p.words.tens.iter().find(|(name, _)| *name == rest).map(|(_, number)| *number);
        let more = if rest.is_empty() { Some(0) } else { compound(p, rest).or_else(small).or_else(tens) };
        return Some((i16::try_from(1_900 + more?).ok()?, at + 1));
    }
    let (century, next) = p.meaning(at, p.words.numbers).filter(|(number, _)| (17..=19).contains(number))?;
    let next = p.skip(next, &["hundred and", "hundred"]);
    let zero = p.one_of(next, &["oh", "o", "zero"]).and_then(|next| p.meaning(next, p.words.numbers));
    let (more, next) = zero.or_else(|| spelled(p, next)).filter(|(number, _)| (1..=99).contains(number))?;
    Some((i16::try_from(century * 100 + more).ok()?, next))
}

/// The year that two digits mean.
pub(crate) fn full_year(number: i64) -> Option<i16> {
    let full = match number {
        0..=49 => 2_000 + number,
        50..=99 => 1_900 + number,
        _ => return None,
    };
    i16::try_from(full).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use jiff::tz::TimeZone;

    use super::*;
    use crate::token::tokens;
    use crate::{Context, Language};

    fn of<T>(text: &str, language: Language, rule: impl Fn(&Parser<'_>, usize) -> Found<T>) -> Option<T> {
        let now = date(2026, 11, 24).to_zoned(TimeZone::UTC).unwrap();
        let (tokens, context) = (tokens(text), Context::new(now, language));
        let (found, next) = rule(&Parser::new(&tokens, &context), 0)?;
        (next == tokens.len()).then_some(found)
    }

    #[test]
    fn numbers_in_words_are_read() {
        for (text, number) in
            [("seven", 7), ("twenty", 20), ("twenty-five", 25), ("ninety nine", 99), ("twentytwo", 22)]
        {
            assert_eq!(of(text, Language::English, cardinal), Some(number), "{text}");
        }
        for (text, number) in [("sette", 7), ("venti", 20), ("ventuno", 21), ("ventitré", 23), ("quarantotto", 48)] {
            assert_eq!(of(text, Language::Italian, cardinal), Some(number), "{text}");
        }
    }

    #[test]
    fn ordinals_are_read_up_to_the_last_day_of_a_month() {
        for (text, number) in
            [("1st", 1), ("third", 3), ("twelfth", 12), ("twenty-first", 21), ("31st", 31), ("thirtieth", 30)]
        {
            assert_eq!(of(text, Language::English, ordinal), Some(number), "{text}");
        }
        for (text, number) in [("primo", 1), ("3°", 3), ("undicesimo", 11), ("ventunesimo", 21), ("trentesimo", 30)] {
            assert_eq!(of(text, Language::Italian, ordinal), Some(number), "{text}");
        }
    }

    #[test]
    fn fractions_are_counted_in_sixtieths() {
        for (text, count) in [("2.5", 150), ("two and a half", 150), ("1.25", 75), ("3", 180)] {
            assert_eq!(of(text, Language::English, sixtieths), Some(count), "{text}");
        }
    }

    #[test]
    fn years_are_four_digits_or_two_behind_an_apostrophe() {
        assert_eq!(of("'27", Language::English, year), Some(2027));
        assert_eq!(of("1984", Language::English, year), Some(1984));
        assert_eq!(of("duemilaventisette", Language::Italian, year), Some(2027));
        assert_eq!(of("27", Language::English, year), None);
    }
}
