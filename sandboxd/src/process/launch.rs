//! Starts a process from a plan: an executor's, or the zygote. It takes nothing but the plan: no path, no
//! descriptor and no flag comes from anywhere else.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::sync::OnceLock;

use metnos_proto::ids::Blake3;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use crate::confine::approved::GrantView;
use crate::confine::inner::{self, ProcessParts, ProcessRole};
use crate::confine::order;
use crate::confine::seccomp::{Filter, ListError, Runs, Stage};
use crate::plan::{
    CALENDAR_FILE, CHANGES_FILE, CONTACTS_FILE, DOCUMENTS_FILE, FILES_FILE, FIND_FILE, HOUSE_FILE, LISTS_FILE,
    MAIL_FILE, MAILBOX_FILE, NET_FILE, Namespace, PAGE_FILE, PROGRAMS_FILE, Plan, SENDING_FILE, TABLES_FILE, WALK_FILE,
    WEB_FILE,
};
use crate::process::frames::{self, Instruction};
use crate::process::groups::{Group, Groups};
use crate::sys::{self, Cloned};

/// The host script, part of this binary.
pub const HOST: &[u8] = include_bytes!("../../../executors/host/host.py");

/// The file library of the executors, part of this binary.
pub const FILES: &[u8] = include_bytes!("../../../executors/host/files.py");
/// Its walks.
pub const WALK: &[u8] = include_bytes!("../../../executors/host/walk.py");
/// Its part for names and kinds that are looked for.
pub const FIND: &[u8] = include_bytes!("../../../executors/host/find.py");
/// Its part for lists.
pub const LISTS: &[u8] = include_bytes!("../../../executors/host/lists.py");
/// Its part for contacts.
pub const CONTACTS: &[u8] = include_bytes!("../../../executors/host/contacts.py");
/// Its part that runs listed programs.
pub const PROGRAMS: &[u8] = include_bytes!("../../../executors/host/programs.py");
/// Its part for office documents.
pub const DOCUMENTS: &[u8] = include_bytes!("../../../executors/host/documents.py");
/// Its part for tables as text.
pub const TABLES: &[u8] = include_bytes!("../../../executors/host/tables.py");

/// What makes Python's own modules use a call's connections, part of this binary.
pub const NET: &[u8] = include_bytes!("../../../executors/host/net.py");
/// What executors with network share, part of this binary.
pub const WEB: &[u8] = include_bytes!("../../../executors/host/web.py");
/// What executors of calendars share, part of this binary.
pub const CALENDAR: &[u8] = include_bytes!("../../../executors/host/calendar.py");
/// What executors that change a calendar share, part of this binary.
pub const CHANGES: &[u8] = include_bytes!("../../../executors/host/changes.py");
/// What executors of the house share, part of this binary.
pub const HOUSE: &[u8] = include_bytes!("../../../executors/host/home.py");
/// What executors that send mail share, part of this binary.
pub const SENDING: &[u8] = include_bytes!("../../../executors/host/sending.py");
/// What executors share that open an address which was asked for, part of this binary.
pub const PAGE: &[u8] = include_bytes!("../../../executors/host/page.py");
/// What executors that change a mailbox share, part of this binary.
pub const MAILBOX: &[u8] = include_bytes!("../../../executors/host/mailbox.py");
/// What executors of mail share, part of this binary.
pub const MAIL: &[u8] = include_bytes!("../../../executors/host/mail.py");

/// What the seal is made of. Its digest is that of its text: what a compiler makes of it may differ from release to
/// release, and must not set every executor aside.
const SEAL_TEXT: [&str; 3] =
    [include_str!("../../seal/lib.rs"), include_str!("../../seal/order.rs"), include_str!("../../seal/system.rs")];

/// Why no process was started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The plan was made for another filter or host script.
    #[error("the plan was made for another {0} than this sandboxd has")]
    OtherPlan(&'static str),
    /// The kernel.
    #[error("{step}: {error}")]
    Kernel {
        /// What was being done.
        step: &'static str,
        /// What it said.
        error: io::Error,
    },
}

/// Everything that does not change from call to call.
#[derive(Debug)]
pub struct Launcher {
    plain: Filters,
    /// For plans that run listed programs.
    programs: Filters,
    ids: (u32, u32),
    /// Landlock's version; `None` only when the owner has waived it by name.
    landlock: Option<u32>,
    /// Control groups of calls, where there are some.
    groups: Option<Rc<Groups>>,
    #[cfg(feature = "attack")]
    skipped: crate::confine::inner::SkippedSteps,
}

/// The filters of a profile.
#[derive(Debug, Clone)]
struct Filters {
    sealed: Filter,
    start: Filter,
}

impl Filters {
    fn load(runs: Runs) -> Result<Self, ListError> {
        let load = |stage| Filter::load_for(stage, runs);
        Ok(Self { sealed: load(Stage::Sealed)?, start: load(Stage::Starting)? })
    }

    const fn digests(&self) -> [Blake3; 2] {
        [self.sealed.digest(), self.start.digest()]
    }
}

/// A process on its way to becoming an executor.
#[derive(Debug)]
pub struct Launched {
    /// Its number.
    pub pid: i32,
    /// Readable when it has ended.
    pub pidfd: OwnedFd,
    /// The channel to the host script.
    pub channel: OwnedFd,
    /// What it writes to its standard output and error.
    pub log: OwnedFd,
    /// A sentence when it did not become the interpreter; at its end without one when it did.
    pub fault: OwnedFd,
    /// The control group that it is in, alone, where calls get one.
    pub group: Option<Group>,
}

impl Launcher {
    /// A launcher for this process's user. No `landlock` only when the owner has waived it by name.
    ///
    /// # Errors
    /// When the reviewed list of system calls does not hold together.
    pub fn new(landlock: Option<u32>) -> Result<Self, ListError> {
        let ids = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Self {
            plain: Filters::load(Runs::Nothing)?,
            programs: Filters::load(Runs::Programs)?,
            ids,
            landlock,
            groups: None,
            #[cfg(feature = "attack")]
            skipped: crate::confine::inner::SkippedSteps::default(),
        })
    }

    /// The same with control groups for what it starts.
    #[must_use]
    pub fn with_groups(self, groups: Option<Rc<Groups>>) -> Self {
        Self { groups, ..self }
    }

    /// Control groups of calls, where there are some.
    #[must_use]
    pub const fn groups(&self) -> Option<&Rc<Groups>> {
        self.groups.as_ref()
    }

    /// A group for a process, where there are some.
    ///
    /// # Errors
    /// What the kernel says; without its group no process is started.
    pub fn group(&self) -> Result<Option<Group>, LaunchError> {
        let failed =
            |errno: rustix::io::Errno| LaunchError::Kernel { step: "making a control group", error: errno.into() };
        self.groups.as_ref().map(Groups::make).transpose().map_err(failed)
    }

    /// One that leaves layers out of what it starts, and has no filter when `open`: for the tests that take layers away.
    ///
    /// # Errors
    /// As [`Launcher::new`].
    #[cfg(feature = "attack")]
    pub fn skipping(
        landlock: Option<u32>,
        open: bool,
        skipped: crate::confine::inner::SkippedSteps,
    ) -> Result<Self, ListError> {
        let launcher = Self { skipped, ..Self::new(landlock)? };
        let none = || Filters { sealed: Filter::none(), start: Filter::none() };
        Ok(if open { Self { plain: none(), programs: none(), ..launcher } } else { launcher })
    }

    /// The digests of the filters of a sealed process and of one that starts, by what is run besides.
    #[must_use]
    pub const fn filter_digests(&self, runs: Runs) -> [Blake3; 2] {
        match runs {
            Runs::Nothing => self.plain.digests(),
            Runs::Programs => self.programs.digests(),
        }
    }

    const fn filters(&self, plan: &Plan) -> &Filters {
        match plan.runs() {
            Runs::Nothing => &self.plain,
            Runs::Programs => &self.programs,
        }
    }

    /// The digest of the seal.
    #[must_use]
    pub fn seal_digest() -> Blake3 {
        Blake3::of(SEAL_TEXT.concat().as_bytes())
    }

    /// The order for one that executes `plan`, as a frame; with these grants beside it, by their places.
    #[must_use]
    pub fn order(&self, plan: &Plan, granted: &[&str]) -> Vec<u8> {
        frames::frame(Instruction::Seal, &order::of_plan(plan, &self.filters(plan).sealed, self.landlock, granted))
    }

    /// The digest of the host script with the file library.
    #[must_use]
    pub fn host_digest() -> Blake3 {
        static DIGEST: OnceLock<Blake3> = OnceLock::new();
        *DIGEST.get_or_init(|| {
            Blake3::of(&[HOST, FILES, WALK, FIND, LISTS, CONTACTS, PROGRAMS, DOCUMENTS, TABLES].concat())
        })
    }

    /// The digest of what makes Python's own modules use a call's connections, with what executors with network share.
    #[must_use]
    pub fn net_digest() -> Blake3 {
        Blake3::of(&[NET, WEB, PAGE, MAIL, MAILBOX, SENDING, CALENDAR, CHANGES, HOUSE].concat())
    }

    /// Whether the plan was made for what this sandboxd has.
    ///
    /// # Errors
    /// [`LaunchError::OtherPlan`].
    pub fn fits(&self, plan: &Plan) -> Result<(), LaunchError> {
        let spec = plan.spec();
        if [spec.seccomp, spec.start_seccomp] != self.filter_digests(plan.runs()) {
            return Err(LaunchError::OtherPlan("system call filter"));
        }
        if spec.host != Self::host_digest() {
            return Err(LaunchError::OtherPlan("host script"));
        }
        if spec.seal != Self::seal_digest() {
            return Err(LaunchError::OtherPlan("seal"));
        }
        if plan.egress().is_some_and(|egress| egress.host != Self::net_digest()) {
            return Err(LaunchError::OtherPlan("way to the net"));
        }
        Ok(())
    }

    /// Starts the process.
    ///
    /// # Errors
    /// A [`LaunchError`]. What goes wrong inside the new process is reported over [`Launched::fault`].
    pub fn launch(&self, plan: &Plan, becoming: ProcessRole) -> Result<Launched, LaunchError> {
        self.launch_with(plan, becoming, &[], GrantView::ANY)
    }

    /// The same with the ends of a call's connections, exactly as many as the plan names, what it is
    /// shown of what is granted.
    ///
    /// # Errors
    /// As [`Launcher::launch`].
    pub fn launch_with(
        &self,
        plan: &Plan,
        becoming: ProcessRole,
        connections: &[OwnedFd],
        world: GrantView<'_>,
    ) -> Result<Launched, LaunchError> {
        self.fits(plan)?;
        if plan.egress().map_or(0, |egress| usize::from(egress.connections)) != connections.len() {
            return Err(LaunchError::OtherPlan("number of connections"));
        }
        let Pipes { channel, log, fault, inner } = Pipes::new(match becoming {
            ProcessRole::Executor => SocketType::STREAM,
            ProcessRole::Zygote => SocketType::SEQPACKET,
        })?;
        let group = match becoming {
            ProcessRole::Executor => self.group()?,
            // It runs no executor, and stays where sandboxd is.
            ProcessRole::Zygote => None,
        };
        if let Some(group) = &group {
            let failed = |errno: rustix::io::Errno| LaunchError::Kernel {
                step: "bounding a control group",
                error: errno.into(),
            };
            group.limit(&plan.spec().limits).map_err(failed)?;
        }
        let into = group.as_ref().map(Group::folder);
        let cloned = sys::clone_process(clone_flags(&plan.spec().namespaces, becoming), into);
        match cloned.map_err(|error| LaunchError::Kernel { step: "making a process in new namespaces", error })? {
            Cloned::Child => {
                let material = ProcessParts {
                    host: HOST,
                    library: [
                        (FILES_FILE, FILES),
                        (WALK_FILE, WALK),
                        (FIND_FILE, FIND),
                        (LISTS_FILE, LISTS),
                        (CONTACTS_FILE, CONTACTS),
                        (PROGRAMS_FILE, PROGRAMS),
                        (DOCUMENTS_FILE, DOCUMENTS),
                        (TABLES_FILE, TABLES),
                    ],
                    net: [
                        (NET_FILE, NET),
                        (WEB_FILE, WEB),
                        (PAGE_FILE, PAGE),
                        (MAIL_FILE, MAIL),
                        (MAILBOX_FILE, MAILBOX),
                        (SENDING_FILE, SENDING),
                        (CALENDAR_FILE, CALENDAR),
                        (CHANGES_FILE, CHANGES),
                        (HOUSE_FILE, HOUSE),
                    ],
                    connections,
                    world,
                    becoming,
                    filter: &self.filters(plan).start,
                    channel: inner.channel.as_fd(),
                    log: inner.log.as_fd(),
                    fault: inner.fault.as_fd(),
                    ids: self.ids,
                    without_landlock: self.landlock.is_none(),
                    #[cfg(feature = "attack")]
                    skipped: self.skipped,
                };
                inner::become_executor(plan, &material)
            }
            Cloned::Parent { pid, pidfd } => Ok(Launched { pid, pidfd, channel, log, fault, group }),
        }
    }
}

/// The inner ends of a process's channel, output and report.
#[derive(Debug)]
pub struct Inner {
    /// Of the channel.
    pub channel: OwnedFd,
    /// Of the output.
    pub log: OwnedFd,
    /// Of the report.
    pub fault: OwnedFd,
}

/// What connects sandboxd to a process; see [`Launched`].
#[derive(Debug)]
pub struct Pipes {
    /// To the host script.
    pub channel: OwnedFd,
    /// Its output.
    pub log: OwnedFd,
    /// Its report.
    pub fault: OwnedFd,
    /// What the process gets.
    pub inner: Inner,
}

impl Pipes {
    /// New ones; this side's do not block.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new(kind: SocketType) -> Result<Self, LaunchError> {
        let failed =
            |step: &'static str| move |errno: rustix::io::Errno| LaunchError::Kernel { step, error: errno.into() };
        let (channel, inner_channel) = rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            .map_err(failed("making a channel"))?;
        let (log, inner_log) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("making a pipe"))?;
        let (fault, inner_fault) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(failed("making a pipe"))?;
        for fd in [channel.as_fd(), log.as_fd(), fault.as_fd()] {
            rustix::io::ioctl_fionbio(fd, true).map_err(failed("making a channel"))?;
        }
        let inner = Inner { channel: inner_channel, log: inner_log, fault: inner_fault };
        Ok(Self { channel, log, fault, inner })
    }
}

fn clone_flags(namespaces: &[Namespace], becoming: ProcessRole) -> i32 {
    // A process that is the first of its namespace could give its children no other parent than itself; and from a namespace
    // of control groups none could begin in a group outside of it.
    let shared = [Namespace::Pid, Namespace::Cgroup];
    let own = |namespace: &&Namespace| becoming == ProcessRole::Executor || !shared.contains(namespace);
    namespaces.iter().filter(own).fold(0, |flags, namespace| {
        flags
            | match namespace {
                Namespace::User => libc::CLONE_NEWUSER,
                Namespace::Pid => libc::CLONE_NEWPID,
                Namespace::Mount => libc::CLONE_NEWNS,
                Namespace::Net => libc::CLONE_NEWNET,
                Namespace::Ipc => libc::CLONE_NEWIPC,
                Namespace::Uts => libc::CLONE_NEWUTS,
                Namespace::Cgroup => libc::CLONE_NEWCGROUP,
            }
    })
}
