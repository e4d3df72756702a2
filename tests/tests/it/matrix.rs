//! From outside: the sockets of the running set are exactly the matrix, with one holder an end, and every
//! daemon's lock is what the kernel says, not what the daemon says.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use metnos_proto::edges::EdgeId;
use metnos_proto::role::RoleName;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::procfs::{self, Status};
use metnos_tests::sockets::{self, UnixSocket};

/// Pairs of processes as the matrix has them, by name; the supervisor is tied to everybody, and what dials to sandboxd.
fn intended(names: &BTreeMap<u32, String>) -> BTreeMap<(String, String), usize> {
    let mut pairs = BTreeMap::new();
    if names.values().any(|name| name == DIALS) {
        pairs.insert((DIALS.to_owned(), RoleName::Sandboxd.text().to_owned()), 1);
    }
    for edge in EdgeId::ALL.iter().filter(|edge| !edge.is_admin()) {
        let mut pair = [edge.asker().text(), edge.answerer().text()];
        pair.sort_unstable();
        *pairs.entry((pair[0].to_owned(), pair[1].to_owned())).or_default() += 1;
    }
    pairs
}

/// What dials for executors where users are separate: a child of the supervisor whose one line leads to sandboxd.
const DIALS: &str = "egress";

/// Who is which process; the supervisor too, and what dials for executors.
fn names(set: &Instance) -> BTreeMap<u32, String> {
    let mut names: BTreeMap<u32, String> = set.pids().into_iter().map(|(name, pid)| (pid, name)).collect();
    let supervisor = set.supervisor();
    let of_its_own = |pid: &u32| procfs::parent(*pid) == Some(supervisor) && !names.contains_key(pid);
    let dials: Vec<u32> = procfs::processes().into_iter().filter(of_its_own).collect();
    names.extend(dials.into_iter().map(|pid| (pid, DIALS.to_owned())));
    names.insert(set.supervisor(), "supervisor".to_owned());
    names
}

/// The Unix sockets that a person of the set holds, but for sandboxd's lines to its own children, which lead to no other
/// process of the set and to none outside.
fn held(names: &BTreeMap<u32, String>) -> Vec<UnixSocket> {
    let all = sockets::unix();
    let by_inode: BTreeMap<u64, &UnixSocket> = all.iter().map(|socket| (socket.inode, socket)).collect();
    let sandboxd = names.iter().find(|(_, name)| *name == "sandboxd").map_or(0, |(pid, _)| *pid);
    // Listed after the sockets, so that a child that was just made is among them.
    let below: BTreeSet<u32> = procfs::descendants(sandboxd).into_iter().chain([sandboxd]).collect();
    let within = |socket: &UnixSocket| socket.holders.iter().all(|(pid, _)| below.contains(pid));
    let inner = |socket: &UnixSocket| {
        // On its way to a child, the other end is held by nobody for a moment.
        socket.peer != 0 && within(socket) && by_inode.get(&socket.peer).is_none_or(|peer| within(peer))
    };
    let ours = |socket: &&UnixSocket| socket.holders.iter().any(|(pid, _)| names.contains_key(pid)) && !inner(socket);
    all.iter().filter(ours).cloned().collect()
}

fn assert_exactly_the_matrix(set: &Instance) {
    let names = names(set);
    // The command that has just told the names may still be on its way out at the supervisor's end.
    let sockets = metnos_tests::until("no command is on its way out", std::time::Duration::from_secs(5), || {
        let sockets = held(&names);
        let is_left = |socket: &UnixSocket| socket.kind == "u_str" && socket.state == "ESTAB" && socket.peer == 0;
        (!sockets.iter().any(is_left)).then_some(sockets)
    });
    let by_inode: BTreeMap<u64, &UnixSocket> = sockets.iter().map(|socket| (socket.inode, socket)).collect();
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    for socket in sockets.iter().filter(|socket| socket.kind == "u_seq") {
        assert_eq!(socket.holders.len(), 1, "an end with more than one holder: {socket:?}");
        let holder = &names[&socket.holders.first().unwrap().0];
        if socket.state == "LISTEN" {
            assert_eq!(holder, "supervisor", "{socket:?}");
            assert!(socket.name.ends_with("run/control.sock"), "{socket:?}");
            continue;
        }
        let peer = by_inode
            .get(&socket.peer)
            .unwrap_or_else(|| panic!("the other end of {socket:?} is held by nobody of the set"));
        let other = &names[&peer.holders.first().unwrap().0];
        let mut pair = [holder.clone(), other.clone()];
        pair.sort_unstable();
        let [a, b] = pair;
        *seen.entry((a, b)).or_default() += 1;
    }
    let mut control = 0;
    let edges: BTreeMap<(String, String), usize> = seen
        .into_iter()
        // Each channel was counted from both ends.
        .map(|(pair, ends)| (pair, ends / 2))
        .filter(|((a, b), channels)| {
            let star = a == "supervisor" || b == "supervisor";
            control += if star { *channels } else { 0 };
            !star
        })
        .collect();
    assert_eq!(edges, intended(&names));
    assert_eq!(control, 7, "one control line a daemon");
    // No other kind of Unix socket leads from one process to another, and none has a name. What remains is the
    // pair that tokio wakes itself with where its signals are compiled in: both ends in one process.
    for socket in sockets.iter().filter(|socket| socket.kind != "u_seq") {
        if socket.peer == 0 {
            // Connected to nobody: the supervisor's claim on its block of uids, which no other instance may take.
            let holder = &names[&socket.holders.first().unwrap().0];
            assert!(holder == "supervisor" && socket.name.starts_with("@metnos-uids-"), "{socket:?}");
            continue;
        }
        let holders = |socket: &UnixSocket| socket.holders.iter().map(|(pid, _)| *pid).collect::<BTreeSet<u32>>();
        let peer = by_inode.get(&socket.peer).unwrap_or_else(|| panic!("the other end of {socket:?} is elsewhere"));
        assert_eq!(holders(socket).len(), 1, "{socket:?}");
        assert_eq!(holders(socket), holders(peer), "a channel that is not in the matrix: {socket:?}");
        assert_eq!(socket.name, "*", "{socket:?}");
    }
}

/// What the kernel must show of each daemon, no matter who started it.
fn assert_locked(set: &Instance) {
    for (name, pid) in set.pids() {
        let status = Status::of(pid).unwrap();
        assert_eq!(status.get("NoNewPrivs"), "1", "{name}");
        assert_eq!(status.get("Seccomp"), "2", "{name}");
        for capabilities in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status.hex(capabilities), Some(0), "{name} {capabilities}");
        }
        assert_ne!(status.ids("Uid")[0], 0, "{name}");
        let filters: u32 = status.get("Seccomp_filters").parse().unwrap_or(1);
        assert!(filters >= 1, "{name}");
    }
}

#[test]
fn every_daemon_of_an_ordinary_user_is_locked() {
    assert_locked(&Instance::start());
}

#[test]
fn status_names_every_layer_of_every_daemon_and_no_waiver() {
    let set = Instance::start();
    for row in set.daemons().unwrap() {
        let lock = row["lock"].as_array().unwrap_or_else(|| panic!("{row:#}"));
        let text = serde_json::to_string(lock).unwrap();
        for layer in ["seccomp", "landlock", "no_new_privs"] {
            assert!(text.contains(layer), "{}: {text}", row["name"]);
        }
        assert_eq!(row["waived"].as_array().map(Vec::len), Some(0), "{row:#}");
    }
}

mod as_root {
    use super::*;

    #[test]
    fn the_sockets_are_exactly_the_matrix_with_one_holder_an_end() {
        let set = Plan::new().as_root().start();
        assert_exactly_the_matrix(&set);
        let dials = names(&set).into_values().filter(|name| name == DIALS).count();
        assert_eq!(dials, 1, "where users are separate, what dials is one process of its own");
    }

    #[test]
    fn sockets_match_the_matrix_after_turns_restarts_and_kills() {
        let set = Plan::new().as_root().start();
        let _text = set.ask("how many words are in notes/welcome.md");
        for (name, pid) in set.pids() {
            let killed = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
            metnos_tests::until(&format!("a new {name}"), metnos_tests::instance::READY_WITHIN, || {
                (set.pids()[&name] != pid && set.states()?.values().all(|state| state == "ready")).then_some(())
            });
        }
        let _text = set.ask("how many words are in notes/welcome.md");
        // Anyone who has just answered may still be closing what was for that turn.
        metnos_tests::until("no session left", std::time::Duration::from_secs(5), || {
            let names = names(&set);
            let ends =
                held(&names).into_iter().filter(|socket| socket.kind == "u_seq" && socket.state != "LISTEN").count();
            (ends == 2 * (intended(&names).values().sum::<usize>() + 7)).then_some(())
        });
        assert_exactly_the_matrix(&set);
    }

    #[test]
    fn every_daemon_is_locked_has_no_capability_and_an_empty_bounding_set() {
        let set = Plan::new().as_root().start();
        assert_locked(&set);
        for (name, pid) in set.pids() {
            assert_eq!(Status::of(pid).unwrap().hex("CapBnd"), Some(0), "{name}");
        }
    }

    /// Inodes of sockets that this process holds and that are no Unix sockets. It is looked before and after the list of all Unix
    /// sockets is made: one that was opened or closed in between is not among both.
    fn other_than_unix(pid: u32) -> Vec<u64> {
        let before = sockets_of(pid);
        let unix: BTreeSet<u64> = sockets::unix().into_iter().map(|socket| socket.inode).collect();
        let after = sockets_of(pid);
        before.into_iter().filter(|inode| after.contains(inode) && !unix.contains(inode)).collect()
    }

    /// Inodes of sockets that this process holds.
    fn sockets_of(pid: u32) -> Vec<u64> {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        let targets = files
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .filter_map(|target| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
        targets.collect()
    }

    #[test]
    fn the_door_alone_has_an_internet_socket_which_listens_on_the_loopback() {
        let set = Plan::new().as_root().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
        // `sl local_address rem_address st … inode`: 0100007F is 127.0.0.1, 0A is LISTEN (proc(5)).
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        for (name, pid) in set.pids() {
            let inet = other_than_unix(pid);
            assert_eq!(inet.len(), usize::from(name == "gatewayd"), "{name}: {inet:?}");
            for inode in inet {
                let row = rows.iter().find(|row| row[9] == inode.to_string()).unwrap_or_else(|| panic!("{inode}"));
                assert!(row[1].starts_with("0100007F:") && row[3] == "0A", "{row:?}");
            }
        }
    }

    #[test]
    fn only_mind_connects_and_only_to_configured_server_during_thought() {
        let asked = Arc::new((Mutex::new(false), Condvar::new()));
        let inside = Arc::clone(&asked);
        let server = Liar::start(move |_, request, stream| {
            if request.starts_with("GET ") {
                return say(
                    stream,
                    &plain("200 OK", "", "{\"object\":\"list\",\"data\":[{\"id\":\"m\",\"object\":\"model\"}]}"),
                );
            }
            *inside.0.lock().unwrap() = true;
            inside.1.notify_all();
            // It ends when the set does.
            let _nothing = std::io::Read::read(stream, &mut [0]);
        });
        let models =
            format!("substrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n", server.port);
        let set = Plan::new().as_root().config(&format!("[models]\n{models}first_seconds = 110\n")).start();
        let mut ask = set.command("metnosctl");
        ask.args(["ask", "compose a sonnet about the sea"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut ask = ask.spawn().unwrap();
        let (heard, late) =
            asked.1.wait_timeout_while(asked.0.lock().unwrap(), Duration::from_secs(60), |heard| !*heard).unwrap();
        assert!(*heard && !late.timed_out(), "the model was never asked");
        drop(heard);
        for (name, pid) in set.pids() {
            let held = sockets_of(pid);
            // `sl local_address rem_address st … inode`, as its own part of the net has it: 01 is ESTABLISHED (proc(5)).
            let tables = ["tcp", "tcp6", "udp", "udp6", "raw", "raw6"];
            let tables =
                tables.map(|kind| std::fs::read_to_string(format!("/proc/{pid}/net/{kind}")).unwrap_or_default());
            let rows = tables.iter().flat_map(|text| text.lines().skip(1)).map(str::split_whitespace);
            let rows: Vec<Vec<&str>> = rows.map(Iterator::collect).collect();
            assert!(name != "mind" || !rows.is_empty(), "nothing is told of the net");
            let is_own = |row: &&Vec<&str>| {
                row.get(9).and_then(|inode| inode.parse().ok()).is_some_and(|inode: u64| held.contains(&inode))
            };
            let own: Vec<&Vec<&str>> = rows.iter().filter(is_own).collect();
            assert_eq!(own.is_empty(), name != "mind", "{name}: {own:?}");
            for row in own {
                assert_eq!((row[2], row[3]), (format!("0100007F:{:04X}", server.port).as_str(), "01"), "{row:?}");
            }
        }
        ask.kill().unwrap();
        ask.wait().unwrap();
    }

    #[test]
    fn no_daemon_has_an_internet_socket() {
        let set = Plan::new().as_root().start();
        for (name, pid) in set.pids() {
            for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten() {
                let Ok(target) = std::fs::read_link(entry.path()) else { continue };
                let Some(inode) = target
                    .to_str()
                    .and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse::<u64>().ok())
                else {
                    continue;
                };
                let unix = sockets::unix().into_iter().any(|socket| socket.inode == inode);
                assert!(unix, "{name} holds a socket that is no Unix socket: {target:?}");
            }
        }
    }
}
