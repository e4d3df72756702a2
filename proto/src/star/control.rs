//! The supervisor's star: what it orders each daemon, what they report, and what `metnosctl`
//! may ask of it. Outside the graph of asks: nobody waits for anybody here.
//!
//! The same frames as everywhere, with edge number 0; the descriptors are ends of channels,
//! not payloads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use postcard_schema::Schema;
use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::edge::{PeerCred, RawEnd, Side};
use crate::edges::EdgeId;
use crate::frame::{self, FrameError, Header, Kind};
use crate::ids::TraceId;
use crate::msg::common::{Lang, Refusal};
use crate::role::RoleName;
use crate::socket;
use crate::words;

/// The number of the control star in a packet's header.
pub const CONTROL_EDGE: u16 = 0;

words! {
    /// What the supervisor orders a daemon.
    #[allow(clippy::large_enum_variant, reason = "one order at a start; it is read once and taken apart")]
    pub enum Order {
        /// The first word: who you are and what you work on.
        Start(Start),
        /// An end of a channel; beside it the descriptor. A later one of the same edge replaces the earlier.
        Edge(EdgeEnd),
        /// All first ends have come: open, lock, report ready.
        Go(Go),
        /// Are you alive?
        Ping(Ping),
        /// Finish what runs, then exit.
        Drain(Drain),
        /// Beside it a line to a helper that was started for this daemon, as a user of its own: before any end, and to sandboxd
        /// alone.
        Helper(Helper),
        /// Beside it a folder outside the workspace that the owner has listed, open for naming it only: before any end, and to
        /// policyd and sandboxd alone.
        Folder(Folder),
        /// To memoryd alone, before any end: beside it the file of the vault key, open for reading.
        Key(VaultKeyFile),
        /// To sandboxd alone, before any end: the control groups of calls.
        Groups(Groups),
        /// To policyd alone, when all daemons end: finish what runs and say so, then live on until memoryd has reported the last
        /// head of the chronicle and it is signed.
        DrainAll(DrainAll),
        /// Test builds only: attempt this forbidden act and report.
        #[cfg(feature = "attack")]
        Attempt(Attempt),
    }

    /// See [`Order::Start`].
    pub struct Start {
        /// The daemon it starts.
        pub role: RoleName,
        /// The instance's directory, absolute.
        pub instance: String,
        /// What the configuration says, as far as daemons need it.
        pub settings: Settings,
    }

    /// The part of `metnos.toml` that daemons need. No secret stands in it.
    pub struct Settings {
        /// The user who owns the instance and speaks as its owner at the terminal.
        pub owner_uid: u32,
        /// The language people are spoken to in, unless they use the other.
        pub lang: Lang,
        /// Where this machine's clock stands, as [`metnos_calendar`] reads it: `Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)`. It
        /// counts where `USER.md` names no other.
        pub zone: String,
        /// The Python interpreter executors run in, absolute.
        pub interpreter: String,
        /// Layers of the lock that may be missing on this kernel.
        pub waive: Vec<String>,
        /// Calls that make a use-day (design: memory §2).
        pub calls_per_use_day: u32,
        /// Calls a principal may have decided in a minute.
        pub calls_per_minute: u32,
        /// What executors may reach on the net, and how.
        pub net: NetSettings,
        /// What may be used up (design: policy §8).
        pub budget: BudgetSettings,
        /// Which language models there are, and who uses which.
        pub models: ModelSettings,
        /// Where the door listens.
        pub http: HttpSettings,
        /// Where Telegram's servers are: an address such as `https://api.telegram.org`.
        pub telegram_api: String,
        /// Which folders outside the workspace an executor may be granted something of.
        pub folders: FolderSettings,
        /// Which programs an executor may be granted to run, absolute. What they bound is read by
        /// [`crate::executor::commands`].
        pub commands: Vec<String>,
        /// Which folders of data those are shown where they run, each as `PROGRAM FOLDER`. See
        /// [`crate::executor::commands::ProgramData`].
        pub program_data: Vec<String>,
        /// Which folders of the workspace guests may read besides `shared`. See [`crate::executor::guests`].
        pub guest_folders: Vec<String>,
        /// Whether drafts of executors are only shown, and never put into the pool.
        pub dry_run: bool,
    }

    /// See [`Settings::folders`]. What they bound is read by [`crate::executor::outside`].
    pub struct FolderSettings {
        /// The owner's home, absolute: what `~` stands for. Empty where nobody knows it.
        pub home: String,
        /// Folders to be read, absolute.
        pub read: Vec<String>,
        /// Folders to be read and written, absolute.
        pub write: Vec<String>,
    }

    /// See [`Settings::http`].
    pub struct HttpSettings {
        /// Address and port on the loopback; port 0 for any that is free; empty: nowhere.
        pub listen: String,
        /// Requests of one client in a minute.
        pub per_minute: u32,
    }

    /// See [`Settings::models`]. What the lines hold is read by [`crate::models`].
    pub struct ModelSettings {
        /// Servers of models: `NAME KIND URL`.
        pub substrates: Vec<String>,
        /// The models of each role that has one, the first and those in its place.
        pub roles: Vec<RoleSetting>,
        /// What models cost.
        pub prices: Vec<String>,
        /// What models take.
        pub contexts: Vec<String>,
        /// Thoughts of the planner that one substrate is asked for at once.
        pub parallel: u32,
        /// How long a server may take until its reply begins, in seconds.
        pub first_seconds: u32,
        /// How long a server may pause within a reply, in seconds.
        pub between_seconds: u32,
    }

    /// See [`ModelSettings::roles`].
    pub struct RoleSetting {
        /// The role.
        pub role: String,
        /// Its models, as `SUBSTRATE/MODEL`.
        pub models: Vec<String>,
    }

    /// See [`Settings::budget`]. Money is in millionths of the instance's currency.
    pub struct BudgetSettings {
        /// Calls of one principal that run at once.
        pub concurrent: u32,
        /// Calls of one principal a day.
        pub calls_per_day: u32,
        /// Calls of one principal a day that change something.
        pub writes_per_day: u32,
        /// Money in one turn.
        pub turn_micro: u32,
        /// Money of one principal a day.
        pub day_micro: u32,
        /// Money of one principal a month.
        pub month_micro: u32,
        /// Money of everybody a day.
        pub house_day_micro: u32,
        /// Money of everybody a month.
        pub house_month_micro: u32,
        /// Tokens in one turn.
        pub tokens_per_turn: u32,
        /// Tokens of one principal a month.
        pub tokens_per_month: u32,
        /// Tokens of one principal a day.
        pub tokens_per_day: u32,
        /// What costs more is asked for.
        pub ask_above_micro: u32,
        /// From that part of a budget on the owner is warned, once; in percent.
        pub warn_percent: u32,
        /// What a call of an executor costs: `NAME MICRO`.
        pub prices: Vec<String>,
    }

    /// See [`Settings::net`].
    pub struct NetSettings {
        /// Addresses that may be read without asking (design: policy §7): `https://example.org`.
        pub hosts: Vec<String>,
        /// Private addresses that a granted name may lead to: `192.168.1.10:443`.
        pub private: Vec<String>,
        /// Servers of names, `address:port`; empty: those of the system.
        pub resolvers: Vec<String>,
        /// The file of certificate authorities that executors with network trust.
        pub ca_bundle: String,
    }

    /// See [`Order::Edge`].
    pub struct EdgeEnd {
        /// Which edge.
        pub edge: EdgeId,
        /// Which end of it.
        pub side: Side,
        /// Counts up each time one of the two daemons is restarted.
        pub generation: u32,
        /// Set on the edges of `metnosctl` only.
        pub peer: Option<PeerCred>,
    }

    /// See [`Order::Go`].
    pub struct Go {}

    /// See [`Order::Helper`].
    pub struct Helper {}

    /// See [`Order::Key`].
    pub struct VaultKeyFile {}

    /// See [`Order::Folder`].
    pub struct Folder {
        /// Which: its path, as [`FolderSettings`] has it.
        pub path: String,
    }

    /// See [`Order::Groups`].
    pub struct Groups {
        /// Why there are none. Empty where the descriptor of a subtree comes beside it.
        pub missing: String,
    }

    /// See [`Order::Ping`].
    pub struct Ping {
        /// Comes back in the [`Pong`].
        pub number: u64,
    }

    /// See [`Order::Drain`].
    pub struct Drain {}

    /// See [`Order::DrainAll`].
    pub struct DrainAll {}

    /// See `Order::Attempt`.
    pub struct Attempt {
        /// Which act, by name.
        pub name: String,
        /// What to try it on, where it needs something.
        pub target: String,
    }

    /// What a daemon reports to the supervisor.
    pub enum Report {
        /// Everything is open, the lock is on, the edges are served.
        Ready(Ready),
        /// Alive.
        Pong(Pong),
        /// It is about to exit, and why.
        Fault(Fault),
        /// It has finished after a [`Order::Drain`].
        Drained(Drained),
        /// An edge was closed because the other side broke the protocol.
        Violation(Violation),
        /// How the attempt went.
        #[cfg(feature = "attack")]
        Attempted(Attempted),
    }

    /// See [`Report::Ready`].
    pub struct Ready {
        /// The lock as read back from the kernel, one layer a line.
        pub lock: Vec<String>,
        /// Layers that were waived by name.
        pub waived: Vec<String>,
    }

    /// See [`Report::Pong`].
    pub struct Pong {
        /// Of the ping.
        pub number: u64,
        /// Proportional set size in KiB, 0 when the kernel does not say.
        pub pss_kib: u64,
    }

    /// See [`Report::Fault`].
    pub struct Fault {
        /// For a person: what failed, why, what to do.
        pub why: String,
    }

    /// See [`Report::Drained`].
    pub struct Drained {}

    /// See [`Report::Violation`].
    pub struct Violation {
        /// On which edge.
        pub edge: EdgeId,
        /// What.
        pub what: String,
    }

    /// See `Report::Attempted`.
    pub struct Attempted {
        /// Which act.
        pub name: String,
        /// The errno that stopped it; 0 when it succeeded.
        pub errno: i32,
        /// More, for a person.
        pub detail: String,
    }

    // ---- metnosctl and the supervisor ----------------------------------

    /// What `metnosctl` asks the supervisor, after the kernel has said who it is.
    pub enum CtlAsk {
        /// An end of the edge to this daemon; the descriptor comes beside the answer.
        Connect(Connect),
        /// How is everybody?
        Survey(Survey),
        /// Restart this daemon.
        Restart(Restart),
        /// Stop everything.
        Shutdown(Shutdown),
    }

    /// See [`CtlAsk::Connect`].
    pub struct Connect {
        /// Which daemon.
        pub role: RoleName,
    }

    /// See [`CtlAsk::Survey`].
    pub struct Survey {}

    /// See [`CtlAsk::Restart`].
    pub struct Restart {
        /// Which daemon.
        pub role: RoleName,
    }

    /// See [`CtlAsk::Shutdown`].
    pub struct Shutdown {}

    /// What the supervisor answers.
    pub enum CtlAnswer {
        /// No.
        Refused(Refusal),
        /// The end comes beside it.
        Connected(EdgeEnd),
        /// How everybody is.
        Surveyed(Surveyed),
        /// It is under way; for a restart: the daemon is ready again.
        Accepted(Accepted),
    }

    /// See [`CtlAnswer::Surveyed`].
    pub struct Surveyed {
        /// The instance's directory.
        pub instance: String,
        /// `spawn` or `systemd`.
        pub mode: String,
        /// The supervisor's process.
        pub pid: u32,
        /// Its user.
        pub uid: u32,
        /// When it started, in milliseconds since the epoch.
        pub since_ms: u64,
        /// From its start until all daemons were first ready, in milliseconds; 0 until then.
        pub ready_after_ms: u64,
        /// Its proportional set size in KiB.
        pub pss_kib: u64,
        /// Whether each daemon has a uid of its own.
        pub uids_separate: bool,
        /// One a daemon, by rank.
        pub daemons: Vec<DaemonRow>,
        /// One an edge between daemons.
        pub edges: Vec<EdgeRow>,
        /// What went wrong last, newest last; at most [`MAX_ALARMS`].
        pub alarms: Vec<Alarm>,
    }

    /// One daemon.
    pub struct DaemonRow {
        /// Who.
        pub role: RoleName,
        /// Its state.
        pub state: DaemonState,
        /// Its process, 0 when there is none.
        pub pid: u32,
        /// Its user.
        pub uid: u32,
        /// When this process became ready, in milliseconds since the epoch; 0 when it is not.
        pub since_ms: u64,
        /// How often it was restarted.
        pub restarts: u32,
        /// How it ended the last time; empty when it never did.
        pub last_exit: String,
        /// Proportional set size in KiB.
        pub pss_kib: u64,
        /// The lock in force, one layer a line.
        pub lock: Vec<String>,
        /// Layers waived by name.
        pub waived: Vec<String>,
    }

    /// Where a daemon stands.
    pub enum DaemonState {
        /// Started, not yet ready.
        Starting,
        /// Ready.
        Ready,
        /// Ended; a new one is started in a moment.
        Waiting,
        /// Failed five times within a minute; still restarted, but a person should look.
        Degraded,
        /// Stopping.
        Stopping,
    }

    /// One edge between two daemons.
    pub struct EdgeRow {
        /// Which.
        pub edge: EdgeId,
        /// How often its channel was made.
        pub generation: u32,
        /// Whether both daemons hold their end.
        pub up: bool,
    }

    /// Something that went wrong.
    pub struct Alarm {
        /// When, in milliseconds since the epoch.
        pub at_ms: u64,
        /// About whom.
        pub role: RoleName,
        /// What.
        pub what: String,
    }

    /// See [`CtlAnswer::Accepted`].
    pub struct Accepted {}
}

/// The most alarms the supervisor keeps.
pub const MAX_ALARMS: usize = 32;

impl DaemonState {
    /// The name used in JSON and on screen.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Degraded => "degraded",
            Self::Stopping => "stopping",
        }
    }
}

/// A message of the star, on either of its two kinds of line.
pub trait Message: Serialize + DeserializeOwned + Schema {
    /// How many descriptors come with it: none or one.
    fn fds(&self) -> usize;
}

impl Message for Order {
    fn fds(&self) -> usize {
        match self {
            Self::Edge(_) | Self::Helper(_) | Self::Folder(_) | Self::Key(_) => 1,
            Self::Groups(groups) => usize::from(groups.missing.is_empty()),
            Self::Start(_) | Self::Go(_) | Self::Ping(_) | Self::Drain(_) | Self::DrainAll(_) => 0,
            #[cfg(feature = "attack")]
            Self::Attempt(_) => 0,
        }
    }
}

impl Message for Report {
    fn fds(&self) -> usize {
        0
    }
}

impl Message for CtlAsk {
    fn fds(&self) -> usize {
        0
    }
}

impl Message for CtlAnswer {
    fn fds(&self) -> usize {
        match self {
            Self::Connected(_) => 1,
            Self::Refused(_) | Self::Surveyed(_) | Self::Accepted(_) => 0,
        }
    }
}

/// What broke a line of the star.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A packet that is none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The wrong number of descriptors, or the wrong packet.
    #[error("{0}")]
    Protocol(String),
    /// The kernel.
    #[error("the control channel: {0}")]
    Io(#[from] io::Error),
    /// The other side is gone.
    #[error("the other side of the control channel is gone")]
    Gone,
}

/// Sends one message, or nothing. Never waits.
///
/// # Errors
/// `Io` with `WouldBlock` when the other side does not read; [`ControlError::Gone`].
pub fn send<M: Message>(socket: BorrowedFd<'_>, message: &M, fd: Option<BorrowedFd<'_>>) -> Result<(), ControlError> {
    let fds: Vec<BorrowedFd<'_>> = fd.into_iter().collect();
    if fds.len() != message.fds() {
        return Err(ControlError::Protocol(format!(
            "{} descriptors for a message that has {}",
            fds.len(),
            message.fds()
        )));
    }
    let count = u8::from(!fds.is_empty());
    let header = Header { edge: CONTROL_EDGE, kind: Kind::Note, fds: count, request: 0, trace: TraceId::NONE };
    match socket::send(socket, &frame::encode(header, message)?, &fds) {
        Ok(()) => Ok(()),
        Err(error) if crate::link::is_gone(&error) => Err(ControlError::Gone),
        Err(error) => Err(error.into()),
    }
}

/// Receives one message; `None` when there is none yet.
///
/// # Errors
/// [`ControlError::Gone`] at the end; anything that is no message of this kind.
pub fn receive<M: Message>(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> Result<Option<(M, Option<OwnedFd>)>, ControlError> {
    let packet = match socket::receive(socket, buffer) {
        Ok(Some(packet)) => packet,
        Ok(None) => return Err(ControlError::Gone),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (header, body) = frame::split(&buffer[..packet.len])?;
    if header.edge != CONTROL_EDGE || header.kind != Kind::Note {
        return Err(ControlError::Protocol(format!("a packet of edge {} on the control channel", header.edge)));
    }
    let message: M = frame::decode(body)?;
    if packet.fds.len() != message.fds() || usize::from(header.fds) != message.fds() {
        return Err(ControlError::Protocol(format!("{} descriptors instead of {}", packet.fds.len(), message.fds())));
    }
    Ok(Some((message, packet.fds.into_iter().next())))
}

/// Receives one message, waiting for it; `None` when none came within the time.
///
/// # Errors
/// As [`receive`].
pub fn receive_within<M: Message>(
    socket: BorrowedFd<'_>,
    buffer: &mut [u8],
    within: std::time::Duration,
) -> Result<Option<(M, Option<OwnedFd>)>, ControlError> {
    let until = std::time::Instant::now() + within;
    loop {
        if let Some(message) = receive(socket, buffer)? {
            return Ok(Some(message));
        }
        let left = until.saturating_duration_since(std::time::Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        let timeout =
            Timespec::try_from(left).map_err(|_| ControlError::Protocol("a bound that is no time".to_owned()))?;
        match rustix::event::poll(&mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(ControlError::Io(error.into())),
        }
    }
}

impl EdgeEnd {
    /// The end with its descriptor.
    #[must_use]
    pub fn with(self, fd: OwnedFd) -> RawEnd {
        RawEnd { edge: self.edge, side: self.side, generation: self.generation, peer: self.peer, fd }
    }
}

/// Convenience for callers that own the descriptor.
///
/// # Errors
/// As [`send`].
pub fn send_owned<M: Message>(socket: &impl AsFd, message: &M, fd: Option<OwnedFd>) -> Result<(), ControlError> {
    send(socket.as_fd(), message, fd.as_ref().map(AsFd::as_fd))
}

/// The star in words, for the golden file.
#[must_use]
pub fn description() -> String {
    format!(
        "control star\n  orders\n{}  reports\n{}  metnosctl asks\n{}  metnosctl answers\n{}",
        crate::edge::describe::<Order>(),
        crate::edge::describe::<Report>(),
        crate::edge::describe::<CtlAsk>(),
        crate::edge::describe::<CtlAnswer>(),
    )
}
