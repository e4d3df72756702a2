//! What the door shows of the instance, page by page: to the owner all of it, to a guest what is his, and to nobody a word of
//! what was said. With real daemons, on every address at once.

use metnos_tests::http::Web;
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::ws::Socket;
use serde_json::{Value, json};

/// Said by the owner, and found nowhere else.
const SECRET: &str = "platypus";

fn start() -> (Instance, Web) {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    let web = Web::of(&set);
    (set, web)
}

fn rows<'a>(page: &'a Value, key: &str) -> &'a Vec<Value> {
    page[key].as_array().unwrap_or_else(|| panic!("{page:#}"))
}

/// All pages of an address.
fn all(web: &Web, path: &str, key: &str, limit: u32) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), 0);
    loop {
        let reply = web.get(&format!("{path}?limit={limit}&cursor={cursor}"));
        assert_eq!(reply.status, 200, "{reply:?}");
        let page = reply.json();
        assert!(rows(&page, key).len() <= limit as usize);
        all.extend(rows(&page, key).clone());
        match page["next"].as_u64() {
            Some(next) => cursor = next,
            None => return all,
        }
    }
}

#[test]
fn owner_pages_through_views_and_sees_every_line_once() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    for words in ["read notes/welcome.md", "how many words are in notes/welcome.md"] {
        let _ = owner.say(words).until("done");
    }
    let executors = all(&owner, "/v1/executors", "executors", 4);
    let (_, list) = set.json(&["executor", "list"]);
    assert_eq!(executors.len(), list.as_array().unwrap().len());
    assert!(executors.iter().any(|one| one["name"] == "fs_read" && one["state"] == "active"), "{executors:#?}");
    // Newest first, without a gap, down to the first line.
    let lines = all(&owner, "/v1/audit", "lines", 7);
    let numbers: Vec<u64> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    let newest = numbers[0];
    assert_eq!(numbers, (1..=newest).rev().collect::<Vec<_>>());
    assert!(lines.iter().any(|line| line["event_type"] == "run_ended" && line["executor"] == "fs_read"));
    assert!(lines.iter().all(|line| line.get("payload").is_none()));
    assert!(owner.get("/v1/mnests").json()["mnests"].is_array());
    let schedules = owner.get("/v1/schedules").json();
    assert_eq!(schedules["schedules"], json!([]));
    assert_eq!(schedules["next"], json!(null), "{schedules:#}");
    for odd in ["limit=0", "limit=101", "limit=x", "cursor=-1", "cursor=1&cursor=2", "token=x", ""] {
        assert_eq!(owner.get(&format!("/v1/audit?{odd}")).status, 400, "{odd}");
    }
}

#[test]
fn no_address_shows_a_guest_a_word_of_the_owners() {
    let (set, web) = start();
    let (owner, guest) = (web.paired(&set, "owner"), web.paired(&set, "guest"));
    let principal = |web: &Web| web.get("/v1/status").json()["principal"].as_str().unwrap().to_owned();
    let mut said = owner.say(&format!("note that the {SECRET} comes on Monday"));
    let turn = said.turn();
    let _ = said.until("done");
    let card = set.workspace("notes/gone.md");
    std::fs::write(&card, SECRET).unwrap();
    let _ = guest.say("how many words are in notes/welcome.md").until("done");
    let described = web.get("/openapi.json").json();
    let mut asked = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        let there = path.replace("{turn}", &turn).replace("{card}", "abc").replace("{hook}", "abc");
        let there = there.replace("{number}", "1");
        for method in methods.as_object().unwrap().keys() {
            let reply = match (method.as_str(), path.as_str()) {
                ("get", "/v1/ws") => continue,
                ("get" | "delete", _) => guest.ask(&method.to_uppercase(), &there, ""),
                ("post", "/v1/turns") => guest.post(&there, &json!({"text": "what did the owner say"})),
                ("post", _) => guest.post(&there, &json!({})),
                _ => panic!("{method} {path}"),
            };
            for word in [SECRET, "diary", &principal(&owner)] {
                assert!(!reply.body.contains(word), "{method} {path}: {word} in {reply:?}");
            }
            asked += 1;
        }
    }
    assert!(asked >= 17, "{asked}");
    // Over a stream and over a socket, too.
    assert_eq!(guest.listen(&turn, None).status(), 404);
    let mut socket = Socket::open(&guest, "");
    socket.say(&json!({"do": "listen", "turn": turn}));
    assert_eq!(socket.next_document()["status"], 404);
    // What he sees of what happened is his own; what the instance has learnt, he is not shown.
    let mine = principal(&guest);
    let lines = all(&guest, "/v1/audit", "lines", 100);
    assert!(!lines.is_empty() && lines.iter().all(|line| line["peer"] == mine.as_str()), "{lines:#?}");
    assert_eq!((guest.get("/v1/mnests").status, guest.get("/v1/mnests").rule().as_str()), (403, "house.owner"));
    let shown = all(&guest, "/v1/executors", "executors", 100);
    assert!(shown.iter().all(|one| one["state"] == "active" && one.get("why").is_none()), "{shown:#?}");
    set.verify();
}

#[test]
fn what_can_be_said_is_shown_in_the_language_of_who_asks() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let of = |name: &str| -> Vec<String> {
        let executors = all(&owner, "/v1/executors", "executors", 50);
        let found = executors.iter().find(|one| one["name"] == name).unwrap();
        found["examples"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let english = of("fs_count");
    assert!(english.len() == 3 && english[0].starts_with("how many"), "{english:?}");
    let who = owner.get("/v1/status").json();
    assert_eq!(set.json(&["pairing", "language", who["principal"].as_str().unwrap(), "it"]).0, 0);
    let italian = of("fs_count");
    assert!(!italian.is_empty() && italian.iter().all(|one| !english.contains(one)), "{italian:?}");
    // Each does what it says, as it is typed.
    let _ = owner.say(&italian[0]).until("done");
    let ran = all(&owner, "/v1/audit", "lines", 100);
    assert!(ran.iter().any(|line| line["executor"] == "fs_count" && line["outcome"] == "ok"), "{italian:?} {ran:#?}");
}
