//! What a sum comes to: signs in their usual order, percentages of what they are taken of.

use super::lexer::{Kind, Lexeme};

/// Why a sum has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoValue {
    /// It divides by zero.
    Zero,
    /// It takes the root of less than zero.
    Root,
}

type Value = Result<f64, NoValue>;

/// The value of a sum; `None` where the lexemes are none, or are a number alone.
pub(super) fn value(all: &[Lexeme]) -> Option<Value> {
    let signs = |one: &Lexeme| !matches!(one.kind, Kind::Number(_) | Kind::Percent | Kind::Open | Kind::Close);
    if !all.iter().any(signs) {
        return None;
    }
    let mut reader = Reader { all, at: 0 };
    let value = reader.sum()?;
    (reader.at == all.len()).then_some(value)
}

struct Reader<'a> {
    all: &'a [Lexeme],
    at: usize,
}

impl Reader<'_> {
    fn takes(&mut self, kind: &Kind) -> bool {
        let there = self.all.get(self.at).is_some_and(|one| one.kind == *kind);
        self.at += usize::from(there);
        there
    }

    /// Terms that are added; a percentage is one of what stands before it: `80 − 15%`.
    fn sum(&mut self) -> Option<Value> {
        let mut total = self.product()?;
        loop {
            let sign = if self.takes(&Kind::Plus) {
                1.0
            } else if self.takes(&Kind::Minus) {
                -1.0
            } else {
                return Some(total);
            };
            let from = self.at;
            let term = self.product()?;
            let share = self.at == from + 2 && self.all[from + 1].kind == Kind::Percent;
            total = both(total, term, |total, term| Ok(total + sign * if share { total * term } else { term }));
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut total = self.power()?;
        loop {
            if self.takes(&Kind::Times) {
                total = both(total, self.power()?, |one, other| Ok(one * other));
            } else if self.takes(&Kind::Over) {
                let over = |one: f64, other: f64| if other == 0.0 { Err(NoValue::Zero) } else { Ok(one / other) };
                total = both(total, self.power()?, over);
            } else {
                return Some(total);
            }
        }
    }

    fn power(&mut self) -> Option<Value> {
        let base = self.part()?;
        match self.all.get(self.at).map(|one| one.kind.clone()) {
            Some(Kind::To(power)) => {
                self.at += 1;
                Some(base.map(|base| base.powf(power)))
            }
            Some(Kind::Power) => {
                self.at += 1;
                Some(both(base, self.part()?, |base, power| Ok(base.powf(power))))
            }
            _ => Some(base),
        }
    }

    /// A number, what stands between brackets, or a part of either: `half of 30`, `15% of 80`, `15% off 80`.
    fn part(&mut self) -> Option<Value> {
        let kind = self.all.get(self.at)?.kind.clone();
        self.at += 1;
        match kind {
            Kind::Minus => Some(self.part()?.map(|value| -value)),
            Kind::Part(share) => Some(self.part()?.map(|value| value * share)),
            Kind::Root => {
                let root = |value: f64| if value < 0.0 { Err(NoValue::Root) } else { Ok(value.sqrt()) };
                Some(self.part()?.and_then(root))
            }
            Kind::Raised(power) => Some(self.part()?.map(|value| value.powf(power))),
            Kind::Open => {
                let inner = self.sum()?;
                self.takes(&Kind::Close).then_some(inner)
            }
            Kind::Number(value) if self.takes(&Kind::Percent) => {
                let share = value / 100.0;
                if self.takes(&Kind::Of) {
                    return Some(self.part()?.map(|of| of * share));
                }
                if self.takes(&Kind::Off) {
                    return Some(self.part()?.map(|of| of * (1.0 - share)));
                }
                Some(Ok(share))
            }
            Kind::Number(value) => Some(Ok(value)),
            Kind::Plus
            | Kind::Times
            | Kind::Over
            | Kind::Power
            | Kind::Percent
            | Kind::Of
            | Kind::Off
            | Kind::Close
            | Kind::To(_)
            | Kind::Money
            | Kind::Word => None,
        }
    }
}

fn both(one: Value, other: Value, make: impl FnOnce(f64, f64) -> Value) -> Value {
    make(one?, other?)
}
