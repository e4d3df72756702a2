//! The whole set: from its start to ready, what it costs while nobody asks, and how long a command takes.

use std::process::{Command, Stdio};
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::procfs::{self, Status};

use crate::stats::{Table, Times, text};

/// Starts that are measured.
const STARTS: usize = 10;
/// Runs of each command.
const RUNS: usize = 60;
/// How long the set is left alone before and while it is watched, in seconds.
const SETTLE_S: u64 = 5;
const WATCH_S: u64 = 20;

/// Measures all of it.
pub fn measure(table: &mut Table) {
    let set = starts(table);
    idle(table, &set);
    commands(table, &set);
}

/// The supervisor's own measure: from its start until all daemons were first ready. The first start also
/// creates the instance and tests the executors at birth, so it is distinguished.
fn starts(table: &mut Table) -> Instance {
    let mut set = Plan::new().start();
    let ready_after = |set: &Instance| {
        let (_, status) = set.json(&["status"]);
        Duration::from_millis(status["ready_after_ms"].as_u64().unwrap())
    };
    let first = ready_after(&set);
    let mut times = Times::default();
    for _ in 0..STARTS {
        set.down();
        set.up();
        times.push(ready_after(&set));
    }
    table.times("start to ready", &times, format!("the very first one: {}", text(first)), "≤ 150 ms");
    set
}

fn processes(set: &Instance) -> Vec<u32> {
    let mut pids = vec![set.supervisor()];
    pids.extend(procfs::descendants(set.supervisor()));
    pids
}

fn idle(table: &mut Table, set: &Instance) {
    std::thread::sleep(Duration::from_secs(SETTLE_S));
    let pids = processes(set);
    let pss: u64 = pids.iter().filter_map(|pid| procfs::pss_kib(*pid)).sum();
    #[allow(clippy::cast_precision_loss)]
    let mib = pss as f64 / 1024.0;
    table.row(
        "memory of all processes, idle (PSS)",
        format!("{mib:.1} MiB"),
        format!("{} processes", pids.len()),
        "≤ 40 MiB",
    );
    let switches = || -> u64 { pids.iter().filter_map(|pid| Some(Status::of(*pid)?.switches())).sum() };
    let before = switches();
    std::thread::sleep(Duration::from_secs(WATCH_S));
    #[allow(clippy::cast_precision_loss)]
    let per_second = (switches() - before) as f64 / WATCH_S as f64;
    table.row(
        "wake-ups of all processes, idle",
        format!("{per_second:.2} a second"),
        format!("over {WATCH_S} s"),
        "≤ 1 a second",
    );
}

fn commands(table: &mut Table, set: &Instance) {
    let (mut nothing, mut help, mut status) = (Times::default(), Times::default(), Times::default());
    let quiet = |mut command: Command| {
        assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    };
    for _ in 0..RUNS {
        nothing.time(|| quiet(Command::new("/bin/true")));
        let ctl = |word| {
            let mut command = set.command("metnosctl");
            command.arg(word);
            command
        };
        help.time(|| quiet(ctl("--help")));
        status.time(|| quiet(ctl("status")));
    }
    let beside = format!("`/bin/true`: {}", text(nothing.median()));
    table.times("`metnosctl --help`", &help, beside.clone(), "≤ 10 ms");
    table.times("`metnosctl status`", &status, beside, "≤ 10 ms");
}
