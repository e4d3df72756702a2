//! The only unsafe code of this crate: what the kernel offers and no safe wrapper does. Nothing else belongs here.
#![allow(unsafe_code, reason = "each call says why it is sound")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has every descriptor from 3 upwards closed on exec, so that nothing the supervisor was started with reaches a
/// daemon.
///
/// # Errors
/// Where the kernel is older than 5.11.
pub fn keep_inherited_descriptors_to_ourselves() -> io::Result<()> {
    // SAFETY: with CLOSE_RANGE_CLOEXEC nothing is closed; only a flag of open descriptors is set.
    let done = unsafe { libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC.cast_signed()) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes over a descriptor that the process that started us left open under this number.
///
/// # Errors
/// When there is none, or it is one of the standard three, which belong to the standard library.
///
/// # Safety contract
/// Called once, before anything else opens a descriptor: then nothing in this process can own it yet.
pub fn take_inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_GETFD only reads, and fails on what is not open.
    if number < 3 || unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("descriptor {number} was not handed to us")));
    }
    // SAFETY: it is open, and by this function's contract nobody else in this process owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Has the child of `command` become `program`, by its descriptor, with `name` and at most one `argument`, and at most one
/// `variable`, as `NAME=value`, in its environment: so that its own user need not be able to walk to where the program
/// lies. What `command` itself names is never executed, and what it says of the environment counts for nothing.
pub fn become_program(
    command: &mut Command,
    program: OwnedFd,
    name: CString,
    argument: Option<&'static CStr>,
    variable: Option<CString>,
) {
    let exec = move || {
        let argv = [name.as_ptr(), argument.map_or(std::ptr::null(), CStr::as_ptr), std::ptr::null()];
        let envp = [variable.as_ref().map_or(std::ptr::null(), |variable| variable.as_ptr()), std::ptr::null()];
        // SAFETY: the path is an empty text, both arrays end in a null pointer, and what they point to lives in
        // this closure. Returns only when nothing was executed.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                program.as_raw_fd(),
                c"".as_ptr(),
                argv.as_ptr(),
                envp.as_ptr(),
                libc::AT_EMPTY_PATH,
            );
        }
        Err(io::Error::last_os_error())
    };
    // SAFETY: between fork and exec the closure makes one system call on memory prepared before, and allocates nothing.
    unsafe {
        command.pre_exec(exec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_not_handed_over_is_an_error() {
        for number in [-1, 0, 1, 2, 1_000_000] {
            assert!(take_inherited(number).is_err(), "{number}");
        }
    }
}
