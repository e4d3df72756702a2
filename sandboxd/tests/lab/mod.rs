//! A real sandbox on this machine: an instance in a temporary folder, sandboxd's own view of
//! it, and processes started from plans. As root it first becomes an unprivileged user.

use std::path::Path;

use metnos_jail::Delegated;
use metnos_proto::control::{FolderSettings, NetSettings};
use metnos_proto::executor::Quotas;
use metnos_proto::executor::commands::{DEFAULT, DEFAULT_DATA};
use metnos_proto::json;
use metnos_sandboxd::confine::approved::Approved;
use metnos_sandboxd::confine::host_folders::HostFolders;
use metnos_sandboxd::confine::seccomp::{Filter, Runs, Stage};
use metnos_sandboxd::machine::commands::{self, Closed, Listed};
use metnos_sandboxd::machine::interpreter::Interpreter;
use metnos_sandboxd::plan::{Installation, Plan};
use metnos_sandboxd::pool::{Entry, Finished, Job, Sandbox, Secrets};
use metnos_sandboxd::process::kernel::Kernel;
use metnos_sandboxd::process::launch::Launcher;
use metnos_sandboxd::selftest::escape;
use serde_json::Value;
use tokio::sync::oneshot;

pub mod runner;

/// Nobody's user and group, as the supervisor would choose them.
const UNPRIVILEGED: u32 = 64_321;

/// Another interpreter than the system's, for whoever wants to see that it fits: its path, outside of `/tmp` and of what is
/// closed.
const PYTHON: &str = "METNOS_TEST_PYTHON";

/// How many times slower this machine is than the clock by which calls are bounded: an emulated one is. Their time is then as
/// many times longer, in a build with attempts.
const SLOWER: &str = "METNOS_TEST_SLOWER";

/// See [`SLOWER`].
pub fn slower() -> u32 {
    let told = if cfg!(feature = "attack") { std::env::var(SLOWER).ok() } else { None };
    told.map_or(1, |number| number.parse().expect("METNOS_TEST_SLOWER is a number"))
}

/// The plan with the time that this machine needs.
#[cfg(feature = "attack")]
pub fn patient(plan: &Plan) -> Plan {
    plan.careless(|spec| {
        (spec.limits.wall_s, spec.limits.cpu_s) = (spec.limits.wall_s * slower(), spec.limits.cpu_s * slower())
    })
}

/// See [`slower`].
#[cfg(not(feature = "attack"))]
pub fn patient(plan: &Plan) -> Plan {
    plan.clone()
}

pub struct Lab {
    pub kernel: Kernel,
    /// The same with the module that can call anything; `None` where this machine lacks it.
    pub armed_kernel: Option<Kernel>,
    /// The interpreter as it is for executors.
    pub plain: Installation,
    /// With `_ctypes`, so that hostile code can make any system call; `None` where this machine lacks it.
    pub armed: Option<Installation>,
    /// Where folders outside the workspace lie: `pictures` is listed to be read, `albums` to be written.
    pub outside: String,
}

impl Lab {
    /// Enters the view of the instance at `instance`, see [`build`]. Must be called by a process of one thread.
    pub fn enter(instance: &Path) -> Self {
        // As the supervisor does, in the place where it would.
        let groups = Delegated::take().and_then(|groups| {
            groups.give(owner(), owner())?;
            groups.place(std::process::id())?;
            groups.subtree().try_clone_to_owned().map_err(|error| error.to_string())
        });
        let (listed, handed) = outside(instance);
        let handed = HostFolders { groups, ..handed };
        drop_root();
        // As many descriptors as may be, so that it is the sandbox which limits them and not the shell of whoever tests.
        let own = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let all = rustix::process::Rlimit { current: own.maximum, maximum: own.maximum };
        rustix::process::setrlimit(rustix::process::Resource::Nofile, all).unwrap();
        let python = std::env::var(PYTHON).unwrap_or_else(|_| "/usr/bin/python3".to_owned());
        let interpreter = Interpreter::discover(&python).unwrap();
        let armed = interpreter.armed();
        let filters =
            |runs| [Stage::Sealed, Stage::Starting].map(|stage| Filter::load_for(stage, runs).unwrap().digest());
        let listed_programs = DEFAULT.map(str::to_owned);
        let closed = Closed { instance, writable: &listed.write };
        let data = DEFAULT_DATA.map(str::to_owned);
        let of_owner = Listed { programs: &listed_programs, data: &data };
        let programs = commands::find(of_owner, interpreter.loader.as_deref(), closed);
        let installation = |interpreter| Installation {
            interpreter,
            seccomp: filters(Runs::Nothing),
            programs_seccomp: filters(Runs::Programs),
            programs: programs.clone(),
            host: Launcher::host_digest(),
            seal: Launcher::seal_digest(),
            net: Some(Launcher::net_digest()),
            folders: listed.clone(),
        };
        let settings = (&NetSettings::default(), &listed, of_owner);
        let kernel = Kernel::enter_with(instance, interpreter.clone(), false, settings, handed).unwrap();
        let (plain, armed) = (installation(interpreter), armed.map(installation));
        let armed_kernel = armed.as_ref().map(|armed| kernel.beside(armed.clone()).unwrap());
        Self { kernel, armed_kernel, plain, armed, outside: instance.join(OUTSIDE).display().to_string() }
    }

    /// The plan of hostile code: it may read the workspace, and has tight limits.
    pub fn hostile_plan(&self, armed: bool) -> Option<Plan> {
        let installation = if armed { self.armed.as_ref()? } else { &self.plain };
        Some(installation.plan(&escape::manifest(None).unwrap()).unwrap())
    }

    /// The plan of one that may write below `folder`.
    pub fn writers_plan(&self, folder: &str, armed: bool) -> Option<Plan> {
        let installation = if armed { self.armed.as_ref()? } else { &self.plain };
        Some(installation.plan(&escape::manifest(Some(folder)).unwrap()).unwrap())
    }

    pub fn pure_plan(&self, quotas: Quotas) -> Plan {
        self.plain.pure_plan("pure", &quotas).unwrap()
    }

    /// The kernel whose pool fits the plan.
    pub fn kernel_of(&self, plan: &Plan) -> &Kernel {
        let armed = plan.spec().preload.iter().any(|module| module == "_ctypes");
        if armed { self.armed_kernel.as_ref().unwrap() } else { &self.kernel }
    }

    pub async fn run(&self, plan: &Plan, code: &str, args: &Value) -> Finished {
        let (_keep, kill) = oneshot::channel();
        self.run_until(plan, code, args, kill, &|_, _| {}).await
    }

    pub async fn run_until(
        &self,
        plan: &Plan,
        code: &str,
        args: &Value,
        kill: oneshot::Receiver<()>,
        progress: &dyn Fn(u64, u64),
    ) -> Finished {
        let entry = Entry::Call { args: json::canonical(args), thought: None };
        let plan = &patient(plan);
        let secrets = &Secrets::of_birth(plan);
        let job = Job {
            turn: None,
            plan,
            code: code.as_bytes(),
            entry,
            secrets,
            progress,
            approved: Approved::ANY,
            covers: None,
            opens: &[],
            kill,
            begin: None,
            keeper: None,
        };
        self.kernel_of(plan).run(job).await
    }
}

/// Where folders outside the workspace lie in the instance of these tests.
const OUTSIDE: &str = "home";

/// Opens them, as the supervisor does.
fn outside(instance: &Path) -> (FolderSettings, HostFolders) {
    let path = |name: &str| instance.join(OUTSIDE).join(name).display().to_string();
    let listed = FolderSettings { home: String::new(), read: vec![path("pictures")], write: vec![path("albums")] };
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let open = |path: &str| (path.to_owned(), rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap());
    let folders = listed.all().into_iter().map(open).collect();
    (listed, HostFolders { folders, ..HostFolders::default() })
}

/// Makes an instance and gives it to whom sandboxd will be.
pub fn build(instance: &Path) {
    fill(&instance.join("workspace"));
    let put = |path: &str, text: &str| {
        let path = instance.join(OUTSIDE).join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put("pictures/a.txt", "a picture");
    put("pictures/.ssh/new", "the owner's key");
    put("pictures/.netrc", "the owner's key");
    put("albums/old.txt", "old");
    give_away(instance);
    if rustix::process::geteuid().is_root() {
        // Whose user sandboxd is may not walk there.
        let home = instance.join(OUTSIDE);
        std::os::unix::fs::chown(&home, Some(0), Some(0)).unwrap();
        std::fs::set_permissions(&home, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    }
    std::os::unix::fs::chown(instance, Some(owner()), Some(owner())).unwrap();
}

/// The owner's files, harmless and otherwise.
fn fill(workspace: &Path) {
    use std::os::unix::fs::symlink;
    let put = |path: &str, bytes: &[u8]| {
        let path = workspace.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    put("notes/welcome.md", "Benvenuto nel laboratorio.\nperché no?\n".as_bytes());
    put("notes/large.txt", &b"0123456789".repeat(500_000));
    put("notes/bytes.bin", &[0xff, 0xfe, 0, 1]);
    put("executors/none/readme", b"x");
    put("desk/paper.txt", b"paper");
    put("SOUL.md", b"laws");
    // Beside the workspace lies what nobody may see.
    put("../.policy/instance.key", b"the seed");
    put("../.audit/index.sqlite", b"the chronicle");
    symlink("/etc/passwd", workspace.join("notes/link")).unwrap();
    symlink("/etc", workspace.join("notes/out")).unwrap();
    symlink("../../.policy/instance.key", workspace.join("notes/up")).unwrap();
    symlink("welcome.md", workspace.join("notes/inside")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, workspace.join("notes/pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
}

fn owner() -> u32 {
    if rustix::process::geteuid().is_root() { UNPRIVILEGED } else { rustix::process::geteuid().as_raw() }
}

fn give_away(path: &Path) {
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        std::os::unix::fs::lchown(&path, Some(owner()), Some(owner())).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            give_away(&path);
        }
    }
}

/// As the supervisor does for each daemon: no group, no user, no capability of root is left.
fn drop_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (uid, gid) = (rustix::process::Uid::from_raw(UNPRIVILEGED), rustix::process::Gid::from_raw(UNPRIVILEGED));
    rustix::thread::set_thread_groups(&[]).unwrap();
    rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
    rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
}

/// The names of this process's children, ended ones that nobody has collected among them.
pub fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let mut names = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // `PID (NAME) STATE PARENT …`, and a name may hold anything.
        let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else { continue };
        if rest.split_whitespace().nth(1) == Some(&own) {
            names.push(name.to_owned());
        }
    }
    names
}
