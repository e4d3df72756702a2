//! The only unsafe code of this crate: the two questions to the kernel that no safe
//! crate asks for us, and (test builds) the forbidden acts themselves.
#![allow(unsafe_code)]

#[cfg(feature = "attack")]
pub(crate) mod acts;

use std::io;

/// Landlock's ABI version of this kernel, or why there is none.
pub(crate) fn landlock_abi() -> Result<u32, io::Error> {
    const VERSION: libc::c_ulong = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: with a null attribute of size 0 and this flag the call reads no
    // memory and creates nothing; it returns the version or an error.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION) };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Whether the kernel can kill a whole process from a seccomp filter.
pub(crate) fn seccomp_can_kill_process() -> Result<(), io::Error> {
    let action: u32 = libc::SECCOMP_RET_KILL_PROCESS;
    // SAFETY: the call reads four bytes at the pointer, which lives until it returns.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0, &raw const action) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
