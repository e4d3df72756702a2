//! A person at a terminal of his own, before whole sets of daemons: what is typed, what is shown, and what the keys do.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use metnos_tests::instance::{Instance, Plan};
use metnos_tests::minds::{Liar, STREAM, piece, plain, say};
use metnos_tests::terminal::{CTRL_C, CTRL_D, Terminal};
use serde_json::json;

/// With it a note costs more than is spent without asking: a card that its asker may answer.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n";

fn chat(set: &Instance, columns: u16) -> Terminal {
    let mut terminal = Terminal::of(set, &["chat"], columns, &[]);
    terminal.until("› ");
    terminal
}

fn heard(set: &Instance) -> Vec<String> {
    let lines = set.chronicle();
    let said = lines.iter().filter(|line| line.kind() == "owner_message");
    said.map(|line| line.payload("text").to_owned()).collect()
}

/// How many pieces a model may say by now.
type Gate = Arc<(Mutex<usize>, Condvar)>;

/// A model that says one piece, and the rest when it is ordered to; and a set that asks it.
fn slow(parts: &'static [&'static str]) -> (Instance, Gate, Arc<AtomicBool>) {
    let gate = Gate::default();
    let (inside, gone) = (Arc::clone(&gate), Arc::new(AtomicBool::new(false)));
    let left = Arc::clone(&gone);
    let server = Liar::start(move |_, request, stream| {
        if request.starts_with("GET ") {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] });
            return say(stream, &plain("200 OK", "", &models.to_string()));
        }
        let _ = stream.write_all(STREAM.as_bytes());
        for (number, part) in parts.iter().enumerate() {
            let (open, changed) = &*inside;
            drop(changed.wait_while(open.lock().unwrap(), |open| *open < number).unwrap());
            if stream.write_all(piece(part).as_bytes()).is_err() {
                left.store(true, Ordering::SeqCst);
                return;
            }
        }
        let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25 } });
        say(stream, &format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    });
    let models = format!(
        "[models]\nsubstrates = [\"there openai http://127.0.0.1:{}/v1\"]\ninterface = [\"there/m\"]\n",
        server.port
    );
    let set = Plan::new().config(&models).start();
    set.is_grown();
    (set, gate, gone)
}

fn open(gate: &(Mutex<usize>, Condvar), upto: usize) {
    *gate.0.lock().unwrap() = upto;
    gate.1.notify_all();
}

#[test]
fn a_conversation_is_edited_remembered_in_private_and_left_by_ctrl_d() {
    let set = Instance::start();
    set.is_grown();
    let mut terminal = chat(&set, 80);
    // Edited before it is said: the cursor goes back, and a letter is taken away.
    terminal.says("read notes/shoppingg.md\x1b[D\x1b[D\x1b[D\x7f");
    terminal.until("latte");
    terminal.until("› ");
    // Several lines of one message: after a backslash, and as they are pasted.
    terminal.says("note: two\\");
    terminal.says("lines");
    terminal.until("Noted. Say");
    terminal.until("› ");
    terminal.says("\x1b[200~note: pasted\nat once\x1b[201~");
    terminal.until("Noted. Say");
    terminal.until("› ");
    // What is typed ahead waits. A word of the terminal's own that there is not is said to nobody.
    terminal.types(" read notes/welcome.md\r/hlep\r");
    terminal.until("/help, /approvals, /quit");
    terminal.until("› ");
    // A line that is half typed is thrown away by Ctrl-C, and one is left.
    terminal.types("delete notes");
    terminal.until("delete notes");
    terminal.types(CTRL_C);
    terminal.until("› ");
    // The one before comes back with the key up.
    terminal.says("\x1b[A");
    terminal.until("Noted. Say");
    terminal.until("› ");
    terminal.types(CTRL_D);
    let (code, shown) = terminal.over();
    assert_eq!(code, 0, "{shown}");
    assert_eq!(
        heard(&set),
        [
            "read notes/shopping.md",
            "note: two\nlines",
            "note: pasted\nat once",
            "read notes/welcome.md",
            "note: pasted\nat once"
        ]
    );
    let history = set.home().parent().unwrap().join(".local/state/metnos/chat_history");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(history.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains("shopping.md") && !kept.contains("welcome.md"), "a line behind a blank is not kept: {kept}");
}

#[test]
fn an_answer_streams_and_ctrl_c_cancels_the_turn_and_not_the_session() {
    let (set, gate, _) = slow(&["It began ", "and here it goes on ", "to its end."]);
    let mut terminal = chat(&set, 80);
    terminal.says("compose a sonnet about the sea, with a moon in it");
    terminal.until("It began");
    assert!(!terminal.shown().contains("goes on"), "what was not said yet is not shown");
    open(&gate, 1);
    terminal.until("goes on");
    terminal.types(CTRL_C);
    terminal.until("cancelling");
    terminal.until("› ");
    open(&gate, 9);
    terminal.says("read notes/shopping.md");
    terminal.until("latte");
    terminal.until("› ");
    terminal.says("/quit");
    assert_eq!(terminal.over().0, 0);
    let ends: Vec<String> = set
        .chronicle()
        .iter()
        .filter(|line| line.kind() == "turn_close")
        .map(|line| line.payload("end").to_owned())
        .collect();
    assert_eq!(ends[0], "cancelled", "{ends:?}");
    set.verify();
}

#[test]
fn card_is_answered_in_terminal_or_closed_when_answered_elsewhere() {
    let set = Plan::new().config(DEAR).start();
    set.is_grown();
    let notes = || -> String {
        let all = std::fs::read_dir(set.workspace("notes")).unwrap().map_while(Result::ok);
        all.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| std::fs::read_to_string(entry.path()).unwrap_or_default())
            .collect()
    };
    let mut terminal = chat(&set, 80);
    terminal.says("note: call the dentist");
    let card = terminal.until("[Enter] not now");
    for part in ["May this be done?", "note_add", "call the dentist", "0.20", "Way back", "Who may answer"] {
        assert!(card.contains(part), "{part}: {card}");
    }
    assert!(!notes().contains("dentist"));
    terminal.says("y");
    terminal.until("› ");
    assert!(notes().contains("dentist"));

    // Ctrl-C at the question leaves the card, and the conversation goes on.
    terminal.says("note: water the plants");
    terminal.until("[Enter] not now");
    terminal.types(CTRL_C);
    let later = terminal.until("› ");
    assert!(later.contains("it waits"), "{later}");
    let (_, cards) = set.json(&["approval", "list"]);
    let waiting = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
    terminal.says("/approvals");
    terminal.until(waiting["id"].as_str().unwrap());
    terminal.until("› ");
    assert_eq!(set.json(&["approval", "deny", waiting["id"].as_str().unwrap()]).0, 0);

    // Decided at another place while it is asked here: the question is over.
    terminal.says("note: feed the cat");
    terminal.until("[Enter] not now");
    let (_, cards) = set.json(&["approval", "list"]);
    let waiting = cards.as_array().unwrap().iter().find(|card| card["state"] == "waiting").unwrap();
    assert_eq!(set.json(&["approval", "deny", waiting["id"].as_str().unwrap()]).0, 0);
    terminal.until("Denied by cli:uid:");
    terminal.until("› ");
    assert!(!notes().contains("cat") && !notes().contains("plants"));
    terminal.types(CTRL_D);
    assert_eq!(terminal.over().0, 0);
    set.verify();
}

#[test]
fn tables_fit_the_terminal_and_colours_are_for_terminals_that_want_them() {
    let set = Instance::start();
    set.is_grown();
    let plain = |text: &str| -> String {
        // Inks take no room.
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("\x1b[") {
            out.push_str(&rest[..at]);
            let end = rest[at..].find('m').map_or(rest.len(), |end| at + end + 1);
            rest = &rest[end..];
        }
        out + rest
    };
    let shown = |columns: u16, vars: &[(&str, &str)]| {
        let (code, text) = Terminal::of(&set, &["executor", "list"], columns, vars).over();
        assert_eq!(code, 0, "{text}");
        text.replace('\r', "")
    };
    for (columns, vars) in [(60, vec![]), (100, vec![]), (100, vec![("COLUMNS", "50")])] {
        let text = shown(columns, &vars);
        let most = if vars.is_empty() { usize::from(columns) } else { 50 };
        assert!(plain(&text).lines().all(|line| line.chars().count() <= most), "{most}:\n{}", plain(&text));
        assert!(text.contains("\x1b[1m"), "a heading is bold: {text}");
        let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        assert!(letters(&plain(&text)).contains("fs_read"), "{text}");
    }
    for vars in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        assert!(!shown(100, &[vars]).contains('\x1b'), "{vars:?}");
    }
    let piped = String::from_utf8(set.ctl(&["executor", "list"]).stdout).unwrap();
    assert!(!piped.contains('\x1b') && piped.lines().any(|line| line.chars().count() > 60), "{piped}");
}

#[test]
fn terminal_of_italian_instance_speaks_italian() {
    let set = Plan::new().config(&format!("[instance]\nlang = \"it\"\n{DEAR}")).start();
    set.is_grown();
    let mut terminal = Terminal::of(&set, &["chat"], 80, &[]);
    terminal.until("Metnos ascolta");
    terminal.until("› ");
    terminal.says("/help");
    terminal.until("annulla un turno");
    terminal.until("› ");
    terminal.says("note: comprare il latte");
    let card = terminal.until("[Invio] non ora");
    for part in ["Si può fare?", "Cosa", "Da dove", "Ritorno", "Costo", "Chi può rispondere", "costa più di quanto"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    assert!(!card.contains("May this") && !card.contains("costs"), "{card}");
    terminal.says("s");
    terminal.until("› ");
    terminal.types(CTRL_D);
    assert_eq!(terminal.over().0, 0);
    assert_eq!(set.json(&["pairing", "language", "owner", "en"]).1["lang"], "en");
    let mut terminal = Terminal::of(&set, &["chat"], 80, &[]);
    terminal.until("Metnos listens");
    terminal.until("› ");
    terminal.types(CTRL_D);
    assert_eq!(terminal.over().0, 0);
    assert_eq!(set.json(&["pairing", "language", "telegram:77", "it"]).0, 1, "nobody of that name is known");
}
