//! Sandboxes of this machine's kernel: what stands behind [`Sandbox`] in the daemon. It runs
//! what it is given in the plan it is given, and adds nothing of its own.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use metnos_proto::control::{FolderSettings, NetSettings, Start};
use metnos_proto::executor::Quotas;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_proto::msg::sandboxd::Canary;
use serde_json::Value;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::confine::approved::GrantView;
use crate::confine::hidden::{Cover, HiddenFiles};
use crate::confine::host_folders::HostFolders;
use crate::confine::inner::ProcessRole;
use crate::confine::seccomp::Runs;
use crate::confine::view;
use crate::machine::commands::{self, Closed, Listed};
use crate::machine::interpreter::Interpreter;
use crate::machine::mounted;
use crate::plan::{Installation, Mode, Plan};
use crate::pool::secrets::Servers;
use crate::pool::{Entry, Finished, Job, Keeper, Sandbox};
use crate::process::disk::{Disk, Writers};
use crate::process::egress::{CallConnections, Egress};
use crate::process::frames::{self, Instruction};
use crate::process::groups::Groups;
use crate::process::input::{CallRequest, Taken, keeping, request};
use crate::process::launch::Launcher;
use crate::process::limits::{self, AwaitedEnd, Breach, supervise};
use crate::process::reaper::Reaper;
use crate::process::watched::Watched;
use crate::scratch::Scratch;
use crate::selftest::canary;
use crate::sys;
use crate::warm::Pool;

/// The layer that the owner may waive by name on a kernel that lacks it.
const LANDLOCK: &str = "landlock";

/// How long a warm process is looked for; after that an interpreter is executed.
const TAKE_WITHIN: Duration = Duration::from_secs(2);

/// Sandboxes of this machine's kernel.
#[derive(Debug)]
pub struct Kernel {
    installation: Installation,
    /// For the escape suite alone; see [`Interpreter::armed`].
    armed: Option<Installation>,
    launcher: Rc<Launcher>,
    /// Why calls have no control group; empty where they have.
    no_groups: String,
    pool: Rc<Pool>,
    reaper: Rc<Reaper>,
    egress: Rc<Egress>,
    landlock_abi: Option<u32>,
    /// See [`mounted`].
    mounted: Vec<String>,
    /// Listed folders that are not shown, and why.
    not_shown: Vec<String>,
    hidden: HiddenFiles,
    writers: Rc<Writers>,
    scratches: Cell<u64>,
}

impl Kernel {
    /// Finds the interpreter and moves this process, which must have one thread, into its own view of the instance and of what
    /// the supervisor has `handed` over.
    ///
    /// # Errors
    /// In a sentence, what is missing.
    pub fn prepare(start: &Start, handed: HostFolders) -> Result<Self, String> {
        let interpreter = Interpreter::discover(&start.settings.interpreter).map_err(|error| error.to_string())?;
        let waived = start.settings.waive.iter().any(|layer| layer == LANDLOCK);
        let programs = Listed { programs: &start.settings.commands, data: &start.settings.program_data };
        let listed = (&start.settings.net, &start.settings.folders, programs);
        let kernel = Self::enter_with(Path::new(&start.instance), interpreter, waived, listed, handed)?;
        if start.settings.owner_uid == rustix::process::geteuid().as_raw() {
            kernel.writers.share_user();
        }
        Ok(kernel)
    }

    /// As [`Kernel::prepare`], with an interpreter that was found already.
    ///
    /// # Errors
    /// As [`Kernel::prepare`].
    pub fn enter(
        instance: &Path,
        interpreter: Interpreter,
        without_landlock: bool,
        net: &NetSettings,
        groups: Result<OwnedFd, String>,
    ) -> Result<Self, String> {
        let none = FolderSettings::default();
        let handed = HostFolders { groups, ..HostFolders::default() };
        Self::enter_with(instance, interpreter, without_landlock, (net, &none, Listed::default()), handed)
    }

    /// As [`Kernel::prepare`], with an interpreter that was found already.
    ///
    /// # Errors
    /// As [`Kernel::prepare`].
    pub fn enter_with(
        instance: &Path,
        interpreter: Interpreter,
        without_landlock: bool,
        (net, listed, programs): (&NetSettings, &FolderSettings, Listed<'_>),
        HostFolders { egress, folders, groups }: HostFolders,
    ) -> Result<Self, String> {
        let landlock_abi = sys::landlock_abi();
        if landlock_abi.is_none() && !without_landlock {
            return Err("this kernel has no Landlock, which every sandbox needs; use a newer kernel (5.19 or later), \
                        or waive it by name in metnos.toml"
                .to_owned());
        }
        let instance = view::resolve_instance(instance).map_err(|error| error.to_string())?;
        // First, because it is to see the system's own files and no lock of sandboxd's.
        let egress = Egress::start(net, without_landlock, egress)?;
        let certificates = Path::new(&net.ca_bundle).is_file().then_some(net.ca_bundle.as_str());
        let mounted = mounted::below(&instance.join("workspace"))?;
        let closed = Closed { instance: &instance, writable: &listed.write };
        let programs = commands::find(programs, interpreter.loader.as_deref(), closed);
        // The view shows what the escape suite needs; the plans decide who sees it.
        let armed = interpreter.armed();
        let shown = armed.as_ref().unwrap_or(&interpreter);
        let not_shown = view::enter(&instance, shown, certificates, &programs, (&folders, listed))
            .map_err(|error| error.to_string())?;
        // What is shown stands in the view; by these descriptors more could be reached.
        drop(folders);
        let (groups, no_groups) = match groups.and_then(Groups::open) {
            Ok(groups) => (Some(groups), String::new()),
            Err(why) => (None, why),
        };
        let launcher = Launcher::new(landlock_abi).map_err(|error| error.to_string())?.with_groups(groups);
        let installation = Installation {
            interpreter,
            seccomp: launcher.filter_digests(Runs::Nothing),
            programs_seccomp: launcher.filter_digests(Runs::Programs),
            programs,
            host: Launcher::host_digest(),
            seal: Launcher::seal_digest(),
            net: certificates.map(|_| Launcher::net_digest()),
            folders: listed.clone(),
        };
        let armed = armed.map(|interpreter| Installation { interpreter, ..installation.clone() });
        let base = installation.pure_plan("pure", &Quotas::default()).map_err(|error| error.to_string())?;
        let launcher = Rc::new(launcher);
        let (pool, reaper) = (Pool::new(Rc::clone(&launcher), base), Rc::default());
        let (egress, scratches) = (Rc::new(egress), Cell::new(0));
        Ok(Self {
            installation,
            armed,
            launcher,
            no_groups,
            pool,
            reaper,
            egress,
            landlock_abi,
            mounted,
            not_shown,
            hidden: HiddenFiles::default(),
            writers: Rc::default(),
            scratches,
        })
    }

    /// The same for another interpreter of the same view, with a pool of its own.
    ///
    /// # Errors
    /// When it lies in a closed place.
    pub fn beside(&self, installation: Installation) -> Result<Self, String> {
        let base = installation.pure_plan("pure", &Quotas::default()).map_err(|error| error.to_string())?;
        let launcher = Rc::clone(&self.launcher);
        let pool = Pool::new(Rc::clone(&launcher), base);
        let (reaper, egress) = (Rc::clone(&self.reaper), Rc::clone(&self.egress));
        Ok(Self {
            installation,
            armed: None,
            launcher,
            no_groups: self.no_groups.clone(),
            pool,
            reaper,
            egress,
            landlock_abi: self.landlock_abi,
            mounted: self.mounted.clone(),
            not_shown: self.not_shown.clone(),
            hidden: HiddenFiles::default(),
            writers: Rc::default(),
            scratches: Cell::new(0),
        })
    }

    /// What starts processes.
    #[must_use]
    pub fn launcher(&self) -> &Launcher {
        &self.launcher
    }

    /// What waits for calls.
    #[must_use]
    pub const fn pool(&self) -> &Rc<Pool> {
        &self.pool
    }

    /// What collects the processes of calls that have ended.
    #[must_use]
    pub const fn reaper(&self) -> &Rc<Reaper> {
        &self.reaper
    }

    /// What bounds a call, for `status`.
    fn limits(&self) -> String {
        let groups = match self.launcher.groups() {
            Some(_) => "a control group for each call (memory, pids, cpu)".to_owned(),
            None => format!("no control group: {}", self.no_groups),
        };
        format!("limits: rlimits, a clock on the process; {groups}")
    }

    /// The paths to cover: those of an earlier search, or else of a search made now.
    async fn covered(&self, plan: &Plan, found: Option<&[Cover]>) -> Result<Vec<Cover>, String> {
        match found {
            Some(found) => Ok(found.to_vec()),
            None => self.hidden.covers(plan, &[], "").await,
        }
    }

    /// On a fresh interpreter: the step of the ladder that needs nothing but the plan. `arguments` say where it may go
    /// on the net, if anywhere.
    async fn execute(
        &self,
        (plan, world): (&Plan, GrantView<'_>),
        (arguments, servers): (Option<&[u8]>, Servers<'_>),
        code: &[u8],
        (request, entry, keeper): (&[u8], &Entry, Option<&dyn Keeper>),
        stop: impl Future<Output = Breach>,
        progress: impl FnMut(u64, u64),
    ) -> limits::Finished {
        let (connections, report) = match self.egress.open(plan, arguments, servers) {
            Ok(Some(CallConnections { connections, report })) => (connections, Some(report)),
            Ok(None) => (Vec::new(), None),
            Err(why) => return limits::Finished::failed(why),
        };
        let launched = self.launcher.launch_with(plan, ProcessRole::Executor, &connections, world);
        // Only the process has them from here on.
        drop(connections);
        let mut finished = match launched {
            Ok(launched) => {
                let mut words = Zeroizing::new(self.launcher.order(plan, &[]));
                words.extend(frames::frame(Instruction::Source, code));
                words.extend(frames::frame(Instruction::Request, request));
                let (said, limits) = (CallRequest { words: &words, file: entry.takes() }, &plan.spec().limits);
                let ending = AwaitedEnd::of(plan, &self.reaper);
                supervise(launched, limits, said, Taken { file: entry.gives(), keeper }, ending, stop, progress).await
            }
            Err(error) => limits::Finished::failed(error.to_string()),
        };
        if let Some(report) = report {
            finished.resources.visits = report.visits().await;
        }
        finished
    }
}

/// The request of a call that may keep something.
fn request_of(plan: &Plan, entry: &Entry, keeper: Option<&dyn Keeper>) -> Vec<u8> {
    let request = request(plan, entry);
    if keeper.is_some() { keeping(request) } else { request }
}

/// Is ready when the run is stopped. Dropping the other end means that it never will be.
async fn stopped(kill: oneshot::Receiver<()>) {
    if kill.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Is ready when the run is stopped, or it has taken more room than it may.
async fn ends(stop: impl Future<Output = ()>, disk: &Disk) -> Breach {
    tokio::select! {
        () = stop => Breach::Stopped,
        breach = disk.breach() => breach,
    }
}

/// The disk was too full for it to begin.
fn no_room(why: String) -> Finished {
    let outcome = Outcome::DiskFull;
    ended(limits::Finished { outcome, ..limits::Finished::failed(why) }, Carrier::Execed)
}

/// How a run ended, for the caller: a result only of one that ended well.
fn ended(finished: limits::Finished, carrier: Carrier) -> Finished {
    let limits::Finished { outcome, why, result, mut resources, log, alarms, nothing_ran: _ } = finished;
    resources.carrier = carrier;
    Finished { outcome, result: (outcome == Outcome::Ok).then_some(result), detail: why, log, alarms, resources }
}

impl Sandbox for Kernel {
    type Scratch = Scratch;

    fn installation(&self) -> &Installation {
        &self.installation
    }

    fn layers(&self) -> Vec<String> {
        let landlock = self.landlock_abi.map_or("waived".to_owned(), |abi| format!("Landlock, ABI {abi}"));
        // From ABI 4 it knows ports, from 6 signals and abstract sockets; below, the others carry them alone.
        let with = |least: u32, others: &str| {
            let carried = self.landlock_abi.is_some_and(|abi| abi >= least);
            if carried { format!("{others}, Landlock") } else { others.to_owned() }
        };
        let closed =
            self.mounted.first().map(|first| format!("workspace: granted to nobody, {first} is mounted below it"));
        let not_shown = self.not_shown.iter().map(|why| format!("folders: not shown to anybody: {why}"));
        let programs = &self.installation.programs;
        let missing =
            programs.missing.iter().map(|(path, why)| format!("programs: not shown to anybody: {path}: {why}"));
        let layers = vec![
            format!("ladder: {}, then refused", Mode::LADDER.map(Mode::name).join(", then ")),
            format!("pool: {}", self.pool.describe()),
            format!("files: a root of its own in memory, read-only mounts by descriptor; {landlock}"),
            format!("network: {}", with(4, "an empty namespace, seccomp")),
            format!("signals: {}", with(6, "a process namespace, seccomp")),
            format!("abstract sockets: {}", with(6, "an empty network namespace, seccomp")),
            "system calls: seccomp, an allow-list".to_owned(),
            "execution: seccomp, Landlock without any right to execute, noexec mounts; sealed once the interpreter is up".to_owned(),
            format!(
                "programs: {} listed and there, for executors that may run them: their mounts alone, Landlock for them alone",
                programs.found.len()
            ),
            self.limits(),
        ];
        closed.into_iter().chain(not_shown).chain(missing).chain(layers).collect()
    }

    fn mounted(&self) -> &[String] {
        &self.mounted
    }

    async fn find_covers(&self, plan: &Plan, named: &[String], own: &str) -> Result<Vec<Cover>, String> {
        self.hidden.covers(plan, named, own).await
    }

    fn room(&self, plan: &Plan) -> Result<(), String> {
        Disk::before(plan, &self.writers).map(drop)
    }

    async fn canaries(&self) -> Vec<Canary> {
        let quotas = Quotas { wall_s: 10, cpu_s: 5, ..Quotas::default() };
        let finished = match self.installation.pure_plan("pure", &quotas) {
            Ok(plan) => {
                let entry = Entry::Call { args: b"{}".to_vec(), thought: None };
                let (request, never) = (request(&plan, &entry), std::future::pending());
                self.execute(
                    (&plan, GrantView::ANY),
                    (None, Servers::default()),
                    canary::CODE,
                    (&request, &entry, None),
                    never,
                    |_, _| {},
                )
                .await
            }
            Err(error) => limits::Finished::failed(error.to_string()),
        };
        canary::read(&finished)
    }

    async fn run(&self, job: Job<'_>) -> Finished {
        let Job { turn, plan, code, entry, secrets, progress, approved, covers, opens, kill, begin, keeper } = job;
        let covers = match self.covered(plan, covers).await {
            Ok(covers) => covers,
            Err(why) => return ended(limits::Finished::failed(why), Carrier::Execed),
        };
        let mut stop = pin!(stopped(kill));
        let world = GrantView { approved, covers: &covers, opens };
        let disk = match Disk::before(plan, &self.writers) {
            Ok(disk) => disk,
            Err(why) => return no_room(why),
        };
        let body = Zeroizing::new(secrets.put_into(request_of(plan, &entry, keeper)));
        let _running = self.pool.call();
        let mut carried = None;
        // The process is made ready while the start is being recorded; it gets its request only after that.
        let ready = async {
            let taken = async {
                let taken = tokio::time::timeout(TAKE_WITHIN, self.pool.take(turn, plan, code, world)).await;
                let taken = taken.unwrap_or_else(|_| {
                    tracing::warn!("a warm process was not to be had in time");
                    None
                });
                taken.and_then(|taken| Some((Watched::from(taken.process.hand_over()?), taken.carrier, taken.code)))
            };
            tokio::join!(taken, Job::may_begin(begin))
        };
        let (taken, may_begin) = tokio::select! {
            biased;
            () = stop.as_mut() => return Finished::never_begun("it was stopped before it began"),
            ready = ready => ready,
        };
        if !may_begin {
            return Finished::never_begun("its start was not recorded");
        }
        if let Some((watched, carrier, code)) = taken {
            let mut words = Zeroizing::new(code);
            words.extend(frames::frame(Instruction::Request, &body));
            let (limits, ending) = (&plan.spec().limits, AwaitedEnd::of(plan, &self.reaper));
            let (said, stop) = (CallRequest { words: &words, file: entry.takes() }, ends(stop.as_mut(), &disk));
            let finished =
                supervise(watched, limits, said, Taken { file: entry.gives(), keeper }, ending, stop, progress).await;
            if matches!(finished.outcome, Outcome::SandboxFailed | Outcome::Crashed) {
                self.pool.crashed();
            }
            // Only when it is certain that nothing has run, the next step of the ladder.
            if finished.nothing_ran {
                tracing::warn!(why = finished.why, "a warm process was not sealed");
            } else {
                carried = Some((finished, carrier));
            }
        }
        let (finished, carrier) = match carried {
            Some(carried) => carried,
            None => {
                self.pool.missed();
                // Without a turn it is a birth test, which reaches nothing.
                let arguments = entry.args().filter(|_| turn.is_some());
                let stop = ends(stop, &disk);
                let finished = self
                    .execute(
                        (plan, world),
                        (arguments, secrets.servers()),
                        code,
                        (&body, &entry, keeper),
                        stop,
                        progress,
                    )
                    .await;
                (finished, Carrier::Execed)
            }
        };
        let mut finished = finished;
        disk.settle(&mut finished).await;
        ended(finished, carrier)
    }

    async fn run_fresh(&self, job: Job<'_>) -> Finished {
        let Job { turn: _, plan, code, entry, secrets, progress, approved, covers, opens, kill, begin, keeper } = job;
        if !Job::may_begin(begin).await {
            return Finished::never_begun("its start was not recorded");
        }
        let covers = match self.covered(plan, covers).await {
            Ok(covers) => covers,
            Err(why) => return ended(limits::Finished::failed(why), Carrier::Execed),
        };
        let body = Zeroizing::new(secrets.put_into(request_of(plan, &entry, keeper)));
        let world = GrantView { approved, covers: &covers, opens };
        let disk = match Disk::before(plan, &self.writers) {
            Ok(disk) => disk,
            Err(why) => return no_room(why),
        };
        let stop = ends(stopped(kill), &disk);
        let mut finished = self
            .execute((plan, world), (None, Servers::default()), code, (&body, &entry, keeper), stop, progress)
            .await;
        disk.settle(&mut finished).await;
        ended(finished, Carrier::Execed)
    }

    fn armed(&self) -> Option<&Installation> {
        self.armed.as_ref()
    }

    fn mode(&self) -> Mode {
        if self.pool.is_open() { Mode::Warm } else { Mode::Execed }
    }

    fn serving(&self) {
        tokio::task::spawn_local(Rc::clone(&self.pool).keep());
        let (reaper, pool) = (Rc::clone(&self.reaper), Rc::clone(&self.pool));
        tokio::task::spawn_local(async move { reaper.keep(|| pool.out_of_the_way()).await });
    }

    fn scratch(&self, files: &Value) -> Result<Scratch, String> {
        let number = self.scratches.get();
        self.scratches.set(number + 1);
        Scratch::make(number, files)
    }
}
