//! A whole granted call of a small executor (decided, recorded, sandboxed, run, checked, recorded), beside
//! `bwrap --unshare-all … python3 -I -S -c pass`, one after the other in the same run; and a whole turn.

use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use metnos_proto::control::{self, Connect, CtlAnswer, CtlAsk};
use metnos_proto::edge::{AskerEnd, Edge};
use metnos_proto::edges::CtlPolicyd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::policyd::{Acted, RunCall};
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use metnos_tests::instance::{Instance, Plan, UNHURRIED};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::stats::{Table, Times};

/// Calls of each kind.
const CALLS: usize = 150;
/// Calls before the measurement, while caches and pools fill.
const WARM_UP: usize = 20;

/// Measures calls and turns.
pub fn measure(table: &mut Table) {
    // On memory, so that the disk's own sync is not part of what is compared.
    let set = Plan::new().in_memory().config(UNHURRIED).start();
    let mut policyd = policyd(&set);
    let (mut call, mut bwrap, mut turn) = (Times::default(), Times::default(), Times::default());
    for _ in 0..WARM_UP {
        granted(&mut policyd);
        bubblewrap();
    }
    for _ in 0..CALLS {
        call.time(|| granted(&mut policyd));
        bwrap.time(bubblewrap);
        turn.time(|| set.ask("read notes/welcome.md"));
    }
    table.times("`bwrap --unshare-all … python3 -I -S -c pass`", &bwrap, String::new(), "");
    let ratio = call.ratio_to(&bwrap);
    table.times("granted call of fs_read", &call, format!("{ratio:.2} × bwrap"), "first form: < 1 ×");
    let ratio = turn.ratio_to(&bwrap);
    table.times("`metnosctl ask \"read …\"`, a whole turn", &turn, format!("{ratio:.2} × bwrap"), "");
    set.verify();
}

/// An end of the owner's edge to policyd.
pub fn policyd(set: &Instance) -> BlockingClient<CtlPolicyd> {
    end(set, RoleName::Policyd)
}

/// An end of one of the owner's edges, as `metnosctl` gets it.
pub fn end<E: Edge>(set: &Instance, role: RoleName) -> BlockingClient<E> {
    let supervisor =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::connect(&supervisor, &SocketAddrUnix::new(set.home().join("run/control.sock")).unwrap()).unwrap();
    control::send(supervisor.as_fd(), &CtlAsk::Connect(Connect { role }), None).unwrap();
    let mut buffer = socket::buffer();
    let within = std::time::Duration::from_secs(5);
    match control::receive_within::<CtlAnswer>(supervisor.as_fd(), &mut buffer, within).unwrap() {
        Some((CtlAnswer::Connected(end), Some(fd))) => {
            BlockingClient::new(AskerEnd::new(end.with(fd)).unwrap()).unwrap()
        }
        other => panic!("the supervisor answers {other:?}"),
    }
}

fn granted(policyd: &mut BlockingClient<CtlPolicyd>) {
    let arguments = Sealed::new(br#"{"path":"notes/welcome.md"}"#).unwrap();
    let call = RunCall { executor: "fs_read".to_owned() };
    let (answer, [_result]) = policyd.run_call(TraceId::NONE, call, [arguments]).unwrap();
    match answer.acted {
        Acted::Ran(ran) => assert_eq!(ran.outcome, Outcome::Ok),
        Acted::Denied(refusal) => panic!("{refusal}"),
    }
}

/// `bwrap` and its flags: every namespace, the system's programs and libraries read-only, a `/tmp` of its own, nothing else.
pub const BWRAP: [&str; 19] = [
    "bwrap",
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
];

/// The comparison: an empty Python in a sandbox of `bwrap`.
pub fn bubblewrap() {
    let mut command = Command::new(BWRAP[0]);
    command.args(&BWRAP[1..]).args(["/usr/bin/python3", "-I", "-S", "-c", "pass"]);
    let status = command.stdin(Stdio::null()).status().expect("bwrap, of Debian's bubblewrap");
    assert!(status.success());
}
