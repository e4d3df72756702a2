//! Daemons that belong to the attacker, on their real channel ends. The hostile planner, door, mind and
//! syntd use the words of the matrix; the liar sends packets that are none, on every edge of every daemon.

use metnos_proto::role::RoleName;
use metnos_tests::chronicle::{Line, count};
use metnos_tests::instance::{Instance, Plan};

const HOSTILE: &str = env!("CARGO_BIN_EXE_metnos-hostile");

fn with(role: RoleName) -> Instance {
    Plan::new().replace(role, HOSTILE).start()
}

/// Has the hostile daemon do this; the outcome of each step, and what the chronicle gained.
fn attack(set: &Instance, what: &str) -> (Vec<String>, Vec<Line>) {
    let (said, lines) = set.recording(|| set.ask(&format!("attack {what}")));
    (said.lines().map(str::to_owned).collect(), lines)
}

/// Every run was decided before, and was given exactly the arguments that were decided on.
fn assert_every_run_was_decided(set: &Instance) {
    let lines = set.chronicle();
    for started in lines.iter().filter(|line| line.kind() == "run_started") {
        let seq = started.0["payload"]["decision_seq"].as_u64().unwrap();
        let decision = lines.iter().find(|line| line.seq() == seq).unwrap_or_else(|| panic!("{:#}", started.0));
        assert_eq!(decision.kind(), "policy_decision");
        assert_eq!(decision.payload("verdict"), "allow");
        for same in ["call", "executor", "version", "arguments_digest", "place"] {
            assert_eq!(decision.payload(same), started.payload(same), "{same}");
        }
        assert!(decision.seq() < started.seq());
    }
    set.verify();
}

mod a_planner {
    use super::*;

    fn planner() -> Instance {
        with(RoleName::Planner)
    }

    #[test]
    fn cannot_have_anything_run_outside_a_turn_that_policyd_has_opened() {
        let set = planner();
        for what in ["made-up-turn notes/welcome.md", "turn-of-nobody notes/welcome.md"] {
            let (steps, lines) = attack(&set, what);
            assert!(steps[0].starts_with("refused"), "{what}: {steps:?}");
            assert_eq!(count(&lines, "run_started"), 0, "{what}");
        }
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_act_in_a_turn_that_is_over() {
        let set = planner();
        assert_eq!(attack(&set, "keep-a-handle notes/welcome.md").0, ["kept"]);
        let (steps, lines) = attack(&set, "foreign-turn");
        assert!(steps[0].starts_with("refused"), "{steps:?}");
        assert_eq!(count(&lines, "run_started"), 0);
        let (steps, lines) = attack(&set, "act-after-end");
        assert!(steps[0] == "ended" && steps[1].starts_with("refused"), "{steps:?}");
        assert_eq!(count(&lines, "run_started"), 0);
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_have_a_forbidden_path_read_however_it_is_written() {
        let set = planner();
        for path in [
            "/etc/shadow",
            "//etc/shadow",
            "/etc/./shadow",
            "../../../../etc/passwd",
            "notes/../../.policy/instance.key",
            "./../.audit",
            "~/.ssh/id_ed25519",
            "/proc/self/mem",
            "/dev/mem",
        ] {
            let (steps, lines) = attack(&set, &format!("read {path}"));
            assert!(steps[0].starts_with("denied"), "{path}: {steps:?}");
            assert_eq!((count(&lines, "policy_decision"), count(&lines, "run_started")), (1, 0), "{path}");
        }
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_use_one_call_number_twice_or_go_backwards() {
        let set = planner();
        for what in ["same-number notes/welcome.md", "backwards"] {
            let (steps, lines) = attack(&set, what);
            assert!(steps[0].starts_with("ran ok"), "{what}: {steps:?}");
            assert!(!steps[1].starts_with("ran"), "{what}: {steps:?}");
            assert_eq!(count(&lines, "run_started"), 1, "{what}");
        }
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_pass_arguments_that_two_readers_would_read_differently() {
        let set = planner();
        for arguments in [
            r#"{"path":"notes/welcome.md","path":"/etc/shadow"}"#,
            r#"{"path":"notes/welcome.md"} {"path":"/etc/shadow"}"#,
            r#"{"path":NaN}"#,
            r#"{"path":["notes/welcome.md"]}"#,
            r#"{"path":"notes/welcome.md","extra":1}"#,
            r#"["notes/welcome.md"]"#,
            "",
            "{",
        ] {
            let (steps, lines) = attack(&set, &format!("arguments {arguments}"));
            assert!(steps[0].starts_with("denied") || steps[0].starts_with("refused"), "{arguments}: {steps:?}");
            assert_eq!(count(&lines, "run_started"), 0, "{arguments}");
        }
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_name_an_executor_that_was_not_signed() {
        let set = planner();
        for name in ["fs_burn", "../fs_read", "fs_read/../fs_list", "FS_READ", "host", "."] {
            let (steps, lines) = attack(&set, &format!("executor {name}"));
            assert!(steps[0].starts_with("denied") || steps[0].starts_with("refused"), "{name:?}: {steps:?}");
            assert_eq!(count(&lines, "run_started"), 0, "{name:?}");
        }
    }

    #[test]
    fn cannot_call_what_planners_are_not_offered_and_the_owner_can() {
        let set = planner();
        for name in ["fs_restore", "inbox_add", "file_get"] {
            let (steps, lines) = attack(&set, &format!("executor {name}"));
            assert!(steps[0].contains("executor.not_offered"), "{name}: {steps:?}");
            assert_eq!(count(&lines, "run_started"), 0, "{name}");
            let decided = lines.iter().find(|line| line.kind() == "policy_decision").unwrap();
            assert_eq!((decided.payload("verdict"), decided.payload("executor")), ("deny", name));
        }
        // The same executor by its name, from the owner's own command line.
        let (code, fetched) = set.run("file_get", &["path=notes/welcome.md", "channel=cli"]);
        assert_eq!(code, 0, "{fetched:#}");
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_read_a_result_by_guessing_its_handle_or_by_one_of_another_turn() {
        let set = planner();
        let (steps, _) = attack(&set, "guess-a-handle");
        assert!(!steps[1].starts_with("released"), "{steps:?}");
        let (steps, _) = attack(&set, "keep-a-handle notes/welcome.md");
        assert_eq!(steps, ["kept"]);
        let (steps, _) = attack(&set, "use-a-kept-handle");
        assert!(steps[0].starts_with("ran"), "{steps:?}");
        assert!(steps[1..].iter().all(|step| !step.starts_with("released")), "{steps:?}");
        assert!(!steps.concat().contains("Metnos"), "{steps:?}");
    }

    #[test]
    fn learns_nothing_of_an_unreleased_result_from_a_refusal() {
        let set = planner();
        let secret = "/home/owner/the-secret-that-was-not-released";
        std::fs::write(set.workspace("notes/secret.txt"), secret).unwrap();
        let (steps, _) = attack(&set, "unreleased-as-path notes/secret.txt");
        assert!(steps[0].starts_with("ran ok"), "{steps:?}");
        assert!(!steps[1].starts_with("ran ok"), "{steps:?}");
        assert!(!steps.concat().contains("not-released"), "{steps:?}");
    }

    #[test]
    fn cannot_freeze_unregistered_words_nor_a_late_intent() {
        let set = planner();
        let (steps, _) = attack(&set, "invented-literal");
        assert_eq!(steps, ["frozen 0 ignored 1"]);
        for what in ["intent-twice", "intent-after-act", "release-first"] {
            let (steps, _) = attack(&set, what);
            let breach = steps.iter().any(|step| step.starts_with("gone") || step.starts_with("violation"));
            assert!(breach, "{what} was answered politely: {steps:?}");
        }
        // The channel was closed; the next turn has a new one, and the breach stands in the alarms.
        let (steps, _) = attack(&set, "read notes/welcome.md");
        assert!(steps[0].starts_with("ran ok"), "{steps:?}");
        let (_, status) = set.json(&["status"]);
        assert!(status["alarms"].as_array().is_some_and(|alarms| !alarms.is_empty()), "{status:#}");
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_open_or_close_anothers_turn_at_memoryd() {
        let set = planner();
        for what in ["begin-twice", "begin-foreign", "close-foreign"] {
            let (steps, _) = attack(&set, what);
            assert!(!matches!(steps[0].as_str(), "begun" | "closed"), "{what}: {steps:?}");
        }
        set.verify();
    }

    #[test]
    fn cannot_suspend_or_resume_anothers_turn_or_too_much() {
        let set = planner();
        for what in ["suspend-foreign", "suspend-much", "take-up-foreign", "take-up-nothing", "asked-foreign"] {
            let (steps, _) = attack(&set, what);
            assert!(!matches!(steps[0].as_str(), "suspended" | "taken up" | "recorded"), "{what}: {steps:?}");
        }
        let (steps, lines) = attack(&set, "suspend-twice");
        assert_eq!(steps[0], "suspended");
        assert_ne!(steps[1], "suspended");
        assert!(lines.iter().any(|line| line.to_text().contains("a turn that waits")), "a violation is recorded");
        set.verify();
    }

    #[test]
    fn cannot_fill_the_disk_with_refusals() {
        let set = planner();
        let (steps, lines) = attack(&set, "flood 2000");
        assert!(steps[0].contains("denied"), "{steps:?}");
        assert!(lines.len() < 500, "a flood of acts left {} lines", lines.len());
        assert_eq!(count(&lines, "run_started"), 0);
        // Others are still served.
        assert_eq!(set.json(&["executor", "list"]).0, 0);
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn dies_when_it_opens_a_file_makes_a_socket_or_starts_a_program() {
        let set = planner();
        for what in ["open-file /etc/hostname", "open-socket", "start-program"] {
            let before = set.pids()["planner"];
            let output = set.ctl(&["ask", &format!("attack {what}")]);
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(1), "{what}: {said}");
            assert!(!said.contains("Ok("), "{what}: {said}");
            set.wait_back("planner", before);
            let row = set.daemons().unwrap().into_iter().find(|row| row["name"] == "planner").unwrap();
            assert!(row["last_exit"].as_str().unwrap().contains("31"), "{what}: {row:#}");
        }
        set.verify();
    }
}

mod a_door {
    use super::*;

    #[test]
    fn invented_name_makes_no_sender_an_owner() {
        let set = with(RoleName::Gatewayd);
        let (steps, _) = attack(&set, "invented-senders");
        assert_eq!(steps.len(), 10, "{steps:?}");
        for step in &steps {
            // Root is the machine's owner, no matter who says so at its terminal; no other name is anybody's.
            assert!(!step.contains("Owner") || step == "uid:0 is Owner Supervised", "{step}");
        }
    }

    #[test]
    fn cannot_register_words_of_a_stranger() {
        let set = with(RoleName::Gatewayd);
        let (steps, lines) = attack(&set, "stranger-speaks");
        assert!(steps[0].starts_with("refused"), "{steps:?}");
        assert_eq!(count(&lines, "run_started"), 0);
    }

    #[test]
    fn cannot_have_a_turn_run_on_words_that_were_not_registered() {
        let set = with(RoleName::Gatewayd);
        let (steps, lines) = attack(&set, "turn-without-words");
        assert!(!steps.contains(&"ended answered".to_owned()), "{steps:?}");
        assert_eq!(count(&lines, "run_started"), 0);
        set.verify();
    }

    #[test]
    fn cannot_change_words_once_they_are_journalled() {
        let set = with(RoleName::Gatewayd);
        let (steps, lines) = attack(&set, "journal-twice");
        assert_ne!(steps.last().map(String::as_str), Some("recorded"), "{steps:?}");
        let words: Vec<&str> =
            lines.iter().filter(|line| line.kind() == "owner_message").map(|line| line.payload("text")).collect();
        assert!(words.len() <= 1 && !words.contains(&"other words"), "{words:?}");
        let (steps, _) = attack(&set, "journal-of-no-turn");
        assert!(steps.iter().all(|step| step != "recorded"), "{steps:?}");
        let (steps, _) = attack(&set, "long-event");
        assert_ne!(steps, ["recorded"]);
        set.verify();
    }

    #[test]
    fn gets_no_forbidden_path_read_by_handing_the_planner_other_words() {
        let set = with(RoleName::Gatewayd);
        let (steps, lines) = attack(&set, "other-words-to-the-planner");
        assert_eq!(steps[..3], ["registered", "recorded", "opened"], "{steps:?}");
        assert_eq!(count(&lines, "run_started"), 0, "{lines:#?}");
        assert_every_run_was_decided(&set);
    }

    #[test]
    fn cannot_send_the_terminal_commands_in_its_status() {
        let set = with(RoleName::Gatewayd);
        let output = set.ctl(&["status"]);
        assert!(output.status.success());
        assert!(!output.stdout.contains(&0x1b), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

mod a_mind {
    use super::*;

    #[test]
    fn changes_no_answer_and_no_decision_and_cannot_command_the_terminal() {
        let set = with(RoleName::Mind);
        let text = std::fs::read_to_string(set.workspace("notes/welcome.md")).unwrap();
        assert_eq!(set.ask("read notes/welcome.md").trim_end(), text.trim_end());
        let output = set.ctl(&["status"]);
        assert!(
            !output.stdout.iter().any(|byte| matches!(byte, 0x1b | 0x07)),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert_every_run_was_decided(&set);
    }
}

mod a_syntd {
    use super::*;

    #[test]
    fn flood_of_asks_delays_no_other_asker() {
        let set = with(RoleName::Syntd);
        let lines = set.chronicle().len();
        for _ in 0..5 {
            let _text = set.ask("read notes/welcome.md");
        }
        metnos_tests::until("the end of its flood", std::time::Duration::from_secs(240), || {
            set.logs().contains("hostile syntd has said everything").then_some(())
        });
        let logs = set.logs();
        let end = logs.lines().find(|line| line.contains("has said everything")).unwrap();
        assert!(!end.contains("tried") && !end.contains("offered"), "{end}");
        let gained = set.chronicle().len() - lines;
        assert!(gained < 100, "its questions left {gained} lines");
        let (_, executors) = set.json(&["executor", "list"]);
        assert!(executors.as_array().unwrap().iter().all(|row| row["state"] == "active"), "{executors:#}");
        set.verify();
    }
}
