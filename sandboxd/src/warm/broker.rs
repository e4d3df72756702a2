//! The broker: a small process that has sandboxd's view and the right to mount, and gives out single mounts of it by
//! descriptor. sandboxd itself gave up that right with its lock, and what waits for a call must not see the view
//! (design: sandbox §1). It parses nothing but its own fixed words, and never shows more than it was asked for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use metnos_proto::socket;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Signal, WaitId, WaitIdOptions};
use rustix::thread::{CapabilitySet, CapabilitySets};

use seccompiler::BpfProgram;

use super::line::BrokerLine;
use super::narrow;
use crate::confine::mounts;
use crate::plan::{Mount, MountFlags, MountPurpose};
use crate::sys::{self, Cloned};

/// The longest path that is asked for, in bytes.
const MAX_PATH: usize = 4096;
/// The word's first byte: one bit a flag.
const FLAGS: [u8; 5] = [1, 2, 4, 8, 16];
/// Where the broker's end of the line stands.
const LINE_FD: i32 = 3;

/// sandboxd's end.
#[derive(Debug)]
pub struct Broker {
    line: BrokerLine,
    process: OwnedFd,
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It can only be gone already.
        let _ = rustix::process::pidfd_send_signal(&self.process, Signal::KILL);
        let _ = rustix::process::waitid(WaitId::PidFd(self.process.as_fd()), WaitIdOptions::EXITED);
    }
}

fn byte_of(flags: MountFlags) -> u8 {
    let MountFlags { read_only, no_suid, no_dev, no_exec, no_symfollow } = flags;
    let set = [read_only, no_suid, no_dev, no_exec, no_symfollow];
    FLAGS.iter().zip(set).fold(0, |byte, (bit, set)| if set { byte | bit } else { byte })
}

fn flags_of(byte: u8) -> MountFlags {
    let [read_only, no_suid, no_dev, no_exec, no_symfollow] = FLAGS.map(|bit| byte & bit != 0);
    MountFlags { read_only, no_suid, no_dev, no_exec, no_symfollow }
}

impl Broker {
    /// Starts it, from a process of one thread.
    ///
    /// # Errors
    /// In a sentence, what is missing.
    pub fn start() -> Result<Self, String> {
        let (ours, theirs) = socket::pair().map_err(|error| format!("a line to the broker: {error}"))?;
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
        let filter = narrow::program()?;
        match sys::clone_process(flags, None).map_err(|error| format!("starting the broker: {error}"))? {
            Cloned::Child => {
                let _ = serve(theirs.as_fd(), &filter);
                sys::exit_now(1)
            }
            Cloned::Parent { pid: _, pidfd } => {
                let line = BrokerLine::new(ours).map_err(|error| format!("the line to the broker: {error}"))?;
                Ok(Self { line, process: pidfd })
            }
        }
    }

    /// One mount, attached nowhere yet; `None` for one that need not be there, and is not.
    ///
    /// # Errors
    /// In a sentence, why there is none; after that this broker may be gone.
    pub async fn mount(&self, mount: &Mount) -> Result<Option<OwnedFd>, String> {
        let mut word = vec![byte_of(mount.flags)];
        word.extend_from_slice(mount.source.as_bytes());
        let mut answer = [0; 4];
        let asked = self.line.ask(&[&word], &[], &mut answer).await;
        let packet = asked.map_err(|error| format!("the broker cannot be asked: {error}"))?;
        let error = i32::from_ne_bytes(answer);
        match packet.fds.into_iter().next() {
            Some(made) => Ok(Some(made)),
            None if mount.purpose == MountPurpose::Kept && [libc::ENOENT, libc::ELOOP].contains(&error) => Ok(None),
            None => {
                let error = std::io::Error::from_raw_os_error(error);
                Err(format!("{} cannot be mounted: {error}", mount.source))
            }
        }
    }

    /// Whether it can still be asked.
    #[must_use]
    pub const fn in_step(&self) -> bool {
        self.line.in_step()
    }
}

/// The broker's life.
fn serve(line: BorrowedFd<'_>, filter: &BpfProgram) -> Result<(), Errno> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let away = rustix::io::fcntl_dupfd_cloexec(line, LINE_FD + 1)?;
    sys::place_fd(away.as_fd(), LINE_FD, false).map_err(|_| Errno::BADF)?;
    std::mem::forget(away);
    // What sandboxd has open is none of its business; nothing of it is used again here.
    sys::close_range(LINE_FD.unsigned_abs() + 1, u32::MAX).map_err(|_| Errno::BADF)?;
    let line = sys::placed(LINE_FD);
    rustix::io::ioctl_fionbio(line, false)?;
    let view = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mounting = CapabilitySet::SYS_ADMIN;
    let sets = CapabilitySets { effective: mounting, permitted: mounting, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets)?;
    rustix::thread::set_no_new_privs(true)?;
    seccompiler::apply_filter(filter).map_err(|_| Errno::ACCESS)?;
    let mut word = [0; MAX_PATH + 1];
    loop {
        // One word at a time: the line keeps them apart.
        let length = rustix::io::read(line, &mut word)?;
        let Some((flags, path)) = word.get(..length).and_then(<[u8]>::split_first) else { return Ok(()) };
        let made = std::str::from_utf8(path).map_err(|_| Errno::INVAL);
        let made = made.and_then(|path| make(view.as_fd(), path, flags_of(*flags)));
        let send = |errno: i32, fds: &[BorrowedFd<'_>]| socket::send(line, &errno.to_ne_bytes(), fds);
        let sent = match &made {
            Ok(mount) => send(0, &[mount.as_fd()]),
            Err(errno) => send(errno.raw_os_error(), &[]),
        };
        sent.map_err(|_| Errno::PIPE)?;
    }
}

/// A folder or file of the view, without what may be mounted below it, and with no way to follow a link on it.
fn make(view: BorrowedFd<'_>, path: &str, flags: MountFlags) -> Result<OwnedFd, Errno> {
    let opened = mounts::open_path(view, path)?;
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if !kind.is_dir() && !kind.is_file() {
        return Err(Errno::NOTDIR);
    }
    let tree = mounts::copy_tree(opened.as_fd(), false)?;
    mounts::restrict(tree.as_fd(), flags)?;
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_back_as_sent() {
        for flags in [MountFlags::READ, MountFlags::CODE, MountFlags::DEVICE, MountFlags::WRITE] {
            assert_eq!(flags_of(byte_of(flags)), flags);
        }
    }
}
