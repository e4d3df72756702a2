//! The commands that look, and `up` and `down`, end to end against scripted daemons.

use std::process::Command;

use crate::common::daemons::Lines;
use crate::common::{Plan, Scene, program_with_supervisor};
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::msg::memoryd::Finding;
use metnos_proto::role::RoleName;

const LOOKING: [&[&str]; 43] = [
    &["people", "list"],
    &["people", "show", "anna"],
    &["people", "remove", "anna"],
    &["approval", "list"],
    &["approval", "show", "ab2c-d3ef"],
    &["approval", "deny", "ab2c-d3ef"],
    &["status"],
    &["daemon", "list"],
    &["daemon", "restart", "mind"],
    &["executor", "list"],
    &["executor", "show", "fs_read"],
    &["executor", "profile", "fs_read"],
    &["executor", "diff", "fs_read"],
    &["executor", "disable", "fs_read"],
    &["executor", "enable", "fs_read"],
    &["panic"],
    &["resume"],
    &["audit", "tail"],
    &["audit", "verify"],
    &["audit", "search", "deny", "--type", "policy_decision"],
    &["audit", "show", "1"],
    &["audit", "anchors"],
    &["audit", "scan"],
    &["turn", "feedback", "01M825JC65Y2MW70MZR386DS0E", "bad"],
    &["mnest", "list"],
    &["mnest", "top"],
    &["mnest", "graph", "--svg"],
    &["mnest", "proposals"],
    &["mnest", "snapshots"],
    &["spend"],
    &["memory", "late"],
    &["vaglio", "digest"],
    &["vaglio", "unasked"],
    &["vaglio", "telos"],
    &["vaglio", "explain", "ab2c-d3ef"],
    &["vaglio", "accept", "ab2c-d3ef"],
    &["vaglio", "refuse", "ab2c-d3ef"],
    &["rite", "constitution"],
    &["pairing", "list"],
    &["pairing", "approve", "telegram", "K7-DELTA-19"],
    &["pairing", "revoke", "telegram:4711"],
    &["autonomy", "show"],
    &["autonomy", "set", "owner", "full", "--for", "2h"],
];

const MNESTS: &str = r#"[{"id":"mnest_1","src_executor":"fs_read","src_version":"1.0.0","dst_executor":"text_stats",
    "dst_version":"1.0.0","weight":0.15,"uses":1,"ts_first":1,"ts_last":2,"decay_lambda":0.05,"tags":[],"state":"active",
    "desired_signature":null,"why":null,"last_event_seq":1}]"#;

const LINE: &str = r#"{"seq":1,"prev_hash":"","parent":null,"ts":"2026-04-25T08:12:03.000Z","emitter":"policyd",
    "session_key":"","turn_id":null,"trace_id":null,"event_type":"policy_decision","agent_id":"","model":"","channel":null,
    "peer":"","trust":"","payload_sha256":"","payload":{"verdict":"deny","why":"a\u001b[2Jb"},"hash":""}"#;

fn lines() -> Lines {
    Lines { tail: LINE.replace('\n', "") + "\n", mnests: MNESTS.to_owned(), ..Lines::default() }
}

#[test]
fn lifting_quarantine_shows_changes_first_and_needs_their_digest() {
    let scene = Scene::running(Plan { daemons: lines(), ..Plan::default() });
    let looked = scene.ctl(&["executor", "lift", "fs_read"]);
    assert_eq!(looked.code, Some(4), "{looked:?}");
    assert!(looked.out.contains("main.py") && !looked.out.contains('\u{1b}'), "{looked:?}");
    assert!(looked.out.contains("metnosctl executor lift fs_read --confirm blake3:11"), "{looked:?}");
    for (words, heard, code) in [
        (&["executor", "lift", "fs_read", "--confirm", "d"][..], "readmit Some(\"fs_read\") false d", 1),
        (&["executor", "relock", "--all"], "readmit None true ", 1),
        (&["executor", "relock", "fs_read", "--confirm", "d"], "readmit Some(\"fs_read\") true d", 1),
    ] {
        let said = scene.ctl(words);
        assert_eq!(said.code, Some(code), "{said:?}");
        assert_eq!(scene.plan.lock().unwrap().heard.last().map(String::as_str), Some(heard));
    }
    for (words, heard, code) in [
        (
            &["executor", "archive", "fs_read"][..],
            "life Archive(LifecycleTarget { name: \"fs_read\", reason: \"\" })",
            0,
        ),
        (
            &["executor", "restore", "fs_read", "--reason", "r"],
            "life Restore(LifecycleTarget { name: \"fs_read\", reason: \"r\" })",
            0,
        ),
        (
            &["executor", "revoke", "fs_read", "--reason", "r"],
            "life Revoke(Revocation { name: \"fs_read\", reason: \"r\", confirm: \"\" })",
            4,
        ),
        (
            &["executor", "revoke", "fs_read", "--reason", "r", "--confirm", "d"],
            "life Revoke(Revocation { name: \"fs_read\", reason: \"r\", confirm: \"d\" })",
            0,
        ),
    ] {
        let said = scene.ctl(words);
        assert!(said.code == Some(code) && !said.out.contains('\u{1b}'), "{said:?}");
        assert_eq!(scene.plan.lock().unwrap().heard.last().map(String::as_str), Some(heard));
        assert_eq!(said.out.contains("blake3:22"), code == 4, "{said:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parcel");
    let path = file.to_str().unwrap();
    let exported = scene.ctl(&["executor", "export", "fs_read", path]);
    assert!(exported.code == Some(0) && std::fs::read_to_string(&file).unwrap().contains("provenance"), "{exported:?}");
    assert_eq!(scene.ctl(&["executor", "export", "fs_read", path]).code, Some(1), "no file is written over");
    let imported = scene.ctl(&["executor", "import", path]);
    assert!(imported.code == Some(0) && !imported.out.contains('\u{1b}'), "{imported:?}");
    assert!(scene.plan.lock().unwrap().heard.last().unwrap().starts_with("import {"));
    std::fs::write(&file, vec![b' '; metnos_proto::parcel::MAX_PARCEL_BYTES + 1]).unwrap();
    assert_eq!(scene.ctl(&["executor", "import", path]).code, Some(1), "what is too long is not even sent");
    let looked = scene.ctl(&["executor", "sign", "fs_read"]);
    assert!(looked.code == Some(4) && looked.out.contains("--confirm blake3:33"), "{looked:?}");
    assert!(looked.out.contains("def run()") && !looked.out.contains('\u{1b}'), "{looked:?}");
    assert_eq!(scene.ctl(&["executor", "sign", "fs_read", "--confirm", "d"]).code, Some(0));
    assert_eq!(scene.ctl(&["executor", "revoke", "fs_read"]).code, Some(2), "not without a reason");
    assert_eq!(scene.ctl(&["executor", "relock"]).code, Some(2));
    assert_eq!(scene.ctl(&["executor", "relock", "fs_read", "--all"]).code, Some(2));
}

#[test]
fn selftest_reports_and_fails_only_for_what_was_not_stopped() {
    let scene = Scene::running(Plan { daemons: lines(), ..Plan::default() });
    let all = scene.ctl(&["sandbox", "selftest"]);
    assert!(all.code == Some(1) && all.out.contains("1 of 2 tries"), "{all:?}");
    let said = format!("{}{}", all.out, all.err);
    assert!(said.contains("bad_output") && !said.contains('\u{1b}'), "{all:?}");
    let one = scene.ctl(&["sandbox", "selftest", "--family", "files", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!((one.code, &document["ok"], &document["skipped"]), (Some(0), &true.into(), &1.into()), "{document:#}");
    let unknown = scene.ctl(&["sandbox", "selftest", "--family", "nothing"]);
    assert!(unknown.code == Some(1) && unknown.err.contains("files, lies"), "{unknown:?}");
}

#[test]
fn commands_about_people_and_proposals_send_the_right_asks() {
    let scene = well();
    for words in [&["vaglio", "digest"][..], &["autonomy", "show"]] {
        let text = scene.ctl(words);
        assert!(text.code == Some(0) && !text.out.contains('\u{1b}'), "{text:?}");
    }
    for (words, heard) in [
        (
            &["pairing", "invite", "http", "--as", "owner"][..],
            "pairing Invite(Invite { channel: Http, standing: Owner, person: \"\" })",
        ),
        (
            &["pairing", "approve", "cli", "k7-delta-19"],
            "pairing Approve(ApprovePairing { channel: Cli, code: \"k7-delta-19\", standing: Guest, person: \"\" })",
        ),
        (
            &["people", "add", "Anna", "--role", "adult", "--also", "mum"],
            "persons Add(AddPerson { name: \"Anna\", role: Adult, also: [\"mum\"] })",
        ),
        (
            &["people", "change", "anna", "--role", "child"],
            "persons Change(ChangePerson { name: \"anna\", quiet: None, channel: None, role: Some(Child), also: None, may_call: None })",
        ),
        (
            &["people", "change", "anna", "--quiet", "none"],
            "persons Change(ChangePerson { name: \"anna\", quiet: Some(None), channel: None, role: None, also: None, may_call: None })",
        ),
        (
            &["people", "change", "anna", "--channel", "telegram"],
            "persons Change(ChangePerson { name: \"anna\", quiet: None, channel: Some(Some(Telegram)), role: None, also: None, may_call: None })",
        ),
        (
            &["people", "join", "anna", "telegram:7"],
            "persons Join(JoinPerson { person: \"anna\", principal: \"telegram:7\" })",
        ),
        (&["people", "remove", "anna"], "persons Remove(\"anna\")"),
        (
            &["seal", "break", "anna", "--reason", "she is lost"],
            "seals Break(BreakSeal { who: \"anna\", why: \"she is lost\" })",
        ),
        (&["account", "list"], "accounts List"),
        (
            &["account", "remove", "mail", "--person", "anna", "--name", "work"],
            "accounts Remove(AccountOf { person: \"anna\", kind: Mail, name: \"work\" })",
        ),
        (&["seal", "close", "anna"], "seals Close(\"anna\")"),
        (&["seal", "list"], "seals List"),
        (
            &["autonomy", "set", "owner", "full", "--for", "2h"],
            "autonomy Set(SetLevel { principal: \"owner\", level: Full, seconds: 7200 })",
        ),
        (&["vaglio", "refuse", "a"], "vaglio Answer(ProposalAnswer { id: \"a\", accept: false })"),
        (&["rite", "constitution", "--confirm", "blake3:00"], "rite Constitution(\"blake3:00\")"),
    ] {
        scene.ctl(words);
        assert_eq!(scene.plan.lock().unwrap().heard.last().map(String::as_str), Some(heard));
    }
    assert_eq!(scene.ctl(&["pairing", "invite", "scheduler"]).code, Some(2));
    assert_eq!(scene.ctl(&["autonomy", "set", "owner", "full", "--for", "2w"]).code, Some(2));
}

#[test]
fn a_pending_constitution_waits_and_names_what_puts_it_in_force() {
    let scene = Scene::running(Plan { daemons: Lines { constitution_pending: true, ..lines() }, ..Plan::default() });
    let text = scene.ctl(&["rite", "constitution"]);
    assert_eq!(text.code, Some(4));
    assert!(text.out.contains("rite constitution --confirm blake3:ab"), "{text:?}");
}

fn well() -> Scene {
    Scene::running(Plan { daemons: lines(), ..Plan::default() })
}

#[test]
fn every_looking_command_has_a_text_and_one_document() {
    let scene = well();
    for words in LOOKING {
        let text = scene.ctl(words);
        assert_eq!((text.code, text.err.as_str()), (Some(0), ""), "{words:?}: {text:?}");
        assert!(!text.out.is_empty() && !text.out.contains('\u{1b}'), "{words:?}: {text:?}");
        let json = scene.ctl(&[words, &["--json"]].concat());
        assert_eq!((json.code, json.err.as_str()), (Some(0), ""), "{words:?}: {json:?}");
        assert!(json.json().is_object() || json.json().is_array(), "{words:?}");
    }
}

#[test]
fn nothing_is_running_means_three_for_every_command_and_nought_for_down() {
    let scene = Scene::stopped(Plan::default());
    let talking: [&[&str]; 4] = [&["ask", "x"], &["chat"], &["run", "x", "a=b"], &["executor", "verify"]];
    for words in LOOKING.into_iter().chain(talking) {
        let ran = scene.ctl(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(3), ""), "{words:?}: {ran:?}");
        assert!(ran.err.contains("is not running") && ran.err.contains(" up --detach"), "{words:?}: {ran:?}");
    }
    let error = scene.ctl(&["status", "--json"]);
    assert_eq!((error.code, error.json()["error"]["code"].as_str()), (Some(3), Some("not_running")));
    assert_eq!(scene.ctl(&["down"]).code, Some(0));
    assert_eq!(scene.ctl(&["doctor"]).code, Some(1));
}

#[test]
fn stranger_learns_that_he_is_unknown() {
    let refusal =
        Refusal::new(RefusalCode::Denied, "supervisor.owner", "this instance belongs to uid 1000, and uid 7 asks");
    let scene = Scene::running(Plan { shut: Some(refusal), ..Plan::default() });
    // The supervisor hangs up at once, so that its word races with the question.
    for _ in 0..20 {
        let ran = scene.ctl(&["status"]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.err.contains("belongs to uid 1000"), "{ran:?}");
    }
}

#[test]
fn status_shows_everybody_else_when_one_daemon_is_away() {
    let scene = Scene::running(Plan { away: vec![RoleName::Memoryd], daemons: lines(), ..Plan::default() });
    let ran = scene.ctl(&["status", "--json"]);
    let document = ran.json();
    assert_eq!(ran.code, Some(0));
    assert!(document["chronicle"].is_null());
    assert_eq!(document["unreachable"][0]["daemon"], "memoryd");
    assert_eq!(document["policy"]["decisions_total"], 4);
    assert_eq!(scene.ctl(&["audit", "verify"]).code, Some(3));
}

#[test]
fn the_mnests_are_a_list_with_their_uses() {
    let mnests = well().ctl(&["mnest", "list", "--json"]).json();
    assert_eq!((mnests.as_array().map(Vec::len), mnests[0]["uses"].as_u64()), (Some(1), Some(1)));
}

#[test]
fn audit_tail_asks_for_the_wanted_number_of_lines() {
    let scene = well();
    scene.ctl(&["audit", "tail", "-n", "3"]);
    assert_eq!(scene.plan.lock().unwrap().heard, ["tail 3 after 0"]);
}

#[test]
fn the_switches_are_thrown_by_policyd() {
    let scene = well();
    let panicked = scene.ctl(&["panic", "--json"]).json();
    assert_eq!((panicked["stopped"].as_bool(), panicked["killed"].as_u64()), (Some(true), Some(2)));
    scene.ctl(&["resume"]);
    scene.ctl(&["executor", "disable", "fs_read"]);
    scene.ctl(&["executor", "enable", "fs_read"]);
    assert_eq!(scene.plan.lock().unwrap().heard, ["panic", "resume", "switch fs_read false", "switch fs_read true"]);
}

#[test]
fn any_failed_check_exits_with_one() {
    let finding = Finding { seq: 3, kind: "chain".into(), detail: "broken".into() };
    let bad = Lines { quarantined: true, escape: true, findings: vec![finding], ..lines() };
    let scene = Scene::running(Plan { daemons: bad, ..Plan::default() });
    let verified = scene.ctl(&["executor", "verify", "--json"]);
    assert_eq!((verified.code, verified.json()[0]["ok"].as_bool()), (Some(1), Some(false)));
    let chronicle = scene.ctl(&["audit", "verify", "--json"]);
    assert_eq!((chronicle.code, chronicle.json()["findings"][0]["seq"].as_u64()), (Some(1), Some(3)));
    let doctor = scene.ctl(&["doctor", "--json"]);
    assert_eq!(doctor.code, Some(1));
    let document = doctor.json();
    let bad: Vec<&str> = document["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| check["name"].as_str().unwrap())
        .collect();
    for name in ["sandbox", "executors", "chronicle"] {
        assert!(bad.contains(&name), "{name} is not among {bad:?}");
    }
    assert!(document["checks"].as_array().unwrap().iter().all(|one| one["ok"] == true || one["remedy"] != ""));
}

#[test]
fn an_unknown_executor_is_a_refusal() {
    let scene = well();
    let ran = scene.ctl(&["executor", "show", "nothing"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), "there is no executor nothing\n"));
    let ran = scene.ctl(&["--verbose", "executor", "show", "nothing"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), "there is no executor nothing [executor.unknown]\n"));
}

#[test]
fn down_returns_when_the_supervisors_process_is_over() {
    let process = Command::new("sleep").arg("600").spawn().unwrap();
    let scene = Scene::running(Plan { process: Some(process), ..Plan::default() });
    let ran = scene.ctl(&["down", "--json"]);
    assert_eq!((ran.code, ran.json()["was_running"].as_bool()), (Some(0), Some(true)));
}

#[test]
fn up_says_that_it_is_running_already() {
    let ran = well().ctl(&["up", "--json"]);
    assert_eq!((ran.code, ran.json()["state"].as_str()), (Some(0), Some("already_running")));
}

#[test]
fn up_in_the_background_waits_for_one_that_is_just_starting() {
    let scene = Scene::running(Plan { starting: 3, ..Plan::default() });
    let ran = scene.ctl(&["up", "--detach", "--json"]);
    assert_eq!((ran.code, ran.json()["ready_after_ms"].as_u64()), (Some(0), Some(80)));
    assert_eq!(scene.plan.lock().unwrap().asked.len(), 4);
    let scene = Scene::running(Plan { starting: 3, ..Plan::default() });
    assert_eq!(scene.ctl(&["up", "--json"]).json()["ready_after_ms"], 0);
}

#[test]
fn up_creates_the_instance_and_starts_the_supervisor_beside_it() {
    let scene = Scene::stopped(Plan::default());
    let bin = tempfile::tempdir().unwrap();
    let program = program_with_supervisor(bin.path(), "printf '%s\\n' \"$@\" > \"$3/words\"");
    let ran: crate::common::Ran = scene.command_of(&program, &["up"]).output().unwrap().into();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.starts_with("Created an instance in "), "{ran:?}");
    let words = std::fs::read_to_string(scene.dir.path().join("words")).unwrap();
    assert_eq!(words.lines().collect::<Vec<_>>(), ["--spawn", "--instance", scene.dir.path().to_str().unwrap()]);
    assert!(scene.dir.path().join("workspace/SOUL.md").is_file());
    assert!(scene.dir.path().join("workspace/executors/fs_read/CURRENT").is_file());
}

#[test]
fn up_in_the_background_returns_when_everything_is_ready_or_says_why_not() {
    let bin = tempfile::tempdir().unwrap();
    let scene = Scene::stopped(Plan::default());
    let program = program_with_supervisor(bin.path(), "echo ready; exec sleep 1");
    let ran: crate::common::Ran = scene.command_of(&program, &["up", "--detach", "--json"]).output().unwrap().into();
    assert_eq!((ran.code, ran.json()["state"].as_str()), (Some(0), Some("started")), "{ran:?}");
    assert_eq!(ran.json()["created"], true);
    let program = program_with_supervisor(bin.path(), "echo 'the start failed: no memory'; exit 1");
    let ran: crate::common::Ran = scene.command_of(&program, &["up", "--detach"]).output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.starts_with("Metnos has not started: the start failed: no memory\n"), "{ran:?}");
}

#[test]
fn up_touches_nothing_in_a_directory_with_other_things() {
    let scene = Scene::stopped(Plan::default());
    std::fs::write(scene.dir.path().join("thesis.tex"), "years").unwrap();
    let bin = tempfile::tempdir().unwrap();
    let program = program_with_supervisor(bin.path(), "exit 0");
    let ran: crate::common::Ran = scene.command_of(&program, &["up", "--detach"]).output().unwrap().into();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("thesis.tex"), "{ran:?}");
    assert_eq!(std::fs::read_dir(scene.dir.path()).unwrap().count(), 1);
}

#[test]
fn closed_pipe_ends_the_program_silently() {
    let scene = well();
    let mut child = scene.command(&["status"]).spawn().unwrap();
    drop(child.stdout.take());
    let ran: crate::common::Ran = child.wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
}

#[test]
fn policy_check_explains_each_step_and_exits_one_when_denied() {
    let scene = well();
    let text = scene.ctl(&["policy", "check", "owner", "fs_read", "path=/etc/shadow"]);
    assert_eq!((text.code, text.err.as_str()), (Some(1), ""), "{text:?}");
    assert!(text.out.contains("guard.path") && text.out.contains("core") && text.out.contains("copy it"), "{text:?}");
    let json = scene.ctl(&["policy", "check", "owner", "fs_read", "{\"path\": \"a\"}", "--json"]);
    assert_eq!((json.code, json.json()["verdict"].as_str().map(str::to_owned)), (Some(1), Some("deny".to_owned())));
}

#[test]
fn a_head_that_policyd_did_not_sign_is_a_finding_and_so_is_its_distrust() {
    for daemons in
        [Lines { forged_anchor: true, ..lines() }, Lines { broken: "line 7 had another hash".to_owned(), ..lines() }]
    {
        let scene = Scene::running(Plan { daemons, ..Plan::default() });
        for words in [&["audit", "verify"][..], &["audit", "anchors"]] {
            let ran = scene.ctl(words);
            assert_eq!(ran.code, Some(1), "{words:?}: {ran:?}");
            let json = scene.ctl(&[words, &["--json"]].concat());
            assert_eq!(json.code, Some(1), "{words:?}: {json:?}");
        }
    }
}

#[test]
fn a_rite_is_confirmed_by_the_lines_own_number_or_nothing_happens() {
    let scene = well();
    let unconfirmed: [&[&str]; 2] = [&[], &["--confirm", "6"]];
    for more in unconfirmed {
        let ran = scene.ctl(&[&["audit", "redact", "5", "--why", "a secret"][..], more].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert!(scene.plan.lock().unwrap().heard.iter().all(|heard| !heard.starts_with("redact")));
    let ran = scene.ctl(&["audit", "redact", "5", "--why", "a secret", "--confirm", "5"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(scene.plan.lock().unwrap().heard.contains(&"redact 5 a secret".to_owned()));
}

#[test]
fn export_is_verified_and_never_overwrites_a_file() {
    let scene = well();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.jsonl");
    let path = file.to_str().unwrap();
    let ran = scene.ctl(&["audit", "export", path]);
    assert_eq!(ran.code, Some(1), "the scripted line is no link of a chain: {ran:?}");
    assert!(ran.err.contains("does not hold"), "{ran:?}");
    let again = scene.ctl(&["audit", "export", path]);
    assert!(again.code == Some(1) && again.err.contains("exists"), "{again:?}");
}
