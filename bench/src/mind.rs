//! What Metnos adds to a model's own time, and how soon the first token is passed on: at mind's edge, and at the door's
//! end of a whole turn. Beside both a bare client of the same server, one after the other in the same run.
//!
//! The server says when it sent its first token in that token, and measures how long it took itself from the end of the
//! request to the last byte of its reply; all clocks are this process's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use metnos_proto::control::ModelSettings;
use metnos_proto::edges::{CtlDoor, ctl_door, planner_mind};
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::door::Say;
use metnos_proto::msg::planner::TurnEnd;
use metnos_proto::payload::Sealed;
use metnos_proto::role::RoleName;
use metnos_tests::bins::Build;
use metnos_tests::instance::Plan;
use metnos_tests::minds::{prompt, settings, with_mind_of};
use serde_json::json;

use crate::call;
use crate::stats::{Table, Times};

/// Thoughts of each kind.
const RUNS: usize = 200;
/// Thoughts before the measurement.
const WARM_UP: usize = 10;
/// How long the model thinks before its first token, and again before its last.
const THINKS: Duration = Duration::from_millis(3);
/// Tokens of a reply beside the first and the last.
const TOKENS: usize = 30;
/// How long a turn may take.
const WITHIN: Duration = Duration::from_secs(30);
/// What no reflex understands.
const WORDS: &str = "compose a sonnet about the sea with a moon in it";

/// Where this process's clock begins.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Measures mind alone, and then a whole set.
pub fn measure(table: &mut Table) {
    let _began = *START;
    let server = Server::start();
    edge(table, &server);
    turns(table, &server);
}

/// What is measured of one kind of client.
#[derive(Default)]
struct Measured {
    /// From the first token's leaving the server to its arrival.
    first: Times,
    /// The whole time without the server's own.
    added: Times,
}

impl Measured {
    fn push(&mut self, first: Duration, whole: Duration, own: Duration) {
        self.first.push(first);
        self.added.push(whole.saturating_sub(own));
    }

    fn rows(&self, table: &mut Table, what: &str, bare: &Self, [added, first]: [&str; 2]) {
        let beside = |of: &Times| format!("a bare client: {}", crate::stats::text(of.median()));
        table.times(&format!("{what}: beyond the model's own time"), &self.added, beside(&bare.added), added);
        table.times(&format!("{what}: first token, after it was sent"), &self.first, beside(&bare.first), first);
    }
}

// ---- the server ----------------------------------------------------------

struct Server {
    port: u16,
    /// How long the latest reply took.
    own: Arc<Mutex<Duration>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = Arc::new(Mutex::new(Duration::ZERO));
        let kept = Arc::clone(&own);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let own = Arc::clone(&kept);
                std::thread::spawn(move || drop(converse(stream, &own)));
            }
        });
        Self { port, own }
    }

    fn own(&self) -> Duration {
        *self.own.lock().unwrap()
    }

    fn substrate(&self) -> String {
        format!("there openai http://127.0.0.1:{}/v1", self.port)
    }
}

fn converse(stream: TcpStream, own: &Mutex<Duration>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut stream) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let (mut line, mut length, mut thinks) = (String::new(), 0, false);
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            thinks |= line.starts_with("POST ");
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        if thinks {
            reply(&mut stream, own)?;
        } else {
            let models = json!({ "object": "list", "data": [{ "id": "m", "object": "model" }] }).to_string();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
            stream.write_all(format!("{head}{}\r\n\r\n{models}", models.len()).as_bytes())?;
        }
    }
}

fn piece(text: &str) -> String {
    chunk(&format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": { "content": text } }] })))
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn reply(stream: &mut TcpStream, own: &Mutex<Duration>) -> std::io::Result<()> {
    let began = Instant::now();
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    std::thread::sleep(THINKS);
    let now = START.elapsed().as_nanos();
    stream.write_all(piece(&format!("@{now}@ ")).as_bytes())?;
    for _ in 0..TOKENS {
        stream.write_all(piece("word ").as_bytes())?;
    }
    std::thread::sleep(THINKS);
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 32, "total_tokens": 52 } });
    let rest = chunk(&format!("data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    // Kept before it is known to anybody that the reply is over.
    *own.lock().unwrap() = began.elapsed();
    stream.write_all(format!("{}{rest}0\r\n\r\n", piece("end.")).as_bytes())
}

/// How long ago the token was sent that this text holds.
fn since_sent(text: &str) -> Option<Duration> {
    let now = START.elapsed();
    let sent: u64 = text.split('@').nth(1)?.parse().ok()?;
    now.checked_sub(Duration::from_nanos(sent))
}

// ---- the clients ----------------------------------------------------------

/// Sends a request and reads a reply, and does nothing else.
struct Bare {
    stream: TcpStream,
    request: Vec<u8>,
}

impl Bare {
    fn new(server: &Server, body: &[u8]) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let head =
            "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ";
        let mut request = format!("{head}{}\r\n\r\n", body.len()).into_bytes();
        request.extend(body);
        Self { stream, request }
    }

    fn think(&mut self, server: &Server, into: &mut Measured) {
        let began = Instant::now();
        self.stream.write_all(&self.request).unwrap();
        let (mut text, mut buffer, mut first) = (Vec::new(), [0; 16 * 1024], None);
        while !text.ends_with(b"0\r\n\r\n") {
            let read = self.stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the server went away");
            text.extend_from_slice(&buffer[..read]);
            first = first.or_else(|| since_sent(std::str::from_utf8(&text).ok()?));
        }
        into.push(first.unwrap(), began.elapsed(), server.own());
    }
}

/// A thought as the planner asks for it, of a mind without company.
fn edge(table: &mut Table, server: &Server) {
    let (mut ours, mut bare) = (Measured::default(), Measured::default());
    let models = ModelSettings { parallel: 16, ..settings(&[server.substrate()], &[("interface", &["there/m"])]) };
    with_mind_of(Build::Shipped, models, &[], async |mind| {
        let mut client = None;
        for run in 0..WARM_UP + RUNS {
            let turn = mind.turn().await;
            let asked = prompt(WORDS);
            let began = Instant::now();
            let thought = async {
                let came = mind.think(turn, 1, &asked).await.unwrap();
                (began.elapsed(), came.2)
            };
            let first = async {
                let planner_mind::Note::ThoughtDelta(delta) = mind.deltas.lock().await.recv().await.unwrap();
                since_sent(&delta.text).unwrap()
            };
            let ((whole, sent), first) = tokio::join!(thought, first);
            let own = server.own();
            let _rest = mind.said_on_the_way();
            mind.told().await;
            let client = client.get_or_insert_with(|| Bare::new(server, &sent));
            let (mut other, _) = (Measured::default(), ());
            client.think(server, if run < WARM_UP { &mut other } else { &mut bare });
            if run >= WARM_UP {
                ours.push(first, whole, own);
            }
        }
    });
    ours.rows(table, "a thought, at mind's edge", &bare, ["≤ 5 ms", "≤ 2 ms"]);
}

/// A turn as a person has it at the terminal: registered, journalled, funded, thought, recorded, answered, journalled.
fn turns(table: &mut Table, server: &Server) {
    // On memory, so that the disk's own sync is not part of what is compared.
    let set = Plan::new()
        .in_memory()
        .config(&format!(
            "[models]\nsubstrates = [\"{}\"]\ninterface = [\"there/m\"]\n\
             [budget]\ntokens_per_day = 4000000000\ntokens_per_month = 4000000000\n[policy]\ncalls_per_minute = 60000\n",
            server.substrate()
        ))
        .start();
    let mut door = call::end::<CtlDoor>(&set, RoleName::Gatewayd);
    let mut client = Bare::new(server, &serde_json::to_vec(&json!({ "messages": [], "stream": true })).unwrap());
    let (mut ours, mut bare) = (Measured::default(), Measured::default());
    for run in 0..WARM_UP + RUNS {
        let mut unheard = [Measured::default(), Measured::default()];
        let [ours, bare] = if run < WARM_UP { unheard.each_mut() } else { [&mut ours, &mut bare] };
        turn(&mut door, server, ours);
        client.think(server, bare);
    }
    ours.rows(table, "a whole turn of one thought", &bare, ["≤ 5 ms", "≤ 2 ms"]);
    set.verify();
}

fn turn(door: &mut BlockingClient<CtlDoor>, server: &Server, into: &mut Measured) {
    let began = Instant::now();
    let words = Sealed::new(WORDS.as_bytes()).unwrap();
    let (_said, []) = door.say(TraceId::NONE, Say {}, [words]).unwrap();
    let mut first = None;
    loop {
        match door.next_note(WITHIN).unwrap().expect("the turn goes on") {
            ctl_door::Note::Text(text) => first = first.or_else(|| since_sent(&text.text)),
            ctl_door::Note::TurnDone(done) => {
                assert_eq!(done.end, TurnEnd::Answered, "{}", done.why);
                break;
            }
            ctl_door::Note::Call(_)
            | ctl_door::Note::Progress(_)
            | ctl_door::Note::CardWaits(_)
            | ctl_door::Note::CardSettled(_) => {}
        }
    }
    into.push(first.expect("the first token"), began.elapsed(), server.own());
}
