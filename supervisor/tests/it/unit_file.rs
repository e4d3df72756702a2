//! The files for systemd, checked with systemd's own tools, and against what the daemons' locks say they need.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use metnos_proto::role::RoleName;
use metnos_supervisor::process::ids;
use metnos_supervisor::set::health;
use metnos_supervisor::set::stop;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd").join(name)
}

fn unit() -> String {
    std::fs::read_to_string(file("metnos.service")).unwrap()
}

/// Every value of a key of the unit, in order.
fn values(key: &str) -> Vec<String> {
    let prefix = format!("{key}=");
    unit().lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
}

fn seconds(key: &str) -> u64 {
    values(key).last().unwrap().parse().unwrap()
}

/// Runs one of systemd's tools; says so where there is none.
fn tool(name: &str, args: &[&str]) -> Option<Output> {
    match Command::new(name).args(args).env("SYSTEMD_PAGER", "").output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("SKIPPED: {name}: {error} (Debian: apt install systemd)");
            None
        }
    }
}

#[test]
fn systemd_finds_nothing_to_complain_about() {
    let dir = tempfile::tempdir().unwrap();
    let copy = dir.path().join("metnos.service");
    // The program that the package installs is, here, the one that was just built.
    let here = unit().replace("/usr/lib/metnos/metnos-supervisor", env!("CARGO_BIN_EXE_metnos-supervisor"));
    assert_ne!(here, unit());
    std::fs::write(&copy, here).unwrap();
    let Some(output) = tool("systemd-analyze", &["verify", "--man=no", copy.to_str().unwrap()]) else { return };
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complaints}");
    // It may complain about other units of this machine.
    assert!(!complaints.contains("metnos"), "{complaints}");
}

#[test]
fn the_times_of_the_unit_leave_room_for_those_of_the_supervisor() {
    assert!(seconds("TimeoutStartSec") * 1000 > health::READY_WITHIN_MS);
    assert!(seconds("TimeoutStopSec") * 1000 > stop::STOP_WITHIN_MS);
    assert!(seconds("WatchdogSec") >= 10, "a loaded machine is no reason to be killed");
    assert_eq!(values("Type"), ["notify"]);
    assert_eq!(values("KillMode"), ["mixed"], "only the supervisor may be told to stop: it knows the order");
}

/// Every system call of a set of systemd's.
fn expand(set: &str) -> Option<BTreeSet<String>> {
    let output = tool("systemd-analyze", &["syscall-filter", set])?;
    let text = String::from_utf8(output.stdout).unwrap();
    let mut calls = BTreeSet::new();
    for line in text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('@') {
            calls.extend(expand(line)?);
        } else {
            calls.insert(line.to_owned());
        }
    }
    Some(calls)
}

#[test]
fn the_unit_allows_every_system_call_that_a_daemons_profile_names() {
    let mut allowed = BTreeSet::new();
    for value in values("SystemCallFilter") {
        let (denied, list) = value.strip_prefix('~').map_or((false, value.as_str()), |list| (true, list));
        for word in list.split_whitespace() {
            let calls = if word.starts_with('@') {
                let Some(calls) = expand(word) else { return };
                calls
            } else {
                BTreeSet::from([word.to_owned()])
            };
            if denied {
                allowed.retain(|call| !calls.contains(call));
            } else {
                allowed.extend(calls);
            }
        }
    }
    assert!(allowed.len() > 100, "{allowed:?}");
    for role in RoleName::daemons() {
        let profile = metnos_jail::Profile::load(role.text()).unwrap();
        let missing: Vec<&String> =
            profile.calls.iter().map(|call| &call.name).filter(|name| !allowed.contains(*name)).collect();
        assert!(missing.is_empty(), "{role} needs {missing:?}, which metnos.service forbids");
    }
    // What the supervisor itself lives by.
    for call in
        ["setuid", "setgid", "setgroups", "pidfd_open", "pidfd_send_signal", "waitid", "fchown", "fchmod", "flock"]
    {
        assert!(allowed.contains(call), "{call}");
    }
    assert!(!allowed.contains("io_uring_setup") && !allowed.contains("bpf") && !allowed.contains("ptrace"));
}

#[test]
fn the_unit_keeps_the_traps_open_that_sandboxd_would_fall_into() {
    for (key, why) in [
        ("RestrictSUIDSGID", "openat2() would fail with ENOSYS"),
        ("RestrictNamespaces", "sandboxd builds namespaces"),
        ("ProtectHostname", "sandboxd names its sandboxes"),
        ("ProtectControlGroups", "delegated groups are written"),
        ("ProcSubset", "sandboxd copies /proc"),
        ("PrivateUsers", "the daemons' users would vanish"),
        ("User", "each daemon gets a user of its own"),
    ] {
        assert_eq!(values(key), Vec::<String>::new(), "{why}");
    }
}

#[test]
fn the_packaged_users_are_those_that_the_supervisor_looks_for() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("etc")).unwrap();
    let at = format!("--root={}", root.path().display());
    let Some(output) = tool("systemd-sysusers", &[&at, file("sysusers.d/metnos.conf").to_str().unwrap()]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(root.path().join("etc").join(name)).unwrap();
    let (users, groups) = (read("passwd"), read("group"));
    let chosen = ids::packaged(&users, &groups).expect("not all users were found");
    let ids::Ids::Separate { daemons, egress } = chosen else { panic!("they are separate") };
    let named = daemons.into_iter().map(|(role, id)| (ids::packaged_user(role).unwrap(), id));
    for (user, id) in named.chain([(ids::EGRESS_USER, egress)]) {
        // The database and the supervisor agree on the primary group as well.
        assert!(users.contains(&format!("{user}:x:{}:{}:", id.uid, id.gid)), "{user} in\n{users}");
    }
}

#[test]
fn the_directory_of_the_service_is_made_as_the_supervisor_wants_it() {
    use std::os::unix::fs::MetadataExt;
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: this test needs root");
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let at = format!("--root={}", root.path().display());
    let conf = file("tmpfiles.d/metnos.conf");
    let Some(output) = tool("systemd-tmpfiles", &[&at, "--create", conf.to_str().unwrap()]) else { return };
    assert!(output.status.success(), "{output:?}");
    let made = std::fs::metadata(root.path().join("var/lib/metnos")).unwrap();
    assert_eq!((made.uid(), made.mode() & 0o7777), (0, 0o711));
    assert!(unit().contains("--instance /var/lib/metnos\n"));
}
