//! The test's end of a planner that does exactly what the test orders (`src/bin/relay`): turns come in as they are opened,
//! orders go out, and any number of them may be under way. It must never decide anything itself.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::instance::Instance;

/// How long an order, or a turn that was asked for, may take.
pub const WITHIN: Duration = Duration::from_secs(150);

/// Where the relay of this instance looks for the test.
#[must_use]
pub fn stage_of(instance: &Path) -> PathBuf {
    instance.with_file_name("stage.sock")
}

#[derive(Default)]
struct Shared {
    /// The connection to the relay that lives now.
    line: Mutex<Option<UnixStream>>,
    waiting: Mutex<HashMap<u64, Sender<Value>>>,
    opened: Mutex<VecDeque<Value>>,
    news: Condvar,
}

/// Orders to the planner of a set.
pub struct Relay {
    shared: Arc<Shared>,
    next: Mutex<u64>,
}

/// A turn that was opened.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its name.
    pub turn: String,
    /// What came with it from outside; empty for what a person said.
    pub data: String,
}

impl Relay {
    /// Waits for the relay of this set, which is to be started afterwards.
    ///
    /// # Panics
    /// When the socket cannot be made.
    #[must_use]
    pub fn of(set: &Instance) -> Self {
        let path = stage_of(set.home());
        let listener = UnixListener::bind(&path).expect("a socket beside the instance");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).expect("our own socket");
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let reader = BufReader::new(stream.try_clone().expect("a descriptor"));
                *serving.line.lock().expect("no thread of it has failed") = Some(stream);
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || shared.hear(reader));
            }
        });
        Self { shared, next: Mutex::new(0) }
    }

    /// The turn of these words on this channel; it is waited for.
    ///
    /// # Panics
    /// When none is opened in time.
    #[must_use]
    pub fn turn(&self, channel: &str, words: &str) -> Option<Opened> {
        let end = Instant::now() + Duration::from_secs(20);
        let mut opened = self.shared.opened.lock().expect("no thread of it has failed");
        loop {
            let is_it = |turn: &Value| turn["channel"] == channel && turn["words"] == words;
            if let Some(at) = opened.iter().position(is_it) {
                let turn = opened.remove(at)?;
                let text = |name: &str| turn[name].as_str().unwrap_or_default().to_owned();
                return Some(Opened { turn: text("turn"), data: text("data") });
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            opened = self.shared.news.wait_timeout(opened, left).expect("no thread of it has failed").0;
        }
    }

    /// Gives an order, and does not wait for what comes of it.
    ///
    /// # Panics
    /// When a thread of it has failed.
    #[must_use]
    pub fn order(&self, turn: &str, name: &str, mut order: Value) -> Receiver<Value> {
        let id = {
            let mut next = self.next.lock().expect("no thread of it has failed");
            *next += 1;
            *next
        };
        order["id"] = json!(id);
        order["turn"] = json!(turn);
        order["order"] = json!(name);
        let (send, answer) = channel();
        self.shared.waiting.lock().expect("no thread of it has failed").insert(id, send);
        if let Some(line) = self.shared.line.lock().expect("no thread of it has failed").as_mut() {
            // What does not arrive is not answered, and that is seen.
            let _gone = line.write_all(format!("{order}\n").as_bytes());
        }
        answer
    }

    /// Gives an order; `broken` when nothing comes of it.
    #[must_use]
    pub fn ask(&self, turn: &str, name: &str, order: Value) -> Value {
        let answer = self.order(turn, name, order);
        answer.recv_timeout(WITHIN).unwrap_or_else(|_| json!({ "broken": "no answer" }))
    }
}

impl Shared {
    fn hear(&self, reader: BufReader<UnixStream>) {
        for line in reader.lines().map_while(Result::ok) {
            let said: Value = serde_json::from_str(&line).unwrap_or_default();
            if let Some(id) = said["id"].as_u64() {
                let waiting = self.waiting.lock().expect("no thread of it has failed").remove(&id);
                if let Some(waiting) = waiting {
                    // Who asked may have stopped waiting.
                    let _late = waiting.send(said);
                }
            } else {
                self.opened.lock().expect("no thread of it has failed").push_back(said);
                self.news.notify_all();
            }
        }
        // The relay is gone: nothing that waits will be answered.
        self.waiting.lock().expect("no thread of it has failed").clear();
    }
}
