//! Packets that are none, on every end of every daemon: the channel is closed, the breach is reported, the
//! daemon lives, and the next honest channel is served.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use metnos_proto::edge::{Edge, RawEnd, Side};
use metnos_proto::edges::{self, EdgeId};
use metnos_proto::frame::{Kind, split};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use metnos_tests::bins::{Build, binary_of};
use metnos_tests::instance::{Instance, ORDINARY_UID, Plan, is_root};
use metnos_tests::liar::Lie;
use metnos_tests::peers::among_honest_peers;
use metnos_tests::solo::{Setup, Solo, WITHIN, edges_of};

/// An instance that has been started once, so that a daemon finds its files.
fn stopped() -> Instance {
    let mut set = Plan::new().start();
    set.down();
    set
}

fn start(set: &Instance, role: RoleName) -> Solo {
    let setup = Setup {
        binary: set.command(binary_of(role)).get_program().into(),
        role,
        instance: set.home().to_owned(),
        ids: is_root().then_some(ORDINARY_UID),
        waive: Vec::new(),
        models: metnos_proto::control::ModelSettings::default(),
    };
    among_honest_peers(&setup, set)
}

/// Waits until the other side has closed the channel; what it says before is of no interest.
fn assert_closes(end: &RawEnd, what: &str) {
    let until = Instant::now() + WITHIN;
    let mut buffer = socket::buffer();
    loop {
        match socket::receive(end.fd.as_fd(), &mut buffer) {
            Ok(None) => return,
            Ok(Some(_)) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                assert!(Instant::now() < until, "{what}: the channel is still open");
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => panic!("{what}: {error}"),
        }
    }
}

/// An honest end gets an honest hello.
fn assert_greeted(solo: &mut Solo, edge: EdgeId) {
    let end = solo.fresh(edge);
    let mut buffer = socket::buffer();
    let len = metnos_tests::until(&format!("a hello on {edge:?}"), WITHIN, || {
        socket::receive(end.fd.as_fd(), &mut buffer).ok().flatten().map(|packet| packet.len)
    });
    let (header, _) = split(&buffer[..len]).unwrap();
    assert_eq!((header.kind, header.edge), (Kind::Hello, edge.number()));
}

fn lies_on<E: Edge>(solo: &mut Solo, side: Side) {
    // Anyone who holds the answering end of an asker's channel lies with notes, the other with asks.
    let kind = match side {
        Side::Answerer => Kind::Ask,
        Side::Asker => Kind::Note,
    };
    for lie in Lie::ALL {
        let what = format!("{lie:?} on {:?}", E::ID);
        let end = solo.fresh(E::ID);
        lie.tell::<E>(&end, kind);
        assert_closes(&end, &what);
        assert_eq!(solo.violation().edge, E::ID, "{what}");
        solo.ping();
    }
    assert_greeted(solo, E::ID);
}

macro_rules! on_edge {
    ($edge:expr, $solo:expr, $side:expr; $($name:ident)*) => {
        match $edge { $(EdgeId::$name => lies_on::<edges::$name>($solo, $side),)* }
    };
}

fn lies_to(role: RoleName) {
    let set = stopped();
    let admin = EdgeId::admin_of(role).map(|edge| (edge, Side::Answerer));
    for (edge, side) in edges_of(role).chain(admin) {
        let mut solo = start(&set, role);
        on_edge!(edge, &mut solo, side;
            CtlDoor DoorPlanner DoorPolicyd DoorMind DoorMemoryd PlannerPolicyd PlannerMind PlannerMemoryd SyntdPolicyd
            SyntdMind SyntdMemoryd PolicydSandboxd PolicydMind PolicydMemoryd SandboxdMemoryd CtlPolicyd CtlSandboxd
            CtlMind CtlMemoryd CtlSyntd);
        solo.drain();
    }
}

#[test]
fn the_door_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Gatewayd);
}

#[test]
fn the_planner_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Planner);
}

#[test]
fn syntd_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Syntd);
}

#[test]
fn policyd_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Policyd);
}

#[test]
fn sandboxd_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Sandboxd);
}

#[test]
fn mind_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Mind);
}

#[test]
fn memoryd_closes_on_every_lie_and_lives() {
    lies_to(RoleName::Memoryd);
}

#[test]
fn daemon_ordered_to_be_another_does_not_start() {
    let set = stopped();
    let mut solo = Solo::spawn(&Setup {
        binary: Build::Shipped.binary(binary_of(RoleName::Mind)),
        role: RoleName::Syntd,
        instance: set.home().to_owned(),
        ids: is_root().then_some(ORDINARY_UID),
        waive: Vec::new(),
        models: metnos_proto::control::ModelSettings::default(),
    });
    assert!(!solo.exit().success());
}
