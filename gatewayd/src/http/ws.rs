//! The same turns over a WebSocket (RFC 6455): a client says what it would otherwise ask by requests, and receives the events
//! of a stream. It opens with the same guard as every request; a cookie opens it for a page of this door only. Frames are
//! a library's work; here stand their bounds, and who is released.

use std::cell::Cell;
use std::rc::Rc;

use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    UPGRADE,
};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Response, Version};
use hyper_util::rt::TokioIo;
use metnos_proto::ids::TurnId;
use metnos_proto::json::{Limits, parse_object};
use metnos_proto::msg::schedule::FiringEnd;
use serde_json::Value;
use tokio::io::AsyncReadExt;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error as Fault};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::{Caller, Http};
use crate::http::documents::messages::{reply, told};
use crate::http::documents::problem::Problem;
use crate::http::documents::{Do, Listened, ReminderEvent, State, Turn};
use crate::http::limits::bounds::{
    ALIVE_EVERY, CLOSE_WITHIN, DUE_AGAIN, FRAMES_PER_MINUTE, MAX_ASKS, MAX_BODY, MAX_DEPTH, MAX_DISCARDED, MAX_PIECES,
    MAX_REF,
};
use crate::http::limits::rate::Bucket;
use crate::http::request::body;
use crate::http::request::route;
use crate::http::turns;
use crate::http::turns::record::{ReadPosition, Record, value};
use crate::http::turns::stream::{CountGuard, Out, Subscription, Words, tell};

/// The one version there is.
const WEBSOCKET: &str = "13";
/// Digits of a key: 16 bytes in base64.
const KEY_DIGITS: usize = 24;
/// What is read at once, in bytes: requests are small.
const READ_AT_ONCE: usize = 4 * 1024;
/// What may wait to be written: the largest event and a few control frames.
const MAX_WRITING: usize = 4 * MAX_BODY;

/// How much of a message is taken, and that clients mask.
#[must_use]
pub fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_AT_ONCE)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_WRITING)
        .max_message_size(Some(MAX_BODY))
        .max_frame_size(Some(MAX_BODY))
        .accept_unmasked_frames(false)
}

/// What a client says: one object.
///
/// # Errors
/// When it is none, or a part of it does not fit.
pub fn read(text: &[u8]) -> Result<Do, Problem> {
    let limits = Limits { max_bytes: MAX_BODY, max_depth: MAX_DEPTH };
    let object = parse_object(text, limits)
        .map_err(|error| Problem::field("the message", &error.to_string(), "a JSON object"))?;
    let said: Do = body::read(&object)?;
    if said.reference().len() > MAX_REF {
        return Err(Problem::field("ref", "longer", "a text of at most 64 bytes"));
    }
    Ok(said)
}

/// Whether this asks for a WebSocket; gives what proves to the client that it was understood.
///
/// # Errors
/// What it lacks.
pub(super) fn asks(version: Version, headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    let has = |name: HeaderName, wanted: &str| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case(wanted))
    };
    let is_one = version == Version::HTTP_11 && has(CONNECTION, "upgrade") && has(UPGRADE, "websocket");
    let mut versions = headers.get_all(SEC_WEBSOCKET_VERSION).iter();
    let is_ours = matches!((versions.next(), versions.next()), (Some(one), None) if one == WEBSOCKET);
    if !is_one || !is_ours {
        let why = "only a WebSocket of version 13 is opened here";
        return Err(Problem::new(StatusCode::UPGRADE_REQUIRED, "ws.upgrade", why)
            .remedy("connect with a WebSocket client, or take POST /v1/turns"));
    }
    let mut keys = headers.get_all(SEC_WEBSOCKET_KEY).iter();
    let key = match (keys.next(), keys.next()) {
        (Some(key), None) => key.to_str().ok().filter(|key| is_key(key)),
        (None, _) | (Some(_), Some(_)) => None,
    };
    let key = key.ok_or_else(|| Problem::field("Sec-WebSocket-Key", "something else", "16 bytes in base64, once"))?;
    HeaderValue::try_from(derive_accept_key(key.as_bytes()))
        .map_err(|_| Problem::field("Sec-WebSocket-Key", "something else", "16 bytes in base64, once"))
}

fn is_key(key: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    key.len() == KEY_DIGITS && key.strip_suffix("==").is_some_and(|digits| digits.bytes().all(is_digit))
}

/// Opens a socket for a person who is known.
pub(super) fn open(http: &Rc<Http>, caller: &Rc<Caller>, accept: HeaderValue, upgrade: OnUpgrade) -> Response<Out> {
    let gone = caller.gone.borrow().subscribe();
    let socket = Socket {
        http: Rc::clone(http),
        caller: Rc::clone(caller),
        asks: Rc::default(),
        frames: Bucket::new(FRAMES_PER_MINUTE),
        _stream: CountGuard::new(&caller.streams),
        _connection: CountGuard::new(&http.connections),
    };
    tokio::task::spawn_local(async move {
        match upgrade.await {
            Ok(upgraded) => socket.serve(upgraded, gone).await,
            Err(error) => tracing::debug!(%error, "a socket was not opened"),
        }
    });
    let mut response = Response::new(Out::Whole(None));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    response
}

/// One open socket.
struct Socket {
    http: Rc<Http>,
    caller: Rc<Caller>,
    /// What the client has said and was not answered yet.
    asks: Rc<Cell<usize>>,
    /// Frames of every kind.
    frames: Bucket,
    _stream: CountGuard,
    _connection: CountGuard,
}

type Stream = WebSocketStream<TokioIo<Upgraded>>;

/// Why a socket is closed by the door.
struct CloseReason(CloseCode, &'static str);

impl Socket {
    async fn serve(self, upgraded: Upgraded, gone: watch::Receiver<bool>) {
        let mut stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config())).await;
        let Some(CloseReason(code, why)) = self.follow(&mut stream, gone).await else { return };
        let frame = CloseFrame { code, reason: Utf8Bytes::from_static(why) };
        let parting = async {
            if stream.close(Some(frame)).await.is_ok() {
                discard(stream.get_mut()).await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_WITHIN, parting).await;
    }

    /// Until it ends; why, when the client is still there to receive it.
    async fn follow(&self, stream: &mut Stream, mut gone: watch::Receiver<bool>) -> Option<CloseReason> {
        let (pieces, mut out) = mpsc::channel::<Bytes>(MAX_PIECES);
        self.caller.sockets.add(&pieces);
        let (mut ping_at, mut is_asked) = (Instant::now() + ALIVE_EVERY, false);
        let mut reminded = std::pin::pin!(self.remind());
        loop {
            tokio::select! {
                biased;
                _ = gone.wait_for(|gone| *gone) => return Some(CloseReason(CloseCode::Policy, "door.stranger")),
                Some(piece) = out.recv() => {
                    // What was sent is a document of ours, so it is a text.
                    let text = Utf8Bytes::try_from(piece).unwrap_or_default();
                    if stream.send(Message::Text(text)).await.is_err() {
                        return None;
                    }
                }
                heard = stream.next() => {
                    if self.frames.take().is_err() {
                        return Some(CloseReason(CloseCode::Policy, "http.rate"));
                    }
                    (ping_at, is_asked) = (Instant::now() + ALIVE_EVERY, false);
                    match heard? {
                        Ok(Message::Text(text)) => self.hear(text.as_bytes(), &pieces),
                        Ok(Message::Binary(_)) => return Some(CloseReason(CloseCode::Unsupported, "ws.text")),
                        // The library answers a ping, and a parting with one.
                        Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => {}
                        Err(fault) => return parting(&fault),
                    }
                }
                () = &mut reminded => {}
                () = tokio::time::sleep_until(ping_at) => {
                    if is_asked {
                        return Some(CloseReason(CloseCode::Policy, "http.slow"));
                    }
                    (ping_at, is_asked) = (Instant::now() + ALIVE_EVERY, true);
                    if stream.send(Message::Ping(Bytes::new())).await.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    /// Has what is due for the client shown on its sockets, for as long as this one is open. One of them waits at a time, and
    /// another goes on when that one is closed.
    async fn remind(&self) {
        let _awaits = self.caller.awaits_due.lock().await;
        loop {
            match self.http.door.reminder_for(&self.caller.voice.speaker).await {
                Ok(Some((firing, text))) => {
                    let shown = self.caller.sockets.deliver(&told("reminder", value(&ReminderEvent { text })));
                    let end = if shown { FiringEnd::Delivered } else { FiringEnd::Unsure };
                    self.http.door.firing_ended(&firing, end).await;
                }
                Ok(None) => {}
                Err(refusal) => {
                    tracing::debug!(%refusal, "what is due is not known now");
                    tokio::time::sleep(DUE_AGAIN).await;
                }
            }
        }
    }

    /// Does what a message says, beside what else is sent.
    fn hear(&self, text: &[u8], pieces: &mpsc::Sender<Bytes>) {
        let said = self.caller.bucket.take().map_err(|again| Problem::too_often("http.rate", again));
        let said = said.and_then(|()| read(text));
        let said = said.and_then(|said| {
            if self.asks.get() < MAX_ASKS {
                return Ok((said, CountGuard::new(&self.asks)));
            }
            let why = format!("{MAX_ASKS} messages of this socket are not answered yet");
            Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "ws.asks", why))
        });
        let (http, caller, pieces) = (Rc::clone(&self.http), Rc::clone(&self.caller), pieces.clone());
        // Nobody waits for a client that does not read: a message that is refused may stay unanswered.
        let (said, counted) = match said {
            Ok(said) => said,
            Err(problem) => {
                let _ = pieces.try_send(reply("", problem.status, value(&problem.document())));
                return;
            }
        };
        tokio::task::spawn_local(async move {
            let _counted = counted;
            let reference = said.reference().to_owned();
            let (status, data, follows) = match act(&http, &caller, said).await {
                Ok(done) => done,
                Err(problem) => (problem.status, value(&problem.document()), None),
            };
            if pieces.send(reply(&reference, status, data)).await.is_ok()
                && let Some((record, listening)) = follows
            {
                tell(&http, record, listening, pieces);
            }
        });
    }
}

/// What was done: its status, its document, and the turn to be followed.
type Done = (StatusCode, Value, Option<(Option<Rc<Record>>, Subscription)>);

async fn act(http: &Rc<Http>, caller: &Rc<Caller>, said: Do) -> Result<Done, Problem> {
    match said {
        Do::Say { text, .. } => {
            let (turn, record) = turns::open(http, caller, &text).await?;
            let opened = Turn { turn: turn.to_string(), state: State::Open, text: None, end: None, why: None };
            let data = value(&opened);
            let listening = turns::listening(caller, turn, ReadPosition::default(), Words::Messages);
            Ok((StatusCode::ACCEPTED, data, Some((Some(record), listening))))
        }
        Do::Listen { turn, after, .. } => {
            let turn = named(&turn)?;
            let heard = if after.is_empty() { ReadPosition::default() } else { turns::read_position("after", &after)? };
            let found = turns::resume_stream(http, caller, turn, heard).await?;
            let data = value(&Listened { turn: turn.to_string() });
            Ok(match found {
                None => (StatusCode::NO_CONTENT, data, None),
                Some(record) => {
                    let listening = turns::listening(caller, turn, heard, Words::Messages);
                    (StatusCode::OK, data, Some((record, listening)))
                }
            })
        }
        Do::Stop { turn, .. } => Ok((StatusCode::OK, value(&turns::stop(http, caller, named(&turn)?).await?), None)),
        Do::Answer { card, digest, answer, code, .. } => {
            let settled = turns::settle(http, caller, card, digest, answer, code).await?;
            Ok((StatusCode::OK, value(&settled), None))
        }
        Do::Cards { .. } => Ok((StatusCode::OK, value(&turns::cards(http, caller).await?), None)),
    }
}

fn named(turn: &str) -> Result<TurnId, Problem> {
    route::turn(turn).ok_or_else(|| Problem::field("turn", turn, "the name of a turn"))
}

/// What a client learns that does not keep to the frames; nothing where nobody receives it.
fn parting(fault: &Fault) -> Option<CloseReason> {
    tracing::debug!(%fault, "a socket ends");
    match fault {
        Fault::Capacity(CapacityError::MessageTooLong { .. }) => Some(CloseReason(CloseCode::Size, "http.body")),
        Fault::Capacity(_) | Fault::Protocol(_) => Some(CloseReason(CloseCode::Protocol, "ws.frame")),
        Fault::Utf8(_) => Some(CloseReason(CloseCode::Invalid, "ws.utf8")),
        Fault::ConnectionClosed
        | Fault::AlreadyClosed
        | Fault::Io(_)
        | Fault::Tls(_)
        | Fault::WriteBufferFull(_)
        | Fault::AttackAttempt
        | Fault::Url(_)
        | Fault::Http(_)
        | Fault::HttpFormat(_) => None,
    }
}

/// Reads on for a moment: a client that is cut off while it sends does not learn why.
async fn discard(io: &mut TokioIo<Upgraded>) {
    let mut left = MAX_DISCARDED;
    let mut piece = [0; READ_AT_ONCE];
    while let Ok(len @ 1..) = io.read(&mut piece).await {
        match left.checked_sub(len) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
