//! What the broker is left with. It keeps the right to mount, which is all that an executor could want of it, so it has nothing
//! else: a dozen system calls, of which none makes a file, a socket or a process. Landlock can take no part of this: one
//! handled right of files would forbid it to mount, and those of ports and signals it has from sandboxd.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition,
    SeccompFilter, SeccompRule as Rule, TargetArch,
};

/// What it may call, and why; any other call ends it.
const CALLS: &[(libc::c_long, &str)] = &[
    (libc::SYS_read, "what it is asked for"),
    (libc::SYS_openat2, "the folder, without following any link"),
    (libc::SYS_fstat, "whether it is one"),
    (libc::SYS_newfstatat, "the same"),
    (libc::SYS_open_tree, "a copy of the mount"),
    (libc::SYS_mount_setattr, "what is taken from it"),
    (libc::SYS_sendmsg, "it is handed over"),
    (libc::SYS_sendto, "or why there is none"),
    (libc::SYS_close, "done with"),
    (libc::SYS_brk, "the allocator"),
    (libc::SYS_munmap, "the same"),
    (libc::SYS_mremap, "the same"),
    (libc::SYS_restart_syscall, "a wait goes on after a stop"),
    (libc::SYS_exit_group, "the end"),
];

/// The filter.
///
/// # Errors
/// In a sentence, why there is none.
pub fn program() -> Result<BpfProgram, String> {
    let said = |error: &dyn std::fmt::Display| format!("the broker's system call filter: {error}");
    let mut rules: BTreeMap<i64, Vec<Rule>> = CALLS.iter().map(|(number, _why)| (*number, Vec::new())).collect();
    let when = |argument, op, value: i32| {
        let value = u64::from(value.unsigned_abs());
        let condition = Condition::new(argument, Len::Dword, op, value)?;
        Rule::new(vec![condition])
    };
    let data = Op::MaskedEq(u64::from(libc::PROT_EXEC.unsigned_abs()));
    rules.insert(libc::SYS_mmap, vec![when(2, data, 0).map_err(|error| said(&error))?]);
    if cfg!(debug_assertions) {
        // The standard library then asks for the flags of each descriptor that it is about to close.
        rules.insert(libc::SYS_fcntl, vec![when(1, Op::Eq, libc::F_GETFD).map_err(|error| said(&error))?]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| said(&error))?;
    let filter = SeccompFilter::new(rules, SeccompAction::KillProcess, SeccompAction::Allow, arch);
    filter.and_then(BpfProgram::try_from).map_err(|error| said(&error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::fd::AsFd;

    use rustix::process::{WaitId, WaitIdOptions};

    use super::*;
    use crate::sys::{self, Cloned};

    /// How a process ends that does `act` with the filter on, or without it. Nothing in it allocates.
    fn end_of(program: Option<&BpfProgram>, act: impl Fn()) -> (Option<i32>, Option<i32>) {
        match sys::clone_process(0, None).unwrap() {
            Cloned::Child => {
                if rustix::thread::set_no_new_privs(true).is_err()
                    || program.is_some_and(|program| seccompiler::apply_filter(program).is_err())
                {
                    sys::exit_now(9);
                }
                act();
                sys::exit_now(0)
            }
            Cloned::Parent { pid: _, pidfd } => {
                let ended =
                    rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED).unwrap().unwrap();
                (ended.exit_status(), ended.terminating_signal())
            }
        }
    }

    #[test]
    fn broker_filter_kills_on_unneeded_syscalls() {
        let filter = program().unwrap();
        let acts: [(&str, fn()); 4] = [
            ("make a socket", || {
                let _ = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::STREAM, None);
            }),
            ("open a file the old way", || {
                let flags = rustix::fs::OFlags::RDONLY;
                let _ = rustix::fs::open(c"/dev/null", flags, rustix::fs::Mode::empty());
            }),
            ("become dumpable", || {
                let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
            }),
            ("signal itself", || {
                let _ = rustix::process::test_kill_process(rustix::process::getpid());
            }),
        ];
        for (what, act) in acts {
            assert_eq!(end_of(Some(&filter), act), (None, Some(libc::SIGSYS)), "{what}");
            assert_eq!(end_of(None, act), (Some(0), None), "{what}, without the filter");
        }
        assert_eq!(end_of(Some(&filter), || ()), (Some(0), None), "it can end");
    }
}
