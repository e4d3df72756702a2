//! `metnosctl`'s side of the control socket.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;

use metnos_proto::control::{self, CtlAnswer, CtlAsk, DaemonState, Survey};
use metnos_proto::edge::Side;
use metnos_proto::edges::EdgeId;
use metnos_proto::msg::common::RefusalCode;
use metnos_proto::role::RoleName;
use metnos_proto::socket;

use super::rig::{self, As, Rig, SOMEBODY, ask_over, await_end, pidfd, row, skipped_without_root};

#[test]
fn survey_reports_every_daemon() {
    let rig = Rig::start(As::Starter);
    let surveyed = rig.survey();
    assert_eq!(surveyed.instance, rig.instance.to_str().unwrap());
    assert_eq!((surveyed.mode.as_str(), surveyed.pid), ("spawn", rig.child.id()));
    assert!(surveyed.since_ms > 0 && surveyed.ready_after_ms > 0 && surveyed.pss_kib > 0);
    assert_eq!(
        surveyed.daemons.iter().map(|daemon| daemon.role).collect::<Vec<_>>(),
        RoleName::daemons().collect::<Vec<_>>()
    );
    for daemon in &surveyed.daemons {
        assert_eq!((&daemon.state, daemon.restarts, daemon.pss_kib), (&DaemonState::Ready, 0, 1234));
        assert!(daemon.since_ms > 0 && daemon.pid > 0);
        assert_eq!(daemon.lock, ["a puppet has none"]);
        assert_eq!(daemon.last_exit, "");
    }
    assert_eq!(surveyed.alarms, vec![]);
}

#[test]
fn an_end_of_an_admin_channel_leads_to_the_daemon_which_knows_who_asks() {
    let rig = Rig::start(As::Starter);
    for generation in 1..3 {
        let (end, fd) = rig.connect(RoleName::Memoryd).unwrap();
        assert_eq!((end.edge, end.side, end.generation, end.peer), (EdgeId::CtlMemoryd, Side::Asker, generation, None));
        socket::send(fd.as_fd(), format!("word {generation}").as_bytes(), &[]).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        rig.await_log(&[
            &format!(
                "end CtlMemoryd Answerer {generation} peer=Some(PeerCred {{ pid: {}, uid: {uid} }})",
                std::process::id()
            ),
            &format!("heard CtlMemoryd word {generation}"),
        ]);
        drop(fd);
        // Nobody else holds our end: its death is seen.
        rig.await_log(&[&format!("gone CtlMemoryd {generation}")]);
    }
    let refusal = rig.connect(RoleName::Planner).unwrap_err();
    assert!(refusal.contains("nobody speaks to planner from outside"), "{refusal}");
}

#[test]
fn a_restart_is_answered_when_the_daemon_is_ready_again_and_is_no_failure() {
    let rig = Rig::start(As::Starter);
    let old = pidfd(rig.pid_of(RoleName::Memoryd));
    rig.restart(RoleName::Memoryd);
    await_end(&old);
    let after = rig.survey();
    assert_eq!(
        (&row(&after, RoleName::Memoryd).state, row(&after, RoleName::Memoryd).restarts),
        (&DaemonState::Ready, 1)
    );
    assert_eq!(row(&after, RoleName::Memoryd).last_exit, "exit status 0");
    assert!(Rig::all_ready(&after));
    assert_eq!(after.alarms, vec![]);
}

#[test]
fn a_daemon_that_does_not_finish_is_restarted_all_the_same() {
    let rig = Rig::start(As::Ordinary);
    rig.act(RoleName::Mind, "stubborn");
    rig.restart(RoleName::Mind);
    rig.act(RoleName::Mind, "behave");
    rig.restart(RoleName::Mind);
    let after = rig.survey();
    assert_eq!(row(&after, RoleName::Mind).restarts, 2);
    let exit = &row(&after, RoleName::Mind).last_exit;
    assert!(exit.contains("it did not finish within"), "{exit}");
}

#[test]
fn a_shutdown_is_accepted_and_then_everything_ends() {
    let mut rig = Rig::start(As::Ordinary);
    let client = rig.client();
    assert!(matches!(ask_over(&client, &CtlAsk::Shutdown(control::Shutdown {})).0, CtlAnswer::Accepted(_)));
    assert_eq!(rig.wait().code(), Some(0));
    // Who asked sees the end of the supervisor as the end of his line.
    let end = control::receive_within::<CtlAnswer>(client.as_fd(), &mut socket::buffer(), rig::PATIENCE);
    assert!(matches!(end, Err(control::ControlError::Gone)), "{end:?}");
}

#[test]
fn control_client_neither_owner_nor_root_is_refused() {
    if skipped_without_root() {
        return;
    }
    let rig = Rig::start(As::Starter);
    // Both doors before the supervisor's own check are opened for the test.
    for (path, mode) in [("run", 0o755), ("run/control.sock", 0o666)] {
        std::fs::set_permissions(rig.instance.join(path), PermissionsExt::from_mode(mode)).unwrap();
    }
    let instance = rig.instance.clone();
    let answer = std::thread::spawn(move || {
        // This thread alone becomes someone else.
        rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(SOMEBODY)).unwrap();
        ask_over(&rig::connect(&instance).unwrap(), &CtlAsk::Survey(Survey {}))
    });
    match answer.join().unwrap() {
        (CtlAnswer::Refused(refusal), None) => {
            assert_eq!((refusal.code, refusal.rule.as_str()), (RefusalCode::Denied, "supervisor.owner"));
            assert_eq!(refusal.why, format!("this is for the owner of the instance, and uid {SOMEBODY} asks"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn others_may_knock_and_see_nothing_else() {
    let rig = Rig::start(As::Starter);
    let mode = |path: &str| std::fs::metadata(rig.instance.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run"), mode("run/control.sock"), mode("run/supervisor.log")), (0o711, 0o666, 0o600));
}

#[test]
fn root_may_ask_an_ordinary_users_supervisor() {
    if skipped_without_root() {
        return;
    }
    assert_eq!(Rig::start(As::Ordinary).survey().uid, SOMEBODY);
}

#[test]
fn control_client_beyond_the_limit_gets_retry() {
    let rig = Rig::start(As::Ordinary);
    let clients: Vec<_> = (0..metnos_supervisor::ctl::MAX_CLIENTS).map(|_| rig.client()).collect();
    for client in &clients {
        assert!(matches!(ask_over(client, &CtlAsk::Survey(Survey {})).0, CtlAnswer::Surveyed(_)));
    }
    match ask_over(&rig.client(), &CtlAsk::Survey(Survey {})).0 {
        CtlAnswer::Refused(refusal) => assert_eq!(refusal.code, RefusalCode::Busy),
        other @ (CtlAnswer::Connected(_) | CtlAnswer::Surveyed(_) | CtlAnswer::Accepted(_)) => panic!("{other:?}"),
    }
    drop(clients);
    rig.await_survey(Rig::all_ready);
}

#[test]
fn a_client_that_says_what_is_no_question_is_left() {
    let rig = Rig::start(As::Ordinary);
    let client = rig.client();
    socket::send(client.as_fd(), b"not a frame", &[]).unwrap();
    let end = control::receive_within::<CtlAnswer>(client.as_fd(), &mut socket::buffer(), rig::PATIENCE);
    assert!(matches!(end, Err(control::ControlError::Gone)), "{end:?}");
    assert!(Rig::all_ready(&rig.survey()));
}
