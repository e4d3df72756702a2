//! As whom everything runs, and what it is born with.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

use metnos_proto::control::DaemonState;
use metnos_proto::role::RoleName;
use metnos_supervisor::process::ids::{self, BLOCK};

use super::rig::{As, Plan, Rig, SOMEBODY, is_root, skipped_without_root, wait_until};

fn status(pid: u32, key: &str) -> String {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    text.lines().find_map(|line| line.strip_prefix(key)).unwrap().trim().to_owned()
}

#[test]
fn as_root_each_daemon_has_a_uid_of_its_own_and_none_is_root() {
    if skipped_without_root() {
        return;
    }
    let rig = Rig::start(As::Starter);
    let surveyed = rig.survey();
    assert!(surveyed.uids_separate);
    let uids: BTreeSet<u32> = surveyed.daemons.iter().map(|daemon| daemon.uid).collect();
    assert_eq!(uids.len(), 7);
    let mut shared = BTreeSet::new();
    for daemon in &surveyed.daemons {
        let uid = daemon.uid.to_string();
        assert_eq!(status(daemon.pid, "Uid:").split_whitespace().collect::<Vec<_>>(), [&uid; 4]);
        assert!(daemon.uid >= 60_600);
        let gid = status(daemon.pid, "Gid:").split_whitespace().next().unwrap().to_owned();
        if matches!(daemon.role, RoleName::Policyd | RoleName::Sandboxd | RoleName::Memoryd) {
            shared.insert(gid);
        } else {
            assert_eq!(gid, uid, "a group of its own");
        }
        assert_eq!(status(daemon.pid, "Groups:"), "", "no supplementary groups");
        assert_eq!(status(daemon.pid, "NoNewPrivs:"), "1");
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:"] {
            assert_eq!(status(daemon.pid, set), "0000000000000000", "{} {set}", daemon.role);
        }
        let owner = |part: &str| std::fs::metadata(rig.instance.join(part)).unwrap().uid();
        match daemon.role {
            RoleName::Policyd => assert_eq!(owner(".policy"), daemon.uid),
            RoleName::Memoryd => assert_eq!(owner(".audit"), daemon.uid),
            RoleName::Sandboxd => assert_eq!(owner("workspace"), daemon.uid),
            RoleName::Ctl | RoleName::Gatewayd | RoleName::Planner | RoleName::Syntd | RoleName::Mind => {}
        }
    }
    assert_eq!(shared.len(), 1, "policyd, sandboxd and memoryd share the group of the workspace");
}

#[test]
fn two_instances_as_root_share_no_uid() {
    if skipped_without_root() {
        return;
    }
    let (one, two) = (Rig::start(As::Starter), Rig::start(As::Starter));
    let uids = |rig: &Rig| rig.survey().daemons.iter().map(|daemon| daemon.uid).collect::<BTreeSet<u32>>();
    assert!(uids(&one).is_disjoint(&uids(&two)));
}

/// A range of two blocks for one test of this process alone: other runs on this machine have others, whatever they have left.
fn range_of_its_own() -> (u32, u32) {
    const FIRST: u32 = 2_000_000;
    const RANGES: u32 = 1_000_000;
    (FIRST + std::process::id() % RANGES * 2 * BLOCK, 2 * BLOCK)
}

#[test]
fn an_instance_has_the_same_uids_the_next_time() {
    if skipped_without_root() {
        return;
    }
    // The first of the two blocks is taken at the first start.
    let range = range_of_its_own();
    let first = ids::choose(range, None).unwrap();
    let config = format!("[supervisor]\nuid_base = {}\nuid_count = {}\n", range.0, range.1);
    let mut rig = Rig::with(Plan { config, ..Plan::default() });
    assert_eq!(rig.word, "ready", "{}", rig.log());
    let uids = |rig: &Rig| rig.survey().daemons.iter().map(|daemon| daemon.uid).collect::<Vec<u32>>();
    let second = range.0 + BLOCK;
    let expected: Vec<u32> = (second..).take(RoleName::daemons().count()).collect();
    assert_eq!(uids(&rig), expected);
    assert!(ids::choose(range, None).is_err(), "the range is exhausted");
    rig.shutdown();
    rig.wait();
    // Its orphans, if there are any, are collected by init, when that comes to it. Until then their ids are in use.
    let free = || ids::choose((second, BLOCK), None).is_ok();
    wait_until(free, || format!("the ids from {second} are still in use: {:?}", users_of(second..second + BLOCK)));
    drop(first);
    rig.again();
    assert_eq!(uids(&rig), expected);
}

/// Every process that has one of these uids, as `ps` would show it.
fn users_of(uids: std::ops::Range<u32>) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let theirs = processes.filter(|entry| entry.metadata().is_ok_and(|meta| uids.contains(&meta.uid())));
    theirs.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok()).collect()
}

#[test]
fn as_an_ordinary_user_all_share_his_uid_and_the_survey_says_so() {
    let rig = Rig::start(As::Ordinary);
    let surveyed = rig.survey();
    assert!(!surveyed.uids_separate);
    let uid = if is_root() { SOMEBODY } else { rustix::process::geteuid().as_raw() };
    assert_eq!(surveyed.uid, uid);
    for daemon in &surveyed.daemons {
        assert_eq!((daemon.uid, &daemon.state), (uid, &DaemonState::Ready), "{}", daemon.role);
        assert_eq!(status(daemon.pid, "Uid:").split_whitespace().next().unwrap(), uid.to_string());
    }
    for part in ["", "run", "workspace", ".policy", ".audit"] {
        let meta = std::fs::metadata(rig.instance.join(part)).unwrap();
        assert_eq!((meta.uid(), meta.mode() & 0o7777), (uid, 0o700), "{part}");
    }
}

#[test]
fn a_daemon_is_born_with_its_control_end_alone() {
    let rig = Rig::start(As::Ordinary);
    for role in RoleName::daemons() {
        let pid = rig.pid_of(role);
        // Standard input, output and error, its copy of the control end, and the directory it counts them in.
        rig.await_log(&[&format!("puppet {role} {pid} born environment=0 descriptors=5")]);
        let program = metnos_supervisor::process::spawn::program(role);
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
        let shown = rig.dir.path().canonicalize().unwrap().join("bin").join(&program);
        assert_eq!(String::from_utf8(command).unwrap().trim_end_matches('\0'), shown.to_str().unwrap());
        assert_eq!(status(pid, "Name:"), program.chars().take(15).collect::<String>(), "as `ps` shows it");
    }
}

#[test]
fn start_as_root_below_closed_folder_explains_the_remedy() {
    if skipped_without_root() {
        return;
    }
    let mut rig = Rig::with(Plan { below: "closed/instance".into(), closed: true, ..Plan::default() });
    assert!(rig.word.contains("may not enter") && rig.word.contains("--instance"), "{}", rig.word);
    assert_eq!(rig.wait().code(), Some(1));
}
