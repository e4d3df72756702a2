//! A minute of calls from as many askers as there are processors, without a pause: how many a second, that none goes wrong, and
//! that nothing is left of them: no descriptor, no process, no mount, no control group.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metnos_proto::msg::common::Carrier;
use metnos_tests::instance::{Instance, Plan, UNHURRIED};
use metnos_tests::procfs;

use crate::call::policyd;
use crate::sandbox::{READ, called, sandboxd};
use crate::stats::{Table, Times};

/// How long.
const FOR: Duration = Duration::from_secs(60);
/// Calls before anything is counted.
const WARM_UP: usize = 40;
/// How long what is left of the last calls may take to go.
const GONE_WITHIN: Duration = Duration::from_secs(45);

/// Measures, and ends this program with the reason when a call goes wrong.
pub fn measure(table: &mut Table) {
    let set = Plan::new().in_memory().config(UNHURRIED).start();
    let askers = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
    // What waits for calls and what was loaded once is there before anything is counted.
    let mut first = policyd(&set);
    for _ in 0..WARM_UP {
        called(&mut first, READ);
    }
    let before = calm(&set, None);
    let began = Instant::now();
    let (times, carriers) = std::thread::scope(|scope| {
        let asker = || {
            let mut policyd = policyd(&set);
            let (mut times, mut carriers) = (Times::default(), [0_u64; 4]);
            while began.elapsed() < FOR {
                let carrier = times.time(|| called(&mut policyd, READ));
                carriers[step(carrier)] += 1;
            }
            (times, carriers)
        };
        let handles: Vec<_> = (0..askers).map(|_| scope.spawn(asker)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).fold(
            (Times::default(), [0; 4]),
            |(mut all, mut sums), (times, carriers)| {
                all.extend(times);
                sums.iter_mut().zip(carriers).for_each(|(sum, count)| *sum += count);
                (all, sums)
            },
        )
    });
    let took = began.elapsed();
    #[allow(clippy::cast_precision_loss)]
    let per_second = times.count() as f64 / took.as_secs_f64();
    let [predicted, warm, forked, execed] = carriers;
    let beside =
        format!("{askers} askers; {predicted} predicted, {warm} warm, {forked} forked, {execed} executed; no error");
    table.row(
        &format!("calls a second, for {} s", FOR.as_secs()),
        format!("{per_second:.0}"),
        beside,
        "1,000 on 4 cores",
    );
    table.times("one of those calls", &times, String::new(), "");
    let after = calm(&set, Some(&before));
    let beside = format!("descriptors, mounts, control groups, processes; {before:?} before");
    let goal = if times.count() >= 10_000 { "the same" } else { "the same, after 10,000" };
    table.row(&format!("left of sandboxd after {} calls", times.count()), format!("{after:?}"), beside, goal);
    set.verify();
}

const fn step(carrier: Carrier) -> usize {
    match carrier {
        Carrier::Predicted => 0,
        Carrier::Warm => 1,
        Carrier::Forked => 2,
        Carrier::Execed => 3,
    }
}

/// What sandboxd and its processes hold: descriptors, mounts of its own view, control groups below its own, processes that
/// have no other reason to be than calls. Waits until that is no more than `before`, or the patience is over.
fn calm(set: &Instance, before: Option<&[usize; 4]>) -> [usize; 4] {
    let began = Instant::now();
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let held = held(set);
        let enough = before.is_none_or(|before| held.iter().zip(before).all(|(now, before)| now <= before));
        // sandboxd ends its waiting processes after a time without a call.
        if (enough && began.elapsed() >= Duration::from_secs(25)) || began.elapsed() >= GONE_WITHIN {
            return held;
        }
    }
}

fn held(set: &Instance) -> [usize; 4] {
    let Some(pid) = sandboxd(set) else { return [0; 4] };
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let lines = |file: &str| std::fs::read_to_string(proc.join(file)).unwrap_or_default();
    let descriptors = std::fs::read_dir(proc.join("fd")).map_or(0, Iterator::count);
    let group =
        lines("cgroup").lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned)).unwrap_or_default();
    let groups = below(&Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/')));
    [descriptors, lines("mountinfo").lines().count(), groups, procfs::descendants(pid).len()]
}

fn below(group: &Path) -> usize {
    let folders = std::fs::read_dir(group).into_iter().flatten().flatten();
    folders
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| 1 + below(&entry.path()))
        .sum()
}
