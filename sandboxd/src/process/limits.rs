//! Watches one process from its start to its end: the clock, its channel, its output, its
//! exit. Every breach kills the whole sandbox and has a name of its own; nothing that comes
//! from inside is believed beyond its bounds.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::time::{Duration, Instant};

use metnos_proto::msg::common::{Carrier, Outcome, Resources};
use metnos_proto::payload::Filling;
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use crate::confine::inner::NOT_STARTED;
use crate::confine::seccomp::Runs;
use crate::plan::{Limits, Plan};
use crate::pool::{Keeper, Keeping};
use crate::process::frames::{self, FaultKind, Frame, FrameFault, Frames, Instruction};
use crate::process::groups::{Group, Stopped};
use crate::process::input::{CallRequest, Taken, send_all};
use crate::process::reaper::Reaper;
use crate::process::watched::{Ends, Watched};
use crate::sys::ProcessEnd;

/// How much of its standard output and error is kept: the last so many bytes.
pub const LOG_BYTES: usize = 16 << 10;
/// How much is read at once, and how much at first: most results are short, and memory that is never touched costs
/// nothing.
const PIECE: usize = 64 << 10;
const FIRST_PIECE: usize = 4 << 10;
/// Progress is passed on at most this often.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// How much of each granted second of processor time must be accounted for to say that all was used. The kernel ends a
/// process by counting ticks and accounts for it by the clock; on a busy machine the two differ by a lot.
const CPU_US_NEARLY: u64 = 500_000;
/// The same for a process and the programs that it ran, of which one may have been ended by the kernel's ticks without a report.
const CPU_US_ALL: u64 = 800_000;
/// The longest sentence about why a run failed.
const MAX_WHY: usize = 600;

/// Why a process was killed from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Breach {
    /// Its time on the clock is over.
    Wall,
    /// The owner said so.
    Stopped,
    /// It broke the rules of the channel.
    Channel(FrameFault),
    /// It took more room on a disk than granted.
    Disk(String),
    /// A disk that it writes to is fuller than its reserve.
    Full(String),
    /// What it wanted to keep could not be made durable, so it must not change anything.
    NotKept(String),
}

/// How a run ended, its result not yet looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// [`Outcome::Ok`] means that there is a result, not that it is a good one.
    pub outcome: Outcome,
    /// Why, when it is not `Ok`.
    pub why: String,
    /// The result's bytes.
    pub result: Vec<u8>,
    /// What it used.
    pub resources: Resources,
    /// The end of what it wrote to its output.
    pub log: String,
    /// What Python saw of it that no executor has a use for; see [`Frame::Alarm`].
    pub alarms: Vec<String>,
    /// Whether it is certain that not a line of the executor has run: the process itself reported, before its seal was
    /// whole, that it could not be built. Only then may the call be tried in another process.
    pub nothing_ran: bool,
}

/// What is waited for before a result counts.
#[derive(Debug, Clone, Copy)]
pub enum AwaitedEnd<'a> {
    /// The process's death, after which all is known that it has used and written.
    AtDeath,
    /// The same of one that runs programs. What they have used counts with what it has used itself, and what the kernel
    /// refused one of them was refused the whole.
    AtDeathOfAll,
    /// That it has given its result and closed its channel, so that nothing can follow. It is then left to this
    /// one to end and collect. For processes that can write to nothing but memory of their own.
    AtResult(&'a Reaper),
}

impl<'a> AwaitedEnd<'a> {
    /// The one that fits a plan.
    #[must_use]
    pub fn of(plan: &Plan, reaper: &'a Reaper) -> Self {
        let writes = plan.spec().mounts.iter().any(|mount| !mount.flags.read_only);
        if plan.runs() == Runs::Programs {
            return Self::AtDeathOfAll;
        }
        // A helper reports what it saw when its connections have closed.
        if writes || plan.egress().is_some() { Self::AtDeath } else { Self::AtResult(reaper) }
    }
}

/// Serves a process to its end.
///
/// `said` is sent to it, and `taken` receives what it gives beside its result; `stop` ends it when it comes true, and says why; `progress` receives how far it is.
pub async fn supervise(
    watched: impl Into<Watched>,
    limits: &Limits,
    said: CallRequest<'_>,
    taken: Taken<'_>,
    ending: AwaitedEnd<'_>,
    stop: impl Future<Output = Breach>,
    mut progress: impl FnMut(u64, u64),
) -> Finished {
    let started = Instant::now();
    let Ends { mut process, channel, log, fault } = match watched.into().0 {
        Ok(ends) => ends,
        Err(why) => return Finished::failed(why),
    };
    let Taken { file: into, keeper } = taken;
    let mut seen = ReceivedFrames::new(limits, into, keeper.is_some());
    let mut keeping: Option<Keeping<'_>> = None;
    let mut kept = Log::default();
    let mut throttle = Throttle::default();
    let mut sending = pin!(said.send(&channel));
    let mut sent = false;
    let mut clock = pin!(tokio::time::sleep(Duration::from_secs(limits.wall_s.into())));
    let mut stop = pin!(stop);
    let (mut stopped, mut given, mut channel_open, mut log_open) = (false, false, true, true);
    let ended = loop {
        tokio::select! {
            ended = process.end() => break ended,
            () = &mut sending, if !sent => sent = true,
            open = seen.read_channel(&channel, &mut throttle, &mut progress), if channel_open && seen.breach.is_none() => channel_open = open,
            open = kept.read(&log), if log_open => log_open = open,
            () = &mut clock, if seen.breach.is_none() => seen.breach = Some(Breach::Wall),
            done = outcome_of(&mut keeping), if keeping.is_some() => {
                keeping = None;
                if let Err(why) = done {
                    seen.breach.get_or_insert(Breach::NotKept(why));
                }
            }
            why = &mut stop, if !stopped => { stopped = true; seen.breach.get_or_insert(why); }
        }
        if let (Some(before), Some(keeper)) = (seen.keep.take(), keeper) {
            keeping = Some(Box::pin(keep(keeper, before, &channel)));
        }
        if seen.breach.is_some() {
            process.kill();
        } else if !channel_open && !given && seen.is_complete() {
            // Whatever it still does, or how it ends, is not reported.
            given = true;
            if let AwaitedEnd::AtResult(reaper) = ending
                && let Some(so_far) = process.so_far()
                && let Some(pidfd) = process.pidfd.take()
            {
                reaper.take(pidfd, process.group.take());
                break Ok(so_far);
            }
            process.kill();
        }
    };
    // It was ended because it had given its result; had it ended otherwise before that, it has failed.
    let ours = |ended: &ProcessEnd| given && ended.signal == Some(libc::SIGKILL);
    let ended =
        ended.map(|ended| if ours(&ended) { ProcessEnd { code: Some(0), signal: None, ..ended } } else { ended });
    let wall_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    if let Some((done, total)) = seen.drain(&channel) {
        progress(done, total);
    }
    let log = kept.drain(&log);
    let fault = read_fault(&fault);
    let stopped = process.group.as_ref().map(Group::stopped).unwrap_or_default();
    let whole = matches!(ending, AwaitedEnd::AtDeathOfAll);
    match ended {
        Ok(ended) => seen.finish(ended, (stopped, whole), &fault, limits, wall_us, log),
        // It may have run, and how it ended is unknown.
        Err(error) => Finished {
            outcome: Outcome::Interrupted,
            ..Finished::failed(format!("the process cannot be collected: {error}"))
        },
    }
}

/// Has what a call keeps made durable, and tells it so: it waits for that before it changes anything.
async fn keep(keeper: &dyn Keeper, before: Vec<u8>, channel: &AsyncFd<OwnedFd>) -> Result<(), String> {
    keeper.keep(before).await?;
    // If it does not hear that, it has ended, and its end says how.
    send_all(channel, &frames::frame(Instruction::Kept, &[])).await;
    Ok(())
}

/// What became of what is being kept.
async fn outcome_of(keeping: &mut Option<Keeping<'_>>) -> Result<(), String> {
    match keeping {
        Some(keeping) => keeping.await,
        None => std::future::pending().await,
    }
}

impl Finished {
    /// A run that did not come about.
    #[must_use]
    pub fn failed(why: String) -> Self {
        Self {
            outcome: Outcome::SandboxFailed,
            why,
            result: Vec::new(),
            resources: Resources::NONE,
            log: String::new(),
            alarms: Vec::new(),
            // Whatever went wrong outside says nothing about what it did.
            nothing_ran: false,
        }
    }
}

fn read_fault(fault: &OwnedFd) -> String {
    let mut buffer = [0; 1024];
    let length = rustix::io::read(fault, &mut buffer).unwrap_or(0);
    String::from_utf8_lossy(buffer.get(..length).unwrap_or_default()).into_owned()
}

/// Passes progress on, but not more often than a person can follow.
#[derive(Debug, Default)]
struct Throttle {
    last: Option<Instant>,
}

impl Throttle {
    fn passes(&mut self, now: Instant) -> bool {
        let passes = self.last.is_none_or(|last| now.duration_since(last) >= PROGRESS_EVERY);
        if passes {
            self.last = Some(now);
        }
        passes
    }
}

/// What has come from inside.
struct ReceivedFrames<'a> {
    frames: Frames,
    /// Where a file goes.
    into: Option<&'a RefCell<Filling>>,
    last: Option<Frame>,
    breach: Option<Breach>,
    alarms: Vec<String>,
    /// What it wants to keep.
    keep: Option<Vec<u8>>,
    piece: Vec<u8>,
}

impl<'a> ReceivedFrames<'a> {
    fn new(limits: &Limits, into: Option<&'a RefCell<Filling>>, keeps: bool) -> Self {
        let file = into.map(|_| limits.gives_bytes);
        Self {
            frames: Frames::new(limits.output_bytes).with_file(file).with_keep(keeps),
            into,
            last: None,
            breach: None,
            alarms: Vec::new(),
            keep: None,
            piece: vec![0; FIRST_PIECE],
        }
    }

    /// Reads what is there; `false` at the end of the channel.
    async fn read_channel(
        &mut self,
        channel: &AsyncFd<OwnedFd>,
        throttle: &mut Throttle,
        progress: &mut impl FnMut(u64, u64),
    ) -> bool {
        let Ok(mut ready) = channel.readable().await else { return false };
        match rustix::io::read(channel.get_ref(), &mut self.piece) {
            Ok(0) => false,
            Ok(length) => {
                let came = self.take(length);
                if length == self.piece.len() {
                    self.piece.resize(PIECE, 0);
                }
                if let Some((done, total)) = came
                    && throttle.passes(Instant::now())
                {
                    progress(done, total);
                }
                true
            }
            Err(Errno::AGAIN) => {
                ready.clear_ready();
                true
            }
            Err(Errno::INTR) => true,
            Err(_) => false,
        }
    }

    /// Takes a piece that was read; returns the latest progress in it.
    fn take(&mut self, length: usize) -> Option<(u64, u64)> {
        let mut latest = None;
        match self.frames.feed(self.piece.get(..length).unwrap_or_default()) {
            Ok(frames) => {
                for frame in frames {
                    match frame {
                        Frame::Progress { done, total } => latest = Some((done, total)),
                        Frame::Alarm(what) => self.alarms.push(what),
                        Frame::Keep(before) => self.keep = Some(before),
                        Frame::Piece(piece) => {
                            let taken = self.into.is_some_and(|into| into.borrow_mut().push(&piece).is_ok());
                            if !taken {
                                let fault = FrameFault::Malformed("a file for which there is no room");
                                self.breach.get_or_insert(Breach::Channel(fault));
                            }
                        }
                        frame @ (Frame::Result(_) | Frame::Fault(..)) => self.last = Some(frame),
                    }
                }
            }
            Err(fault) => {
                self.breach.get_or_insert(Breach::Channel(fault));
            }
        }
        latest
    }

    /// Reads what was left in the channel when the process ended. It is at its end then, so the loop is
    /// bounded by what the kernel holds. Returns the latest progress in it.
    fn drain(&mut self, channel: &AsyncFd<OwnedFd>) -> Option<(u64, u64)> {
        let mut latest = None;
        while self.breach.is_none() {
            match rustix::io::read(channel.get_ref(), &mut self.piece) {
                Ok(length) if length > 0 => latest = self.take(length).or(latest),
                Ok(_) | Err(_) => break,
            }
        }
        latest
    }

    /// Whether exactly one result has come, and nothing that would spoil it.
    fn is_complete(&self) -> bool {
        self.breach.is_none() && !self.frames.is_torn() && matches!(self.last, Some(Frame::Result(_)))
    }

    fn finish(
        self,
        ended: ProcessEnd,
        (stopped, whole): (Stopped, bool),
        fault: &str,
        limits: &Limits,
        wall_us: u64,
        log: String,
    ) -> Finished {
        let torn = self.frames.is_torn();
        // The way to that report is closed by the seal, and nothing of an executor is read before it.
        let nothing_ran =
            self.breach.is_none() && never_began(self.last.as_ref(), ended, fault) && !self.frames.is_sealed();
        let judged = judge(self.breach.as_ref(), self.last.as_ref(), torn, ended, fault, limits, &log);
        let (outcome, why) = by_its_group(judged, stopped, limits);
        let over = if whole { outcome_of_group(outcome, ended, stopped, limits) } else { None };
        let (outcome, why) = over.unwrap_or((outcome, why));
        let result = match (outcome, self.last) {
            (Outcome::Ok, Some(Frame::Result(bytes))) => bytes,
            _ => Vec::new(),
        };
        let resources = Resources {
            wall_us,
            cpu_us: ended.cpu_us,
            peak_kib: ended.peak_kib,
            output_bytes: u64::try_from(result.len()).unwrap_or(u64::MAX),
            written_bytes: ended.written_bytes,
            // Its parent knows.
            carrier: Carrier::Execed,
            // Told by the egress helper, where there was one.
            visits: Vec::new(),
        };
        Finished {
            outcome,
            why: why.chars().take(MAX_WHY).collect(),
            result,
            resources,
            log,
            alarms: self.alarms,
            nothing_ran,
        }
    }
}

/// The end of what a process wrote to its output.
#[derive(Debug, Default)]
struct Log {
    kept: VecDeque<u8>,
}

impl Log {
    /// Reads what is there; `false` at the end.
    async fn read(&mut self, log: &AsyncFd<OwnedFd>) -> bool {
        let Ok(mut ready) = log.readable().await else { return false };
        let mut piece = [0; 4096];
        match rustix::io::read(log.get_ref(), &mut piece) {
            Ok(0) => false,
            Ok(length) => {
                self.keep(piece.get(..length).unwrap_or_default());
                true
            }
            Err(Errno::AGAIN) => {
                ready.clear_ready();
                true
            }
            Err(Errno::INTR) => true,
            Err(_) => false,
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let over = (self.kept.len() + piece.len()).saturating_sub(LOG_BYTES);
        self.kept.drain(..over.min(self.kept.len()));
        self.kept.extend(piece);
    }

    /// Reads what was left in the pipe when the process ended, and gives the whole as text.
    fn drain(mut self, log: &AsyncFd<OwnedFd>) -> String {
        let mut piece = [0; 4096];
        while let Ok(length) = rustix::io::read(log.get_ref(), &mut piece) {
            if length == 0 {
                break;
            }
            self.keep(piece.get(..length).unwrap_or_default());
        }
        String::from_utf8_lossy(self.kept.make_contiguous()).into_owned()
    }
}

/// What all that was seen of a run amounts to.
fn judge(
    breach: Option<&Breach>,
    last: Option<&Frame>,
    torn: bool,
    ended: ProcessEnd,
    fault: &str,
    limits: &Limits,
    log: &str,
) -> (Outcome, String) {
    match breach {
        Some(Breach::Stopped) => return (Outcome::Killed, "it was stopped".to_owned()),
        Some(Breach::Disk(why)) => return (Outcome::DiskExceeded, why.clone()),
        Some(Breach::Full(why)) => return (Outcome::DiskFull, why.clone()),
        Some(Breach::Wall) => return (Outcome::Timeout, format!("it took longer than {} s", limits.wall_s)),
        Some(Breach::Channel(fault @ (FrameFault::TooLarge { .. } | FrameFault::FileTooLarge { .. }))) => {
            return (Outcome::OutputTooLarge, fault.to_string());
        }
        Some(Breach::Channel(fault)) => return (Outcome::Crashed, fault.to_string()),
        Some(Breach::NotKept(why)) => return (Outcome::Failed, why.clone()),
        None => {}
    }
    if never_began(last, ended, fault) {
        return (Outcome::SandboxFailed, format!("the sandbox could not be built: {fault}"));
    }
    match last {
        Some(Frame::Fault(FaultKind::Memory, _)) => return memory_exceeded(limits),
        Some(Frame::Fault(FaultKind::Processes, _)) => {
            return processes_exceeded(limits);
        }
        Some(Frame::Fault(FaultKind::System, why)) => return (Outcome::Failed, why.clone()),
        Some(Frame::Fault(FaultKind::Output, why)) => return (Outcome::BadOutput, why.clone()),
        Some(Frame::Result(_)) if ended.code == Some(0) && !torn => return (Outcome::Ok, String::new()),
        Some(Frame::Result(_) | Frame::Progress { .. } | Frame::Alarm(_) | Frame::Piece(_) | Frame::Keep(_)) | None => {
        }
    }
    if ended.signal == Some(libc::SIGKILL) && ended.cpu_us >= u64::from(limits.cpu_s) * CPU_US_NEARLY {
        return (Outcome::CpuExceeded, format!("it used more than {} s of processor time", limits.cpu_s));
    }
    // The kernel ended it, or it could not go on, with nearly all it was granted.
    let nearly_all = ended.peak_kib.saturating_mul(1024) >= limits.address_bytes / 10 * 8;
    if nearly_all && (ended.signal.is_some() || log.contains("MemoryError")) {
        return memory_exceeded(limits);
    }
    let how = match (ended.code, ended.signal) {
        (_, Some(signal)) => format!("it was ended by signal {signal}"),
        (Some(code), None) => format!("it ended with code {code}"),
        (None, None) => "it ended".to_owned(),
    };
    let last_words = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("without a word");
    (Outcome::Crashed, format!("{how} and without a result: {last_words}"))
}

/// What its control group has stopped is why it ended, where nothing else says why.
fn by_its_group(judged: (Outcome, String), stopped: Stopped, limits: &Limits) -> (Outcome, String) {
    match judged.0 {
        Outcome::Crashed if stopped.memory => memory_exceeded(limits),
        Outcome::Crashed if stopped.processes => processes_exceeded(limits),
        Outcome::Ok
        | Outcome::Error
        | Outcome::Crashed
        | Outcome::BadOutput
        | Outcome::CpuExceeded
        | Outcome::MemoryExceeded
        | Outcome::Timeout
        | Outcome::OutputTooLarge
        | Outcome::ProcessesExceeded
        | Outcome::Killed
        | Outcome::Interrupted
        | Outcome::SandboxFailed
        | Outcome::DiskExceeded
        | Outcome::DiskFull
        | Outcome::Failed => judged,
    }
}

/// What its programs have used up or were refused, where it has ended well itself: a program that the kernel has ended, or that
/// could start no other, has only told its parent.
fn outcome_of_group(
    outcome: Outcome,
    ended: ProcessEnd,
    stopped: Stopped,
    limits: &Limits,
) -> Option<(Outcome, String)> {
    match outcome {
        Outcome::Ok | Outcome::Error => {}
        Outcome::Crashed
        | Outcome::BadOutput
        | Outcome::CpuExceeded
        | Outcome::MemoryExceeded
        | Outcome::Timeout
        | Outcome::OutputTooLarge
        | Outcome::ProcessesExceeded
        | Outcome::Killed
        | Outcome::Interrupted
        | Outcome::SandboxFailed
        | Outcome::DiskExceeded
        | Outcome::DiskFull
        | Outcome::Failed => return None,
    }
    // What one process may use is what all of them may: the kernel counts for each, and here is the sum.
    if ended.cpu_us >= u64::from(limits.cpu_s) * CPU_US_ALL {
        return Some((Outcome::CpuExceeded, format!("all of it used {} s of processor time", limits.cpu_s)));
    }
    stopped.processes.then(|| processes_exceeded(limits))
}

/// Whether it has reported that it could not be built, and nothing but that.
fn never_began(last: Option<&Frame>, ended: ProcessEnd, fault: &str) -> bool {
    ended.code == Some(NOT_STARTED) && last.is_none() && !fault.is_empty()
}

fn processes_exceeded(limits: &Limits) -> (Outcome, String) {
    (Outcome::ProcessesExceeded, format!("it wanted more than {} processes and threads", limits.processes))
}

fn memory_exceeded(limits: &Limits) -> (Outcome, String) {
    (Outcome::MemoryExceeded, format!("it wanted more than {} MB of memory", limits.address_bytes >> 20))
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
