//! The way to the daemons: the supervisor's socket, and the ends of edges that it hands out
//! once the kernel has said who asks. There is no other way, and this file opens none.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use metnos_proto::control::{self, Connect, ControlError, CtlAnswer, CtlAsk, Restart, Shutdown, Survey, Surveyed};
use metnos_proto::doc::{Doc, Document};
use metnos_proto::edge::{AskerEnd, Edge};
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::common::{Refusal, RefusalCode};
use metnos_proto::payload::Sealed;
use metnos_proto::role::{Ctl, Role, RoleName};
use metnos_proto::socket;
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use serde_json::Value;

use crate::error::CtlError;
use crate::instance::{Instance, RUN, SOCKET};

/// How long the supervisor has for an answer, in milliseconds.
pub const ANSWER_WITHIN_MS: u64 = 5_000;
/// How long a daemon has to come back after a restart, in milliseconds.
pub const RESTART_WITHIN_MS: u64 = 30_000;
/// How long to wait for a daemon that is just being restarted, in milliseconds.
pub const PATIENCE_MS: u64 = 3_000;
/// How long between two tries meanwhile, in milliseconds.
const TRY_AGAIN_MS: u64 = 50;

/// The line to the supervisor of one instance.
#[derive(Debug)]
pub struct Connection {
    fd: OwnedFd,
    buffer: Vec<u8>,
}

impl Connection {
    /// Calls the supervisor.
    ///
    /// # Errors
    /// [`CtlError::NoInstance`], [`CtlError::NotRunning`], or it cannot be reached.
    pub fn to(instance: &Instance) -> Result<Self, CtlError> {
        let run = instance.directory().join(RUN);
        match connect(&run) {
            Ok(fd) => Ok(Self { fd, buffer: socket::buffer() }),
            Err(error) => Err(why_not(instance, &error)),
        }
    }

    fn ask(&mut self, ask: &CtlAsk, within_ms: u64) -> Result<(CtlAnswer, Option<OwnedFd>), CtlError> {
        let failed = |error: ControlError| match error {
            ControlError::Gone => CtlError::supervisor("it went away in the middle"),
            other @ (ControlError::Frame(_) | ControlError::Protocol(_) | ControlError::Io(_)) => {
                CtlError::supervisor(other)
            }
        };
        let within = Duration::from_millis(within_ms);
        let sent = control::send(self.fd.as_fd(), ask, None);
        let answer = sent.and_then(|()| control::receive_within(self.fd.as_fd(), &mut self.buffer, within));
        let answer = match answer {
            // Anyone who is refused at the door is notified and shown out at once: his word is the last one in the line.
            Err(ControlError::Gone) => match control::receive::<CtlAnswer>(self.fd.as_fd(), &mut self.buffer) {
                Ok(Some(answer)) => Ok(Some(answer)),
                Ok(None) | Err(_) => Err(ControlError::Gone),
            },
            answer => answer,
        };
        match answer.map_err(failed)? {
            Some((CtlAnswer::Refused(refusal), _)) => Err(CtlError::Refused(refusal)),
            Some(answer) => Ok(answer),
            None => Err(CtlError::supervisor(format!("no answer within {within_ms} ms"))),
        }
    }

    /// How is everybody?
    ///
    /// # Errors
    /// When the supervisor refuses or cannot be reached.
    pub fn survey(&mut self) -> Result<Surveyed, CtlError> {
        match self.ask(&CtlAsk::Survey(Survey {}), ANSWER_WITHIN_MS)?.0 {
            CtlAnswer::Surveyed(surveyed) => Ok(surveyed),
            other @ (CtlAnswer::Refused(_) | CtlAnswer::Connected(_) | CtlAnswer::Accepted(_)) => {
                Err(out_of_place(&other))
            }
        }
    }

    /// Restarts a daemon, and waits until it is ready.
    ///
    /// # Errors
    /// As [`Connection::survey`].
    pub fn restart(&mut self, role: RoleName) -> Result<(), CtlError> {
        match self.ask(&CtlAsk::Restart(Restart { role }), RESTART_WITHIN_MS)?.0 {
            CtlAnswer::Accepted(_) => Ok(()),
            other @ (CtlAnswer::Refused(_) | CtlAnswer::Connected(_) | CtlAnswer::Surveyed(_)) => {
                Err(out_of_place(&other))
            }
        }
    }

    /// Has everything stopped; what that takes is not waited for.
    ///
    /// # Errors
    /// As [`Connection::survey`].
    pub fn shutdown(&mut self) -> Result<(), CtlError> {
        match self.ask(&CtlAsk::Shutdown(Shutdown {}), ANSWER_WITHIN_MS)?.0 {
            CtlAnswer::Accepted(_) => Ok(()),
            other @ (CtlAnswer::Refused(_) | CtlAnswer::Connected(_) | CtlAnswer::Surveyed(_)) => {
                Err(out_of_place(&other))
            }
        }
    }

    /// The channel of edge `E`, waiting a little for a daemon that is just being restarted.
    ///
    /// # Errors
    /// When the supervisor refuses, or the daemon stays away.
    pub fn open<E: Edge<Asker = Ctl>>(&mut self) -> Result<BlockingClient<E>, CtlError> {
        let until = Instant::now() + Duration::from_millis(PATIENCE_MS);
        loop {
            match self.open_now::<E>() {
                Err(error) if comes_back(&error) && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(TRY_AGAIN_MS));
                }
                other => return other,
            }
        }
    }

    /// The channel of edge `E`, if its daemon is there right now.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_now<E: Edge<Asker = Ctl>>(&mut self) -> Result<BlockingClient<E>, CtlError> {
        let role = E::Answerer::NAME;
        let gone = |why: String| CtlError::Unreachable {
            who: format!("the daemon {role}"),
            why,
            remedy: "look at `metnosctl status`".to_owned(),
        };
        match self.ask(&CtlAsk::Connect(Connect { role }), ANSWER_WITHIN_MS) {
            Ok((CtlAnswer::Connected(end), Some(fd))) => {
                let end = AskerEnd::<E>::new(end.with(fd)).map_err(CtlError::supervisor)?;
                BlockingClient::new(end).map_err(|error| gone(error.to_string()))
            }
            Ok((other, _)) => Err(out_of_place(&other)),
            Err(CtlError::Refused(refusal)) if is_away(&refusal) => Err(gone(refusal.why)),
            Err(error) => Err(error),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Whether the supervisor says with this that the daemon is not there right now.
fn is_away(refusal: &Refusal) -> bool {
    match refusal.code {
        RefusalCode::Unavailable => true,
        RefusalCode::Denied
        | RefusalCode::Invalid
        | RefusalCode::Unknown
        | RefusalCode::Busy
        | RefusalCode::Internal => false,
    }
}

fn comes_back(error: &CtlError) -> bool {
    matches!(error, CtlError::Unreachable { who, .. } if who.starts_with("the daemon"))
}

fn out_of_place(answer: &CtlAnswer) -> CtlError {
    let name = match answer {
        CtlAnswer::Refused(_) => "refused",
        CtlAnswer::Connected(_) => "connected",
        CtlAnswer::Surveyed(_) => "surveyed",
        CtlAnswer::Accepted(_) => "accepted",
    };
    CtlError::supervisor(format!("it answered `{name}` out of place"))
}

/// Connects through the folder's descriptor: a socket's name may have 108 bytes, a path many more.
fn connect(run: &Path) -> io::Result<OwnedFd> {
    let folder = rustix::fs::open(run, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let name = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(SOCKET);
    let address = SocketAddrUnix::new(&name)?;
    let fd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // A supervisor that no longer accepts must not hold up the caller.
    let within = Some(Duration::from_millis(ANSWER_WITHIN_MS));
    rustix::net::sockopt::set_socket_timeout(&fd, rustix::net::sockopt::Timeout::Send, within)?;
    rustix::net::connect(&fd, &address)?;
    socket::set_nonblocking(&fd)?;
    Ok(fd)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "io::ErrorKind grows with the standard library")]
fn why_not(instance: &Instance, error: &io::Error) -> CtlError {
    let directory = instance.directory();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !directory.is_dir() => {
            CtlError::NoInstance(directory.to_owned())
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused => {
            CtlError::NotRunning(directory.to_owned())
        }
        io::ErrorKind::PermissionDenied => CtlError::Unreachable {
            who: "the supervisor".to_owned(),
            why: format!("{} belongs to another user", directory.display()),
            remedy: "become that user, or name an instance of your own: `metnosctl --instance DIR …`".to_owned(),
        },
        _ => CtlError::supervisor(error),
    }
}

/// The document that a daemon's answer brings.
///
/// # Errors
/// When it is none of that type.
pub fn opened<T: Document>((answer, payload): (Doc<T>, [Sealed; 1])) -> Result<T, CtlError> {
    answer.open(payload).map_err(CtlError::Refused)
}

/// A document that a daemon has handed over beside its answer.
///
/// # Errors
/// When it is none.
pub fn document(sealed: &Sealed) -> Result<Value, CtlError> {
    let unreadable =
        |why: String| CtlError::failed("what the daemon says cannot be read", why, "look at `metnosctl doctor`");
    let bytes = sealed.read().map_err(|error| unreadable(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Exit;

    #[test]
    fn missing_and_stopped_instance_are_distinguished() {
        let dir = tempfile::tempdir().unwrap();
        let none = Instance::at(&dir.path().join("none")).unwrap();
        let error = Connection::to(&none).unwrap_err();
        assert!(matches!(error, CtlError::NoInstance(_)) && error.exit() == Exit::Unreachable);
        let stopped = Instance::at(dir.path()).unwrap();
        let error = Connection::to(&stopped).unwrap_err();
        assert!(matches!(error, CtlError::NotRunning(_)) && error.exit() == Exit::Unreachable);
    }

    #[test]
    fn a_socket_that_nobody_serves_means_not_running() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join(RUN);
        std::fs::create_dir(&run).unwrap();
        let listener =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        rustix::net::bind(&listener, &SocketAddrUnix::new(run.join(SOCKET)).unwrap()).unwrap();
        drop(listener);
        let instance = Instance::at(dir.path()).unwrap();
        assert!(matches!(Connection::to(&instance).unwrap_err(), CtlError::NotRunning(_)));
    }
}
