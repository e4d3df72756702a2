//! `bench reflex`: how well words become calls, measured in this very process through the code that the planner uses.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::msg::common::Lang;
use metnos_reflex::{Repertoire, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::{lines, malformed};
use crate::{Failure, Report, three};

/// An executor of a release: its name, and its files by path.
pub type Executor = (&'static str, &'static [(&'static str, &'static [u8])]);

/// The class of what changes nothing here.
const READS: [&str; 2] = ["read", "net_read"];
/// How many calls that went wrong are shown to a person.
const SHOWN: usize = 20;

/// A line of `bench reflex`.
#[derive(Debug, Deserialize)]
struct Utterance {
    text: String,
    #[serde(default)]
    lang: String,
    /// Which is to be called; none where abstaining is right.
    #[serde(default)]
    executor: Option<String>,
    #[serde(default)]
    args: Option<Map<String, Value>>,
}

/// How a file of utterances went.
#[derive(Debug, Default)]
struct ReflexScore {
    utterances: usize,
    right: usize,
    right_executor: usize,
    abstained: usize,
    /// Called, though abstaining was right, or another executor was, or other arguments.
    wrong: usize,
    wrong_effects: usize,
    /// Abstained, though there was something to call.
    missed: usize,
    nanoseconds: Vec<u128>,
    told: Vec<String>,
}

impl ReflexScore {
    fn point(&self, percent: usize) -> f64 {
        let mut sorted = self.nanoseconds.clone();
        sorted.sort_unstable();
        let place = (sorted.len() * percent).div_ceil(100).max(1);
        let nanoseconds = sorted.get(place - 1).copied().unwrap_or(0);
        f64::from(u32::try_from(nanoseconds / 1_000).unwrap_or(u32::MAX))
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers of utterances")]
    fn share(&self, of: usize) -> f64 {
        of as f64 / self.utterances.max(1) as f64
    }
}

/// How the reflex did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReflexFound {
    /// How many were read.
    utterances: usize,
    /// Among how many executors.
    executors: usize,
    /// The share that became the right calls, or rightly none.
    accuracy: f64,
    /// The share whose executor was right, whatever its arguments.
    executor_accuracy: f64,
    /// Called, though abstaining was right, or another executor was, or other arguments.
    wrong_calls: usize,
    /// Those of them that change something.
    wrong_calls_with_effects: usize,
    /// How many became no call.
    abstentions: usize,
    /// Those of them that there was something to call for.
    missed: usize,
    /// How long an utterance took, in microseconds.
    latency_us: ReflexLatency,
    /// What went wrong, a sentence each.
    told: Vec<String>,
}

/// How long an utterance took, in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReflexLatency {
    /// Half of them took less.
    p50: f64,
    /// 99 of 100 took less.
    p99: f64,
}

/// Measures the reflex on a file of utterances, among the executors in a folder, or else those of this release.
///
/// # Errors
/// When a file is not of its form.
pub fn reflex(file: &Path, catalog: Option<&Path>, release: &[Executor]) -> Result<Report<ReflexFound>, Failure> {
    let candidates = match catalog {
        None => shipped(release)?,
        Some(folder) => of_folder(folder)?,
    };
    let effects: HashMap<String, bool> =
        candidates.iter().map(|one| (one.name.clone(), !READS.contains(&one.class.as_str()))).collect();
    let mut envelope = envelope(candidates);
    let mut repertoire = Repertoire::default();
    // Contracts are read once for many turns; that is not what is measured.
    let _ = repertoire.plan("", &envelope);
    let mut heard = ReflexScore::default();
    lines(file, |number, text| {
        let one: Utterance = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
        envelope.lang = if one.lang == "it" { Lang::It } else { Lang::En };
        let begun = Instant::now();
        let reply = repertoire.plan(&one.text, &envelope);
        heard.nanoseconds.push(begun.elapsed().as_nanos());
        mark(&mut heard, &one, &reply, &effects);
        Ok(())
    })?;
    Ok(report(heard, effects.len()))
}

fn report(heard: ReflexScore, executors: usize) -> Report<ReflexFound> {
    let document = ReflexFound {
        utterances: heard.utterances,
        executors,
        accuracy: heard.share(heard.right),
        executor_accuracy: heard.share(heard.right_executor),
        wrong_calls: heard.wrong,
        wrong_calls_with_effects: heard.wrong_effects,
        abstentions: heard.abstained,
        missed: heard.missed,
        latency_us: ReflexLatency { p50: heard.point(50), p99: heard.point(99) },
        told: heard.told,
    };
    let ReflexLatency { p50, p99 } = &document.latency_us;
    let mut notes = vec![format!("an utterance took {p50} µs (median), {p99} µs (99 %) among {executors} executors")];
    notes.extend(document.told.iter().take(SHOWN).cloned());
    if document.told.len() > SHOWN {
        notes.push(format!("… and {} more; `--json` has them all", document.told.len() - SHOWN));
    }
    Report {
        heading: &["UTTERANCES", "ACCURACY", "EXECUTOR", "WRONG", "WITH EFFECTS", "ABSTAINED", "MISSED"],
        rows: vec![vec![
            document.utterances.to_string(),
            three(document.accuracy),
            three(document.executor_accuracy),
            document.wrong_calls.to_string(),
            document.wrong_calls_with_effects.to_string(),
            document.abstentions.to_string(),
            document.missed.to_string(),
        ]],
        notes,
        document,
    }
}

fn mark(heard: &mut ReflexScore, one: &Utterance, reply: &Reply, effects: &HashMap<String, bool>) {
    heard.utterances += 1;
    let Reply::Plan(plan) = reply else {
        heard.abstained += 1;
        match &one.executor {
            None => (heard.right, heard.right_executor) = (heard.right + 1, heard.right_executor + 1),
            Some(executor) => {
                heard.missed += 1;
                heard.told.push(format!("not called: {executor} for \"{}\"", one.text));
            }
        }
        return;
    };
    let calls: Vec<(&str, &Value)> = plan.calls.iter().map(|call| (call.executor.as_str(), &call.arguments)).collect();
    let last = calls.last().map_or("", |(name, _)| *name);
    heard.right_executor += usize::from(one.executor.as_deref() == Some(last));
    if wanted(one).is_some_and(|wanted| fits(&wanted, &calls)) {
        heard.right += 1;
        return;
    }
    heard.wrong += 1;
    heard.wrong_effects += usize::from(calls.iter().any(|(name, _)| effects.get(*name).copied().unwrap_or(true)));
    let made: Vec<String> = calls.iter().map(|(name, arguments)| format!("{name} {arguments}")).collect();
    heard.told.push(format!("called wrongly: {} for \"{}\"", made.join(", "), one.text));
}

/// The calls that are right: the executor, and before it what `$chain` names.
fn wanted(one: &Utterance) -> Option<Vec<(String, Map<String, Value>)>> {
    let executor = one.executor.clone()?;
    let mut arguments = one.args.clone().unwrap_or_default();
    let chain = arguments.remove("$chain");
    let before = chain.as_ref().and_then(Value::as_object).into_iter().flatten();
    let mut calls: Vec<(String, Map<String, Value>)> =
        before.map(|(name, arguments)| (name.clone(), arguments.as_object().cloned().unwrap_or_default())).collect();
    calls.push((executor, arguments));
    Some(calls)
}

/// Whether the calls are these; what comes from an earlier call by reference need not be spelt out.
fn fits(wanted: &[(String, Map<String, Value>)], calls: &[(&str, &Value)]) -> bool {
    let same = |wanted: &Map<String, Value>, made: &Value| {
        let made = made.as_object().cloned().unwrap_or_default();
        let literal: Map<String, Value> = made.into_iter().filter(|(_, value)| value.get("$ref").is_none()).collect();
        let wanted: Map<String, Value> = wanted
            .iter()
            .filter(|(_, value)| value.get("$ref").is_none())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        literal == wanted
    };
    wanted.len() == calls.len()
        && wanted.iter().zip(calls).all(|((name, wanted), (called, made))| name == called && same(wanted, made))
}

/// What a planner is shown of an executor.
fn candidate(manifest: &[u8], schema: &[u8]) -> Result<Candidate, String> {
    let manifest = Manifest::parse(manifest).map_err(|error| error.to_string())?;
    let schema = Schema::parse(schema).map_err(|error| error.to_string())?;
    Ok(Candidate::of(&manifest, &schema).with_digest())
}

/// The executors of this release that planners are offered.
fn shipped(release: &[Executor]) -> Result<Vec<Candidate>, Failure> {
    let of = |(name, parts): &Executor| {
        let part = |wanted: &str| parts.iter().find(|(path, _)| *path == wanted).map_or(&[][..], |(_, bytes)| *bytes);
        candidate(part("manifest.toml"), part("schema.json"))
            .map_err(|why| Failure::new(format!("the executor {name} of this release"), why, "install Metnos anew"))
    };
    let all: Vec<Candidate> = release.iter().map(of).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|one| one.offered).collect())
}

/// The executors in the folders of a folder that planners are offered.
fn of_folder(folder: &Path) -> Result<Vec<Candidate>, Failure> {
    let unreadable = |place: &Path, why: String| {
        Failure::new(
            format!("reading {}", place.display()),
            why,
            "name a folder of executors: NAME/manifest.toml and NAME/schema.json",
        )
    };
    let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, error.to_string()))?;
    let mut places: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|place| place.join("manifest.toml").is_file())
        .collect();
    places.sort();
    let read = |place: &Path, name: &str| {
        std::fs::read(place.join(name)).map_err(|error| unreadable(&place.join(name), error.to_string()))
    };
    let of = |place: &std::path::PathBuf| {
        candidate(&read(place, "manifest.toml")?, &read(place, "schema.json")?).map_err(|why| unreadable(place, why))
    };
    let all: Vec<Candidate> = places.iter().map(of).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|one| one.offered).collect())
}

fn envelope(candidates: Vec<Candidate>) -> Envelope {
    Envelope::empty(candidates, Lang::En)
}
