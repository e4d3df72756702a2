//! The battery of forbidden acts under every daemon's real lock; and each act again
//! without the layers that stop it, where it must succeed: else it would test nothing.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{Bystander, Ended, Ground};
use metnos_jail::attack::Attempt;
use metnos_jail::{Layer, ROLES};

/// Acts that nothing but our lock stops on any supported machine. The others depend
/// on settings of the machine, and are then named as skipped.
const ALWAYS_POSSIBLE: [Attempt; 17] = [
    Attempt::ReadFile,
    Attempt::ListFolder,
    Attempt::MakeFile,
    Attempt::WriteProcMem,
    Attempt::Fork,
    Attempt::Exec,
    Attempt::MemfdExec,
    Attempt::SignalParent,
    Attempt::InetSocket,
    Attempt::InetBind,
    Attempt::InetConnect,
    Attempt::UnixSocket,
    Attempt::AbstractConnect,
    Attempt::AbstractBind,
    Attempt::MprotectExec,
    Attempt::MmapExec,
    Attempt::SetDumpable,
];

/// Tests of one process must not share the name of a socket.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// Targets that really are there, so that only the lock can be in the way.
struct Targets {
    ground: Ground,
    bystander: Bystander,
    foreign: String,
    foreign_file: String,
    abstract_name: String,
    socket_path: String,
    port: String,
    _listeners: (UnixListener, UnixListener, TcpListener),
}

impl Targets {
    fn new() -> Self {
        let ground = Ground::new();
        let bystander = Bystander::new(&ground);
        let abstract_name = format!("metnos-target-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let foreign = ground.folder("foreign");
        let socket_path = format!("{foreign}/socket");
        let named = UnixListener::bind(&socket_path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&socket_path, mode).unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        Targets {
            foreign_file: ground.file("foreign", "diary"),
            bystander,
            foreign,
            socket_path,
            port: tcp.local_addr().unwrap().port().to_string(),
            _listeners: (UnixListener::bind_addr(&address).unwrap(), named, tcp),
            abstract_name,
            ground,
        }
    }

    fn attempt(&self, role: &str, waive: &[Layer], act: Attempt) -> Ended {
        let pid = self.bystander.pid();
        let aim = match act {
            Attempt::ReadFile => Some(self.foreign_file.as_str()),
            Attempt::ListFolder | Attempt::MakeFile => Some(self.foreign.as_str()),
            Attempt::Ptrace | Attempt::ProcessVmRead | Attempt::PidfdGetfd | Attempt::SignalParent => {
                Some(pid.as_str())
            }
            Attempt::InetConnect => Some(self.port.as_str()),
            Attempt::UnixConnect => Some(self.socket_path.as_str()),
            Attempt::AbstractConnect => Some(self.abstract_name.as_str()),
            Attempt::WriteProcMem
            | Attempt::Fork
            | Attempt::Exec
            | Attempt::MemfdExec
            | Attempt::UnshareUser
            | Attempt::Mount
            | Attempt::SignalInit
            | Attempt::InetSocket
            | Attempt::InetBind
            | Attempt::UnixSocket
            | Attempt::AbstractBind
            | Attempt::IoUring
            | Attempt::Bpf
            | Attempt::Keyctl
            | Attempt::PerfEvent
            | Attempt::Userfaultfd
            | Attempt::Setuid
            | Attempt::Chroot
            | Attempt::MprotectExec
            | Attempt::MmapExec
            | Attempt::Personality
            | Attempt::SetDumpable => None,
        };
        self.ground.attempt(role, waive, act.name(), aim)
    }

    /// Whether the act is possible on this machine for a process without any lock.
    fn is_possible(&self, act: Attempt) -> bool {
        let bare = self.attempt("planner", &Layer::ALL, act);
        if bare.was_stopped() {
            assert!(!ALWAYS_POSSIBLE.contains(&act), "{act} without a lock: {bare:?}");
            println!("skipped: {act}: this machine itself stops it without any lock ({bare:?})");
        }
        !bare.was_stopped()
    }
}

/// The oldest Landlock that stops an act, where that is not the first.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other attempts are forbidden alike")]
fn landlock_since(act: Attempt) -> u32 {
    match act {
        Attempt::InetBind | Attempt::InetConnect => 4,
        Attempt::SignalParent | Attempt::SignalInit | Attempt::AbstractConnect => 6,
        _ => 1,
    }
}

/// Whether a daemon may do this under all that its file allows. What the door needs for a bot is in its file, and is taken
/// away at a start without one: so `lockdown` finds.
fn may(role: &str, act: Attempt) -> bool {
    act.is_left_to(role) || role == "gatewayd" && act == Attempt::InetSocket
}

#[test]
fn every_act_is_stopped_in_every_daemon_that_has_no_use_for_it() {
    let targets = Targets::new();
    for role in ROLES {
        for act in Attempt::ALL.iter().copied().filter(|act| !may(role, *act)) {
            let ended = targets.attempt(role, &[], act);
            assert!(ended.was_stopped(), "{role}: {act}");
        }
    }
}

#[test]
fn the_four_daemons_without_files_are_killed_by_every_act() {
    let targets = Targets::new();
    for role in ["gatewayd", "planner", "mind", "syntd"] {
        for act in Attempt::ALL {
            let ended = targets.attempt(role, &[], *act);
            // mind speaks to the servers of models, the door to Telegram: they may make a socket, and Landlock says where
            // that may lead, which here is nowhere.
            let expected = match (role, act) {
                _ if may(role, *act) => Ended::Succeeded,
                ("mind" | "gatewayd", Attempt::InetConnect) if abi(&targets.ground) < landlock_since(*act) => {
                    Ended::Succeeded
                }
                ("mind" | "gatewayd", Attempt::InetConnect) => Ended::Stopped(rustix::io::Errno::ACCESS.raw_os_error()),
                // A door whose port was taken as it started listens there once it is free; another has no such call left.
                ("gatewayd", Attempt::InetBind) if abi(&targets.ground) < landlock_since(*act) => Ended::Succeeded,
                ("gatewayd", Attempt::InetBind) => Ended::Stopped(rustix::io::Errno::ACCESS.raw_os_error()),
                _ => Ended::KilledByFilter,
            };
            assert_eq!(ended, expected, "{role}: {act}");
        }
    }
}

#[test]
fn sandboxd_can_do_what_its_job_is_made_of() {
    let targets = Targets::new();
    for act in Attempt::ALL.iter().copied().filter(|act| act.is_left_to("sandboxd")) {
        if targets.is_possible(act) {
            assert_eq!(targets.attempt("sandboxd", &[], act), Ended::Succeeded, "{act}");
        }
    }
}

#[test]
fn every_act_succeeds_when_all_the_layers_that_stop_it_are_off() {
    let targets = Targets::new();
    for act in Attempt::ALL.iter().copied() {
        if targets.is_possible(act) {
            assert_eq!(targets.attempt("planner", act.layers(), act), Ended::Succeeded, "{act}");
        }
    }
}

#[test]
fn each_layer_named_for_an_act_stops_it_alone() {
    let targets = Targets::new();
    let abi = abi(&targets.ground);
    for act in Attempt::ALL.iter().copied() {
        if !targets.is_possible(act) {
            continue;
        }
        for layer in act.layers() {
            if *layer == Layer::Landlock && abi < landlock_since(act) {
                println!("skipped: {act} by Landlock: this kernel has ABI {abi}");
                continue;
            }
            let others: Vec<Layer> = act.layers().iter().copied().filter(|other| other != layer).collect();
            let ended = targets.attempt("planner", &others, act);
            assert!(ended.was_stopped(), "{act} with {layer} alone");
            assert_eq!(ended == Ended::KilledByFilter, *layer == Layer::Seccomp, "{act}: {ended:?}");
        }
    }
}

#[test]
fn forbidden_syscall_in_sandboxd_fails_with_eperm_instead_of_kill() {
    let targets = Targets::new();
    for act in [Attempt::InetSocket, Attempt::Ptrace, Attempt::Bpf, Attempt::IoUring, Attempt::SignalParent] {
        assert_eq!(targets.attempt("sandboxd", &[], act), Ended::Stopped(libc::EPERM), "{act}");
    }
}

fn abi(ground: &Ground) -> u32 {
    let lines = ground.lines("planner", &[]);
    let line = lines.iter().find_map(|line| line.strip_prefix("landlock_abi "));
    line.unwrap().parse().unwrap()
}
