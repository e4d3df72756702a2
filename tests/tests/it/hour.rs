//! The first hour of a household: what the interview asked is used, everybody is answered in his own language, a card that
//! is declined is left at that, and a channel that does not receive learns of and recovers by itself.

use std::net::TcpListener;
use std::time::Duration;

use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Fault};
use metnos_tests::terminal::Terminal;
use metnos_tests::until;
use serde_json::{Value, json};

/// With it a note costs more than is spent without asking: a card that its asker may answer.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n";
const WITHIN: Duration = Duration::from_secs(90);

/// What `doctor` says of one thing.
fn check(set: &Instance, name: &str) -> Value {
    let (_, doctor) = set.json(&["doctor"]);
    doctor["checks"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
}

fn door(set: &Instance, channel: &str) -> String {
    set.json(&["status"]).1["door"][channel].as_str().unwrap().to_owned()
}

#[test]
fn interview_answers_are_used_in_greetings_and_for_the_clock() {
    let set = Instance::start();
    set.is_grown();
    let user = "# User\n\n- Name: Roberta\n- Time zone: Nowhere/Far (XYZ-11:30)\n";
    std::fs::write(set.workspace("USER.md"), user).unwrap();
    std::fs::write(set.workspace("IDENTITY.md"), "I am Alfredo, the butler of this household.\n").unwrap();
    assert!(set.ask("ciao").starts_with("Ciao Roberta, sono Alfredo."), "{}", set.ask("ciao"));
    assert!(set.ask("hello").starts_with("Hello Roberta, I am Alfredo."));
    assert!(set.ask("come mi chiamo?").contains("Roberta") && set.ask("chi sei?").contains("Alfredo"));
    // Eleven and a half hours ahead of UTC: the minute when it was asked, or when it was answered.
    let clock = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let minutes = now / 60 + 11 * 60 + 30;
        format!(" {:02}:{:02}", minutes / 60 % 24, minutes % 60)
    };
    for words in ["what time is it", "che ore sono"] {
        let (before, said, after) = (clock(), set.ask(words), clock());
        assert!((said.contains(&before) || said.contains(&after)) && !said.contains("UTC"), "{said}");
    }
    assert!(set.ask("che ore sono a Tokyo").contains("A Tokyo"), "another place that is named counts");
}

#[test]
fn a_card_is_shown_in_the_language_of_the_words_that_led_to_it() {
    let set = Plan::new().config(DEAR).start();
    set.is_grown();
    for (words, lang, says) in [
        ("annota: chiama il dentista", "it", "Risponde"),
        ("note: call the dentist", "en", "answered"),
        ("annota: chiama il notaio", "it", "Risponde"),
    ] {
        let output = set.ctl(&["ask", words]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(
            said.contains("metnosctl approval show") && !said.contains("denied") && !said.contains("negat"),
            "{said}"
        );
        let (_, cards) = set.json(&["approval", "list"]);
        assert_eq!(cards[0]["lang"], lang, "{words} {says}: {cards:#}");
    }
}

#[test]
fn a_card_that_is_declined_is_left_at_that_and_nothing_was_denied_before() {
    let set = Plan::new().config(DEAR).start();
    set.is_grown();
    let mut terminal = Terminal::of(&set, &["chat"], 120, &[]);
    terminal.until("› ");
    terminal.says("annota: chiama il dentista");
    let shown = terminal.until("[Invio]");
    assert!(shown.contains("Si può fare?") && !shown.contains("negat") && !shown.contains("denied"), "{shown}");
    terminal.says("n");
    let said = terminal.until("› ");
    assert!(said.contains("Va bene") && !said.contains("not begun") && !said.contains("negat"), "{said}");
    let (_, cards) = set.json(&["approval", "list"]);
    assert_eq!(cards[0]["state"], "denied");
    assert!(
        !set.workspace("MEMORY.md").exists()
            || !std::fs::read_to_string(set.workspace("MEMORY.md")).unwrap().contains("dentista")
    );
}

#[test]
fn chat_client_learns_which_card_waits_and_how_to_answer() {
    let set = Plan::new().config(&format!("{DEAR}[http]\nlisten = \"127.0.0.1:0\"\n")).start();
    set.is_grown();
    let web = Web::of(&set).paired(&set, "owner");
    let asked = |stream: bool| json!({"model": "metnos", "stream": stream, "messages": [{"role": "user", "content": "annota: chiama il dentista"}]});
    let reply = web.post("/v1/chat/completions", &asked(false));
    let said = reply.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    let (_, cards) = set.json(&["approval", "list"]);
    let card = cards[0]["id"].as_str().unwrap();
    let how = format!("metnosctl approval show {card}");
    assert!(said.contains(&how) && said.contains("chiama il dentista"), "{said}");
    let streamed = web.post("/v1/chat/completions", &asked(true)).body;
    assert!(streamed.contains("metnosctl approval show") && streamed.contains("[DONE]"), "{streamed}");
}

#[test]
fn occupied_port_is_reported_and_bound_once_it_is_free() {
    let theirs = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = theirs.local_addr().unwrap().to_string();
    let set = Plan::new().config(&format!("[http]\nlisten = \"{address}\"\n")).start();
    assert!(door(&set, "http").starts_with(&format!("not on {address}")), "{}", door(&set, "http"));
    let found = check(&set, "http");
    assert!(found["ok"] == false && !found["remedy"].as_str().unwrap().is_empty(), "{found}");
    let mut terminal = Terminal::of(&set, &["chat"], 120, &[]);
    assert!(terminal.until("› ").contains("metnosctl doctor"), "whoever begins to talk is told");
    drop(theirs);
    until("the door at its place", WITHIN, || (door(&set, "http") == address).then_some(()));
    assert_eq!(check(&set, "http")["ok"], true);
    assert_eq!(Web::of(&set).get("/healthz").status, 200);
}

#[test]
fn token_refused_by_telegram_is_reported_and_retried() {
    let server = Emulator::start();
    let set = Plan::new().config(&server.config()).start();
    set.is_grown();
    // Refused now and in a while; what is shown then is taken.
    for _ in 0..3 {
        server.fail("getMe", Fault::Unauthorized);
    }
    server.serves(&set);
    let refused = until("a refused token", WITHIN, || {
        let state = door(&set, "telegram");
        state.contains("401").then_some(state)
    });
    assert!(refused.contains("tried again"), "{refused}");
    let found = check(&set, "telegram");
    assert!(found["ok"] == true || !found["remedy"].as_str().unwrap().is_empty(), "{found}");
    until("a bot that hears", WITHIN, || door(&set, "telegram").ends_with("listens").then_some(()));
    assert_eq!(check(&set, "telegram")["ok"], true);
}
