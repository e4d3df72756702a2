//! The escape suite (design: sandbox §6): the hostile executors of `escape/`, each of which states what it tries, which layer
//! stops it and how that shows. Each is tried on a fresh interpreter and on a warm process; and once more with the layer it
//! names taken out of the order of the seal, where it must get through: that shows that it tests something.
//!
//! Cases that are *armed* have a module that can make any system call; no real executor has it, so they show what the kernel's
//! layers hold without the help of Python's own.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use metnos_proto::executor::Quotas;
use metnos_proto::msg::common::{Carrier, Outcome};
use metnos_sandboxd::frames::{HEAD, Word, frame};
use metnos_sandboxd::kernel;
use metnos_sandboxd::limits::{Ending, supervise};
use metnos_sandboxd::names::{self, Call};
use metnos_sandboxd::order::layout;
use metnos_sandboxd::plan::Plan;
use metnos_sandboxd::pool::{Entry, Finished};
use serde::Deserialize;
use serde_json::{Value, json};

use super::lab::Lab;
use super::lab::runner::Verdict;

const PRELUDE: &str = include_str!("../../escape/prelude.py");

macro_rules! families {
    ($($name:literal)+) => {
        const FAMILIES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../escape/", $name, ".toml"))),)+];
    };
}

families! {
    "files" "links" "writing" "nodes" "sockets" "programs" "code" "others" "identity" "kernel" "mounting" "clocks"
    "terminals" "floods" "alone" "lies"
}

/// What stops a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// It is not there, or only for reading.
    Mounts,
    Landlock,
    Seccomp,
    Namespaces,
    Limits,
    /// The clock on the process.
    Clock,
    /// sandboxd's reading of what comes out.
    Channel,
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
    /// Another layer stops it too, so that without this one it still does not get through.
    #[serde(default)]
    pub also: bool,
    /// The body of `run`; with `ends` the whole.
    pub code: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    about: String,
    case: Vec<Case>,
}

pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, text) in FAMILIES {
        let family: Family = toml::from_str(text).unwrap_or_else(|error| panic!("escape/{name}.toml: {error}"));
        assert!(!family.about.is_empty(), "{name}");
        for case in &family.case {
            assert_ne!(case.stopped.is_empty(), case.ends.is_empty(), "{}: stopped or ends, one of both", case.name);
        }
        cases.extend(family.case);
    }
    assert!(cases.len() >= 150, "{} cases", cases.len());
    cases
}

impl Case {
    /// Whether the layer it names can be taken out of an order.
    pub fn can_be_opened(&self) -> bool {
        matches!(self.layer, Layer::Seccomp | Layer::Landlock) && self.ends.is_empty()
    }

    fn whole(&self) -> String {
        if !self.ends.is_empty() {
            return format!("{PRELUDE}{}", self.code);
        }
        let mut code = format!(
            "{PRELUDE}def run(args, ctx):\n    nr = args['nr']\n    write = os.O_CREAT | os.O_WRONLY\n    pool = ctx.workspace + '/executors'\n"
        );
        for line in self.code.lines() {
            code.push_str(&format!("    {line}\n"));
        }
        code
    }

    /// `None` where this machine cannot arm an interpreter.
    fn plan(&self, lab: &Lab) -> Option<Plan> {
        if !self.ends.is_empty() {
            let quotas = Quotas { wall_s: 3, cpu_s: 1, ram_mb: 64, output_mb: 1, ..Quotas::default() };
            return Some(lab.pure_plan(quotas));
        }
        if self.writes { lab.writers_plan("workspace/", self.armed) } else { lab.hostile_plan(self.armed) }
    }

    /// Whether a run has gone as it must, and what came.
    fn judge(&self, finished: &Finished) -> (bool, String) {
        let result = String::from_utf8_lossy(finished.result.as_deref().unwrap_or_default()).into_owned();
        let shown: String = result.chars().take(300).collect();
        let came = format!("{} ({}): {shown}\n{}", finished.outcome.name(), finished.detail, finished.log);
        if !self.ends.is_empty() {
            return (finished.outcome.name() == self.ends, came);
        }
        let entries = match super::answer(finished) {
            Value::Array(entries) => entries,
            Value::Object(entries) => entries.values().cloned().collect(),
            other => vec![other],
        };
        let good = |entry: &Value| entry.as_str().is_some_and(|text| self.stopped.iter().any(|stop| stop == text));
        (!entries.is_empty() && entries.iter().all(good), came)
    }
}

/// The arguments: the numbers of the system calls that armed code names.
fn arguments() -> Value {
    let mut numbers = BTreeMap::new();
    for case in all().iter().filter(|case| case.armed) {
        for name in case.code.split("nr['").chain(case.code.split("'")).filter_map(|rest| rest.split('\'').next()) {
            if let Call::Here(number) = names::number(name) {
                numbers.insert(name.to_owned(), number);
            }
        }
    }
    // The same on every architecture: it came after the numbers were made one.
    numbers.insert("clone3".to_owned(), 435);
    json!({ "nr": numbers })
}

/// Tries it as it is, on a fresh interpreter or on a warm process.
pub async fn held(lab: &Lab, case: &Case, warm: bool) -> Verdict {
    let Some(plan) = case.plan(lab) else {
        println!("{}: skipped, this machine has no _ctypes or no libffi.so.8", case.name);
        return Ok(());
    };
    let pool = lab.kernel_of(&plan).pool();
    if warm {
        pool.fill().await?;
    } else {
        pool.clear();
    }
    let finished = lab.run(&plan, &case.whole(), &arguments()).await;
    let carrier = if warm { Carrier::Warm } else { Carrier::Execed };
    if finished.resources.carrier != carrier {
        return Err(format!("{} and not {}", finished.resources.carrier.name(), carrier.name()));
    }
    let (held, came) = case.judge(&finished);
    if held { Ok(()) } else { Err(format!("wanted {:?}{}; came {came}", case.stopped, case.ends)) }
}

/// Tries it in a warm process of which the layer it names was taken out: there it gets through, unless it says that another
/// layer stops it too.
pub async fn opened(lab: &Lab, case: &Case) -> Verdict {
    let Some(plan) = case.plan(lab) else { return Ok(()) };
    let kernel = lab.kernel_of(&plan);
    kernel.pool().fill().await?;
    let idle = kernel.pool().fork().await?;
    let grants = kernel.pool().grants(&plan).await?;
    let fds: Vec<_> = grants.iter().map(AsFd::as_fd).collect();
    let mut order = kernel.launcher().order(&plan, true);
    without(&mut order, case.layer);
    metnos_proto::socket::send(idle.channel()?, &order, &fds).map_err(|error| error.to_string())?;
    let launched = idle.take().ok_or("the child has ended")?;
    let arguments = metnos_proto::json::canonical(&arguments());
    let mut words = frame(Word::Source, case.whole().as_bytes());
    words.extend(frame(Word::Request, &kernel::request(&plan, &Entry::Call { args: arguments })));
    let ended =
        supervise(launched, &plan.spec().limits, &words, Ending::AtDeath, std::future::pending(), |_, _| {}).await;
    let result = (ended.outcome == Outcome::Ok).then_some(ended.result);
    let finished =
        Finished { outcome: ended.outcome, result, detail: ended.why, log: ended.log, resources: ended.resources };
    let (held, came) = case.judge(&finished);
    match (held, case.also) {
        (false, false) | (true, true) => Ok(()),
        (true, false) => Err(format!("it is stopped without the layer it names: {came}")),
        (false, true) => Err(format!("it says that another layer stops it too, and none does: {came}")),
    }
}

/// The order without one layer, and without the canaries, which would find that.
fn without(order: &mut Vec<u8>, layer: Layer) {
    let steps = &mut order[HEAD + 1];
    *steps &= !layout::CANARIES;
    match layer {
        Layer::Landlock => *steps &= !layout::LANDLOCK,
        Layer::Seccomp => {
            super::pool::open_filter(order);
            let length = u32::try_from(order.len() - HEAD).unwrap();
            order[1..HEAD].copy_from_slice(&length.to_le_bytes());
        }
        Layer::Mounts | Layer::Namespaces | Layer::Limits | Layer::Clock | Layer::Channel => {}
    }
}
