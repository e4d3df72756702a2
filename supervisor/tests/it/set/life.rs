//! Start, restart and end.

use std::os::unix::net::UnixDatagram;

use metnos_proto::control::DaemonState;
use metnos_proto::edges::EdgeId;
use metnos_proto::role::RoleName;
use rustix::process::Signal;

use super::rig::{self, As, PATIENCE, Plan, Rig, await_end, pidfd, row};

#[test]
fn every_edge_of_the_matrix_connects_its_two_daemons() {
    let rig = Rig::start(As::Ordinary);
    for edge in EdgeId::ALL.iter().filter(|edge| !edge.is_admin()) {
        rig.await_log(&[&format!("heard {edge:?} from {} 1", edge.asker())]);
    }
    let surveyed = rig.survey();
    assert_eq!(surveyed.edges.len(), EdgeId::ALL.iter().filter(|edge| !edge.is_admin()).count());
    assert!(surveyed.edges.iter().all(|edge| edge.up && edge.generation == 1));
}

#[test]
fn a_daemon_that_is_killed_comes_back_alone_with_fresh_ends_for_its_peers() {
    for user in [As::Starter, As::Ordinary] {
        let rig = Rig::start(user);
        let before = rig.survey();
        let killed = rig.kill(RoleName::Policyd);
        let after = rig.await_survey(|now| row(now, RoleName::Policyd).restarts == 1 && Rig::all_ready(now));
        for daemon in &after.daemons {
            let same = daemon.pid == row(&before, daemon.role).pid;
            assert_eq!(same, daemon.role != RoleName::Policyd, "{}", daemon.role);
        }
        assert_ne!(row(&after, RoleName::Policyd).pid, killed);
        assert_eq!(row(&after, RoleName::Policyd).uid, row(&before, RoleName::Policyd).uid);
        assert_eq!(row(&after, RoleName::Policyd).last_exit, "killed by signal 9 (SIGKILL)");
        assert!(after.alarms.iter().any(|alarm| alarm.role == RoleName::Policyd));
        for edge in &after.edges {
            let its = edge.edge.asker() == RoleName::Policyd || edge.edge.answerer() == RoleName::Policyd;
            assert_eq!(edge.generation, if its { 2 } else { 1 }, "{:?}", edge.edge);
            if its {
                let peer =
                    if edge.edge.asker() == RoleName::Policyd { edge.edge.answerer() } else { edge.edge.asker() };
                // The peer saw the end of the old channel, so nobody else had kept that end; and the new one works.
                let pid = row(&before, peer).pid;
                rig.await_log(&[
                    &format!("puppet {peer} {pid} gone {:?} 1", edge.edge),
                    &format!("heard {:?} from {} 2", edge.edge, edge.edge.asker()),
                ]);
            }
        }
        assert_eq!(rig.user(), user);
    }
}

#[test]
fn daemons_that_are_killed_together_come_back_together() {
    let rig = Rig::start(As::Ordinary);
    let before = rig.survey();
    for daemon in &before.daemons {
        rig::send(daemon.pid, Signal::KILL);
    }
    let after = rig.await_survey(|now| now.daemons.iter().all(|daemon| daemon.restarts == 1) && Rig::all_ready(now));
    assert!(after.edges.iter().all(|edge| edge.generation >= 2));
    for edge in &after.edges {
        rig.await_log(&[&format!("heard {:?} from {} {}", edge.edge, edge.edge.asker(), edge.generation)]);
    }
}

#[test]
fn a_supervisor_that_is_killed_leaves_no_orphan() {
    for user in [As::Starter, As::Ordinary] {
        let mut rig = Rig::start(user);
        let daemons: Vec<_> = rig.survey().daemons.iter().map(|daemon| pidfd(daemon.pid)).collect();
        rig.child.kill().unwrap();
        rig.wait();
        daemons.iter().for_each(await_end);
    }
}

#[test]
fn ordered_stop_ends_everything_in_order() {
    let mut rig = Rig::start(As::Starter);
    let daemons: Vec<_> = rig.survey().daemons.iter().map(|daemon| pidfd(daemon.pid)).collect();
    rig::send(rig.child.id(), Signal::TERM);
    assert_eq!(rig.wait().code(), Some(0), "{}", rig.log());
    daemons.iter().for_each(await_end);
    let log = rig.log();
    let order: Vec<usize> = RoleName::daemons()
        .filter(|role| *role != RoleName::Syntd)
        .map(|role| {
            log.lines()
                .position(|line| line.starts_with(&format!("puppet {role} ")) && line.ends_with(" drain"))
                .unwrap()
        })
        .collect();
    assert!(order.is_sorted(), "{log}");
    assert!(!log.contains("killed"), "{log}");
    assert!(!rig.instance.join("run/control.sock").exists());
    assert!(rig::connect(&rig.instance).is_err());
}

#[test]
fn a_daemon_that_does_not_obey_does_not_hold_up_the_end() {
    let acts = RoleName::daemons().map(|role| (role, "stubborn")).collect();
    let mut rig = Rig::with(Plan { user: As::Ordinary, acts, ..Plan::default() });
    let daemons: Vec<_> = rig.survey().daemons.iter().map(|daemon| pidfd(daemon.pid)).collect();
    rig::send(rig.child.id(), Signal::INT);
    assert_eq!(rig.wait().code(), Some(0));
    daemons.iter().for_each(await_end);
    let killed = rig.log().matches("it did not finish in time and is killed").count();
    assert_eq!(killed, 7, "{}", rig.log());
}

#[test]
fn second_stop_order_kills_at_once() {
    let acts = RoleName::daemons().map(|role| (role, "stubborn")).collect();
    let mut rig = Rig::with(Plan { user: As::Ordinary, acts, ..Plan::default() });
    rig::send(rig.child.id(), Signal::TERM);
    rig.await_log(&["puppet gatewayd", " drain"]);
    rig::send(rig.child.id(), Signal::TERM);
    assert_eq!(rig.wait().code(), Some(0));
    assert!(
        !rig.log().lines().any(|line| line.starts_with("puppet memoryd") && line.ends_with("drain")),
        "{}",
        rig.log()
    );
}

#[test]
fn second_supervisor_is_refused_and_learns_who_runs() {
    let rig = Rig::start(As::Starter);
    let second = std::process::Command::new(rig.dir.path().join("bin/metnos-supervisor"))
        .args(["--spawn", "--instance"])
        .arg(&rig.instance)
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains(&format!("is already run by process {}", rig.child.id())), "{said}");
    assert!(Rig::all_ready(&rig.survey()), "the first goes on");
}

#[test]
fn after_a_crash_the_next_start_finds_nothing_in_its_way() {
    let mut rig = Rig::start(As::Ordinary);
    rig.child.kill().unwrap();
    rig.wait();
    assert!(rig.instance.join("run/control.sock").exists(), "a stale socket stays");
    rig.again();
    assert_eq!(rig.word, "ready", "{}", rig.log());
    assert!(Rig::all_ready(&rig.survey()));
}

#[test]
fn systemd_is_notified_of_readiness_life_and_end() {
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let env = vec![("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "200000".into())];
    let mut rig = Rig::with(Plan { env, ..Plan::default() });
    let mut heard = String::new();
    let mut hear = |until: &str| {
        let mut buffer = [0; 4096];
        while !heard.contains(until) {
            let length = socket.recv(&mut buffer).unwrap();
            heard.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
        heard.clone()
    };
    let ready = hear("READY=1");
    assert!(ready.contains(&format!("MAINPID={}\n", rig.child.id())), "{ready}");
    assert!(ready.contains("STATUS=7 daemons ready\n"), "{ready}");
    let watched = hear("WATCHDOG=1\nWATCHDOG=1\n");
    assert!(!watched.contains("STOPPING"));
    rig::send(rig.child.id(), Signal::TERM);
    hear("STOPPING=1");
    assert_eq!(rig.wait().code(), Some(0));
}

#[test]
fn an_instance_may_lie_deeper_than_a_socket_address_is_long() {
    let below = ["a-rather-long-name-of-a-directory"; 5].join("/");
    let rig = Rig::with(Plan { user: As::Ordinary, below: below.into(), ..Plan::default() });
    assert_eq!(rig.word, "ready");
    assert!(rig.instance.as_os_str().len() > 108);
    assert!(rig.survey().daemons.iter().all(|daemon| daemon.state == DaemonState::Ready));
}

#[test]
fn a_wrong_configuration_stops_the_start_and_says_where() {
    let mut rig = Rig::with(Plan { config: "[memory]\ncalls_per_use_dya = 5\n".into(), ..Plan::default() });
    assert_eq!(
        rig.word,
        "metnos.toml, line 2: there is no key calls_per_use_dya in [memory]; did you mean calls_per_use_day?"
    );
    assert_eq!(rig.wait().code(), Some(1));
    assert!(!rig.log().contains("puppet"));
}
