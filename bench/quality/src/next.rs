//! `bench next`: how often the executor that comes next stands among the first, without and with the mnestome.

use std::path::Path;

use metnos_proto::msg::memoryd::Rehearse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ephemeral::Memory;
use crate::file::lines;
use crate::marks::Next;
use crate::{Failure, Report, three};

/// The tools before one call.
#[derive(Debug, Deserialize)]
struct Step {
    call: String,
    without: Vec<String>,
    with: Vec<String>,
}

/// How next-step ranking did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextFound {
    /// Calls ranked, each as the next step after the one before.
    steps: usize,
    /// Messages ranked, each with all its calls.
    turns: usize,
    /// The share of next calls among the first five.
    recall_at_5: Gain,
    /// Each measure.
    measures: Vec<NextMeasure>,
}

/// A share without what was learned and with it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Gain {
    /// Without it.
    without: f64,
    /// With it.
    with: f64,
    /// The difference.
    gain: f64,
}

/// One measure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NextMeasure {
    /// Its name.
    measure: String,
    /// Of how many.
    count: usize,
    /// The shares.
    #[serde(flatten)]
    of: Gain,
}

impl From<[f64; 2]> for Gain {
    fn from([without, with]: [f64; 2]) -> Self {
        Self { without, with, gain: with - without }
    }
}

/// Measures ranking on a file of dialogues; `progress` is called with how far it is.
///
/// # Errors
/// When the file is not of its form, or memoryd cannot be started.
pub fn next(file: &Path, mut progress: impl FnMut(&str)) -> Result<Report<NextFound>, Failure> {
    let mut memory = Memory::start()?;
    memory.ask::<Value>(Rehearse::Anew, b"")?;
    let mut measured = Next::default();
    lines(file, |_, text| {
        let steps: Vec<Step> = memory.ask(Rehearse::Step, text.as_bytes())?;
        let calls: Vec<&str> = steps.iter().map(|step| step.call.as_str()).collect();
        for step in &steps {
            measured.step(&step.call, &step.without, &step.with);
        }
        if let Some(first) = steps.first() {
            measured.turn(&calls, &first.without, &first.with);
        }
        progress(&format!("{} calls", measured.steps));
        Ok(())
    })?;
    let measures: Vec<NextMeasure> = measured
        .rows()
        .into_iter()
        .map(|(name, count, of)| NextMeasure { measure: name.to_owned(), count, of: of.into() })
        .collect();
    let row = |one: &NextMeasure| {
        let NextMeasure { measure, count, of } = one;
        let points = format!("{:+.1}", 100.0 * of.gain);
        vec![measure.clone(), count.to_string(), three(of.without), three(of.with), points]
    };
    Ok(Report {
        heading: &["", "CALLS", "WITHOUT", "WITH", "POINTS"],
        rows: measures.iter().map(row).collect(),
        notes: Vec::new(),
        document: NextFound {
            steps: measured.steps,
            turns: measured.turns,
            recall_at_5: measured.recall_at_5().into(),
            measures,
        },
    })
}
