//! Documents of drafts: what an owner orders from syntd, what a trial is given, and what came of both.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::executor::CaseReport;
use crate::json::{self, Limits};
use crate::msg::common::Lang;
use crate::msg::drafting::{MAX_DRAFT_TRIAL, MAX_TRIAL_INPUTS};
use crate::payload::Sealed;
use crate::{document, names};

/// The owner's order of a draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftOrder {
    /// What it shall do, in his words.
    pub wish: String,
    /// The language of the wish: `en` or `it`.
    pub lang: DraftLang,
    /// The name that it gets; empty to have one made of the wish.
    pub name: String,
    /// What must come out of what: at least three, or the model is asked for more.
    pub examples: Vec<DraftExample>,
    /// Further inputs that a finished draft is run on. What comes out stands in the report, and decides nothing.
    pub inputs: Vec<Map<String, Value>>,
}

names! {
    /// The language of a wish.
    pub enum DraftLang {
        /// English.
        En = "en",
        /// Italian.
        It = "it",
    }
}

impl From<Lang> for DraftLang {
    fn from(lang: Lang) -> Self {
        match lang {
            Lang::En => Self::En,
            Lang::It => Self::It,
        }
    }
}

/// One example: arguments, and the result for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftExample {
    /// The arguments.
    #[serde(rename = "in")]
    pub input: Map<String, Value>,
    /// The result, without `ok`; null where the arguments must be refused.
    #[serde(rename = "out", deserialize_with = "super::nullable")]
    pub output: Option<Map<String, Value>>,
}

/// What a trial is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DraftTrial {
    /// The four files, as in a parcel.
    pub files: Map<String, Value>,
    /// The arguments of each further call.
    pub inputs: Vec<Map<String, Value>>,
    /// Whether the tests after one that fails are run as well.
    pub all: bool,
}

/// What came of one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TriedInput {
    /// How the call ended: `ok`, `error` (one that the manifest declares), `crashed`, `timeout`, …
    pub outcome: String,
    /// The result, or the error.
    pub result: Value,
}

impl DraftTrial {
    /// Reads one that came as a payload.
    ///
    /// # Errors
    /// In a sentence, the first thing that does not hold.
    pub fn read(sealed: &Sealed) -> Result<Self, String> {
        if sealed.len() > MAX_DRAFT_TRIAL {
            return Err(format!("{} bytes; a trial has at most {MAX_DRAFT_TRIAL}", sealed.len()));
        }
        let bytes = sealed.read().map_err(|error| error.to_string())?;
        let object = json::parse_object(&bytes, Limits { max_bytes: MAX_DRAFT_TRIAL, max_depth: 32 });
        let object = object.map_err(|error| error.to_string())?;
        let trial: Self = serde_json::from_value(Value::Object(object)).map_err(|error| error.to_string())?;
        if trial.inputs.len() > MAX_TRIAL_INPUTS {
            return Err(format!("{} inputs; a trial has at most {MAX_TRIAL_INPUTS}", trial.inputs.len()));
        }
        Ok(trial)
    }
}

names! {
    /// What became of a run of drafts.
    pub enum DraftEnd {
        /// A draft passes its tests, and is only shown.
        Shown = "shown",
        /// A draft passes its tests, and waits in the pool for the owner's signature.
        Offered = "offered",
        /// No draft passes its tests, or there was none.
        Failed = "failed",
    }
}

/// A run of drafts, from the wish to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftReport {
    /// The executor's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The run, as policyd has named it.
    pub run: String,
    /// What was wished for.
    pub wish: String,
    /// What became of it.
    pub end: DraftEnd,
    /// Why there is no draft, or why it is only shown; empty otherwise.
    pub why: String,
    /// The model that wrote the code; empty where none was reached.
    pub model: String,
    /// What it does.
    pub summary: String,
    /// How many drafts of the code were written anew.
    pub candidates: u32,
    /// How many were corrected after a failed test.
    pub repairs: u32,
    /// The birth tests, in a sandbox that grants nothing.
    pub cases: Vec<CaseReport>,
    /// Small changes of the code that were tried, and how many of them the tests have noticed.
    pub mutants: Mutants,
    /// What does not hold beyond the tests, a sentence each: another result at a second run, a crash on strange input.
    pub weaknesses: Vec<String>,
    /// What came of the further inputs of the order.
    pub outputs: Vec<TriedInput>,
    /// Tokens that were read and written.
    pub tokens: u64,
    /// What that costs, in millionths of the currency.
    pub micro: u64,
    /// How long the run took, in milliseconds.
    pub took_ms: u64,
    /// Its files, by their names; empty where there is no draft.
    pub files: Map<String, Value>,
}

/// How sharp the tests are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mutants {
    /// How many changed copies of the code were tried.
    pub made: u32,
    /// How many of them failed a test.
    pub killed: u32,
}

impl fmt::Display for Mutants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.killed, self.made)
    }
}

/// The need for growth, and what is still allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrowthReport {
    /// Whether drafts are only shown.
    pub dry_run: bool,
    /// Births that are still allowed today.
    pub births_today: u8,
    /// How many more executors that are no seeds may be active at once.
    pub active: u8,
    /// What was wished for and nothing serves, most wished for first.
    pub gaps: Vec<GapReport>,
    /// The drafts of this run of syntd, the last one first.
    pub drafts: Vec<DraftListed>,
}

/// A wish that nothing serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GapReport {
    /// In the words of a request.
    pub wish: String,
    /// How often.
    pub times: u32,
    /// Why nothing is drafted for it yet.
    pub why_not_yet: String,
}

/// A draft in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftListed {
    /// The executor's name.
    pub name: String,
    /// What was wished for.
    pub wish: String,
    /// What became of it.
    pub end: DraftEnd,
    /// Why, where there is something to say.
    pub why: String,
}

document!(DraftReport, GrowthReport);

#[cfg(test)]
mod tests {
    use super::super::testing::round_trip;
    use super::*;

    #[test]
    fn draft_documents_keep_every_key_and_miss_none() {
        round_trip::<DraftOrder>(&[
            r#"{"wish": "w", "lang": "it", "name": "", "examples": [{"in": {"a": 1}, "out": {"b": 2}}, {"in": {}, "out": null}],
                "inputs": [{"a": 3}]}"#,
        ]);
        round_trip::<DraftTrial>(&[r#"{"files": {"main.py": "x"}, "inputs": [], "all": true}"#]);
        round_trip::<TriedInput>(&[r#"{"outcome": "ok", "result": {"ok": true}}"#]);
        round_trip::<DraftReport>(&[
            r#"{"name": "n", "version": "1.0.0", "run": "r", "wish": "w", "end": "shown", "why": "", "model": "m", "summary": "s",
                "candidates": 1, "repairs": 0, "cases": [], "mutants": {"made": 3, "killed": 2}, "weaknesses": ["x"], "outputs": [],
                "tokens": 5, "micro": 6, "took_ms": 7, "files": {}}"#,
        ]);
        round_trip::<GrowthReport>(&[
            r#"{"dry_run": true, "births_today": 3, "active": 20, "gaps": [{"wish": "w", "times": 2, "why_not_yet": "y"}],
                "drafts": [{"name": "n", "wish": "w", "end": "failed", "why": "y"}]}"#,
        ]);
    }
}
