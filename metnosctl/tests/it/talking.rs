//! `ask`, `chat` and `run`, end to end against daemons that do as they are told.

use crate::common::daemons::{Lines, ran, until};
use crate::common::{Plan, Scene};
use metnos_proto::msg::common::{Outcome, Refusal, RefusalCode};
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::msg::policyd::Acted;
use rustix::process::{Pid, Signal, kill_process};

fn saying(texts: &[&str], end: TurnEnd, why: &str) -> Plan {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    Plan { daemons: Lines { texts, end: Some((end, why.to_owned())), ..Lines::default() }, ..Plan::default() }
}

fn calling(acted: Acted, result: &str) -> Plan {
    Plan { daemons: Lines { call: Some((acted, result.to_owned())), ..Lines::default() }, ..Plan::default() }
}

#[test]
fn the_answer_is_piped_byte_for_byte() {
    let scene = Scene::running(saying(&["caffè\u{1b}[2J\r", "\nno end of line"], TurnEnd::Answered, ""));
    let ran = scene.ctl(&["ask", "read", "notes/welcome.md"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "caffè\u{1b}[2J\r\nno end of line", ""));
    assert_eq!(scene.plan.lock().unwrap().heard, ["read notes/welcome.md"]);
}

#[test]
fn words_can_come_from_standard_input() {
    let scene = Scene::running(saying(&["ok"], TurnEnd::Answered, ""));
    assert_eq!(scene.ctl_fed(&["ask", "-"], "read\nthis").code, Some(0));
    assert_eq!(scene.plan.lock().unwrap().heard, ["read\nthis"]);
}

#[test]
fn a_denied_turn_exits_with_one_and_says_why_on_standard_error() {
    let scene = Scene::running(saying(&["I may not."], TurnEnd::Denied, "`/etc/shadow` is forbidden"));
    let ran = scene.ctl(&["ask", "read /etc/shadow"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "I may not."));
    assert_eq!(ran.err, "`/etc/shadow` is forbidden\n");
}

#[test]
fn program_receives_the_turn_as_one_document_a_line() {
    let scene = Scene::running(saying(&["a", "b"], TurnEnd::Unsuccessful, "no such file"));
    let ran = scene.ctl(&["--json", "ask", "x"]);
    let events = ran.json_lines();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((ran.code, names), (Some(1), vec!["turn", "call", "text", "text", "done"]));
    assert_eq!((events[4]["end"].as_str(), events[4]["why"].as_str()), (Some("unsuccessful"), Some("no such file")));
}

#[test]
fn ctrl_c_cancels_the_turn_at_the_door_and_exits_with_one() {
    let scene = Scene::running(Plan::default());
    let child = scene.command(&["ask", "something long"]).spawn().unwrap();
    until(|| !scene.plan.lock().unwrap().heard.is_empty());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran: crate::common::Ran = child.wait_with_output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("somebody cancelled it"), "{ran:?}");
    assert_eq!(scene.plan.lock().unwrap().heard, ["something long", "stop true"]);
}

#[test]
fn a_door_that_leaves_in_the_middle_is_unreachable() {
    let lines = Lines { texts: vec!["half".to_owned()], door_leaves: true, ..Lines::default() };
    let scene = Scene::running(Plan { daemons: lines, ..Plan::default() });
    let ran = scene.ctl(&["ask", "x"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(3), "half"));
    assert!(ran.err.contains("gatewayd"), "{ran:?}");
}

#[test]
fn a_chat_in_a_pipe_is_a_turn_a_line_and_fails_when_one_did() {
    let scene = Scene::running(saying(&["ok"], TurnEnd::Answered, ""));
    let ran = scene.ctl_fed(&["chat"], "one\n\n  two\n/quit\nthree\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ok\nok\n"));
    assert_eq!(scene.plan.lock().unwrap().heard, ["one", "two"]);
    let scene = Scene::running(saying(&[], TurnEnd::NotUnderstood, "what?"));
    let ran = scene.ctl_fed(&["chat"], "one\ntwo");
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), "what?\nwhat?\n"));
}

#[test]
fn a_chat_goes_on_with_a_new_door_when_the_old_one_left() {
    let lines = Lines { door_leaves: true, ..Lines::default() };
    let scene = Scene::running(Plan { daemons: lines, ..Plan::default() });
    let ran = scene.ctl_fed(&["chat"], "one\ntwo\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(scene.plan.lock().unwrap().heard, ["one", "two"]);
    assert_eq!(ran.err.matches("gatewayd").count(), 2, "{ran:?}");
}

#[test]
fn arguments_arrive_as_the_schema_wants_them() {
    let scene = Scene::running(calling(ran(Outcome::Ok), r#"{"ok":true,"size":3}"#));
    let ran = scene.ctl(&["run", "fs_read", "path=12", "limit=12"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "size  3\n"), "{ran:?}");
    scene.ctl(&["run", "fs_read", "path=\"a\\u0000b\""]);
    scene.ctl(&["run", "other", "path=12"]);
    scene.ctl(&["run", "fs_read", "--args", "{ \"path\": \"x\" }"]);
    scene.ctl_fed(&["run", "fs_read", "--args", "-"], "{}");
    let heard = scene.plan.lock().unwrap().heard.clone();
    assert_eq!(heard[0], r#"fs_read {"limit":12,"path":"12"}"#);
    assert_eq!(heard[1], r#"fs_read {"path":"a\u0000b"}"#);
    assert_eq!(heard[2], r#"other {"path":12}"#);
    assert_eq!(heard[3], r#"fs_read { "path": "x" }"#, "the bytes are passed on as they are");
    assert_eq!(heard[4], "fs_read {}");
}

#[test]
fn wrong_usage_reaches_no_daemon() {
    let scene = Scene::running(Plan::default());
    for words in
        [&["run", "x", "novalue"][..], &["run", "x", "--args", "[]"], &["run", "x", "a=1", "a=2"], &["ask", " "]]
    {
        let ran = scene.ctl(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{words:?}");
        assert!(ran.err.contains('→'), "no remedy in {ran:?}");
    }
    assert!(scene.plan.lock().unwrap().asked.is_empty());
}

#[test]
fn a_denied_call_names_reason_and_remedy_and_verbosely_the_rule() {
    let refusal = Refusal::new(RefusalCode::Denied, "guard.path", "`/etc/shadow` is forbidden").remedy("stay inside");
    let scene = Scene::running(calling(Acted::Denied(refusal), ""));
    let ran = scene.ctl(&["run", "fs_read", "path=/etc/shadow"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert_eq!(ran.err, "`/etc/shadow` is forbidden\n  → stay inside\n");
    let ran = scene.ctl(&["--verbose", "run", "fs_read", "path=/etc/shadow"]);
    assert_eq!(ran.err, "`/etc/shadow` is forbidden [guard.path]\n  → stay inside\n");
    let document = scene.ctl(&["run", "--json", "fs_read", "path=/etc/shadow"]).json();
    assert_eq!(document["error"]["rule"], "guard.path");
    assert_eq!(document["ok"], false);
}

#[test]
fn an_executors_error_is_a_failure_and_a_missing_daemon_is_unreachable() {
    let result = r#"{"ok":false,"error":{"class":"NotFound","message":"there is no x"}}"#;
    let scene = Scene::running(calling(ran(Outcome::Error), result));
    let ran = scene.ctl(&["run", "fs_read", "path=x"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), "fs_read: there is no x\n"));
    assert_eq!(scene.ctl(&["--verbose", "run", "fs_read", "path=x"]).err, "fs_read: there is no x [NotFound]\n");
    let refusal = Refusal::new(RefusalCode::Unavailable, "peer.gone", "sandboxd is not running");
    let scene = Scene::running(calling(Acted::Denied(refusal), ""));
    assert_eq!(scene.ctl(&["run", "fs_read", "path=x"]).code, Some(3));
}
