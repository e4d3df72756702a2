//! The daemon mind alone, with the test as its planner and its policyd; and servers of models: real ones, which know
//! nothing of Metnos, and a scripted liar.

use std::cell::RefCell;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use metnos_jail::Layer;
use metnos_proto::control::{ModelSettings, RoleSetting};
use metnos_proto::edge::{Edge, RpcError};
use metnos_proto::edges::{CtlMind, PlannerMind, PolicydMind, SyntdMind, planner_mind, policyd_mind};
use metnos_proto::ids::{TraceId, TurnId};
use metnos_proto::link_async::Client;
use metnos_proto::msg::common::Refusal;
use metnos_proto::msg::mind::{Fund, Think, Thought, ThoughtUsed};
use metnos_proto::payload::Sealed;
use metnos_proto::prompt::{Message, Prompt, Reply};
use metnos_proto::role::RoleName;
use serde_json::Value;
use tokio::sync::{Mutex as Turns, mpsc};
use tokio::task::LocalSet;

use crate::bins::{Build, binary_of, open_folder};
use crate::instance::{ORDINARY_UID, is_root};
use crate::solo::{Setup, Solo};

/// The key that the real servers want.
pub const KEY: &str = "sk-planted-7f3a9c1e5b2d";

/// A server of models that others have written.
#[derive(Debug)]
pub struct Aimock {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl Aimock {
    /// Starts it with the words of `peers/models/fixtures.json`, wanting [`KEY`], and these further words.
    ///
    /// # Panics
    /// When it is not installed: `./metnos test` installs it.
    #[must_use]
    pub fn start(words: &[&str]) -> Self {
        let target = Build::Shipped.folder().parent().expect("a target directory").to_owned();
        let program = target.join("peers/models/node_modules/@copilotkit/aimock/dist/cli.js");
        assert!(program.is_file(), "{} is missing: ./metnos test installs it (npm ci)", program.display());
        let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/peers/models/fixtures.json");
        let mut child = Command::new(crate::bins::node())
            .arg(program)
            .args(["-p", "0", "-f", fixtures, "-c", "8"])
            .args(words)
            .env("AIMOCK_API_KEYS", KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("node can be executed");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.split_once("listening on http://127.0.0.1:").and_then(|(_, port)| port.trim().parse().ok())
        });
        // What it says later is read, so that it never waits for us.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { child, port: port.expect("aimock says where it listens") }
    }

    /// What it was asked, newest last.
    ///
    /// # Panics
    /// When it does not say.
    #[must_use]
    pub fn journal(&self) -> Vec<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let head = format!("GET /__aimock/journal HTTP/1.0\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        let body = text.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str::<Value>(body).expect("a journal").as_array().cloned().expect("a list")
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a liar does with a connection, once it has read the request.
pub type Lie = dyn Fn(usize, &str, &mut TcpStream) + Send + Sync;

/// A server that does what a test says.
pub struct Liar {
    /// Where it listens.
    pub port: u16,
    asked: Arc<AtomicUsize>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Liar {
    /// Answers each request with the lie, which learns how many there were before it.
    ///
    /// # Panics
    /// When there is no port left.
    #[must_use]
    pub fn start(lie: impl Fn(usize, &str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let (asked, heard) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (lie, count, list) = (Arc::new(lie), Arc::clone(&asked), Arc::clone(&heard));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (lie, count, list) = (Arc::clone(&lie), Arc::clone(&count), Arc::clone(&list));
                std::thread::spawn(move || converse(stream, &*lie, &count, &list));
            }
        });
        Self { port, asked, heard }
    }

    /// How many requests there were.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// How many of them wanted an answer of the model: mind also asks which models there are.
    ///
    /// # Panics
    /// When one of its threads has.
    #[must_use]
    pub fn thoughts(&self) -> usize {
        self.heard().iter().filter(|one| one.starts_with("POST ")).count()
    }

    /// The requests, heads and bodies.
    ///
    /// # Panics
    /// When one of its threads has.
    #[must_use]
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().expect("no thread of it has failed").clone()
    }
}

fn converse(mut stream: TcpStream, lie: &Lie, count: &AtomicUsize, list: &Mutex<Vec<String>>) {
    let _ = stream.set_nodelay(true);
    while let Some(request) = read_request(&mut stream) {
        list.lock().expect("no thread of it has failed").push(request.clone());
        lie(count.fetch_add(1, Ordering::SeqCst), &request, &mut stream);
    }
}

fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") {
        (stream.read(&mut byte).ok()? == 1).then_some(())?;
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).ok()?;
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(head + &String::from_utf8_lossy(&body))
}

/// The head of a stream of events that ends with the connection.
pub const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// One piece of text in OpenAI's words.
#[must_use]
pub fn piece(text: &str) -> String {
    format!("data: {}\n\n", serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// A whole reply in OpenAI's words.
#[must_use]
pub fn whole(text: &str) -> String {
    let end = serde_json::json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let usage = serde_json::json!({ "choices": [], "usage": { "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25 } });
    format!("{STREAM}{}data: {end}\n\ndata: {usage}\n\ndata: [DONE]\n\n", piece(text))
}

/// Says this and closes.
pub fn say(stream: &mut TcpStream, text: &str) {
    let _ = stream.write_all(text.as_bytes());
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// An answer that is no stream.
#[must_use]
pub fn plain(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// Settings with these substrates and roles.
#[must_use]
pub fn settings(substrates: &[String], roles: &[(&str, &[&str])]) -> ModelSettings {
    let role = |(role, models): &(&str, &[&str])| RoleSetting {
        role: (*role).to_owned(),
        models: models.iter().map(|model| (*model).to_owned()).collect(),
    };
    ModelSettings {
        substrates: substrates.to_vec(),
        roles: roles.iter().map(role).collect(),
        first_seconds: 20,
        between_seconds: 2,
        ..ModelSettings::default()
    }
}

/// mind, and the test in the places of those who ask it.
pub struct Lone {
    /// The daemon.
    pub solo: RefCell<Solo>,
    /// The planner's side.
    pub planner: Rc<Client<PlannerMind>>,
    /// policyd's side.
    pub policyd: Rc<Client<PolicydMind>>,
    /// syntd's side.
    pub syntd: Rc<Client<SyntdMind>>,
    /// The owner's side.
    pub owner: Rc<Client<CtlMind>>,
    /// What it tells the planner.
    pub deltas: Turns<mpsc::Receiver<planner_mind::Note>>,
    used: Turns<mpsc::Receiver<policyd_mind::Note>>,
    folder: tempfile::TempDir,
}

/// Runs a test with mind alone.
///
/// # Panics
/// When mind does not start.
pub fn with_mind<Fut: Future<Output = ()>>(models: ModelSettings, waive: &[Layer], test: impl FnOnce(Rc<Lone>) -> Fut) {
    with_mind_of(Build::Attack, models, waive, test);
}

/// The same with the mind of this build.
///
/// # Panics
/// When mind does not start.
pub fn with_mind_of<Fut: Future<Output = ()>>(
    build: Build,
    models: ModelSettings,
    waive: &[Layer],
    test: impl FnOnce(Rc<Lone>) -> Fut,
) {
    let folder = open_folder("metnos-mind-");
    // Where its user may execute it.
    let binary = folder.path().join(binary_of(RoleName::Mind));
    std::fs::copy(build.binary(binary_of(RoleName::Mind)), &binary).expect("a copy");
    std::fs::set_permissions(&binary, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("our own copy");
    let own = folder.path().join(".mind");
    std::fs::create_dir(&own).expect("our own folder");
    if is_root() {
        std::os::unix::fs::chown(&own, Some(ORDINARY_UID), Some(ORDINARY_UID)).expect("as root");
    }
    std::fs::set_permissions(&own, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("our own folder");
    let setup = Setup {
        binary,
        role: RoleName::Mind,
        instance: folder.path().to_owned(),
        ids: is_root().then_some(ORDINARY_UID),
        waive: waive.iter().map(|layer| layer.name().to_owned()).collect(),
        models,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async move {
        let mut solo = Solo::start(&setup);
        let planner = client::<PlannerMind>(&mut solo);
        let policyd = client::<PolicydMind>(&mut solo);
        let lone = Lone {
            syntd: client::<SyntdMind>(&mut solo),
            owner: client::<CtlMind>(&mut solo),
            deltas: Turns::new(planner.take_notes().expect("taken once")),
            used: Turns::new(policyd.take_notes().expect("taken once")),
            solo: RefCell::new(solo),
            planner,
            policyd,
            folder,
        };
        test(Rc::new(lone)).await;
    });
}

fn client<E: Edge>(solo: &mut Solo) -> Rc<Client<E>> {
    let client = Rc::new(Client::<E>::default());
    client.attach(solo.asker::<E>()).expect("a fresh channel");
    client
}

/// A prompt of one message.
#[must_use]
pub fn prompt(text: &str) -> Prompt {
    Prompt { messages: vec![Message::User { text: text.to_owned() }], ..Prompt::default() }
}

/// The same as it travels.
///
/// # Panics
/// When there is no memory left.
#[must_use]
pub fn sealed(prompt: &Prompt) -> Sealed {
    Sealed::new(&serde_json::to_vec(prompt).expect("JSON")).expect("memory")
}

/// What a thought came to: the word, the reply, the bytes that were sent.
pub type Came = Result<(Thought, Reply, Vec<u8>), Refusal>;

impl Lone {
    /// A turn that is funded well.
    ///
    /// # Panics
    /// When mind does not take it.
    pub async fn turn(&self) -> TurnId {
        let turn = TurnId::new();
        let fund = Fund { turn, tokens: 1_000_000, micro: 1_000_000, drafts: false };
        let _funded = self.policyd.fund(TraceId::NONE, fund, []).await.expect("funded");
        turn
    }

    /// A thought in the role `interface`.
    pub async fn think(&self, turn: TurnId, thought: u32, prompt: &Prompt) -> Came {
        let ask = Think { turn, thought, role: "interface".to_owned(), max_tokens: 500 };
        came(self.planner.think(TraceId::NONE, ask, [sealed(prompt)]).await)
    }

    /// A thought in a turn of its own.
    pub async fn say(&self, text: &str) -> Came {
        let turn = self.turn().await;
        self.think(turn, 1, &prompt(text)).await
    }

    /// What policyd is told next.
    ///
    /// # Panics
    /// When nothing comes.
    pub async fn told(&self) -> ThoughtUsed {
        let mut used = self.used.lock().await;
        let next = tokio::time::timeout(Duration::from_secs(20), used.recv()).await;
        let policyd_mind::Note::ThoughtUsed(note) = next.expect("in time").expect("mind is there");
        note
    }

    /// The text that came to the planner on the way, of all thoughts so far.
    ///
    /// # Panics
    /// Never.
    #[must_use]
    pub fn said_on_the_way(&self) -> String {
        let mut text = String::new();
        while let Ok(planner_mind::Note::ThoughtDelta(delta)) =
            self.deltas.try_lock().expect("nobody else reads").try_recv()
        {
            text.push_str(&delta.text);
        }
        text
    }

    /// mind's folder.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// An answer of mind, read.
///
/// # Panics
/// When it is no answer at all.
pub fn came(answer: Result<(Thought, [Sealed; 2]), RpcError>) -> Came {
    match answer {
        Ok((thought, [reply, sent])) => {
            let reply = serde_json::from_slice(&reply.read().expect("sealed")).expect("a reply");
            Ok((thought, reply, sent.read().expect("sealed")))
        }
        Err(RpcError::Refused(refusal)) => Err(refusal),
        Err(other) => panic!("mind does not answer: {other}"),
    }
}

/// One substrate of each kind, at the same server.
#[must_use]
pub fn kinds(port: u16) -> [(&'static str, String); 4] {
    let at = |kind: &str, path: &str| format!("{kind} {kind} http://127.0.0.1:{port}{path}");
    [
        ("anthropic", at("anthropic", "")),
        ("openai", at("openai", "/v1")),
        ("xai", at("xai", "/v1")),
        ("ollama", at("ollama", "")),
    ]
}
