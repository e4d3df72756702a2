//! How a daemon comes to life: it is exec'd with its control end as descriptor 0, learns who
//! it is, receives its ends, and only then opens, locks and serves.
//!
//! Before the lock it reads nothing but this channel.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::control::{self, ControlError, Drained, Fault, Order, Pong, Ready, Report, Start, Violation};
use crate::edge::{AnswererEnd, AskerEnd, Edge, RawEnd, Side, WrongEnd};
use crate::edges::EdgeId;
use crate::executor::outside::MAX_FOLDERS;
use crate::link::LinkError;
use crate::link_async::{Client, Closed};
use crate::role::{Role, RoleName};
use crate::socket;

/// How long a daemon waits for the supervisor's next word at its start, in milliseconds.
pub const BOOT_WITHIN_MS: u64 = 10_000;
/// The longest name of a process, as the kernel keeps it.
const MAX_COMM: usize = 15;
/// The most ends that can come before [`Order::Go`].
pub const MAX_FIRST_ENDS: usize = 64;

/// Why a daemon could not come to life, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The control channel broke.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The supervisor said something else than it should.
    #[error("at the start: {0}")]
    Protocol(String),
    /// An end that does not belong here.
    #[error(transparent)]
    WrongEnd(#[from] WrongEnd),
    /// An end that cannot be used.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The kernel.
    #[error("the control channel: {0}")]
    Io(#[from] io::Error),
}

/// A daemon that knows who it is and holds its first ends.
#[derive(Debug)]
pub struct Boot<R: Role> {
    control: OwnedFd,
    /// Who it is and what it works on.
    pub start: Start,
    /// What came with that: a line to a helper that the supervisor has started for this daemon. Only sandboxd has one.
    pub helper: Option<OwnedFd>,
    /// The folders outside the workspace that could be opened, each with its path. Only policyd and sandboxd have any.
    pub folders: Vec<(String, OwnedFd)>,
    /// The file of the vault's key, from which memoryd derives the key that opens those of principals. Only memoryd's.
    pub key: Option<OwnedFd>,
    /// The subtree of control groups that calls get theirs in, or why there is none; `None` where nobody said. Only sandboxd's.
    pub groups: Option<Result<OwnedFd, String>>,
    ends: Vec<RawEnd>,
    role: std::marker::PhantomData<R>,
}

impl<R: Role> Boot<R> {
    /// Takes descriptor 0 for the control end and reads the supervisor's orders, up to [`Order::Go`].
    ///
    /// # Errors
    /// When descriptor 0 is no control channel, or the supervisor means another daemon.
    pub fn receive() -> Result<Self, BootError> {
        // The standard library opens /dev/null where descriptor 0 is closed, so it always exists; what
        // is no socket fails at the first receive.
        let control = io::stdin().as_fd().try_clone_to_owned()?;
        detach_stdin()?;
        // It was started by a descriptor, so the kernel may know no better name than that number.
        let name: String = format!("metnos-{}", R::NAME).chars().take(MAX_COMM).collect();
        if let Ok(name) = std::ffi::CString::new(name) {
            rustix::thread::set_name(&name).map_err(io::Error::from)?;
        }
        Self::receive_from(control)
    }

    /// As [`Boot::receive`], from a given control end.
    ///
    /// # Errors
    /// As [`Boot::receive`].
    pub fn receive_from(control: OwnedFd) -> Result<Self, BootError> {
        socket::set_nonblocking(&control)?;
        let mut buffer = socket::buffer();
        let mut next = || -> Result<(Order, Option<OwnedFd>), BootError> {
            control::receive_within::<Order>(control.as_fd(), &mut buffer, Duration::from_millis(BOOT_WITHIN_MS))?
                .ok_or_else(|| BootError::Protocol(format!("no word from the supervisor within {BOOT_WITHIN_MS} ms")))
        };
        let start = match next()? {
            (Order::Start(start), None) if start.role == R::NAME => start,
            (Order::Start(start), _) => {
                return Err(BootError::Protocol(format!("this is {}, the supervisor means {}", R::NAME, start.role)));
            }
            (other, _) => return Err(BootError::Protocol(format!("the first word is {other:?}"))),
        };
        let (mut ends, mut helper, mut folders, mut groups, mut key) = (Vec::new(), None, Vec::new(), None, None);
        let sees_folders = matches!(R::NAME, RoleName::Policyd | RoleName::Sandboxd);
        loop {
            match next()? {
                (Order::Helper(_), Some(line))
                    if R::NAME == RoleName::Sandboxd && helper.is_none() && ends.is_empty() =>
                {
                    helper = Some(line);
                }
                (Order::Folder(folder), Some(fd)) if sees_folders && folders.len() < MAX_FOLDERS && ends.is_empty() => {
                    folders.push((folder.path, fd));
                }
                (Order::Key(_), Some(file)) if R::NAME == RoleName::Memoryd && key.is_none() && ends.is_empty() => {
                    key = Some(file);
                }
                (Order::Groups(said), subtree)
                    if R::NAME == RoleName::Sandboxd && groups.is_none() && ends.is_empty() =>
                {
                    groups = Some(subtree.ok_or(said.missing));
                }
                (Order::Edge(end), Some(fd)) if ends.len() < MAX_FIRST_ENDS => ends.push(end.with(fd)),
                (Order::Go(_), None) => break,
                (other, _) => return Err(BootError::Protocol(format!("out of order: {other:?}"))),
            }
        }
        Ok(Self { control, start, helper, folders, key, groups, ends, role: std::marker::PhantomData })
    }

    /// The parts, for a daemon with a plain poll loop.
    #[must_use]
    pub fn into_parts(self) -> (OwnedFd, Start, Vec<RawEnd>) {
        (self.control, self.start, self.ends)
    }

    /// Tells the supervisor that this daemon ends, and why.
    pub fn fault(&self, why: &str) {
        send_fault(self.control.as_fd(), why);
    }

    /// Goes on inside a tokio [`LocalSet`](tokio::task::LocalSet).
    ///
    /// # Errors
    /// When the control end cannot be watched.
    pub fn into_daemon(self) -> Result<Daemon<R>, BootError> {
        Ok(Daemon {
            control: Rc::new(crate::sys::watch(self.control)?),
            start: self.start,
            waiting: self.ends,
            takers: HashMap::new(),
            all_end: false,
            role: std::marker::PhantomData,
        })
    }
}

/// Tells the supervisor that this daemon ends, and why.
pub fn send_fault(control: BorrowedFd<'_>, why: &str) {
    let why = why.chars().take(2_000).collect();
    if let Err(error) = control::send(control, &Report::Fault(Fault { why }), None) {
        tracing::error!(%error, "the supervisor could not be notified");
    }
}

/// Puts `/dev/null` where the control end was, so that nothing reads it by accident.
fn detach_stdin() -> io::Result<()> {
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    Ok(rustix::stdio::dup2_stdin(&null)?)
}

/// Tells the supervisor that an edge was closed because the other side broke the protocol; it makes a fresh one.
fn report_violation(control: &AsyncFd<OwnedFd>, edge: EdgeId, what: &str) {
    let report = Report::Violation(Violation { edge, what: what.chars().take(2_000).collect() });
    if let Err(error) = control::send(control.get_ref().as_fd(), &report, None) {
        tracing::error!(%error, "the supervisor could not be notified");
    }
}

type Taker = Box<dyn FnMut(RawEnd) -> Result<(), BootError>>;

/// A daemon on a tokio runtime: its control line, and who takes which ends.
pub struct Daemon<R: Role> {
    control: Rc<AsyncFd<OwnedFd>>,
    /// Who it is and what it works on.
    pub start: Start,
    waiting: Vec<RawEnd>,
    takers: HashMap<(EdgeId, Side), Taker>,
    all_end: bool,
    role: std::marker::PhantomData<R>,
}

impl<R: Role> std::fmt::Debug for Daemon<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Daemon").field("role", &R::NAME).finish_non_exhaustive()
    }
}

impl<R: Role> Daemon<R> {
    /// The client of an edge that this daemon asks on. Ends attach to it now and whenever the peer is
    /// started anew.
    ///
    /// # Errors
    /// When an end that came already cannot be used.
    pub fn asks<E: Edge<Asker = R>>(&mut self) -> Result<Rc<Client<E>>, BootError> {
        let client = Rc::new(Client::<E>::default());
        let control = Rc::clone(&self.control);
        client.on_breach(move |what| report_violation(&control, E::ID, what));
        let taken = Rc::clone(&client);
        self.take(E::ID, Side::Asker, Box::new(move |raw| Ok(taken.attach(AskerEnd::new(raw)?)?)))?;
        Ok(client)
    }

    /// Serves an edge that this daemon answers: `serve` is called for each end that comes, and a breach of
    /// protocol is reported to the supervisor. `serve` is the edge module's own function, with the service.
    ///
    /// # Errors
    /// When an end that came already cannot be used.
    pub fn answers<E, F, Fut>(&mut self, mut serve: F) -> Result<(), BootError>
    where
        E: Edge<Answerer = R>,
        F: FnMut(AnswererEnd<E>) -> Fut + 'static,
        Fut: Future<Output = Closed> + 'static,
    {
        let control = Rc::clone(&self.control);
        let taker = move |raw: RawEnd| {
            let serving = serve(AnswererEnd::new(raw)?);
            let control = Rc::clone(&control);
            tokio::task::spawn_local(async move {
                if let Closed::Violation(what) = serving.await {
                    tracing::error!(edge = ?E::ID, %what, "breach of protocol, channel closed");
                    report_violation(&control, E::ID, &what);
                }
            });
            Ok(())
        };
        self.take(E::ID, Side::Answerer, Box::new(taker))
    }

    fn take(&mut self, edge: EdgeId, side: Side, mut taker: Taker) -> Result<(), BootError> {
        let (mine, others) =
            std::mem::take(&mut self.waiting).into_iter().partition(|end| (end.edge, end.side) == (edge, side));
        self.waiting = others;
        for end in mine {
            taker(end)?;
        }
        self.takers.insert((edge, side), taker);
        Ok(())
    }

    /// Tells the supervisor that everything is open, locked and served.
    ///
    /// # Errors
    /// When an end came that nobody takes, or the supervisor is gone.
    pub fn ready(&self, lock: Vec<String>, waived: Vec<String>) -> Result<(), BootError> {
        if let Some(end) = self.waiting.first() {
            return Err(BootError::Protocol(format!("nobody takes an end of {:?}", end.edge)));
        }
        Ok(control::send(self.control.get_ref().as_fd(), &Report::Ready(Ready { lock, waived }), None)?)
    }

    /// Tells the supervisor that this daemon ends, and why.
    pub fn fault(&self, why: &str) {
        send_fault(self.control.get_ref().as_fd(), why);
    }

    /// Serves the control line until the supervisor says to drain, or is gone. `pss_kib` is asked at each ping.
    /// After it returns with `Ok`, finish what runs, then call [`Daemon::drained`].
    ///
    /// # Errors
    /// [`ControlError::Gone`] when the supervisor is gone: the daemon ends with it.
    pub async fn control(&mut self, mut pss_kib: impl FnMut() -> u64) -> Result<(), BootError> {
        let mut buffer = socket::buffer();
        loop {
            let control = Rc::clone(&self.control);
            let (order, fd) = control
                .async_io(Interest::READABLE, |fd| match control::receive::<Order>(fd.as_fd(), &mut buffer) {
                    Ok(Some(message)) => Ok(Ok(message)),
                    Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
                    Err(error) => Ok(Err(error)),
                })
                .await??;
            match (order, fd) {
                (Order::Edge(end), Some(fd)) => self.hand_over(end.with(fd))?,
                (Order::Ping(ping), None) => {
                    let pong = Report::Pong(Pong { number: ping.number, pss_kib: pss_kib() });
                    control::send(control.get_ref().as_fd(), &pong, None)?;
                }
                (Order::Drain(_), None) => return Ok(()),
                (Order::DrainAll(_), None) => {
                    self.all_end = true;
                    return Ok(());
                }
                #[cfg(feature = "attack")]
                (Order::Attempt(attempt), None) => self.attempt(attempt)?,
                (other, _) => return Err(BootError::Protocol(format!("out of order: {other:?}"))),
            }
        }
    }

    fn hand_over(&mut self, end: RawEnd) -> Result<(), BootError> {
        match self.takers.get_mut(&(end.edge, end.side)) {
            Some(taker) => taker(end),
            None => Err(BootError::Protocol(format!("nobody takes an end of {:?}", end.edge))),
        }
    }

    /// Whether all daemons end, and not this one alone.
    #[must_use]
    pub const fn all_end(&self) -> bool {
        self.all_end
    }

    /// Tells the supervisor that nothing runs any more.
    pub fn drained(&self) {
        if let Err(error) = control::send(self.control.get_ref().as_fd(), &Report::Drained(Drained {}), None) {
            tracing::debug!(%error, "the supervisor is gone before the daemon was drained");
        }
    }

    #[cfg(feature = "attack")]
    fn attempt(&self, attempt: control::Attempt) -> Result<(), BootError> {
        let (errno, detail) = match ATTACK.get() {
            Some(attack) => attack(&attempt.name, &attempt.target),
            None => return Err(BootError::Protocol("no attack is registered".to_owned())),
        };
        let report = Report::Attempted(control::Attempted { name: attempt.name, errno, detail });
        Ok(control::send(self.control.get_ref().as_fd(), &report, None)?)
    }
}

/// Test builds only: performs a forbidden act by name and target, and says which errno stopped it.
/// This crate knows no lock, so the daemon registers the performer.
#[cfg(feature = "attack")]
pub type Attack = fn(&str, &str) -> (i32, String);

/// See [`Attack`].
#[cfg(feature = "attack")]
pub static ATTACK: std::sync::OnceLock<Attack> = std::sync::OnceLock::new();
