//! The last steps of the new process before it becomes the interpreter: it builds its own
//! world from the plan, gives up everything else, and executes; the interpreter then seals itself. Nothing here
//! returns to sandboxd's code, and nothing is left out: the first step that fails ends the process.

use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use landlock::{
    Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Rlimit, Signal};
use rustix::thread::CapabilitySet;

use crate::confine::approved::{GrantView, Identity};
use crate::confine::masks;
use crate::confine::mounts;
use crate::confine::order::{self, KNOWN};
use crate::confine::seccomp::Filter;
use crate::confine::view::NEW_ROOT;
use crate::plan::{
    CHANNEL_FD, CODE_FOLDER, EXECUTOR, FIRST_CONNECTION, HOST_FILE, MountFlags, MountPurpose, Plan, Spec, TMP,
    WORKSPACE, ZYGOTE,
};
use crate::sys;

/// The descriptor over which a failure is reported; closed by the seal.
pub const FAULT_FD: RawFd = 4;
/// The exit code of a process that did not become the interpreter.
pub const NOT_STARTED: i32 = 70;
/// What the new process is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// An executor, inside all its layers from the start.
    Executor,
    /// The zygote: the interpreter alone, without grants. Its children put on their layers themselves; the layers that
    /// cannot be passed on, because mounting needs what they take, are left to them.
    Zygote,
}

/// What the new process is given besides its plan.
#[derive(Debug)]
pub struct ProcessParts<'a> {
    /// The host script.
    pub host: &'a [u8],
    /// The file library of the executors.
    pub library: [(&'a str, &'a [u8]); 8],
    /// What makes Python's own modules use the connections.
    pub net: [(&'static str, &'static [u8]); 9],
    /// The ends of its connections.
    pub connections: &'a [OwnedFd],
    /// What it is shown of what is granted.
    pub world: GrantView<'a>,
    /// What it becomes.
    pub becoming: ProcessRole,
    /// The system call filter under which an interpreter starts.
    pub filter: &'a Filter,
    /// The channel to sandboxd.
    pub channel: BorrowedFd<'a>,
    /// Where output goes.
    pub log: BorrowedFd<'a>,
    /// Where a failure is reported.
    pub fault: BorrowedFd<'a>,
    /// sandboxd's user and group.
    pub ids: (u32, u32),
    /// The owner has waived Landlock by name, on a kernel without it.
    pub without_landlock: bool,
    /// What is left out.
    #[cfg(feature = "attack")]
    pub skipped: SkippedSteps,
}

/// What the tests that take layers away have left out.
#[cfg(feature = "attack")]
#[derive(Debug, Default, Clone, Copy)]
pub struct SkippedSteps {
    /// Landlock is not put on.
    pub landlock: bool,
    /// Capabilities are kept, over the exec too.
    pub capabilities: bool,
    /// The root can be written, and what lies in `/tmp` be executed.
    pub root: bool,
}

/// Which step failed, and why.
struct Failure {
    step: &'static str,
    why: String,
}

trait At<T> {
    /// Names the step in which an error happened.
    fn at(self, step: &'static str) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> At<T> for Result<T, E> {
    fn at(self, step: &'static str) -> Result<T, Failure> {
        self.map_err(|error| Failure { step, why: error.to_string() })
    }
}

/// Becomes the interpreter, or reports why not and ends.
pub fn become_executor(plan: &Plan, material: &ProcessParts<'_>) -> ! {
    if let Err(failure) = prepare(plan.spec(), material) {
        let text = format!("{}: {}", failure.step, failure.why);
        // Whether descriptor 4 is the report's place yet or not, the original is still open then.
        let _ = rustix::io::write(material.fault, text.as_bytes());
    }
    sys::exit_now(NOT_STARTED)
}

fn prepare(spec: &Spec, material: &ProcessParts<'_>) -> Result<(), Failure> {
    map_ids(spec, material)?;
    let root = build_root(spec, material)?;
    mounts::change_root(root.as_fd()).at("changing the root")?;
    drop(root);
    rustix::system::sethostname(spec.hostname.as_bytes()).at("naming the machine")?;
    rustix::process::setsid().at("starting a session")?;
    rustix::process::umask(Mode::from_raw_mode(spec.umask));
    give_up_capabilities(material)?;
    die_with_sandboxd(material)?;
    let program = open_program(spec)?;
    if material.becoming == ProcessRole::Executor {
        fence(spec, material)?;
    }
    // Texts first: after the limits are on there may be no memory for them.
    let texts = |all: Vec<String>| all.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
    let role = |text: &String| if text == EXECUTOR { ZYGOTE.to_owned() } else { text.clone() };
    let argv = match material.becoming {
        ProcessRole::Executor => spec.argv.clone(),
        ProcessRole::Zygote => spec.argv.iter().map(role).collect(),
    };
    let argv = texts(argv).at("the arguments")?;
    let env = texts(spec.env.iter().map(|(key, value)| format!("{key}={value}")).collect()).at("the environment")?;
    descriptors(spec, material, &program)?;
    // From here on only descriptors 0 to 4 and the program's exist: whatever fails reports over descriptor 4.
    let failure = match material.becoming {
        ProcessRole::Executor => {
            limits(spec).and_then(|()| material.filter.install().at("the system call filter")).err()
        }
        ProcessRole::Zygote => None,
    };
    let failure = failure.unwrap_or_else(|| {
        let error = sys::exec_fd(borrow(spec.program_fd), &argv, &env);
        Failure { step: "executing the interpreter", why: error.to_string() }
    });
    let _ = rustix::io::write(borrow(FAULT_FD), format!("{}: {}", failure.step, failure.why).as_bytes());
    sys::exit_now(NOT_STARTED)
}

/// A descriptor that [`descriptors`] has placed.
fn borrow(number: RawFd) -> BorrowedFd<'static> {
    sys::placed(number)
}

fn map_ids(spec: &Spec, material: &ProcessParts<'_>) -> Result<(), Failure> {
    // The copy of a process that is not dumpable is not either, and then root owns its /proc/self.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).at("becoming dumpable")?;
    let proc_self =
        rustix::fs::open("/proc/self", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).at("opening /proc/self")?;
    let (uid, gid) = material.ids;
    mounts::map_ids(proc_self.as_fd(), spec.inner_id, uid, gid).at("mapping ids")?;
    let score = rustix::fs::openat(&proc_self, "oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    let first_to_die = score.and_then(|file| rustix::io::write(&file, b"1000").map(|_| ()));
    first_to_die.at("offering itself when memory is short")?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).at("becoming not dumpable")
}

/// The new root, attached, with everything in it; still below the old one.
fn build_root(spec: &Spec, material: &ProcessParts<'_>) -> Result<OwnedFd, Failure> {
    let view = rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).at("opening the view")?;
    let root = mounts::memory(spec.root, "0755").at("making a root in memory")?;
    let place = mounts::open_path(view.as_fd(), NEW_ROOT).at("finding the place of the root")?;
    mounts::attach(root.as_fd(), place.as_fd()).at("attaching the root")?;
    let granted = |purpose| material.becoming == ProcessRole::Executor || !order::is_granted(purpose);
    for mount in spec.mounts.iter().filter(|mount| granted(mount.purpose) && material.world.has(mount)) {
        let put = || {
            let source = mounts::open_path(view.as_fd(), &mount.source)?;
            let tree = mounts::copy_tree(source.as_fd(), false)?;
            mounts::restrict(tree.as_fd(), mount.flags)?;
            let place = mounts::make_place(root.as_fd(), &mount.target, mount.folder)?;
            mounts::attach(tree.as_fd(), place.as_fd()).map(|()| tree)
        };
        let tree = match put() {
            Ok(tree) => tree,
            // What is not there need not be kept.
            Err(Errno::NOENT | Errno::LOOP) if mount.purpose == MountPurpose::Kept => continue,
            Err(errno) => return Err(Failure { step: "mounting", why: format!("{}: {errno}", mount.target) }),
        };
        if order::is_granted(mount.purpose) {
            Identity::of(&tree).and_then(|found| material.world.approved.fits(mount, found)).at("mounting")?;
        }
    }
    masks::cover(root.as_fd(), material.world.covers).at("covering what is closed")?;
    let tmp = if leaves_root_open(material) {
        mounts::memory_for_code(spec.tmp, "0700")
    } else {
        mounts::memory(spec.tmp, "0700")
    };
    let tmp = tmp.at("making /tmp")?;
    let finish = || {
        mounts::attach(tmp.as_fd(), mounts::make_place(root.as_fd(), TMP, true)?.as_fd())?;
        mounts::make_place(root.as_fd(), CODE_FOLDER, true)?;
        // Where a child's grants will be.
        mounts::make_place(root.as_fd(), WORKSPACE, true)?;
        mounts::write_file(root.as_fd(), HOST_FILE, material.host, 0o444)?;
        for (place, text) in material.library {
            mounts::write_file(root.as_fd(), place, text, 0o444)?;
        }
        if spec.egress.is_some() {
            for (place, text) in material.net {
                mounts::write_file(root.as_fd(), place, text, 0o444)?;
            }
        }
        if leaves_root_open(material) {
            return Ok(());
        }
        mounts::restrict(root.as_fd(), MountFlags::READ)
    };
    finish().at("finishing the root")?;
    Ok(root)
}

/// Whether a test has the root left open. Nothing else can.
const fn leaves_root_open(material: &ProcessParts<'_>) -> bool {
    #[cfg(feature = "attack")]
    return material.skipped.root;
    #[cfg(not(feature = "attack"))]
    {
        let _ = material;
        false
    }
}

/// All that can be kept, kept over the exec.
#[cfg(feature = "attack")]
fn keep_capabilities() -> Result<(), Failure> {
    let all = rustix::thread::capabilities(None).at("looking at capabilities")?.permitted;
    let sets = rustix::thread::CapabilitySets { effective: all, permitted: all, inheritable: all };
    rustix::thread::set_capabilities(None, sets).at("keeping capabilities")?;
    for capability in all.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true).at("keeping capabilities")?;
    }
    rustix::thread::set_no_new_privs(true).at("no_new_privs")
}

fn give_up_capabilities(material: &ProcessParts<'_>) -> Result<(), Failure> {
    #[cfg(feature = "attack")]
    if material.skipped.capabilities {
        return keep_capabilities();
    }
    #[cfg(not(feature = "attack"))]
    let _ = material;
    rustix::thread::clear_ambient_capability_set().at("clearing ambient capabilities")?;
    metnos_jail::drop_bounding_set().at("clearing the bounding set")?;
    let none = CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).at("giving up capabilities")?;
    rustix::thread::set_no_new_privs(true).at("no_new_privs")
}

/// Ends with sandboxd. Asked for after the last change of credentials, which would take it back.
fn die_with_sandboxd(material: &ProcessParts<'_>) -> Result<(), Failure> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).at("tying itself to sandboxd")?;
    // Had sandboxd ended before that, its end of the channel would be closed now.
    let mut channel = [PollFd::from_borrowed_fd(material.channel, PollFlags::empty())];
    rustix::event::poll(&mut channel, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).at("looking at the channel")?;
    if channel[0].revents().contains(PollFlags::HUP) {
        return Err(Failure { step: "tying itself to sandboxd", why: "it is gone".to_owned() });
    }
    Ok(())
}

fn open_program(spec: &Spec) -> Result<OwnedFd, Failure> {
    let Some(path) = spec.argv.first() else {
        return Err(Failure { step: "opening the interpreter", why: "the plan names none".to_owned() });
    };
    rustix::fs::open(path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).at("opening the interpreter")
}

/// Landlock: every right the kernel knows is handled, and only the plan's places are given back.
fn fence(spec: &Spec, material: &ProcessParts<'_>) -> Result<(), Failure> {
    const STEP: &str = "Landlock";
    #[cfg(feature = "attack")]
    if material.skipped.landlock {
        return Ok(());
    }
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(KNOWN)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
        .and_then(Ruleset::create)
        .at(STEP)?;
    let mut ruleset = ruleset.set_compatibility(CompatLevel::BestEffort);
    let given = spec.places.iter().map(|place| (place.path.as_str(), order::rights(place.right, place.folder)));
    // The interpreter and its loader, once; the seal takes it.
    let once = spec.mounts.iter().filter(|mount| mount.purpose == MountPurpose::Program);
    let once = once.map(|mount| (mount.target.as_str(), AccessFs::ReadFile | AccessFs::Execute));
    for (path, rights) in given.chain(once) {
        let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).at(STEP)?;
        ruleset = ruleset.add_rule(PathBeneath::new(opened, rights)).at(STEP)?;
    }
    let status = ruleset.restrict_self().at(STEP)?;
    if status.ruleset == RulesetStatus::NotEnforced && !material.without_landlock {
        return Err(Failure { step: STEP, why: "this kernel does not have it".to_owned() });
    }
    Ok(())
}

/// Exactly the plan's descriptors, the report's and the program's; nothing else stays open.
fn descriptors(spec: &Spec, material: &ProcessParts<'_>, program: &OwnedFd) -> Result<(), Failure> {
    const STEP: &str = "arranging descriptors";
    let opened = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).at(STEP)?;
    // First out of the way of each other, then to their places.
    let away = |fd: BorrowedFd<'_>| rustix::io::fcntl_dupfd_cloexec(fd, spec.program_fd + 1);
    let null = away(opened.as_fd()).at(STEP)?;
    drop(opened);
    let log = away(material.log).at(STEP)?;
    let channel = away(material.channel).at(STEP)?;
    let fault = away(material.fault).at(STEP)?;
    let connections: Vec<OwnedFd> =
        material.connections.iter().map(|fd| away(fd.as_fd())).collect::<Result<_, _>>().at(STEP)?;
    sys::place_fd(program.as_fd(), spec.program_fd, false).at(STEP)?;
    for (fd, number, keep) in
        [(&null, 0, true), (&log, 1, true), (&log, 2, true), (&channel, CHANNEL_FD, true), (&fault, FAULT_FD, true)]
    {
        sys::place_fd(fd.as_fd(), number, keep).at(STEP)?;
    }
    let mut first_free = FIRST_CONNECTION;
    for fd in &connections {
        sys::place_fd(fd.as_fd(), first_free, true).at(STEP)?;
        first_free += 1;
    }
    // Their destructors would close what is closed here.
    std::mem::forget(([null, log, channel, fault], connections));
    let above = u32::try_from(spec.program_fd).at(STEP)?;
    sys::close_range(first_free.unsigned_abs(), above - 1).at(STEP)?;
    sys::close_range(above + 1, u32::MAX).at(STEP)
}

fn limits(spec: &Spec) -> Result<(), Failure> {
    for (resource, value) in order::limits(&spec.limits) {
        let value = Rlimit { current: Some(value), maximum: Some(value) };
        rustix::process::setrlimit(resource, value).at("limits")?;
    }
    Ok(())
}
