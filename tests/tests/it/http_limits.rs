//! What the door's HTTP channel makes of requests that are too large, too long, crooked or none, and of clients that
//! stall: each learns why where that is possible, and the door serves on.

use std::io::Read;
use std::time::Duration;

use metnos_tests::http::{Reply, Web};
use metnos_tests::instance::{Instance, Plan};
use serde_json::json;

fn start() -> (Instance, Web) {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    let web = Web::of(&set);
    (set, web)
}

#[test]
fn oversized_or_malformed_requests_are_refused_and_door_keeps_serving() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let status = |reply: Reply| reply.status;
    let large = json!({"text": "x".repeat(64 * 1024 + 1)});
    assert_eq!(status(owner.post("/v1/turns", &large)), 400, "words.size");
    let larger = json!({"text": "x".repeat(300 * 1024)});
    assert_eq!(status(owner.post("/v1/turns", &larger)), 413);
    assert_eq!(status(owner.ask("GET", "/v1/status", &format!("X: {}\r\n", "x".repeat(20 * 1024)))), 431);
    assert_eq!(status(owner.ask("GET", "/v1/status", &"X: y\r\n".repeat(80))), 431);
    assert_eq!(status(owner.get("/v1/status?token=x")), 400);
    assert_eq!(status(owner.get(&format!("/v1/{}", "x".repeat(4_000)))), 404);
    for path in [
        "//",
        "/v1/status/",
        "//v1/status",
        "/v1/../v1/status",
        "/v1/%73tatus",
        "/v1/turns/..",
        "/etc/passwd",
        "/v1/executor",
        "/hooks/Big",
    ] {
        assert_eq!(status(owner.get(path)), 404, "{path}");
    }
    for (method, path, allow) in
        [("PUT", "/v1/turns", "GET, POST"), ("POST", "/healthz", "GET"), ("TRACE", "/v1/status", "GET")]
    {
        let reply = owner.ask(method, path, "");
        assert_eq!((reply.status, reply.header("allow")), (405, Some(allow)));
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for body in
        ["{", "[]", "{\"text\":1,\"text\":2}", "{\"text\":\"\"}", "{\"text\":\"x\",\"more\":1}", "\u{0}", deep.as_str()]
    {
        let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        let reply = owner.raw(format!("{}\r\n{body}", owner.head("POST", "/v1/turns", &more)).as_bytes());
        assert_eq!(reply.status, 400, "{body} {reply:?}");
        assert!(reply.json()["expected"].is_string(), "{reply:?}");
    }
    let form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 6\r\n";
    assert_eq!(status(owner.raw(format!("{}\r\ntext=x", owner.head("POST", "/v1/turns", form)).as_bytes())), 415);
    for rubbish in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"SSH-2.0-x\r\n\r\n",
        b"GET\r\n\r\n",
        b"\0\0\0\0",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = web.send(rubbish);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        assert!(!all.starts_with(b"HTTP/1.1 2"), "{rubbish:?}");
    }
    // Two lengths, or a length and chunks, are no request: nothing is smuggled behind one.
    for lengths in ["Content-Length: 1\r\nContent-Length: 2\r\n", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"]
    {
        let more = format!("Content-Type: application/json\r\n{lengths}");
        let tail = "0\r\n\r\nGET /v1/status HTTP/1.1\r\n\r\n";
        let reply = owner.raw(format!("{}\r\n{tail}", owner.head("POST", "/v1/turns", &more)).as_bytes());
        assert_eq!(reply.status, 400, "{lengths} {reply:?}");
    }
    assert_eq!(owner.get("/v1/status").status, 200);
    set.verify();
}

#[test]
fn body_with_two_lengths_is_rejected_and_opens_no_turn() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let body = json!({"text": "hello"}).to_string();
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let ask = |lengths: &str, body: &str| {
        let more = format!("Content-Type: application/json\r\n{lengths}");
        owner.raw(format!("{}\r\n{body}", owner.head("POST", "/v1/turns", &more)).as_bytes())
    };
    let length = format!("Content-Length: {}\r\n", body.len());
    // What the rest differs from.
    assert!(ask(&length, &body).status < 300 && ask("Transfer-Encoding: chunked\r\n", &chunks).status < 300);
    let turns = || set.json(&["audit", "search", "--lines", "1000", "hello"]).1.as_array().map(Vec::len);
    let before = turns();
    for (lengths, body) in [
        (format!("{length}Transfer-Encoding: chunked\r\n"), &chunks),
        (format!("Transfer-Encoding: chunked\r\n{length}"), &chunks),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n".to_owned(), &chunks),
        (format!("{length}{length}"), &body),
        (format!("X: y\n{length}"), &body),
        (format!("X: y\r\n folded\r\n{length}"), &body),
        (length.replace(": ", ": +"), &body),
    ] {
        let reply = ask(&lengths, body);
        assert_eq!(reply.status, 400, "{lengths:?} {reply:?}");
    }
    assert_eq!(turns(), before, "nothing of it was heard");
    assert_eq!(owner.get("/v1/status").status, 200);
    set.verify();
}

#[test]
fn a_head_that_two_readers_would_read_differently_is_not_served() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let token = format!("Authorization: Bearer {}\r\n", owner.token());
    let host = format!("Host: {}\r\n", web.address);
    let served = |target: &str, lines: &str| web.raw(format!("GET {target} HTTP/1.1\r\n{lines}\r\n").as_bytes()).status;
    assert_eq!(served("/v1/status", &format!("{host}{token}")), 200, "what the rest differs from");
    for (target, lines, what) in [
        ("/v1/status", format!("{host}Host: evil.example\r\n{token}"), "two hosts"),
        ("/v1/status", format!("Host: evil.example\r\n{host}{token}"), "two hosts, the other way round"),
        ("/v1/status", token.clone(), "no host"),
        ("/v1/status", format!("Host: user@{}\r\n{token}", web.address), "a host with a user"),
        ("http://evil.example/v1/status", format!("{host}{token}"), "the whole address of another"),
        ("/v1/status", format!("{host}{token}{token}"), "two tokens"),
        ("/v1/status", format!("{host}{token}Origin: http://{}\r\nOrigin: null\r\n", web.address), "two origins"),
        ("/v1/status", format!("{host}{token} folded: yes\r\n"), "a folded line"),
        ("/v1/status", format!("{host}Authorization : Bearer {}\r\n", owner.token()), "a blank before the colon"),
        ("*", format!("{host}{token}"), "no path"),
        ("/v1/status\t", format!("{host}{token}"), "a tab in the path"),
    ] {
        let status = served(target, &lines);
        assert!((400..500).contains(&status), "{what}: {status}");
    }
    assert_eq!(served("/v1/status", &format!("{host}{token}")), 200, "the door serves on");
    set.verify();
}

#[test]
fn stalled_clients_keep_no_other_out() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    // More than may wait unheard, each with half a head: the oldest give way.
    let stalled: Vec<_> = (0..200).map(|_| web.send(b"GET /v1/status HTTP/1.1\r\nHo")).collect();
    assert_eq!(owner.get("/v1/status").status, 200);
    let mut first = &stalled[0];
    first.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    assert!(!matches!(first.read(&mut [0; 1]), Ok(1..)), "the oldest was closed");
    let numbers = owner.get("/metrics").body;
    assert!(numbers.contains("metnos_http_turned_away_total") && numbers.ends_with("# EOF\n"), "{numbers}");
    drop(stalled);
    set.verify();
}
