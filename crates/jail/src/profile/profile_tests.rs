//! Tests of the profiles as data: what they may hold, and what none of them may.
#![allow(clippy::unwrap_used)]
use super::*;

fn all() -> Vec<Profile> {
    ROLES.iter().map(|role| Profile::load(role).unwrap()).collect()
}

fn grantees(call: &str) -> Vec<String> {
    all().into_iter().filter(|profile| profile.grants(call)).map(|profile| profile.role).collect()
}

const SMALL: &str = r#"
role = "mind"
about = "A profile for tests."
[limits]
core_bytes = 0
open_files = 16
[landlock]
fs = "handled"
[seccomp]
calls = [ { name = "read", why = "reading" } ]
"#;

fn refused(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "the test replaces nothing");
    parse("mind", &SMALL.replace(from, to)).unwrap_err()
}

#[test]
fn every_role_has_a_profile_that_holds_together() {
    for role in ROLES {
        assert_eq!(Profile::load(role).unwrap().role, role);
    }
    assert!(matches!(Profile::load("cook"), Err(JailError::UnknownRole(_))));
}

#[test]
fn only_sandboxd_starts_processes_or_programs() {
    for call in ["clone", "execve", "move_mount"] {
        assert_eq!(grantees(call), ["sandboxd"], "{call}");
    }
    for call in ["clone3", "fork", "vfork", "execveat", "unshare", "setns", "mount"] {
        assert!(grantees(call).iter().all(|role| role == "sandboxd"), "{call}");
    }
}

#[test]
fn only_mind_and_the_door_connect_and_only_the_door_takes_a_place() {
    for call in ["socket", "connect"] {
        assert_eq!(grantees(call), ["gatewayd", "mind"], "{call}");
    }
    assert!(grantees("accept").is_empty());
    // Only a door whose place was taken as it started keeps these two, and Landlock leaves it that one port.
    for call in ["bind", "listen"] {
        assert_eq!(grantees(call), ["gatewayd"], "{call}");
    }
    let listens: Vec<String> = all().into_iter().filter(|one| one.landlock.listen).map(|one| one.role).collect();
    assert_eq!(listens, ["gatewayd"]);
    // At the place that was bound before the lock.
    assert_eq!(grantees("accept4"), ["gatewayd"]);
    let connects: Vec<String> =
        all().into_iter().filter(|profile| profile.landlock.connect).map(|one| one.role).collect();
    assert_eq!(connects, ["gatewayd", "mind"]);
    // Of TCP alone.
    for role in connects {
        let profile = Profile::load(&role).unwrap();
        assert_eq!(profile.calls.iter().find(|call| call.name == "socket").unwrap().checks.len(), 2, "{role}");
    }
}

#[test]
fn unneeded_syscalls_are_removed_from_the_profile() {
    let door = Profile::load("gatewayd").unwrap();
    let calls = door.calls.len();
    let spared = ["socket", "connect", "bind", "listen"];
    let without = door.without(&spared);
    assert_eq!(without.calls.len(), calls - spared.len());
    assert!(!without.calls.iter().any(|call| spared.contains(&call.name.as_str())));
}

#[test]
fn no_profile_lists_ptrace_like_or_filter_evading_syscalls() {
    for call in [
        "ptrace",
        "process_vm_readv",
        "process_vm_writev",
        "pidfd_getfd",
        "pidfd_open",
        "kill",
        "tkill",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "bpf",
        "perf_event_open",
        "keyctl",
        "add_key",
        "request_key",
        "userfaultfd",
        "personality",
        "setuid",
        "setgid",
        "setresuid",
        "setgroups",
        "init_module",
        "finit_module",
        "kexec_load",
        "pkey_mprotect",
        "open_by_handle_at",
    ] {
        assert!(grantees(call).is_empty(), "{call}");
    }
}

#[test]
fn only_the_keepers_of_files_open_any() {
    const KEEPERS: [&str; 3] = ["policyd", "sandboxd", "memoryd"];
    assert_eq!(grantees("openat"), KEEPERS);
    for call in ["open", "openat2", "unlink", "unlinkat", "rename", "newfstatat"] {
        assert!(grantees(call).iter().all(|role| KEEPERS.contains(&role.as_str())), "{call}");
    }
    // mind and the door cut files that were open before their lock.
    assert!(
        grantees("ftruncate")
            .iter()
            .all(|role| ["gatewayd", "mind"].contains(&role.as_str()) || KEEPERS.contains(&role.as_str()))
    );
}

#[test]
fn powerful_syscalls_have_argument_checks_except_in_sandboxd() {
    for profile in all().iter().filter(|profile| profile.role != "sandboxd") {
        for name in ["mmap", "mprotect", "fcntl", "prctl", "tgkill", "ioctl"] {
            for call in profile.calls.iter().filter(|call| call.name == name) {
                assert!(!call.checks.is_empty(), "{}: {name}", profile.role);
            }
        }
    }
}

#[test]
fn unlisted_syscall_kills_every_daemon_except_sandboxd() {
    let spared: Vec<String> = all().into_iter().filter(|p| p.unnamed.is_some()).map(|p| p.role).collect();
    assert_eq!(spared, ["sandboxd"]);
    for profile in all().iter().filter(|profile| profile.role != "sandboxd") {
        assert!(profile.refuse.is_empty(), "{}", profile.role);
    }
}

#[test]
fn no_daemon_dumps_its_memory() {
    assert!(all().iter().all(|profile| profile.limits.core_bytes == 0));
}

#[test]
fn only_sandboxd_leaves_its_files_to_a_namespace() {
    for profile in all() {
        let namespace = profile.landlock.fs == Fs::Namespace;
        assert_eq!(namespace, profile.role == "sandboxd", "{}", profile.role);
    }
}

#[test]
fn each_keeper_of_files_has_its_own_places() {
    let places = |role| -> Vec<(String, Access)> {
        let profile = Profile::load(role).unwrap();
        profile.landlock.places.into_iter().map(|place| (place.name, place.access)).collect()
    };
    assert_eq!(places("policyd"), [("policy".to_owned(), Access::Write), ("workspace".to_owned(), Access::Read)]);
    let memoryd = places("memoryd");
    assert!(memoryd.contains(&("workspace".to_owned(), Access::Read)));
    assert!(!memoryd.iter().any(|(name, _)| name == "policy"));
    for role in ["gatewayd", "planner", "mind", "syntd"] {
        assert!(places(role).is_empty(), "{role}");
    }
}

#[test]
fn a_small_profile_is_accepted_as_it_stands() {
    assert_eq!(parse("mind", SMALL).unwrap().calls.len(), 1);
}

#[test]
fn a_call_without_a_reason_is_refused() {
    assert!(refused("\"reading\"", "\" \"").contains("no reason"));
    assert!(refused(", why = \"reading\"", "").contains("why"));
}

#[test]
fn a_call_that_is_there_twice_is_refused() {
    let twice = "[ { name = \"read\", why = \"a\" }, { name = \"read\", why = \"b\" } ]";
    assert!(refused("[ { name = \"read\", why = \"reading\" } ]", twice).contains("twice"));
    let both = "[ { name = \"read\", why = \"a\" } ]\nrefuse = [ { name = \"read\", errno = \"EPERM\", why = \"b\" } ]";
    assert!(refused("[ { name = \"read\", why = \"reading\" } ]", both).contains("twice"));
}

#[test]
fn an_unknown_call_key_or_constant_is_refused() {
    assert!(refused("\"read\"", "\"make_coffee\"").contains("make_coffee"));
    assert!(refused("about =", "colour = \"red\"\nabout =").contains("colour"));
    assert!(refused("why =", "when = [\"arg0 == COFFEE\"], why =").contains("COFFEE"));
    assert!(refused("why =", "wen = [], why =").contains("wen"));
}

#[test]
fn a_call_of_one_architecture_is_marked_and_no_other() {
    assert!(refused("\"read\"", "\"open\"").contains("needs arch"));
    assert!(refused("why =", "arch = \"x86_64\", why =").contains("not only"));
}

#[test]
fn the_filters_own_call_cannot_be_refused_with_an_error() {
    let refuse = "calls = []\nrefuse = [ { name = \"seccomp\", errno = \"EPERM\", why = \"b\" } ]";
    let from = "calls = [ { name = \"read\", why = \"reading\" } ]";
    assert!(refused(from, refuse).contains("need it"));
}

#[test]
fn a_profile_of_another_role_is_refused() {
    assert!(parse("planner", SMALL).unwrap_err().contains("mind"));
}

#[test]
fn places_beside_a_namespace_are_refused() {
    let place = "fs = \"namespace\"\n[[landlock.place]]\nname = \"a\"\naccess = \"read\"\nwhy = \"b\"";
    assert!(refused("fs = \"handled\"", place).contains("namespace"));
}

#[test]
fn errno_for_failed_checks_needs_equality_checks_and_only_in_sandboxd() {
    let checked = "when = [\"low(arg1) == 1\", \"low(arg1) == 2\"], otherwise = \"EPERM\", why =";
    let profile = parse("mind", &SMALL.replace("why =", checked)).unwrap();
    assert_eq!(profile.calls[0].otherwise, Some(Errno::NotPermitted));
    assert!(refused("why =", "otherwise = \"EPERM\", why =").contains("needs checks"));
    assert!(refused("why =", "when = [\"low(arg1) & 4 == 0\"], otherwise = \"EPERM\", why =").contains("equality"));
    // Nobody but sandboxd, whose executors start below its filter.
    let spared = |profile: &&Profile| profile.calls.iter().any(|call| call.otherwise.is_some());
    let roles: Vec<String> = all().iter().filter(spared).map(|profile| profile.role.clone()).collect();
    assert_eq!(roles, ["sandboxd"]);
}
