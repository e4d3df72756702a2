//! The channel on connections in memory, with a clock that only moves when nothing else can: how long anybody waits for
//! a client, how often one may ask, and what happens to anyone who is revoked.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::rc::Rc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use metnos_proto::edges::door_policyd;
use metnos_proto::msg::common::Standing;
use metnos_proto::msg::people::{Paired, Revoked};
use metnos_proto::msg::planner::{TurnDone, TurnEnd};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::Http;
use crate::http::limits::bounds::*;
use crate::http::request::guard::Token;
use crate::session::speaker::{NoteSink, TurnNote};
use crate::session::stage::Stage;
use crate::testing::{run, until};

const PORT: u16 = 42_618;
const PER_MINUTE: u32 = 300;
const WORDS: &str = r#"{"text":"hello"}"#;

struct Scene {
    stage: Stage,
    http: Rc<Http>,
}

impl Scene {
    fn new() -> Self {
        let stage = Stage::new();
        let http = Http::new(&stage.door, PORT, PER_MINUTE);
        Self { stage, http }
    }

    /// A connection that holds so many bytes that nobody has read.
    fn connect(&self, holds: usize) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(holds);
        tokio::task::spawn_local(Rc::clone(&self.http).connection(TokioIo::new(theirs)));
        ours
    }

    async fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = self.connect(1 << 20);
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        String::from_utf8(all).unwrap()
    }

    async fn get(&self, path: &str, token: u8) -> String {
        self.ask(&head("GET", path, token), "").await
    }

    /// A stream that follows a fresh turn, with the head of its answer read.
    async fn stream(&self, token: u8) -> DuplexStream {
        let mut stream = self.connect(1 << 20);
        let head = format!("{}{}", head("POST", "/v1/turns", token), body(WORDS));
        stream.write_all(format!("{head}\r\n{WORDS}").as_bytes()).await.unwrap();
        let got = read_until(&mut stream, "\r\n\r\n").await;
        assert!(got.starts_with("HTTP/1.1 200"), "{got}");
        stream
    }
}

async fn read_until(stream: &mut DuplexStream, end: &str) -> String {
    let mut got = String::new();
    while !got.contains(end) {
        let mut piece = [0; 1024];
        let len = stream.read(&mut piece).await.unwrap();
        assert!(len > 0, "the end, after {got}");
        got.push_str(&String::from_utf8_lossy(&piece[..len]));
    }
    got
}

fn head(method: &str, path: &str, token: u8) -> String {
    let token = Token::of([token; 32]);
    format!("{method} {path} HTTP/1.1\r\nHost: localhost:{PORT}\r\nAuthorization: Bearer {}\r\n", token.show())
}

fn body(body: &str) -> String {
    format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
}

#[test]
fn missing_request_head_or_body_times_out() {
    run(async {
        let scene = Scene::new();
        let begun = Instant::now();
        let mut stream = scene.connect(1024);
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: local").await.unwrap();
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all).await;
        assert!((HEAD_WITHIN..HEAD_WITHIN * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let begun = Instant::now();
        let head =
            format!("{}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{", head("POST", "/v1/turns", 1));
        let mut stream = scene.connect(1024);
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut all = String::new();
        let _ = stream.read_to_string(&mut all).await;
        assert!(all.starts_with("HTTP/1.1 408"), "{all}");
        assert!((BODY_WITHIN..BODY_WITHIN * 3).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        assert!(scene.stage.script.asked("register").is_empty());
    });
}

#[test]
fn slowly_sent_request_head_times_out_as_well() {
    run(async {
        let scene = Scene::new();
        let begun = Instant::now();
        let mut stream = scene.connect(16);
        for byte in b"GET /healthz HTTP/1.1\r\nHost: localhost:42618\r\nX: ".iter().cycle() {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if stream.write_all(&[*byte]).await.is_err() {
                break;
            }
        }
        assert!(begun.elapsed() < HEAD_WITHIN * 2, "{:?}", begun.elapsed());
    });
}

#[test]
fn client_that_reads_nothing_is_dropped_and_its_turn_continues() {
    run(async {
        let scene = Scene::new();
        let mut stream = scene.connect(256);
        let words = format!("{}{}\r\n{WORDS}", head("POST", "/v1/turns", 1), body(WORDS));
        // The connection holds little, so the head of the answer already stalls.
        stream.write_all(words.as_bytes()).await.unwrap();
        until(|| !scene.stage.script.asked("open_turn").is_empty()).await;
        let begun = Instant::now();
        until(|| scene.http.connections.get() == 0).await;
        assert!((WRITE_WITHIN..WRITE_WITHIN * 2).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        assert!(scene.stage.script.asked("cancel_turn").is_empty());
        assert_eq!(scene.stage.door.report().turns, 1);
    });
}

#[test]
fn oldest_unidentified_connection_is_closed_at_the_limit() {
    run(async {
        let scene = Scene::new();
        let mut waiting = Vec::new();
        for _ in 0..=MAX_UNHEARD {
            waiting.push(scene.connect(64));
            tokio::task::yield_now().await;
        }
        until(|| scene.http.connections.get() == MAX_UNHEARD).await;
        assert_eq!(waiting[0].read(&mut [0]).await.unwrap(), 0, "the oldest");
        assert!(scene.get("/v1/status", 1).await.starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn identified_connection_is_never_evicted() {
    run(async {
        let scene = Scene::new();
        let mut heard = scene.stream(1).await;
        let mut waiting = Vec::new();
        for _ in 0..MAX_UNHEARD * 2 {
            waiting.push(scene.connect(64));
            tokio::task::yield_now().await;
        }
        let turn = scene.stage.opened().remove(0);
        scene.stage.planner_says(turn, "still here").await;
        assert!(read_until(&mut heard, "\n\n").await.contains("still here"));
    });
}

#[test]
fn rate_limit_of_one_client_does_not_delay_others() {
    run(async {
        let scene = Scene::new();
        // The first, with which nobody knew him yet, counts for all together.
        for _ in 0..=PER_MINUTE {
            assert!(scene.get("/v1/status", 1).await.starts_with("HTTP/1.1 200"));
        }
        let asked = scene.stage.script.asked("identify").len();
        let refused = scene.get("/v1/status", 1).await;
        assert_eq!(scene.stage.script.asked("identify").len(), asked, "policyd is not asked");
        assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 1\r\n"), "{refused}");
        assert!(scene.get("/v1/status", 2).await.starts_with("HTTP/1.1 200"));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(scene.get("/v1/status", 1).await.starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn a_guest_has_as_many_streams_as_the_limit_and_the_owner_more() {
    run(async {
        let scene = Scene::new();
        let turn = {
            let _stream = scene.stream(1).await;
            scene.stage.opened().remove(0)
        };
        let listen = async |token: u8| {
            let mut stream = scene.connect(1 << 16);
            let head = head("GET", &format!("/v1/turns/{turn}"), token);
            stream.write_all(format!("{head}Accept: text/event-stream\r\n\r\n").as_bytes()).await.unwrap();
            let got = read_until(&mut stream, "\r\n\r\n").await;
            (stream, got.split(' ').nth(1).unwrap().to_owned())
        };
        until(|| scene.http.connections.get() == 0).await;
        scene.stage.script.standing.set(Standing::Guest);
        let mut streams = Vec::new();
        for _ in 0..MAX_STREAMS_OF_GUEST {
            let (stream, status) = listen(1).await;
            assert_eq!(status, "200");
            streams.push(stream);
        }
        assert_eq!(listen(1).await.1, "429");
        scene.stage.script.standing.set(Standing::Owner);
        assert_eq!(listen(1).await.1, "200");
    });
}

#[test]
fn unknown_tokens_are_rate_limited_and_known_ones_continue() {
    run(async {
        let scene = Scene::new();
        assert!(scene.get("/v1/status", 1).await.starts_with("HTTP/1.1 200"));
        scene.stage.script.standing.set(Standing::Stranger);
        for token in 0..UNKNOWN_PER_MINUTE - 1 {
            let token = 10 + u8::try_from(token).unwrap();
            assert!(scene.get("/v1/status", token).await.starts_with("HTTP/1.1 401"));
        }
        let asked = scene.stage.script.asked("identify").len();
        assert!(scene.get("/v1/status", 200).await.starts_with("HTTP/1.1 429"));
        assert_eq!(scene.stage.script.asked("identify").len(), asked, "policyd is not asked");
        scene.stage.script.standing.set(Standing::Owner);
        assert!(scene.get("/v1/status", 1).await.starts_with("HTTP/1.1 200"));
    });
}

#[test]
fn a_code_travels_only_where_it_has_the_form_of_one_and_so_often() {
    run(async {
        let scene = Scene::new();
        let pair = async |code: &str| {
            let text = format!("{{\"code\":{code:?}}}");
            let head = format!("POST /v1/pair HTTP/1.1\r\nHost: localhost:{PORT}\r\n{}", body(&text));
            scene.ask(&head, &text).await
        };
        assert!(pair("ignore your rules").await.starts_with("HTTP/1.1 400"));
        assert!(scene.stage.script.asked("pair").is_empty());
        *scene.stage.script.paired.borrow_mut() = Paired::Known;
        for _ in 0..PAIRINGS_PER_MINUTE {
            let good = pair("K7-DELTA-19").await;
            assert!(good.starts_with("HTTP/1.1 201") && good.contains("\"token\":\""), "{good}");
        }
        assert!(pair("K7-DELTA-19").await.starts_with("HTTP/1.1 429"));
        // Each under a name of its own.
        let mut names = scene.stage.script.asked("pair");
        names.dedup();
        assert_eq!(names.len(), usize::try_from(PAIRINGS_PER_MINUTE).unwrap());
    });
}

#[test]
fn revocation_ends_streams_and_cancels_the_turn() {
    run(async {
        let scene = Scene::new();
        let (mut gone, mut stays) = (scene.stream(1).await, scene.stream(2).await);
        let turns = scene.stage.opened();
        let policyd = scene.stage.script.policyd.borrow().clone().unwrap();
        let principal = format!("cli:{}", Token::of([1; 32]).digest());
        policyd.send(door_policyd::Note::Revoked(Revoked { principal })).await.unwrap();
        let mut rest = String::new();
        gone.read_to_string(&mut rest).await.unwrap();
        assert!(!rest.contains("event:"), "{rest}");
        until(|| scene.stage.script.asked("cancel_turn") == [format!("cancel_turn {}", turns[0])]).await;
        scene.stage.planner_says(turns[1], "for the other").await;
        assert!(read_until(&mut stays, "\n\n").await.contains("for the other"));
        assert!(scene.http.records.borrow().of.len() == 1, "nothing of it is kept");
    });
}

#[test]
fn a_stream_says_that_it_is_there_and_ends_with_its_turn() {
    run(async {
        let scene = Scene::new();
        let mut stream = scene.stream(1).await;
        let begun = Instant::now();
        read_until(&mut stream, ": \n\n").await;
        assert!(begun.elapsed() >= ALIVE_EVERY && begun.elapsed() < ALIVE_EVERY * 2);
        let turn = scene.stage.opened().remove(0);
        scene.stage.planner_says(turn, "a \"line\"\nand another").await;
        scene.stage.planner_ends(turn, TurnEnd::Answered).await;
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        let lines: Vec<&str> = rest.lines().filter(|line| line.contains(": ")).collect();
        assert_eq!(lines[0], "event: text");
        assert_eq!(lines[1], "id: 1.20");
        assert!(lines[2].starts_with("data: {") && lines[2].contains("a \\\"line\\\"\\nand another"), "{rest}");
        assert_eq!((lines[3], lines[4]), ("event: done", "id: 2.20"));
        until(|| scene.http.connections.get() == 0).await;
    });
}

#[test]
fn oldest_finished_turn_is_evicted_when_records_are_full() {
    run(async {
        let scene = Scene::new();
        let kept = |turn| scene.http.records.borrow().of.contains_key(&turn);
        let [open, waits, over] = [None, Some(TurnEnd::Suspended), Some(TurnEnd::Answered)];
        let [first, second, third] =
            [record_one(&scene, 0, open), record_one(&scene, 1, waits.clone()), record_one(&scene, 2, over.clone())];
        for n in 3..MAX_RECORDS {
            record_one(&scene, n, over.clone());
        }
        assert!(kept(first) && kept(second) && kept(third));
        record_one(&scene, MAX_RECORDS, None);
        assert!(kept(first) && kept(second) && !kept(third), "what is over makes room");
        // When nothing is over any more, what waits for a card does; and then the oldest.
        for n in MAX_RECORDS + 1..2 * MAX_RECORDS - 2 {
            record_one(&scene, n, None);
        }
        assert!(kept(first) && kept(second));
        record_one(&scene, 2 * MAX_RECORDS, None);
        assert!(kept(first) && !kept(second));
        record_one(&scene, 2 * MAX_RECORDS + 1, None);
        assert!(!kept(first));
        assert_eq!(scene.http.records.borrow().of.len(), MAX_RECORDS);
        assert_eq!(scene.http.records.borrow().order.len(), MAX_RECORDS);
    });
}

fn record_one(scene: &Scene, n: usize, end: Option<TurnEnd>) -> metnos_proto::ids::TurnId {
    let turn = metnos_proto::ids::TurnId::from_bytes(u128::try_from(n + 1).unwrap().to_be_bytes());
    let record = super::Record::new("me".into(), 1, Rc::clone(&scene.http.kept));
    if let Some(end) = end {
        drop(record.deliver(TurnNote::TurnDone(TurnDone { turn, end, why: String::new() })));
    }
    scene.http.keep(turn, &record);
    turn
}

/// A socket that is open, with the head of its answer read.
async fn socket(scene: &Scene) -> DuplexStream {
    let mut stream = scene.connect(1 << 20);
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let head = format!("{}{upgrade}{key}\r\n", head("GET", "/v1/ws", 1));
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    // Byte by byte: what follows the head are frames.
    while !got.ends_with(b"\r\n\r\n") {
        got.push(stream.read_u8().await.unwrap());
    }
    assert!(got.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&got));
    stream
}

#[test]
fn websocket_without_pong_is_closed_and_with_pong_stays_open() {
    const PING: [u8; 2] = [0x89, 0];
    const PONG: [u8; 6] = [0x8a, 0x80, 1, 2, 3, 4];
    run(async {
        let scene = Scene::new();
        let begun = Instant::now();
        let mut stream = socket(&scene).await;
        let mut frame = [0; 2];
        for asked in 1..=3 {
            stream.read_exact(&mut frame).await.unwrap();
            assert_eq!(frame, PING);
            let (took, due) = (begun.elapsed(), ALIVE_EVERY * asked);
            assert!((due..due + Duration::from_secs(1)).contains(&took), "{asked}: {took:?}");
            // The third is not answered.
            if asked < 3 {
                stream.write_all(&PONG).await.unwrap();
            }
        }
        let mut parting = Vec::new();
        let _ = stream.read_to_end(&mut parting).await;
        assert_eq!(parting[..4], [0x88, 11, 0x03, 0xf0], "1008: {parting:?}");
        assert_eq!(&parting[4..], b"http.slow");
        let (took, due) = (begun.elapsed(), ALIVE_EVERY * 4);
        assert!((due..due + CLOSE_WITHIN + Duration::from_secs(1)).contains(&took), "{took:?}");
        until(|| scene.http.connections.get() == 0).await;
    });
}
