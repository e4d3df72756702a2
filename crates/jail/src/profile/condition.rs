//! The small language in which a profile checks the arguments of a system call,
//! e.g. `low(arg1) == F_GETFL` or `low(arg2) & PROT_EXEC == 0 and arg0 != 0`.
//! It must never accept what it does not wholly understand: an ignored word would
//! be a wider grant than the reviewer read.
//!
//! ```text
//! check := term ("and" term)*
//! term  := arg ["&" value] op value        (with "&", op is "==")
//! arg   := "arg0" … "arg5"  |  "low(" argN ")"
//! op    := "==" "!=" "<" "<=" ">" ">="
//! value := decimal | 0x… | a constant of the kernel | SELF
//! ```
//! `low(…)` compares the low 32 bits, for arguments of which the kernel looks at no
//! more (else a caller could slip by with high bits set). `SELF` is this process.
//! Several checks of one call are alternatives.

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

use crate::profile::constants;

/// Longest check accepted, in bytes.
pub const LONGEST_CHECK_BYTES: usize = 200;

/// One comparison of one argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    arg: u8,
    low: bool,
    mask: Option<Value>,
    op: Op,
    value: Value,
}

/// A check: all its terms must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check(Vec<Term>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    Number(u64),
    /// The id of the process that is being locked.
    Itself,
}

impl Value {
    fn parse(word: &str) -> Result<Self, String> {
        if word == "SELF" {
            return Ok(Value::Itself);
        }
        let number = match word.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if word.starts_with(|c: char| c.is_ascii_digit()) => word.parse().ok(),
            None => constants::constant(word),
        };
        number.map(Value::Number).ok_or_else(|| format!("'{word}' is neither a number nor a known constant"))
    }

    fn resolve(self, pid: u32) -> u64 {
        match self {
            Value::Number(number) => number,
            Value::Itself => pid.into(),
        }
    }
}

impl Check {
    /// Parses one check.
    ///
    /// # Errors
    /// A sentence that says which word is not understood.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_CHECK_BYTES {
            return Err(format!("a check is at most {LONGEST_CHECK_BYTES} bytes long"));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        words.split(|word| *word == "and").map(Term::parse).collect::<Result<_, _>>().map(Check)
    }

    /// Whether these arguments of a call satisfy the check in the process `pid`: what the filter decides, for
    /// anyone who has only watched.
    #[must_use]
    pub fn holds(&self, pid: u32, arguments: &[u64; 6]) -> bool {
        self.0.iter().all(|term| term.holds(pid, arguments))
    }

    /// Whether it is one equality, so that its opposite can be expressed by one comparison.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.0.as_slice(), [term] if term.op == Op::Eq && term.mask.is_none())
    }

    /// The rule that holds exactly when none of these plain checks does.
    pub(crate) fn none_of(checks: &[&Self], pid: u32) -> Result<SeccompRule, seccompiler::BackendError> {
        let terms = checks.iter().flat_map(|check| &check.0);
        let conditions = terms.map(|term| Term { op: Op::Ne, ..*term }.condition(pid)).collect::<Result<_, _>>()?;
        SeccompRule::new(conditions)
    }

    /// The check as a rule of the compiler of filters, for the process `pid`.
    pub(crate) fn rule(&self, pid: u32) -> Result<SeccompRule, seccompiler::BackendError> {
        let conditions = self.0.iter().map(|term| term.condition(pid)).collect::<Result<_, _>>()?;
        SeccompRule::new(conditions)
    }
}

impl Term {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let (arg, mask, op, value) = match words {
            [arg, op, value] => (arg, None, op, value),
            [arg, "&", mask, op, value] => (arg, Some(Value::parse(mask)?), op, value),
            _ => {
                return Err(format!(
                    "'{}' is not of the form 'argN == VALUE' or 'argN & MASK == VALUE'",
                    words.join(" ")
                ));
            }
        };
        let (low, name) = match arg.strip_prefix("low(").and_then(|a| a.strip_suffix(')')) {
            Some(inner) => (true, inner),
            None => (false, *arg),
        };
        let term = Term { arg: argument(name)?, low, mask, op: Op::parse(op)?, value: Value::parse(value)? };
        if term.mask.is_some() && term.op != Op::Eq {
            return Err(format!("'{op}' cannot follow a mask, only '=='"));
        }
        term.fits()
    }

    /// A 64-bit constant compared with 32 bits would never match, or always.
    fn fits(self) -> Result<Self, String> {
        let wide = |value: Value| matches!(value, Value::Number(n) if n > u64::from(u32::MAX));
        if self.low && (wide(self.value) || self.mask.is_some_and(wide)) {
            return Err("low(…) is compared with a value of more than 32 bits".to_owned());
        }
        Ok(self)
    }

    fn holds(&self, pid: u32, arguments: &[u64; 6]) -> bool {
        let narrow = |value: u64| if self.low { value & u64::from(u32::MAX) } else { value };
        let mask = self.mask.map_or(u64::MAX, |mask| mask.resolve(pid));
        let given = narrow(arguments.get(usize::from(self.arg)).copied().unwrap_or(0)) & mask;
        let value = narrow(self.value.resolve(pid)) & mask;
        match self.op {
            Op::Eq => given == value,
            Op::Ne => given != value,
            Op::Lt => given < value,
            Op::Le => given <= value,
            Op::Gt => given > value,
            Op::Ge => given >= value,
        }
    }

    fn condition(&self, pid: u32) -> Result<SeccompCondition, seccompiler::BackendError> {
        let op = match (self.mask, self.op) {
            (Some(mask), _) => SeccompCmpOp::MaskedEq(mask.resolve(pid)),
            (None, Op::Eq) => SeccompCmpOp::Eq,
            (None, Op::Ne) => SeccompCmpOp::Ne,
            (None, Op::Lt) => SeccompCmpOp::Lt,
            (None, Op::Le) => SeccompCmpOp::Le,
            (None, Op::Gt) => SeccompCmpOp::Gt,
            (None, Op::Ge) => SeccompCmpOp::Ge,
        };
        let length = if self.low { SeccompCmpArgLen::Dword } else { SeccompCmpArgLen::Qword };
        SeccompCondition::new(self.arg, length, op, self.value.resolve(pid))
    }
}

impl Op {
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "==" => Ok(Op::Eq),
            "!=" => Ok(Op::Ne),
            "<" => Ok(Op::Lt),
            "<=" => Ok(Op::Le),
            ">" => Ok(Op::Gt),
            ">=" => Ok(Op::Ge),
            other => Err(format!("'{other}' is no comparison")),
        }
    }
}

fn argument(name: &str) -> Result<u8, String> {
    match name {
        "arg0" => Ok(0),
        "arg1" => Ok(1),
        "arg2" => Ok(2),
        "arg3" => Ok(3),
        "arg4" => Ok(4),
        "arg5" => Ok(5),
        other => Err(format!("'{other}' is no argument (arg0 to arg5)")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_an_equality_without_a_mask_is_plain() {
        let plain = |text| Check::parse(text).unwrap().is_plain();
        assert!(plain("low(arg1) == F_GETFL"));
        assert!(
            !plain("low(arg1) != F_GETFL") && !plain("low(arg2) & PROT_EXEC == 0") && !plain("arg0 == 1 and arg1 == 2")
        );
    }

    #[test]
    fn a_masked_check_means_what_it_says() {
        let check = Check::parse("low(arg2) & PROT_EXEC == 0").unwrap();
        let expected =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(libc::PROT_EXEC as u64), 0)
                .unwrap();
        assert_eq!(check.rule(1).unwrap(), SeccompRule::new(vec![expected]).unwrap());
    }

    #[test]
    fn terms_are_joined_and_self_is_this_process() {
        let check = Check::parse("low(arg0) == SELF and arg2 == 0x6").unwrap();
        let terms = vec![
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 77).unwrap(),
            SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 6).unwrap(),
        ];
        assert_eq!(check.rule(77).unwrap(), SeccompRule::new(terms).unwrap());
    }

    #[test]
    fn watched_syscall_is_judged_as_the_filter_would() {
        let holds = |text: &str, arguments| Check::parse(text).unwrap().holds(77, &arguments);
        assert!(holds("low(arg2) & PROT_EXEC == 0", [0, 0, 3, 0, 0, 0]));
        assert!(!holds("low(arg2) & PROT_EXEC == 0", [0, 0, 7, 0, 0, 0]));
        assert!(holds("low(arg0) == SELF and arg2 == 0x6", [77 | 1 << 40, 0, 6, 0, 0, 0]));
        assert!(!holds("low(arg0) == SELF and arg2 == 0x6", [77, 0, 6 | 1 << 40, 0, 0, 0]));
        assert!(holds("arg1 >= 5", [0, 5, 0, 0, 0, 0]) && !holds("arg1 > 5", [0, 5, 0, 0, 0, 0]));
    }

    #[test]
    fn unknown_condition_is_refused() {
        for text in [
            "",
            "arg0",
            "arg6 == 1",
            "arg0 = 1",
            "arg0 == ",
            "arg0 == COFFEE",
            "arg0 == 1 or arg0 == 2",
            "arg0 == 1 and",
            "arg0 & 4 != 0",
            "low(arg0 == 1",
            "arg0 == -1",
            "arg0 == 0xg",
            "low(arg0) == 0x100000000",
            "arg0 == 1 2",
        ] {
            assert!(Check::parse(text).is_err(), "'{text}' was accepted");
        }
    }

    #[test]
    fn the_longest_check_is_accepted_and_one_byte_more_is_not() {
        let check = "arg0 == 1";
        let pad = " ".repeat(LONGEST_CHECK_BYTES - check.len());
        assert!(Check::parse(&format!("{check}{pad}")).is_ok());
        assert!(Check::parse(&format!("{check}{pad} ")).is_err());
    }

    proptest! {
        #[test]
        fn parsing_is_total(text in "\\PC{0,240}") {
            let _ = Check::parse(&text);
        }

        #[test]
        fn every_number_is_compared_as_written(arg in 0_u8..6, value: u64) {
            let check = Check::parse(&format!("arg{arg} == {value}")).unwrap();
            let expected = SeccompCondition::new(
                arg, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value,
            ).unwrap();
            prop_assert_eq!(check.rule(1).unwrap(), SeccompRule::new(vec![expected]).unwrap());
        }
    }
}
