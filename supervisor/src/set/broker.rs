//! Who holds which channel: the pure core that says which pairs have to be made when daemons come and go.
//! It must never do anything itself, and nothing in this file may keep an end of a channel.
//!
//! # The seam
//! [`Broker`] is fed with what happened (daemons have a control line: [`Broker::arrived`]; a daemon is gone:
//! [`Broker::gone`]; a channel was closed by a breach: [`Broker::broken`]) and answers with the pairs to make
//! now, as [`Wire`]s. [`wire`] is the only place where a pair is made: it hands each end over a control line
//! ([`ControlLines`]) and closes it here at once. How a daemon came by its control line is no business of either:
//!
//! * spawn mode ([`crate::process::spawn`]) starts the daemon with the line as descriptor 0, so it *arrives* when it is
//!   started;
//! * with one systemd unit per daemon, a daemon *arrives* when it has connected to the rendezvous socket and the
//!   kernel has said who it is (`SO_PEERCRED`, pidfd, unit of its cgroup). Several at once need not arrive
//!   together: an edge is wired when the second of its two daemons is there. A supervisor that comes back and
//!   finds the control lines in the descriptor store says so with [`Broker::resumed`]: the channels between the
//!   daemons never passed through it and live on, so nothing is wired anew.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use metnos_proto::control::EdgeEnd;
use metnos_proto::edge::{PeerCred, Side};
use metnos_proto::edges::EdgeId;
use metnos_proto::role::RoleName;

/// A pair to be made now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wire {
    /// For this edge.
    pub edge: EdgeId,
    /// Its generation, larger than that of any earlier pair of the same edge.
    pub generation: u32,
}

/// How an edge stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// How often a pair was made for it.
    pub generation: u32,
    /// Whether both daemons were handed their end, and live.
    pub up: bool,
}

/// What the supervisor knows of the channels. It has none of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    live: BTreeSet<RoleName>,
    edges: BTreeMap<EdgeId, Channel>,
}

impl Default for Broker {
    fn default() -> Self {
        Self {
            live: BTreeSet::new(),
            edges: EdgeId::ALL.iter().map(|edge| (*edge, Channel { generation: 0, up: false })).collect(),
        }
    }
}

impl Broker {
    /// The broker of a supervisor that comes back to daemons which went on without it: who is there, and the
    /// generation that each edge had.
    #[must_use]
    pub fn resumed(live: &[RoleName], generations: &[(EdgeId, u32)]) -> Self {
        let mut broker = Self { live: live.iter().copied().collect(), ..Self::default() };
        for (edge, generation) in generations {
            let up = *generation > 0 && broker.both_live(*edge);
            broker.edges.insert(*edge, Channel { generation: *generation, up });
        }
        broker
    }

    /// These daemons now have a control line. One that was there before has been replaced by a new process.
    #[must_use]
    pub fn arrived(&mut self, roles: &[RoleName]) -> Vec<Wire> {
        for role in roles {
            self.gone(*role);
        }
        self.live.extend(roles);
        let theirs = |edge: &EdgeId| roles.contains(&edge.asker()) || roles.contains(&edge.answerer());
        let between: Vec<EdgeId> = self.edges.keys().copied().filter(|edge| !edge.is_admin() && theirs(edge)).collect();
        between.into_iter().filter_map(|edge| self.wire_if_needed(edge)).collect()
    }

    /// This daemon is gone, and with it its ends.
    pub fn gone(&mut self, role: RoleName) {
        self.live.remove(&role);
        for (edge, channel) in &mut self.edges {
            if edge.asker() == role || edge.answerer() == role {
                channel.up = false;
            }
        }
    }

    /// One of the two closed this channel, because the other broke the protocol. Wired anew by
    /// [`Broker::mended`], after a pause that the caller chooses.
    pub fn broken(&mut self, edge: EdgeId) {
        if let Some(channel) = self.edges.get_mut(&edge) {
            channel.up = false;
        }
    }

    /// The pause after [`Broker::broken`] is over: a fresh pair, unless one was made meanwhile or a daemon is
    /// missing.
    #[must_use]
    pub fn mended(&mut self, edge: EdgeId) -> Option<Wire> {
        if edge.is_admin() { None } else { self.wire_if_needed(edge) }
    }

    /// `metnosctl` wants to speak to this daemon: a pair of the admin edge. `None` when there is no such edge or
    /// the daemon is not there.
    #[must_use]
    pub fn admin(&mut self, role: RoleName) -> Option<Wire> {
        let edge = EdgeId::admin_of(role)?;
        if !self.live.contains(&role) {
            return None;
        }
        self.next(edge, false)
    }

    /// The edges between daemons, in order of their numbers.
    pub fn between(&self) -> impl Iterator<Item = (EdgeId, Channel)> {
        self.edges.iter().filter(|(edge, _)| !edge.is_admin()).map(|(edge, channel)| (*edge, *channel))
    }

    /// Whether this daemon has a control line.
    #[must_use]
    pub fn is_live(&self, role: RoleName) -> bool {
        self.live.contains(&role)
    }

    fn both_live(&self, edge: EdgeId) -> bool {
        self.live.contains(&edge.asker()) && self.live.contains(&edge.answerer())
    }

    fn wire_if_needed(&mut self, edge: EdgeId) -> Option<Wire> {
        let up = self.edges.get(&edge).is_some_and(|channel| channel.up);
        if up || !self.both_live(edge) { None } else { self.next(edge, true) }
    }

    /// `None` after four thousand million generations: the edge then stays down, which shows.
    fn next(&mut self, edge: EdgeId, up: bool) -> Option<Wire> {
        let channel = self.edges.get_mut(&edge)?;
        channel.generation = channel.generation.checked_add(1)?;
        channel.up = up;
        Some(Wire { edge, generation: channel.generation })
    }
}

/// The control lines to the daemons, as a front end has them.
pub trait ControlLines {
    /// Hands an end to a daemon. The descriptor is closed here whether it went or not.
    ///
    /// # Errors
    /// When the daemon is gone or does not read: it must then be ended, since it lacks an end.
    fn hand(&mut self, to: RoleName, end: EdgeEnd, fd: OwnedFd) -> Result<(), HandoverError>;
}

/// Why an end could not be made or handed over.
#[derive(Debug, thiserror::Error)]
#[error("no end of {edge:?} for {role}: {why}")]
pub struct HandoverError {
    /// Who lacks it.
    pub role: RoleName,
    /// Of which edge.
    pub edge: EdgeId,
    /// Why.
    pub why: String,
}

/// Makes these pairs and hands both ends over. Each failure names the daemon that now lacks an end.
#[must_use]
pub fn wire(wires: &[Wire], lines: &mut impl ControlLines) -> Vec<HandoverError> {
    let mut failures = Vec::new();
    for wire in wires {
        match pair(wire.edge, wire.edge.answerer()) {
            Ok((asker, answerer)) => {
                for (side, role, fd) in
                    [(Side::Asker, wire.edge.asker(), asker), (Side::Answerer, wire.edge.answerer(), answerer)]
                {
                    failures.extend(lines.hand(role, end(*wire, side, None), fd).err());
                }
            }
            Err(error) => failures.push(error),
        }
    }
    failures
}

/// Makes a pair of an admin edge: the daemon is handed the answering end and who asks; the asking end
/// comes back, for `metnosctl`.
///
/// # Errors
/// When there is no descriptor left, or the daemon could not be handed its end.
pub fn connect(wire: Wire, peer: PeerCred, lines: &mut impl ControlLines) -> Result<(EdgeEnd, OwnedFd), HandoverError> {
    let (asker, answerer) = pair(wire.edge, wire.edge.answerer())?;
    lines.hand(wire.edge.answerer(), end(wire, Side::Answerer, Some(peer)), answerer)?;
    Ok((end(wire, Side::Asker, None), asker))
}

fn pair(edge: EdgeId, role: RoleName) -> Result<(OwnedFd, OwnedFd), HandoverError> {
    metnos_proto::socket::pair_for(edge).map_err(|error| HandoverError { role, edge, why: error.to_string() })
}

fn end(wire: Wire, side: Side, peer: Option<PeerCred>) -> EdgeEnd {
    EdgeEnd { edge: wire.edge, side, generation: wire.generation, peer }
}

#[cfg(test)]
#[path = "broker_tests.rs"]
mod tests;
