//! Which answers were said: a small file that was opened before the lock. The chronicle knows what was answered, this file
//! what has also reached Telegram; between the two lies the only moment in which a restart has to say something again.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// The file's name in the door's folder.
pub const FILE: &str = "telegram.sent";
/// How many answers are remembered: as many as can be under way at once.
pub const SLOTS: usize = super::sequence::MAX_OPEN;
const SLOT: usize = size_of::<u64>();

/// See the module.
#[derive(Debug)]
pub struct SentLog {
    file: File,
    slots: RefCell<[u64; SLOTS]>,
}

impl SentLog {
    /// Opens the file, empty when there was none.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(folder.join(FILE), flags, Mode::from(0o600))?);
        let mut bytes = [0_u8; SLOTS * SLOT];
        let mut read = 0;
        while read < bytes.len() {
            match rustix::io::pread(&file, &mut bytes[read..], read as u64)? {
                0 => break,
                some => read += some,
            }
        }
        let mut slots = [0; SLOTS];
        for (slot, bytes) in slots.iter_mut().zip(bytes.as_chunks::<SLOT>().0) {
            *slot = u64::from_le_bytes(*bytes);
        }
        Ok(Self { file, slots: RefCell::new(slots) })
    }

    fn at(update: u64) -> usize {
        usize::try_from(update % SLOTS as u64).unwrap_or(0)
    }

    /// Whether the answer to this update was said.
    #[must_use]
    pub fn has(&self, update: u64) -> bool {
        self.slots.borrow()[Self::at(update)] == update
    }

    /// It was. Not synced: a process that is killed leaves it behind, and a power cut at worst has it said again.
    pub fn note(&self, update: u64) {
        let at = Self::at(update);
        self.slots.borrow_mut()[at] = update;
        if let Err(error) = rustix::io::pwrite(&self.file, &update.to_le_bytes(), (at * SLOT) as u64) {
            tracing::warn!(%error, "that an answer was said could not be noted");
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sent_marks_survive_a_restart_of_the_door() {
        let folder = tempfile::tempdir().unwrap();
        let sent = SentLog::open(folder.path()).unwrap();
        assert!(!sent.has(70) && !sent.has(6));
        sent.note(70);
        sent.note(3);
        let again = SentLog::open(folder.path()).unwrap();
        assert!(again.has(70) && again.has(3) && !again.has(6) && !again.has(71));
        again.note(70 + SLOTS as u64);
        assert!(!SentLog::open(folder.path()).unwrap().has(70));
        std::fs::write(folder.path().join(FILE), b"torn").unwrap();
        assert!(!SentLog::open(folder.path()).unwrap().has(70));
    }
}
