//! Many turns whose model takes its time, on one planner: nobody starves, neither they nor anyone who needs no model.

use std::process::{Child, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use metnos_tests::instance::Plan;
use metnos_tests::minds::{Liar, plain, say, whole};

/// Turns at once, each of a session of its own.
const TURNS: usize = 100;
/// How long any of it may take on a slow machine.
const WITHIN: Duration = Duration::from_secs(120);

/// How many wait at the server, and whether it answers.
type Gate = Arc<(Mutex<(usize, bool)>, Condvar)>;

fn wait(gate: &Gate) {
    let (state, changed) = &**gate;
    let mut state = state.lock().unwrap();
    state.0 += 1;
    changed.notify_all();
    drop(changed.wait_while(state, |(_, open)| !*open).unwrap());
}

fn until_waiting(gate: &Gate, wanted: usize) {
    let (state, changed) = &**gate;
    let state = state.lock().unwrap();
    let (state, late) = changed.wait_timeout_while(state, WITHIN, |(waiting, _)| *waiting < wanted).unwrap();
    assert!(!late.timed_out(), "{} of {wanted} wait at the server", state.0);
}

#[test]
fn hundred_slow_model_turns_block_no_other_turn() {
    let gate = Gate::default();
    let inside = Arc::clone(&gate);
    let server = Liar::start(move |_, request, stream| {
        if request.starts_with("GET ") {
            let models = serde_json::json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        wait(&inside);
        say(stream, &whole("It took its time."));
    });
    let set = Plan::new()
        .config(&format!(
            "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\nparallel = 100\n\
             [budget]\ntokens_per_day = 4000000000\ntokens_per_month = 4000000000\n[policy]\ncalls_per_minute = 60000\n",
            server.port
        ))
        .start();
    let asking: Vec<Child> = (0..TURNS)
        .map(|n| {
            let mut ask = set.command("metnosctl");
            ask.args(["ask", &format!("compose a sonnet about the sea, number {n}, with a moon in it")]);
            ask.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    // Every one of them is being thought about, none waits for another.
    until_waiting(&gate, TURNS);
    // What needs no model is answered while all of them wait.
    assert!(set.ask("how many words are in notes/welcome.md").contains("words"));
    let (state, changed) = &*gate;
    state.lock().unwrap().1 = true;
    changed.notify_all();
    for ask in asking {
        let output = ask.wait_with_output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.contains("It took its time."), "{}: {out}\n{err}", output.status);
    }
    assert_eq!(state.lock().unwrap().0, TURNS, "each was thought about once");
    set.verify();
}
