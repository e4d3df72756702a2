//! Words that more than one edge uses.

use postcard_schema::Schema;
use serde::{Deserialize, Serialize};

use crate::ids::{Blake3, CallId};

/// Derives what every word needs.
#[macro_export]
macro_rules! words {
    ($($(#[$meta:meta])* $vis:vis $kind:ident $name:ident $body:tt)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize, ::postcard_schema::Schema)]
        $vis $kind $name $body
    )*};
}

/// Where words came in. A principal is a channel and a sender (design: policy §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
pub enum Channel {
    /// A person at the terminal of this machine.
    Cli,
    /// The web page or the HTTP interface.
    Http,
    /// A Telegram chat.
    Telegram,
    /// A firing of the scheduler.
    Scheduler,
    /// A webhook that the owner has set up; the sender is its name.
    Hook,
    /// A timer of the owner's machine; the sender is its name.
    Timer,
    /// Metnos itself: births, the ager, proposals.
    Metnos,
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Cli, Self::Http, Self::Telegram, Self::Scheduler, Self::Hook, Self::Timer, Self::Metnos];

    /// The channel of this name, if there is one.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name() == text)
    }

    /// The name used in the chronicle and on screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Http => "http",
            Self::Telegram => "telegram",
            Self::Scheduler => "scheduler",
            Self::Hook => "hook",
            Self::Timer => "timer",
            Self::Metnos => "metnos",
        }
    }
}

/// What a principal may do without asking (design: policy §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
pub enum Level {
    /// Guests and first contact: reads only.
    ReadOnly,
    /// Daily use.
    Supervised,
    /// Explicit, time-limited sessions of the owner.
    Full,
}

/// Who a sender is to this instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Standing {
    /// The owner of the instance.
    Owner,
    /// A grown-up member of the household: what is the household's is open to him, what is the owner's is not.
    Adult,
    /// Another person whom the owner has paired.
    Guest,
    /// Nobody known: is received by nobody but the pairing.
    Stranger,
}

/// What a person is in the household (design: people §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Role {
    /// The owner of the instance: one person at most.
    Owner,
    /// A grown-up member.
    Adult,
    /// A child.
    Child,
    /// Somebody from outside.
    Guest,
}

/// The languages Metnos speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Lang {
    /// English.
    En,
    /// Italian.
    It,
}

/// Where a chronicle line's content comes from (design: memory §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Trust {
    /// The owner's own words or acts.
    Owner,
    /// A paired principal.
    Paired,
    /// A guest.
    Guest,
    /// The output of an executor.
    Tool,
    /// The web.
    Web,
    /// Metnos itself.
    System,
}

/// Integrity of data: where it came from decides what it may cause (design: policy §7).
/// Ordered: the larger one wins when two are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
pub enum Integrity {
    /// `T`: typed by a paired owner in this context, or a constant.
    Trusted,
    /// `V`: a bounded atom minted by a signed executor.
    Vouched,
    /// `X`: everything else.
    Untrusted,
}

/// Who may read data (design: policy §7). Ordered like [`Integrity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
pub enum Readers {
    /// Anybody.
    Public,
    /// The principal of the turn.
    Private,
    /// Nobody but the call it was given to.
    Secret,
}

/// The label of a value or of a context; the label of a join is the larger of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub struct Label {
    /// Where it came from.
    pub integrity: Integrity,
    /// Who may see it.
    pub readers: Readers,
}

impl Label {
    /// The label of a context in which nothing but the owner's own words was read.
    pub const CLEAN: Self = Self { integrity: Integrity::Trusted, readers: Readers::Public };

    /// The least label that covers both.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        Self { integrity: self.integrity.max(other.integrity), readers: self.readers.max(other.readers) }
    }
}

/// A position in a turn's sequence of calls, written `c1`, `c2`, … in references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Schema)]
pub struct CallRef(pub u16);

impl std::fmt::Display for CallRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "c{}", self.0)
    }
}

impl std::str::FromStr for CallRef {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_prefix('c').ok_or(())?;
        if digits.starts_with(['0', '+']) {
            return Err(());
        }
        digits.parse().map(Self).map_err(|_| ())
    }
}

/// How a run of an executor ended. Each breach of a quota is an outcome of its own (design: sandbox §1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Outcome {
    /// The executor reported success and its output fits its schema.
    Ok,
    /// The executor reported one of its declared errors.
    Error,
    /// The process ended without a result, or with more than one.
    Crashed,
    /// The output does not fit the executor's schema.
    BadOutput,
    /// More processor time than granted.
    CpuExceeded,
    /// More memory than granted.
    MemoryExceeded,
    /// More wall time than granted.
    Timeout,
    /// A larger result than granted.
    OutputTooLarge,
    /// More processes or threads than granted.
    ProcessesExceeded,
    /// Killed by the owner's word.
    Killed,
    /// sandboxd or the machine stopped in the middle.
    Interrupted,
    /// The sandbox could not be built, or a canary in it succeeded.
    SandboxFailed,
    /// More room on the disk, or more files, than granted.
    DiskExceeded,
    /// The disk came to be nearly full while it ran.
    DiskFull,
    /// It broke off at something that the machine refused it: too many open files, a path that is too long, a disk that fails.
    Failed,
}

impl Outcome {
    const ALL: [Self; 15] = [
        Self::Ok,
        Self::Error,
        Self::Crashed,
        Self::BadOutput,
        Self::CpuExceeded,
        Self::MemoryExceeded,
        Self::Timeout,
        Self::OutputTooLarge,
        Self::ProcessesExceeded,
        Self::Killed,
        Self::Interrupted,
        Self::SandboxFailed,
        Self::DiskExceeded,
        Self::DiskFull,
        Self::Failed,
    ];

    /// The outcome of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether it is a failure of the executor itself. What the caller asked wrongly, what was stopped, and what this
    /// machine could not do are none.
    #[must_use]
    pub const fn is_its_own_failure(self) -> bool {
        match self {
            Self::Crashed
            | Self::BadOutput
            | Self::CpuExceeded
            | Self::MemoryExceeded
            | Self::Timeout
            | Self::OutputTooLarge
            | Self::ProcessesExceeded
            | Self::DiskExceeded => true,
            Self::Ok
            | Self::Error
            | Self::Killed
            | Self::Interrupted
            | Self::SandboxFailed
            | Self::DiskFull
            | Self::Failed => false,
        }
    }

    /// The name used in the chronicle and on screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Crashed => "crashed",
            Self::BadOutput => "bad_output",
            Self::CpuExceeded => "cpu_exceeded",
            Self::MemoryExceeded => "memory_exceeded",
            Self::Timeout => "timeout",
            Self::OutputTooLarge => "output_too_large",
            Self::ProcessesExceeded => "processes_exceeded",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
            Self::SandboxFailed => "sandbox_failed",
            Self::DiskExceeded => "disk_exceeded",
            Self::DiskFull => "disk_full",
            Self::Failed => "failed",
        }
    }
}

/// Which step of the ladder carried a call (design: sandbox §1). All end in the same seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum Carrier {
    /// A process that waited for this very executor, sealed, with its code.
    Predicted,
    /// A warm process that waited for any.
    Warm,
    /// A warm process that was forked for it.
    Forked,
    /// A fresh interpreter.
    Execed,
}

impl Carrier {
    /// The name used in the chronicle and on screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Warm => "warm",
            Self::Forked => "forked",
            Self::Execed => "execed",
        }
    }
}

/// The most visits that are said of one call.
pub const MAX_VISITS: usize = 16;

impl Resources {
    /// Of a call that did not begin.
    pub const NONE: Self = Self {
        wall_us: 0,
        cpu_us: 0,
        peak_kib: 0,
        output_bytes: 0,
        written_bytes: 0,
        carrier: Carrier::Execed,
        visits: Vec::new(),
    };
}

words! {
    /// The answer that refuses. Every ask may be answered with it.
    pub struct Refusal {
        /// What kind of no.
        pub code: RefusalCode,
        /// Which law, rule or limit said so, as in the documentation (`guard.path`, `schema.input`, …).
        pub rule: String,
        /// Why, for a person.
        pub why: String,
        /// What to do about it; empty when nothing can be done.
        pub remedy: String,
    }

    /// An executor by name and version.
    pub struct ExecutorId {
        /// The name, immutable for life.
        pub name: String,
        /// The semantic version.
        pub version: String,
    }

    /// The digests of an executor's signed parts, in the order in which the signature covers them
    /// (design: executor §2).
    pub struct ExecutorDigests {
        /// Of `manifest.toml`.
        pub manifest: Blake3,
        /// Of `main.py`.
        pub code: Blake3,
        /// Of `schema.json`.
        pub schema: Blake3,
        /// Of the effective sandbox: the content of `profile.lock`.
        pub profile: Blake3,
    }

    /// One part of a result, by digest, so that labels can follow it without reading it.
    pub struct Leaf {
        /// JSON pointer of the value in the result.
        pub pointer: String,
        /// Digest of the value's canonical JSON.
        pub digest: Blake3,
    }

    /// What a run used.
    pub struct Resources {
        /// Wall time in microseconds.
        pub wall_us: u64,
        /// Processor time, user and system, in microseconds.
        pub cpu_us: u64,
        /// Largest resident set in KiB.
        pub peak_kib: u64,
        /// Size of the result in bytes.
        pub output_bytes: u64,
        /// Bytes that it has caused to be written to disks, in whole pages, as the kernel counts.
        pub written_bytes: u64,
        /// The step of the ladder that carried it.
        pub carrier: Carrier,
        /// Where it went on the net, or wanted to; at most [`MAX_VISITS`].
        pub visits: Vec<Visit>,
    }

    /// One connection of a call, as its egress helper saw it.
    pub struct Visit {
        /// The name that was asked for; empty when what was asked for is none.
        pub host: String,
        /// The port.
        pub port: u16,
        /// The address that was dialled; empty when none was.
        pub address: String,
        /// Bytes that left.
        pub sent: u64,
        /// Bytes that came.
        pub received: u64,
        /// Why it was refused or cut; empty for one that ended by itself.
        pub refused: String,
    }

    /// An argument that was taken from an earlier result of the same turn.
    pub struct InputRef {
        /// The call whose result it was.
        pub from: CallId,
        /// JSON pointer in that result.
        pub pointer: String,
        /// JSON pointer of the argument that it became.
        pub argument: String,
    }

    /// An empty answer: it was done.
    pub struct Done {}
}

/// What kind of no a [`Refusal`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Schema)]
pub enum RefusalCode {
    /// A rule forbids it.
    Denied,
    /// The words do not fit what was expected.
    Invalid,
    /// The thing named does not exist, or no longer.
    Unknown,
    /// Not now: a limit is reached, or the daemon is stopping.
    Busy,
    /// A part that is needed is missing or broken.
    Unavailable,
    /// Something inside went wrong; nothing was done.
    Internal,
}

impl RefusalCode {
    /// The name used in JSON and in the chronicle.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
            Self::Busy => "busy",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }
}

impl Refusal {
    /// A refusal without a remedy; add one with [`Refusal::remedy`].
    #[must_use]
    pub fn new(code: RefusalCode, rule: &str, why: impl Into<String>) -> Self {
        Self { code, rule: rule.to_owned(), why: why.into(), remedy: String::new() }
    }

    /// The same refusal, saying what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.why)?;
        if !self.remedy.is_empty() {
            write!(f, " ({})", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

impl std::fmt::Display for ExecutorId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reference_is_read_back_as_written_and_nothing_else_is() {
        assert_eq!("c12".parse(), Ok(CallRef(12)));
        for text in ["", "c", "c01", "c+1", "12", "c65536", "C1"] {
            assert_eq!(text.parse::<CallRef>(), Err(()), "{text}");
        }
    }

    #[test]
    fn joining_labels_never_lowers_either_part() {
        let secret = Label { integrity: Integrity::Trusted, readers: Readers::Secret };
        let web = Label { integrity: Integrity::Untrusted, readers: Readers::Public };
        assert_eq!(secret.join(web), Label { integrity: Integrity::Untrusted, readers: Readers::Secret });
        assert_eq!(web.join(Label::CLEAN), web);
    }
}
