//! What syntd has drafted, through the whole set: written down before a model learns of it, paid by the owner's table from
//! budgets of its own, and over when the owner says so. A stand-in has it drafted.

use std::net::TcpStream;
use std::time::Duration;

use metnos_proto::role::RoleName;
use metnos_tests::chronicle::Line;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, plain, say};
use metnos_tests::script::{Reply, openai};
use metnos_tests::until;
use serde_json::json;

const DRAFTER: &str = env!("CARGO_BIN_EXE_metnos-drafter");
const WITHIN: Duration = Duration::from_secs(60);

fn server() -> Liar {
    Liar::start(|number, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        say(stream, &openai(number, &Reply::Says("def main(): pass")));
    })
}

/// What the drafter has said, from this line on.
fn said(set: &Instance, from: usize) -> Vec<String> {
    let logs = set.logs();
    logs.lines().filter_map(|line| Some(line.split_once("drafter: ")?.1.to_owned())).skip(from).collect()
}

/// Waits until it has said something like this, from this line on; the line, and how many there were by then.
fn until_said(set: &Instance, from: usize, wanted: &str) -> (String, usize) {
    until(wanted, WITHIN, || {
        let lines = said(set, from);
        let at = lines.iter().position(|line| line.contains(wanted))?;
        Some((lines[at].clone(), from + at + 1))
    })
}

/// Entries of the ledger about drafts: role, stage, millionths.
fn ledger(set: &Instance) -> Vec<(String, String, u64)> {
    let of = |line: &Line| {
        let micro = line.0["payload"]["micro"].as_u64().unwrap_or(0);
        (line.payload("role").to_owned(), line.payload("stage").to_owned(), micro)
    };
    let drafts = |line: &&Line| line.kind() == "cost_entry" && line.text("peer") == "metnos:synth";
    set.chronicle().iter().filter(drafts).map(of).collect()
}

#[test]
fn drafts_are_charged_to_own_budgets_and_stop_on_panic() {
    let server = server();
    let set = Plan::new()
        .replace(RoleName::Syntd, DRAFTER)
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\nsynth = [\"there/m\"]\n\
             prices = [\"there/m 2020-01-01 3.00 15.00\", \"there/m 2999-01-01 3000.00 15000.00\"]\n",
            server.port
        ))
        .start();
    let (run, at) = until_said(&set, 0, "tokens");
    let (_, at) = until_said(&set, at, "`def main(): pass` by there/m");
    // Written down first; then each draft at 1,000 tokens of 3.00 and 50 of 15.00 a million.
    let entries = until("its entry", WITHIN, || {
        Some(ledger(&set)).filter(|all| all.iter().any(|(role, stage, _)| role == "synth" && stage == "actual"))
    });
    assert_eq!((entries[0].0.as_str(), entries[0].1.as_str()), ("granted", "estimate"), "{entries:?}");
    assert!(entries.iter().all(|(role, _, micro)| role != "synth" || *micro == 3_750), "{entries:?}");
    let (code, shown) = set.json(&["budget", "show", "metnos:synth"]);
    assert_eq!(code, 0, "{shown:#}");
    let row =
        |name: &str| shown["budgets"].as_array().unwrap().iter().find(|row| row["budget"] == name).unwrap().clone();
    assert!(row("tokens.day")["used"].as_u64().unwrap() > 0, "{shown:#}");

    // Everything stops: nothing more is sent, whatever is wanted; and the run does not come back.
    assert!(set.ctl(&["panic"]).status.success());
    let (_, at) = until_said(&set, at, "refused panic.stopped");
    let asked = server.thoughts();
    assert!(set.ctl(&["status"]).status.success());
    assert_eq!(server.thoughts(), asked);
    assert!(set.ctl(&["resume"]).status.success());
    let (other, at) = until_said(&set, at, "tokens");
    let name = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    assert_ne!(name(&other), name(&run));
    let (_, at) = until_said(&set, at, "`def main(): pass`");

    // Who decides is restarted: what was funded by the last one is over, and there is another run.
    assert!(set.ctl(&["daemon", "restart", "policyd"]).status.success());
    let (_, at) = until_said(&set, at, "refused mind.fund");
    let (_, at) = until_said(&set, at, "`def main(): pass`");

    // Who wanted them is restarted: the run of the last one is settled with what it took.
    let settled = || ledger(&set).iter().filter(|(role, stage, _)| role == "granted" && stage == "actual").count();
    let before = settled();
    assert!(set.ctl(&["daemon", "restart", "syntd"]).status.success());
    until("the last run, settled", WITHIN, || (settled() > before).then_some(()));
    let (_, at) = until_said(&set, at, "`def main(): pass`");

    // Nothing is left of its day: the owner's own is another matter.
    let (code, lowered) = set.json(&["budget", "raise", "metnos:synth", "tokens.day", "1", "--for", "1h"]);
    assert_eq!(code, 0, "{lowered:#}");
    assert!(set.ctl(&["panic"]).status.success());
    let (_, at) = until_said(&set, at, "refused panic.stopped");
    assert!(set.ctl(&["resume"]).status.success());
    let (refused, _) = until_said(&set, at, "refused budget.");
    assert!(refused.contains("budget.tokens.day"), "{refused}");
    assert!(set.ask("how many words are in notes/welcome.md").contains("words"));
    set.verify();
}
