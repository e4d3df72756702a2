//! How runs end, without running any.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

const LIMITS: Limits = Limits {
    wall_s: 2,
    cpu_s: 1,
    address_bytes: 64 << 20,
    output_bytes: 1024,
    processes: 16,
    open_files: 64,
    file_bytes: 0,
    stack_bytes: 8 << 20,
    disk_bytes: 32 << 20,
    disk_files: 1024,
    gives_bytes: 0,
};

const FINE: ProcessEnd = ProcessEnd { code: Some(0), signal: None, cpu_us: 1000, peak_kib: 9000, written_bytes: 0 };

fn outcome(breach: Option<Breach>, last: Option<Frame>, ended: ProcessEnd, fault: &str, log: &str) -> Outcome {
    judge(breach.as_ref(), last.as_ref(), false, ended, fault, &LIMITS, log).0
}

fn result() -> Option<Frame> {
    Some(Frame::Result(b"{}".to_vec()))
}

#[test]
fn a_result_and_a_clean_end_are_a_success() {
    assert_eq!(outcome(None, result(), FINE, "", "noise"), Outcome::Ok);
}

#[test]
fn a_result_without_a_clean_end_is_a_crash() {
    assert_eq!(outcome(None, result(), ProcessEnd { code: Some(1), ..FINE }, "", ""), Outcome::Crashed);
    assert_eq!(outcome(None, result(), ProcessEnd { code: None, signal: Some(11), ..FINE }, "", ""), Outcome::Crashed);
    assert_eq!(judge(None, result().as_ref(), true, FINE, "", &LIMITS, "").0, Outcome::Crashed);
    assert_eq!(outcome(None, None, FINE, "", ""), Outcome::Crashed);
}

#[test]
fn each_breach_has_a_name_of_its_own() {
    let killed = ProcessEnd { code: None, signal: Some(libc::SIGKILL), ..FINE };
    assert_eq!(outcome(Some(Breach::Wall), None, killed, "", ""), Outcome::Timeout);
    assert_eq!(outcome(Some(Breach::Stopped), result(), killed, "", ""), Outcome::Killed);
    let too_large = FrameFault::TooLarge { announced: 2000, granted: 1024 };
    assert_eq!(outcome(Some(Breach::Channel(too_large)), None, killed, "", ""), Outcome::OutputTooLarge);
    assert_eq!(outcome(Some(Breach::Channel(FrameFault::AfterResult)), result(), FINE, "", ""), Outcome::Crashed);
    assert_eq!(outcome(None, None, ProcessEnd { cpu_us: CPU_US_NEARLY, ..killed }, "", ""), Outcome::CpuExceeded);
    assert_eq!(outcome(None, None, ProcessEnd { cpu_us: CPU_US_NEARLY - 1, ..killed }, "", ""), Outcome::Crashed);
    assert_eq!(outcome(None, None, ProcessEnd { peak_kib: 52_429, ..killed }, "", ""), Outcome::MemoryExceeded);
    assert_eq!(outcome(None, None, ProcessEnd { peak_kib: 52_000, ..killed }, "", ""), Outcome::Crashed);
}

#[test]
fn host_script_report_is_parsed_as_sent() {
    let fault = |kind| Some(Frame::Fault(kind, "x".to_owned()));
    assert_eq!(outcome(None, fault(FaultKind::Memory), FINE, "", ""), Outcome::MemoryExceeded);
    assert_eq!(outcome(None, fault(FaultKind::Processes), FINE, "", ""), Outcome::ProcessesExceeded);
    assert_eq!(outcome(None, fault(FaultKind::Output), FINE, "", ""), Outcome::BadOutput);
    assert_eq!(outcome(None, fault(FaultKind::System), FINE, "", ""), Outcome::Failed);
}

#[test]
fn unbuilt_sandbox_reports_why_and_no_executor_can_forge_it() {
    let not_started = ProcessEnd { code: Some(NOT_STARTED), ..FINE };
    let (outcome_now, why) = judge(None, None, false, not_started, "mounting: EPERM", &LIMITS, "");
    assert_eq!(outcome_now, Outcome::SandboxFailed);
    assert!(why.contains("mounting: EPERM"));
    // An executor that exits with that code has no way to the report: it is a crash like any other.
    assert_eq!(outcome(None, None, not_started, "", ""), Outcome::Crashed);
}

#[test]
fn only_the_end_of_output_is_kept() {
    let mut log = Log::default();
    for round in 0..10_u8 {
        log.keep(&[b'0' + round; 4096]);
    }
    assert_eq!(log.kept.len(), LOG_BYTES);
    assert_eq!((log.kept.front(), log.kept.back()), (Some(&b'6'), Some(&b'9')));
}

#[test]
fn progress_passes_at_most_ten_times_a_second() {
    let mut throttle = Throttle::default();
    let start = Instant::now();
    assert!(throttle.passes(start));
    assert!(!throttle.passes(start + Duration::from_millis(99)));
    assert!(throttle.passes(start + Duration::from_millis(100)));
}

/// How a run ends of which this was seen.
fn finished(breach: Option<Breach>, came: &[u8], ended: ProcessEnd, fault: &str) -> Finished {
    let mut seen = ReceivedFrames::new(&LIMITS, None, false);
    seen.breach = breach;
    seen.piece[..came.len()].copy_from_slice(came);
    seen.take(came.len());
    seen.finish(ended, (Stopped::default(), false), fault, &LIMITS, 1, String::new())
}

#[test]
fn only_reported_seal_failure_counts_as_nothing_ran() {
    let not_started = ProcessEnd { code: Some(NOT_STARTED), ..FINE };
    let unsealed = finished(None, b"", not_started, "Landlock: errno 22");
    assert_eq!((unsealed.outcome, unsealed.nothing_ran), (Outcome::SandboxFailed, true));
    // The others have the same outcome, or the same look, and may have run.
    let others = [
        finished(Some(Breach::Stopped), b"", not_started, "Landlock: errno 22"),
        finished(Some(Breach::Wall), b"", not_started, "Landlock: errno 22"),
        finished(None, b"S\0\0\0\0", not_started, "Landlock: errno 22"),
        finished(None, b"S\0\0\0\0", not_started, ""),
        finished(None, b"", not_started, ""),
        finished(None, b"", ProcessEnd { code: None, signal: Some(9), ..FINE }, "Landlock: errno 22"),
        finished(None, b"", FINE, "Landlock: errno 22"),
        Finished::failed("the process cannot be collected: EIO".to_owned()),
    ];
    for other in others {
        assert!(!other.nothing_ran, "{other:?}");
    }
}

#[test]
fn cgroup_events_explain_a_kill_unless_the_clock_did() {
    let killed = ProcessEnd { code: None, signal: Some(libc::SIGKILL), ..FINE };
    let judged = |stopped| by_its_group(judge(None, None, false, killed, "", &LIMITS, ""), stopped, &LIMITS).0;
    assert_eq!(judged(Stopped::default()), Outcome::Crashed);
    assert_eq!(judged(Stopped { memory: true, processes: true }), Outcome::MemoryExceeded);
    assert_eq!(judged(Stopped { memory: false, processes: true }), Outcome::ProcessesExceeded);
    // One that was stopped by the clock, or by the owner, was not ended by its memory.
    let wall = judge(Some(&Breach::Wall), None, false, killed, "", &LIMITS, "");
    assert_eq!(by_its_group(wall, Stopped { memory: true, processes: true }, &LIMITS).0, Outcome::Timeout);
    // Who could not start a thread and went on well has a result.
    let fine = (Outcome::Ok, String::new());
    assert_eq!(by_its_group(fine, Stopped { memory: false, processes: true }, &LIMITS).0, Outcome::Ok);
}

#[test]
fn limits_hit_by_child_programs_count_for_the_call() {
    let all = |outcome, cpu_us, processes| {
        let stopped = Stopped { memory: false, processes };
        outcome_of_group(outcome, ProcessEnd { cpu_us, ..FINE }, stopped, &LIMITS).map(|(outcome, _)| outcome)
    };
    let whole = u64::from(LIMITS.cpu_s) * 1_000_000;
    assert_eq!(all(Outcome::Ok, 0, false), None);
    assert_eq!(all(Outcome::Ok, whole / 10 * 7, false), None);
    assert_eq!(all(Outcome::Ok, whole, false), Some(Outcome::CpuExceeded));
    assert_eq!(all(Outcome::Ok, 0, true), Some(Outcome::ProcessesExceeded));
    // What has another name already keeps it.
    assert_eq!(all(Outcome::Timeout, whole, true), None);
}
