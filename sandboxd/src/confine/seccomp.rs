//! From the reviewed lists `seccomp/python.toml` and `seccomp/programs.toml` to programs for the kernel: for each profile one
//! for a sealed process, and the wider one under which a fresh interpreter starts. Whatever the list does not name must never work: it is
//! `ENOSYS`.

use std::collections::BTreeMap;

use metnos_jail::profile::names::{Number, syscall};
use metnos_proto::ids::Blake3;
use seccompiler::sock_filter;
use serde::Deserialize;

/// The reviewed list.
const LIST: &str = include_str!("../../seccomp/python.toml");
/// What is open on top of it for who may run programs.
const PROGRAMS: &str = include_str!("../../seccomp/programs.toml");
/// The most instructions the kernel takes.
pub const MAX_INSTRUCTIONS: usize = 4096;

/// Why the list is no filter. It is part of the binary, so this is found by the tests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seccomp/*.toml: {0}")]
pub struct ListError(String);

/// A program for the kernel.
#[derive(Clone)]
pub struct Filter {
    program: Vec<sock_filter>,
    bytes: Vec<u8>,
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
    refuse: Vec<Refused>,
    start: Vec<Start>,
}

/// The second list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More {
    open: Vec<Start>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    why: String,
    calls: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    why: String,
    #[serde(default)]
    errno: RefusedBy,
    calls: Vec<String>,
}

/// What a refused call answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum RefusedBy {
    #[default]
    #[serde(rename = "EPERM")]
    NotPermitted,
    #[serde(rename = "ENOSYS")]
    NoSuchCall,
    #[serde(rename = "EOPNOTSUPP")]
    NotSupported,
}

impl RefusedBy {
    const fn errno(self) -> i32 {
        match self {
            Self::NotPermitted => libc::EPERM,
            Self::NoSuchCall => libc::ENOSYS,
            Self::NotSupported => libc::EOPNOTSUPP,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    why: String,
    call: String,
    alternatives: Vec<Vec<String>>,
}

/// What is open until the seal, on top of the rest of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    why: String,
    calls: Vec<String>,
    /// Empty for any arguments.
    alternatives: Vec<Vec<String>>,
}

/// How far a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Sealed: this is what an executor runs under.
    Sealed,
    /// A fresh interpreter that has not sealed itself yet.
    Starting,
}

/// What is run besides the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Nothing.
    Nothing,
    /// Listed programs.
    Programs,
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
    Refuse(RefusedBy),
    /// Allowed when all conditions of one alternative hold, refused otherwise.
    When(Vec<Vec<Condition>>),
}

impl Filter {
    /// The filter of the reviewed list.
    ///
    /// # Errors
    /// [`ListError`] when the list does not hold together.
    pub fn load(stage: Stage) -> Result<Self, ListError> {
        Self::load_for(stage, Runs::Nothing)
    }

    /// The same for what `runs`.
    ///
    /// # Errors
    /// As [`Filter::load`].
    pub fn load_for(stage: Stage, runs: Runs) -> Result<Self, ListError> {
        let mut verdicts = read(LIST, stage)?;
        match runs {
            Runs::Nothing => {}
            Runs::Programs => open_more(&mut verdicts, PROGRAMS)?,
        }
        Ok(Self::of(assemble(&verdicts)?))
    }

    /// What the zygote puts on itself, and so on all its children: nothing is executed any more. Everything else is
    /// up to the filters around it, because a child has yet to build its world.
    #[must_use]
    pub fn no_exec() -> Self {
        let refused = [libc::SYS_execve, libc::SYS_execveat].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        Self::of(vec![
            step(LOAD, 0, 0, ARCHITECTURE_AT),
            step(JUMP_EQ, 1, 0, ARCHITECTURE),
            kill(),
            step(LOAD, 0, 0, NUMBER_AT),
            step(JUMP_EQ, 2, 0, refused[0]),
            step(JUMP_EQ, 1, 0, refused[1]),
            allow(),
            error(libc::EPERM),
        ])
    }

    /// One that lets everything pass: what a test puts in the place of another, to see what else there is.
    #[cfg(feature = "attack")]
    #[must_use]
    pub fn none() -> Self {
        Self::of(vec![allow()])
    }

    fn of(program: Vec<sock_filter>) -> Self {
        let bytes = bytes_of(&program);
        let digest = Blake3::of(&bytes);
        Self { program, bytes, digest }
    }

    /// The instructions as the kernel reads them, eight bytes each.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
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

fn bytes_of(program: &[sock_filter]) -> Vec<u8> {
    let step = |step: &sock_filter| {
        // The kernel's structure, on the little-endian machines that all this is built for.
        let [a, b] = step.code.to_le_bytes();
        let [c, d, e, f] = step.k.to_le_bytes();
        [a, b, step.jt, step.jf, c, d, e, f]
    };
    program.iter().flat_map(step).collect()
}

/// Every call of the list with what becomes of it at a stage, by number.
fn read(text: &str, stage: Stage) -> Result<BTreeMap<u32, Verdict>, ListError> {
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
        if let Some(number) = number(name)? {
            verdicts.insert(number, verdict);
        }
        Ok(())
    };
    for group in &list.allow {
        group.calls.iter().try_for_each(|name| add(name, &group.why, Verdict::Allow))?;
    }
    for group in &list.refuse {
        group.calls.iter().try_for_each(|name| add(name, &group.why, Verdict::Refuse(group.errno)))?;
    }
    for check in &list.check {
        let alternatives = conditions(&check.alternatives)?;
        if alternatives.is_empty() {
            return Err(ListError(format!("`{}` is checked for nothing", check.call)));
        }
        add(&check.call, &check.why, Verdict::When(alternatives))?;
    }
    for start in &list.start {
        open(&mut verdicts, start, stage == Stage::Starting)?;
    }
    Ok(verdicts)
}

/// The second list on top of the first, at either stage: the filter of a start stays on.
fn open_more(verdicts: &mut BTreeMap<u32, Verdict>, text: &str) -> Result<(), ListError> {
    let more: More = toml::from_str(text).map_err(|error| ListError(error.to_string()))?;
    more.open.iter().try_for_each(|one| open(verdicts, one, true))
}

/// The number of a call that the list names; `None` for one of another architecture.
fn number(name: &str) -> Result<Option<u32>, ListError> {
    let unknown = || ListError(format!("`{name}` is no known system call"));
    match syscall(name).ok_or_else(unknown)? {
        Number::Here(number) => u32::try_from(number).map(Some).map_err(|_| unknown()),
        Number::Elsewhere => Ok(None),
    }
}

/// Opens what the list names otherwise; looks at it alone where it is not `meant`.
fn open(verdicts: &mut BTreeMap<u32, Verdict>, more: &Start, meant: bool) -> Result<(), ListError> {
    if more.why.trim().is_empty() {
        return Err(ListError("what is opened has no reason".to_owned()));
    }
    for name in &more.calls {
        let Some(number) = number(name)? else { continue };
        // What is open for a while, or for some, must be closed for the others, and so stand in the rest of the list.
        let Some(verdict) = verdicts.get_mut(&number) else {
            return Err(ListError(format!("`{name}` is opened and not named otherwise")));
        };
        let alternatives = conditions(&more.alternatives)?;
        if meant {
            *verdict = verdict.opened(alternatives);
        }
    }
    Ok(())
}

fn conditions(alternatives: &[Vec<String>]) -> Result<Vec<Vec<Condition>>, ListError> {
    let read = alternatives.iter().map(|all| all.iter().map(|one| condition(one)).collect());
    let read: Vec<Vec<Condition>> = read.collect::<Result<_, _>>()?;
    if read.iter().any(Vec::is_empty) {
        return Err(ListError("there is an alternative without a condition".to_owned()));
    }
    Ok(read)
}

impl Verdict {
    /// The same with more alternatives; without any, allowed.
    fn opened(&self, more: Vec<Vec<Condition>>) -> Self {
        match (self, more.is_empty()) {
            (_, true) | (Self::Allow, false) => Self::Allow,
            (Self::Refuse(_), false) => Self::When(more),
            (Self::When(alternatives), false) => Self::When([alternatives.clone(), more].concat()),
        }
    }
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
const JUMP: u16 = 0x05; // BPF_JMP | BPF_JA
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

/// One verdict for a run of numbers that begins here and ends where the next one begins.
type Run<'a> = (u32, Option<&'a Verdict>);

/// The whole line of numbers, cut where the verdict changes; `None` is unknown.
fn runs(verdicts: &BTreeMap<u32, Verdict>) -> Vec<Run<'_>> {
    let mut runs: Vec<Run<'_>> = vec![(0, None)];
    let mut add = |from: u32, verdict| match runs.last_mut() {
        Some(last) if last.0 == from => last.1 = verdict,
        Some(last) if last.1 == verdict => {}
        Some(_) | None => runs.push((from, verdict)),
    };
    for (number, verdict) in verdicts {
        add(*number, Some(verdict));
        // Overwritten when the next number has a verdict of its own.
        add(number.saturating_add(1), None);
    }
    // Two neighbours may have become alike by that.
    runs.dedup_by(|next, last| next.1 == last.1);
    runs
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
    program.extend(tree(&runs(verdicts))?);
    if program.len() > MAX_INSTRUCTIONS {
        return Err(ListError(format!("{} instructions are too many", program.len())));
    }
    Ok(program)
}

/// A balanced tree of comparisons. The kernel tries a filter on every number when it is put on, which would take a
/// linear chain several times as long.
fn tree(runs: &[Run<'_>]) -> Result<Vec<sock_filter>, ListError> {
    match runs {
        [] => Ok(vec![error(libc::ENOSYS)]),
        [(_, verdict)] => match verdict {
            None => Ok(vec![error(libc::ENOSYS)]),
            Some(Verdict::Allow) => Ok(vec![allow()]),
            Some(Verdict::Refuse(by)) => Ok(vec![error(by.errno())]),
            Some(Verdict::When(alternatives)) => alternatives_block(alternatives),
        },
        _ => {
            let (left, right) = runs.split_at(runs.len() / 2);
            let from = right.first().map_or(0, |run| run.0);
            let (left, right) = (tree(left)?, tree(right)?);
            let over = u32::try_from(left.len()).map_err(|_| ListError("the tree is too large".to_owned()))?;
            // The long jump, because a conditional one reaches 255 steps only.
            let mut node = vec![step(JUMP_GE, 0, 1, from), step(JUMP, 0, 0, over)];
            node.extend(left);
            node.extend(right);
            Ok(node)
        }
    }
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
