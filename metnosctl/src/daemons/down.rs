//! `down`: has the supervisor stop everything, and waits until its process is really over.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags};
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::instance::Instance;
use crate::json_constant::ConstTrue;
use crate::screen::Screen;

/// How long the supervisor has to stop, in milliseconds: it gives its daemons 5 s.
pub const STOP_WITHIN_MS: u64 = 6_000;

/// Stops the instance. One that is not running is stopped already.
///
/// # Errors
/// When the supervisor refuses, cannot be reached, or does not end in time.
pub fn down(screen: &mut Screen, instance: &Instance) -> Result<Exit, CtlError> {
    let mut reach = match Connection::to(instance) {
        Ok(reach) => reach,
        Err(CtlError::NotRunning(_)) => {
            print_stopped(screen, instance, false, 0)?;
            return Ok(Exit::Done);
        }
        Err(error) => return Err(error),
    };
    let began = Instant::now();
    let survey = reach.survey()?;
    // Held before it is asked to stop, so that the number cannot come to mean another process.
    let pid = i32::try_from(survey.pid).ok().and_then(Pid::from_raw);
    let process = pid.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
    reach.shutdown()?;
    let until = began + Duration::from_millis(STOP_WITHIN_MS);
    let ended = match &process {
        Some(process) => ready_until(process, PollFlags::IN, until),
        // In another namespace of processes: the end of its line is the end of it.
        None => ready_until(&reach, PollFlags::HUP, until),
    };
    if !ended.map_err(CtlError::supervisor)? {
        return Err(CtlError::failed(
            format!("the supervisor (process {}) has not ended within {STOP_WITHIN_MS} ms", survey.pid),
            "it may still be ending",
            "look at run/supervisor.log in the instance's directory; `kill -9` on that process ends it and its daemons",
        ));
    }
    print_stopped(screen, instance, true, u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))?;
    Ok(Exit::Done)
}

/// Metnos was stopped.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stopped {
    /// It was done.
    ok: ConstTrue,
    /// The directory of the instance.
    instance: String,
    /// Whether it was running.
    was_running: bool,
    /// How long that took.
    within_ms: u64,
}

fn print_stopped(screen: &mut Screen, instance: &Instance, was_running: bool, within_ms: u64) -> Result<(), CtlError> {
    let directory = instance.directory().display().to_string();
    if screen.json() {
        return screen.document(&Stopped { ok: ConstTrue, instance: directory, was_running, within_ms });
    }
    let directory = crate::screen::escape::line(&directory);
    if was_running {
        screen.line(&format!("Metnos in {directory} has stopped after {within_ms} ms."))
    } else {
        screen.line(&format!("Metnos is not running in {directory}."))
    }
}

/// Waits until one of `flags` holds; false when the time is over.
///
/// # Errors
/// When the kernel cannot wait on this.
pub fn ready_until(fd: &impl AsFd, flags: PollFlags, until: Instant) -> std::io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidInput))?;
        match rustix::event::poll(&mut [PollFd::new(fd, flags)], Some(&timeout)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
