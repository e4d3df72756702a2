//! A client of the door's HTTP channel that can misbehave: every byte of a request is the test's own. It must never be
//! cleverer than the browser or program that it plays.

mod described;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::instance::Instance;

/// How long an answer may take.
pub const WITHIN: Duration = Duration::from_secs(30);

/// Executors that every set is born with.
const SEEDS: usize = 18;

/// A door that listens.
#[derive(Debug, Clone)]
pub struct Web {
    /// `127.0.0.1:PORT`.
    pub address: String,
    token: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its head, as it came.
    pub head: String,
    /// Its body.
    pub body: String,
}

impl Reply {
    /// A line of the head.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body as a document.
    ///
    /// # Panics
    /// When it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The rule that said no.
    #[must_use]
    pub fn rule(&self) -> String {
        serde_json::from_str::<Value>(&self.body).map_or_else(
            |_| String::new(),
            |body| body["rule"].as_str().or(body["error"]["code"].as_str()).unwrap_or_default().to_owned(),
        )
    }
}

/// Signs as Standard Webhooks has it, by another's HMAC.
///
/// # Panics
/// When Python is not there.
#[must_use]
pub fn sign(secret: &str, id: &str, at: u64, body: &str) -> String {
    const SIGN: &str = "import os, hmac, hashlib, base64\ne = os.environb\nk = base64.b64decode(e[b'SECRET'].split(b'_')[1])\n\
        print('v1,' + base64.b64encode(hmac.new(k, e[b'SIGNED'], hashlib.sha256).digest()).decode())";
    let signed = std::process::Command::new("python3")
        .args(["-I", "-S", "-c", SIGN])
        .env("SECRET", secret)
        .env("SIGNED", format!("{id}.{at}.{body}"))
        .output()
        .expect("Python is installed");
    assert!(signed.status.success(), "{signed:?}");
    String::from_utf8(signed.stdout).expect("it prints text").trim().to_owned()
}

impl Web {
    /// A request to a webhook.
    #[must_use]
    pub fn hook(&self, name: &str, id: &str, at: u64, signature: &str, body: &str) -> String {
        format!(
            "POST /hooks/{name} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nwebhook-id: {id}\r\n\
             webhook-timestamp: {at}\r\nwebhook-signature: {signature}\r\n\r\n{body}",
            self.address,
            body.len()
        )
    }

    /// The door of this set, as a stranger sees it.
    ///
    /// # Panics
    /// When it does not listen.
    #[must_use]
    pub fn of(set: &Instance) -> Self {
        let (_, status) = set.json(&["status"]);
        let address = status["door"]["http"].as_str().unwrap_or_default().to_owned();
        assert!(address.starts_with("127.0.0.1:"), "{status:#}");
        // Where many sets are made at once, the last seeds are born after the set is ready.
        crate::until("the seeds are there", WITHIN, || {
            let (_, list) = set.json(&["executor", "list"]);
            let rows = list["executors"].as_array().or(list.as_array()).map_or(0, Vec::len);
            (rows >= SEEDS).then_some(())
        });
        Self { address, token: None }
    }

    /// The same, as a person whom the owner has invited.
    ///
    /// # Panics
    /// When the invitation does not hold.
    #[must_use]
    pub fn paired(&self, set: &Instance, standing: &str) -> Self {
        self.invited(set, ["--as", standing], standing)
    }

    /// A client that is this person, who is known by name and has this standing.
    ///
    /// # Panics
    /// As [`Self::paired`].
    #[must_use]
    pub fn paired_person(&self, set: &Instance, name: &str, standing: &str) -> Self {
        self.invited(set, ["--person", name], standing)
    }

    fn invited(&self, set: &Instance, [how, whom]: [&str; 2], standing: &str) -> Self {
        let (code, invited) = set.json(&["pairing", "invite", "http", how, whom]);
        assert_eq!(code, 0, "{invited:#}");
        let reply = self.post("/v1/pair", &json!({"code": invited["code"]}));
        assert_eq!(reply.status, 201, "{reply:?}");
        assert_eq!(reply.json()["standing"], standing);
        let token = reply.json()["token"].as_str().expect("a token").to_owned();
        Self { address: self.address.clone(), token: Some(token) }
    }

    /// The same door after it was restarted, perhaps at another place.
    #[must_use]
    pub fn again(&self, set: &Instance) -> Self {
        Self { address: Self::of(set).address, token: self.token.clone() }
    }

    /// The token that it shows.
    ///
    /// # Panics
    /// When it has none.
    #[must_use]
    pub fn token(&self) -> &str {
        self.token.as_deref().expect("a client that was paired")
    }

    /// The head of a request as a program sends it.
    #[must_use]
    pub fn head(&self, method: &str, path: &str, more: &str) -> String {
        let token = self.token.as_ref().map_or_else(String::new, |token| format!("Authorization: Bearer {token}\r\n"));
        format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n{token}{more}", self.address)
    }

    /// Opens a connection and sends these bytes.
    ///
    /// # Panics
    /// When nobody takes the connection.
    #[must_use]
    pub fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the door listens");
        stream.set_read_timeout(Some(WITHIN)).expect("a socket");
        // Anyone who is cut off while he sends may still learn why.
        let _ = stream.write_all(bytes);
        stream
    }

    /// Sends these bytes, and reads the answer to its end.
    #[must_use]
    pub fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.send(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        reply(&String::from_utf8_lossy(&all))
    }

    /// A request without a body, with these further lines of its head.
    #[must_use]
    pub fn ask(&self, method: &str, path: &str, more: &str) -> Reply {
        let reply = self.raw(format!("{}\r\n", self.head(method, path, more)).as_bytes());
        described::check(self, method, path, &reply);
        reply
    }

    /// Looks at something.
    #[must_use]
    pub fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "")
    }

    /// Sends a document, with these further lines of the head.
    #[must_use]
    pub fn post_with(&self, path: &str, body: &Value, more: &str) -> Reply {
        let reply = self.raw(self.request(path, body, more).as_bytes());
        described::check(self, "POST", path, &reply);
        reply
    }

    /// Sends a document.
    #[must_use]
    pub fn post(&self, path: &str, body: &Value) -> Reply {
        self.post_with(path, body, "")
    }

    fn request(&self, path: &str, body: &Value, more: &str) -> String {
        let body = body.to_string();
        let more = format!("Content-Type: application/json\r\nContent-Length: {}\r\n{more}", body.len());
        format!("{}\r\n{body}", self.head("POST", path, &more))
    }

    /// Says something and listens to the turn.
    #[must_use]
    pub fn say(&self, words: &str) -> Listening {
        Listening::new(self.send(self.request("/v1/turns", &json!({"text": words}), "").as_bytes()))
    }

    /// Comes back to a turn after this event.
    #[must_use]
    pub fn listen(&self, turn: &str, after: Option<&str>) -> Listening {
        let after = after.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let more = format!("Accept: text/event-stream\r\n{after}");
        let head = self.head("GET", &format!("/v1/turns/{turn}"), &more);
        Listening::new(self.send(format!("{head}\r\n").as_bytes()))
    }
}

fn reply(text: &str) -> Reply {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if chunked { unchunked(body) } else { body.to_owned() };
    Reply { status, head: head.to_owned(), body }
}

fn unchunked(mut text: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        let Some(piece) = rest.get(..size).filter(|piece| !piece.is_empty()) else { break };
        out.push_str(piece);
        text = rest.get(size + 2..).unwrap_or_default();
    }
    out
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `text`, `call`, `card`, `progress`, `done`.
    pub name: String,
    /// Its name, to come back with.
    pub id: String,
    /// Its document.
    pub data: Value,
}

/// A stream of events.
#[derive(Debug)]
pub struct Listening {
    /// The head of the answer.
    pub head: String,
    stream: BufReader<TcpStream>,
}

impl Listening {
    fn new(stream: TcpStream) -> Self {
        let mut listening = Self { head: String::new(), stream: BufReader::new(stream) };
        loop {
            let line = listening.line();
            if line.trim().is_empty() {
                return listening;
            }
            listening.head.push_str(&line);
        }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let _ = self.stream.read_line(&mut line);
        line
    }

    /// Everything that follows the head, to the end of the connection: for an answer that is no stream of events.
    #[must_use]
    pub fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        String::from_utf8_lossy(&rest).into_owned()
    }

    /// The status of the answer.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    /// The turn that was opened.
    ///
    /// # Panics
    /// When none was.
    #[must_use]
    pub fn turn(&self) -> String {
        let place = self.head.lines().find(|line| line.to_ascii_lowercase().starts_with("location:"));
        place.and_then(|line| line.rsplit('/').next()).unwrap_or_else(|| panic!("{}", self.head)).trim().to_owned()
    }

    /// The next event; `None` at the end of the stream.
    pub fn next_event(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), String::new(), None);
        loop {
            // The sizes of chunks stand in lines of their own and begin with none of these words.
            let line = self.line();
            if line.is_empty() {
                return None;
            }
            let line = line.trim_end();
            match line.split_once(": ") {
                Some(("event", value)) => value.clone_into(&mut name),
                Some(("id", value)) => value.clone_into(&mut id),
                Some(("data", value)) => data = serde_json::from_str(value).ok(),
                _ if line.is_empty() && data.is_some() => return data.map(|data| Event { name, id, data }),
                _ => {}
            }
        }
    }

    /// The events up to and with the one of this name.
    ///
    /// # Panics
    /// When the stream ends before it.
    pub fn until(&mut self, name: &str) -> Vec<Event> {
        let mut events = Vec::new();
        loop {
            let event = self.next_event().unwrap_or_else(|| panic!("no {name} after {events:#?}\n{}", self.head));
            let is_it = event.name == name;
            events.push(event);
            if is_it {
                return events;
            }
        }
    }
}

/// What the text events say together.
#[must_use]
pub fn said(events: &[Event]) -> String {
    events.iter().filter(|event| event.name == "text").filter_map(|event| event.data["text"].as_str()).collect()
}
