//! A disk that is full, or can only be read, under a running set: it stays up, says so in words, and goes on by itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan, is_root};

/// How large the disk is: room for the instance, and little more.
const DISK: &str = "size=48m";
/// How long it may take until the set has noticed that there is room again.
const ROOM_WITHIN: Duration = Duration::from_secs(60);

/// A small file system of its own over the folder of an instance that was not started yet.
struct Disk(PathBuf);

impl Disk {
    /// `None` for those who may not mount, with the reason on standard output.
    fn under(set: &Instance) -> Option<Self> {
        let place = set.home().to_owned();
        let config = std::fs::read(place.join("metnos.toml")).unwrap();
        if !mount(&["-t", "tmpfs", "-o", DISK, "tmpfs", place.to_str().unwrap()]) {
            println!("skipped: this machine lets nobody mount a file system here");
            return None;
        }
        let disk = Self(place);
        std::os::unix::fs::chown(&disk.0, Some(set.owner()), Some(set.owner())).unwrap();
        std::fs::write(disk.0.join("metnos.toml"), config).unwrap();
        std::os::unix::fs::chown(disk.0.join("metnos.toml"), Some(set.owner()), Some(set.owner())).unwrap();
        Some(disk)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all room but `left` bytes. The daemons write at the same time, so room that was counted may be gone when it is
    /// taken: then it is counted again.
    fn fill(&self, left: u64) {
        let file = std::fs::File::create(self.ballast()).unwrap();
        metnos_tests::until("a disk that is full", ROOM_WITHIN, || {
            let taken = file.metadata().unwrap().len();
            let room = metnos_proto::disk::Room::at(&self.0).unwrap();
            let bytes = room.free.saturating_sub(left);
            if bytes == 0 {
                return Some(());
            }
            match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), taken, bytes) {
                Ok(()) => Some(()),
                Err(rustix::io::Errno::NOSPC) => None,
                Err(error) => panic!("{error}"),
            }
        });
    }

    fn make_room(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn mount(words: &[&str]) -> bool {
    Command::new("mount").args(words).status().is_ok_and(|status| status.success())
}

fn call(set: &Instance) -> (i32, String) {
    let (code, value) = set.run("fs_read", &["path=notes/welcome.md"]);
    (code, value.to_string())
}

/// An instance on a small disk, not started.
fn on_a_small_disk() -> Option<(Instance, Disk)> {
    if !is_root() {
        println!("skipped: only root can mount a file system");
        return None;
    }
    let set = Plan::new().prepare();
    let disk = Disk::under(&set)?;
    Some((set, disk))
}

/// A supervisor that has left the terminal, and must not outlive its test.
struct Detached(rustix::process::Pid);

impl Drop for Detached {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::KILL);
    }
}

fn pid(number: u32) -> rustix::process::Pid {
    rustix::process::Pid::from_raw(number.cast_signed()).unwrap()
}

#[test]
fn a_full_disk_ends_nobody_is_named_and_is_over_when_there_is_room() {
    let Some((mut set, disk)) = on_a_small_disk() else { return };
    set.up();
    set.is_grown();
    assert_eq!(call(&set).0, 0);
    let (before, supervisor) = (set.pids(), set.supervisor());
    for left in [256 * 1024, 0] {
        disk.fill(left);
        for _ in 0..5 {
            let (code, said) = call(&set);
            assert!(code != 0 && said.contains("full"), "{said}");
        }
        // Daemons that say something while nothing can be written.
        let _ = set.ctl(&["ask", "how many words are in notes/welcome.md"]);
        let status = set.json(&["status"]).1;
        assert!(status["disk"]["missing_bytes"].as_u64().unwrap() > 0, "{status:#}");
        let (_, doctor) = set.json(&["doctor"]);
        let said = doctor["checks"].as_array().unwrap().iter().find(|one| one["name"] == "disk").unwrap().clone();
        assert!(said["ok"] == false && said["detail"].as_str().unwrap().contains("is full"), "{said:#}");
        // The owner can still stop everything.
        if left > 0 {
            assert_eq!(set.json(&["panic"]).0, 0);
            assert_eq!(set.json(&["resume"]).0, 0);
        }
        disk.make_room();
        metnos_tests::until("a set that works again", ROOM_WITHIN, || (call(&set).0 == 0).then_some(()));
    }
    assert_eq!(set.supervisor(), supervisor);
    assert_eq!(set.pids(), before, "nobody was started anew");
    set.verify();
    set.down();
    set.up();
    assert_eq!(call(&set).0, 0);
    set.verify();
    set.down();
    drop(disk);
}

#[test]
fn a_supervisor_whose_log_is_on_the_full_disk_lives_on() {
    let Some((set, disk)) = on_a_small_disk() else { return };
    let log = disk.path().join("run").join("supervisor.log");
    let output = set.ctl(&["up", "--detach"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let supervisor = set.json(&["status"]).1["pid"].as_u64().unwrap();
    let _detached = Detached(pid(u32::try_from(supervisor).unwrap()));
    set.wait_ready(ROOM_WITHIN);
    set.is_grown();
    let before = set.pids();
    // The next line of the log needs a page of its own.
    let size = std::fs::metadata(&log).unwrap().len();
    let padding = vec![b'\n'; usize::try_from(4096 - size % 4096).unwrap()];
    let mut file = std::fs::File::options().append(true).open(&log).unwrap();
    std::io::Write::write_all(&mut file, &padding).unwrap();
    disk.fill(0);
    // The supervisor says in its log that it ends, and starts anew; there is no room for either line.
    let killed = before["mind"];
    rustix::process::kill_process(pid(killed), rustix::process::Signal::KILL).unwrap();
    set.wait_back("mind", killed);
    disk.make_room();
    metnos_tests::until("a set that works again", ROOM_WITHIN, || (call(&set).0 == 0).then_some(()));
    let now = set.pids();
    for (name, pid) in &before {
        assert!(name == "mind" || now[name] == *pid, "{name} was started anew");
    }
    // It says what was lost before the next line that it writes.
    assert_eq!(set.json(&["daemon", "restart", "syntd"]).0, 0);
    assert!(std::fs::read_to_string(log).unwrap().contains("lines of this log could not be written"));
    set.verify();
    assert!(set.ctl(&["down"]).status.success());
}

/// Sources of what runs as a daemon, without their tests.
fn sources_of_daemons() -> Vec<PathBuf> {
    fn below(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for daemon in ["supervisor", "gatewayd", "mind", "policyd", "sandboxd", "memoryd", "syntd", "egress"] {
        below(&root.join(daemon).join("src"), &mut found);
    }
    found.retain(|path| !path.ends_with("bin/puppet.rs") && !path.to_str().unwrap().contains("test"));
    found
}

#[test]
fn no_daemon_prints_where_a_full_disk_would_end_it() {
    for path in sources_of_daemons() {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (at, line) in code.lines().enumerate() {
            let prints =
                ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("].iter().any(|word| line.contains(word));
            let logs = line.contains("tracing_subscriber::fmt()") && !line.contains("metnos_proto::log::stderr");
            assert!(!prints && !logs, "{}:{}: {line}: see proto/src/log.rs", path.display(), at + 1);
        }
    }
}
