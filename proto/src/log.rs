//! Where the daemons write what they log: standard error, which may be a file on a full disk or a pipe that nobody reads any
//! more. A line that cannot be written is counted and dropped; it never ends the process that wrote it.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// The lines that were lost since the start.
static LOST: AtomicU64 = AtomicU64::new(0);
/// How many of those the log has reported.
static TOLD: AtomicU64 = AtomicU64::new(0);

/// How many lines of the log could not be written since this process started.
#[must_use]
pub fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Has any panic end this process, on whatever thread it happens, once the log has it. What ships is compiled to do so; the builds
/// of the tests unwind, as the harness of their tests must, so that their programs need this to end in the same way.
pub fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
}

/// A writer to standard error for `tracing_subscriber`'s `with_writer`.
#[must_use]
pub fn stderr() -> Log<io::Stderr> {
    Log::new(io::stderr(), &LOST, &TOLD)
}

/// A writer that always says that it has written.
#[derive(Debug)]
pub struct Log<W> {
    to: W,
    lost: &'static AtomicU64,
    told: &'static AtomicU64,
}

impl<W: Write> Log<W> {
    const fn new(to: W, lost: &'static AtomicU64, told: &'static AtomicU64) -> Self {
        Self { to, lost, told }
    }

    /// Says, before the first line that fits again, how many are missing.
    fn report_lost(&mut self) -> io::Result<()> {
        let (lost, told) = (self.lost.load(Ordering::Relaxed), self.told.load(Ordering::Relaxed));
        if lost > told {
            // What was lost may have been cut in the middle of a line.
            self.to.write_all(format!("\n{} lines of this log could not be written\n", lost - told).as_bytes())?;
            self.told.store(lost, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl<W: Write> Write for Log<W> {
    /// Writes all of it, or counts it as lost.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.report_lost().and_then(|()| self.to.write_all(bytes)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Standard error is not buffered: what was not written is counted above.
        let _ = self.to.flush();
        Ok(())
    }
}

/// Writes a line for a person to standard error. When nobody can read it, it is lost.
pub fn say(line: &str) {
    let _ = stderr().write(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A file on a disk that has room for so many bytes.
    struct Disk<'a> {
        room: usize,
        held: &'a mut Vec<u8>,
    }

    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.room);
            if fits == 0 {
                return Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error()));
            }
            self.room -= fits;
            self.held.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_log_on_a_full_disk_drops_and_counts_its_lines_and_says_so_later() {
        static LOST: AtomicU64 = AtomicU64::new(0);
        static TOLD: AtomicU64 = AtomicU64::new(0);
        let mut held = Vec::new();
        let mut log = Log::new(Disk { room: 8, held: &mut held }, &LOST, &TOLD);
        for line in ["first\n", "second\n", "third\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        log.flush().unwrap();
        assert_eq!(LOST.load(Ordering::Relaxed), 2);
        log.to.room = 1_000;
        log.write_all(b"fourth\n").unwrap();
        log.write_all(b"fifth\n").unwrap();
        let told = "first\nse\n2 lines of this log could not be written\nfourth\nfifth\n";
        assert_eq!(String::from_utf8(held).unwrap(), told);
    }

    #[test]
    fn a_panic_on_any_thread_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const TOLD: &str = "METNOS_TEST_PANICS";
        if std::env::var_os(TOLD).is_some() {
            abort_on_panic();
            let _ = std::thread::spawn(|| panic!("as it was told")).join();
            return;
        }
        let ended = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "log::tests::a_panic_on_any_thread_ends_the_process"])
            .env(TOLD, "1")
            .output()
            .unwrap();
        assert_eq!(ended.status.signal(), Some(rustix::process::Signal::ABORT.as_raw()));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("as it was told"));
    }
}
