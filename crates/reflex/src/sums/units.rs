//! Questions between units: "how many grams in an ounce", "5 miglia in km". Factors are exact where the unit is defined so
//! (NIST Special Publication 811, appendix B).

use metnos_proto::msg::common::Lang;

use super::lexer::{self, Kind, Lexeme};
use super::number;

/// What a unit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Length,
    Mass,
    Volume,
    Time,
    Speed,
    Area,
    Celsius,
    Fahrenheit,
    Kelvin,
    /// Degrees that are not said of what.
    Degrees,
}

/// Names of units, what they measure, and how many of the first unit of that kind one is.
const UNITS: [(&str, Of, f64); 36] = [
    ("m meter meters metre metres metro metri", Of::Length, 1.0),
    ("km kilometer kilometers kilometre kilometres chilometro chilometri", Of::Length, 1_000.0),
    ("cm centimeter centimeters centimetre centimetres centimetro centimetri", Of::Length, 0.01),
    ("mm millimeter millimeters millimetre millimetres millimetro millimetri", Of::Length, 0.001),
    ("mile miles miglio miglia", Of::Length, 1_609.344),
    ("yard yards iarda iarde", Of::Length, 0.9144),
    ("foot feet ft piede piedi", Of::Length, 0.3048),
    ("inch inches pollice pollici", Of::Length, 0.0254),
    ("g gram grams grammo grammi", Of::Mass, 1.0),
    ("kg kilo kilos kilogram kilograms chilo chili chilogrammo chilogrammi", Of::Mass, 1_000.0),
    ("mg milligram milligrams milligrammo milligrammi", Of::Mass, 0.001),
    ("hg etto etti", Of::Mass, 100.0),
    ("tonne tonnes tonnellata tonnellate", Of::Mass, 1_000_000.0),
    ("lb lbs pound pounds libbra libbre", Of::Mass, 453.592_37),
    ("oz ounce ounces oncia once", Of::Mass, 28.349_523_125),
    ("l liter liters litre litres litro litri", Of::Volume, 1.0),
    ("ml milliliter milliliters millilitre millilitres millilitro millilitri", Of::Volume, 0.001),
    ("cl centiliter centiliters centilitre centilitres centilitro centilitri", Of::Volume, 0.01),
    ("dl deciliter deciliters decilitre decilitres decilitro decilitri", Of::Volume, 0.1),
    ("cup cups tazza tazze", Of::Volume, 0.236_588_236_5),
    ("gallon gallons gallone galloni", Of::Volume, 3.785_411_784),
    ("tablespoon tablespoons tbsp cucchiaio cucchiai", Of::Volume, 0.015),
    ("teaspoon teaspoons tsp cucchiaino cucchiaini", Of::Volume, 0.005),
    ("s sec second seconds secondo secondi", Of::Time, 1.0),
    ("min minute minutes minuto minuti", Of::Time, 60.0),
    ("h hour hours ora ore", Of::Time, 3_600.0),
    ("day days giorno giorni", Of::Time, 86_400.0),
    ("week weeks settimana settimane", Of::Time, 604_800.0),
    ("kmh kph", Of::Speed, 1.0),
    ("mph", Of::Speed, 1.609_344),
    ("hectare hectares ha ettaro ettari", Of::Area, 1.0),
    ("acre acres acro acri", Of::Area, 0.404_685_642_24),
    ("celsius centigrade c centigradi", Of::Celsius, 1.0),
    ("fahrenheit f", Of::Fahrenheit, 1.0),
    ("kelvin k", Of::Kelvin, 1.0),
    ("knot knots nodo nodi", Of::Speed, 1.852),
];
/// Units of which there are others elsewhere.
const AMERICAN: [&str; 8] = ["cup", "cups", "tazza", "tazze", "gallon", "gallons", "gallone", "galloni"];
/// What may stand between a unit that is asked for and how much of another.
const BETWEEN: &str = "is are there in make makes do does has have fit equals equal sono ci fanno e ha un'";
/// A unit as it was said.
struct Unit {
    of: Of,
    factor: f64,
    said: String,
    /// How many lexemes it takes.
    length: usize,
}

fn unit(all: &[Lexeme]) -> Option<Unit> {
    let word = |at: usize| all.get(at).map(|one| one.word.as_str());
    let degrees = matches!(word(0), Some("°" | "degree" | "degrees" | "grado" | "gradi"));
    let at = usize::from(degrees);
    let found = word(at).and_then(|name| {
        let known = UNITS.iter().find(|(names, ..)| names.split(' ').any(|one| one == name));
        known.map(|(_, of, factor)| (name, of, factor))
    });
    let is_heat = |of: &Of| matches!(of, Of::Celsius | Of::Fahrenheit | Of::Kelvin);
    if degrees && !found.is_some_and(|(_, of, _)| is_heat(of)) {
        return Some(Unit { of: Of::Degrees, factor: 1.0, said: word(0)?.to_owned(), length: 1 });
    }
    let (name, of, factor) = found?;
    let is_heat = is_heat(of);
    let said = match (degrees, word(0)) {
        (true, Some("°")) => format!("°{}", name.to_uppercase()),
        (true, Some(degrees)) => format!("{degrees} {name}"),
        (_, _) if is_heat && name.len() == 1 => format!("°{}", name.to_uppercase()),
        (_, _) => name.to_owned(),
    };
    Some(Unit { of: *of, factor: *factor, said, length: at + 1 })
}

/// How much of which unit, and how many lexemes say it: `3 ounces`, `un'ora`, `two and a half hours`, `2 ore e mezza`.
fn quantity(all: &[Lexeme]) -> Option<(f64, Unit, usize)> {
    let (value, length) = match (all.first()?, all.get(1)) {
        (Lexeme { kind: Kind::Minus, .. }, Some(Lexeme { kind: Kind::Number(value), .. })) => (-value, 2),
        (Lexeme { kind: Kind::Number(value), .. }, _) => (*value, 1),
        (one, _) if matches!(one.word.as_str(), "a" | "an" | "un" | "una") => (1.0, 1),
        _ => return None,
    };
    let before = half(&all[length..]);
    let unit = unit(&all[length + before..])?;
    let end = length + before + unit.length;
    let behind = if before == 0 { half(&all[end..]) } else { 0 };
    let more = if before + behind > 0 { 0.5 } else { 0.0 };
    Some((value + more, unit, end + behind))
}

/// How many lexemes say that there is half of one more.
fn half(all: &[Lexeme]) -> usize {
    ["and a half", "e mezza", "e mezzo"].iter().find_map(|phrase| lexer::opens(all, phrase)).unwrap_or(0)
}

/// The answer; `None` where the lexemes ask for something else.
pub(super) fn answer(all: &[Lexeme], lang: Lang) -> Option<String> {
    let (value, from, to) = how_many(all).or_else(|| so_much_in(all))?;
    let result = converted(value, &from, &to)?;
    let (result, exact) = number::shown(result, if result.abs() < 0.1 { 5 } else { 2 }, lang)?;
    let (value, _) = number::shown(value, 6, lang)?;
    let named = |unit: &Unit| match (AMERICAN.contains(&unit.said.as_str()), lang) {
        (false, _) => unit.said.clone(),
        (true, Lang::En) => format!("{} (US)", unit.said),
        (true, Lang::It) => format!("{} (USA)", unit.said),
    };
    Some(format!("{value} {} {} {result} {}", named(&from), if exact { "=" } else { "≈" }, named(&to)))
}

/// `how many grams are in 3 ounces`, `quanti grammi sono 3 once`.
fn how_many(all: &[Lexeme]) -> Option<(f64, Unit, Unit)> {
    let word = |at: usize| all.get(at).map(|one| one.word.as_str());
    let begins = match (word(0)?, word(1)?) {
        ("how", "many" | "much") => 2,
        ("quanti" | "quante", _) => 1,
        _ => return None,
    };
    let to = unit(&all[begins..])?;
    let mut rest = &all[begins + to.length..];
    while rest.first().is_some_and(|one| BETWEEN.split(' ').any(|word| word == one.word)) {
        rest = &rest[1..];
    }
    let (value, from, length) = quantity(rest)?;
    let behind = &rest[length..];
    behind.iter().all(|one| matches!(one.word.as_str(), "have" | "has" | "make")).then_some((value, from, to))
}

/// `5 miles in km`, `5 miglia in km`.
fn so_much_in(all: &[Lexeme]) -> Option<(f64, Unit, Unit)> {
    let (value, from, length) = quantity(all)?;
    let rest = &all[length..];
    let joined = matches!(rest.first()?.word.as_str(), "in" | "to" | "into" | "as");
    let to = unit(rest.get(1..)?)?;
    (joined && rest.len() == 1 + to.length).then_some((value, from, to))
}

fn converted(value: f64, from: &Unit, to: &Unit) -> Option<f64> {
    // "180 degrees in Fahrenheit": the other of the two.
    let of = match (from.of, to.of) {
        (Of::Degrees, Of::Fahrenheit) => Of::Celsius,
        (Of::Degrees, Of::Celsius) => Of::Fahrenheit,
        (of, _) => of,
    };
    let kelvin = match of {
        Of::Celsius => Some(value + 273.15),
        Of::Fahrenheit => Some((value + 459.67) / 1.8),
        Of::Kelvin => Some(value),
        Of::Length | Of::Mass | Of::Volume | Of::Time | Of::Speed | Of::Area | Of::Degrees => None,
    };
    match (kelvin, to.of) {
        (Some(kelvin), Of::Celsius) => Some(rounded(kelvin - 273.15)),
        (Some(kelvin), Of::Fahrenheit) => Some(rounded(kelvin * 1.8 - 459.67)),
        (Some(kelvin), Of::Kelvin) => Some(rounded(kelvin)),
        (None, of) if of == from.of && of != Of::Degrees => Some(value * from.factor / to.factor),
        (_, _) => None,
    }
}

/// Without what the sums of degrees leave behind the tenth decimal.
fn rounded(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}
