//! The attack battery inside each daemon's own lock: the daemon itself attempts every forbidden act, on the
//! word of the test that plays its supervisor. Each must end with an error or with death by the filter;
//! and with the layer switched off, each must be seen to get past it.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};

use metnos_jail::Layer;
use metnos_jail::attack::{Attempt, MEMFD_EXIT};
use metnos_proto::role::RoleName;
use metnos_tests::bins::{Build, binary_of};
use metnos_tests::instance::{Instance, ORDINARY_UID, Plan, is_root};
use metnos_tests::peers::among_honest_peers;
use metnos_tests::procfs;
use metnos_tests::solo::{Setup, Solo};

/// `SIGSYS`: how the filter ends a process.
const SIGSYS: i32 = 31;

/// What the attempts are aimed at: things of the same uid, so that nothing but the lock protects them.
struct Victims {
    set: Instance,
    sleeper: Child,
    tcp: TcpListener,
    named: UnixListener,
    _abstract: UnixListener,
}

/// How one attempt ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// Nothing stopped it.
    Achieved(String),
    /// An error did.
    Errno(i32),
    /// The filter killed the daemon.
    Filtered,
}

impl Victims {
    /// An instance that has been started once, so that every daemon finds its files, and the rest.
    fn new() -> Self {
        let mut set = Plan::new().attack().start();
        set.down();
        let path = |name: &str| set.home().parent().unwrap().join(name);
        std::fs::write(path("foreign.txt"), "not for any daemon").unwrap();
        std::fs::create_dir(path("foreign")).unwrap();
        let named = UnixListener::bind(path("foreign.sock")).unwrap();
        for name in ["foreign.txt", "foreign", "foreign.sock"] {
            let owner = Some(set.owner());
            std::os::unix::fs::chown(path(name), owner, owner).unwrap();
        }
        let mut sleep = Command::new("sleep");
        sleep.arg("1000").stdin(Stdio::null());
        if is_root() {
            sleep.uid(ORDINARY_UID).gid(ORDINARY_UID);
        }
        let address = SocketAddr::from_abstract_name(Self::abstract_name()).unwrap();
        Self {
            sleeper: sleep.spawn().unwrap(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            named,
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            set,
        }
    }

    fn abstract_name() -> String {
        format!("metnos-lockdown-{}", std::process::id())
    }

    fn aim(&self, act: Attempt) -> String {
        let path = |name: &str| self.set.home().parent().unwrap().join(name).to_str().unwrap().to_owned();
        match act {
            Attempt::ReadFile => path("foreign.txt"),
            Attempt::ListFolder | Attempt::MakeFile => path("foreign"),
            Attempt::Exec => "/usr/bin/true".to_owned(),
            Attempt::Ptrace | Attempt::ProcessVmRead | Attempt::PidfdGetfd | Attempt::SignalParent => {
                self.sleeper.id().to_string()
            }
            Attempt::InetConnect => self.tcp.local_addr().unwrap().port().to_string(),
            Attempt::UnixConnect => path("foreign.sock"),
            Attempt::AbstractConnect => Self::abstract_name(),
            Attempt::WriteProcMem
            | Attempt::Fork
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
            | Attempt::SetDumpable => String::new(),
        }
    }

    fn start(&self, role: RoleName, waive: &[Layer]) -> Solo {
        let setup = Setup {
            binary: self.set.command(binary_of(role)).get_program().into(),
            role,
            instance: self.set.home().to_owned(),
            ids: is_root().then_some(ORDINARY_UID),
            waive: waive.iter().map(|layer| layer.name().to_owned()).collect(),
            models: metnos_proto::control::ModelSettings::default(),
        };
        among_honest_peers(&setup, &self.set)
    }

    /// One attempt in a fresh daemon.
    fn attempt(&self, role: RoleName, act: Attempt, waive: &[Layer]) -> End {
        let mut solo = self.start(role, waive);
        match solo.attempt(act.name(), &self.aim(act)) {
            Ok((0, detail)) => End::Achieved(detail),
            Ok((errno, _)) => End::Errno(errno),
            Err(status) => end_of(act, status, solo.log().as_str()),
        }
    }

    /// Nothing that was aimed at has felt anything.
    fn assert_unharmed(&self, what: &str) {
        assert!(procfs::alive(self.sleeper.id()), "{what}");
        assert_eq!(procfs::Status::of(self.sleeper.id()).unwrap().get("TracerPid"), "0", "{what}");
        self.tcp.set_nonblocking(true).unwrap();
        self.named.set_nonblocking(true).unwrap();
        assert!(self.tcp.accept().is_err() && self.named.accept().is_err(), "{what}: somebody has connected");
        let folder = self.set.home().parent().unwrap().join("foreign");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "{what}: a file was made");
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        let _ = self.sleeper.kill();
        let _ = self.sleeper.wait();
    }
}

/// Some acts do not come back when they succeed: the daemon has become another program.
fn end_of(act: Attempt, status: ExitStatus, log: &str) -> End {
    match (act, status.code(), status.signal()) {
        (_, _, Some(SIGSYS)) => End::Filtered,
        (Attempt::Exec, Some(0), None) => End::Achieved("another program".to_owned()),
        (Attempt::MemfdExec, Some(MEMFD_EXIT), None) => End::Achieved("a program in memory".to_owned()),
        _ => panic!("`{act}` ended the daemon with {status}\n{log}"),
    }
}

/// Inside the lock, as every instance runs it.
fn battery(role: RoleName) {
    let victims = Victims::new();
    let mut tried = 0;
    for act in Attempt::ALL.iter().copied().filter(|act| !act.is_left_to(role.text())) {
        match victims.attempt(role, act, &[]) {
            End::Errno(errno) => assert!(errno > 0, "{role}, {act}: errno {errno}"),
            End::Filtered => {}
            End::Achieved(what) => panic!("{role} achieved `{act}`: {what}"),
        }
        victims.assert_unharmed(&format!("{role}, {act}"));
        tried += 1;
    }
    assert!(tried >= 20, "only {tried} acts were tried");
}

/// With the filter off no act is stopped by the filter, and with all layers off that stop it, it is achieved.
fn past_the_layers(role: RoleName) {
    let victims = Victims::new();
    for act in Attempt::ALL.iter().copied().filter(|act| !act.is_left_to(role.text())) {
        let without_filter = victims.attempt(role, act, &[Layer::Seccomp]);
        assert_ne!(without_filter, End::Filtered, "{role}, {act}: the filter is there though it was waived");
        let without_all = match act.layers() {
            [Layer::Seccomp] => without_filter,
            layers => victims.attempt(role, act, layers),
        };
        assert_achieved(role, act, &without_all);
    }
}

/// An act is achieved, or the machine itself forbids it, whatever our layers say.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other attempts are forbidden alike")]
fn assert_achieved(role: RoleName, act: Attempt, end: &End) {
    const EPERM: i32 = 1;
    const ENOENT: i32 = 2;
    const ENOMEM: i32 = 12;
    const EACCES: i32 = 13;
    const EINVAL: i32 = 22;
    const ENOSYS: i32 = 38;
    let by_machine = match act {
        // Needs the uid of process 1.
        Attempt::SignalInit => matches!(end, End::Errno(EPERM)),
        // The ring is locked memory, of which the lock's limits grant none.
        Attempt::IoUring => matches!(end, End::Errno(ENOMEM | EPERM | ENOSYS)),
        // A process with a second thread may not change its user namespace.
        Attempt::UnshareUser | Attempt::Mount => matches!(end, End::Errno(EPERM | EACCES | ENOSYS | EINVAL)),
        // Settings of the kernel, and what an ordinary user may not do.
        Attempt::Userfaultfd | Attempt::Keyctl | Attempt::Bpf | Attempt::PerfEvent | Attempt::Chroot => {
            matches!(end, End::Errno(EPERM | EACCES | ENOSYS))
        }
        // Nor is there a root in a user namespace that has none.
        Attempt::Setuid => matches!(end, End::Errno(EPERM | EINVAL)),
        // sandboxd lives in namespaces of its own: no process outside is its equal, and no foreign path exists.
        Attempt::Ptrace | Attempt::ProcessVmRead | Attempt::PidfdGetfd => {
            role == RoleName::Sandboxd && matches!(end, End::Errno(EPERM))
        }
        Attempt::UnixConnect => role == RoleName::Sandboxd && matches!(end, End::Errno(ENOENT)),
        _ => false,
    };
    assert!(matches!(end, End::Achieved(_)) || by_machine, "{role}, {act} without its layers: {end:?}");
}

macro_rules! for_each_daemon {
    ($($module:ident = $role:ident;)*) => {$(
        mod $module {
            use super::*;

            #[test]
            fn can_do_nothing_forbidden_inside_its_lock() {
                battery(RoleName::$role);
            }

            #[test]
            fn forbidden_acts_are_stopped_by_the_layers_only() {
                past_the_layers(RoleName::$role);
            }
        }
    )*};
}

for_each_daemon! {
    the_door = Gatewayd;
    the_planner = Planner;
    mind = Mind;
    policyd = Policyd;
    sandboxd = Sandboxd;
    memoryd = Memoryd;
    syntd = Syntd;
}

#[test]
fn sandboxd_cannot_see_a_foreign_file_though_it_may_open_files() {
    let victims = Victims::new();
    for act in [Attempt::ReadFile, Attempt::ListFolder, Attempt::MakeFile] {
        let end = victims.attempt(RoleName::Sandboxd, act, &[]);
        assert!(matches!(end, End::Errno(_)), "{act}: {end:?}");
    }
    // Nor the chronicle, the memory and the key of its own instance.
    for path in [".audit", ".mnestome", ".policy", ".soul", ".runtime"] {
        let mut solo = victims.start(RoleName::Sandboxd, &[]);
        let path = victims.set.home().join(path);
        let (errno, detail) = solo.attempt(Attempt::ListFolder.name(), path.to_str().unwrap()).unwrap();
        assert_ne!(errno, 0, "{}: {detail}", path.display());
    }
}

#[test]
fn no_daemon_reaches_the_files_of_another() {
    let victims = Victims::new();
    let own = |role: RoleName| -> &[&str] {
        match role {
            RoleName::Policyd => &[".policy/instance.key"],
            RoleName::Memoryd => &[".audit", ".mnestome"],
            RoleName::Ctl
            | RoleName::Gatewayd
            | RoleName::Planner
            | RoleName::Syntd
            | RoleName::Sandboxd
            | RoleName::Mind => &[],
        }
    };
    for role in RoleName::daemons() {
        for path in [".policy/instance.key", ".audit", ".mnestome"] {
            if own(role).contains(&path) {
                continue;
            }
            let mut solo = victims.start(role, &[]);
            let path = victims.set.home().join(path);
            match solo.attempt(Attempt::ReadFile.name(), path.to_str().unwrap()) {
                Ok((errno, detail)) => assert_ne!(errno, 0, "{role} opened {}: {detail}", path.display()),
                Err(status) => assert_eq!(status.signal(), Some(SIGSYS), "{role}, {}: {status}", path.display()),
            }
        }
    }
}

#[test]
fn a_daemon_that_would_run_as_root_does_not_start() {
    assert!(is_root() || std::env::var_os("CI").is_none(), "continuous integration runs as root");
    if !is_root() {
        // Nobody but root can start anything as root, so there is nothing to show.
        return;
    }
    let victims = Victims::new();
    let mut solo = Solo::spawn(&Setup {
        binary: Build::Attack.binary(binary_of(RoleName::Planner)),
        role: RoleName::Planner,
        instance: victims.set.home().to_owned(),
        ids: None,
        waive: Vec::new(),
        models: metnos_proto::control::ModelSettings::default(),
    });
    assert!(!solo.exit().success());
    assert!(solo.log().contains("root"), "{}", solo.log());
}
