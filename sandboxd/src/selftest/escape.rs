//! The escape suite (design: sandbox §6): the hostile executors of `escape/`, each of which states what it tries, which layer
//! stops it first and how that shows. It is part of this crate's tests, and the owner has it tried on his own machine with
//! `metnosctl sandbox selftest`. What it is tried in is a sandbox like any other, with a workspace made up for it: nothing here
//! weakens a plan or shows the owner's files.
//!
//! Cases that are *armed* have a module that can make any system call; no real executor has it, so they show what the kernel's
//! layers hold without the help of Python's own.

use std::collections::BTreeMap;

use metnos_jail::profile::names::{Number, syscall};
use metnos_proto::control::FolderSettings;
use metnos_proto::doc::sandbox::EscapeTry;
use metnos_proto::executor::{Manifest, Quotas};
use metnos_proto::json;
use metnos_proto::msg::common::{Carrier, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::oneshot;

use crate::confine::approved::Approved;
use crate::plan::{Installation, OUTSIDE, Plan};
use crate::pool::{Entry, Finished, Job, Sandbox, ScratchFolder, Secrets};
use crate::scratch::FileDescription;

const PRELUDE: &str = include_str!("../../escape/prelude.py");

macro_rules! families {
    ($($name:literal)+) => {
        const FAMILIES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../escape/", $name, ".toml"))),)+];
    };
}

families! {
    "files" "links" "writing" "nodes" "modes" "secrets" "sockets" "programs" "code" "others" "identity" "kernel" "mounting" "clocks"
    "terminals" "floods" "alone" "lies" "outside" "listed"
}

/// The most characters of what came of a case that are reported.
const MAX_CAME: usize = 300;

/// The errors by which any layer refuses: what came so was stopped, if not by the layer that it was tried without.
pub const REFUSALS: [&str; 7] = ["EPERM", "EACCES", "EROFS", "ENOENT", "ENOSYS", "ELOOP", "EXDEV"];

/// What stops a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// A root of its own, in which nothing is that the plan does not name.
    Root,
    /// What is there is there for reading, leads nowhere, and is no program.
    Mounts,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Seccomp,
    /// That it has no capability, also none over what is its own.
    Capabilities,
    /// Namespaces, and an environment of its own.
    Namespaces,
    /// The mask of the modes of new files.
    Umask,
    /// No descriptor but its own.
    Descriptors,
    /// Resource limits.
    Limits,
    /// The sizes of its file systems in memory.
    Sizes,
    /// The clock on the process.
    Clock,
    /// The room that it may take on a disk.
    Disk,
    /// sandboxd's reading of what comes out.
    Channel,
}

impl Layer {
    /// Its name in the files of the suite.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Mounts => "mounts",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Capabilities => "capabilities",
            Self::Namespaces => "namespaces",
            Self::Umask => "umask",
            Self::Descriptors => "descriptors",
            Self::Limits => "limits",
            Self::Sizes => "sizes",
            Self::Clock => "clock",
            Self::Disk => "disk",
            Self::Channel => "channel",
        }
    }
}

/// One hostile executor.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it tries, as a name.
    pub name: String,
    /// What stops it first.
    pub layer: Layer,
    /// The errors that mean it was stopped; its answer, or each entry of it, is one of them.
    #[serde(default)]
    pub stopped: Vec<String>,
    /// How the run must end instead.
    #[serde(default)]
    pub ends: String,
    /// It has a module that can make any system call.
    #[serde(default)]
    pub armed: bool,
    /// It is granted writing the workspace.
    #[serde(default)]
    pub writes: bool,
    /// It is granted folders outside the workspace, made up for the case: one to read and one to write. What waits warm has no
    /// place for them.
    #[serde(default)]
    pub outside: bool,
    /// The workspace that it is tried in holds secrets. What waits warm has no place for covers.
    #[serde(default)]
    pub secrets: bool,
    /// It may run what the owner lists by default. It is tried on a fresh interpreter only, as all that may.
    #[serde(default)]
    pub runs: bool,
    /// What else stops it: without the first layer it still does not get through, without these too it does.
    #[serde(default)]
    pub behind: Vec<Layer>,
    /// In a warm process the first layer stops it alone: its standard descriptors were opened before Landlock was there.
    #[serde(default)]
    pub alone_when_warm: bool,
    /// Why it does not get through even without all of these, or why they cannot be taken away.
    #[serde(default)]
    pub kept: String,
    /// The version of Landlock from which that stops it; before, the others that it names do.
    #[serde(default)]
    pub landlock_from: u32,
    /// Which kernels refuse it by themselves, so that it does not get through there without any layer of ours either.
    #[serde(default)]
    pub refused_by: String,
    /// When it gets through nothing answers: it has become another program, or has broken itself.
    #[serde(default)]
    pub becomes: bool,
    /// The body of `run`; with `ends` the whole.
    pub code: String,
}

/// Cases about one thing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Its name, which is its file's.
    #[serde(skip)]
    pub name: String,
    /// What it is about, in a line.
    pub about: String,
    /// Its cases.
    #[serde(rename = "case")]
    pub cases: Vec<Case>,
}

/// The folders of a case that is granted some outside the workspace, as an owner might have listed them.
const PICTURES: &str = "/home/ada/Pictures";
const ALBUMS: &str = "/home/ada/Albums";

/// The whole suite.
///
/// # Errors
/// In a sentence, which file of it is none: a fault of this release.
pub fn families() -> Result<Vec<Family>, String> {
    let read = |(name, text): &(&str, &str)| {
        let family: Family = toml::from_str(text).map_err(|error| format!("escape/{name}.toml: {error}"))?;
        for case in &family.cases {
            if case.stopped.is_empty() == case.ends.is_empty() {
                return Err(format!("escape/{name}.toml: {} says `stopped` or `ends`, one of both", case.name));
            }
        }
        Ok(Family { name: (*name).to_owned(), ..family })
    };
    FAMILIES.iter().map(read).collect()
}

/// The manifest of hostile code: it may read the workspace, or also write below a folder of it, and has tight limits.
///
/// # Errors
/// In a sentence, why there is none.
pub fn manifest(writes: Option<&str>) -> Result<Manifest, String> {
    let mut text = include_str!("../../../executors/fs_read/manifest.toml")
        .replace("wall_s = 2, cpu_s = 2", "wall_s = 20, cpu_s = 10")
        .replace("output_mb = 4", "output_mb = 1");
    if let Some(folder) = writes {
        text = text
            .replace("fs-read-workspace", "fs-write-workspace")
            .replace("{ fs_read = [\"workspace/\"] }", &format!("{{ fs_write = [\"{folder}\"] }}"));
    }
    Manifest::parse(text.as_bytes()).map_err(|error| error.to_string())
}

/// The same for one that is granted a folder outside the workspace to read, and another one to write.
fn outside_manifest() -> Result<Manifest, String> {
    let granted = format!("{{ fs_read = [\"{PICTURES}/\"] }}, {{ fs_write = [\"{ALBUMS}/\"] }}");
    let text = include_str!("../../../executors/fs_read/manifest.toml")
        .replace("wall_s = 2, cpu_s = 2", "wall_s = 20, cpu_s = 10")
        .replace("fs-read-workspace", "fs-pictures")
        .replace("{ fs_read = [\"workspace/\"] }", &granted);
    Manifest::parse(text.as_bytes()).map_err(|error| error.to_string())
}

/// The manifest of hostile code that may run listed programs on a workspace that it may read.
fn manifest_of_programs(quotas: &str) -> Result<Manifest, String> {
    let text = include_str!("../../../executors/shell_run/manifest.toml").replace("wall_s = 10, cpu_s = 5", quotas);
    Manifest::parse(text.as_bytes()).map_err(|error| error.to_string())
}

/// See [`arguments`].
#[derive(Serialize)]
struct Numbers {
    nr: BTreeMap<String, i64>,
}

/// The arguments of every case: the numbers of system calls by name.
#[must_use]
pub fn arguments(families: &[Family]) -> Value {
    let mut numbers = BTreeMap::new();
    for case in families.iter().flat_map(|family| &family.cases).filter(|case| case.armed) {
        for name in case.code.split("nr['").chain(case.code.split('\'')).filter_map(|rest| rest.split('\'').next()) {
            if let Some(Number::Here(number)) = syscall(name) {
                numbers.insert(name.to_owned(), number);
            }
        }
    }
    // The same on every architecture: they came after the numbers were made one.
    numbers.insert("clone3".to_owned(), 435);
    numbers.insert("fchmodat2".to_owned(), 452);
    serde_json::to_value(Numbers { nr: numbers }).unwrap_or_default()
}

/// The parts of an answer.
fn answers(finished: &Finished) -> Vec<Value> {
    let result = finished.result.as_deref().unwrap_or_default();
    let value: Value = serde_json::from_slice(result).unwrap_or_default();
    match value.get("answer").cloned().unwrap_or_default() {
        Value::Array(entries) => entries,
        Value::Object(entries) => entries.values().cloned().collect(),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => vec![other],
    }
}

impl Case {
    /// Every layer that stops it, the first one first.
    pub fn layers(&self) -> impl Iterator<Item = Layer> + '_ {
        std::iter::once(self.layer).chain(self.behind.iter().copied())
    }

    /// Whether the order to seal itself, or the watcher, can be without the first layer.
    #[must_use]
    pub fn can_be_ordered_without(&self) -> bool {
        match self.layer {
            _ if self.outside || self.secrets => false,
            Layer::Seccomp | Layer::Landlock | Layer::Clock | Layer::Disk => true,
            // That of memory stays, so what ends one that wants it all depends on how fast it is.
            Layer::Limits => self.kept.is_empty(),
            Layer::Root
            | Layer::Mounts
            | Layer::Capabilities
            | Layer::Namespaces
            | Layer::Umask
            | Layer::Descriptors
            | Layer::Sizes
            | Layer::Channel => false,
        }
    }

    /// Whether a run without some layers has got through, and what came. That it went wrong in another way is no proof of
    /// that, nor is it that another layer refused it.
    #[must_use]
    pub fn got_through(&self, finished: &Finished) -> (bool, String) {
        let (held, came) = self.judge(finished);
        let through = match (self.ends.is_empty(), self.becomes) {
            (false, _) => !held && matches!(finished.outcome, Outcome::Ok | Outcome::Timeout | Outcome::Killed),
            (true, true) => finished.outcome == Outcome::Crashed && !finished.log.contains("Traceback"),
            (true, false) => {
                let passed = |answer: &str| !REFUSALS.contains(&answer) && !self.is_stop(answer);
                finished.outcome == Outcome::Ok && answers(finished).iter().filter_map(Value::as_str).any(passed)
            }
        };
        (through, came)
    }

    /// Whether it states that this answer means it was stopped.
    #[must_use]
    pub fn is_stop(&self, answer: &str) -> bool {
        self.stopped.iter().any(|stop| stop == answer)
    }

    /// The whole code.
    #[must_use]
    pub fn whole(&self) -> String {
        if !self.ends.is_empty() {
            return format!("{PRELUDE}{}", self.code);
        }
        let mut code = format!(
            "{PRELUDE}def run(args, ctx):\n    nr = args['nr']\n    write = os.O_CREAT | os.O_WRONLY\n    pool = ctx.workspace + '/executors'\n"
        );
        if self.outside {
            code.push_str(&format!("    pictures, albums = '{OUTSIDE}{PICTURES}', '{OUTSIDE}{ALBUMS}'\n"));
        }
        for line in self.code.lines() {
            code.push_str(&format!("    {line}\n"));
        }
        code
    }

    /// What it is tried in; `None` where this machine cannot arm an interpreter.
    ///
    /// # Errors
    /// In a sentence, why there is no such plan.
    pub fn plan(&self, plain: &Installation, armed: Option<&Installation>) -> Result<Option<Plan>, String> {
        let installation = if self.armed { armed } else { Some(plain) };
        let Some(installation) = installation else { return Ok(None) };
        let plan = if self.outside {
            let folders =
                FolderSettings { home: String::new(), read: vec![PICTURES.to_owned()], write: vec![ALBUMS.to_owned()] };
            Installation { folders, ..installation.clone() }.plan(&outside_manifest()?)
        } else if self.runs {
            let quotas = if self.ends.is_empty() { "wall_s = 20, cpu_s = 10" } else { "wall_s = 3, cpu_s = 1" };
            installation.plan(&manifest_of_programs(quotas)?)
        } else if self.ends.is_empty() || self.writes {
            installation.plan(&manifest(self.writes.then_some("workspace/"))?)
        } else {
            let quotas = Quotas { wall_s: 3, cpu_s: 1, ram_mb: 64, output_mb: 1, ..Quotas::default() };
            installation.pure_plan("pure", &quotas)
        };
        plan.map(Some).map_err(|error| error.to_string())
    }

    /// The workspace that it is tried in; see [`stage`].
    #[must_use]
    pub fn stage(&self) -> Value {
        let mut stage = staged_files();
        if self.secrets {
            for name in [".env", "id_rsa", ".ssh/id", "Secrets/one", "tls.KEY"] {
                stage.insert(format!("deep/in/{name}"), FileDescription::text("not yours"));
            }
            for name in [".trash/k1.json", "deep/.trash-k1-notes.md"] {
                stage.insert(name.to_owned(), FileDescription::text("old"));
            }
        }
        serde_json::to_value(stage).unwrap_or_default()
    }

    /// Whether a run has gone as it must, and what came.
    #[must_use]
    pub fn judge(&self, finished: &Finished) -> (bool, String) {
        let result = String::from_utf8_lossy(finished.result.as_deref().unwrap_or_default()).into_owned();
        let shown: String = result.chars().take(MAX_CAME).collect();
        let came = format!("{} ({}): {shown}\n{}", finished.outcome.name(), finished.detail, finished.log);
        if !self.ends.is_empty() {
            return (finished.outcome.name() == self.ends, came);
        }
        let entries = answers(finished);
        let good = |entry: &Value| entry.as_str().is_some_and(|text| self.is_stop(text));
        (!entries.is_empty() && entries.iter().all(good), came)
    }

    /// That it was left out.
    fn skipped(&self) -> EscapeTry {
        let (name, layer) = (self.name.clone(), self.layer.name().to_owned());
        EscapeTry { name, layer, skipped: true, held: None, carrier: None, wanted: None, came: None }
    }

    /// How it must end, for a person.
    fn wanted(&self) -> String {
        if self.ends.is_empty() { self.stopped.join(" or ") } else { self.ends.clone() }
    }
}

/// The workspace that cases are tried in: harmless files, and links that lead out.
#[must_use]
pub fn stage() -> Value {
    serde_json::to_value(staged_files()).unwrap_or_default()
}

fn staged_files() -> BTreeMap<String, FileDescription> {
    let (text, link) = (FileDescription::text, FileDescription::link);
    let files = [
        ("notes/welcome.md", text("Benvenuto nel laboratorio.\nperché no?\n")),
        ("notes/large.txt", text("0123456789").repeated(500_000)),
        ("notes/bytes.bin", FileDescription::base64("//4AAQ==")),
        ("executors/none/readme", text("x")),
        ("desk/paper.txt", text("paper")),
        ("SOUL.md", text("laws")),
        ("notes/link", link("/etc/passwd")),
        ("notes/out", link("/etc")),
        ("notes/up", link("../../.policy/instance.key")),
        ("notes/inside", link("welcome.md")),
        ("notes/pipe", FileDescription::fifo()),
        ("/home/ada/Pictures/a.txt", text("a picture")),
        ("/home/ada/Pictures/link", link("/etc/passwd")),
        ("/home/ada/Pictures/.ssh/id", text("not yours")),
        ("/home/ada/Albums/old.txt", text("old")),
        ("/home/ada/Secrets/letter", text("not yours")),
    ];
    files.map(|(path, file)| (path.to_owned(), file)).into()
}

/// Tries every case of a family on a fresh interpreter and, where the pool has one, in a warm process. What came, one a try.
///
/// # Errors
/// In a sentence, why it cannot be tried.
pub async fn try_all<S: Sandbox>(
    sandbox: &S,
    family: &str,
    mut kill: impl FnMut() -> oneshot::Receiver<()>,
) -> Result<Vec<EscapeTry>, String> {
    let families = families()?;
    let chosen = families.iter().find(|known| known.name == family);
    let chosen = chosen.ok_or_else(|| format!("the suite has no family `{}`", family.escape_debug()))?;
    let args = json::canonical(&arguments(&families));
    let mut tried = Vec::new();
    for case in &chosen.cases {
        let Some(plan) = case.plan(sandbox.installation(), sandbox.armed())? else {
            tried.push(case.skipped());
            continue;
        };
        for fresh in [true, false] {
            // A warm process has no such module and no such folders, and runs no programs; on a fresh one it was tried already.
            if (case.armed || case.outside || case.runs || case.secrets) && !fresh {
                continue;
            }
            let scratch = sandbox.scratch(&case.stage())?;
            let plan = plan.with_stage(scratch.folder()).map_err(|error| error.to_string())?;
            let (code, entry) = (case.whole(), Entry::Call { args: args.clone(), thought: None });
            let (code, kill) = (code.as_bytes(), kill());
            let secrets = &Secrets::none();
            let job = Job {
                turn: None,
                plan: &plan,
                code,
                entry,
                secrets,
                progress: &|_, _| {},
                approved: Approved::ANY,
                covers: None,
                opens: &[],
                kill,
                begin: None,
                keeper: None,
            };
            let finished = if fresh { sandbox.run_fresh(job).await } else { sandbox.run(job).await };
            let (held, came) = case.judge(&finished);
            let carrier: Carrier = finished.resources.carrier;
            tried.push(EscapeTry {
                skipped: false,
                held: Some(held),
                carrier: Some(carrier.name().to_owned()),
                wanted: Some(case.wanted()),
                came: Some(if held { String::new() } else { came }),
                ..case.skipped()
            });
        }
    }
    Ok(tried)
}

#[cfg(test)]
#[path = "escape_tests.rs"]
mod tests;
