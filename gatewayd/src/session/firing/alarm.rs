//! A clock that wakes the door at a time of day: by the machine's own wall clock, also when that is set or the machine has slept
//! meanwhile. It waits in the kernel and polls nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How many bytes the kernel gives at an expiry.
const COUNT_BYTES: usize = 8;

/// Milliseconds since the epoch, by the wall clock.
pub(in crate::session) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A timer of the kernel that is not armed.
///
/// # Errors
/// When the kernel gives none.
pub fn open() -> io::Result<OwnedFd> {
    Ok(timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?)
}

/// See the module.
#[derive(Debug)]
pub struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// Takes a timer that was opened before the lock. Must run inside a runtime.
    ///
    /// # Errors
    /// When it cannot be watched.
    pub fn new(timer: OwnedFd) -> io::Result<Self> {
        Ok(Self(metnos_proto::sys::watch(timer)?))
    }

    /// Waits until that time, in milliseconds since the epoch, or until the wall clock was set: who waits looks anew then.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(in crate::session) async fn until(&self, at_ms: u64) -> io::Result<()> {
        // A timer of zero is none: what is long past is due at the first moment that there is.
        let (seconds, nanos) = (at_ms / 1_000, (at_ms % 1_000) * 1_000_000);
        let value = Timespec {
            tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX).max(1),
            tv_nsec: i64::try_from(nanos).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(self.0.get_ref(), TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET, &once)?;
        let mut count = [0; COUNT_BYTES];
        let read = self.0.async_io(Interest::READABLE, |timer| Ok(rustix::io::read(timer, &mut count)?)).await;
        match read {
            Ok(_) => Ok(()),
            // The wall clock was set.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::CANCELED.raw_os_error()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::run;

    #[test]
    fn alarm_rings_at_its_time_and_at_once_for_one_that_is_past() {
        run(async {
            let alarm = Alarm::new(open().unwrap()).unwrap();
            alarm.until(0).await.unwrap();
            let at = now_ms() + 30;
            alarm.until(at).await.unwrap();
            assert!(now_ms() >= at);
        });
    }

    #[test]
    fn alarm_is_set_anew_when_a_wait_was_given_up() {
        run(async {
            let alarm = Alarm::new(open().unwrap()).unwrap();
            let never = tokio::time::timeout(std::time::Duration::from_millis(20), alarm.until(u64::MAX / 2)).await;
            assert!(never.is_err());
            alarm.until(now_ms()).await.unwrap();
        });
    }
}
