//! The socket on which `metnosctl` asks the supervisor. The kernel says who is there. The owner and root may ask everything
//! that there is to ask; any other user of the machine gets a way to the door, which asks policyd who he is, and nothing
//! else, from places that are not the owner's and only so often. Everything about a client is bounded: how many, how long
//! idle, how long an answer may take.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use metnos_proto::control::{self, Connect, CtlAnswer, CtlAsk};
use metnos_proto::edge::PeerCred;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::role::RoleName;
use metnos_proto::socket;
use rustix::fs::{AtFlags, Mode, Uid};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::event::{CtlRequest, Event, Reply};

/// The name of the socket in the instance's `run` directory.
pub const SOCKET: &str = "control.sock";
/// The most clients at a time.
pub const MAX_CLIENTS: usize = 32;
/// The most clients that are neither the owner nor root, at a time; they take no place of his.
pub const MAX_OTHERS: usize = 8;
/// How often another user may come at once, and how long each coming counts, in milliseconds: enough for a script of his,
/// and nothing to the supervisor.
const KNOCKS: u32 = 64;
const KNOCK_MS: u64 = 250;
/// The most users whose knocks are counted.
const MAX_USERS: usize = 256;
/// How many connections may wait to be accepted.
const BACKLOG: i32 = 128;
/// How long a client may say nothing, in milliseconds.
pub const IDLE_WITHIN_MS: u64 = 60_000;
/// How long any answer may take; a restart takes longest.
pub const ANSWER_WITHIN_MS: u64 = 30_000;
/// How long a client that is refused may take to ask, in milliseconds.
pub const REFUSE_WITHIN_MS: u64 = 1_000;
/// The pause after the system had no descriptor left for a client.
const ACCEPT_PAUSE_MS: u64 = 200;

/// Makes the listening socket, in place of a stale one: the caller holds the instance's lock.
///
/// # Errors
/// When it cannot be made or given to the owner.
pub fn listen(run: &OwnedFd, run_path: &Path, owner_uid: u32) -> io::Result<OwnedFd> {
    match rustix::fs::unlinkat(run, SOCKET, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let listener = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    // A path that is too long for an address is reached through the open directory.
    let address = SocketAddrUnix::new(run_path.join(SOCKET))
        .or_else(|_| SocketAddrUnix::new(format!("/proc/self/fd/{}/{SOCKET}", std::os::fd::AsRawFd::as_raw_fd(run))))?;
    // Everybody of this machine may knock; what he may then ask depends on who the kernel says he is.
    let before = rustix::process::umask(Mode::from(0o111));
    let bound = rustix::net::bind(&listener, &address);
    rustix::process::umask(before);
    bound?;
    if rustix::process::geteuid().is_root() {
        rustix::fs::chownat(run, SOCKET, Some(Uid::from_raw(owner_uid)), None, AtFlags::SYMLINK_NOFOLLOW)?;
    }
    rustix::net::listen(&listener, BACKLOG)?;
    Ok(listener)
}

/// Serves the socket for ever. Must run inside a [`tokio::task::LocalSet`].
pub async fn serve(listener: AsyncFd<OwnedFd>, owner_uid: u32, events: mpsc::Sender<Event>) {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    let others = Arc::new(Semaphore::new(MAX_OTHERS));
    let refusals = Arc::new(Semaphore::new(MAX_CLIENTS));
    let mut rate = ConnectionRate::default();
    let began = std::time::Instant::now();
    let refuse = |client: OwnedFd, refusal: Refusal| {
        // Anyone who is refused while as many others are is left silently.
        if let Ok(place) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::task::spawn_local(refuse(client, refusal, place));
        }
    };
    loop {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = listener
            .async_io(Interest::READABLE, |fd| rustix::net::accept_with(fd, flags).map_err(io::Error::from))
            .await;
        let client = match accepted {
            Ok(client) => client,
            Err(error) => {
                tracing::warn!(%error, "a client could not be accepted");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                continue;
            }
        };
        let peer = match who(&client) {
            Ok(peer) => peer,
            Err(refusal) => {
                refuse(client, refusal);
                continue;
            }
        };
        let is_owner = peer.uid == 0 || peer.uid == owner_uid;
        if !is_owner && !rate.admit(peer.uid, began.elapsed()) {
            // Anyone who comes this often learns nothing at all.
            continue;
        }
        let room = if is_owner { &places } else { &others };
        let Ok(place) = Arc::clone(room).try_acquire_owned() else {
            let why = format!("{MAX_CLIENTS} others speak to the supervisor at this moment");
            refuse(client, Refusal::new(RefusalCode::Busy, "supervisor.clients", why).remedy("try again in a moment"));
            continue;
        };
        let events = events.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = converse(client, peer, is_owner, events).await {
                tracing::debug!(pid = peer.pid, %error, "a client left");
            }
            drop(place);
        });
    }
}

/// Who is there, says the kernel.
fn who(client: &OwnedFd) -> Result<PeerCred, Refusal> {
    let cred = rustix::net::sockopt::socket_peercred(client).map_err(|errno| {
        Refusal::new(RefusalCode::Internal, "supervisor.peer", format!("the kernel does not say who asks: {errno}"))
    })?;
    Ok(PeerCred { pid: u32::try_from(cred.pid.as_raw_nonzero().get()).unwrap_or(0), uid: cred.uid.as_raw() })
}

/// What a person who is not the owner may ask: a way to the door, which asks policyd who he is. Nothing else.
fn for_everybody(ask: &CtlAsk, uid: u32) -> Result<(), Refusal> {
    match ask {
        CtlAsk::Connect(Connect { role: RoleName::Gatewayd }) => Ok(()),
        CtlAsk::Connect(_) | CtlAsk::Survey(_) | CtlAsk::Restart(_) | CtlAsk::Shutdown(_) => {
            tracing::warn!(uid, "a user who is not the owner asked for what only the owner may ask");
            let why = format!("this is for the owner of the instance, and uid {uid} asks");
            Err(Refusal::new(RefusalCode::Denied, "supervisor.owner", why)
                .remedy("`metnosctl ask` and `metnosctl chat` are open to whom the owner has paired"))
        }
    }
}

/// How often users that are not the owner have come of late.
#[derive(Debug, Default)]
struct ConnectionRate(BTreeMap<u32, (u32, u64)>);

impl ConnectionRate {
    fn admit(&mut self, uid: u32, now: Duration) -> bool {
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let left = |(count, at): (u32, u64)| {
            count.saturating_sub(u32::try_from(now_ms.saturating_sub(at) / KNOCK_MS).unwrap_or(u32::MAX))
        };
        if !self.0.contains_key(&uid) && self.0.len() >= MAX_USERS {
            self.0.retain(|_, it| left(*it) > 0);
        }
        if !self.0.contains_key(&uid) && self.0.len() >= MAX_USERS {
            return false;
        }
        let it = self.0.entry(uid).or_insert((0, now_ms));
        let count = left(*it);
        if count >= KNOCKS {
            return false;
        }
        *it = (count + 1, if count == 0 { now_ms } else { it.1 + (now_ms.saturating_sub(it.1) / KNOCK_MS) * KNOCK_MS });
        true
    }
}

/// Answers the first packet of a client, whatever it says, with no. Not sooner: closing a socket that has unread
/// packets would take the refusal away from him as well.
async fn refuse(client: OwnedFd, refusal: Refusal, _place: OwnedSemaphorePermit) {
    let Ok(client) = metnos_proto::sys::watch(client) else { return };
    let mut buffer = socket::buffer();
    let packet = client.async_io(Interest::READABLE, |fd| socket::receive(fd.as_fd(), &mut buffer));
    if let Ok(Ok(Some(_))) = tokio::time::timeout(Duration::from_millis(REFUSE_WITHIN_MS), packet).await
        && let Err(error) = control::send(client.get_ref().as_fd(), &CtlAnswer::Refused(refusal), None)
    {
        tracing::debug!(%error, "a refused client did not wait for the answer");
    }
}

/// One question after the other, until the client leaves, idles, or says what is none.
async fn converse(
    client: OwnedFd,
    peer: PeerCred,
    is_owner: bool,
    events: mpsc::Sender<Event>,
) -> Result<(), control::ControlError> {
    metnos_proto::sys::refuse_rights(&client)?;
    let client = metnos_proto::sys::watch(client)?;
    let mut buffer = socket::buffer();
    loop {
        let question =
            client.async_io(Interest::READABLE, |fd| match control::receive::<CtlAsk>(fd.as_fd(), &mut buffer) {
                Ok(Some((ask, _))) => Ok(Ok(ask)),
                Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
                Err(error) => Ok(Err(error)),
            });
        let within = if is_owner { IDLE_WITHIN_MS } else { REFUSE_WITHIN_MS };
        let Ok(ask) = tokio::time::timeout(Duration::from_millis(within), question).await else {
            return Ok(());
        };
        let ask = ask??;
        if !is_owner && let Err(refusal) = for_everybody(&ask, peer.uid) {
            return control::send(client.get_ref().as_fd(), &CtlAnswer::Refused(refusal), None);
        }
        let (reply, answer) = oneshot::channel();
        if events.send(Event::Request(CtlRequest { peer, ask, reply })).await.is_err() {
            return Ok(());
        }
        let reply = match tokio::time::timeout(Duration::from_millis(ANSWER_WITHIN_MS), answer).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => refused(RefusalCode::Unavailable, "supervisor.stopping", "the supervisor is stopping"),
            Err(_) => refused(RefusalCode::Internal, "supervisor.late", "the supervisor has no answer in time"),
        };
        control::send(client.get_ref().as_fd(), &reply.answer, reply.fd.as_ref().map(AsFd::as_fd))?;
        if !is_owner {
            return Ok(());
        }
    }
}

/// A refusal as a reply.
#[must_use]
pub fn refused(code: RefusalCode, rule: &str, why: impl Into<String>) -> Reply {
    CtlAnswer::Refused(Refusal::new(code, rule, why)).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use metnos_proto::control::{Restart, Shutdown, Survey};

    #[test]
    fn non_owner_gets_a_channel_to_the_door_only() {
        let connect = |role| CtlAsk::Connect(Connect { role });
        assert!(for_everybody(&connect(RoleName::Gatewayd), 4711).is_ok());
        for role in RoleName::daemons().filter(|role| *role != RoleName::Gatewayd) {
            assert!(for_everybody(&connect(role), 4711).is_err(), "{role}");
        }
        let role = RoleName::Policyd;
        for ask in [CtlAsk::Survey(Survey {}), CtlAsk::Restart(Restart { role }), CtlAsk::Shutdown(Shutdown {})] {
            assert!(for_everybody(&ask, 4711).is_err(), "{ask:?}");
        }
    }

    #[test]
    fn knocks_are_counted_per_user_and_forgotten_with_time() {
        let mut rate = ConnectionRate::default();
        let at = Duration::from_millis;
        assert!((0..KNOCKS).all(|_| rate.admit(1, at(5))));
        assert!(!rate.admit(1, at(5)) && rate.admit(2, at(5)));
        assert!(rate.admit(1, at(5 + KNOCK_MS)) && !rate.admit(1, at(5 + KNOCK_MS)));
        let mut rate = ConnectionRate::default();
        let many = u32::try_from(MAX_USERS).unwrap_or(u32::MAX);
        assert!((0..many).all(|uid| rate.admit(uid, at(0))));
        assert!(!rate.admit(many, at(0)), "and no map grows with those who knock");
        assert!(rate.admit(many, at(KNOCK_MS)));
    }
}
