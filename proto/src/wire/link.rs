//! Links without a runtime: the client of `metnosctl` and of the tests, and the server of a
//! plain poll loop (memoryd).
//!
//! Neither ever blocks in the kernel longer than its caller's bound.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use postcard_schema::Schema;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::{Deserialize, Serialize};

use crate::edge::{AnswererEnd, AskerEnd, Edge, PeerCred, RpcError, Word};
use crate::frame::{self, FrameError, Header, Kind, PROTOCOL};
use crate::ids::TraceId;
use crate::msg::common::Refusal;
use crate::payload::{PayloadError, Sealed};
use crate::role::Role;
use crate::socket;

/// The most notes a blocking client keeps while it waits for an answer.
pub const MAX_KEPT_NOTES: usize = 4096;
/// How long a full socket may hold up a sender before the link is given up, in milliseconds.
pub const SEND_WITHIN_MS: u64 = 5_000;

/// The body of the first packet in each direction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Schema)]
pub struct Hello {
    /// [`PROTOCOL`] of the sender.
    pub protocol: u16,
    /// The edge's schema key as the sender knows it.
    pub schema: [u8; 8],
}

impl Hello {
    /// What this build says on edge `E`.
    #[must_use]
    pub fn of<E: Edge>() -> Self {
        Self { protocol: PROTOCOL, schema: E::SCHEMA_KEY }
    }
}

/// What broke a link. Anyone who meets it closes the link and records it.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A packet that is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A payload that is none.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The wrong packet at this point.
    #[error("{0}")]
    Protocol(String),
    /// The two sides speak different versions of this edge.
    #[error("the other side speaks protocol {theirs:?}, this one {ours:?}: both must come from the same build")]
    Version {
        /// What came.
        theirs: Hello,
        /// What we speak.
        ours: Hello,
    },
    /// The kernel.
    #[error("the channel: {0}")]
    Io(#[from] std::io::Error),
    /// The peer does not read.
    #[error("the other side has not read for {SEND_WITHIN_MS} ms")]
    Stuck,
    /// The peer is gone.
    #[error("the other side is gone")]
    Gone,
}

/// A packet, decoded as far as both kinds of link need it.
#[derive(Debug)]
pub(crate) enum Packet<E: Edge> {
    Hello,
    Ask(Incoming<E>),
    Answer { request: u64, answer: E::Answer, fds: Vec<Sealed> },
    Note(E::Note),
}

/// An ask as it came.
#[derive(Debug)]
pub struct Incoming<E: Edge> {
    /// Pairs the answer with it.
    pub request: u64,
    /// The turn's trace, or [`TraceId::NONE`].
    pub trace: TraceId,
    /// The question.
    pub ask: E::Ask,
    /// What came beside it: exactly as many as the word declares.
    pub fds: Vec<Sealed>,
}

/// An answer that has not left yet.
#[derive(Debug)]
pub struct Outgoing<E: Edge> {
    /// Of the ask.
    pub request: u64,
    /// Of the ask.
    pub trace: TraceId,
    /// The answer.
    pub answer: E::Answer,
    /// What goes beside it.
    pub fds: Vec<Sealed>,
}

impl<E: Edge> Outgoing<E> {
    /// The same place in the conversation, but a refusal.
    #[must_use]
    pub fn refuse(self, refusal: Refusal) -> Self {
        Self { answer: E::refused(refusal), fds: Vec::new(), ..self }
    }
}

/// Decodes one packet of edge `E`, checking everything that does not depend on the conversation.
///
/// # Errors
/// For anything that is not a packet of this edge with exactly the payloads it declares.
pub(crate) fn decode<E: Edge>(bytes: &[u8], fds: Vec<OwnedFd>) -> Result<Packet<E>, LinkError> {
    let (header, body) = frame::split(bytes)?;
    if header.edge != E::ID.number() {
        return Err(LinkError::Protocol(format!("a packet of edge {} on edge {:?}", header.edge, E::ID)));
    }
    let exactly = |declared: usize| {
        if declared == fds.len() && usize::from(header.fds) == declared {
            Ok(())
        } else {
            Err(LinkError::Protocol(format!(
                "{} descriptors came, the header says {}, the word declares {declared}",
                fds.len(),
                header.fds
            )))
        }
    };
    match header.kind {
        Kind::Hello => {
            exactly(0)?;
            let theirs: Hello = frame::decode(body)?;
            let ours = Hello::of::<E>();
            if theirs == ours { Ok(Packet::Hello) } else { Err(LinkError::Version { theirs, ours }) }
        }
        Kind::Ask => {
            let ask: E::Ask = frame::decode(body)?;
            exactly(ask.fds())?;
            Ok(Packet::Ask(Incoming { request: header.request, trace: header.trace, ask, fds: sealed(fds)? }))
        }
        Kind::Answer => {
            let answer: E::Answer = frame::decode(body)?;
            exactly(answer.fds())?;
            Ok(Packet::Answer { request: header.request, answer, fds: sealed(fds)? })
        }
        Kind::Note => {
            let note: E::Note = frame::decode(body)?;
            exactly(note.fds())?;
            Ok(Packet::Note(note))
        }
    }
}

/// Reads the words of one packet of edge `E`, whatever bytes come; says which word it was.
/// What fuzzing calls: it is the part of receiving that looks at bytes.
///
/// # Errors
/// For anything that is not a packet of this edge.
pub fn inspect<E: Edge>(packet: &[u8]) -> Result<&'static str, LinkError> {
    let (header, body) = frame::split(packet)?;
    if header.edge != E::ID.number() {
        return Err(LinkError::Protocol(format!("a packet of edge {} on edge {:?}", header.edge, E::ID)));
    }
    Ok(match header.kind {
        Kind::Hello => frame::decode::<Hello>(body).map(|_| "hello"),
        Kind::Ask => frame::decode::<E::Ask>(body).map(|word| word.name()),
        Kind::Answer => frame::decode::<E::Answer>(body).map(|word| word.name()),
        Kind::Note => frame::decode::<E::Note>(body).map(|word| word.name()),
    }?)
}

fn sealed(fds: Vec<OwnedFd>) -> Result<Vec<Sealed>, PayloadError> {
    fds.into_iter().map(Sealed::from_fd).collect()
}

/// Encodes a word of edge `E`, checking that it has the payloads it declares.
pub(crate) fn encode<E: Edge, W: Word>(
    kind: Kind,
    request: u64,
    trace: TraceId,
    word: &W,
    fds: &[Sealed],
) -> Result<Vec<u8>, LinkError> {
    if word.fds() != fds.len() {
        return Err(LinkError::Protocol(format!(
            "`{}` declares {} descriptors and got {}",
            word.name(),
            word.fds(),
            fds.len()
        )));
    }
    let count = u8::try_from(fds.len()).map_err(|_| FrameError::Long)?;
    let header = Header { edge: E::ID.number(), kind, fds: count, request, trace };
    Ok(frame::encode(header, word)?)
}

/// The hello packet of edge `E`.
pub(crate) fn hello<E: Edge>() -> Result<Vec<u8>, FrameError> {
    let header = Header { edge: E::ID.number(), kind: Kind::Hello, fds: 0, request: 0, trace: TraceId::NONE };
    frame::encode(header, &Hello::of::<E>())
}

pub(crate) fn borrow(fds: &[Sealed]) -> Vec<BorrowedFd<'_>> {
    fds.iter().map(AsFd::as_fd).collect()
}

/// Waits until the socket is ready or the time is over; `false` when it is over or a signal came.
fn wait(socket: BorrowedFd<'_>, flags: PollFlags, until: Instant) -> Result<bool, LinkError> {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).map_err(|_| LinkError::Protocol("a bound that is no time".to_owned()))?;
    let mut fds = [PollFd::from_borrowed_fd(socket, flags)];
    match rustix::event::poll(&mut fds, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(error) => Err(LinkError::Io(error.into())),
    }
}

fn send_within(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[Sealed], within_ms: u64) -> Result<(), LinkError> {
    let mut until = None;
    loop {
        match socket::send(socket, bytes, &borrow(fds)) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                // No clock is looked at for the packets that leave at once, which are nearly all.
                let until = *until.get_or_insert_with(|| Instant::now() + Duration::from_millis(within_ms));
                if !wait(socket, PollFlags::OUT, until)? && Instant::now() >= until {
                    return Err(LinkError::Stuck);
                }
            }
            Err(error) if is_gone(&error) => return Err(LinkError::Gone),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether a send met a peer that is no longer there.
pub(crate) fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset)
}

/// Asks over edge `E`, one question at a time.
#[derive(Debug)]
pub struct BlockingClient<E: Edge> {
    fd: OwnedFd,
    buffer: Vec<u8>,
    greeted: bool,
    request: u64,
    notes: VecDeque<E::Note>,
    /// How long the kernel lets a receive wait.
    bound: Duration,
}

impl<E: Edge> BlockingClient<E> {
    /// Says hello on the end and takes it.
    ///
    /// # Errors
    /// When the other side is gone already.
    pub fn new(end: AskerEnd<E>) -> Result<Self, LinkError> {
        send_within(end.raw.fd.as_fd(), &hello::<E>()?, &[], SEND_WITHIN_MS)?;
        Ok(Self {
            fd: end.raw.fd,
            buffer: socket::buffer(),
            greeted: false,
            request: 0,
            notes: VecDeque::new(),
            bound: Duration::ZERO,
        })
    }

    /// Sends the ask and waits for its answer, at most [`Edge::within`]; notes that come
    /// meanwhile are kept for [`BlockingClient::next_note`].
    ///
    /// # Errors
    /// See [`RpcError`]; refusals come back as answers here, the typed methods turn them into errors.
    pub fn ask(&mut self, trace: TraceId, ask: E::Ask, fds: Vec<Sealed>) -> Result<(E::Answer, Vec<Sealed>), RpcError> {
        let within = E::within(&ask);
        let until = Instant::now() + within;
        self.request += 1;
        let packet = encode::<E, _>(Kind::Ask, self.request, trace, &ask, &fds)
            .map_err(|error| RpcError::Unsendable(error.to_string()))?;
        send_within(self.fd.as_fd(), &packet, &fds, SEND_WITHIN_MS).map_err(|error| Self::failed(&error))?;
        // The bound of a word is always the same, so the kernel need not be asked each time.
        let mut left = within;
        loop {
            match self.receive(left).map_err(|error| Self::failed(&error))? {
                Some(Packet::Answer { request, answer, fds }) if request == self.request => return Ok((answer, fds)),
                // The answer to an ask that was given up on.
                Some(Packet::Answer { request, .. }) if request < self.request => {}
                Some(Packet::Note(note)) => self.keep(note)?,
                Some(Packet::Hello | Packet::Ask(_) | Packet::Answer { .. }) => {
                    return Err(RpcError::Violation(E::Answerer::NAME, "a packet out of order".to_owned()));
                }
                None => {}
            }
            // After anything that is not the answer: who talks about other things does not get more time.
            left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let within_ms = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
                return Err(RpcError::Late { role: E::Answerer::NAME, word: ask.name(), within_ms });
            }
        }
    }

    fn keep(&mut self, note: E::Note) -> Result<(), RpcError> {
        if self.notes.len() >= MAX_KEPT_NOTES {
            return Err(RpcError::Violation(E::Answerer::NAME, format!("more than {MAX_KEPT_NOTES} unread notes")));
        }
        self.notes.push_back(note);
        Ok(())
    }

    /// The next note; `None` when none came within the time, or a signal interrupted the waiting.
    ///
    /// # Errors
    /// When the other side is gone or breaks the protocol.
    pub fn next_note(&mut self, within: Duration) -> Result<Option<E::Note>, RpcError> {
        if let Some(note) = self.notes.pop_front() {
            return Ok(Some(note));
        }
        let until = Instant::now() + within;
        let mut left = within;
        loop {
            match self.receive(left).map_err(|error| Self::failed(&error))? {
                Some(Packet::Note(note)) => return Ok(Some(note)),
                Some(Packet::Answer { request, .. }) if request <= self.request => {}
                Some(Packet::Hello | Packet::Ask(_) | Packet::Answer { .. }) => {
                    return Err(RpcError::Violation(E::Answerer::NAME, "a packet out of order".to_owned()));
                }
                None => return Ok(None),
            }
            left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// The next packet; `None` when none came within the time, or a signal interrupted the waiting.
    fn receive(&mut self, within: Duration) -> Result<Option<Packet<E>>, LinkError> {
        if self.bound != within {
            socket::set_bound(&self.fd, within)?;
            self.bound = within;
        }
        loop {
            match socket::receive_within_bound(self.fd.as_fd(), &mut self.buffer) {
                Ok(None) => return Err(LinkError::Gone),
                Ok(Some(packet)) => match (decode::<E>(&self.buffer[..packet.len], packet.fds)?, self.greeted) {
                    (Packet::Hello, false) => self.greeted = true,
                    (_, false) => return Err(LinkError::Protocol("the first packet is no hello".to_owned())),
                    (packet, true) => return Ok(Some(packet)),
                },
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn failed(error: &LinkError) -> RpcError {
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

    pub(crate) fn wrong_answer(&self, asked: &str, answer: &E::Answer) -> RpcError {
        RpcError::Violation(E::Answerer::NAME, format!("`{asked}` was answered with `{}`", answer.name()))
    }
}

impl<E: Edge> AsFd for BlockingClient<E> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Answers edge `E` from a poll loop: readable means [`BlockingServer::receive`].
#[derive(Debug)]
pub struct BlockingServer<E: Edge> {
    fd: OwnedFd,
    generation: u32,
    peer: Option<PeerCred>,
    greeted: bool,
    edge: std::marker::PhantomData<E>,
}

impl<E: Edge> BlockingServer<E> {
    /// Says hello on the end and takes it.
    ///
    /// # Errors
    /// When the other side is gone already.
    pub fn new(end: AnswererEnd<E>) -> Result<Self, LinkError> {
        socket::set_nonblocking(&end.raw.fd)?;
        send_within(end.raw.fd.as_fd(), &hello::<E>()?, &[], SEND_WITHIN_MS)?;
        let (generation, peer) = (end.generation(), end.peer());
        Ok(Self { fd: end.raw.fd, generation, peer, greeted: false, edge: std::marker::PhantomData })
    }

    /// The generation of the channel.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// Who is at the other end, on the edges of `metnosctl`.
    #[must_use]
    pub const fn peer(&self) -> Option<PeerCred> {
        self.peer
    }

    /// The next ask, or `None` when there is none right now. `buffer` is [`socket::buffer`].
    ///
    /// # Errors
    /// [`LinkError::Gone`], or a breach of protocol; the link must be dropped then.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Incoming<E>>, LinkError> {
        loop {
            let packet = match socket::receive(self.fd.as_fd(), buffer) {
                Ok(None) => return Err(LinkError::Gone),
                Ok(Some(packet)) => packet,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            match (decode::<E>(&buffer[..packet.len], packet.fds)?, self.greeted) {
                (Packet::Hello, false) => self.greeted = true,
                (Packet::Ask(incoming), true) => return Ok(Some(incoming)),
                (_, false) => return Err(LinkError::Protocol("the first packet is no hello".to_owned())),
                (Packet::Hello | Packet::Answer { .. } | Packet::Note(_), true) => {
                    return Err(LinkError::Protocol("a packet out of order".to_owned()));
                }
            }
        }
    }

    /// Sends an answer. An asker that does not read is given up on after [`SEND_WITHIN_MS`].
    ///
    /// # Errors
    /// When the answer cannot be sent; the link must be dropped then.
    pub fn answer(&self, outgoing: Outgoing<E>) -> Result<(), LinkError> {
        self.answer_within(outgoing, SEND_WITHIN_MS)
    }

    /// The same, for a loop that cannot wait as long for one of many.
    ///
    /// # Errors
    /// As [`BlockingServer::answer`]; [`LinkError::Stuck`] after `within_ms` milliseconds.
    pub fn answer_within(&self, outgoing: Outgoing<E>, within_ms: u64) -> Result<(), LinkError> {
        let Outgoing { request, trace, answer, fds } = outgoing;
        send_within(self.fd.as_fd(), &encode::<E, _>(Kind::Answer, request, trace, &answer, &fds)?, &fds, within_ms)
    }

    /// Sends the asker a note, if that is possible without waiting.
    ///
    /// # Errors
    /// When the peer is gone, or its socket is full.
    pub fn note(&self, note: &E::Note) -> Result<(), LinkError> {
        let packet = encode::<E, _>(Kind::Note, 0, TraceId::NONE, note, &[])?;
        socket::send(self.fd.as_fd(), &packet, &[])?;
        Ok(())
    }
}

impl<E: Edge> AsFd for BlockingServer<E> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
