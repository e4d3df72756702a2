//! How much memory this daemon really costs, readable after the lock; it opens one
//! file before the lock and must never need another.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::error::JailError;

const PATH: &str = "/proc/self/smaps_rollup";

/// Room for the roll-up; the kernel writes about 700 bytes.
const ROOM_BYTES: usize = 4096;

/// An open `/proc/self/smaps_rollup`.
#[derive(Debug)]
pub struct Pss(File);

impl Pss {
    /// Opens the roll-up. Call it before the lock.
    ///
    /// # Errors
    /// [`JailError::Proc`] where `/proc` is missing or hides it.
    pub fn open() -> Result<Self, JailError> {
        File::open(PATH).map(Pss).map_err(|error| proc(error.to_string()))
    }

    /// Proportional set size in KiB, now. One `pread`, no allocation.
    ///
    /// # Errors
    /// [`JailError::Proc`] when it cannot be read or holds no `Pss` line.
    pub fn kib(&self) -> Result<u64, JailError> {
        let mut buffer = [0_u8; ROOM_BYTES];
        let length = self.0.read_at(&mut buffer, 0).map_err(|error| proc(error.to_string()))?;
        parse(buffer.get(..length).unwrap_or_default()).ok_or_else(|| proc("it has no line 'Pss: … kB'".to_owned()))
    }
}

fn parse(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn proc(why: String) -> JailError {
    JailError::Proc { path: PATH, why }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_pss_line_is_found_among_its_relatives() {
        let text = b"55d0-7ffe ---p 00000000 00:00 0   [rollup]\nRss:  4000 kB\nPss:   1234 kB\nPss_Dirty:  9 kB\n";
        assert_eq!(parse(text), Some(1234));
    }

    #[test]
    fn a_text_without_it_gives_nothing() {
        assert_eq!(parse(b"Pss_Dirty: 9 kB\n"), None);
        assert_eq!(parse(b"Pss: many kB\n"), None);
        assert_eq!(parse(b"\xff\xfe"), None);
    }

    #[test]
    fn this_process_uses_some_memory() {
        assert!(Pss::open().unwrap().kib().unwrap() > 0);
    }
}
