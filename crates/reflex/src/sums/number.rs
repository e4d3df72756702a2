//! Numbers as they are said and shown: digits with the separators of a language, and words up to the thousands.

use metnos_proto::msg::common::Lang;

/// The largest value that is shown.
const LARGEST: f64 = 1e15;
/// Values from this one on are shown with thousands separators.
const GROUPED: f64 = 100_000.0;

const UNITS: [(&str, f64); 53] = [
    ("zero", 0.0),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("nine", 9.0),
    ("ten", 10.0),
    ("eleven", 11.0),
    ("twelve", 12.0),
    ("thirteen", 13.0),
    ("fourteen", 14.0),
    ("fifteen", 15.0),
    ("sixteen", 16.0),
    ("seventeen", 17.0),
    ("eighteen", 18.0),
    ("nineteen", 19.0),
    ("uno", 1.0),
    ("due", 2.0),
    ("tre", 3.0),
    ("quattro", 4.0),
    ("cinque", 5.0),
    ("sei", 6.0),
    ("sette", 7.0),
    ("otto", 8.0),
    ("nove", 9.0),
    ("dieci", 10.0),
    ("undici", 11.0),
    ("dodici", 12.0),
    ("tredici", 13.0),
    ("quattordici", 14.0),
    ("quindici", 15.0),
    ("sedici", 16.0),
    ("diciassette", 17.0),
    ("diciotto", 18.0),
    ("diciannove", 19.0),
    ("cento", 100.0),
    ("mille", 1_000.0),
    ("hundred", 100.0),
    ("thousand", 1_000.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
    ("forty", 40.0),
    ("fifty", 50.0),
    ("sixty", 60.0),
    ("seventy", 70.0),
    ("eighty", 80.0),
    ("ninety", 90.0),
    ("venti", 20.0),
    ("trenta", 30.0),
];
const ITALIAN_TENS: [(&str, f64); 8] = [
    ("venti", 20.0),
    ("trenta", 30.0),
    ("quaranta", 40.0),
    ("cinquanta", 50.0),
    ("sessanta", 60.0),
    ("settanta", 70.0),
    ("ottanta", 80.0),
    ("novanta", 90.0),
];

/// A number in one word.
pub(super) fn word(word: &str) -> Option<f64> {
    let known = |word: &str| UNITS.iter().chain(&ITALIAN_TENS).find(|(name, _)| *name == word).map(|(_, value)| *value);
    known(word).or_else(|| {
        // "venticinque", "ventuno".
        let (tens, rest) = ITALIAN_TENS.iter().find_map(|(name, tens)| {
            let cut = name.strip_suffix(['i', 'a']).unwrap_or(name);
            word.strip_prefix(name).or_else(|| word.strip_prefix(cut)).map(|rest| (*tens, rest))
        })?;
        known(rest).filter(|unit| (1.0..10.0).contains(unit)).map(|unit| tens + unit)
    })
}

/// Whether a tens and a unit that follow each other are one number: `twenty five`.
pub(super) fn joins(tens: f64, unit: f64) -> bool {
    (20.0..100.0).contains(&tens) && tens % 10.0 == 0.0 && (1.0..10.0).contains(&unit)
}

/// Digits with separators: in English `1,200.5`, in Italian `1.200,5`. One separator before other than three digits is decimal in both.
pub(super) fn digits(text: &str, lang: Lang) -> Option<f64> {
    let (thousands, decimal) = match lang {
        Lang::En => (',', '.'),
        Lang::It => ('.', ','),
    };
    let groups: Vec<&str> = text.split(thousands).collect();
    let (whole, fraction) = text.split_once(decimal).unwrap_or((text, ""));
    let grouped = |whole: &str| {
        let mut parts = whole.split(thousands);
        let first = parts.next().unwrap_or_default();
        (1..=3).contains(&first.len()) && parts.all(|part| part.len() == 3)
    };
    let plain = if !whole.contains(thousands) || grouped(whole) {
        format!("{}.{fraction}0", whole.replace(thousands, ""))
    } else if groups.len() == 2 && !text.contains(decimal) {
        format!("{}.{}", groups[0], groups[1])
    } else {
        return None;
    };
    plain.parse().ok()
}

/// A value with at most so many decimals, and whether that is all of it; `None` where it is too large.
pub(super) fn shown(value: f64, decimals: usize, lang: Lang) -> Option<(String, bool)> {
    if !value.is_finite() || value.abs() >= LARGEST {
        return None;
    }
    let mut text = format!("{:.decimals$}", value.abs());
    let near: f64 = text.parse().ok()?;
    let exact = (near - value.abs()).abs() <= value.abs() * 1e-12;
    if text.contains('.') {
        text = text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let (thousands, decimal) = match lang {
        Lang::En => (',', '.'),
        Lang::It => ('.', ','),
    };
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && near >= GROUPED {
            out.push(thousands);
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push(decimal);
        out.push_str(fraction);
    }
    let sign = if value < 0.0 && near != 0.0 { "−" } else { "" };
    Some((format!("{sign}{out}"), exact))
}
