//! Tests of the reading back: what the kernel writes, and every possible difference.
#![allow(clippy::unwrap_used)]
use super::*;

const STATUS: &str = "Name:\tmetnos\nUmask:\t0022\nUid:\t64200\t64200\t64200\t64200\nGid:\t64300\t64300\t64300\t64300\nThreads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n";

fn whole() -> (Intent, Seen) {
    let intent = Intent {
        no_new_privs: Some(()),
        not_dumpable: Some(()),
        caps_empty: Some(()),
        bounding_empty: true,
        seccomp_filters: Some(3),
        uids: vec![64200; 4],
    };
    let seen = Seen { dumpable: false, bounding: 0, ..parse(STATUS).unwrap() };
    (intent, seen)
}

fn mismatch(change: impl Fn(&mut Seen)) -> &'static str {
    let (intent, mut seen) = whole();
    change(&mut seen);
    match intent.check(&seen) {
        Err(JailError::Mismatch { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_status_file_is_read_as_the_kernel_writes_it() {
    let seen = parse(STATUS).unwrap();
    assert_eq!(seen.uids, [64200; 4]);
    assert_eq!(seen.gids, [64300; 4]);
    assert_eq!(seen.threads, 1);
    assert!(seen.no_new_privs);
    assert_eq!((seen.seccomp_mode, seen.seccomp_filters), (2, Some(3)));
    assert_eq!(seen.caps, [0; 4]);
    assert_eq!(seen.bounding, 0x1ff_ffff_ffff);
}

#[test]
fn an_older_kernel_does_not_count_filters() {
    let text = STATUS.replace("Seccomp_filters:\t3\n", "");
    assert_eq!(parse(&text).unwrap().seccomp_filters, None);
}

#[test]
fn a_missing_or_garbled_line_is_an_error() {
    for line in ["Uid", "Gid", "Threads", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"] {
        let without: String =
            STATUS.lines().filter(|text| !text.starts_with(line)).map(|text| format!("{text}\n")).collect();
        assert!(parse(&without).is_err(), "{line}");
    }
    assert!(parse(&STATUS.replace("NoNewPrivs:\t1", "NoNewPrivs:\tyes")).is_err());
}

#[test]
fn a_whole_lock_is_accepted() {
    let (intent, seen) = whole();
    intent.check(&seen).unwrap();
}

#[test]
fn every_part_that_is_missing_is_named() {
    assert_eq!(mismatch(|s| s.no_new_privs = false), "no_new_privs");
    assert_eq!(mismatch(|s| s.dumpable = true), "dumpable");
    assert_eq!(mismatch(|s| s.bounding = 1), "the bounding set");
    assert_eq!(mismatch(|s| s.seccomp_mode = 0), "the seccomp mode");
    assert_eq!(mismatch(|s| s.uids[2] = 0), "the user ids");
    assert_eq!(mismatch(|s| s.seccomp_filters = Some(2)), "the number of seccomp filters");
    for set in 0..4 {
        assert!(mismatch(|s| s.caps[set] = 1 << 21).starts_with("the capabilities"));
    }
}

#[test]
fn waived_layer_is_not_required() {
    let (mut intent, mut seen) = whole();
    intent.no_new_privs = None;
    intent.seccomp_filters = None;
    seen.no_new_privs = false;
    seen.seccomp_mode = 0;
    intent.check(&seen).unwrap();
}

#[test]
fn the_status_of_this_process_is_understood() {
    let seen = StatusFile::open().unwrap().look().unwrap();
    assert_eq!(seen.uids[1], rustix::process::geteuid().as_raw());
    assert!(seen.threads >= 1);
}

#[test]
fn the_report_has_one_line_a_field() {
    let report = LockReport {
        role: "mind".into(),
        uid: 1,
        gid: 2,
        no_new_privs: true,
        dumpable: false,
        seccomp_mode: 2,
        seccomp_filters: Some(1),
        landlock_abi: 7,
        fs: FsFence::Handled,
        net: NetFence::Landlock,
        connects: vec![53, 443],
        scopes: true,
        caps_empty: true,
        bounding_empty: true,
        waived: vec!["landlock".into(), "caps".into()],
    };
    assert_eq!(
        report.to_lines(),
        [
            "role mind",
            "uid 1",
            "gid 2",
            "no_new_privs true",
            "dumpable false",
            "seccomp_mode 2",
            "seccomp_filters 1",
            "landlock_abi 7",
            "fs handled",
            "net landlock",
            "connects 53,443",
            "scopes true",
            "caps_empty true",
            "bounding_empty true",
            "waived landlock,caps",
        ]
    );
}
