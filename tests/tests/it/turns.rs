//! A person asks, and the answer has passed through every process: what is printed, what is recorded,
//! and what is learned from it.

use metnos_tests::chronicle::{Line, count};
use metnos_tests::instance::{Instance, Plan};

const WELCOME: &str = "notes/welcome.md";

fn welcome(set: &Instance) -> String {
    std::fs::read_to_string(set.workspace(WELCOME)).unwrap()
}

/// The only mnest that was ever used, and how often. What a young instance begins with counts as one use of its own.
fn only_mnest(set: &Instance) -> serde_json::Value {
    let (code, value) = set.json(&["mnest", "list"]);
    assert_eq!(code, 0);
    let mut mnests = value.as_array().unwrap_or_else(|| panic!("{value:#}")).clone();
    for mnest in mnests.iter_mut().filter(|mnest| mnest["tags"].to_string().contains("bootstrap")) {
        mnest["uses"] = (mnest["uses"].as_u64().unwrap() - 1).into();
    }
    mnests.retain(|mnest| mnest["uses"] != 0);
    assert_eq!(mnests.len(), 1, "{value:#}");
    mnests.remove(0)
}

#[test]
fn asking_to_read_a_file_prints_its_text_in_english_and_in_italian() {
    let set = Instance::start();
    for words in ["read notes/welcome.md", "leggi notes/welcome.md"] {
        assert_eq!(set.ask(words).trim_end(), welcome(&set).trim_end(), "{words}");
    }
    set.verify();
}

#[test]
fn a_file_with_any_text_in_it_is_printed_as_it_is() {
    let set = Instance::start();
    // What a terminal would obey is shown, not obeyed; everything else arrives untouched.
    let text =
        "Ünïcödé — «» 日本語 🦀\n\ttab, \"quotes\", \\backslash, {\"$ref\": \"c1#/content\"}\n# heading\n\nlast line";
    std::fs::write(set.workspace("notes/odd name (1).md"), text).unwrap();
    assert_eq!(set.ask("read \"notes/odd name (1).md\"").trim_end(), text);
}

#[test]
fn counting_words_chains_two_executors_by_reference_and_leaves_one_mnest() {
    let set = Instance::start();
    let words = welcome(&set).split_whitespace().count();
    for uses in [1, 2] {
        let (answer, lines) = set.recording(|| set.ask("how many words are in notes/welcome.md"));
        assert!(answer.contains(&words.to_string()), "{words} words, and the answer is: {answer}");
        let mnest = only_mnest(&set);
        assert_eq!(mnest["uses"].as_u64(), Some(uses), "{mnest:#}");
        assert_eq!(
            (mnest["src_executor"].as_str(), mnest["dst_executor"].as_str()),
            (Some("fs_read"), Some("text_stats"))
        );
        assert_the_second_call_took_its_text_from_the_first(&lines);
    }
    set.verify();
}

fn assert_the_second_call_took_its_text_from_the_first(lines: &[Line]) {
    let started: Vec<&Line> = lines.iter().filter(|line| line.kind() == "run_started").collect();
    let names: Vec<&str> = started.iter().map(|line| line.payload("executor")).collect();
    assert_eq!(names, ["fs_read", "text_stats"]);
    let inputs = &started[1].0["payload"]["inputs"];
    assert_eq!(inputs.as_array().map(Vec::len), Some(1), "{inputs:#}");
    assert_eq!(inputs[0]["from"].as_str(), Some(started[0].payload("call")));
    assert_eq!((inputs[0]["pointer"].as_str(), inputs[0]["argument"].as_str()), (Some("/content"), Some("/text")));
    // What was decided on is the reference; the text never came near the planner or policyd.
    let decided = lines.iter().rfind(|line| line.kind() == "policy_decision").unwrap();
    assert!(decided.payload("arguments").contains("$ref"), "{:#}", decided.0);
}

#[test]
fn turn_is_recorded_by_three_daemons_in_the_right_order() {
    let set = Instance::start();
    let (_, lines) = set.recording(|| set.ask("read notes/welcome.md"));
    let kinds: Vec<&str> = lines.iter().map(Line::kind).collect();
    let at =
        |kind: &str| kinds.iter().position(|other| *other == kind).unwrap_or_else(|| panic!("no {kind} in {kinds:?}"));
    let order = ["owner_message", "turn_open", "policy_decision", "run_started", "run_ended"];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{kinds:?}");
    assert!(at("run_ended") < at("turn_close") && at("run_ended") < at("assistant_message"), "{kinds:?}");
    // The emitter is the edge the line came in on.
    let emitter = |kind: &str| lines[at(kind)].text("emitter").to_owned();
    assert_eq!(
        ["owner_message", "policy_decision", "run_started", "assistant_message"].map(emitter),
        ["gatewayd", "policyd", "sandboxd", "gatewayd"]
    );
    let traces: std::collections::BTreeSet<&str> = lines.iter().map(|line| line.text("trace_id")).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    assert_eq!(lines[at("owner_message")].payload("text"), "read notes/welcome.md");
    assert_eq!(lines[at("run_started")].0["payload"]["decision_seq"], lines[at("policy_decision")].0["seq"]);
}

#[test]
fn question_without_a_model_is_answered_with_lines_of_the_files() {
    let set = Instance::start();
    let house = set.workspace("notes/house.md");
    std::fs::write(&house, "The plumber comes on Thursday at nine.\nIl wifi: la password è rosa-antica\n").unwrap();
    for (words, above, line) in [
        (
            "when does the plumber come?",
            "this stands in your files",
            "notes/house.md, line 1: The plumber comes on Thursday",
        ),
        ("qual è la password del wifi?", "nei tuoi file", "notes/house.md, riga 2: Il wifi: la password è rosa-antica"),
    ] {
        let (said, lines) = set.recording(|| set.ask(words));
        assert!(said.contains(above) && said.contains(line), "{words}: {said}");
        assert_eq!(count(&lines, "policy_decision"), 1, "it is decided on like any other call");
    }
    // What stands nowhere stays what it was: not understood, and a wish.
    let (output, lines) = set.recording(|| set.ctl(&["ask", "when does the chimney sweep come?"]));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(lines.iter().all(|line| line.kind() != "run_started" || line.payload("executor") == "text_search"));
    assert_eq!(set.json(&["approval", "list"]).1, serde_json::json!([]));
    set.verify();
}

#[test]
fn unknown_request_runs_nothing_and_lists_abilities() {
    let set = Instance::start();
    let (output, lines) = set.recording(|| set.ctl(&["ask", "paint the moon green with a brush"]));
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("The nearest things I can do"), "{said}");
    assert_eq!(count(&lines, "policy_decision"), 0);
    assert_eq!(count(&lines, "owner_message"), 1);
    assert_eq!(count(&lines, "turn_close"), 1);
}

#[test]
fn a_file_is_found_by_its_bare_name_for_the_owner() {
    let set = Instance::start();
    let (text, lines) = set.recording(|| set.ask("read welcome.md"));
    assert_eq!(text, welcome(&set));
    let started = lines.iter().find(|line| line.kind() == "run_started").unwrap();
    assert_eq!(started.payload("executor"), "fs_read");
    set.verify();
}

#[test]
fn recurring_request_is_kept_and_nothing_runs_before_its_time() {
    let set = Instance::start();
    let (told, lines) = set.recording(|| set.ask("every morning at 8 read notes/welcome.md"));
    assert!(told.contains("I will answer “read notes/welcome.md” every day at 8:00"), "{told}");
    assert!(lines.iter().all(|line| line.kind() != "run_started"));
    // What the machine's own timers are for.
    assert!(set.ctl(&["timer", "add", "every-morning-at-8", "read notes/welcome.md"]).status.success());
    let fired = set.ctl(&["timer", "fire", "every-morning-at-8"]);
    assert!(String::from_utf8_lossy(&fired.stdout).contains(&welcome(&set)), "{fired:?}");
    set.verify();
}

#[test]
fn a_session_takes_one_line_a_turn_and_ends_with_its_input() {
    use std::io::Write;
    use std::process::Stdio;
    let set = Instance::start();
    let mut chat = set.command("metnosctl");
    let mut chat =
        chat.arg("chat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    chat.stdin.take().unwrap().write_all(b"read notes/welcome.md\nleggi notes/welcome.md\n").unwrap();
    let output = chat.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said.matches(welcome(&set).trim_end()).count(), 2, "{said}");
}

#[test]
fn two_people_at_once_get_their_own_answers() {
    let set = Instance::start();
    for name in ["a", "b", "c", "d"] {
        std::fs::write(set.workspace(&format!("notes/{name}.md")), format!("the text of {name}")).unwrap();
    }
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let set = &set;
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(set.ask(&format!("read notes/{name}.md")).trim_end(), format!("the text of {name}"));
                }
            });
        }
    });
    set.verify();
}

#[test]
fn a_direct_call_takes_the_same_path_without_the_planner() {
    let set = Instance::start();
    let ((code, value), lines) = set.recording(|| set.run("fs_read", &["path=notes/welcome.md"]));
    assert_eq!(code, 0, "{value:#}");
    assert_eq!(value["result"]["content"].as_str(), Some(welcome(&set).as_str()), "{value:#}");
    let (_, lines) = set.ended_turn(&lines);
    for kind in ["turn_open", "policy_decision", "run_started", "run_ended", "turn_close"] {
        assert_eq!(count(&lines, kind), 1, "{kind}");
    }
    assert_eq!(count(&lines, "owner_message"), 0);
    set.verify();
}

mod as_root {
    use super::*;

    #[test]
    fn a_turn_goes_the_same_way_when_every_daemon_has_its_own_uid() {
        let set = Plan::new().as_root().start();
        assert_eq!(set.ask("read notes/welcome.md").trim_end(), welcome(&set).trim_end());
        let _counted = set.ask("how many words are in notes/welcome.md");
        assert_eq!(only_mnest(&set)["uses"].as_u64(), Some(1));
        set.verify();
    }
}
