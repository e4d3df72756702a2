//! The places at which memory can be made to break, so that tests can show what is left; a daemon has none.

use crate::error::{Error, Result};
pub use crate::step::Step;

/// What happens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process is gone before the step.
    KilledBefore,
    /// The process is gone after the step.
    KilledAfter,
    /// The system answers with this error number.
    Errno(i32),
    /// Only so many bytes are written, then the system answers that the disk is full.
    Short(usize),
    /// Only so many bytes are written, then the process is gone.
    KilledAfterBytes(usize),
}

/// Says what happens at a step.
pub trait Faults {
    /// Asked once each time the step is reached.
    fn at(&mut self, step: Step) -> Option<Fault>;
}

/// What a daemon has: nothing is made to break.
#[derive(Debug, Clone, Copy)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn at(&mut self, _step: Step) -> Option<Fault> {
        None
    }
}

/// Runs `act` as one step, with whatever fault is due there.
///
/// # Errors
/// The fault's, or the act's own.
pub fn step<T>(
    faults: &mut dyn Faults,
    step: Step,
    what: impl Into<String>,
    act: impl FnOnce() -> Result<T>,
) -> Result<T> {
    match faults.at(step) {
        None => act(),
        Some(Fault::KilledBefore | Fault::KilledAfterBytes(_)) => Err(Error::Killed(step)),
        Some(Fault::KilledAfter) => act().and(Err(Error::Killed(step))),
        Some(Fault::Errno(errno)) => Err(Error::io(what, std::io::Error::from_raw_os_error(errno))),
        Some(Fault::Short(_)) => Err(Error::io(what, rustix::io::Errno::NOSPC)),
    }
}
