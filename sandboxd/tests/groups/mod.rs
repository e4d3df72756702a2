//! Control groups of calls, where this machine has some delegated to the tests: what they bound by themselves, with the
//! process's own limits taken away, and that it is they who do.

use metnos_proto::executor::Quotas;
use metnos_proto::msg::common::Outcome;
use metnos_sandboxd::plan::Limits;
use metnos_sandboxd::pool::Entry;
use metnos_sandboxd::process::frames::{Instruction, frame};
use metnos_sandboxd::process::input::{self, CallRequest, Taken};
use metnos_sandboxd::process::limits::{AwaitedEnd, Finished, supervise};
use rustix::fs::{Mode, OFlags};

use super::escape;
use super::holds;
use super::lab::Lab;
use super::lab::runner::Verdict;

/// Touches 200 MB.
const MEMORY: &str = "def run(args, ctx):\n    return {'ok': True, 'answer': len(bytearray(b'x') * (200 << 20))}\n";
/// Wants forty threads at once.
const THREADS: &str = "\
import _thread
def run(args, ctx):
    lock = _thread.allocate_lock()
    lock.acquire()
    for _ in range(40):
        _thread.start_new_thread(lock.acquire, ())
    return {'ok': True, 'answer': 40}
";
/// What stops nothing.
const OPEN: Limits = Limits {
    wall_s: 30,
    cpu_s: 30,
    address_bytes: 1 << 40,
    output_bytes: 1 << 20,
    processes: 4096,
    open_files: 64,
    file_bytes: 1 << 20,
    stack_bytes: 8 << 20,
    disk_bytes: 0,
    gives_bytes: 0,
    disk_files: 0,
};

fn none(lab: &Lab) -> bool {
    let none = lab.kernel.launcher().groups().is_none();
    if none {
        println!("skipped: no control group is delegated to this test");
    }
    none
}

/// Runs it without limits of its own, in a group as its plan wants it, or in one that is open.
async fn run(lab: &Lab, code: &str, bounded: bool) -> Result<Finished, String> {
    let plan = lab.pure_plan(Quotas { ram_mb: 64, wall_s: 30, cpu_s: 30, ..Quotas::default() });
    let pool = lab.kernel.pool();
    pool.fill().await?;
    let idle = pool.fork(false).await?;
    idle.limit(if bounded { &plan.spec().limits } else { &OPEN })?;
    let launched = idle.take().ok_or("the child has ended")?;
    let group = launched.group.as_ref().ok_or("it has no group")?;
    let folder = group.folder().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut words = lab.kernel.launcher().order(&plan, &[]);
    escape::without_all_limits(&mut words);
    words.extend(frame(Instruction::Source, code.as_bytes()));
    let entry = Entry::Call { args: b"{}".to_vec(), thought: None };
    words.extend(frame(Instruction::Request, &input::request(&plan, &entry)));
    // Watched as if it might have everything, so that nobody but its group says that it had too much.
    let never = std::future::pending();
    let finished =
        supervise(launched, &OPEN, CallRequest::words(&words), Taken::default(), AwaitedEnd::AtDeath, never, |_, _| {})
            .await;
    let gone = rustix::fs::openat(&folder, "cgroup.procs", OFlags::RDONLY, Mode::empty()).is_err();
    holds(gone, "its group outlives it")?;
    Ok(finished)
}

pub async fn memory(lab: &Lab) -> Verdict {
    each(lab, MEMORY, Outcome::MemoryExceeded).await
}

pub async fn threads(lab: &Lab) -> Verdict {
    each(lab, THREADS, Outcome::ProcessesExceeded).await
}

async fn each(lab: &Lab, code: &str, outcome: Outcome) -> Verdict {
    if none(lab) {
        return Ok(());
    }
    let bounded = run(lab, code, true).await?;
    holds(bounded.outcome == outcome, format!("wanted {outcome:?}: {bounded:?}"))?;
    let open = run(lab, code, false).await?;
    holds(open.outcome == Outcome::Ok, format!("something else stops it: {open:?}"))
}

/// What does not depend on a plan is there before the call, and everything in it ends by one word.
pub async fn prepared(lab: &Lab) -> Verdict {
    if none(lab) {
        return Ok(());
    }
    let pool = lab.kernel.pool();
    pool.fill().await?;
    let launched = pool.fork(false).await?.take().ok_or("the child has ended")?;
    let group = launched.group.as_ref().ok_or("it has no group")?;
    let text = |file: &str| {
        let file =
            rustix::fs::openat(group.folder(), file, OFlags::RDONLY, Mode::empty()).map_err(|e| e.to_string())?;
        let mut text = [0; 64];
        let length = rustix::io::read(&file, &mut text).map_err(|errno| errno.to_string())?;
        Ok::<_, String>(String::from_utf8_lossy(&text[..length]).trim().to_owned())
    };
    for (file, wanted) in [("memory.oom.group", "1"), ("cpu.max", "100000 100000")] {
        holds(text(file)? == wanted, format!("{file}: {}", text(file)?))?;
    }
    // It began there, with all that it is.
    holds(text("cgroup.procs")?.lines().count() == 1, text("cgroup.procs")?)?;
    group.kill();
    let mut ended = [rustix::event::PollFd::new(&launched.pidfd, rustix::event::PollFlags::IN)];
    let within = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    let count = rustix::event::poll(&mut ended, Some(&within)).map_err(|errno| errno.to_string())?;
    drop(metnos_sandboxd::warm::Idle::new(launched));
    holds(count == 1, "it lives on")
}
