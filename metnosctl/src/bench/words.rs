//! `bench reflex` and `bench route`: how well words become calls, and how well they find the executors that fit, measured in this very
//! process through the code that planner and memoryd use. They need no daemon, start none and touch no instance.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::msg::common::{Channel, Lang};
use metnos_rank::history::Past;
use metnos_rank::lexical::{Catalogue, Fields};
use metnos_rank::order::{Context, arguments, order};
use metnos_reflex::{Repertoire, Reply};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::bench::{lines, malformed};
use crate::error::{CtlError, Exit};
use crate::instance::seeds::EXECUTORS;
use crate::screen::Screen;
use crate::screen::table::{Table, cell};

/// The class of what changes nothing here.
const READS: [&str; 2] = ["read", "net_read"];
/// How many calls that went wrong are shown.
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

/// `bench reflex`.
///
/// # Errors
/// When a file is not of its form.
pub fn reflex(screen: &mut Screen, file: &Path, catalog: Option<&Path>) -> Result<Exit, CtlError> {
    let candidates = match catalog {
        None => shipped()?,
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
    tell_reflex(screen, &heard, effects.len())
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

fn tell_reflex(screen: &mut Screen, heard: &ReflexScore, executors: usize) -> Result<Exit, CtlError> {
    let document = json!({
        "ok": true,
        "utterances": heard.utterances,
        "executors": executors,
        "accuracy": heard.share(heard.right),
        "executor_accuracy": heard.share(heard.right_executor),
        "wrong_calls": heard.wrong,
        "wrong_calls_with_effects": heard.wrong_effects,
        "abstentions": heard.abstained,
        "missed": heard.missed,
        "latency_us": { "p50": heard.point(50), "p99": heard.point(99) },
        "told": heard.told,
    });
    if screen.json() {
        screen.document(&document)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["UTTERANCES", "ACCURACY", "EXECUTOR", "WRONG", "WITH EFFECTS", "ABSTAINED", "MISSED"]);
    table.row(vec![
        cell(heard.utterances.to_string()),
        cell(format!("{:.3}", heard.share(heard.right))),
        cell(format!("{:.3}", heard.share(heard.right_executor))),
        cell(heard.wrong.to_string()),
        cell(heard.wrong_effects.to_string()),
        cell(heard.abstained.to_string()),
        cell(heard.missed.to_string()),
    ]);
    table.show(screen, 0)?;
    screen.line(&format!(
        "an utterance took {} µs (median), {} µs (99 %) among {executors} executors",
        heard.point(50),
        heard.point(99)
    ))?;
    for one in heard.told.iter().take(SHOWN) {
        screen.line(&crate::screen::escape::line(one))?;
    }
    if heard.told.len() > SHOWN {
        screen.line(&format!("… and {} more; `--json` has them all", heard.told.len() - SHOWN))?;
    }
    Ok(Exit::Done)
}

/// What a planner is shown of an executor.
fn candidate(manifest: &[u8], schema: &[u8]) -> Result<Candidate, String> {
    let manifest = Manifest::parse(manifest).map_err(|error| error.to_string())?;
    let schema = Schema::parse(schema).map_err(|error| error.to_string())?;
    let candidate = Candidate {
        name: manifest.executor.name.clone(),
        version: manifest.executor.version.clone(),
        summary: manifest.executor.summary.clone(),
        examples: manifest.executor.examples.clone(),
        class: manifest.effects.class.name().to_owned(),
        input: schema.input_document(),
        output: schema.output_document(),
        roles: manifest.args.iter().map(|(pointer, role)| (pointer.clone(), role.name().to_owned())).collect(),
        offered: manifest.contract.offered,
        contract: String::new(),
        answer: manifest.answer.clone(),
    };
    Ok(candidate.with_digest())
}

/// The executors of this release that planners are offered.
fn shipped() -> Result<Vec<Candidate>, CtlError> {
    let broken = |name: &str, why: String| {
        CtlError::failed(format!("the executor {name} of this release"), why, "install Metnos anew")
    };
    let of = |(name, parts): &(&str, &[(&str, &[u8])])| {
        let part = |wanted: &str| parts.iter().find(|(path, _)| *path == wanted).map_or(&[][..], |(_, bytes)| *bytes);
        candidate(part("manifest.toml"), part("schema.json")).map_err(|why| broken(name, why))
    };
    let all: Vec<Candidate> = EXECUTORS.iter().map(of).collect::<Result<_, _>>()?;
    Ok(all.into_iter().filter(|one| one.offered).collect())
}

/// The executors in the folders of a folder that planners are offered.
fn of_folder(folder: &Path) -> Result<Vec<Candidate>, CtlError> {
    let unreadable = |place: &Path, why: String| {
        CtlError::failed(
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
    Envelope {
        nonce: 0,
        identity: String::new(),
        files: Vec::new(),
        capsule: String::new(),
        principal: String::new(),
        channel: Channel::Cli,
        lang: Lang::En,
        recent: Vec::new(),
        recalled: Vec::new(),
        earlier: Vec::new(),
        done: Vec::new(),
        candidates,
        mnests: Vec::new(),
        named: Vec::new(),
        home: metnos_proto::envelope::Home::default(),
    }
}

/// A line of `bench route`: a catalogue, a query, or both.
#[derive(Debug, Deserialize)]
struct RouteLine {
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    catalog: Option<Value>,
    #[serde(default)]
    tools: Option<Vec<Tool>>,
    #[serde(default)]
    relevant: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    schema: Value,
}

/// Tools, read once.
struct ToolSet {
    names: Vec<String>,
    catalogue: Catalogue,
}

impl ToolSet {
    fn of(tools: &[Tool]) -> Self {
        let told: Vec<String> = tools.iter().map(|tool| arguments(&tool.schema)).collect();
        let fields: Vec<Fields<'_>> = tools
            .iter()
            .zip(&told)
            .map(|(tool, arguments)| Fields {
                name: &tool.name,
                summary: &tool.description,
                examples: &tool.examples,
                arguments,
            })
            .collect();
        Self { names: tools.iter().map(|tool| tool.name.clone()).collect(), catalogue: Catalogue::of(&fields) }
    }
}

/// How a file of queries went: recall at 1, 5 and 16, and the reciprocal rank of the first that is relevant.
#[derive(Debug, Default)]
struct RouteScore {
    queries: usize,
    /// Queries without anything relevant among their tools.
    skipped: usize,
    sums: [f64; 4],
}

impl RouteScore {
    #[allow(clippy::cast_precision_loss, reason = "numbers of tools")]
    fn add(&mut self, found: &[&str], relevant: &[&String]) {
        self.queries += 1;
        let hits = |depth: usize| {
            relevant.iter().filter(|name| found.iter().take(depth).any(|one| *one == name.as_str())).count() as f64
        };
        for (sum, depth) in self.sums.iter_mut().zip([1, 5, 16]) {
            *sum += hits(depth) / relevant.len() as f64;
        }
        let first = found.iter().position(|one| relevant.iter().any(|name| name.as_str() == *one));
        self.sums[3] += first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0));
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers of queries")]
    fn means(&self) -> [f64; 4] {
        self.sums.map(|sum| sum / self.queries.max(1) as f64)
    }
}

/// `bench route`.
///
/// # Errors
/// When the file is not of its form, or names a catalogue that no line before has defined.
pub fn route(screen: &mut Screen, file: &Path, learn: bool) -> Result<Exit, CtlError> {
    let mut offers: BTreeMap<String, ToolSet> = BTreeMap::new();
    // The past of each catalogue is its own: names of one say nothing of another's.
    let mut pasts: BTreeMap<String, Context> = BTreeMap::new();
    let mut routed = RouteScore::default();
    lines(file, |number, text| {
        let line: RouteLine = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
        let id = line.catalog.as_ref().map(crate::bench::spelled).unwrap_or_default();
        if let Some(tools) = &line.tools {
            offers.insert(id.clone(), ToolSet::of(tools));
        }
        let Some(query) = &line.query else { return Ok(()) };
        let unknown =
            || malformed(file, number, format!("no line before it has defined the catalogue `{id}` with its `tools`"));
        let offer = offers.get(&id).ok_or_else(unknown)?;
        let names: Vec<&str> = offer.names.iter().map(String::as_str).collect();
        let relevant: Vec<&String> = line.relevant.iter().filter(|name| names.contains(&name.as_str())).collect();
        if relevant.is_empty() {
            routed.skipped += 1;
            return Ok(());
        }
        let context = pasts.entry(id).or_default();
        let found: Vec<&str> =
            order(query, &offer.catalogue, &names, context).into_iter().map(|at| names[at]).collect();
        routed.add(&found, &relevant);
        if learn {
            context.past.add(&Past { asked: query.clone(), used: line.relevant.clone() });
        }
        Ok(())
    })?;
    let [at_1, at_5, at_16, rank] = routed.means();
    if screen.json() {
        screen.document(&json!({
            "ok": true, "queries": routed.queries, "skipped": routed.skipped, "learn": learn, "recall_at_1": at_1,
            "recall_at_5": at_5, "recall_at_16": at_16, "mrr": rank,
        }))?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["QUERIES", "RECALL@1", "RECALL@5", "RECALL@16", "MRR"]);
    let mut row = vec![cell(routed.queries.to_string())];
    row.extend([at_1, at_5, at_16, rank].map(|mean| cell(format!("{mean:.3}"))));
    table.row(row);
    table.show(screen, 0)?;
    if routed.skipped > 0 {
        screen.line(&format!(
            "{} queries have nothing relevant among their tools and were not counted",
            routed.skipped
        ))?;
    }
    Ok(Exit::Done)
}
