//! What the real daemons have written is read by the book of the model: every line of it must be one that the protocol
//! allows. So the model is about this code, and the code keeps to the model.

use metnos_model::{Book, Breach, Line as Step, Verdict};
use metnos_tests::chronicle::Line;
use metnos_tests::instance::Instance;

/// The exact act: executor, version, digest of the arguments.
type Act = (String, String, String);
type Recorded = Step<String, Act, String>;

fn act(line: &Line) -> Act {
    let part = |name: &str| line.payload(name).to_owned();
    (part("executor"), part("version"), part("arguments_digest"))
}

/// A line as the model knows it; none when it is about something else.
fn step(line: &Line) -> Option<Recorded> {
    let call = line.payload("call").to_owned();
    match line.kind() {
        "policy_decision" => {
            let verdict = match (line.payload("verdict"), line.payload("rule")) {
                ("allow", "approval.given") => {
                    let card = line.payload("why").split_once("the card ").and_then(|(_, rest)| rest.split_once(':'));
                    // Cards are answered at the terminal of the machine; the chronicle has the channel from policyd.
                    let admin = line.text("peer").starts_with("cli:uid:");
                    Verdict::Approved { card: card.expect("a decision by a card names it").0.to_owned(), admin }
                }
                ("allow", _) => Verdict::Allow,
                _ => Verdict::No,
            };
            Some(Step::Decided { seq: line.seq(), call, act: act(line), verdict })
        }
        "run_started" => {
            let decision = line.0["payload"]["decision_seq"].as_u64().expect("a start names its decision");
            Some(Step::Started { call, act: act(line), decision })
        }
        "run_ended" => Some(Step::Ended { call }),
        _ => None,
    }
}

fn replayed(steps: &[Recorded]) -> Result<Book<String, Act, String>, Breach> {
    let mut book = Book::default();
    steps.iter().try_for_each(|step| book.read(step))?;
    Ok(book)
}

/// A set that has read, been refused, asked and been answered, and lost daemons in between.
fn lived() -> Vec<Recorded> {
    let set = Instance::start();
    for n in 0..3 {
        assert!(!set.ask("how many words are in notes/welcome.md").is_empty());
        assert_eq!(set.run("fs_read", &["path=../../../etc/passwd"]).0, 1);
        let name = format!("old{n}");
        std::fs::create_dir(set.workspace(&name)).unwrap();
        std::fs::write(set.workspace(&format!("{name}/a.md")), "x").unwrap();
        let (code, refused) = set.run("fs_delete", &[&format!("path={name}"), "folder=true"]);
        assert_eq!(code, 4, "{refused:#}");
        let (_, cards) = set.json(&["approval", "list"]);
        let waits = |card: &&serde_json::Value| card["state"] == "waiting";
        let id = cards.as_array().unwrap().iter().find(waits).unwrap()["id"].as_str().unwrap().to_owned();
        for daemon in ["policyd", "sandboxd"] {
            let old = set.pids()[daemon];
            assert_eq!(set.json(&["daemon", "restart", daemon]).0, 0);
            set.wait_back(daemon, old);
        }
        // Until policyd has looked at the pool again, no executor is what it was.
        let reads = |_: &u32| set.run("fs_read", &["path=notes/welcome.md"]).0 == 0;
        assert!((0..40).find(reads).is_some(), "nothing runs any more");
        let (code, done) = set.json(&["approval", "approve", &id]);
        assert_eq!(code, 0, "the card outlived its daemons: {done:#}");
        assert_eq!(set.json(&["approval", "approve", &id]).0, 1);
    }
    set.verify();
    set.chronicle().iter().filter_map(step).collect()
}

#[test]
fn recorded_runs_conform_to_model_and_altered_record_does_not() {
    let steps = lived();
    let book = replayed(&steps).unwrap_or_else(|breach| panic!("{breach}: {steps:#?}"));
    assert!(book.started() >= 9, "only {} executions", book.started());
    assert_eq!(book.approved(), 3);
    // The book is no yes-man: the same record with one line taken out or doubled is refused.
    let started = steps.iter().position(|step| matches!(step, Step::Started { .. })).unwrap();
    let decided = steps.iter().position(|step| matches!(step, Step::Decided { verdict: Verdict::Allow, .. })).unwrap();
    let mut without = steps.clone();
    without.remove(decided);
    assert_eq!(replayed(&without).unwrap_err(), Breach::Undecided);
    let mut twice = steps.clone();
    twice.insert(started, steps[started].clone());
    assert_eq!(replayed(&twice).unwrap_err(), Breach::Twice);
}
