//! A server of the Bot API for the tests: updates that are said until they are confirmed, long polls of which one may
//! wait, texts read with their marks, the errors of the real one in its words, and whatever goes wrong on the way. It is
//! checked with a client library that others have written (`tests/peers/telegram`). [`markup`] reads texts, [`http`]
//! requests. It must never wait for time to pass where it can wait for something to happen.

pub mod http;
pub mod markup;
mod methods;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::instance::Instance;

/// The token of the bot that is served.
pub const TOKEN: &str = "424242:TEST-token_that-nobody-may-see-anywhere";
/// How long a test waits for something to happen before it gives up.
pub const WITHIN: Duration = Duration::from_secs(60);

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429, with so many seconds.
    RetryAfter(u64),
    /// 401: the token is none.
    Unauthorized,
    /// 500.
    ServerError,
    /// The connection ends before anything is done.
    LostBefore,
    /// It is done, and the connection ends before that is said.
    LostAfter,
    /// Nothing comes until [`Emulator::release`]; nothing was done.
    Hang,
    /// Of a file, half comes, and then the connection ends. The method of a file is `file`.
    Half,
    /// Of a file, half comes, and the rest after [`Emulator::release`].
    HalfThenRest,
}

/// A message in a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its number.
    pub id: i64,
    /// Where it stands.
    pub chat: i64,
    /// Its text, without marks.
    pub text: String,
    /// The marks.
    pub entities: Vec<Value>,
    /// The buttons below it.
    pub markup: Value,
    /// How often it was edited.
    pub edits: u32,
    /// The name and the bytes of a file.
    pub file: Option<(String, Vec<u8>)>,
}

impl Message {
    /// What the button with this letter at the end of its data carries.
    #[must_use]
    pub fn button(&self, letter: &str) -> Option<String> {
        let rows = self.markup["inline_keyboard"].as_array()?;
        let all = rows.iter().filter_map(Value::as_array).flatten();
        all.filter_map(|button| button["callback_data"].as_str()).find(|data| data.ends_with(letter)).map(str::to_owned)
    }
}

/// What the server knows.
#[derive(Debug, Default)]
pub struct State {
    /// Updates that were not confirmed, in the order in which they are said.
    pub pending: Vec<(u64, Value)>,
    /// All messages of the bot, in the order in which they were sent.
    pub messages: Vec<Message>,
    /// Every request that was answered: the method and its body.
    pub calls: Vec<(String, Value)>,
    /// Acknowledged presses: the query and the text.
    pub acknowledged: Vec<(String, String)>,
    /// The highest offset that was named.
    pub offset: u64,
    /// The commands, by language.
    pub commands: BTreeMap<String, Value>,
    /// The groups, each with its members beside the bot.
    pub groups: BTreeMap<i64, BTreeSet<i64>>,
    queries: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
    faults: BTreeMap<String, VecDeque<Fault>>,
    /// How many requests hang.
    pub hanging: usize,
    released: usize,
    webhook: String,
    next_update: u64,
    next_message: i64,
    /// Each poll that waits is another one; an older one is notified.
    poll: u64,
    polling: usize,
    is_down: bool,
    ended: bool,
    /// A server that knows only what a bot cannot do without, says only what it must, adds what nobody knows, and answers
    /// a poll at once.
    pub is_terse: bool,
}

/// See the module.
#[derive(Debug)]
pub struct Emulator {
    shared: Arc<(Mutex<State>, Condvar)>,
    /// Where it listens, on 127.0.0.1.
    pub port: u16,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

impl State {
    /// The next update has this number.
    pub fn count_from(&mut self, number: u64) {
        self.next_update = number;
    }
}

impl Emulator {
    /// A server with no updates.
    ///
    /// # Panics
    /// When there is no port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let shared: Shared = Arc::default();
        shared.0.lock().expect("nobody panics with it").next_update = 1_000;
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                if serving.0.lock().expect("nobody panics with it").ended {
                    return;
                }
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || connection(&stream, &shared));
            }
        });
        Self { shared, port }
    }

    /// The address, as it stands in a configuration.
    #[must_use]
    pub fn config(&self) -> String {
        format!("[telegram]\napi = \"http://127.0.0.1:{}\"\n", self.port)
    }

    /// Has the door of this set serve the bot.
    ///
    /// # Panics
    /// When it does not take the token.
    pub fn serves(&self, set: &Instance) {
        let mut given = set.command("metnosctl");
        let given = given.args(["telegram", "token"]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let mut given = given.expect("metnosctl can be executed");
        given.stdin.take().expect("piped").write_all(TOKEN.as_bytes()).expect("it reads");
        assert!(given.wait().expect("our child").success(), "the door takes the token");
    }

    /// A person shows an invitation to this set.
    ///
    /// # Panics
    /// When none is given.
    pub fn knows(&self, set: &Instance, who: i64, standing: &str) {
        let (_, invited) = set.json(&["pairing", "invite", "telegram", "--as", standing]);
        self.say(who, invited["code"].as_str().expect("a code"));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().expect("nobody panics with it")
    }

    /// Looks at what the server knows, or changes it.
    pub fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let value = change(&mut self.state());
        self.shared.1.notify_all();
        value
    }

    /// Waits until the server knows that.
    ///
    /// # Panics
    /// When it does not within [`WITHIN`].
    pub fn until<T>(&self, what: &str, mut done: impl FnMut(&mut State) -> Option<T>) -> T {
        let end = Instant::now() + WITHIN;
        let mut state = self.state();
        loop {
            if let Some(value) = done(&mut state) {
                return value;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let calls: Vec<&String> = state.calls.iter().map(|(method, _)| method).collect();
                let texts: Vec<(i64, &String)> = state.messages.iter().map(|one| (one.chat, &one.text)).collect();
                panic!("{what}: not within {WITHIN:?}; {} updates wait, {calls:?}, {texts:#?}", state.pending.len());
            }
            state = self.shared.1.wait_timeout(state, left).expect("nobody panics with it").0;
        }
    }

    /// A person writes in private. Gives the update's number.
    pub fn say(&self, who: i64, text: &str) -> u64 {
        self.push(|id| message_update(id, who, who, "private", text))
    }

    /// Somebody writes in a group. Gives the update's number.
    pub fn say_in(&self, group: i64, who: i64, text: &str) -> u64 {
        self.push(|id| message_update(id, who, group, "group", text))
    }

    /// Sets the members of a group, without the bot; `came` sends the update that says that this one has joined.
    pub fn group(&self, group: i64, members: &[i64], came: Option<i64>) {
        self.with(|state| state.groups.insert(group, members.iter().copied().collect()));
        if let Some(came) = came {
            self.push(|id| {
                let mut update = message_update(id, came, group, "group", "");
                update["message"]["text"].take();
                update["message"]["new_chat_members"] = json!([user(came)]);
                update
            });
        }
    }

    /// A person sends a file in private, with words below it; what it says of its size is the caller's.
    pub fn send_file(&self, who: i64, name: &str, bytes: &[u8], caption: &str, told: Option<usize>) -> u64 {
        let id = self.with(|state| {
            let id = format!("sent-{}", state.files.len());
            state.files.insert(format!("documents/{id}"), bytes.to_vec());
            id
        });
        self.push(|number| {
            let mut update = message_update(number, who, who, "private", "");
            let message = &mut update["message"];
            message["text"].take();
            message["caption"] = json!(caption);
            message["document"] =
                json!({"file_id": format!("file-{id}"), "file_unique_id": id, "file_name": name, "mime_type": "x/y"});
            if let Some(told) = told {
                message["document"]["file_size"] = json!(told);
            }
            update
        })
    }

    /// A person presses a button: who, in which chat, below which message. Gives the query's name.
    pub fn press(&self, who: i64, chat: i64, message: i64, data: &str) -> String {
        let query = self.with(|state| {
            let query = format!("query-{}", state.queries.len());
            state.queries.push(query.clone());
            query
        });
        let kind = if chat > 0 { "private" } else { "group" };
        self.push(|_| {
            json!({"callback_query": {
                "id": query, "from": user(who), "chat_instance": "1", "data": data,
                "message": {"message_id": message, "date": 1, "chat": chat_of(chat, kind), "text": "card"},
            }})
        });
        query
    }

    /// Anything happens: an update without its number.
    pub fn push(&self, update: impl FnOnce(u64) -> Value) -> u64 {
        self.with(|state| {
            let id = state.next_update;
            state.next_update += 1;
            let mut update = update(id);
            update["update_id"] = json!(id);
            state.pending.push((id, update));
            id
        })
    }

    /// The next request of this method goes wrong so; several are queued.
    pub fn fail(&self, method: &str, fault: Fault) {
        self.with(|state| state.faults.entry(method.to_owned()).or_default().push_back(fault));
    }

    /// Ends what hangs: the connections of all requests that hang are closed.
    pub fn release(&self) {
        self.with(|state| state.released += 1);
    }

    /// While it is down, every connection ends at once.
    pub fn is_down(&self, down: bool) {
        self.with(|state| state.is_down = down);
    }

    /// The messages of a chat.
    #[must_use]
    pub fn chat(&self, chat: i64) -> Vec<Message> {
        self.state().messages.iter().filter(|message| message.chat == chat).cloned().collect()
    }

    /// Waits for a message in this chat that has this in it, as it stands now.
    pub fn told(&self, chat: i64, part: &str) -> Message {
        self.until(&format!("{part:?} in chat {chat}"), |state| {
            state.messages.iter().find(|message| message.chat == chat && message.text.contains(part)).cloned()
        })
    }

    /// Waits until every update was confirmed and a poll waits again: nothing is under way.
    pub fn settled(&self) {
        self.until("all updates confirmed, and a poll that waits", |state| {
            (state.pending.is_empty() && state.polling > 0).then_some(())
        });
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let Ok(mut state) = self.shared.0.lock() {
            state.ended = true;
            state.is_down = true;
        }
        self.shared.1.notify_all();
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

fn user(id: i64) -> Value {
    json!({"id": id, "is_bot": false, "first_name": format!("Person {id}"), "language_code": "en"})
}

fn chat_of(id: i64, kind: &str) -> Value {
    if kind == "private" {
        json!({"id": id, "type": kind, "first_name": "Person"})
    } else {
        json!({"id": id, "type": kind, "title": "Group"})
    }
}

/// A written message; `extra` fields are added by the caller.
#[must_use]
pub fn message_update(id: u64, who: i64, chat: i64, kind: &str, text: &str) -> Value {
    json!({"update_id": id, "message": {
        "message_id": 100_000 + id, "date": 1_700_000_000, "from": user(who), "chat": chat_of(chat, kind), "text": text,
    }})
}

fn connection(stream: &TcpStream, shared: &Shared) {
    let _ = stream.set_nodelay(true);
    let (Ok(reading), Ok(mut writing)) = (stream.try_clone(), stream.try_clone()) else { return };
    let mut reading = BufReader::new(reading);
    while let Some(request) = http::read(&mut reading) {
        let Some((status, body)) = answer(&request, shared) else { break };
        let (kind, bytes) = match body {
            Body::Json(value) => ("application/json", value.to_string().into_bytes()),
            Body::Bytes(bytes) => ("application/octet-stream", bytes),
            Body::Half(bytes, goes_on) => {
                if !half(&mut writing, &bytes, goes_on, shared) {
                    break;
                }
                continue;
            }
        };
        if !http::answer(&mut writing, status, kind, &bytes) {
            break;
        }
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

pub(crate) enum Body {
    Json(Value),
    Bytes(Vec<u8>),
    /// Whether the rest comes, too.
    Half(Vec<u8>, bool),
}

/// Says half of a file, and the rest when it is released; whether the other side was still there.
fn half(stream: &mut TcpStream, bytes: &[u8], goes_on: bool, shared: &Shared) -> bool {
    let (first, rest) = bytes.split_at(bytes.len() / 2);
    let began = http::begin(stream, 200, "application/octet-stream", bytes.len()) && stream.write_all(first).is_ok();
    if !began || !goes_on {
        return false;
    }
    until_released(shared);
    stream.write_all(rest).is_ok()
}

fn until_released(shared: &Shared) {
    let mut guard = shared.0.lock().expect("nobody panics with it");
    let before = guard.released;
    guard.hanging += 1;
    shared.1.notify_all();
    while guard.released == before && !guard.ended {
        guard = shared.1.wait(guard).expect("nobody panics with it");
    }
    guard.hanging -= 1;
}

fn no(code: u16, why: &str) -> (u16, Value) {
    (code, json!({"ok": false, "error_code": code, "description": why}))
}

/// What is said to a request; `None` ends the connection.
fn answer(request: &http::Request, shared: &Shared) -> Option<(u16, Body)> {
    let state = || shared.0.lock().expect("nobody panics with it");
    if state().is_down {
        return None;
    }
    if let Some(file) = request.path.strip_prefix(&format!("/file/bot{TOKEN}/")) {
        let fault = state().faults.get_mut("file").and_then(VecDeque::pop_front);
        let bytes = state().files.get(file).cloned();
        let body = |bytes| match fault {
            Some(Fault::Half) => Body::Half(bytes, false),
            Some(Fault::HalfThenRest) => Body::Half(bytes, true),
            _ => Body::Bytes(bytes),
        };
        return Some(bytes.map_or((404, Body::Bytes(Vec::new())), |bytes| (200, body(bytes))));
    }
    let json = |(status, value): (u16, Value)| Some((status, Body::Json(value)));
    let Some(method) = request.path.strip_prefix(&format!("/bot{TOKEN}/")) else {
        return json(no(401, "Unauthorized"));
    };
    let fault = state().faults.get_mut(method).and_then(VecDeque::pop_front);
    match fault {
        None | Some(Fault::LostAfter) => {}
        Some(Fault::RetryAfter(seconds)) => {
            let mut body = no(429, &format!("Too Many Requests: retry after {seconds}"));
            body.1["parameters"] = json!({"retry_after": seconds});
            state().calls.push((format!("{method}!429"), Value::Null));
            return json(body);
        }
        Some(Fault::Unauthorized) => return json(no(401, "Unauthorized")),
        Some(Fault::ServerError) => return json(no(500, "Internal Server Error")),
        Some(Fault::LostBefore | Fault::Half | Fault::HalfThenRest) => return None,
        Some(Fault::Hang) => {
            until_released(shared);
            return None;
        }
    }
    let terse = state().is_terse;
    let answered = if terse && matches!(method, "getMe" | "deleteWebhook" | "setMyCommands") {
        (404, json!({"ok": false, "description": "Not Found"}))
    } else if method == "getUpdates" {
        updates(&request.body, shared)?
    } else {
        methods::called(&mut state(), method, request)
    };
    state().calls.push((method.to_owned(), Value::Object(request.body.clone())));
    shared.1.notify_all();
    if fault == Some(Fault::LostAfter) { None } else { json(answered) }
}

fn number(body: &Map<String, Value>, key: &str) -> Option<i64> {
    body.get(key).and_then(|value| value.as_i64().or_else(|| value.as_str()?.parse().ok()))
}

/// A long poll: an offset confirms, an older poll that waits learns of the newer one.
fn updates(body: &Map<String, Value>, shared: &Shared) -> Option<(u16, Value)> {
    const CONFLICT: &str =
        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running";
    let mut state = shared.0.lock().expect("nobody panics with it");
    if !state.webhook.is_empty() {
        return Some(no(
            409,
            "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
        ));
    }
    let offset = number(body, "offset").unwrap_or(0);
    if let Ok(floor) = u64::try_from(offset) {
        state.offset = state.offset.max(floor);
        state.pending.retain(|(id, _)| *id >= floor);
    } else {
        let keep = usize::try_from(-offset).unwrap_or(0);
        let drop = state.pending.len().saturating_sub(keep);
        state.pending.drain(..drop);
    }
    state.poll += 1;
    let mine = state.poll;
    shared.1.notify_all();
    let limit = usize::try_from(number(body, "limit").unwrap_or(100)).unwrap_or(100).clamp(1, 100);
    let end = Instant::now() + Duration::from_secs(u64::try_from(number(body, "timeout").unwrap_or(0)).unwrap_or(0));
    loop {
        if state.poll != mine {
            return Some(no(409, CONFLICT));
        }
        if state.is_down || state.ended {
            return None;
        }
        let left = end.saturating_duration_since(Instant::now());
        if !state.pending.is_empty() || left.is_zero() || state.is_terse {
            let found: Vec<&Value> = state.pending.iter().take(limit).map(|(_, update)| update).collect();
            return Some((200, json!({"ok": true, "result": found})));
        }
        state.polling += 1;
        shared.1.notify_all();
        state = shared.1.wait_timeout(state, left).expect("nobody panics with it").0;
        state.polling -= 1;
    }
}
