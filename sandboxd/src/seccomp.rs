//! From the reviewed list `seccomp/python.toml` to one program for the kernel. Whatever the
//! list does not name must never work: it is `ENOSYS`.

use std::collections::BTreeMap;

use metnos_proto::ids::Blake3;
use seccompiler::sock_filter;
use serde::Deserialize;

use crate::names;

/// The reviewed list.
const LIST: &str = include_str!("../seccomp/python.toml");
/// The most instructions the kernel takes.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// Why the list is no filter. It is part of the binary, so this is found by the tests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seccomp/python.toml: {0}")]
pub struct ListError(String);

/// A program for the kernel.
#[derive(Clone)]
pub struct Filter {
    program: Vec<sock_filter>,
    digest: Blake3,
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filter").field("instructions", &self.program.len()).field("digest", &self.digest).finish()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    allow: Vec<Group>,
    check: Vec<Check>,
    refuse: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    why: String,
    calls: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    why: String,
    call: String,
    alternatives: Vec<Vec<String>>,
}

/// `argument & mask == value`, on the low 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Condition {
    argument: u32,
    mask: u32,
    value: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Allow,
    Refuse,
    /// Allowed when all conditions of one alternative hold, refused otherwise.
    When(Vec<Vec<Condition>>),
}

impl Filter {
    /// The filter of the reviewed list.
    ///
    /// # Errors
    /// [`ListError`] when the list does not hold together.
    pub fn load() -> Result<Self, ListError> {
        let program = assemble(&read(LIST)?)?;
        let bytes: Vec<u8> = program
            .iter()
            .flat_map(|step| {
                let [a, b] = step.code.to_le_bytes();
                let [c, d, e, f] = step.k.to_le_bytes();
                [a, b, step.jt, step.jf, c, d, e, f]
            })
            .collect();
        Ok(Self { program, digest: Blake3::of(&bytes) })
    }

    /// What stands in the plan.
    #[must_use]
    pub const fn digest(&self) -> Blake3 {
        self.digest
    }

    /// Puts the filter on this thread and everything it becomes.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn install(&self) -> Result<(), seccompiler::Error> {
        seccompiler::apply_filter(&self.program)
    }
}

/// Every call of the list with what becomes of it, by number.
fn read(text: &str) -> Result<BTreeMap<u32, Verdict>, ListError> {
    let list: List = toml::from_str(text).map_err(|error| ListError(error.to_string()))?;
    let mut verdicts = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    let mut add = |name: &str, why: &str, verdict: Verdict| {
        if why.trim().is_empty() {
            return Err(ListError(format!("`{name}` has no reason")));
        }
        if !seen.insert(name.to_owned()) {
            return Err(ListError(format!("`{name}` is there twice")));
        }
        match names::number(name) {
            names::Call::Here(number) => {
                verdicts.insert(number, verdict);
                Ok(())
            }
            names::Call::Elsewhere => Ok(()),
            names::Call::Unknown => Err(ListError(format!("`{name}` is no known system call"))),
        }
    };
    for (groups, verdict) in [(&list.allow, Verdict::Allow), (&list.refuse, Verdict::Refuse)] {
        for group in groups {
            for name in &group.calls {
                add(name, &group.why, verdict.clone())?;
            }
        }
    }
    for check in &list.check {
        let alternatives = check.alternatives.iter().map(|all| all.iter().map(|one| condition(one)).collect());
        let alternatives: Vec<Vec<Condition>> = alternatives.collect::<Result<_, _>>()?;
        if alternatives.is_empty() || alternatives.iter().any(Vec::is_empty) {
            return Err(ListError(format!("`{}` has an alternative without a condition", check.call)));
        }
        add(&check.call, &check.why, Verdict::When(alternatives))?;
    }
    Ok(verdicts)
}

/// Reads `arg2 & 0x4 == 0x0`.
fn condition(text: &str) -> Result<Condition, ListError> {
    let parts: Vec<&str> = text.split(' ').collect();
    let hexadecimal = |digits: &str| digits.strip_prefix("0x").and_then(|rest| u32::from_str_radix(rest, 16).ok());
    let read = match parts.as_slice() {
        [argument, "&", mask, "==", value] => {
            let number = argument.strip_prefix("arg").and_then(|digit| digit.parse::<u32>().ok()).filter(|n| *n < 6);
            number.zip(hexadecimal(mask)).zip(hexadecimal(value))
        }
        _ => None,
    };
    match read {
        // A value outside its mask would never hold.
        Some(((argument, mask), value)) if value & !mask == 0 => Ok(Condition { argument, mask, value }),
        Some(_) | None => Err(ListError(format!("`{text}` is no condition"))),
    }
}

const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND: u16 = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP_EQ: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const JUMP_GE: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// The number from which calls are x32 on x86-64; no architecture has calls there.
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

const fn allow() -> sock_filter {
    step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW)
}

const fn error(errno: i32) -> sock_filter {
    step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
}

const fn kill() -> sock_filter {
    step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS)
}

fn assemble(verdicts: &BTreeMap<u32, Verdict>) -> Result<Vec<sock_filter>, ListError> {
    let mut program = vec![
        step(LOAD, 0, 0, ARCHITECTURE_AT),
        step(JUMP_EQ, 1, 0, ARCHITECTURE),
        kill(),
        step(LOAD, 0, 0, NUMBER_AT),
        step(JUMP_GE, 0, 1, X32),
        kill(),
    ];
    for (number, verdict) in verdicts {
        let block = match verdict {
            Verdict::Allow => vec![allow()],
            Verdict::Refuse => vec![error(libc::EPERM)],
            Verdict::When(alternatives) => alternatives_block(alternatives)?,
        };
        let length = u8::try_from(block.len()).map_err(|_| ListError("a check is too long".to_owned()))?;
        program.push(step(JUMP_EQ, 0, length, *number));
        program.extend(block);
    }
    program.push(error(libc::ENOSYS));
    if program.len() > MAX_INSTRUCTIONS {
        return Err(ListError(format!("{} instructions are too many", program.len())));
    }
    Ok(program)
}

/// Allows when all conditions of one alternative hold, refuses otherwise.
fn alternatives_block(alternatives: &[Vec<Condition>]) -> Result<Vec<sock_filter>, ListError> {
    let mut block = Vec::new();
    for conditions in alternatives {
        for (index, condition) in conditions.iter().enumerate() {
            // To the next alternative: over the conditions that are left and the `allow` behind them.
            let left = (conditions.len() - index - 1) * 3 + 1;
            let over = u8::try_from(left).map_err(|_| ListError("an alternative is too long".to_owned()))?;
            // The low half stands first on little-endian machines, which are all this is built for.
            block.push(step(LOAD, 0, 0, ARGUMENTS_AT + 8 * condition.argument));
            block.push(step(AND, 0, 0, condition.mask));
            block.push(step(JUMP_EQ, 0, over, condition.value));
        }
        block.push(allow());
    }
    block.push(error(libc::EPERM));
    Ok(block)
}

#[cfg(test)]
#[path = "seccomp_tests.rs"]
mod tests;
