//! A whole granted call by the step of the ladder that carried it (a process that waited for this executor, one that waited for
//! any, one that was forked for it), beside `bwrap --unshare-all … python3 -I -S -c pass`, in alternation in one run; how many
//! calls a second; and what the waiting processes cost.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_proto::msg::policyd::{Acted, RunCall};
use metnos_proto::payload::Sealed;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::procfs;

use crate::call::{bubblewrap, policyd};
use crate::stats::{Table, Times};

/// Rounds of each kind.
const ROUNDS: usize = 100;
/// How long the pool is given to refill between calls that are to find something waiting.
const REFILL: Duration = Duration::from_millis(40);
/// Calls of one burst, which is longer than anything that waits.
const BURST: usize = 24;
/// How long calls follow each other without a pause, for the rate.
const RATE_FOR: Duration = Duration::from_secs(5);

/// The two executors that take turns.
const READ: (&str, &[u8]) = ("fs_read", br#"{"path":"notes/welcome.md"}"#);
const COUNT: (&str, &[u8]) = ("text_stats", br#"{"text":"one two three"}"#);

/// Measures calls by carrier.
pub fn measure(table: &mut Table) {
    let set = Plan::new().in_memory().config("[policy]\ncalls_per_minute = 100000\n").start();
    let mut policyd = policyd(&set);
    let mut by_carrier: BTreeMap<&'static str, Times> = BTreeMap::new();
    let mut bwrap = Times::default();
    // The first calls have what follows compiled.
    for _ in 0..10 {
        call(&mut policyd, READ);
        call(&mut policyd, COUNT);
        std::thread::sleep(REFILL);
    }
    let mut timed = |policyd: &mut BlockingClient<CtlPolicyd>, what| {
        let began = Instant::now();
        let carrier = call(policyd, what);
        by_carrier.entry(carrier.name()).or_default().push(began.elapsed());
    };
    for _ in 0..ROUNDS {
        bwrap.time(bubblewrap);
        std::thread::sleep(REFILL);
        // The same again is expected; another one is not.
        timed(&mut policyd, READ);
        std::thread::sleep(REFILL);
        timed(&mut policyd, READ);
        std::thread::sleep(REFILL);
        timed(&mut policyd, COUNT);
        std::thread::sleep(REFILL);
    }
    for _ in 0..ROUNDS / BURST + 1 {
        for _ in 0..BURST {
            timed(&mut policyd, COUNT);
            timed(&mut policyd, READ);
        }
        std::thread::sleep(REFILL);
    }
    table.times("`bwrap --unshare-all … python3 -I -S -c pass`", &bwrap, String::new(), "");
    for (carrier, goal) in [
        (Carrier::Predicted, "≤ 0.03 ×"),
        (Carrier::Warm, "≤ 0.06 ×"),
        (Carrier::Forked, "≤ 0.15 ×"),
        (Carrier::Execed, ""),
    ] {
        let Some(times) = by_carrier.get(carrier.name()) else { continue };
        let beside = format!("{:.3} × bwrap, of {} calls", times.ratio_to(&bwrap), times.count());
        table.times(&format!("whole granted call, {}", carrier.name()), times, beside, goal);
    }
    rate(table, &set);
    memory(table, &set);
    set.verify();
}

fn call(policyd: &mut BlockingClient<CtlPolicyd>, (executor, arguments): (&str, &[u8])) -> Carrier {
    let arguments = Sealed::new(arguments).unwrap();
    let ask = RunCall { executor: executor.to_owned() };
    let (answer, [_result]) = policyd.run_call(TraceId::NONE, ask, [arguments]).unwrap();
    match answer.acted {
        Acted::Ran(ran) => {
            assert_eq!(ran.outcome, Outcome::Ok);
            ran.resources.carrier
        }
        Acted::Denied(refusal) => panic!("{refusal}"),
    }
}

/// Calls a second, from as many askers as the machine has processors.
fn rate(table: &mut Table, set: &Instance) {
    let askers = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
    let began = Instant::now();
    let calls: usize = std::thread::scope(|scope| {
        let asker = || {
            let mut policyd = policyd(set);
            let mut calls = 0;
            while began.elapsed() < RATE_FOR {
                call(&mut policyd, READ);
                calls += 1;
            }
            calls
        };
        let handles: Vec<_> = (0..askers).map(|_| scope.spawn(asker)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    #[allow(clippy::cast_precision_loss)]
    let per_second = calls as f64 / began.elapsed().as_secs_f64();
    table.row("calls a second", format!("{per_second:.0}"), format!("{askers} askers"), "1,000 on 4 cores");
}

/// What sandboxd and everything below it take while nobody calls.
fn memory(table: &mut Table, set: &Instance) {
    // Until it counts as calm.
    std::thread::sleep(Duration::from_secs(25));
    let sandboxd = procfs::descendants(set.supervisor()).into_iter().find(|pid| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "metnos-sandboxd")
    });
    let Some(sandboxd) = sandboxd else { return };
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
}
