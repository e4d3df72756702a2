//! Links on a current-thread tokio runtime: many asks in flight, answers in any order.
//!
//! A [`Client`] outlives the daemon at its other end: when that is restarted, the
//! supervisor brings a fresh end, and the client goes on with it. What was in flight ends
//! as [`RpcError::Gone`]; nothing is repeated by itself.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::{Rc, Weak};
use std::task::Poll;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::edge::{AnswererEnd, AskerEnd, Edge, PeerCred, RpcError, ServeError, Word};
use crate::frame::Kind;
use crate::ids::TraceId;
use crate::link::{self, Incoming, LinkError, Packet, SEND_WITHIN_MS};
use crate::payload::Sealed;
use crate::role::Role;
use crate::socket;

/// The most asks of one link that are served, or awaited, at once. A peer that sends more is simply not read.
pub const MAX_IN_FLIGHT: usize = 128;
/// The most notes that wait to be read.
pub const MAX_NOTES: usize = 1024;
/// How long an ask waits for a peer that is being restarted, in milliseconds. Nothing was sent yet, so
/// waiting repeats nothing.
pub const ATTACH_WITHIN_MS: u64 = 3_000;

/// Why a served link ended.
#[derive(Debug)]
pub enum Closed {
    /// The peer went away.
    Gone,
    /// The peer broke the protocol: to be recorded.
    Violation(String),
}

/// The socket, shared by the tasks of one link.
#[derive(Debug)]
struct Wire<E: Edge> {
    fd: AsyncFd<OwnedFd>,
    /// Set once; everybody stops using the wire then.
    closed: watch::Sender<bool>,
    edge: std::marker::PhantomData<E>,
}

impl<E: Edge> Wire<E> {
    fn new(fd: OwnedFd) -> Result<Self, LinkError> {
        socket::set_nonblocking(&fd)?;
        // Before anything else can be said: a fresh channel always has room for it.
        match socket::send(fd.as_fd(), &link::hello::<E>()?, &[]) {
            Ok(()) => {}
            // A peer that is gone already is noticed when its end is read.
            Err(error) if link::is_gone(&error) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { fd: crate::sys::watch(fd)?, closed: watch::Sender::new(false), edge: std::marker::PhantomData })
    }

    async fn send(&self, packet: &[u8], fds: &[Sealed]) -> Result<(), LinkError> {
        if *self.closed.borrow() {
            return Err(LinkError::Gone);
        }
        // The common case: the socket has room.
        match socket::send(self.fd.get_ref().as_fd(), packet, &link::borrow(fds)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if link::is_gone(&error) => return Err(LinkError::Gone),
            Err(error) => return Err(error.into()),
        }
        let sending = self.fd.async_io(Interest::WRITABLE, |fd| socket::send(fd.as_fd(), packet, &link::borrow(fds)));
        match tokio::time::timeout(Duration::from_millis(SEND_WITHIN_MS), sending).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if link::is_gone(&error) => Err(LinkError::Gone),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(LinkError::Stuck),
        }
    }

    /// The next packet; [`LinkError::Gone`] at the end.
    async fn receive(&self, buffer: &mut [u8]) -> Result<Packet<E>, LinkError> {
        // Closing shuts the socket down, so that a wait here ends too.
        let packet = self.fd.async_io(Interest::READABLE, |fd| socket::receive(fd.as_fd(), buffer)).await?;
        let packet = packet.ok_or(LinkError::Gone)?;
        link::decode(&buffer[..packet.len], packet.fds)
    }

    fn close(&self) {
        self.closed.send_replace(true);
        // The peer must see the end now, not when the last task releases the descriptor.
        let _ = rustix::net::shutdown(self.fd.get_ref(), rustix::net::Shutdown::Both);
    }
}

type Pending<E> = oneshot::Sender<Result<(<E as Edge>::Answer, Vec<Sealed>), RpcError>>;

/// One generation of a client's link.
#[derive(Debug)]
struct Attached<E: Edge> {
    wire: Wire<E>,
    pending: RefCell<HashMap<u64, Pending<E>>>,
    /// What ended it, when that was a breach found outside the listening task.
    breach: RefCell<Option<String>>,
}

impl<E: Edge> Attached<E> {
    fn end(&self, why: &LinkError) {
        self.wire.close();
        for (_, waiting) in self.pending.borrow_mut().drain() {
            let _ = waiting.send(Err(failed::<E>(why)));
        }
    }
}

fn failed<E: Edge>(error: &LinkError) -> RpcError {
    match error {
        LinkError::Gone => RpcError::Gone(E::Answerer::NAME),
        other @ (LinkError::Frame(_)
        | LinkError::Payload(_)
        | LinkError::Protocol(_)
        | LinkError::Version { .. }
        | LinkError::Io(_)
        | LinkError::Stuck) => RpcError::Violation(E::Answerer::NAME, other.to_string()),
    }
}

/// Asks over edge `E`. Shared by reference; cannot be copied.
#[derive(Debug)]
pub struct Client<E: Edge> {
    current: RefCell<Option<Rc<Attached<E>>>>,
    generation: watch::Sender<u32>,
    request: Cell<u64>,
    in_flight: Semaphore,
    notes_in: mpsc::Sender<E::Note>,
    notes_out: RefCell<Option<mpsc::Receiver<E::Note>>>,
    on_breach: RefCell<Option<OnBreach>>,
}

/// Told when the other side broke the protocol.
struct OnBreach(Box<dyn Fn(&str)>);

impl std::fmt::Debug for OnBreach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnBreach")
    }
}

impl<E: Edge> Default for Client<E> {
    fn default() -> Self {
        let (notes_in, notes_out) = mpsc::channel(MAX_NOTES);
        Self {
            current: RefCell::new(None),
            generation: watch::Sender::new(0),
            request: Cell::new(0),
            in_flight: Semaphore::new(MAX_IN_FLIGHT),
            notes_in,
            notes_out: RefCell::new(Some(notes_out)),
            on_breach: RefCell::new(None),
        }
    }
}

impl<E: Edge> Client<E> {
    /// Has `tell` called with each breach of protocol by the other side, which closes the channel.
    pub fn on_breach(&self, tell: impl Fn(&str) + 'static) {
        *self.on_breach.borrow_mut() = Some(OnBreach(Box::new(tell)));
    }

    /// Goes on with this end; what was in flight on an earlier one ends as gone.
    ///
    /// Must run inside a [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// When the descriptor is no socket that can be watched.
    pub fn attach(self: &Rc<Self>, end: AskerEnd<E>) -> Result<(), LinkError> {
        let generation = end.generation();
        let attached =
            Rc::new(Attached { wire: Wire::new(end.raw.fd)?, pending: RefCell::default(), breach: RefCell::default() });
        if let Some(earlier) = self.current.replace(Some(Rc::clone(&attached))) {
            earlier.end(&LinkError::Gone);
        }
        self.generation.send_replace(generation.max(1));
        tokio::task::spawn_local(Self::listen(Rc::downgrade(self), attached));
        Ok(())
    }

    async fn listen(client: Weak<Self>, attached: Rc<Attached<E>>) {
        let mut error = Self::receive_all(&client, &attached).await;
        if let Some(what) = attached.breach.borrow_mut().take() {
            error = LinkError::Protocol(what);
        }
        attached.end(&error);
        if let Some(client) = client.upgrade() {
            match &error {
                LinkError::Gone => tracing::debug!(edge = ?E::ID, "peer gone"),
                breach @ (LinkError::Frame(_)
                | LinkError::Payload(_)
                | LinkError::Protocol(_)
                | LinkError::Version { .. }
                | LinkError::Io(_)
                | LinkError::Stuck) => {
                    tracing::error!(edge = ?E::ID, %breach, "breach of protocol, channel closed");
                    if let Some(OnBreach(tell)) = client.on_breach.borrow().as_ref() {
                        tell(&breach.to_string());
                    }
                }
            }
            let mut current = client.current.borrow_mut();
            if current.as_ref().is_some_and(|now| Rc::ptr_eq(now, &attached)) {
                *current = None;
                client.generation.send_replace(0);
            }
        }
    }

    async fn receive_all(client: &Weak<Self>, attached: &Rc<Attached<E>>) -> LinkError {
        let mut buffer = socket::buffer();
        let mut greeted = false;
        loop {
            let packet = match attached.wire.receive(&mut buffer).await {
                Ok(packet) => packet,
                Err(error) => return error,
            };
            match (packet, greeted) {
                (Packet::Hello, false) => greeted = true,
                (Packet::Answer { request, answer, fds }, true) => {
                    // Nobody waits any more for an answer that came late.
                    if let Some(waiting) = attached.pending.borrow_mut().remove(&request) {
                        let _ = waiting.send(Ok((answer, fds)));
                    }
                }
                (Packet::Note(note), true) => {
                    let Some(notes) = client.upgrade().map(|client| client.notes_in.clone()) else {
                        return LinkError::Gone;
                    };
                    if notes.send(note).await.is_err() {
                        tracing::debug!(edge = ?E::ID, "a note without a reader");
                    }
                }
                (_, false) => return LinkError::Protocol("the first packet is no hello".to_owned()),
                (Packet::Hello | Packet::Ask(_), true) => {
                    return LinkError::Protocol("a packet out of order".to_owned());
                }
            }
        }
    }

    /// The generation of the link now, 0 for none, and every change of it.
    #[must_use]
    pub fn generations(&self) -> watch::Receiver<u32> {
        self.generation.subscribe()
    }

    /// The notes of all generations. Can be taken once.
    #[must_use]
    pub fn take_notes(&self) -> Option<mpsc::Receiver<E::Note>> {
        self.notes_out.borrow_mut().take()
    }

    /// The link, waiting a moment for one that is being made again.
    async fn attached(&self) -> Result<Rc<Attached<E>>, RpcError> {
        let mut generations = self.generation.subscribe();
        let waiting = generations.wait_for(|generation| *generation != 0);
        let _ = tokio::time::timeout(Duration::from_millis(ATTACH_WITHIN_MS), waiting).await;
        self.current.borrow().clone().ok_or(RpcError::Gone(E::Answerer::NAME))
    }

    /// Sends the ask and waits for its answer, at most [`Edge::within`].
    ///
    /// # Errors
    /// See [`RpcError`]; refusals come back as answers here, the typed methods turn them into errors.
    pub async fn ask(
        &self,
        trace: TraceId,
        ask: E::Ask,
        fds: Vec<Sealed>,
    ) -> Result<(E::Answer, Vec<Sealed>), RpcError> {
        let within = E::within(&ask);
        match tokio::time::timeout(within, self.ask_now(trace, &ask, &fds)).await {
            Ok(answered) => answered,
            Err(_) => Err(RpcError::Late {
                role: E::Answerer::NAME,
                word: ask.name(),
                within_ms: u64::try_from(within.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    async fn ask_now(
        &self,
        trace: TraceId,
        ask: &E::Ask,
        fds: &[Sealed],
    ) -> Result<(E::Answer, Vec<Sealed>), RpcError> {
        let _slot = self.in_flight.acquire().await.map_err(|_| RpcError::Gone(E::Answerer::NAME))?;
        let now = self.current.borrow().clone();
        let attached = match now {
            Some(attached) => attached,
            None => self.attached().await?,
        };
        let request = self.request.get() + 1;
        self.request.set(request);
        let packet = link::encode::<E, _>(Kind::Ask, request, trace, ask, fds)
            .map_err(|error| RpcError::Unsendable(error.to_string()))?;
        let (answer, answered) = oneshot::channel();
        attached.pending.borrow_mut().insert(request, answer);
        // Anyone who stops waiting, for whatever reason, must not leave an entry behind.
        let _forget = Forget { attached: &attached, request };
        if let Err(error) = attached.wire.send(&packet, fds).await {
            attached.end(&error);
            return Err(failed::<E>(&error));
        }
        answered.await.unwrap_or(Err(RpcError::Gone(E::Answerer::NAME)))
    }

    pub(crate) fn wrong_answer(&self, asked: &str, answer: &E::Answer) -> RpcError {
        let what = format!("`{asked}` was answered with `{}`", answer.name());
        if let Some(attached) = self.current.borrow().as_ref() {
            attached.breach.borrow_mut().get_or_insert(what.clone());
            attached.end(&LinkError::Protocol(what.clone()));
        }
        RpcError::Violation(E::Answerer::NAME, what)
    }
}

struct Forget<'a, E: Edge> {
    attached: &'a Attached<E>,
    request: u64,
}

impl<E: Edge> Drop for Forget<'_, E> {
    fn drop(&mut self) {
        self.attached.pending.borrow_mut().remove(&self.request);
    }
}

/// Where an ask came from, and the way back for notes.
#[derive(Debug)]
pub struct Cx<E: Edge> {
    /// The turn's trace, or [`TraceId::NONE`].
    pub trace: TraceId,
    /// The generation of the channel.
    pub generation: u32,
    /// Who is at the other end, on the edges of `metnosctl`.
    pub peer: Option<PeerCred>,
    notes: Notes<E>,
}

impl<E: Edge> Cx<E> {
    /// The way to send this asker notes later.
    #[must_use]
    pub fn notes(&self) -> Notes<E> {
        self.notes.clone()
    }
}

/// Tells the asker of one link things that it has not asked for.
#[derive(Debug)]
pub struct Notes<E: Edge> {
    wire: Weak<Wire<E>>,
}

impl<E: Edge> Clone for Notes<E> {
    fn clone(&self) -> Self {
        Self { wire: Weak::clone(&self.wire) }
    }
}

impl<E: Edge> Notes<E> {
    /// Sends the note, waiting at most [`SEND_WITHIN_MS`] for a peer that is busy.
    ///
    /// # Errors
    /// When the peer is gone, or does not read: its link is closed then.
    pub async fn send(&self, note: E::Note) -> Result<(), RpcError> {
        let gone = || RpcError::Gone(E::Asker::NAME);
        let wire = self.wire.upgrade().ok_or_else(gone)?;
        let packet = link::encode::<E, _>(Kind::Note, 0, TraceId::NONE, &note, &[])
            .map_err(|error| RpcError::Unsendable(error.to_string()))?;
        wire.send(&packet, &[]).await.map_err(|error| {
            wire.close();
            tracing::debug!(edge = ?E::ID, %error, "a note could not be sent");
            gone()
        })
    }

    /// Whether the link is still there.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.wire.upgrade().is_some_and(|wire| !*wire.closed.borrow())
    }

    /// Waits until the link is gone.
    pub async fn closed(&self) {
        if let Some(wire) = self.wire.upgrade() {
            let mut closed = wire.closed.subscribe();
            drop(wire);
            let _ = closed.wait_for(|closed| *closed).await;
        }
    }
}

/// Serves one link until its peer is gone or the protocol is broken. The macro's `serve` wraps it with types.
///
/// At most [`MAX_IN_FLIGHT`] asks are handled at once; handlers that run when the link ends go on to
/// their end, only their answers are lost.
pub async fn serve<E, F, Fut>(end: AnswererEnd<E>, handle: F) -> Closed
where
    E: Edge,
    F: Fn(Cx<E>, E::Ask, Vec<Sealed>) -> Fut + 'static,
    Fut: Future<Output = Result<(E::Answer, Vec<Sealed>), ServeError>> + 'static,
{
    let (generation, peer) = (end.generation(), end.peer());
    let wire = match Wire::<E>::new(end.raw.fd) {
        Ok(wire) => Rc::new(wire),
        Err(error) => return Closed::Violation(error.to_string()),
    };
    let breach: Rc<RefCell<Option<String>>> = Rc::default();
    let notes = Notes { wire: Rc::downgrade(&wire) };
    let start = |Incoming { request, trace, ask, fds }| {
        let cx = Cx { trace, generation, peer, notes: notes.clone() };
        (request, trace, handle(cx, ask, fds))
    };
    let close = CloseOnDrop(Rc::clone(&wire));
    let error = receive_asks(&wire, &breach, start).await;
    drop(close);
    let breach = breach.borrow_mut().take();
    match (breach, error) {
        (Some(breach), _) => Closed::Violation(breach),
        (None, LinkError::Gone) => Closed::Gone,
        (None, error) => Closed::Violation(error.to_string()),
    }
}

/// Closes the channel also when serving is given up from outside, while handlers still run.
struct CloseOnDrop<E: Edge>(Rc<Wire<E>>);

impl<E: Edge> Drop for CloseOnDrop<E> {
    fn drop(&mut self) {
        self.0.close();
    }
}

async fn receive_asks<E: Edge, Fut>(
    wire: &Rc<Wire<E>>,
    breach: &Rc<RefCell<Option<String>>>,
    start: impl Fn(Incoming<E>) -> (u64, TraceId, Fut),
) -> LinkError
where
    Fut: Future<Output = Result<(E::Answer, Vec<Sealed>), ServeError>> + 'static,
{
    let slots = std::sync::Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    let mut buffer = socket::buffer();
    let mut greeted = false;
    loop {
        let Ok(slot) = std::sync::Arc::clone(&slots).acquire_owned().await else {
            return LinkError::Gone;
        };
        let incoming = match (wire.receive(&mut buffer).await, greeted) {
            (Ok(Packet::Hello), false) => {
                greeted = true;
                continue;
            }
            (Ok(Packet::Ask(incoming)), true) => incoming,
            (Ok(_), false) => return LinkError::Protocol("the first packet is no hello".to_owned()),
            (Ok(Packet::Hello | Packet::Answer { .. } | Packet::Note(_)), true) => {
                return LinkError::Protocol("a packet out of order".to_owned());
            }
            (Err(error), _) => return error,
        };
        let (request, trace, handling) = start(incoming);
        let (wire, breach) = (Rc::clone(wire), Rc::clone(breach));
        let mut answering = Box::pin(async move {
            let _slot = slot;
            answer(&wire, &breach, request, trace, handling.await).await;
        });
        // Most answers are ready at once; only one that has to wait gets a task of its own.
        let ready = std::future::poll_fn(|cx| Poll::Ready(answering.as_mut().poll(cx).is_ready())).await;
        if !ready {
            tokio::task::spawn_local(answering);
        }
    }
}

/// Sends what a handler made of an ask, or closes the channel.
async fn answer<E: Edge>(
    wire: &Wire<E>,
    breach: &RefCell<Option<String>>,
    request: u64,
    trace: TraceId,
    handled: Result<(E::Answer, Vec<Sealed>), ServeError>,
) {
    let (answer, fds) = match handled {
        Ok(answered) => answered,
        Err(ServeError::Refused(refusal)) => (E::refused(refusal), Vec::new()),
        Err(ServeError::Violation(what)) => {
            breach.borrow_mut().get_or_insert(what);
            return wire.close();
        }
    };
    let sent = match link::encode::<E, _>(Kind::Answer, request, trace, &answer, &fds) {
        Ok(packet) => wire.send(&packet, &fds).await,
        Err(error) => Err(error),
    };
    if let Err(error) = sent
        && !matches!(error, LinkError::Gone)
    {
        breach.borrow_mut().get_or_insert(format!("an answer could not be sent: {error}"));
        wire.close();
    }
}
