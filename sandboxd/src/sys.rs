//! The only unsafe code of this crate: system calls that no safe crate offers. Each function
//! does exactly one, and none keeps a pointer beyond its call.
#![allow(unsafe_code, reason = "clone, execveat, mount_setattr, wait4 and close_range have no safe wrapper")]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// The child's side or the parent's side of a [`clone_process`].
#[derive(Debug)]
pub enum Cloned {
    /// This is the new process.
    Child,
    /// This is the old one; the new one has this number and this descriptor.
    Parent {
        /// Its number, seen from here.
        pid: i32,
        /// Becomes readable when it ends.
        pidfd: OwnedFd,
    },
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Forks, with the new process in the namespaces of `flags` (`CLONE_NEW…` only), and in the control group whose folder is
/// `group`.
///
/// # Errors
/// What the kernel says; `EPERM` where unprivileged user namespaces are switched off.
pub fn clone_process(flags: libc::c_int, group: Option<BorrowedFd<'_>>) -> io::Result<Cloned> {
    let mut pidfd: libc::c_int = -1;
    if let Some(group) = group {
        return clone_into(flags, group, &mut pidfd);
    }
    let all = libc::c_ulong::from((flags | libc::CLONE_PIDFD | libc::SIGCHLD).unsigned_abs());
    // SAFETY: with a null stack and no sharing flag this is `fork`: the child gets a copy of this
    // process's memory. The process has one thread (checked at start), so no lock of the allocator or
    // of a library is held by a thread that does not exist in the child. The kernel writes one `int`
    // to `pidfd`, which lives until the call returns. The order of the first three arguments is the
    // same on every architecture this is built for.
    let pid = check(unsafe {
        libc::syscall(
            libc::SYS_clone,
            all,
            std::ptr::null_mut::<libc::c_void>(),
            &raw mut pidfd,
            std::ptr::null_mut::<libc::c_int>(),
            std::ptr::null_mut::<libc::c_void>(),
        )
    })?;
    cloned(pid, pidfd)
}

/// The same by the younger call, the only one that knows control groups. To begin in a group costs nothing; to be moved into
/// one later makes every fork of the machine wait.
fn clone_into(flags: libc::c_int, group: BorrowedFd<'_>, pidfd: &mut libc::c_int) -> io::Result<Cloned> {
    const INTO_GROUP: u64 = 0x2_0000_0000; // CLONE_INTO_CGROUP
    // SAFETY: all zeroes is a valid `clone_args`, which is plain numbers.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.flags = u64::from((flags | libc::CLONE_PIDFD).unsigned_abs()) | INTO_GROUP;
    arguments.pidfd = std::ptr::from_mut(pidfd) as u64;
    arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    arguments.cgroup = u64::from(group.as_raw_fd().unsigned_abs());
    // SAFETY: as above; without a stack the child goes on with a copy of this one.
    let pid = check(unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) })?;
    cloned(pid, *pidfd)
}

/// Which side this is.
fn cloned(pid: libc::c_long, pidfd: libc::c_int) -> io::Result<Cloned> {
    if pid == 0 {
        return Ok(Cloned::Child);
    }
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    // SAFETY: the kernel has just put a new descriptor there, which nobody else owns.
    Ok(Cloned::Parent { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

/// Replaces this process by the program behind `fd`, which must be closed by the exec.
/// Returns only when that went wrong.
#[must_use]
pub fn exec_fd(fd: BorrowedFd<'_>, argv: &[CString], env: &[CString]) -> io::Error {
    let pointers = |texts: &[CString]| {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect::<Vec<*const libc::c_char>>()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    // SAFETY: both arrays end in a null pointer and point to texts that outlive the call.
    unsafe {
        libc::syscall(
            libc::SYS_execveat,
            fd.as_raw_fd(),
            c"".as_ptr(),
            argv.as_ptr(),
            env.as_ptr(),
            libc::AT_EMPTY_PATH,
        );
    }
    io::Error::last_os_error()
}

/// Sets attributes (`MOUNT_ATTR_…`) of the mount behind `mount`, and nothing below it.
///
/// # Errors
/// What the kernel says.
pub fn set_mount_attributes(mount: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is a text of length zero that ends in NUL; the kernel reads `attr`, whose size is given.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    })?;
    Ok(())
}

/// Closes every descriptor from `first` to `last`, both included.
///
/// # Errors
/// What the kernel says.
pub fn close_range(first: u32, last: u32) -> io::Result<()> {
    // SAFETY: only called right before exec in a fresh child, which uses none of the closed
    // descriptors again: no `OwnedFd` of it is dropped afterwards.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })?;
    Ok(())
}

/// Makes descriptor `number` name what `fd` names, kept across exec or not.
///
/// # Errors
/// What the kernel says.
pub fn place_fd(fd: BorrowedFd<'_>, number: RawFd, keep: bool) -> io::Result<()> {
    if fd.as_raw_fd() == number {
        // SAFETY: changes a flag of an open descriptor.
        check(libc::c_long::from(unsafe {
            libc::fcntl(number, libc::F_SETFD, if keep { 0 } else { libc::FD_CLOEXEC })
        }))?;
        return Ok(());
    }
    // SAFETY: only called in a fresh child on numbers that no `OwnedFd` it still uses has.
    check(libc::c_long::from(unsafe { libc::dup3(fd.as_raw_fd(), number, if keep { 0 } else { libc::O_CLOEXEC }) }))?;
    Ok(())
}

/// A descriptor that [`place_fd`] has put at a number, for the rest of the process.
#[must_use]
pub fn placed(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: only called for numbers at which `place_fd` has put a descriptor that nobody closes
    // before the process ends or executes.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Leaves the process at once: no destructor, no exit handler, no flush.
pub fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Moves this process into a new user namespace.
///
/// # Errors
/// What the kernel says.
pub fn unshare_user() -> io::Result<()> {
    // SAFETY: the descriptor table is not unshared, which is what the function warns of.
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWUSER) }?)
}

/// Moves this process into a new mount namespace.
///
/// # Errors
/// What the kernel says.
pub fn unshare_mounts() -> io::Result<()> {
    // SAFETY: as [`unshare_user`].
    Ok(unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }?)
}

/// Landlock's version on this kernel; `None` without it.
#[must_use]
pub fn landlock_abi() -> Option<u32> {
    const VERSION: libc::c_ulong = 1; // LANDLOCK_CREATE_RULESET_VERSION
    // SAFETY: with a null attribute of size 0 and this flag the call reads no memory and makes nothing.
    let answer =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0_usize, VERSION) };
    u32::try_from(answer).ok()
}

/// How a process ended and what it has used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEnd {
    /// The exit code, when it exited by itself.
    pub code: Option<i32>,
    /// The signal, when one ended it.
    pub signal: Option<i32>,
    /// Processor time, user and system, in microseconds.
    pub cpu_us: u64,
    /// Largest resident set in KiB.
    pub peak_kib: u64,
    /// Bytes it has caused to be written to disks, in whole pages.
    pub written_bytes: u64,
}

/// Collects an ended child; `None` when it still runs.
///
/// # Errors
/// What the kernel says.
pub fn collect(pid: i32) -> io::Result<Option<ProcessEnd>> {
    let mut status = 0;
    // SAFETY: all zeroes is a valid `rusage`, which is plain numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes to two variables that outlive the call.
    let answer = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
    if check(libc::c_long::from(answer))? == 0 {
        return Ok(None);
    }
    let micros = |time: libc::timeval| {
        u64::try_from(time.tv_sec)
            .unwrap_or(0)
            .saturating_mul(1_000_000)
            .saturating_add(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    Ok(Some(ProcessEnd {
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        cpu_us: micros(usage.ru_utime).saturating_add(micros(usage.ru_stime)),
        peak_kib: u64::try_from(usage.ru_maxrss).unwrap_or(0),
        // Counted in blocks of 512 bytes, whatever the disk's are (getrusage(2)).
        written_bytes: u64::try_from(usage.ru_oublock).unwrap_or(0).saturating_mul(512),
    }))
}

/// The processor time that a process, which has not been collected, has used so far, in microseconds.
///
/// # Errors
/// When it is gone.
pub fn cpu_us(pid: i32) -> io::Result<u64> {
    // A clock's number is made of the process's (clock_getcpuclockid(3)); 2 is its exact processor time.
    let clock: libc::clockid_t = (!pid << 3) | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to one variable that outlives the call.
    check(libc::c_long::from(unsafe { libc::clock_gettime(clock, &raw mut time) }))?;
    let part = |number: libc::c_long| u64::try_from(number).unwrap_or(0);
    Ok(part(time.tv_sec).saturating_mul(1_000_000).saturating_add(part(time.tv_nsec) / 1_000))
}

/// Gives memory that is free inside this process back to the kernel. A result of some megabytes is copied
/// a few times on its way, and the allocator would keep all of that for the life of the process.
pub fn give_back_memory() {
    // SAFETY: takes no pointer; it only moves pages that the allocator knows to be free.
    unsafe {
        libc::malloc_trim(0);
    }
}
