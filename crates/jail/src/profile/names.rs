//! System calls by name, as the profiles and the reviewed list for executors write them, with their numbers on this
//! architecture. The tables are those of the crate `syscalls`, which is generated from the kernel's sources. A name
//! that they do not have cannot be granted.

use std::collections::BTreeSet;
use std::str::FromStr;

use syscalls::{Sysno, aarch64, x86_64};

/// What a name is on the architecture that this was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// A call with this number.
    Here(i64),
    /// A call of x86_64 only; a profile marks it `arch = "x86_64"`.
    Elsewhere,
}

/// The youngest call for which each profile says what becomes of it: `set_mempolicy_home_node`, Linux 5.17. Numbers are
/// the same on all architectures from 424 on.
const YOUNGEST_REVIEWED: i64 = 450;

/// The last number for which a profile says what becomes of calls without a name. The kernel adds about five a year.
const LAST_NUMBER: i64 = 600;

/// The number of a system call; `None` for a name that no architecture has.
#[must_use]
pub fn syscall(name: &str) -> Option<Number> {
    match native(name) {
        Some(call) => Some(Number::Here(i64::from(call.id()))),
        None => x86_64::Sysno::from_str(name).ok().map(|_| Number::Elsewhere),
    }
}

/// The call of that name here. The kernel's table for aarch64 calls `newfstatat` by another name.
fn native(name: &str) -> Option<Sysno> {
    let name = if cfg!(target_arch = "aarch64") && name == NEWFSTATAT.0 { NEWFSTATAT.1 } else { name };
    Sysno::from_str(name).ok()
}

/// One call with two names: that of x86_64, and that of aarch64.
const NEWFSTATAT: (&str, &str) = ("newfstatat", "fstatat");

/// Whether a name exists on x86_64 only.
pub(crate) fn is_x86_64_only(name: &str) -> bool {
    name != NEWFSTATAT.0 && x86_64::Sysno::from_str(name).is_ok() && aarch64::Sysno::from_str(name).is_err()
}

/// Numbers of calls that no profile can have judged: those younger than the reviewed ones, and those without a name.
/// `judged` are the numbers that the profile names all the same.
pub(crate) fn unnamed(judged: &BTreeSet<i64>) -> impl Iterator<Item = i64> {
    let is_named = |number: i64| usize::try_from(number).ok().and_then(Sysno::new).is_some();
    (0..=LAST_NUMBER)
        .filter(move |number| *number > YOUNGEST_REVIEWED || !is_named(*number))
        .filter(move |number| !judged.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_is_that_of_libc() {
        assert_eq!(syscall("read"), Some(Number::Here(libc::SYS_read)));
        assert_eq!(syscall("newfstatat"), Some(Number::Here(libc::SYS_newfstatat)));
        assert_eq!(syscall("landlock_restrict_self"), Some(Number::Here(libc::SYS_landlock_restrict_self)));
    }

    #[test]
    fn unknown_name_has_no_number() {
        assert_eq!(syscall("make_coffee"), None);
        assert_eq!(syscall(""), None);
    }

    #[test]
    fn architecture_specific_name_is_distinguished() {
        for (name, only) in [("open", true), ("fork", true), ("openat", false), ("newfstatat", false)] {
            assert_eq!(is_x86_64_only(name), only, "{name}");
        }
    }

    #[test]
    fn young_call_is_unnamed_unless_the_profile_names_it() {
        let unnamed: BTreeSet<i64> = super::unnamed(&BTreeSet::from([452])).collect();
        assert!(unnamed.contains(&LAST_NUMBER) && unnamed.contains(&451), "nothing says what becomes of them");
        assert!(!unnamed.contains(&452), "the profile does");
        assert!(!unnamed.contains(&libc::SYS_read));
    }
}
