//! What nursery and helpers are left with. A helper has less than the nursery: no file, no process, and where the kernel
//! knows ports only those of its call. The addresses it may dial no layer of the kernel knows: that is
//! [`address`](crate::address)'s, in a process that has nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::{
    SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition, SeccompFilter,
    SeccompRule as Rule, TargetArch,
};

/// Every right that is known; the kernel enforces those it knows.
const KNOWN: ABI = ABI::V9;
/// Descriptors of one process: a call's connections twice, and what a runtime needs.
const OPEN_FILES: u64 = 128;

/// Which process locks itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage<'a> {
    /// The nursery, which reads where the servers of names are.
    Nursery {
        /// The file, without links.
        resolv_conf: &'a Path,
    },
    /// A helper, on top of what it has from the nursery.
    Helper {
        /// The ports that are dialled.
        ports: BTreeSet<u16>,
    },
}

/// Locks this process, which must have one thread.
///
/// # Errors
/// In a sentence; the process must then end.
pub fn apply(stage: Stage<'_>, without_landlock: bool) -> Result<(), String> {
    match stage {
        Stage::Nursery { resolv_conf } => {
            give_up().map_err(|errno| format!("the limits of the egress helper: {errno}"))?;
            fence(without_landlock, nursery_fence(resolv_conf))?;
            filter(allowed(), SeccompAction::KillProcess, SeccompAction::Allow)
        }
        Stage::Helper { ports } => {
            fence(without_landlock, helper_fence(&ports))?;
            filter(taken_from_helpers(), SeccompAction::Allow, SeccompAction::KillProcess)
        }
    }
}

fn give_up() -> rustix::io::Result<()> {
    for (resource, value) in [(Resource::Core, 0), (Resource::Nofile, OPEN_FILES), (Resource::Fsize, 0)] {
        rustix::process::setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
    rustix::thread::set_no_new_privs(true)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

type Made = Result<RulesetCreated, landlock::RulesetError>;

fn fence(without_landlock: bool, made: Made) -> Result<(), String> {
    let status = made.and_then(RulesetCreated::restrict_self).map_err(|error| format!("Landlock: {error}"))?;
    if status.ruleset == RulesetStatus::NotEnforced && !without_landlock {
        return Err("this kernel has no Landlock, which the egress helper needs".to_owned());
    }
    Ok(())
}

/// It reads below `/etc` and where the file about servers of names really lies, which is replaced as a whole when the
/// network changes. It never listens to an executor, so that nobody can ask it for anything else there.
fn nursery_fence(resolv_conf: &Path) -> Made {
    let folders: BTreeSet<&Path> = [Some(Path::new("/etc")), resolv_conf.parent()].into_iter().flatten().collect();
    let mut ruleset =
        Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?.create()?;
    for folder in folders {
        // One that is not there cannot be read either.
        if let Ok(fd) = PathFd::new(folder) {
            ruleset = ruleset.add_rule(PathBeneath::new(fd, AccessFs::ReadFile | AccessFs::ReadDir))?;
        }
    }
    Ok(ruleset)
}

fn helper_fence(ports: &BTreeSet<u16>) -> Made {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .create()?;
    ports.iter().try_fold(ruleset, |ruleset, port| ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)))
}

type Rules = BTreeMap<i64, Vec<Rule>>;

fn filter(rules: Result<Rules, String>, otherwise: SeccompAction, on_match: SeccompAction) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| format!("the egress helper's system call filter: {error}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| said(&error))?;
    let filter = SeccompFilter::new(rules?, otherwise, on_match, arch).map_err(|error| said(&error))?;
    let program: seccompiler::BpfProgram =
        filter.try_into().map_err(|error: seccompiler::BackendError| said(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| said(&error))
}

/// What nursery and helpers may call.
const CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_recvmsg, "orders, with their descriptors"),
    (libc::SYS_sendmsg, "answers of servers of names are asked for"),
    (libc::SYS_sendto, "reports; bytes that are passed on"),
    (libc::SYS_recvfrom, "bytes that are passed on"),
    (libc::SYS_read, "bytes that are passed on; the file about servers of names"),
    (libc::SYS_write, "the same; a line of the log"),
    (libc::SYS_readv, "the same"),
    (libc::SYS_writev, "the same"),
    (libc::SYS_shutdown, "one direction is done"),
    (libc::SYS_close, "done with"),
    (libc::SYS_connect, "the vetted address"),
    (libc::SYS_bind, "a port of its own to ask a server of names from"),
    (libc::SYS_getsockname, "is the other end this very machine?"),
    (libc::SYS_getpeername, "which address was dialled"),
    (libc::SYS_getsockopt, "did the connection come about?"),
    (libc::SYS_setsockopt, "small requests go at once"),
    (libc::SYS_openat, "the file about servers of names; a helper has it no more"),
    (libc::SYS_statx, "the size of that file"),
    (libc::SYS_fstat, "the same"),
    (libc::SYS_newfstatat, "the same"),
    (libc::SYS_lseek, "the same"),
    (libc::SYS_ppoll, "waiting"),
    (libc::SYS_epoll_create1, "the loop of a helper"),
    (libc::SYS_epoll_pwait, "waiting"),
    (libc::SYS_epoll_ctl, "what it waits for"),
    (libc::SYS_eventfd2, "the loop of a helper"),
    (libc::SYS_clone, "a helper is forked; it has it no more"),
    (libc::SYS_set_robust_list, "what the C library does after a fork"),
    (libc::SYS_wait4, "helpers that have ended"),
    (libc::SYS_waitid, "the same"),
    (libc::SYS_getpid, "who am I"),
    (libc::SYS_gettid, "which thread"),
    (libc::SYS_prctl, "a helper dies with the nursery, and may gain nothing"),
    (libc::SYS_seccomp, "a helper's own filter"),
    (libc::SYS_landlock_create_ruleset, "a helper's own fence"),
    (libc::SYS_landlock_add_rule, "the same"),
    (libc::SYS_landlock_restrict_self, "the same"),
    (libc::SYS_munmap, "memory given back"),
    (libc::SYS_mremap, "a large buffer grows"),
    (libc::SYS_madvise, "memory given back"),
    (libc::SYS_brk, "the allocator"),
    (libc::SYS_futex, "locks within the process"),
    (libc::SYS_getrandom, "ids of questions, keys of hash tables"),
    (libc::SYS_clock_gettime, "the clock"),
    (libc::SYS_clock_nanosleep, "waiting"),
    (libc::SYS_rt_sigprocmask, "what the C library does around a fork"),
    (libc::SYS_rt_sigaction, "the same"),
    (libc::SYS_rt_sigreturn, "the same"),
    (libc::SYS_sigaltstack, "the guard page is given back at the end"),
    (libc::SYS_sched_yield, "give way"),
    (libc::SYS_sched_getaffinity, "how many processors"),
    (libc::SYS_restart_syscall, "a wait goes on after a stop"),
    (libc::SYS_exit, "the end"),
    (libc::SYS_exit_group, "the end"),
];

/// The same where an older form exists.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[libc::SYS_poll, libc::SYS_epoll_wait];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

fn word(at: u8, op: Op, value: i32) -> Result<Condition, String> {
    let value = u64::from(value.unsigned_abs());
    Condition::new(at, Len::Dword, op, value).map_err(|error| error.to_string())
}

fn rule(conditions: Vec<Condition>) -> Result<Rule, String> {
    Rule::new(conditions).map_err(|error| error.to_string())
}

fn one_of(at: u8, values: &[i32]) -> Result<Vec<Rule>, String> {
    values.iter().map(|value| rule(vec![word(at, Op::Eq, *value)?])).collect()
}

fn allowed() -> Result<Rules, String> {
    let calls = CALLS.iter().map(|(number, _why)| *number).chain(OLDER.iter().copied());
    let mut rules: Rules = calls.map(|number| (number, Vec::new())).collect();
    // The net and nothing else: no local socket, none of the kernel's own, no raw one.
    let mut sockets = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        for kind in [libc::SOCK_STREAM, libc::SOCK_DGRAM] {
            let plain = Op::MaskedEq(0xf);
            sockets.push(rule(vec![word(0, Op::Eq, family)?, word(1, plain, kind)?])?);
        }
    }
    rules.insert(libc::SYS_socket, sockets);
    // The runtime makes one for itself when any crate of the build listens to signals; a pair reaches nobody else.
    rules.insert(libc::SYS_socketpair, one_of(0, &[libc::AF_UNIX])?);
    // Memory is never code.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![rule(vec![word(2, Op::MaskedEq(u64::from(libc::PROT_EXEC.unsigned_abs())), 0)?])?]);
    }
    let commands = [libc::F_DUPFD_CLOEXEC, libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL];
    rules.insert(libc::SYS_fcntl, one_of(1, &commands)?);
    let fionbio = i32::try_from(libc::FIONBIO).map_err(|error| error.to_string())?;
    rules.insert(libc::SYS_ioctl, one_of(1, &[fionbio])?);
    Ok(rules)
}

/// What only the nursery needs.
fn taken_from_helpers() -> Result<Rules, String> {
    let calls = [
        libc::SYS_clone,
        libc::SYS_openat,
        libc::SYS_socketpair,
        libc::SYS_wait4,
        libc::SYS_waitid,
        libc::SYS_prctl,
        libc::SYS_seccomp,
        libc::SYS_landlock_create_ruleset,
        libc::SYS_landlock_add_rule,
        libc::SYS_landlock_restrict_self,
    ];
    Ok(calls.into_iter().map(|number| (number, Vec::new())).collect())
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
