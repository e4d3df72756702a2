//! A disk that is full, or can only be read, under a running set: it stays up, says so in words, and goes on by itself.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use metnos_tests::instance::{Instance, Plan, is_root};
use metnos_tests::telegram::Emulator;

/// How large the disk is: room for the instance, and little more.
const DISK: &str = "size=48m";
const DISK_BYTES: u64 = 64 << 20;
/// How long it may take until the set has noticed that there is room again.
const ROOM_WITHIN: Duration = Duration::from_secs(60);

/// A small file system of its own over the folder of an instance that was not started yet.
struct Disk {
    place: PathBuf,
    /// The file that it lies in; none in memory.
    image: Option<tempfile::NamedTempFile>,
}

/// What kind of file system.
#[derive(Clone, Copy)]
enum Kind {
    Memory,
    Ext4,
}

impl Disk {
    /// `None` for those who may not mount, with the reason on standard output.
    fn under(set: &Instance, kind: Kind) -> Option<Self> {
        let place = set.home().to_owned();
        let config = std::fs::read(place.join("metnos.toml")).unwrap();
        let disk = match kind {
            Kind::Memory => Self { place, image: None },
            Kind::Ext4 => Self { place, image: Some(ext4()?) },
        };
        if !disk.mount() {
            println!("skipped: this machine lets nobody mount such a file system here");
            return None;
        }
        std::os::unix::fs::chown(disk.path(), Some(set.owner()), Some(set.owner())).unwrap();
        std::fs::write(disk.path().join("metnos.toml"), config).unwrap();
        std::os::unix::fs::chown(disk.path().join("metnos.toml"), Some(set.owner()), Some(set.owner())).unwrap();
        Some(disk)
    }

    fn mount(&self) -> bool {
        let place = self.place.to_str().unwrap();
        match &self.image {
            None => mount(&["-t", "tmpfs", "-o", DISK, "tmpfs", place]),
            Some(image) => mount(&["-o", "loop,errors=remount-ro", image.path().to_str().unwrap(), place]),
        }
    }

    /// As after an error of the disk: the kernel lets nobody write there any more, whatever is open.
    fn turns_read_only(&self) {
        assert!(mount(&["-o", "remount,abort", self.place.to_str().unwrap()]));
        assert!(std::fs::write(self.place.join("probe"), "x").is_err(), "it can still be written");
    }

    /// What its owner does with such a disk while nothing runs on it.
    fn is_mended(&self) {
        let ran = |command: &mut Command| command.status().unwrap().code().unwrap();
        assert_eq!(ran(Command::new("umount").arg(&self.place)), 0);
        let image = self.image.as_ref().unwrap().path();
        // 1: it was not clean, and is now.
        assert!(ran(Command::new("e2fsck").args(["-f", "-y"]).arg(image)) <= 1);
        assert!(self.mount());
    }

    fn path(&self) -> &Path {
        &self.place
    }

    /// Takes all room but `left` bytes. The daemons write at the same time, so room that was counted may be gone when it is
    /// taken: then it is counted again.
    fn fill(&self, left: u64) {
        let file = std::fs::File::create(self.ballast()).unwrap();
        metnos_tests::until("a disk that is full", ROOM_WITHIN, || {
            let taken = file.metadata().unwrap().len();
            let room = metnos_proto::disk::Room::at(&self.place).unwrap();
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
        self.place.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.place).status();
    }
}

/// An empty ext4 in a file, without blocks that are root's alone; `None` with the reason on standard output.
fn ext4() -> Option<tempfile::NamedTempFile> {
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(DISK_BYTES).unwrap();
    let made = Command::new("mke2fs").args(["-q", "-F", "-t", "ext4", "-m", "0"]).arg(image.path()).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: there is no mke2fs here that makes an ext4");
        return None;
    }
    let spare = Command::new("losetup").arg("--find").output();
    if !spare.is_ok_and(|output| output.status.success()) {
        println!("skipped: this machine has no loop device to spare");
        return None;
    }
    Some(image)
}

fn mount(words: &[&str]) -> bool {
    Command::new("mount").args(words).status().is_ok_and(|status| status.success())
}

fn call(set: &Instance) -> (i32, String) {
    let (code, value) = set.run("fs_read", &["path=notes/welcome.md"]);
    (code, value.to_string())
}

/// An instance on a small disk, not started.
fn on_a_small_disk(kind: Kind) -> Option<(Instance, Disk)> {
    on_a_small_disk_with(kind, "")
}

/// The same with this in its configuration.
fn on_a_small_disk_with(kind: Kind, config: &str) -> Option<(Instance, Disk)> {
    if !is_root() {
        println!("skipped: only root can mount a file system");
        return None;
    }
    let set = Plan::new().config(config).prepare();
    let disk = Disk::under(&set, kind)?;
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
fn full_disk_ends_no_daemon_is_reported_and_recovers() {
    fills_up(Kind::Memory);
}

#[test]
fn full_ext4_ends_no_daemon_is_reported_and_recovers() {
    fills_up(Kind::Ext4);
}

#[test]
fn read_only_disk_stops_no_daemon_and_is_named_until_mended() {
    let Some((mut set, disk)) = on_a_small_disk(Kind::Ext4) else { return };
    set.up();
    set.is_grown();
    assert_eq!(call(&set).0, 0);
    let (before, supervisor) = (set.pids(), set.supervisor());
    // The end of a call's turn is written behind its answer: all of it is on the disk, and in the index, before that stops.
    metnos_tests::until("the end of the turn", ROOM_WITHIN, || {
        set.chronicle().last().is_some_and(|line| line.kind() == "turn_close").then_some(())
    });
    set.verify();
    disk.turns_read_only();
    for _ in 0..5 {
        let (code, said) = call(&set);
        assert!(code != 0 && said.contains("can only be read"), "{said}");
    }
    let written = set.run("fs_write", &["path=notes/new.md", "content=x"]);
    assert!(written.0 != 0 && written.1.to_string().contains("can only be read"), "{written:?}");
    let _ = set.ctl(&["ask", "how many words are in notes/welcome.md"]);
    let (_, doctor) = set.json(&["doctor"]);
    let said = doctor["checks"].as_array().unwrap().iter().find(|one| one["name"] == "disk").unwrap().clone();
    assert!(said["ok"] == false && said["detail"].as_str().unwrap().contains("can only be read"), "{said:#}");
    assert_eq!((set.supervisor(), set.pids()), (supervisor, before), "nobody was started anew");
    set.down();
    disk.is_mended();
    assert!(!set.workspace("notes/new.md").exists(), "nothing was done that was not decided");
    set.up();
    assert_eq!(call(&set).0, 0);
    assert_eq!(set.run("fs_write", &["path=notes/new.md", "content=x"]).0, 0);
    set.verify();
    set.down();
    drop(disk);
}

fn fills_up(kind: Kind) {
    let Some((mut set, disk)) = on_a_small_disk(kind) else { return };
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
fn a_file_for_which_there_is_no_room_has_no_name_before_it_is_whole() {
    const OWNER: i64 = 5_001;
    let server = Emulator::start();
    let Some((mut set, disk)) = on_a_small_disk_with(Kind::Memory, &server.config()) else { return };
    set.up();
    set.is_grown();
    server.serves(&set);
    server.settled();
    server.knows(&set, OWNER, "owner");
    server.told(OWNER, "you are known here");
    // The draft of a call that was ended has no name that anybody is shown, and a later write into the folder sweeps it.
    let names = || -> Vec<_> {
        let entries = std::fs::read_dir(set.workspace("inbox"));
        let names =
            entries.into_iter().flatten().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        names.filter(|name| !name.ends_with(".draft")).collect()
    };
    disk.fill(9 << 20);
    let bytes = vec![7; 19 << 20];
    server.send_file(OWNER, "a.bin", &bytes, "", None);
    server.told(OWNER, "The file was not kept");
    assert!(names().is_empty(), "{:?}", names());
    disk.make_room();
    metnos_tests::until("a set that works again", ROOM_WITHIN, || (call(&set).0 == 0).then_some(()));
    server.send_file(OWNER, "a.bin", &bytes, "", None);
    server.told(OWNER, "Kept as inbox/a.bin");
    assert_eq!(names(), ["a.bin"]);
    set.verify();
    set.down();
    drop(disk);
}

#[test]
fn a_supervisor_whose_log_is_on_the_full_disk_lives_on() {
    let Some((set, disk)) = on_a_small_disk(Kind::Memory) else { return };
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
