//! Constants of the kernel's interface by name, for the checks of the profiles; only
//! those that a profile uses, and never a number typed by hand.

/// The value of a constant in an argument check, or `None` for an unknown name.
/// `SELF` (this process) is not here: it is known only when the lock is applied.
#[rustfmt::skip]
pub(crate) fn constant(name: &str) -> Option<u64> {
    let value: i64 = match name {
        "PROT_EXEC" => libc::PROT_EXEC.into(),
        "FIONBIO" => return Some(libc::FIONBIO),
        "FIOCLEX" => return Some(libc::FIOCLEX),
        "TCGETS" => return Some(libc::TCGETS),
        "TIOCGWINSZ" => return Some(libc::TIOCGWINSZ),
        "F_DUPFD" => libc::F_DUPFD.into(),
        "F_DUPFD_CLOEXEC" => libc::F_DUPFD_CLOEXEC.into(),
        "F_GETFD" => libc::F_GETFD.into(),
        "F_SETFD" => libc::F_SETFD.into(),
        "F_GETFL" => libc::F_GETFL.into(),
        "F_SETFL" => libc::F_SETFL.into(),
        "F_GETLK" => libc::F_GETLK.into(),
        "F_SETLK" => libc::F_SETLK.into(),
        "F_SETLKW" => libc::F_SETLKW.into(),
        "F_ADD_SEALS" => libc::F_ADD_SEALS.into(),
        "F_GET_SEALS" => libc::F_GET_SEALS.into(),
        "PR_GET_DUMPABLE" => libc::PR_GET_DUMPABLE.into(),
        "SIGABRT" => libc::SIGABRT.into(),
        "AF_UNIX" => libc::AF_UNIX.into(),
        "AF_INET" => libc::AF_INET.into(),
        "AF_INET6" => libc::AF_INET6.into(),
        "SOCK_STREAM" => libc::SOCK_STREAM.into(),
        _ => return None,
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_has_the_kernels_value_and_an_unknown_name_has_none() {
        assert_eq!(constant("PROT_EXEC"), Some(4));
        assert_eq!(constant("PROT_COFFEE"), None);
    }
}
