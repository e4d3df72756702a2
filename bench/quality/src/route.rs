//! `bench route`: how well words find the executors that fit, measured in this very process through the code that memoryd uses.

use std::collections::BTreeMap;
use std::path::Path;

use metnos_rank::history::Past;
use metnos_rank::lexical::{Catalogue, Fields};
use metnos_rank::order::{Context, arguments, order};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::file::{lines, malformed, spelled};
use crate::{Failure, Report, three};

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
        let said: Vec<Vec<&str>> =
            tools.iter().map(|tool| tool.examples.iter().map(String::as_str).collect()).collect();
        let fields: Vec<Fields<'_>> = tools
            .iter()
            .zip(&told)
            .zip(&said)
            .map(|((tool, arguments), examples)| Fields {
                name: &tool.name,
                summary: &tool.description,
                examples,
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

/// How routing did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RouteFound {
    /// Requests that were ranked.
    queries: usize,
    /// Those without anything relevant among their tools.
    skipped: usize,
    /// Whether it learned from each.
    learn: bool,
    /// The share of what is relevant that stands first.
    recall_at_1: f64,
    /// The share among the first five.
    recall_at_5: f64,
    /// The share among the first sixteen.
    recall_at_16: f64,
    /// The mean reciprocal rank of the first that is relevant.
    mrr: f64,
}

/// Measures routing on a file of requests.
///
/// # Errors
/// When the file is not of its form, or names a catalogue that no line before has defined.
pub fn route(file: &Path, learn: bool) -> Result<Report<RouteFound>, Failure> {
    let mut offers: BTreeMap<String, ToolSet> = BTreeMap::new();
    // The past of each catalogue is its own: names of one say nothing of another's.
    let mut pasts: BTreeMap<String, Context> = BTreeMap::new();
    let mut routed = RouteScore::default();
    lines(file, |number, text| {
        let line: RouteLine = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
        let id = line.catalog.as_ref().map(spelled).unwrap_or_default();
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
    let skipped = routed.skipped;
    let note = || format!("{skipped} queries have nothing relevant among their tools and were not counted");
    let means = routed.means();
    let [recall_at_1, recall_at_5, recall_at_16, mrr] = means;
    Ok(Report {
        heading: &["QUERIES", "RECALL@1", "RECALL@5", "RECALL@16", "MRR"],
        rows: vec![[routed.queries.to_string()].into_iter().chain(means.map(three)).collect()],
        notes: (skipped > 0).then(note).into_iter().collect(),
        document: RouteFound { queries: routed.queries, skipped, learn, recall_at_1, recall_at_5, recall_at_16, mrr },
    })
}
