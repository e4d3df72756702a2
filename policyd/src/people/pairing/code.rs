//! Codes as people say them over a telephone: `K7-DELTA-19`. A code is compared in constant time, is never logged, and
//! has no way into anything but that comparison (design: policy §3).

use subtle::ConstantTimeEq;

/// The words in the middle. 64 of them, so that six bits choose one.
const WORDS: [&str; 64] = [
    "ALPHA", "BRAVO", "CEDAR", "DELTA", "ECHO", "FALCON", "GAMMA", "HOTEL", "INDIGO", "JULIET", "KILO", "LIMA",
    "MAPLE", "NECTAR", "OSCAR", "PAPA", "QUARTZ", "ROMEO", "SIERRA", "TANGO", "UMBRA", "VICTOR", "WALNUT", "XENON",
    "YANKEE", "ZULU", "AMBER", "BASIL", "CORAL", "DUNE", "EMBER", "FERN", "GRANITE", "HARBOR", "IRIS", "JASPER",
    "KELP", "LOTUS", "MAGNET", "NICKEL", "ONYX", "PEPPER", "QUIVER", "RADIO", "SAFFRON", "TULIP", "URCHIN", "VELVET",
    "WILLOW", "XYLEM", "YARROW", "ZEPHYR", "ANCHOR", "BEACON", "CANYON", "DOLPHIN", "EAGLE", "FOREST", "GLACIER",
    "HAZEL", "IVORY", "JUNIPER", "KESTREL", "LAGOON",
];
/// Letters that no digit is mistaken for.
const LETTERS: &[u8; 16] = b"ACDEFHJKMNPRTWXY";
/// The longest code, in bytes.
pub const MAX_CODE: usize = 16;
/// How many codes there are.
pub const CODES: u32 = 16 * 10 * 64 * 100;

/// A code.
#[derive(Clone, Copy)]
pub struct Code([u8; MAX_CODE]);

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Code(..)")
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Code {}

impl Code {
    /// The code that these random bytes name. Numbers beyond the last whole round of codes would make some of them
    /// likelier than others, so they name none: draw again.
    #[must_use]
    pub fn of(random: [u8; 4]) -> Option<Self> {
        let number = u32::from_le_bytes(random);
        (number < u32::MAX - u32::MAX % CODES).then(|| Self::number(number % CODES)).flatten()
    }

    fn number(mut number: u32) -> Option<Self> {
        let mut next = |many: u32| {
            let digit = number % many;
            number /= many;
            usize::try_from(digit).unwrap_or(0)
        };
        let (letter, digit, word, tail) = (next(16), next(10), next(64), next(100));
        let text = format!("{}{digit}-{}-{tail:02}", char::from(*LETTERS.get(letter)?), WORDS.get(word)?);
        Self::padded(&text)
    }

    fn padded(text: &str) -> Option<Self> {
        let mut bytes = [0; MAX_CODE];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self(bytes))
    }

    /// Reads a code as people type it: small letters and blanks around it do not matter. `None` for everything else, so
    /// that nothing else that a stranger writes goes any further.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_CODE || !text.is_ascii() {
            return None;
        }
        let text = text.to_ascii_uppercase();
        let mut parts = text.split('-');
        let (head, word, tail) = (parts.next()?.as_bytes(), parts.next()?, parts.next()?);
        let fits = parts.next().is_none()
            && head.len() == 2
            && LETTERS.contains(&head[0])
            && head[1].is_ascii_digit()
            && WORDS.contains(&word)
            && tail.len() == 2
            && tail.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| Self::padded(&text)).flatten()
    }

    /// The code as it is shown to the one whom it is for.
    #[must_use]
    pub fn show(&self) -> String {
        self.0.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_different_and_fit() {
        let distinct: std::collections::BTreeSet<_> = WORDS.iter().collect();
        assert_eq!(distinct.len(), WORDS.len());
        assert!(WORDS.iter().all(|word| word.len() + 6 <= MAX_CODE));
    }

    #[test]
    fn a_code_is_read_as_people_type_it_and_nothing_else_is_one() {
        let code = Code::parse("K7-DELTA-19").unwrap();
        assert_eq!(Code::parse("  k7-delta-19\n"), Some(code));
        assert_eq!(code.show(), "K7-DELTA-19");
        assert_ne!(Code::parse("K7-DELTA-18"), Some(code));
        for text in [
            "",
            "K7",
            "K7-DELTA",
            "K7-DELTA-19-2",
            "K7-DALTA-19",
            "B7-DELTA-19",
            "K7-DELTA-1",
            "K7-DELTA-1９",
            "K7 DELTA 19",
            "7K-DELTA-19",
        ] {
            assert_eq!(Code::parse(text), None, "{text}");
        }
        assert_eq!(format!("{code:?}"), "Code(..)", "a code is in no log");
    }

    proptest! {
        #[test]
        fn every_code_is_read_back_as_shown_and_no_two_are_alike(a in 0..CODES, b in 0..CODES) {
            let (one, other) = (Code::number(a).unwrap(), Code::number(b).unwrap());
            prop_assert_eq!(Code::parse(&one.show()), Some(one));
            prop_assert_eq!(one == other, a == b);
        }

        #[test]
        fn no_text_stops_the_reading(text in "\\PC{0,24}") {
            if let Some(code) = Code::parse(&text) {
                prop_assert_eq!(Code::parse(&code.show()), Some(code));
            }
        }
    }
}
