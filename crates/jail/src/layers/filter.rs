//! From a profile to programs for seccomp. Whatever is not granted kills the
//! process; nothing here may ever turn an unknown call into an allowed one.
//!
//! The kernel runs every filter of a process and takes the strictest answer. So one
//! program kills what is neither granted nor refused, and one more for each error
//! number turns the refused calls into that error. Calls of another architecture
//! (also x32) match nothing and kill.

use std::collections::{BTreeMap, BTreeSet};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use crate::error::JailError;
use crate::profile::condition::Check;
use crate::profile::names::{self, Number};
use crate::profile::{Call, Errno, Profile};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Compiles the programs, in the order in which they are installed. The killing one
/// is last, because installing the others needs a call that it forbids.
pub(crate) fn programs(profile: &Profile, pid: u32) -> Result<Vec<BpfProgram>, JailError> {
    compile(profile, pid).map_err(|error| JailError::Profile {
        role: profile.role.clone(),
        what: format!("its filter cannot be compiled: {error}"),
    })
}

fn compile(profile: &Profile, pid: u32) -> Result<Vec<BpfProgram>, seccompiler::BackendError> {
    let mut programs = Vec::new();
    let errors: BTreeSet<Errno> = errors(profile);
    let for_assertions = for_assertions();
    for errno in errors {
        let mut rules = refused(profile, Some(errno));
        for call in profile.calls.iter().filter(|call| call.otherwise == Some(errno)) {
            if let Number::Here(number) = call.number {
                rules.insert(number, vec![Check::none_of(&checks(call, for_assertions.as_ref()), pid)?]);
            }
        }
        programs.push(program(rules, SeccompAction::Allow, SeccompAction::Errno(errno.number()))?);
    }
    let mut known = refused(profile, None);
    for call in &profile.calls {
        if let Number::Here(number) = call.number {
            // What satisfies no check of it is answered by another program; here it is known.
            let checks = if call.otherwise.is_some() { Vec::new() } else { checks(call, for_assertions.as_ref()) };
            known.insert(number, checks.iter().map(|check| check.rule(pid)).collect::<Result<_, _>>()?);
        }
    }
    programs.push(program(known, SeccompAction::KillProcess, SeccompAction::Allow)?);
    Ok(programs)
}

/// The checks of a call.
fn checks<'a>(call: &'a Call, for_assertions: Option<&'a Check>) -> Vec<&'a Check> {
    let more = for_assertions.filter(|_| call.name == "fcntl" && !call.checks.is_empty());
    call.checks.iter().chain(more).collect()
}

/// What a build with assertions needs beside its profile: the standard library then asks for the flags of each
/// descriptor that it is about to close. A release has no such rule.
fn for_assertions() -> Option<Check> {
    Check::parse("low(arg1) == F_GETFD").ok().filter(|_| cfg!(debug_assertions))
}

fn errors(profile: &Profile) -> BTreeSet<Errno> {
    let otherwise = profile.calls.iter().filter_map(|call| call.otherwise);
    profile.refuse.iter().map(|refusal| refusal.errno).chain(profile.unnamed).chain(otherwise).collect()
}

/// The calls that are answered with this error, or with any.
fn refused(profile: &Profile, errno: Option<Errno>) -> Rules {
    let asked = |of: Errno| errno.is_none_or(|errno| errno == of);
    let judged: BTreeSet<i64> = judged(profile).collect();
    let unnamed = profile.unnamed.filter(|errno| asked(*errno)).map(|_| names::unnamed(&judged));
    let named =
        profile.refuse.iter().filter(|refusal| asked(refusal.errno)).filter_map(|refusal| match refusal.number {
            Number::Here(number) => Some(number),
            Number::Elsewhere => None,
        });
    named.chain(unnamed.into_iter().flatten()).map(|number| (number, Vec::new())).collect()
}

/// The numbers of the calls that the profile names.
fn judged(profile: &Profile) -> impl Iterator<Item = i64> {
    let named = profile.calls.iter().map(|call| call.number).chain(profile.refuse.iter().map(|refusal| refusal.number));
    named.filter_map(|number| match number {
        Number::Here(number) => Some(number),
        Number::Elsewhere => None,
    })
}

fn program(
    rules: Rules,
    otherwise: SeccompAction,
    on_match: SeccompAction,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, otherwise, on_match, arch)?.try_into()
}

/// Installs the programs on all threads of the process.
pub(crate) fn install(programs: &[BpfProgram]) -> Result<(), JailError> {
    for program in programs {
        seccompiler::apply_filter_all_threads(program)
            .map_err(|error| JailError::Apply { what: "seccomp", why: error.to_string() })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::profile::ROLES;

    #[test]
    fn every_profile_compiles_into_one_program_and_one_for_each_error() {
        for role in ROLES {
            let profile = Profile::load(role).unwrap();
            assert_eq!(programs(&profile, 1).unwrap().len(), errors(&profile).len() + 1, "{role}");
        }
    }

    #[test]
    fn no_program_is_longer_than_the_kernel_takes() {
        const LONGEST: usize = 4096; // BPF_MAXINSNS
        for role in ROLES {
            for program in programs(&Profile::load(role).unwrap(), 1).unwrap() {
                assert!(program.len() <= LONGEST, "{role}");
            }
        }
    }
}
