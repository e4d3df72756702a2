//! One card on three channels, before a whole set of daemons: the same parts of the same card on each, in both languages;
//! answered once, and closed everywhere.

use metnos_tests::chronicle::count;
use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::telegram::{Emulator, Message};
use metnos_tests::terminal::{CTRL_D, Terminal};
use metnos_tests::ws::Socket;
use serde_json::Value;

const OWNER: i64 = 5_001;
/// With it a note costs more than is spent without asking: a card that its asker may answer.
const DEAR: &str = "[budget]\nprices = [\"note_add 200000\"]\n[http]\nlisten = \"127.0.0.1:0\"\n";

/// A set that is spoken to in this language, on three channels.
fn three(lang: &str) -> (Instance, Emulator, Web) {
    let server = Emulator::start();
    let set = Plan::new().config(&format!("[instance]\nlang = \"{lang}\"\n{}{DEAR}", server.config())).start();
    set.is_grown();
    server.serves(&set);
    server.settled();
    server.knows(&set, OWNER, "owner");
    server.told(OWNER, "/help");
    let web = Web::of(&set).paired(&set, "owner");
    (set, server, web)
}

/// The card that waits, as HTTP has it: everything that is the same everywhere.
fn waiting(web: &Web) -> Value {
    let cards = web.get("/v1/approvals").json()["cards"].clone();
    assert_eq!(cards.as_array().map(Vec::len), Some(1), "{cards:#}");
    cards[0].clone()
}

/// The lines of a card as HTTP has them.
fn parts(card: &Value) -> Vec<(String, String)> {
    let text = |part: &Value, key: &str| part[key].as_str().unwrap().to_owned();
    card["parts"].as_array().unwrap().iter().map(|part| (text(part, "label"), text(part, "text"))).collect()
}

/// The words of a text, wherever its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn card_of(server: &Emulator) -> Message {
    server.until("a card", |state| state.messages.iter().rfind(|one| one.text.contains("(note_add 5.0.0)")).cloned())
}

fn same_on_all(lang: &str, words_of_note: &str, asks: &str) {
    let (set, server, web) = three(lang);
    server.say(OWNER, words_of_note);
    let message = card_of(&server);
    let card = waiting(&web);
    let fields: Vec<&str> =
        card["parts"].as_array().unwrap().iter().map(|part| part["field"].as_str().unwrap()).collect();
    for field in ["what", "on_what", "how_many", "from", "way_back", "cost", "why", "who"] {
        assert!(fields.contains(&field), "{field}: {card:#}");
    }
    // The notebook that it goes to, which nobody has named.
    assert!(parts(&card).iter().any(|(_, text)| text == "file: notes/notes.md"), "{card:#}");
    let id = card["id"].as_str().unwrap();
    let shown = String::from_utf8(set.ctl(&["approvals", "show", id]).stdout).unwrap();
    assert!(shown.contains(asks) && message.text.contains(asks), "{shown}\n{}", message.text);
    for (label, text) in parts(&card) {
        assert!(words(&shown).contains(&words(&format!("{label} {text}"))), "{label} {text}:\n{shown}");
        assert!(
            words(&message.text).contains(&words(&format!("{label}: {text}"))),
            "{label} {text}:\n{}",
            message.text
        );
    }
    // And as it is asked where a person sits: the very same lines.
    let mut terminal = Terminal::of(&set, &["chat"], 200, &[]);
    terminal.until("› ");
    terminal.says(words_of_note);
    let asked = words(&terminal.until("[t]"));
    let ours: Vec<(String, String)> = parts(&card);
    for (label, text) in ours.iter().filter(|(_, text)| !text.contains("telegram:")) {
        assert!(asked.contains(&words(text)), "{label} {text}:\n{asked}");
    }
}

#[test]
fn a_card_has_the_same_parts_at_the_terminal_over_http_and_in_telegram() {
    same_on_all("en", "note: call the dentist", "May this be done?");
}

#[test]
fn una_scheda_ha_le_stesse_parti_su_ogni_canale() {
    same_on_all("it", "nota: chiama il dentista", "Si può fare?");
}

#[test]
fn a_card_that_is_decided_on_one_channel_is_closed_on_the_two_others() {
    let (set, server, web) = three("en");
    // Asked in Telegram, seen over HTTP where it is not to be answered, decided at the machine.
    server.say(OWNER, "note: call the dentist");
    let message = card_of(&server);
    let card = waiting(&web);
    assert_eq!((card["here"].as_bool(), message.button(":y").is_some()), (Some(false), true));
    let id = card["id"].as_str().unwrap();
    let answer = serde_json::json!({"digest": card["digest"], "answer": "once"});
    let elsewhere = web.post(&format!("/v1/approvals/{id}"), &answer);
    assert_ne!(elsewhere.status, 200, "a card is answered where it was asked: {elsewhere:?}");
    assert_eq!(set.json(&["approvals", "approve", id]).0, 0);
    let edited = server.told(OWNER, "Approved by cli:uid:");
    assert_eq!((edited.id, edited.button(":y")), (message.id, None));
    assert_eq!(web.get("/v1/approvals").json()["cards"], serde_json::json!([]));

    // Asked over HTTP, shown in Telegram by a command, decided over HTTP: closed in the chat and at the machine.
    let mut listening = web.say("note: water the plants");
    let event = loop {
        let event = listening.next_event().expect("a card");
        if event.name == "card" {
            break event;
        }
    };
    assert!(event.data["parts"].as_array().is_some_and(|parts| parts.len() >= 8), "{event:?}");
    let id = event.data["card"].as_str().unwrap().to_owned();
    server.say(OWNER, "/approvals");
    let shown = server.told(OWNER, "water the plants");
    assert_eq!(shown.button(":y"), None, "it is answered where it was asked");
    let mut terminal = Terminal::of(&set, &["chat"], 100, &[]);
    terminal.until("› ");
    let answer = serde_json::json!({"digest": event.data["digest"], "answer": "once"});
    assert_eq!(web.post(&format!("/v1/approvals/{id}"), &answer).status, 200);
    let edited = server.until("the card edited", |state| {
        state.messages.iter().find(|one| one.id == shown.id && one.text.contains("Approved by http:")).cloned()
    });
    assert!(edited.text.contains("water the plants"));
    terminal.says("/approvals");
    terminal.until("Nothing waits");
    terminal.types(CTRL_D);
    let (code, again) = set.json(&["approvals", "approve", &id]);
    assert_eq!((code, again["error"]["rule"].as_str()), (1, Some("approvals.answered")), "{again:#}");

    // Asked at the terminal, seen over HTTP and in Telegram, decided there where it was asked.
    let mut terminal = Terminal::of(&set, &["chat"], 100, &[]);
    terminal.until("› ");
    terminal.says("note: feed the cat");
    terminal.until("[Enter] not now");
    assert_eq!(waiting(&web)["here"], false);
    server.say(OWNER, "/approvals");
    let shown = server.told(OWNER, "feed the cat");
    terminal.says("n");
    server.until("the card edited", |state| {
        state.messages.iter().find(|one| one.id == shown.id && one.text.contains("Denied by cli:uid:")).map(|_| ())
    });
    assert_eq!(web.get("/v1/approvals").json()["cards"], serde_json::json!([]));
    terminal.until("› ");
    terminal.types(CTRL_D);
    assert_eq!(count(&set.chronicle(), "run_started"), 2);
    set.verify();
}

#[test]
fn no_key_of_an_address_leaves_with_a_card_on_any_channel() {
    const KEYS: [&str; 2] = ["hunter22", "s3cr3tw0rd"];
    let (set, server, web) = three("en");
    let said = format!("note: pay at https://ada:{}@pay.example/?token={}&q=rome", KEYS[0], KEYS[1]);
    let mut listening = web.say(&said);
    let mut seen = Vec::new();
    let event = loop {
        let event = listening.next_event().expect("a card");
        seen.push(("an event", event.data.to_string()));
        if event.name == "card" {
            break event;
        }
    };
    let id = event.data["card"].as_str().unwrap();
    server.say(OWNER, "/approvals");
    seen.push(("telegram", card_of(&server).text));
    seen.push(("http", web.get("/v1/approvals").json().to_string()));
    for words in [
        &["approvals", "list"][..],
        &["--json", "approvals", "list"],
        &["approvals", "show", id],
        &["--json", "approvals", "show", id],
    ] {
        seen.push((words[0], String::from_utf8(set.ctl(words).stdout).unwrap()));
    }
    for (place, text) in &seen {
        assert!(KEYS.iter().all(|key| !text.contains(key)), "{place}: {text}");
    }
    let masked = "https://***@pay.example/?token=***&q=rome";
    assert!(seen.iter().filter(|(_, text)| text.contains(masked)).count() >= 6, "{seen:#?}");
    // What is done on the owner's word is the whole of it.
    assert_eq!(set.json(&["approvals", "approve", id]).0, 0);
    let notes = walked(&set.workspace("")).join("\n");
    assert!(KEYS.iter().all(|key| notes.contains(key)), "{notes}");
    let grants = set.json(&["grant", "list"]).1.to_string();
    assert!(KEYS.iter().all(|key| !grants.contains(key)), "{grants}");
}

/// The texts of the files below a folder.
fn walked(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.flat_map(|path| match path.is_dir() {
        true => walked(&path),
        false => std::fs::read_to_string(path).into_iter().collect(),
    });
    texts.collect()
}

#[test]
fn a_guest_sees_no_card_of_the_owners_on_any_channel() {
    let (set, server, web) = three("en");
    let guest = Web::of(&set).paired(&set, "guest");
    const GUEST: i64 = 5_002;
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "you are known here");
    server.say(OWNER, "note: call the dentist");
    card_of(&server);
    let id = waiting(&web)["id"].as_str().unwrap().to_owned();
    assert_eq!(guest.get("/v1/approvals").json()["cards"], serde_json::json!([]));
    let answer = serde_json::json!({"digest": waiting(&web)["digest"], "answer": "once"});
    assert_ne!(guest.post(&format!("/v1/approvals/{id}"), &answer).status, 200);
    server.say(GUEST, "/approvals");
    server.told(GUEST, "Nothing waits");
    server.say(GUEST, "/status");
    server.told(GUEST, "Waiting for your word: 0");
    server.settled();
    assert!(server.chat(GUEST).iter().all(|one| !one.text.contains("dentist") && !one.text.contains(&id)));
    assert_eq!(waiting(&web)["state"], "waiting");
}

#[test]
fn a_guests_request_reaches_the_owner_where_he_is_and_is_decided_once() {
    const GUEST: i64 = 5_002;
    let (set, server, web) = three("en");
    server.knows(&set, GUEST, "guest");
    server.told(GUEST, "you are known here");
    assert_eq!(set.json(&["pairing", "language", "telegram:5002", "it"]).0, 0);
    let mut socket = Socket::open(&web, "");
    let waits = |text: &str, but: i64| {
        let text = text.to_owned();
        server.until("a card in the owner's chat", move |state| {
            let fits = |one: &&Message| {
                one.chat == OWNER && one.text.contains(&text) && one.button(":y").is_some() && one.id != but
            };
            state.messages.iter().find(fits).cloned()
        })
    };
    server.say(GUEST, "note: call the dentist");
    let asked = server.told(GUEST, "Decide il proprietario");
    let card = waits("call the dentist", 0);
    assert!(card.text.contains("telegram:5002 asks for this, and you decide"), "{}", card.text);
    assert!(card.button(":n").is_some() && card.button(":t").is_none());
    // Over HTTP it stands in the list, with what is described and nothing else, and a socket tells of it.
    let listed = waiting(&web);
    let keys: Vec<&str> = listed.as_object().unwrap().keys().map(String::as_str).collect();
    let described = ["digest", "expires_ms", "hard", "here", "id", "made_ms", "offer", "parts", "principal", "state"];
    assert_eq!(keys, described);
    let schema = web.get("/openapi.json").json()["components"]["schemas"]["CardShown"]["properties"].clone();
    // This guest has no person, so the optional `person` is left out.
    let optional = |key: &&str| *key != "person";
    let keys = schema.as_object().unwrap().keys().map(String::as_str);
    assert_eq!(keys.filter(optional).collect::<Vec<_>>(), described);
    assert_eq!((&listed["hard"], &listed["here"]), (&false.into(), &true.into()));
    let event = socket.next_document();
    assert_eq!((&event["event"], &event["data"]["card"]), (&"card".into(), &listed["id"]), "{event:#}");
    // The list in the chat has it with buttons, too.
    server.say(OWNER, "/approvals");
    let again = waits("call the dentist", card.id);
    server.press(OWNER, OWNER, card.id, &card.button(":y").unwrap());
    server.until("both of the owner's are closed", |state| {
        let closed = |id: i64| {
            state.messages.iter().any(|one| one.id == id && one.text.contains("Approved") && one.button(":y").is_none())
        };
        (closed(card.id) && closed(again.id)).then_some(())
    });
    assert_eq!(socket.next_document()["data"]["state"], "approved");
    let edited = server.told(GUEST, "Approvata dal proprietario");
    assert_eq!(edited.id, asked.id, "the guest's own is edited, in his language");
    assert!(!edited.text.contains("5001"), "who the owner is there is nothing for a guest: {}", edited.text);
    assert_eq!(set.chronicle().iter().filter(|line| line.kind() == "run_started").count(), 1);
    // Another one is decided at the machine: closed in the owner's chat as well.
    server.say(GUEST, "note: buy milk");
    let card = waits("buy milk", 0);
    let id = card.button(":y").unwrap().split(':').nth(1).unwrap().to_owned();
    assert_eq!(set.json(&["approval", "deny", &id]).0, 0);
    server.until("the owner's is closed", |state| {
        state.messages.iter().find(|one| one.id == card.id && one.button(":y").is_none()).map(|_| ())
    });
    server.told(GUEST, "Rifiutata");
    set.verify();
}
