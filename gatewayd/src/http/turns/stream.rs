//! Answers on their way out: whole ones, and streams that follow a turn. A stream is a task that reads the turn's record
//! at the pace of its client and ends with the client, with the turn, or when the client is a stranger again.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use metnos_proto::ids::TurnId;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::http::Http;
use crate::http::chat;
use crate::http::documents::messages;
use crate::http::documents::{End, Turn};
use crate::http::limits::bounds::{AGAIN_MS, ALIVE_EVERY, MAX_PIECES};
use crate::http::turns::record::{ReadPosition, Record, TurnStanding, shown, value};
use crate::session::speaker::TurnNote;

/// What is written back.
#[derive(Debug)]
pub enum Out {
    /// All of it at once.
    Whole(Option<Bytes>),
    /// As it comes.
    Stream(mpsc::Receiver<Bytes>),
}

impl Out {
    /// These bytes.
    #[must_use]
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self::Whole(Some(bytes.into()))
    }
}

impl Body for Out {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(pieces) => pieces.poll_recv(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// In which words a stream is sent.
#[derive(Debug, Clone)]
pub enum Words {
    /// The door's own events.
    Events,
    /// Chunks, as clients of chat completions read them; the name of the answer.
    Chunks(String),
    /// Messages of a WebSocket.
    Messages,
}

/// Who listens to which turn, and from where on.
pub struct Subscription {
    /// The turn.
    pub turn: TurnId,
    /// Whose it is, as policyd names him.
    pub principal: String,
    /// How far he has heard it.
    pub heard: ReadPosition,
    /// In which words.
    pub words: Words,
    /// True once he is a stranger, or nobody can say any more who he is.
    pub gone: watch::Receiver<bool>,
    /// Counts his streams.
    pub streams: CountGuard,
}

/// One of something that is counted, until it is dropped.
pub struct CountGuard(Rc<Cell<usize>>);

impl CountGuard {
    /// One more.
    #[must_use]
    pub fn new(count: &Rc<Cell<usize>>) -> Self {
        count.set(count.get() + 1);
        Self(Rc::clone(count))
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// One event as a stream has it.
fn event(name: &str, id: ReadPosition, document: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\nid: {id}\ndata: {document}\n\n"))
}

impl Words {
    fn piece(&self, at: ReadPosition, told: &TurnNote) -> Option<Bytes> {
        match self {
            Self::Events => shown(told).map(|(name, document)| event(name, at, &document)),
            Self::Chunks(id) => chat::chunk(id, told),
            Self::Messages => shown(told).map(|(name, document)| messages::event(name, at, document)),
        }
    }

    /// What says that the stream is there; none where the connection says so itself.
    fn alive(&self) -> Option<Bytes> {
        match self {
            Self::Events | Self::Chunks(_) => Some(Bytes::from_static(b": \n\n")),
            Self::Messages => None,
        }
    }

    /// What has a client ask again in a while.
    fn again(&self, turn: TurnId) -> Bytes {
        match self {
            Self::Events | Self::Chunks(_) => Bytes::from(format!("retry: {AGAIN_MS}\n\n")),
            Self::Messages => messages::again(turn),
        }
    }

    /// Whether the stream ends here.
    fn ends(&self, stand: &TurnStanding) -> bool {
        match (self, stand) {
            (_, TurnStanding::Done(_)) | (Self::Chunks(_), TurnStanding::Suspended) => true,
            (_, TurnStanding::Open) | (Self::Events | Self::Messages, TurnStanding::Suspended) => false,
        }
    }
}

/// Follows a turn: `record` is what was kept of it, if anything was.
pub fn follow(http: &Rc<Http>, record: Option<Rc<Record>>, listening: Subscription) -> Out {
    let (pieces, out) = mpsc::channel(MAX_PIECES);
    tell(http, record, listening, pieces);
    Out::Stream(out)
}

/// The same, to anyone who takes the pieces.
pub(in crate::http) fn tell(
    http: &Rc<Http>,
    record: Option<Rc<Record>>,
    listening: Subscription,
    pieces: mpsc::Sender<Bytes>,
) {
    let http = Rc::clone(http);
    tokio::task::spawn_local(async move {
        let mut gone = listening.gone.clone();
        tokio::select! {
            biased;
            _ = gone.wait_for(|gone| *gone) => {}
            () = pieces.closed() => {}
            () = told(&http, record, listening, &pieces) => {}
        }
    });
}

async fn told(http: &Rc<Http>, record: Option<Rc<Record>>, mut listening: Subscription, pieces: &mpsc::Sender<Bytes>) {
    if let Some(record) = record {
        let mut changes = record.changes();
        let mut place = record.place(listening.heard);
        loop {
            changes.mark_unchanged();
            while let Some((at, told)) = record.next(&mut place) {
                listening.heard = at;
                if let Some(piece) = listening.words.piece(at, &told)
                    && pieces.send(piece).await.is_err()
                {
                    return;
                }
            }
            let stand = record.stand();
            if listening.words.ends(&stand) && !record.is_torn() {
                return;
            }
            if record.is_torn() && matches!(stand, TurnStanding::Done(_)) {
                break;
            }
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(ALIVE_EVERY) => {
                    if let Some(alive) = listening.words.alive()
                        && pieces.send(alive).await.is_err()
                    {
                        return;
                    }
                }
            }
        }
    }
    from_journal(http, &listening, pieces).await;
}

/// What the journal has of the answer beyond what was heard.
async fn from_journal(http: &Rc<Http>, listening: &Subscription, pieces: &mpsc::Sender<Bytes>) {
    let found = http.door.answer_of(listening.turn, &listening.principal).await;
    let Ok((Some(end), text)) = found else {
        // Under way elsewhere, or nobody can say now: the client asks again.
        let _ = pieces.send(listening.words.again(listening.turn)).await;
        return;
    };
    let turn = listening.turn;
    let rest = text.get(listening.heard.said.min(text.len())..).unwrap_or_default().to_owned();
    let mut at = listening.heard;
    if !rest.is_empty() {
        at = ReadPosition { event: at.event + 1, said: text.len(), ..at };
        let told = TurnNote::Text(metnos_proto::msg::planner::Text { turn, text: rest });
        let Some(piece) = listening.words.piece(at, &told) else { return };
        if pieces.send(piece).await.is_err() {
            return;
        }
    }
    let done = metnos_proto::msg::planner::TurnDone { turn, end, why: String::new() };
    let last = listening.words.piece(ReadPosition { event: at.event + 1, ..at }, &TurnNote::TurnDone(done));
    if let Some(last) = last {
        let _ = pieces.send(last).await;
    }
}

/// A document as an answer.
#[must_use]
pub fn document(document: &impl Serialize) -> Out {
    Out::whole(value(document).to_string())
}

/// What a turn is, in one document.
#[must_use]
pub fn of_turn(turn: TurnId, stand: &TurnStanding, text: String, why: String) -> Turn {
    let (end, why) = match stand {
        TurnStanding::Done(end) => (Some(End(end.name().to_owned())), Some(why)),
        TurnStanding::Open | TurnStanding::Suspended => (None, None),
    };
    Turn { turn: turn.to_string(), state: stand.state(), text: Some(text), end, why }
}
