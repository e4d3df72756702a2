//! A process that waits for a call. It never outlives its owner: dropping it ends it.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Signal, WaitId, WaitIdOptions};

use crate::plan::Limits;
use crate::process::launch::Launched;

/// The longest report that is read.
const MAX_WORDS: usize = 512;

/// The most bytes that are read of what a process holds: some twenty short lines.
const MAX_ROLLUP: usize = 4096;

/// See the head of this file.
#[derive(Debug)]
pub struct Idle(Option<Launched>);

impl Idle {
    /// Takes care of a process.
    #[must_use]
    pub const fn new(launched: Launched) -> Self {
        Self(Some(launched))
    }

    /// Hands it over, if it still lives.
    #[must_use]
    pub fn take(self) -> Option<Launched> {
        if self.is_alive() { self.hand_over() } else { None }
    }

    /// Hands it over, however it is.
    #[must_use]
    pub fn hand_over(mut self) -> Option<Launched> {
        self.0.take()
    }

    /// Whether it still lives.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let Some(launched) = &self.0 else { return false };
        // Looks, and leaves the end to be collected by its owner.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(rustix::process::waitid(WaitId::PidFd(launched.pidfd.as_fd()), options), Ok(None))
    }

    /// Its share of the memory that it holds, in KiB: what it has alone, and of what several have its part. `None` where the kernel
    /// does not tell, or when it has ended.
    #[must_use]
    pub fn memory_kib(&self) -> Option<u64> {
        let launched = self.0.as_ref()?;
        let rollup = rustix::fs::open(
            format!("/proc/{}/smaps_rollup", launched.pid),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        );
        let mut text = [0; MAX_ROLLUP];
        let length = rustix::io::read(rollup.ok()?, &mut text).ok()?;
        // The number is that process's as long as it was not collected.
        if self.is_alive() { share(&String::from_utf8_lossy(text.get(..length)?)) } else { None }
    }

    /// Ends it, and does not wait for that.
    pub fn end(&self) {
        if let Some(launched) = &self.0 {
            // It can only be gone already.
            let _ = rustix::process::pidfd_send_signal(&launched.pidfd, Signal::KILL);
        }
    }

    /// Bounds its control group, where it has one, by what its call may have.
    ///
    /// # Errors
    /// When it cannot be; it must not run then.
    pub fn limit(&self, limits: &Limits) -> Result<(), String> {
        let group = self.0.as_ref().and_then(|launched| launched.group.as_ref());
        group
            .map_or(Ok(()), |group| group.limit(limits))
            .map_err(|errno| format!("bounding its control group: {errno}"))
    }

    /// The channel to it.
    ///
    /// # Errors
    /// When it was handed over.
    pub fn channel(&self) -> Result<BorrowedFd<'_>, String> {
        self.0.as_ref().map(|launched| launched.channel.as_fd()).ok_or_else(|| "the process was handed over".to_owned())
    }

    /// What it reported before its end.
    #[must_use]
    pub fn last_words(&self) -> String {
        let Some(launched) = &self.0 else { return String::new() };
        let mut words = Vec::new();
        for fd in [launched.fault.as_fd(), launched.log.as_fd()] {
            let mut piece = [0; MAX_WORDS];
            let length = rustix::io::read(fd, &mut piece).unwrap_or(0);
            words.extend_from_slice(piece.get(..length).unwrap_or_default());
        }
        String::from_utf8_lossy(&words).trim().to_owned()
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.end();
        if let Some(launched) = &self.0 {
            let _ = rustix::process::waitid(WaitId::PidFd(launched.pidfd.as_fd()), WaitIdOptions::EXITED);
        }
    }
}

/// `Pss:        1234 kB`, of the text of `smaps_rollup`.
fn share(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_share_is_read_and_nothing_is_guessed() {
        let text = "7f-8f ---p 0 00:00 0 [rollup]\nRss:   9000 kB\nPss:    1234 kB\nPss_Dirty:   7 kB\n";
        assert_eq!(share(text), Some(1234));
        for text in ["", "Pss_Dirty: 7 kB\n", "Pss: many kB\n", "Pss: 7\n"] {
            assert_eq!(share(text), None, "{text}");
        }
    }
}
