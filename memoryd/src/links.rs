//! The links as the loop holds them: asks come in, answers are held back until what they promise is on the disk.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use metnos_proto::edge::{AnswererEnd, Edge, No, RawEnd, Word};
use metnos_proto::edges::{
    CtlMemoryd, DoorMemoryd, EdgeId, PlannerMemoryd, PolicydMemoryd, SandboxdMemoryd, SyntdMemoryd, ctl_memoryd,
    door_memoryd, planner_memoryd, policyd_memoryd, sandboxd_memoryd, syntd_memoryd,
};
use metnos_proto::ids::{SessionId, TraceId};
use metnos_proto::link::{BlockingServer, Incoming, LinkError, Outgoing};
use metnos_proto::msg::memoryd::{AgerCame, ChainHead};
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::chronicle::store::MAX_ROUND_BYTES;
use crate::chronicle::verify::Verify;
use crate::memory::Memory;
use crate::serve::{Service, verification};

/// How many asks of one link are taken in one round, so that nobody keeps the others out.
pub const MAX_ASKS_PER_ROUND: usize = 64;
/// How long an asker that does not read its answers may hold up the others, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 100;
/// How many bytes of the chronicle are verified in one round.
pub const VERIFY_SLICE_BYTES: u64 = 2 * 1024 * 1024;

/// Why a link ends.
#[derive(Debug)]
pub enum Ending {
    /// The peer is gone, or does not read.
    Gone(String),
    /// The peer broke the protocol.
    Violation(String),
}

impl From<LinkError> for Ending {
    fn from(error: LinkError) -> Self {
        match error {
            // What was too large to be received whole.
            LinkError::Io(ref io) if io.kind() == std::io::ErrorKind::InvalidData => Self::Violation(error.to_string()),
            LinkError::Gone | LinkError::Stuck | LinkError::Io(_) => Self::Gone(error.to_string()),
            LinkError::Frame(_) | LinkError::Payload(_) | LinkError::Protocol(_) | LinkError::Version { .. } => {
                Self::Violation(error.to_string())
            }
        }
    }
}

/// A link, whatever its edge.
pub trait Link: AsFd {
    /// Which edge it is.
    fn edge(&self) -> EdgeId;

    /// Takes what has come, at most [`MAX_ASKS_PER_ROUND`] asks; their answers are held.
    ///
    /// # Errors
    /// When the link has ended.
    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), Ending>;

    /// Whether an answer is held until what it promises is on the disk.
    fn holds(&self) -> bool;

    /// Lets the held answers go; what was promised and is not on the disk becomes a refusal.
    ///
    /// # Errors
    /// When the link has ended.
    fn release(&mut self, memory: &Memory) -> Result<(), Ending>;

    /// Tells the head of the chain, if the peer is the one that signs it; whether it is and was told.
    ///
    /// # Errors
    /// When the link has ended.
    fn tell_head(&mut self, head: &ChainHead) -> Result<bool, Ending> {
        let _ = head;
        Ok(false)
    }

    /// Tells that the ager has proposed something, if the peer is the one that carries it on; whether it is and was told.
    ///
    /// # Errors
    /// When the link has ended.
    fn tell_ager_came(&mut self) -> Result<bool, Ending> {
        Ok(false)
    }

    /// Goes on with what takes longer than a round; `true` while there is more to do.
    ///
    /// # Errors
    /// When the link has ended.
    fn work(&mut self, memory: &mut Memory) -> Result<bool, Ending> {
        let _ = memory;
        Ok(false)
    }
}

type Dispatch<E> = fn(&BlockingServer<E>, Incoming<E>, &mut Service<'_>) -> Result<Outgoing<E>, No>;

/// A link of edge `E`.
struct EdgeLink<E: Edge> {
    server: BlockingServer<E>,
    session: SessionId,
    dispatch: Dispatch<E>,
    /// Answers, and the round whose flush they wait for, if they wait for one.
    held: Vec<(Outgoing<E>, Option<u64>)>,
}

impl<E: Edge> EdgeLink<E> {
    fn new(raw: RawEnd, dispatch: Dispatch<E>) -> Result<Self, Ending> {
        let end = AnswererEnd::<E>::new(raw).map_err(|error| Ending::Violation(error.to_string()))?;
        Ok(Self { server: BlockingServer::new(end)?, session: SessionId::new(), dispatch, held: Vec::new() })
    }

    fn serve(&mut self, incoming: Incoming<E>, memory: &mut Memory) -> Result<(), Ending> {
        let word = incoming.ask.name();
        let waiting = memory.staged_so_far();
        let mut service = Service { memory, session: self.session };
        match (self.dispatch)(&self.server, incoming, &mut service) {
            Ok(outgoing) => {
                let waits = (memory.staged_so_far() > waiting).then(|| memory.round());
                self.held.push((outgoing, waits));
            }
            Err(No::Violation(what)) => return Err(Ending::Violation(format!("`{word}`: {what}"))),
            Err(No::Refused(refusal)) => return Err(Ending::Violation(format!("`{word}`: {refusal}"))),
        }
        if memory.waiting_bytes() > MAX_ROUND_BYTES
            && let Err(error) = memory.flush()
        {
            tracing::error!(%error, "nothing was recorded in this round");
        }
        Ok(())
    }

    /// Sends one answer. An asker that lets its answers pile up is not waited for.
    fn send(&self, outgoing: Outgoing<E>) -> Result<(), Ending> {
        let timeout = Timespec::try_from(Duration::from_millis(ANSWER_WITHIN_MS)).unwrap_or_default();
        let mut fds = [PollFd::new(&self.server, PollFlags::OUT)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(0) => Err(Ending::Gone(format!("it has not read its answers for {ANSWER_WITHIN_MS} ms"))),
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(self.server.answer(outgoing)?),
            Err(errno) => Err(Ending::Gone(errno.to_string())),
        }
    }
}

impl<E: Edge> AsFd for EdgeLink<E> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.server.as_fd()
    }
}

impl<E: Edge> Link for EdgeLink<E> {
    fn edge(&self) -> EdgeId {
        E::ID
    }

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), Ending> {
        for _ in 0..MAX_ASKS_PER_ROUND {
            let Some(incoming) = self.server.receive(buffer)? else { break };
            self.serve(incoming, memory)?;
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        self.held.iter().any(|(_, round)| round.is_some())
    }

    fn release(&mut self, memory: &Memory) -> Result<(), Ending> {
        for (outgoing, round) in std::mem::take(&mut self.held) {
            let failure = round.and_then(|round| memory.failure(round));
            self.send(match failure {
                Some(why) => outgoing.refuse(why.clone()),
                None => outgoing,
            })?;
        }
        Ok(())
    }
}

/// The owner's link: as the others, but a verification is worked on in slices.
struct OwnersLink {
    link: EdgeLink<CtlMemoryd>,
    verifying: Option<(u64, TraceId, Verify)>,
}

impl AsFd for OwnersLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

impl Link for OwnersLink {
    fn edge(&self) -> EdgeId {
        CtlMemoryd::ID
    }

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), Ending> {
        for _ in 0..MAX_ASKS_PER_ROUND {
            let Some(incoming) = self.link.server.receive(buffer)? else { break };
            match incoming.ask {
                ctl_memoryd::Ask::Verify(ref ask) => {
                    if self.verifying.is_some() {
                        return Err(Ending::Violation("`verify` while one is going on".to_owned()));
                    }
                    let [anchors] = &incoming.fds[..] else {
                        return Err(Ending::Violation("`verify` without its anchors".to_owned()));
                    };
                    memory.catch_up();
                    match verification(memory, ask, anchors) {
                        Ok(verify) => self.verifying = Some((incoming.request, incoming.trace, verify)),
                        Err(No::Refused(refusal)) => {
                            let answer = ctl_memoryd::Answer::Refused(refusal);
                            self.hold(incoming.request, incoming.trace, answer);
                        }
                        Err(No::Violation(what)) => return Err(Ending::Violation(what)),
                    }
                }
                ctl_memoryd::Ask::Tail(_)
                | ctl_memoryd::Ask::Recollect(_)
                | ctl_memoryd::Ask::Rehearse(_)
                | ctl_memoryd::Ask::Look(_)
                | ctl_memoryd::Ask::OwnersAct(_)
                | ctl_memoryd::Ask::Mnests(_)
                | ctl_memoryd::Ask::MemoryStatus(_) => {
                    self.link.serve(incoming, memory)?;
                }
            }
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        self.link.holds()
    }

    fn release(&mut self, memory: &Memory) -> Result<(), Ending> {
        self.link.release(memory)
    }

    fn work(&mut self, memory: &mut Memory) -> Result<bool, Ending> {
        let Some((request, trace, verify)) = &mut self.verifying else { return Ok(false) };
        let answer = match verify.step(memory.chronicle(), VERIFY_SLICE_BYTES) {
            Ok(None) => return Ok(true),
            Ok(Some(report)) => ctl_memoryd::Answer::Verify(report),
            Err(error) => ctl_memoryd::Answer::Refused(error.to_refusal()),
        };
        let (request, trace) = (*request, *trace);
        self.verifying = None;
        self.hold(request, trace, answer);
        self.link.release(memory)?;
        Ok(false)
    }
}

/// policyd's link: as the others, and it hears the head of the chain unasked.
struct PolicydLink(EdgeLink<PolicydMemoryd>);

impl AsFd for PolicydLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Link for PolicydLink {
    fn edge(&self) -> EdgeId {
        self.0.edge()
    }

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), Ending> {
        self.0.take(memory, buffer)
    }

    fn holds(&self) -> bool {
        self.0.holds()
    }

    fn release(&mut self, memory: &Memory) -> Result<(), Ending> {
        self.0.release(memory)
    }

    /// A peer that does not read now is told with the next head: nobody waits.
    fn tell_head(&mut self, head: &ChainHead) -> Result<bool, Ending> {
        told(self.0.server.note(&policyd_memoryd::Note::ChainHead(head.clone())))
    }
}

/// Whether a note has left: a peer that does not read now is not waited for.
fn told(left: Result<(), LinkError>) -> Result<bool, Ending> {
    match left {
        Ok(()) => Ok(true),
        Err(LinkError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// syntd's link: as the others, and it hears unasked that there is something to fetch.
struct SyntdLink(EdgeLink<SyntdMemoryd>);

impl AsFd for SyntdLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Link for SyntdLink {
    fn edge(&self) -> EdgeId {
        self.0.edge()
    }

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), Ending> {
        self.0.take(memory, buffer)
    }

    fn holds(&self) -> bool {
        self.0.holds()
    }

    fn release(&mut self, memory: &Memory) -> Result<(), Ending> {
        self.0.release(memory)
    }

    /// A peer that does not read now asks for all of it when it is started anew, or when the ager comes again.
    fn tell_ager_came(&mut self) -> Result<bool, Ending> {
        told(self.0.server.note(&syntd_memoryd::Note::AgerCame(AgerCame {})))
    }
}

impl OwnersLink {
    fn hold(&mut self, request: u64, trace: TraceId, answer: ctl_memoryd::Answer) {
        self.link.held.push((Outgoing { request, trace, answer, fds: Vec::new() }, None));
    }
}

/// Takes an end for the link that it is.
///
/// # Errors
/// When it is no end that memoryd answers, or its peer is gone already.
pub fn accept(raw: RawEnd) -> Result<Box<dyn Link>, Ending> {
    Ok(match raw.edge {
        EdgeId::DoorMemoryd => {
            Box::new(EdgeLink::<DoorMemoryd>::new(raw, |link, ask, to| door_memoryd::dispatch(link, ask, to))?)
        }
        EdgeId::PlannerMemoryd => {
            Box::new(EdgeLink::<PlannerMemoryd>::new(raw, |link, ask, to| planner_memoryd::dispatch(link, ask, to))?)
        }
        EdgeId::SyntdMemoryd => {
            let link = EdgeLink::<SyntdMemoryd>::new(raw, |link, ask, to| syntd_memoryd::dispatch(link, ask, to))?;
            Box::new(SyntdLink(link))
        }
        EdgeId::PolicydMemoryd => {
            let link = EdgeLink::<PolicydMemoryd>::new(raw, |link, ask, to| policyd_memoryd::dispatch(link, ask, to))?;
            Box::new(PolicydLink(link))
        }
        EdgeId::SandboxdMemoryd => {
            Box::new(EdgeLink::<SandboxdMemoryd>::new(raw, |link, ask, to| sandboxd_memoryd::dispatch(link, ask, to))?)
        }
        EdgeId::CtlMemoryd => {
            let link = EdgeLink::<CtlMemoryd>::new(raw, |link, ask, to| ctl_memoryd::dispatch(link, ask, to))?;
            Box::new(OwnersLink { link, verifying: None })
        }
        EdgeId::CtlDoor
        | EdgeId::DoorPlanner
        | EdgeId::DoorPolicyd
        | EdgeId::DoorMind
        | EdgeId::PlannerPolicyd
        | EdgeId::PlannerMind
        | EdgeId::SyntdMind
        | EdgeId::SyntdPolicyd
        | EdgeId::PolicydSandboxd
        | EdgeId::PolicydMind
        | EdgeId::CtlPolicyd
        | EdgeId::CtlSandboxd
        | EdgeId::CtlMind => {
            return Err(Ending::Violation(format!("an end of {:?}, which memoryd does not hold", raw.edge)));
        }
    })
}
