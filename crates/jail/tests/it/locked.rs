//! A real lock on a real process of another uid: what it reports, what stops it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{Ended, Ground, NOBODY, as_root, ended, lines};
use metnos_jail::{Layer, ROLES};

fn has(lines: &[String], line: &str) {
    assert!(lines.iter().any(|seen| seen == line), "no '{line}' in {lines:#?}");
}

fn number(lines: &[String], name: &str) -> u64 {
    let line = lines.iter().find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {lines:#?}")).parse().unwrap()
}

fn error(lines: &[String]) -> &str {
    lines.iter().find_map(|line| line.strip_prefix("error ")).unwrap_or_else(|| panic!("{lines:#?}"))
}

#[test]
fn every_daemon_can_be_locked_and_sees_its_whole_lock() {
    let ground = Ground::new();
    for role in ROLES {
        let lines = ground.lines(role, &[]);
        has(&lines, &format!("role {role}"));
        for line in ["no_new_privs true", "dumpable false", "seccomp_mode 2", "caps_empty true", "waived none"] {
            has(&lines, line);
        }
        let fs = if role == "sandboxd" { "fs namespace" } else { "fs handled" };
        has(&lines, fs);
        assert!(number(&lines, "landlock_abi") >= 1);
        assert!(number(&lines, "pss_kib") > 0, "memory is readable after the lock");
        if as_root() {
            has(&lines, &format!("uid {NOBODY}"));
        }
    }
}

#[test]
fn ports_and_scopes_are_kept_by_landlock_where_the_kernel_can() {
    let lines = Ground::new().lines("planner", &[]);
    let abi = number(&lines, "landlock_abi");
    has(&lines, if abi >= 4 { "net landlock" } else { "net seccomp-only" });
    has(&lines, &format!("scopes {}", abi >= 6));
}

#[test]
fn a_process_of_root_is_refused() {
    if !as_root() {
        println!("skipped: only root can start a process as root");
        return;
    }
    let ground = Ground::new();
    let output = std::process::Command::new(ground.program()).arg("planner").output().unwrap();
    assert!(error(&lines(&output)).contains("as root"));
}

#[test]
fn the_bounding_set_is_empty_when_the_starter_emptied_it() {
    if metnos_jail::drop_bounding_set().is_err() {
        assert!(!as_root(), "root may empty its bounding set");
        println!("skipped: an ordinary user cannot empty the bounding set");
        return;
    }
    has(&Ground::new().lines("planner", &[]), "bounding_empty true");
}

#[test]
fn threads_that_the_lock_would_not_reach_are_refused() {
    let ground = Ground::new();
    assert!(error(&ground.lines("policyd", &["threads=2"])).contains("2 threads"));
}

#[test]
fn a_thread_started_in_the_middle_has_every_layer() {
    let ground = Ground::new();
    let run = |words: &[&str]| ground.command("policyd").arg("between=thread").args(words).output().unwrap();
    assert_eq!(ended("fork", &run(&["act=fork"])), Ended::KilledByFilter);
    let without_filter = run(&["waive=seccomp", "act=read-file"]);
    assert_eq!(ended("read-file", &without_filter), Ended::Stopped(libc::EACCES));
}

#[test]
fn a_lock_that_does_not_hold_stops_the_start() {
    let lines = Ground::new().lines("planner", &["between=dumpable"]);
    has(&lines, "between Ok(\"dumpable\")");
    assert_eq!(error(&lines), "the lock does not hold: dumpable should be 0 and is 1");
}

#[test]
fn kernel_without_landlock_is_refused_unless_waiver_is_reported() {
    let ground = Ground::new();
    let refused = ground.lines("planner", &["missing=landlock"]);
    assert!(error(&refused).starts_with("this kernel cannot apply landlock"));
    let waived = ground.lines("planner", &["missing=landlock", "waive=landlock"]);
    for line in ["landlock_abi 0", "fs waived", "net waived", "scopes false", "waived landlock", "seccomp_mode 2"] {
        has(&waived, line);
    }
}

#[test]
fn kernel_without_seccomp_is_refused_unless_waiver_is_reported() {
    let ground = Ground::new();
    let refused = ground.lines("planner", &["missing=seccomp"]);
    assert!(error(&refused).starts_with("this kernel cannot apply seccomp"));
    let waived = ground.lines("planner", &["missing=seccomp", "waive=seccomp"]);
    has(&waived, "waived seccomp");
    has(&waived, "fs handled");
}

#[test]
fn no_new_privs_cannot_be_waived_alone() {
    let lines = Ground::new().lines("planner", &["waive=no_new_privs"]);
    assert!(error(&lines).contains("only be waived together"));
}

#[test]
fn a_missing_place_stops_the_start() {
    let ground = Ground::new();
    let output = ground.unlocked(ground.program().to_str().unwrap()).arg("policyd").output().unwrap();
    assert!(error(&lines(&output)).contains("needs the place 'policy'"));
}

#[test]
fn a_keeper_of_files_reaches_its_own_places_and_no_other() {
    let ground = Ground::new();
    let (audit, workspace) = (ground.folder("audit"), ground.folder("workspace"));
    let (policy, soul) = (ground.folder("policy"), ground.file("workspace", "SOUL.md"));
    let memoryd = |act: &str, aim: &str| ground.attempt("memoryd", &[], act, Some(aim));
    assert_eq!(memoryd("make-file", &audit), Ended::Succeeded);
    assert_eq!(memoryd("read-file", &soul), Ended::Succeeded);
    assert_eq!(memoryd("make-file", &workspace), Ended::Stopped(libc::EACCES));
    assert_eq!(memoryd("make-file", &policy), Ended::Stopped(libc::EACCES));
    assert_eq!(memoryd("list-folder", &policy), Ended::Stopped(libc::EACCES));
    let policyd = |act: &str, aim: &str| ground.attempt("policyd", &[], act, Some(aim));
    assert_eq!(policyd("make-file", &policy), Ended::Succeeded);
    assert_eq!(policyd("list-folder", &audit), Ended::Stopped(libc::EACCES));
    assert_eq!(policyd("read-file", &soul), Ended::Succeeded);
    assert_eq!(policyd("make-file", &workspace), Ended::Stopped(libc::EACCES));
}

#[test]
fn capabilities_that_a_daemon_was_started_with_are_gone() {
    let ground = Ground::new();
    let run = |words: &[&str]| {
        let keep = ["--user", "--map-current-user", "--keep-caps", "--"];
        let program = ground.program();
        ground.unlocked("unshare").args(keep).arg(program).arg("planner").args(words).output().unwrap()
    };
    let kept = run(&["waive=seccomp", "waive=caps", "act=chroot"]);
    if !kept.status.success() {
        let why = String::from_utf8_lossy(&kept.stderr).into_owned();
        println!("skipped: no user namespace for an ordinary user here: {why}");
        return;
    }
    has(&lines(&kept), "caps_empty false");
    assert_eq!(ended("chroot", &kept), Ended::Succeeded);
    let dropped = run(&["waive=seccomp", "act=chroot"]);
    has(&lines(&dropped), "caps_empty true");
    has(&lines(&dropped), "bounding_empty true");
    assert_eq!(ended("chroot", &dropped), Ended::Stopped(libc::EPERM));
}

#[test]
fn a_locked_process_is_closed_to_others_of_its_uid() {
    let ground = Ground::new();
    let mut child =
        ground.command("sandboxd").arg("hold=yes").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "holding\n" {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it was locked");
    }
    let environment = format!("/proc/{}/environ", child.id());
    let all: Vec<Layer> = Layer::ALL.to_vec();
    let seen = ground.attempt("planner", &all, "read-file", Some(&environment));
    assert_eq!(seen, Ended::Stopped(libc::EACCES));
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn a_bonded_process_dies_with_its_starter() {
    let ground = Ground::new();
    let script = "\"$0\" planner bond=yes & wait";
    let mut shell = ground
        .unlocked("sh")
        .args(["-c", script, ground.program().to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(shell.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "bonded\n");
    shell.kill().unwrap();
    shell.wait().unwrap();
    // The bonded process holds the other end until it is dead, so this would never end.
    said.read_to_string(&mut line).unwrap();
}
