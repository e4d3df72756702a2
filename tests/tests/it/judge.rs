//! The judge of what Metnos would do of its own accord, and what syntd has drafted, among daemons that belong to the attacker: a
//! planner and a door that flood, guess and stop whatever they can, while a server holds every thought of theirs back until the
//! judge has spoken.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use metnos_proto::role::RoleName;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{KEY, Liar, plain, say};
use metnos_tests::procfs;
use metnos_tests::script::{Reply, anthropic, openai};
use metnos_tests::until;
use serde_json::{Value, json};

const HOSTILE: &str = env!("CARGO_BIN_EXE_metnos-hostile");
const DRAFTER: &str = env!("CARGO_BIN_EXE_metnos-drafter");
/// Thoughts that are held back: as many as the substrate has places for conversations.
const HELD: usize = 8;
const WITHIN: Duration = Duration::from_secs(30);
/// What the judge's server says of each end.
const FIT: f64 = 0.4375;

/// What has come to the server.
#[derive(Default)]
struct Seen {
    held: usize,
    /// The judge's request, and how many others waited when it came.
    judged: Vec<(String, usize)>,
    /// The same for syntd's drafts.
    drafted: Vec<(String, usize)>,
}

type Shared = Arc<(Mutex<Seen>, Condvar)>;

/// The ends that a judge is asked about, wherever in the request they stand.
fn ends(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => {
            let asked: Value = serde_json::from_str(text).ok()?;
            let slugs = asked["ends"].as_array()?.iter().map(|end| end["slug"].as_str().map(str::to_owned));
            slugs.collect()
        }
        Value::Array(list) => list.iter().find_map(ends),
        Value::Object(map) => map.values().find_map(ends),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn judgement(request: &str, fit: f64) -> Reply {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let fits: serde_json::Map<String, Value> =
        ends(&body).unwrap_or_default().into_iter().map(|slug| (slug, json!(fit))).collect();
    Reply::Writes(json!({ "fits": fits }).to_string())
}

/// Holds every thought back until one of the judge was answered; says of some that they took everything that there is.
fn server(seen: &Shared) -> Liar {
    let seen = Arc::clone(seen);
    Liar::start(move |number, request: &str, stream: &mut TcpStream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let (state, changed) = &*seen;
        if request.contains("You judge one proposal") {
            let write = if request.starts_with("POST /v1/messages") { anthropic } else { openai };
            say(stream, &write(number, &judgement(request, FIT)));
            let mut state = state.lock().unwrap();
            let held = state.held;
            state.judged.push((request.to_owned(), held));
            changed.notify_all();
        } else if request.contains("DRAFT-THIS") {
            let mut state = state.lock().unwrap();
            let held = state.held;
            state.drafted.push((request.to_owned(), held));
            let write = if request.starts_with("POST /v1/messages") { anthropic } else { openai };
            say(stream, &write(number, &Reply::Writes(format!("draft number {}.", state.drafted.len()))));
        } else if request.contains("SPEND") {
            let all = openai(number, &Reply::Says("It is spent.")).replace(":1000,", ":900000000,");
            say(stream, &all);
        } else {
            let mut now = state.lock().unwrap();
            now.held += 1;
            changed.notify_all();
            let late = changed.wait_timeout_while(now, WITHIN, |seen| seen.judged.is_empty()).unwrap().1.timed_out();
            assert!(!late, "the judge was never asked");
            // A model of the planner's that would have a word in it.
            say(stream, &openai(number, &Reply::Says(r#"{"fits": {"all": 1}}"#)));
        }
    })
}

/// A set whose judge and drafts are of the model of this line, with a hostile daemon and something to draft.
fn set_with(role: RoleName, port: u16, judge: &str) -> Instance {
    Plan::new()
        .replace(role, HOSTILE)
        .replace(RoleName::Syntd, DRAFTER)
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{port}/v1\", \"court anthropic http://127.0.0.1:{port}\"]\n\
             interface = [\"there/m\"]\njudge = [\"{judge}\"]\nsynth = [\"{judge}\"]\nparallel = {HELD}\ncontexts = [\"there/m 64000\"]\n\
             [policy]\ncalls_per_minute = 60000\n"
        ))
        .start()
}

fn give_key(set: &Instance, substrate: &str) {
    let mut command = set.command("metnosctl");
    command.args(["models", "key", substrate]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(KEY.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn ask(set: &Instance, what: &str) -> Child {
    let mut command = set.command("metnosctl");
    command.args(["ask", &format!("attack {what}")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The lines of the drafter, each with the run, the number of the thought in it, and what came.
fn drafter(set: &Instance) -> Vec<(String, u32, String)> {
    let logs = set.logs();
    let line = |line: &str| {
        let (run, rest) = line.split_once("drafter: ")?.1.split_once(' ')?;
        let (thought, came) = rest.split_once(": ")?;
        Some((run.to_owned(), thought.parse().ok()?, came.to_owned()))
    };
    logs.lines().filter_map(line).collect()
}

/// A draft that was asked for while the attacker had every place that he can have, and came while he still had them.
fn drafted_within(set: &Instance, seen: &Shared, after: u32) -> (String, u32) {
    until("a draft, while all others wait", WITHIN, || {
        let held = |number: usize| seen.0.lock().unwrap().drafted.get(number).is_some_and(|(_, held)| *held == HELD);
        drafter(set).into_iter().find_map(|(run, thought, came)| {
            let number: usize = came.strip_prefix("`draft number ")?.split_once(".`")?.0.parse().ok()?;
            (thought > after && held(number - 1)).then_some((run, thought))
        })
    })
}

/// syntd has something drafted in one run, before, while and after the attacker, who knows its name, does what he can about it.
fn drafted_meanwhile(set: &Instance, seen: &Shared) -> String {
    let (run, thought) = drafted_within(set, seen, 0);
    let learned = set.ask(&format!("attack drafts {run}"));
    println!("{learned}");
    let (later, _) = drafted_within(set, seen, thought);
    assert_eq!(later, run, "the run goes on: {learned}");
    let drafts = drafter(set);
    assert!(drafts.iter().all(|(of, _, came)| *of == run && came.starts_with("`draft number ")), "{drafts:?}");
    assert!(drafts.windows(2).all(|two| two[1].1 == two[0].1 + 1), "each came: {drafts:?}");
    assert!(!learned.contains("HURT") && !learned.contains("draft number"), "{learned}");
    learned
}

/// Everything that the attacker has learned, and the proposal as it was judged.
fn attacked(set: &Instance, seen: &Shared) -> (String, Value) {
    for substrate in ["there", "court"] {
        give_key(set, substrate);
    }
    let hold = ask(set, "hold");
    {
        let (state, changed) = &**seen;
        let (state, late) = changed.wait_timeout_while(state.lock().unwrap(), WITHIN, |seen| seen.held < HELD).unwrap();
        assert!(!late.timed_out(), "{} of {HELD} thoughts are held", state.held);
    }
    let drafts = drafted_meanwhile(set, seen);
    // From here on there is nothing left for another turn, and what is missing becomes a proposal.
    let owner = format!("cli:uid:{}", set.owner());
    let (code, lowered) = set.json(&["budget", "raise", &owner, "tokens.day", "1", "--for", "1h"]);
    assert_eq!(code, 0, "{lowered:#}");
    let mut learned = drafts + &set.ask("attack judge");
    let budget = || {
        let list = |what: &str| set.json(&["vaglio", what]).1.as_array().cloned().unwrap_or_default();
        list("digest").into_iter().chain(list("unasked")).find(|one| one["kind"] == "budget")
    };
    let proposal = until("the proposal, judged", WITHIN, budget);
    let held = hold.wait_with_output().unwrap();
    learned.push_str(&String::from_utf8_lossy(&held.stdout));
    (learned, proposal)
}

/// The judge was asked while the attacker had every place that he can have, by its own model, and its word is what counts.
fn assert_judged(set: &Instance, seen: &Shared, (learned, proposal): &(String, Value), model: &str) {
    let weighed = &proposal["weighed"];
    assert_eq!((&weighed["judge"], &weighed["estimate"]), (&json!("model"), &json!(false)), "{proposal:#}\n{learned}");
    let ends = weighed["ends"].as_array().unwrap();
    assert!(!ends.is_empty() && ends.iter().all(|end| end["fit"] == json!(FIT)), "{proposal:#}");
    let seen = seen.0.lock().unwrap();
    assert_eq!(seen.judged.len(), 1, "judged once");
    let (request, held) = &seen.judged[0];
    assert_eq!(*held, HELD, "the judge has waited for the attacker's thoughts");
    let path = if model.starts_with("court/") { "POST /v1/messages" } else { "POST /v1/chat/completions" };
    assert!(request.starts_with(path), "{request}");
    assert!(
        !request.contains("HOLD") && !request.contains("sonnet"),
        "the judge has read the attacker's words: {request}"
    );
    for (request, _) in &seen.drafted {
        assert!(request.starts_with(path) && !request.contains("sonnet"), "{request}");
    }
    for secret in [KEY, &FIT.to_string(), "More of the budget", "draft number"] {
        assert!(!learned.contains(secret), "{secret}: {learned}");
    }
    assert!(!learned.contains("stopped true"), "{learned}");
    drop(seen);
    let (_, spent) = set.json(&["spend"]);
    for whose in ["metnos:judge", "metnos:synth"] {
        assert!(spent.to_string().contains(whose), "{spent:#}");
    }
    set.verify();
}

#[test]
fn hostile_planner_cannot_read_forge_or_delay_judge_or_draft() {
    for model in ["there/j", "court/j"] {
        let seen = Shared::default();
        let server = server(&seen);
        let set = set_with(RoleName::Planner, server.port, model);
        let came = attacked(&set, &seen);
        assert!(came.0.contains("refused mind.role"), "{}", came.0);
        assert_judged(&set, &seen, &came, model);
    }
}

#[test]
fn hostile_door_cannot_read_forge_or_delay_judge_or_draft() {
    for model in ["there/j", "court/j"] {
        let seen = Shared::default();
        let server = server(&seen);
        let set = set_with(RoleName::Gatewayd, server.port, model);
        let came = attacked(&set, &seen);
        assert!(came.0.contains("there/m"), "it hears which models there are, and nothing else: {}", came.0);
        assert_judged(&set, &seen, &came, model);
    }
}

#[test]
fn hostile_mind_can_only_give_wrong_scores_and_not_pass_the_guard() {
    let set = Plan::new().replace(RoleName::Mind, HOSTILE).replace(RoleName::Syntd, HOSTILE).start();
    let find = |subject: &str| {
        let list = |what: &str| set.json(&["vaglio", what]).1.as_array().cloned().unwrap_or_default();
        list("digest").into_iter().chain(list("unasked")).find(|one| one["subject"] == subject)
    };
    until("what syntd has said", WITHIN, || set.logs().contains("hostile syntd: ").then_some(()));
    println!("{}", set.logs());
    let praised = until("the harmless proposal", WITHIN, || find("harmless"));
    assert_eq!(praised["weighed"]["judge"], "model", "{praised:#}");
    assert!(praised["weighed"]["ends"].as_array().unwrap().iter().all(|end| end["fit"] == json!(1.0)), "{praised:#}");
    assert!(praised["weighed"]["alignment"].as_f64().unwrap() <= 1.0);
    // What the guard has something against, no judge is asked about.
    let blocked = until("the proposal about the core", WITHIN, || find("core"));
    assert_eq!((&blocked["way"], &blocked["weighed"]["judge"]), (&json!("blocked"), &json!("")), "{blocked:#}");
    assert!(set.chronicle().iter().all(|line| line.kind() != "run_started"), "a score has something done");
    set.verify();
}

/// Only root may look into the memory of others, so nobody else can show it.
#[test]
fn no_daemon_but_mind_has_a_models_key_in_its_memory_as_root() {
    let seen = Shared::default();
    let server = server(&seen);
    let mut set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n",
            server.port
        ))
        .start();
    give_key(&set, "there");
    // The one who gave it is gone; a set that was restarted has read it from its file.
    set.down();
    set.up();
    assert!(set.ask("compose a sonnet, and SPEND for it").contains("It is spent."));
    assert!(server.heard().iter().any(|one| one.contains(KEY)), "it was used");
    let holders: Vec<String> = set
        .pids()
        .into_iter()
        .chain([("supervisor".to_owned(), set.supervisor())])
        .filter(|(name, pid)| {
            procfs::memory_holds(*pid, KEY.as_bytes()).unwrap_or_else(|| panic!("the memory of {name} cannot be read"))
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(holders, ["mind"]);
}
