//! The links as the loop holds them: asks come in, answers are held back until what they promise is on the disk.

use std::os::fd::{AsFd, BorrowedFd};

use metnos_proto::edge::{AnswererEnd, Edge, RawEnd, ServeError, Word};
use metnos_proto::edges::{
    CtlMemoryd, DoorMemoryd, EdgeId, PlannerMemoryd, PolicydMemoryd, SandboxdMemoryd, SyntdMemoryd, ctl_memoryd,
    door_memoryd, planner_memoryd, policyd_memoryd, sandboxd_memoryd, syntd_memoryd,
};
use metnos_proto::ids::{SessionId, TraceId};
use metnos_proto::link::{BlockingServer, Incoming, LinkError, Outgoing};
use metnos_proto::msg::memoryd::{AgerProposed, ChainHead};
use metnos_proto::msg::schedule::FiringDue;
use metnos_proto::phase::VerifyPhase;

use crate::chronicle::store::MAX_ROUND_BYTES;
use crate::chronicle::verify::Verify;
use crate::memory::Memory;
use crate::serve::{Service, verification};

/// How many asks of one link are taken in one round, so that no peer starves the others.
pub const MAX_ASKS_PER_ROUND: usize = 64;
/// How long an asker that does not read its answers may hold up the others, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 100;
/// How many bytes of the chronicle are verified in one round.
pub const VERIFY_SLICE_BYTES: u64 = 2 * 1024 * 1024;

/// Words that need no look-up but those of their turn and call, which [`Memory`] brings up to date by itself. All others are
/// answered when everything that is durable has been derived from.
const WITHOUT_DERIVING: [&str; 7] =
    ["received", "system_event", "direct_turn", "decision", "started", "ended", "direct_turn_done"];

/// Why a link ends.
#[derive(Debug)]
pub enum LinkEnd {
    /// The peer is gone, or does not read.
    Gone(String),
    /// The peer broke the protocol.
    Violation(String),
}

impl From<LinkError> for LinkEnd {
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

/// What a peer receives without having asked.
#[derive(Debug)]
pub enum Notification {
    /// The head of the chain, to policyd, which signs it.
    Head(ChainHead),
    /// That the ager has proposed something, to syntd, which carries it on.
    AgerProposed,
    /// When the next schedule is due, to the door, which fires it.
    FiringDue(FiringDue),
}

/// A link, whatever its edge.
pub trait Link: AsFd {
    /// Which edge it is.
    fn edge(&self) -> EdgeId;

    /// Takes what has come, at most [`MAX_ASKS_PER_ROUND`] asks; their answers are held.
    ///
    /// # Errors
    /// When the link has ended.
    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), LinkEnd>;

    /// Whether an answer is held until what it promises is on the disk.
    fn holds(&self) -> bool;

    /// Lets the held answers go; what was promised and is not on the disk becomes a refusal.
    ///
    /// # Errors
    /// When the link has ended.
    fn release(&mut self, memory: &Memory) -> Result<(), LinkEnd>;

    /// Sends the peer a notification, if it is for this edge; whether it was sent.
    ///
    /// # Errors
    /// When the link has ended.
    fn notify(&mut self, unasked: &Notification) -> Result<bool, LinkEnd>;

    /// Goes on with what takes longer than a round; `true` while there is more to do.
    ///
    /// # Errors
    /// When the link has ended.
    fn work(&mut self, memory: &mut Memory) -> Result<bool, LinkEnd> {
        let _ = memory;
        Ok(false)
    }
}

type Dispatch<E> = fn(&BlockingServer<E>, Incoming<E>, &mut Service<'_>) -> Result<Outgoing<E>, ServeError>;
/// The note of an edge for a notification, if it is for the peer of that edge.
type Notes<E> = fn(&Notification) -> Option<<E as Edge>::Note>;

/// A link of edge `E`.
struct EdgeLink<E: Edge> {
    server: BlockingServer<E>,
    session: SessionId,
    dispatch: Dispatch<E>,
    notes: Notes<E>,
    /// Answers, and the round whose flush they wait for, if they wait for one.
    held: Vec<(Outgoing<E>, Option<u64>)>,
}

impl<E: Edge> EdgeLink<E> {
    fn new(raw: RawEnd, dispatch: Dispatch<E>) -> Result<Self, LinkEnd> {
        let end = AnswererEnd::<E>::new(raw).map_err(|error| LinkEnd::Violation(error.to_string()))?;
        let server = BlockingServer::new(end)?;
        Ok(Self { server, session: SessionId::new(), dispatch, notes: |_| None, held: Vec::new() })
    }

    fn with_notes(self, notes: Notes<E>) -> Self {
        Self { notes, ..self }
    }

    fn serve(&mut self, incoming: Incoming<E>, memory: &mut Memory) -> Result<(), LinkEnd> {
        let word = incoming.ask.name();
        if !WITHOUT_DERIVING.contains(&word)
            && let Err(error) = memory.derive()
        {
            tracing::error!(%error, "what was recorded was not derived from");
        }
        let waiting = memory.staged_so_far();
        let mut service = Service { memory, session: self.session, verify: VerifyPhase::Free };
        match (self.dispatch)(&self.server, incoming, &mut service) {
            Ok(outgoing) => {
                let waits = (memory.staged_so_far() > waiting).then(|| memory.round());
                self.held.push((outgoing, waits));
            }
            Err(ServeError::Violation(what)) => return Err(LinkEnd::Violation(format!("`{word}`: {what}"))),
            Err(ServeError::Refused(refusal)) => return Err(LinkEnd::Violation(format!("`{word}`: {refusal}"))),
        }
        if memory.waiting_bytes() > MAX_ROUND_BYTES
            && let Err(error) = memory.flush()
        {
            tracing::error!(%error, "nothing was recorded in this round");
        }
        Ok(())
    }

    /// Sends one answer. An asker that lets its answers pile up is not waited for.
    fn send(&self, outgoing: Outgoing<E>) -> Result<(), LinkEnd> {
        match self.server.answer_within(outgoing, ANSWER_WITHIN_MS) {
            Err(LinkError::Stuck) => {
                Err(LinkEnd::Gone(format!("it has not read its answers for {ANSWER_WITHIN_MS} ms")))
            }
            sent => Ok(sent?),
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

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), LinkEnd> {
        for _ in 0..MAX_ASKS_PER_ROUND {
            let Some(incoming) = self.server.receive(buffer)? else { break };
            self.serve(incoming, memory)?;
        }
        Ok(())
    }

    fn holds(&self) -> bool {
        self.held.iter().any(|(_, round)| round.is_some())
    }

    fn release(&mut self, memory: &Memory) -> Result<(), LinkEnd> {
        for (outgoing, round) in std::mem::take(&mut self.held) {
            let failure = round.and_then(|round| memory.failure(round));
            self.send(match failure {
                Some(why) => outgoing.refuse(why.clone()),
                None => outgoing,
            })?;
        }
        Ok(())
    }

    /// A peer that does not read now is not waited for: it receives the next one, or asks when it is restarted.
    fn notify(&mut self, unasked: &Notification) -> Result<bool, LinkEnd> {
        let Some(note) = (self.notes)(unasked) else { return Ok(false) };
        match self.server.note(&note) {
            Ok(()) => Ok(true),
            Err(LinkError::Io(error)) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error.into()),
        }
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

    fn take(&mut self, memory: &mut Memory, buffer: &mut [u8]) -> Result<(), LinkEnd> {
        for _ in 0..MAX_ASKS_PER_ROUND {
            let Some(incoming) = self.link.server.receive(buffer)? else { break };
            match incoming.ask {
                ctl_memoryd::Ask::Verify(ref ask) => {
                    let verify = match self.verifying {
                        Some(_) => VerifyPhase::Verifying,
                        None => VerifyPhase::Free,
                    };
                    let mut service = Service { memory, session: self.link.session, verify };
                    ctl_memoryd::admit_blocking(&self.link.server, &incoming.ask, &mut service).map_err(
                        |no| match no {
                            ServeError::Violation(what) => LinkEnd::Violation(what),
                            ServeError::Refused(refusal) => LinkEnd::Violation(refusal.to_string()),
                        },
                    )?;
                    let [anchors] = &incoming.fds[..] else {
                        return Err(LinkEnd::Violation("`verify` without its anchors".to_owned()));
                    };
                    memory.catch_up();
                    match verification(memory, ask, anchors) {
                        Ok(verify) => self.verifying = Some((incoming.request, incoming.trace, verify)),
                        Err(ServeError::Refused(refusal)) => {
                            let answer = ctl_memoryd::Answer::Refused(refusal);
                            self.hold(incoming.request, incoming.trace, answer);
                        }
                        Err(ServeError::Violation(what)) => return Err(LinkEnd::Violation(what)),
                    }
                }
                ctl_memoryd::Ask::Tail(_)
                | ctl_memoryd::Ask::Recollect(_)
                | ctl_memoryd::Ask::Rehearse(_)
                | ctl_memoryd::Ask::Query(_)
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

    fn release(&mut self, memory: &Memory) -> Result<(), LinkEnd> {
        self.link.release(memory)
    }

    fn notify(&mut self, unasked: &Notification) -> Result<bool, LinkEnd> {
        self.link.notify(unasked)
    }

    fn work(&mut self, memory: &mut Memory) -> Result<bool, LinkEnd> {
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

impl OwnersLink {
    fn hold(&mut self, request: u64, trace: TraceId, answer: ctl_memoryd::Answer) {
        self.link.held.push((Outgoing { request, trace, answer, fds: Vec::new() }, None));
    }
}

/// Takes an end for the link that it is.
///
/// # Errors
/// When it is no end that memoryd answers, or its peer is gone already.
pub fn accept(raw: RawEnd) -> Result<Box<dyn Link>, LinkEnd> {
    Ok(match raw.edge {
        EdgeId::DoorMemoryd => {
            let link = EdgeLink::<DoorMemoryd>::new(raw, |link, ask, to| door_memoryd::dispatch(link, ask, to))?;
            Box::new(link.with_notes(|unasked| match unasked {
                Notification::FiringDue(due) => Some(door_memoryd::Note::FiringDue(due.clone())),
                Notification::AgerProposed | Notification::Head(_) => None,
            }))
        }
        EdgeId::PlannerMemoryd => {
            Box::new(EdgeLink::<PlannerMemoryd>::new(raw, |link, ask, to| planner_memoryd::dispatch(link, ask, to))?)
        }
        EdgeId::SyntdMemoryd => {
            let link = EdgeLink::<SyntdMemoryd>::new(raw, |link, ask, to| syntd_memoryd::dispatch(link, ask, to))?;
            Box::new(link.with_notes(|unasked| match unasked {
                Notification::AgerProposed => Some(syntd_memoryd::Note::AgerProposed(AgerProposed {})),
                Notification::Head(_) | Notification::FiringDue(_) => None,
            }))
        }
        EdgeId::PolicydMemoryd => {
            let link = EdgeLink::<PolicydMemoryd>::new(raw, |link, ask, to| policyd_memoryd::dispatch(link, ask, to))?;
            Box::new(link.with_notes(|unasked| match unasked {
                Notification::Head(head) => Some(policyd_memoryd::Note::ChainHead(head.clone())),
                Notification::AgerProposed | Notification::FiringDue(_) => None,
            }))
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
        | EdgeId::CtlMind
        | EdgeId::CtlSyntd => {
            return Err(LinkEnd::Violation(format!("an end of {:?}, which memoryd does not hold", raw.edge)));
        }
    })
}
