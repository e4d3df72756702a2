//! A whole granted call by the step of the ladder that carried it (a process that waited for this executor, one that waited for
//! any, one that was forked for it), beside `bwrap --unshare-all … python3 -I -S -c pass`, a bare Python, `posix_spawn` of
//! `/bin/true` and other sandboxes where they are installed (and said to be missing where not), in alternation in one run; and what the
//! waiting processes cost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Carrier, Outcome, Resources};
use metnos_proto::msg::policyd::{Acted, RunCall};
use metnos_proto::payload::Sealed;
use metnos_tests::instance::{Instance, Plan, UNHURRIED};
use metnos_tests::procfs;

use crate::call::{bubblewrap, policyd};
use crate::others::Others;
use crate::stats::{Table, Times};

/// Rounds of each kind.
const ROUNDS: usize = 100;
/// How long the pool is given to refill between calls that are to find something waiting.
const REFILL: Duration = Duration::from_millis(40);
/// How long after one another calls of one turn come here: what a planner without a model takes, and the pool to refill.
const SOON: Duration = Duration::from_millis(10);
/// Calls of one burst, which is longer than anything that waits.
const BURST: usize = 24;

/// An executor and its arguments.
pub type What = (&'static str, &'static [u8]);
/// The two executors that take turns.
pub const READ: What = ("fs_read", br#"{"path":"notes/welcome.md"}"#);
const COUNT: What = ("text_stats", br#"{"text":"one two three"}"#);

/// Measures calls by carrier.
pub fn measure(table: &mut Table) {
    let set = Plan::new().in_memory().config(UNHURRIED).start();
    let mut policyd = policyd(&set);
    let (mut by_carrier, mut soon) = (ByCarrier::new(), ByCarrier::new());
    let mut others = Others::find();
    let mut bwrap = Times::default();
    // The first calls have what follows compiled.
    for _ in 0..10 {
        called(&mut policyd, READ);
        called(&mut policyd, COUNT);
        std::thread::sleep(REFILL);
    }
    for round in 0..ROUNDS {
        bwrap.time(bubblewrap);
        others.time(round);
        std::thread::sleep(REFILL);
        // The same again is expected; another one is not.
        timed(&mut policyd, READ, &mut by_carrier);
        std::thread::sleep(REFILL);
        timed(&mut policyd, READ, &mut by_carrier);
        std::thread::sleep(REFILL);
        timed(&mut policyd, COUNT, &mut by_carrier);
        std::thread::sleep(REFILL);
    }
    for what in [READ, READ, COUNT].repeat(ROUNDS) {
        std::thread::sleep(SOON);
        timed(&mut policyd, what, &mut soon);
    }
    for _ in 0..ROUNDS / BURST + 1 {
        for _ in 0..BURST {
            timed(&mut policyd, COUNT, &mut by_carrier);
            timed(&mut policyd, READ, &mut by_carrier);
        }
        std::thread::sleep(REFILL);
    }
    table.times("`bwrap --unshare-all … python3 -I -S -c pass`", &bwrap, String::new(), "");
    others.tell(table, &bwrap);
    for (carrier, goal) in [
        (Carrier::Predicted, "≤ 0.03 ×"),
        (Carrier::Warm, "≤ 0.06 ×"),
        (Carrier::Forked, "≤ 0.15 ×"),
        (Carrier::Execed, ""),
    ] {
        let name = format!("whole granted call, {}", carrier.name());
        let Some((times, run)) = by_carrier.get(carrier.name()) else {
            table.row(&name, "not measured".to_owned(), "no call of this run was carried so".to_owned(), goal);
            continue;
        };
        let (ratio, count) = (times.ratio_to(&bwrap), times.count());
        let beside = format!("{ratio:.3} × bwrap{}, of {count} calls", others.beside(times));
        table.times(&name, times, beside, goal);
        let beside = format!("{:.3} × bwrap", run.ratio_to(&bwrap));
        table.times("– of which from its request to its result", run, beside, "");
        if let Some((times, _)) = soon.get(carrier.name()) {
            let beside = format!("{:.3} × bwrap, of {} calls", times.ratio_to(&bwrap), times.count());
            table.times(&format!("– the same, {} ms after another call", SOON.as_millis()), times, beside, goal);
        }
    }
    memory(table, &set);
    set.verify();
}

/// Times of whole calls, and of their parts from request to result, by the step of the ladder.
type ByCarrier = BTreeMap<&'static str, (Times, Times)>;

/// Calls it once, and notes how long that took.
fn timed(policyd: &mut BlockingClient<CtlPolicyd>, what: What, by_carrier: &mut ByCarrier) {
    let began = Instant::now();
    let used = used(policyd, what);
    let (whole, run) = by_carrier.entry(used.carrier.name()).or_default();
    whole.push(began.elapsed());
    run.push(Duration::from_micros(used.wall_us));
}

/// Calls it once: on which step of the ladder.
pub fn called(policyd: &mut BlockingClient<CtlPolicyd>, what: What) -> Carrier {
    used(policyd, what).carrier
}

/// Calls it once; what that used. Ends this program with the reason when it goes wrong.
fn used(policyd: &mut BlockingClient<CtlPolicyd>, (executor, arguments): What) -> Resources {
    let arguments = Sealed::new(arguments).unwrap();
    let ask = RunCall { executor: executor.to_owned() };
    let (answer, [_result]) = policyd.run_call(TraceId::NONE, ask, [arguments]).unwrap();
    match answer.acted {
        Acted::Ran(ran) => {
            assert_eq!(ran.outcome, Outcome::Ok);
            ran.resources
        }
        Acted::Denied(refusal) => panic!("{refusal}"),
    }
}

/// The process that is sandboxd, of this set.
pub fn sandboxd(set: &Instance) -> Option<u32> {
    procfs::descendants(set.supervisor()).into_iter().find(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "metnos-sandboxd")
    })
}

/// What sandboxd and everything below it take while nobody calls.
fn memory(table: &mut Table, set: &Instance) {
    // Until it counts as calm.
    std::thread::sleep(Duration::from_secs(25));
    let Some(sandboxd) = sandboxd(set) else { return };
    let below = procfs::descendants(sandboxd);
    let kib = |pids: &[u32]| pids.iter().filter_map(|pid| procfs::pss_kib(*pid)).sum::<u64>();
    #[allow(clippy::cast_precision_loss)]
    let mib = |kib: u64| format!("{:.1} MiB", kib as f64 / 1024.0);
    table.row("sandboxd itself (PSS)", mib(kib(&[sandboxd])), String::new(), "");
    table.row(
        "broker, zygote and waiting processes, idle (PSS)",
        mib(kib(&below)),
        format!("{} processes", below.len()),
        "",
    );
    // The zygote is the oldest interpreter; the others wait for calls.
    let is_python =
        |pid: &&u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("python"));
    let mut interpreters: Vec<u32> = below.iter().filter(is_python).copied().collect();
    interpreters.sort_unstable();
    let waiting: Vec<u64> = interpreters.iter().skip(1).filter_map(|pid| procfs::private_kib(*pid)).collect();
    if let Some(most) = waiting.iter().max() {
        table.row(
            "memory of a waiting process that is its own alone",
            mib(*most),
            format!("the largest of {}", waiting.len()),
            "≤ 1.5 MB",
        );
    }
}
