//! Daemons that fail, hang or lie.

use metnos_proto::control::DaemonState;
use metnos_proto::edges::EdgeId;
use metnos_proto::role::RoleName;

use super::rig::{As, Plan, Rig, row};

#[test]
fn a_daemon_that_cannot_start_ends_the_start_with_its_own_words() {
    let mut rig = Rig::with(Plan { acts: vec![(RoleName::Memoryd, "fail")], ..Plan::default() });
    assert_eq!(rig.word, "memoryd does not start: exit status 3: the lock does not close");
    assert_eq!(rig.wait().code(), Some(1));
    for role in RoleName::daemons() {
        let log = rig.log();
        let born =
            log.lines().filter(|line| line.starts_with(&format!("puppet {role} ")) && line.contains(" born ")).count();
        assert!(born <= 3, "{role} was started {born} times");
    }
}

#[test]
fn no_daemon_starts_before_policyd_has_opened_its_store() {
    let mut rig = Rig::with(Plan { acts: vec![(RoleName::Policyd, "fail")], ..Plan::default() });
    assert_eq!(rig.word, "policyd does not start: exit status 3: the lock does not close");
    assert_eq!(rig.wait().code(), Some(1));
    let born: Vec<String> = rig.log().lines().filter(|line| line.contains(" born ")).map(str::to_owned).collect();
    assert!(!born.is_empty() && born.iter().all(|line| line.starts_with("puppet policyd ")), "{born:#?}");
}

#[test]
fn repeatedly_failing_daemon_is_degraded_alone_and_can_recover() {
    let rig = Rig::start(As::Ordinary);
    let before = rig.survey();
    rig.act(RoleName::Mind, "fail-ready");
    rig.kill(RoleName::Mind);
    let degraded = rig.await_survey(|now| row(now, RoleName::Mind).state == DaemonState::Degraded);
    assert!(row(&degraded, RoleName::Mind).restarts >= 4);
    assert!(degraded.alarms.iter().filter(|alarm| alarm.role == RoleName::Mind).count() >= 5);
    assert!(degraded.alarms.iter().all(|alarm| alarm.role == RoleName::Mind));
    for role in RoleName::daemons().filter(|role| *role != RoleName::Mind) {
        assert_eq!(row(&degraded, role).pid, row(&before, role).pid, "{role}");
        assert_eq!(row(&degraded, role).state, DaemonState::Ready, "{role}");
    }
    rig.act(RoleName::Mind, "behave");
    let recovered = rig.await_survey(Rig::all_ready);
    assert_eq!(row(&recovered, RoleName::Mind).state, DaemonState::Degraded, "it failed five times within this minute");
}

#[test]
fn channel_closed_by_violation_is_remade_without_daemon_restart() {
    let rig = Rig::with(Plan { acts: vec![(RoleName::Planner, "accuse")], ..Plan::default() });
    let its = |edge: EdgeId| edge.asker() == RoleName::Planner || edge.answerer() == RoleName::Planner;
    let after = rig.await_survey(|now| {
        now.edges.iter().all(|edge| edge.up && edge.generation == if its(edge.edge) { 3 } else { 1 })
    });
    assert!(after.daemons.iter().all(|daemon| daemon.restarts == 0), "{after:#?}");
    let alarms = after.alarms.iter().filter(|alarm| alarm.what.contains("breach of protocol on")).count();
    assert!(alarms >= 4 && after.alarms.iter().all(|alarm| alarm.role == RoleName::Planner), "{:#?}", after.alarms);
}

#[test]
fn a_daemon_that_a_signal_has_stopped_is_killed_and_started_alone() {
    let rig = Rig::start(As::Ordinary);
    let before = rig.survey();
    let stopped = rig.halt(RoleName::Mind);
    let began = std::time::Instant::now();
    let after = rig.await_survey(|now| row(now, RoleName::Mind).restarts == 1 && Rig::all_ready(now));
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    assert_ne!(row(&after, RoleName::Mind).pid, stopped);
    let said = "a signal had stopped it (SIGSTOP)";
    assert!(row(&after, RoleName::Mind).last_exit.contains(said), "{:#?}", row(&after, RoleName::Mind));
    assert!(after.alarms.iter().any(|alarm| alarm.role == RoleName::Mind && alarm.what.contains(said)));
    for role in RoleName::daemons().filter(|role| *role != RoleName::Mind) {
        assert_eq!(row(&after, role).pid, row(&before, role).pid, "{role}");
    }
}

#[test]
fn daemon_that_reports_unasked_is_killed() {
    let rig = Rig::start(As::Ordinary);
    rig.act(RoleName::Planner, "babble");
    rig.kill(RoleName::Planner);
    rig.await_log(&["it broke the protocol of its control line: a pong that answers no ping"]);
    rig.act(RoleName::Planner, "behave");
    rig.await_survey(Rig::all_ready);
}

#[test]
fn survey_reports_starting_daemon_without_waiting_for_it() {
    let rig = Rig::start(As::Ordinary);
    rig.act(RoleName::Sandboxd, "hang");
    rig.kill(RoleName::Sandboxd);
    let starting = rig.await_survey(|now| row(now, RoleName::Sandboxd).state == DaemonState::Starting);
    assert_eq!(row(&starting, RoleName::Sandboxd).since_ms, 0);
    assert!(rig.connect(RoleName::Sandboxd).unwrap_err().contains("sandboxd is not running at this moment"));
    assert!(rig.connect(RoleName::Memoryd).is_ok());
}
