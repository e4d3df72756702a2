//! Start and stop: as an ordinary user and as root, once per directory, cleanly and with nothing left.

use std::time::{Duration, Instant};

use metnos_tests::bins::NAMES;
use metnos_tests::instance::{Instance, Plan, STOP_WITHIN};
use metnos_tests::procfs::{self, Status};
use metnos_tests::until;

/// What a clean stop may take (architecture §4), and a little for a busy machine.
const CLEAN_STOP: Duration = Duration::from_secs(8);

fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

fn assert_nothing_left(set: &Instance, before: &[u32]) {
    until("no process left", STOP_WITHIN, || set.left_over().is_empty().then_some(()));
    // One that is ending has let go of its files, so that nothing says any more whose it is, before it is dead.
    for pid in before {
        until(&format!("process {pid} has ended"), STOP_WITHIN, || (!procfs::alive(*pid)).then_some(()));
    }
}

#[test]
fn an_ordinary_user_starts_a_new_instance_and_stops_it_without_a_trace() {
    let mut set = Instance::start();
    let pids: Vec<u32> = set.pids().into_values().collect();
    assert_eq!(pids.len(), 7);
    for pid in &pids {
        assert_eq!(Status::of(*pid).unwrap().ids("Uid"), [set.owner(); 4], "all share the uid of the user");
    }
    let (_, status) = set.json(&["status"]);
    assert_eq!(status["uids_separate"].as_bool(), Some(false), "{status:#}");
    let began = Instant::now();
    assert!(set.down().success());
    assert!(began.elapsed() < CLEAN_STOP, "{:?}", began.elapsed());
    assert_nothing_left(&set, &pids);
}

#[test]
fn a_stopped_instance_starts_again_and_remembers() {
    let mut set = Instance::start();
    let _text = set.ask("read notes/welcome.md");
    let lines = set.chronicle().len();
    set.down();
    set.up();
    let _text = set.ask("read notes/welcome.md");
    assert!(set.chronicle().len() > lines);
    set.verify();
}

#[test]
fn second_start_in_same_directory_disturbs_no_daemon() {
    let set = Instance::start();
    let before = set.pids();
    for words in [&["up"][..], &["up", "--detach"]] {
        let (code, value) = set.json(words);
        assert_eq!((code, value["state"].as_str()), (0, Some("already_running")), "{words:?}: {value:#}");
        assert_eq!(value["pid"].as_u64(), Some(u64::from(set.supervisor())));
    }
    // And who goes past the owner's hand meets the lock of the directory.
    let output = set.command("metnos-supervisor").args(["--spawn", "--instance"]).arg(set.home()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("already run by process"), "{said}");
    assert_eq!(set.pids(), before);
    let _text = set.ask("read notes/welcome.md");
}

#[test]
fn two_instances_side_by_side_do_not_know_of_each_other() {
    let (one, two) = (Instance::start(), Instance::start());
    std::fs::write(one.workspace("notes/only-here.md"), "one").unwrap();
    assert_eq!(one.ask("read notes/only-here.md").trim_end(), "one");
    assert_eq!(two.run("fs_read", &["path=notes/only-here.md"]).0, 1);
}

#[test]
fn detached_it_is_ready_when_the_command_returns_and_down_stops_it() {
    let set = Plan::new().prepare();
    let output = set.ctl(&["up", "--detach"]);
    assert!(output.status.success(), "{output:?}\n{}", set.logs());
    let pids: Vec<u32> = set.pids().into_values().collect();
    assert!(carried_warm(&set) > 100, "the birth tests of a first start run in warm processes");
    let _text = set.ask("read notes/welcome.md");
    assert!(set.ctl(&["down"]).status.success());
    assert_nothing_left(&set, &pids);
    assert_eq!(set.ctl(&["status"]).status.code(), Some(3), "nobody answers any more");
}

/// How many calls a warm process has carried, as `status` says.
fn carried_warm(set: &Instance) -> u64 {
    let status: serde_json::Value = serde_json::from_slice(&set.ctl(&["status", "--json"]).stdout).unwrap();
    let layers = status["sandbox"]["layers"].as_array().unwrap();
    let pool = layers.iter().filter_map(|layer| layer.as_str()).find(|layer| layer.starts_with("pool: ")).unwrap();
    pool.split(", ").find_map(|part| part.strip_suffix(" warm")).unwrap().parse().unwrap()
}

#[test]
fn an_interrupt_at_the_terminal_stops_everything() {
    let mut set = Instance::start();
    let pids: Vec<u32> = set.pids().into_values().collect();
    signal(set.supervisor(), rustix::process::Signal::INT);
    let _status = set.ended();
    assert_nothing_left(&set, &pids);
}

#[test]
fn a_killed_supervisor_takes_its_daemons_with_it() {
    let mut set = Instance::start();
    let pids: Vec<u32> = set.pids().into_values().collect();
    signal(set.supervisor(), rustix::process::Signal::KILL);
    let _status = set.ended();
    assert_nothing_left(&set, &pids);
    // And nothing of that keeps it from starting again.
    set.up();
    let _text = set.ask("read notes/welcome.md");
    set.verify();
}

#[test]
fn a_configuration_with_an_unknown_key_stops_the_start_with_a_suggestion() {
    let set = Plan::new().config("[instance]\nlangg = \"it\"\n").prepare();
    let output = set.ctl(&["up", "--detach"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("langg") && said.contains("lang"), "{said}");
    // What could not start has said why before it ends.
    until("the end of what could not start", STOP_WITHIN, || set.left_over().is_empty().then_some(()));
}

#[test]
fn the_instance_is_closed_to_other_users() {
    use std::os::unix::fs::PermissionsExt;
    let set = Instance::start();
    let mode = |path: &str| std::fs::metadata(set.home().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    assert_eq!(mode(".policy/instance.key"), 0o600);
}

#[test]
fn no_binary_that_ships_knows_an_attack() {
    use metnos_tests::bins::Build;
    // Names of acts that stand in the test build as text, and could only be there with the feature.
    let traces: [&[u8]; 3] = [b"unshare-user", b"process-vm-readv", b"abstract-connect"];
    let contains = |bytes: &[u8], trace: &[u8]| bytes.windows(trace.len()).any(|window| window == trace);
    let mut known_in_test_build = 0;
    for name in NAMES {
        let shipped = std::fs::read(Build::Shipped.binary(name)).unwrap();
        let attack = std::fs::read(Build::Attack.binary(name)).unwrap();
        for trace in traces {
            assert!(!contains(&shipped, trace), "{name} ships with {}", String::from_utf8_lossy(trace));
            known_in_test_build += usize::from(contains(&attack, trace));
        }
    }
    assert!(known_in_test_build >= 7 * traces.len(), "the traces are not what this test takes them for");
}

mod as_root {
    use std::collections::BTreeSet;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn each_daemon_has_a_uid_of_its_own_and_none_is_root() {
        let mut set = Plan::new().as_root().start();
        let pids = set.pids();
        let uids: BTreeSet<u32> = pids.values().map(|pid| Status::of(*pid).unwrap().ids("Uid")[0]).collect();
        assert_eq!(uids.len(), 7, "{uids:?}");
        assert!(!uids.contains(&0));
        for (name, pid) in &pids {
            let status = Status::of(*pid).unwrap();
            let (uid, gid) = (status.ids("Uid"), status.ids("Gid"));
            assert!(uid.iter().all(|id| *id == uid[0]) && gid.iter().all(|id| *id == gid[0] && *id != 0), "{name}");
            assert!(
                status.get("Groups").split_whitespace().all(|group| group != "0"),
                "{name}: {}",
                status.get("Groups")
            );
        }
        let (_, status) = set.json(&["status"]);
        assert_eq!(status["uids_separate"].as_bool(), Some(true), "{status:#}");
        let all: Vec<u32> = pids.into_values().collect();
        set.down();
        assert_nothing_left(&set, &all);
    }

    #[test]
    fn files_belong_only_to_those_who_need_them() {
        let set = Plan::new().as_root().start();
        let pids = set.pids();
        let uid_of = |name: &str| Status::of(pids[name]).unwrap().ids("Uid")[0];
        let file = |path: &str| std::fs::metadata(set.home().join(path)).unwrap();
        for (path, owner, mode) in [
            (".policy", "policyd", 0o700),
            (".policy/instance.key", "policyd", 0o600),
            (".audit", "memoryd", 0o700),
            (".mnestome", "memoryd", 0o700),
        ] {
            assert_eq!(file(path).uid(), uid_of(owner), "{path}");
            assert_eq!(file(path).permissions().mode() & 0o777, mode, "{path}");
        }
        assert_eq!(file("").permissions().mode() & 0o777, 0o711);
        assert_eq!(file("workspace").permissions().mode() & 0o007, 0, "the workspace is closed to others");
    }

    #[test]
    fn owner_can_change_files_made_by_executors() {
        use std::os::unix::process::CommandExt;

        const OWNER: u32 = 64_320;
        const STRANGER: u32 = 64_321;
        let config = format!("[instance]\nowner_uid = {OWNER}\n");
        let set = Plan::new().as_root().config(&config).start();
        set.is_grown();
        for (executor, words) in [
            ("fs_write", ["path=new/deep/written.md", "content=a"]),
            ("fs_append", ["path=added/appended.md", "content=a\n"]),
            ("note_add", ["text=a", ""]),
        ] {
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let (code, said) = set.run(executor, &words);
            assert_eq!(code, 0, "{executor}: {said:#}");
        }
        let does = |uid: u32, what: &str| {
            let mut command = std::process::Command::new("sh");
            command.args(["-c", what]).current_dir("/").uid(uid).gid(uid).env("W", set.workspace(""));
            command.output().unwrap()
        };
        let list =
            does(OWNER, "cd $W && find . -newer notes/welcome.md -type f ! -path '*/.trash/*' ! -path './executors/*'");
        let made = String::from_utf8(list.stdout).unwrap();
        for path in ["./new/deep/written.md", "./added/appended.md"] {
            assert!(made.contains(path), "{made}");
        }
        for path in made.lines() {
            let output =
                does(OWNER, &format!("cd $W && echo b >> '{path}' && touch \"$(dirname '{path}')/beside.md\""));
            assert!(output.status.success(), "{path}: {output:?}");
            assert!(!does(STRANGER, &format!("cat $W/'{path}'")).status.success(), "{path}");
            assert_eq!(file_mode(&set, path) & 0o007, 0, "{path}: nothing for others");
        }
        // And sandboxd changes on what the owner has changed.
        let (code, said) = set.run("fs_append", &["path=added/appended.md", "content=c\n"]);
        assert_eq!(code, 0, "{said:#}");
        set.verify();
    }

    fn file_mode(set: &Instance, path: &str) -> u32 {
        std::fs::metadata(set.workspace(path)).unwrap().permissions().mode()
    }

    #[test]
    fn a_set_whose_binaries_lie_in_a_closed_folder_starts() {
        let set = Plan::new().as_root().prepare();
        let closed = tempfile::tempdir().unwrap();
        std::fs::set_permissions(closed.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        for name in NAMES {
            std::fs::copy(metnos_tests::bins::Build::Shipped.binary(name), closed.path().join(name)).unwrap();
        }
        let ctl = |words: &[&str]| {
            let mut command = std::process::Command::new(closed.path().join("metnosctl"));
            command.args(words).env("METNOS_HOME", set.home()).output().unwrap()
        };
        let output = ctl(&["up", "--detach"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(ctl(&["ask", "read notes/welcome.md"]).status.success());
        assert!(ctl(&["down"]).status.success());
    }
}
