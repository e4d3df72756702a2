//! Sandboxes of this machine's kernel: what stands behind [`Sandbox`] in the daemon. It runs
//! what it is given in the plan it is given, and adds nothing of its own.

use std::cell::Cell;
use std::path::Path;

use metnos_proto::control::Start;
use metnos_proto::executor::Quotas;
use metnos_proto::json;
use metnos_proto::msg::sandboxd::Canary;
use serde_json::{Value, json};

use crate::canary;
use crate::frames;
use crate::interp::Interpreter;
use crate::launch::Launcher;
use crate::limits::{self, supervise};
use crate::plan::{CODE_FILE, Installation, Mode, Plan, TMP, WORKSPACE};
use crate::pool::{Entry, Finished, Job, Sandbox};
use crate::scratch::Scratch;
use crate::seccomp::Filter;
use crate::{sys, view};

/// The layer that the owner may waive by name on a kernel that lacks it.
const LANDLOCK: &str = "landlock";

/// Sandboxes of this machine's kernel.
#[derive(Debug)]
pub struct Kernel {
    installation: Installation,
    launcher: Launcher,
    landlock_abi: Option<u32>,
    scratches: Cell<u64>,
}

impl Kernel {
    /// Finds the interpreter and moves this process, which must have one thread, into its own view of the instance.
    ///
    /// # Errors
    /// In a sentence, what is missing.
    pub fn prepare(start: &Start) -> Result<Self, String> {
        let interpreter = Interpreter::discover(&start.settings.interpreter).map_err(|error| error.to_string())?;
        let waived = start.settings.waive.iter().any(|layer| layer == LANDLOCK);
        Self::enter(Path::new(&start.instance), interpreter, waived)
    }

    /// As [`Kernel::prepare`], with an interpreter that was found already.
    ///
    /// # Errors
    /// As [`Kernel::prepare`].
    pub fn enter(instance: &Path, interpreter: Interpreter, without_landlock: bool) -> Result<Self, String> {
        let filter = Filter::load().map_err(|error| error.to_string())?;
        let landlock_abi = sys::landlock_abi();
        if landlock_abi.is_none() && !without_landlock {
            return Err("this kernel has no Landlock, which every sandbox needs; use a newer kernel (5.19 or later), \
                        or waive it by name in metnos.toml"
                .to_owned());
        }
        let instance = view::resolve_instance(instance).map_err(|error| error.to_string())?;
        view::enter(&instance, &interpreter).map_err(|error| error.to_string())?;
        let installation = Installation { interpreter, seccomp: filter.digest(), host: Launcher::host_digest() };
        let launcher = Launcher::new(filter, without_landlock);
        Ok(Self { installation, launcher, landlock_abi, scratches: Cell::new(0) })
    }

    async fn run_plan(
        &self,
        plan: &Plan,
        code: &[u8],
        request: &[u8],
        stop: impl Future<Output = ()>,
        progress: impl FnMut(u64, u64),
    ) -> limits::Finished {
        match self.launcher.launch(plan, code) {
            Ok(launched) => supervise(launched, &plan.spec().limits, &frames::request(request), stop, progress).await,
            Err(error) => limits::Finished::failed(error.to_string()),
        }
    }
}

/// The request to the host script: canonical JSON around `args`, which are JSON already.
#[must_use]
pub fn request(plan: &Plan, entry: &Entry) -> Vec<u8> {
    let (name, args): (&str, &[u8]) = match entry {
        Entry::Call { args } => ("run", args),
        Entry::Cases => ("cases", b"{}"),
    };
    let head = json!({
        "code": CODE_FILE, "entry": name, "tmp": TMP, "wall_s": plan.spec().limits.wall_s, "workspace": WORKSPACE,
    });
    let mut body = json::canonical(&head);
    // The arguments are put in as they are: they may be megabytes, and were checked and written canonically.
    body.pop();
    body.extend_from_slice(b",\"args\":");
    body.extend_from_slice(args);
    body.push(b'}');
    body
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
        vec![
            format!("mode: {}", Mode::Execed.name()),
            format!("files: a root of its own in memory, read-only mounts by descriptor; {landlock}"),
            format!("network: {}", with(4, "an empty namespace, seccomp")),
            format!("signals: {}", with(6, "a process namespace, seccomp")),
            format!("abstract sockets: {}", with(6, "an empty network namespace, seccomp")),
            "system calls: seccomp, an allow-list".to_owned(),
            "execution: one exec of the interpreter by descriptor, seccomp, noexec mounts".to_owned(),
            "limits: rlimits, a clock on the process; no control group".to_owned(),
        ]
    }

    async fn canaries(&self) -> Vec<Canary> {
        let quotas = Quotas { wall_s: 10, cpu_s: 5, ..Quotas::default() };
        let finished = match self.installation.pure_plan("pure", &quotas) {
            Ok(plan) => {
                let request = request(&plan, &Entry::Call { args: b"{}".to_vec() });
                self.run_plan(&plan, canary::CODE, &request, std::future::pending(), |_, _| {}).await
            }
            Err(error) => limits::Finished::failed(error.to_string()),
        };
        canary::read(&finished)
    }

    async fn run(&self, job: Job<'_>) -> Finished {
        let Job { plan, code, entry, progress, kill } = job;
        let stop = async {
            // Whoever drops the other end without a word means that nobody will stop it.
            if kill.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let body = request(plan, &entry);
        let finished = self.run_plan(plan, code, &body, stop, progress).await;
        let limits::Finished { outcome, why, result, resources, log } = finished;
        let result = (outcome == metnos_proto::msg::common::Outcome::Ok).then_some(result);
        Finished { outcome, result, detail: why, log, resources }
    }

    fn scratch(&self, files: &Value) -> Result<Scratch, String> {
        let number = self.scratches.get();
        self.scratches.set(number + 1);
        Scratch::make(number, files)
    }
}
