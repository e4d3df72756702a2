//! Sums and units: "what is 15% of 80", "quanti grammi sono 2 once". Answered only where every word belongs to the sum, so
//! that no other request is ever taken for one. Pure.

pub mod clock;
mod expression;
mod lexer;
mod number;
mod units;

use metnos_proto::msg::common::Lang;

use lexer::{Kind, Lexeme};

/// The longest sum, in bytes and in words.
const MAX_BYTES: usize = 200;
const MAX_LEXEMES: usize = 40;

/// With what a person asks for a sum, longest first where one begins with another.
const FRAMES: [&str; 49] = [
    "can you tell me what",
    "could you tell me what",
    "do you know what",
    "tell me how much is",
    "tell me what",
    "what is the result of",
    "what is a tip of",
    "how much is a tip of",
    "a tip of",
    "tip of",
    "quanto e una mancia del",
    "quant e una mancia del",
    "una mancia del",
    "la mancia del",
    "mancia del",
    "what is",
    "what s",
    "whats",
    "what are",
    "what does",
    "how much is",
    "how much are",
    "how much s",
    "calculate",
    "compute",
    "work out",
    "convert",
    "please convert",
    "please calculate",
    "mi dici quanto fa",
    "mi sai dire quanto fa",
    "sai quanto fa",
    "dimmi quanto fa",
    "dimmi quanto e",
    "quanto fanno",
    "quanto fa",
    "quanto e",
    "quant e",
    "quanto vale",
    "quanto sono",
    "quanto viene",
    "che cosa fa",
    "cosa fa",
    "a quanto corrispondono",
    "a quanto corrisponde",
    "calcola",
    "calcolami",
    "converti",
    "convertimi",
];
/// What may stand behind it.
const TAILS: [&str; 8] = ["please", "thanks", "make", "equal", "equals", "per favore", "grazie", "is"];

/// The answer to a sum, or to a question between units; `None` for everything else.
#[must_use]
pub fn answer(text: &str, lang: Lang) -> Option<String> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let all = lexer::lexemes(text, lang).filter(|all| (2..=MAX_LEXEMES).contains(&all.len()))?;
    let framed = framed(&all);
    let all = without_tail(&all[framed..]);
    let shares = shared(all);
    let framed = framed > 0 || shares.is_some();
    units::answer(all, lang).or_else(|| sum(text, shares.as_deref().unwrap_or(all), framed, lang))
}

/// With what a person asks for something to be shared, what stands before the number of shares, and what behind it.
const SHARE: [&str; 8] = ["split", "divide", "share", "dividi", "dividere", "dividiamo", "spartisci", "spartire"];
const SHARED: [&str; 10] = ["the", "a", "bill", "check", "total", "of", "il", "conto", "totale", "di"];
const BETWEEN: [&str; 9] = ["between", "among", "by", "into", "in", "for", "per", "tra", "fra"];
const SHARES: [&str; 18] = [
    "people", "persons", "friends", "ways", "parts", "kids", "children", "families", "of", "us", "persone", "amici",
    "parti", "bambini", "ragazzi", "figli", "famiglie", "noi",
];

/// A sum that is shared, as a division: "split 87 euros between 4 people".
fn shared(all: &[Lexeme]) -> Option<Vec<Lexeme>> {
    let is_one_of = |one: &Lexeme, words: &[&str]| words.contains(&one.word.as_str());
    let (_, rest) = all.split_first().filter(|(verb, _)| is_one_of(verb, &SHARE))?;
    let before = rest.iter().take_while(|one| is_one_of(one, &SHARED)).count();
    let rest = &rest[before..];
    let behind = rest.iter().rev().take_while(|one| is_one_of(one, &SHARES)).count();
    let rest = &rest[..rest.len() - behind];
    let at = rest.len().checked_sub(2).filter(|at| *at > 0 && is_one_of(&rest[*at], &BETWEEN))?;
    let mut sum = rest.to_vec();
    sum[at].kind = Kind::Over;
    Some(sum)
}

/// How many lexemes the frame takes.
fn framed(all: &[Lexeme]) -> usize {
    let longest = FRAMES.iter().filter_map(|frame| lexer::opens(all, frame)).max().unwrap_or(0);
    // "what is the 15% of 80", "quanto fa il 20% di 50".
    let is_article =
        |next: &&Lexeme| next.kind == Kind::Word && matches!(next.word.as_str(), "the" | "a" | "il" | "lo" | "l");
    let article = longest > 0 && all.get(longest).filter(is_article).is_some();
    longest + usize::from(article)
}

fn without_tail(mut all: &[Lexeme]) -> &[Lexeme] {
    while let Some(length) = TAILS.iter().find_map(|tail| lexer::closes(all, tail)) {
        all = &all[..all.len() - length];
    }
    all
}

/// The currency of a sum as it was said, if it has one; `None` where it has several.
#[allow(clippy::option_option, reason = "whether it is a sum, and whether it has a currency")]
fn currency(text: &str, all: &[Lexeme]) -> Option<Option<String>> {
    let mut said = all.iter().filter(|one| one.kind == Kind::Money).map(|one| text[one.span.clone()].to_owned());
    let first = said.next();
    said.all(|other| Some(&other) == first.as_ref()).then_some(first)
}

fn sum(text: &str, all: &[Lexeme], framed: bool, lang: Lang) -> Option<String> {
    // "10-12" and "24/12" by themselves are no sums.
    let glued = |one: &Lexeme| matches!(one.kind, Kind::Minus | Kind::Over) && one.glued;
    if !framed && all.iter().any(glued) {
        return None;
    }
    let money = currency(text, all)?;
    let plain: Vec<Lexeme> = all.iter().filter(|one| !matches!(one.kind, Kind::Money)).cloned().collect();
    let value = expression::value(&plain)?;
    let (first, last) = (all.first()?, all.last()?);
    let asked = text[first.span.start..last.span.end].trim();
    Some(match value {
        Ok(value) => {
            let (shown, exact) = number::shown(value, 4, lang)?;
            let (before, behind) = match money {
                Some(sign) if sign.chars().all(char::is_alphabetic) => (String::new(), format!(" {sign}")),
                Some(sign) => (sign, String::new()),
                None => (String::new(), String::new()),
            };
            format!("{asked} {} {before}{shown}{behind}", if exact { "=" } else { "≈" })
        }
        Err(expression::NoValue::Zero) => match lang {
            Lang::En => "Nothing can be divided by zero.".to_owned(),
            Lang::It => "Per zero non si può dividere.".to_owned(),
        },
        Err(expression::NoValue::Root) => match lang {
            Lang::En => "A negative number has no square root here.".to_owned(),
            Lang::It => "Un numero negativo non ha radice quadrata, qui.".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn en(text: &str) -> Option<String> {
        answer(text, Lang::En)
    }

    fn it(text: &str) -> Option<String> {
        answer(text, Lang::It)
    }

    #[test]
    fn sums_are_answered_in_both_languages() {
        for (text, wanted) in [
            ("what is 15% of 80?", "15% of 80 = 12"),
            ("How much is 15 percent of 80", "15 percent of 80 = 12"),
            ("what's twelve times seven", "twelve times seven = 84"),
            ("12*7", "12*7 = 84"),
            ("2 + 3 * 4", "2 + 3 * 4 = 14"),
            ("calculate (2 + 3) * 4 please", "(2 + 3) * 4 = 20"),
            ("what is 100 divided by 3", "100 divided by 3 ≈ 33.3333"),
            ("what is 80 minus 15%", "80 minus 15% = 68"),
            ("15% off 80 euros", "15% off 80 euros = 68 euros"),
            ("what's 20% of $45?", "20% of $45 = $9"),
            ("what is half of 30", "half of 30 = 15"),
            ("what is a third of 90", "a third of 90 = 30"),
            ("what is 9 squared", "9 squared = 81"),
            ("square root of 144", "square root of 144 = 12"),
            ("square of 12", "square of 12 = 144"),
            ("tip of 15% on 60", "15% on 60 = 9"),
            ("how much is a 15% tip on 60 euros?", "15% tip on 60 euros = 9 euros"),
            ("what's the square root of 2", "the square root of 2 ≈ 1.4142"),
            ("what is 0.1 + 0.2", "0.1 + 0.2 = 0.3"),
            ("1,200 plus 300", "1,200 plus 300 = 1500"),
            ("twenty-five plus five", "twenty-five plus five = 30"),
            ("what is 5-3", "5-3 = 2"),
            ("what is 7 / 0", "Nothing can be divided by zero."),
            ("what is 123456 times 1000", "123456 times 1000 = 123,456,000"),
        ] {
            assert_eq!(en(text).as_deref(), Some(wanted), "{text}");
        }
        for (text, wanted) in [
            ("quanto fa 12 per 7?", "12 per 7 = 84"),
            ("quanto fa il 15% di 80", "15% di 80 = 12"),
            ("quant'è il 20 per cento di 45 euro", "20 per cento di 45 euro = 9 euro"),
            ("quanto fa 100 diviso 8", "100 diviso 8 = 12,5"),
            ("quanto fa 1.200 più 300", "1.200 più 300 = 1500"),
            ("la metà di 30", "la metà di 30 = 15"),
            ("radice quadrata di 81", "radice quadrata di 81 = 9"),
            ("cubo di 3", "cubo di 3 = 27"),
            ("mancia del 10% su 45 euro", "10% su 45 euro = 4,5 euro"),
            ("due più due", "due più due = 4"),
            ("venticinque meno cinque", "venticinque meno cinque = 20"),
            ("quanto fa 7 alla seconda", "7 alla seconda = 49"),
            ("calcola 3,5 per 2", "3,5 per 2 = 7"),
        ] {
            assert_eq!(it(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_shared_is_divided() {
        for (text, said) in [
            ("split 87 euros between 4 people", "87 euros between 4 = 21.75 euros"),
            ("divide 120 by 5", "120 by 5 = 24"),
            ("share the bill of 90 among 4 friends", "90 among 4 = 22.5"),
        ] {
            assert_eq!(en(text).as_deref(), Some(said), "{text}");
        }
        for (text, said) in [
            ("dividi 87 euro per 4", "87 euro per 4 = 21,75 euro"),
            ("dividi il conto di 87 euro per 4 persone", "87 euro per 4 = 21,75 euro"),
            ("dividi 100 in 3 parti", "100 in 3 \u{2248} 33,3333"),
        ] {
            assert_eq!(answer(text, Lang::It).as_deref(), Some(said), "{text}");
        }
        for text in ["split the bill", "share the list with 2 friends", "divide the cake", "split between 4", "share 4"]
        {
            assert_eq!(en(text), None, "{text}");
        }
    }

    #[test]
    fn units_are_converted_in_both_languages() {
        for (text, wanted) in [
            ("how many grams in an ounce?", "1 ounce ≈ 28.35 grams"),
            ("how many grams are there in 3 ounces", "3 ounces ≈ 85.05 grams"),
            ("convert 5 miles to km", "5 miles ≈ 8.05 km"),
            ("5 km in miles", "5 km ≈ 3.11 miles"),
            ("what is 350 fahrenheit in celsius", "350 fahrenheit ≈ 176.67 celsius"),
            ("what's 20°C in °F", "20 °C = 68 °F"),
            ("how many minutes in 3 hours", "3 hours = 180 minutes"),
            ("how many minutes are two and a half hours", "2.5 hours = 150 minutes"),
            ("how many ml are in a cup", "1 cup (US) ≈ 236.59 ml"),
            ("350 degrees in celsius", "350 degrees ≈ 176.67 celsius"),
            ("2 pounds in kg", "2 pounds ≈ 0.91 kg"),
            ("how many feet is 1.8 meters", "1.8 meters ≈ 5.91 feet"),
        ] {
            assert_eq!(en(text).as_deref(), Some(wanted), "{text}");
        }
        for (text, wanted) in [
            ("quanti grammi sono 2 once", "2 once ≈ 56,7 grammi"),
            ("converti 5 miglia in km", "5 miglia ≈ 8,05 km"),
            ("quanti minuti ci sono in 3 ore?", "3 ore = 180 minuti"),
            ("180 gradi in fahrenheit", "180 gradi = 356 fahrenheit"),
            ("quanti cucchiai sono 75 ml", "75 ml = 5 cucchiai"),
            ("180 gradi celsius in fahrenheit", "180 gradi celsius = 356 fahrenheit"),
            ("quanti metri sono 3 km", "3 km = 3000 metri"),
            ("quanti minuti ci sono in 2 ore e mezza", "2,5 ore = 150 minuti"),
            ("quanti ml ci sono in una tazza", "1 tazza (USA) ≈ 236,59 ml"),
        ] {
            assert_eq!(it(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_sum_is_left_alone() {
        for text in [
            "what is 5",
            "5",
            "what is on 24/12",
            "10-12",
            "2026-11-24",
            "333 1234567",
            "15%",
            "what is half of the pizza",
            "what is the sum of amount in data/expenses.csv",
            "how many files in notes",
            "how many grams of flour",
            "how many ounces in the recipe",
            "how many km to Rome",
            "convert a.md to pdf",
            "5 miles in grams",
            "remind me in 20 minutes",
            "set a timer for 3 hours",
            "in 2 hours",
            "add 3 to the list",
            "two and two",
            "what is a plus",
            "how much is 3 times the rent",
            "12:30 - 13:30",
            "$5 + €3",
            "read 3 + 4.md",
            "how many days in a month",
            "",
            "= 3",
            "3 +",
            "+ 3",
            "(3 + 4",
        ] {
            assert_eq!(en(text), None, "{text}");
        }
        for text in [
            "quanto fa la pasta",
            "quanti file ci sono in notes",
            "tra 20 minuti",
            "ricordami tra 2 ore",
            "per 2 persone",
            "3 per la nonna",
            "quanto è lunga la lista",
            "dalle 3 alle 5",
            "alle 3 meno 10",
        ] {
            assert_eq!(it(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered_or_left(text in "[0-9+*/%() .,a-z-]{0,60}") {
            let _ = en(&text);
            let _ = it(&text);
        }

        #[test]
        fn sums_of_whole_numbers_are_exact(a in 0_i32..10_000, b in 1_i32..10_000) {
            let told = |text: String| en(&text).and_then(|said| said.rsplit(' ').next().map(|last| last.replace(',', ""))).unwrap_or_default();
            prop_assert_eq!(told(format!("{a} + {b}")), (a + b).to_string());
            prop_assert_eq!(told(format!("{a} - {b}")), (a - b).to_string().replace('-', "−"));
            prop_assert_eq!(told(format!("{a} * {b}")), (i64::from(a) * i64::from(b)).to_string());
        }
    }
}
