//! The door's WebSocket with real daemons: a client says, receives, answers, stops and comes back over one socket; and what
//! becomes of frames that are none, of floods, of pages of other sites, and of anyone who is revoked.

use metnos_tests::http::{WITHIN, Web};
use metnos_tests::instance::{Instance, Plan};
use metnos_tests::ws::{CLOSE, PING, PONG, Socket, TEXT, frame, handshake, said};
use serde_json::{Value, json};

const WELCOME: &str = "read notes/welcome.md";

fn start() -> (Instance, Web) {
    let set = Plan::new().config("[http]\nlisten = \"127.0.0.1:0\"\n").start();
    let web = Web::of(&set);
    (set, web)
}

fn welcome(set: &Instance) -> String {
    std::fs::read_to_string(set.workspace("notes/welcome.md")).unwrap().trim_end().to_owned()
}

#[test]
fn socket_client_talks_and_resumes_as_over_a_stream() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let mut socket = Socket::open(&owner, "");
    socket.say(&json!({"do": "say", "text": WELCOME, "ref": "mine"}));
    let told = socket.until("done");
    assert_eq!((told[0]["event"].as_str(), told[0]["status"].as_u64()), (Some("reply"), Some(202)), "{told:#?}");
    assert_eq!(told[0]["ref"], "mine");
    let turn = told[0]["data"]["turn"].as_str().unwrap().to_owned();
    assert_eq!(said(&told).trim_end(), welcome(&set));
    // The same events, under the same ids, as the stream has them.
    let mut listening = owner.listen(&turn, None);
    let streamed = listening.until("done");
    let events: Vec<(String, String, Value)> = streamed.into_iter().map(|one| (one.name, one.id, one.data)).collect();
    let over: Vec<(String, String, Value)> =
        told[1..].iter().map(|one| (text(&one["event"]), text(&one["id"]), one["data"].clone())).collect();
    assert_eq!(over, events);
    // Anyone who comes back, on another socket, after each of them receives the rest, and nothing twice.
    let mut again = Socket::open(&owner, "");
    for (at, (_, id, _)) in events.iter().enumerate() {
        again.say(&json!({"do": "listen", "turn": turn, "after": id}));
        let reply = again.next_document();
        if at + 1 == events.len() {
            assert_eq!(reply["status"], 204, "{reply:#}");
        } else {
            assert_eq!(reply["status"], 200);
            assert_eq!(again.until("done").len(), events.len() - at - 1);
        }
    }
    again.say(&json!({"do": "listen", "turn": turn}));
    assert_eq!(said(&again.until("done")).trim_end(), welcome(&set));
    // It parts as it should: what the client says comes back.
    again.send(&frame(CLOSE, &1000u16.to_be_bytes()));
    assert_eq!(again.parting().0, 1000);
    set.verify();
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn malformed_frame_is_named_and_foreign_turn_is_not_found() {
    let (set, web) = start();
    let (owner, guest) = (web.paired(&set, "owner"), web.paired(&set, "guest"));
    let mut mine = Socket::open(&owner, "");
    mine.say(&json!({"do": "say", "text": WELCOME}));
    let turn = text(&mine.until("done")[0]["data"]["turn"]);
    let mut his = Socket::open(&guest, "");
    for (said, status) in [
        (json!({"do": "listen", "turn": turn}), 404),
        (json!({"do": "listen", "turn": "x"}), 400),
        (json!({"do": "listen", "turn": turn, "after": "1"}), 400),
        (json!({"do": "say", "text": "  "}), 400),
        (json!({"do": "say"}), 400),
        (json!({"do": "dance"}), 400),
        (json!({"do": "say", "text": "x", "more": 1}), 400),
        (json!({"do": "say", "text": "x", "ref": "r".repeat(65)}), 400),
        (json!({"do": "answer", "card": "x", "digest": "blake3:0", "answer": "always"}), 400),
        (json!({"do": "answer", "card": "x", "digest": "blake3:0", "answer": "once"}), 404),
        (json!(["say"]), 400),
    ] {
        his.say(&said);
        let reply = his.next_document();
        assert_eq!(
            (reply["event"].as_str(), reply["status"].as_u64()),
            (Some("reply"), Some(status)),
            "{said} {reply}"
        );
        assert!(reply["data"]["rule"].is_string() && !reply.to_string().contains(&welcome(&set)), "{reply}");
    }
    his.say(&json!({"do": "stop", "turn": turn}));
    assert_eq!(his.next_document()["data"]["was_open"], false);
    his.say(&json!({"do": "cards"}));
    assert_eq!(his.next_document()["data"], json!({"cards": []}));
    set.verify();
}

#[test]
fn frames_that_are_none_end_their_socket_and_nothing_else() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let large = vec![b'x'; 300 * 1024];
    let mut fragments = frame(0x01, b"{\"do\":");
    for _ in 0..5 {
        fragments.extend(frame(0x00, &vec![b' '; 60 * 1024]));
    }
    let mut promised = vec![TEXT, 0x80 | 127];
    promised.extend_from_slice(&(u64::MAX >> 1).to_be_bytes());
    promised.extend_from_slice(&[1, 2, 3, 4]);
    let unmasked = [&[TEXT, 2][..], b"{}"].concat();
    for (what, bytes, code) in [
        ("without a mask", unmasked, 1002),
        ("a reserved bit", frame(0xc1, b"{}"), 1002),
        ("an unknown kind", frame(0x83, b"{}"), 1002),
        ("a control frame in parts", frame(0x09, b"x"), 1002),
        ("a control frame too long", frame(PING, &[b'x'; 126]), 1002),
        ("the rest of nothing", frame(0x80, b"{}"), 1002),
        ("a start within a start", [frame(0x01, b"{"), frame(TEXT, b"{}")].concat(), 1002),
        ("no text", frame(TEXT, b"\xff\xfe"), 1007),
        ("bytes", frame(0x82, b"{}"), 1003),
        ("too large", frame(TEXT, &large), 1009),
        ("too large together", fragments, 1009),
        ("more than there is", promised, 1009),
        ("a parting with a code of nobody", frame(CLOSE, &[0, 1]), 1002),
        ("a parting of one byte", frame(CLOSE, &[3]), 1002),
    ] {
        let mut socket = Socket::open(&owner, "");
        socket.send(&bytes);
        assert_eq!(socket.parting().0, code, "{what}");
        assert!(socket.next_frame().is_none(), "{what}: nothing follows");
    }
    // Half a frame, and gone.
    let mut half = Socket::open(&owner, "");
    half.send(&frame(TEXT, b"{\"do\":\"cards\"}")[..7]);
    drop(half);
    assert_eq!(owner.get("/v1/status").status, 200);
    metnos_tests::until("no socket is left", WITHIN, || {
        web.get("/metrics").body.contains("metnos_http_streams 0\n").then_some(())
    });
    set.verify();
}

#[test]
fn a_flood_is_cut_off_and_a_ping_is_answered() {
    let (set, web) = start();
    let owner = web.paired(&set, "owner");
    let mut socket = Socket::open(&owner, "");
    socket.send(&frame(PING, b"there?"));
    let pong = socket.next_frame().unwrap();
    assert_eq!((pong.first, pong.payload.as_slice()), (PONG, &b"there?"[..]));
    let flood: Vec<u8> = (0..700).flat_map(|_| frame(PONG, b"")).collect();
    socket.send(&flood);
    assert_eq!(socket.parting(), (1008, "http.rate".to_owned()));
    assert_eq!(owner.get("/v1/status").status, 200, "the client itself is as it was");
    set.verify();
}

#[test]
fn only_who_is_known_opens_a_socket_and_no_page_of_another_site() {
    let (set, web) = start();
    let open = |web: &Web, more: &str| web.ask("GET", "/v1/ws", more);
    assert_eq!(open(&web, &handshake()).status, 401);
    let owner = web.paired(&set, "owner");
    for origin in ["http://evil.example", "null"] {
        assert_eq!(open(&owner, &format!("{}Origin: {origin}\r\n", handshake())).rule(), "http.origin");
    }
    // A cookie opens one for a page of the door, and for no other.
    let (_, invited) = set.json(&["pairing", "invite", "http", "--as", "owner"]);
    let ours = format!("Origin: http://{}\r\n", web.address);
    let paired = web.post_with("/v1/pair", &json!({"code": invited["code"], "cookie": true}), &ours);
    let cookie = paired.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let cookie = format!("Cookie: {cookie}\r\n");
    assert_eq!(open(&web, &format!("{}{cookie}", handshake())).rule(), "http.csrf");
    let mut page = Socket::open(&web, &format!("{cookie}{ours}"));
    page.say(&json!({"do": "cards"}));
    assert_eq!(page.next_document()["status"], 200);
    for more in [
        "",
        "Connection: Upgrade\r\nUpgrade: h2c\r\nSec-WebSocket-Version: 13\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 8\r\n",
    ] {
        let reply = open(&owner, more);
        assert_eq!((reply.status, reply.header("sec-websocket-version")), (426, Some("13")), "{more} {reply:?}");
    }
    for key in ["", "Sec-WebSocket-Key: x\r\n", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAAAA\r\n"] {
        let more = format!("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{key}");
        assert_eq!(open(&owner, &more).status, 400, "{key}");
    }
    set.verify();
}

#[test]
fn a_revoked_clients_socket_is_closed_and_a_guest_has_few() {
    let (set, web) = start();
    let guest = web.paired(&set, "guest");
    let principal = text(&guest.get("/v1/status").json()["principal"]);
    let mut sockets: Vec<Socket> = (0..8).map(|_| Socket::open(&guest, "")).collect();
    let more = guest.ask("GET", "/v1/ws", &handshake());
    assert_eq!((more.status, more.rule().as_str()), (429, "http.streams"), "{more:?}");
    assert_eq!(set.json(&["pairing", "revoke", &principal]).0, 0);
    for socket in &mut sockets {
        assert_eq!(socket.parting(), (1008, "door.stranger".to_owned()));
    }
    assert_eq!(guest.ask("GET", "/v1/ws", &handshake()).status, 401);
    set.verify();
}
