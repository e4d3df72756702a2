//! `bench synt`: executors drafted for a file of wishes, each on an instance of its own, and what they do with inputs that
//! neither they nor the model have seen (design: growth §4).

use std::path::Path;

use metnos_proto::doc::draft::{DraftEnd, DraftExample, DraftLang, DraftOrder, DraftReport, TriedInput};
use metnos_proto::executor::Manifest;
use metnos_proto::json::same;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::file::{lines, malformed};
use crate::{Failure, Report, three};

/// The most lines of a file.
pub const MAX_TASKS: usize = 1_000;
/// The most hidden cases of one of them.
pub const MAX_HIDDEN: usize = 256;

/// One wish.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What the executor is called.
    pub name: String,
    /// What it shall do.
    pub wish: String,
    /// In which language.
    pub lang: DraftLang,
    /// What the model and the tests are given.
    pub examples: Vec<DraftExample>,
    /// What neither is given.
    pub hidden: Vec<DraftExample>,
    /// The executors that a composition might use. Compositions are not measured yet.
    #[serde(default)]
    pub pool: Vec<String>,
}

/// A file of wishes. All were read and checked.
#[derive(Debug)]
pub struct Tasks(Vec<Task>);

impl Tasks {
    /// Reads all lines.
    ///
    /// # Errors
    /// With the line and what is wrong with it; when the file cannot be read, or is empty.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let mut all = Vec::new();
        lines(file, |number, text| {
            let task: Task = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
            if all.len() == MAX_TASKS || task.hidden.len() > MAX_HIDDEN {
                let why = format!("at most {MAX_TASKS} lines are measured, each with {MAX_HIDDEN} hidden cases");
                return Err(malformed(file, number, why));
            }
            all.push(task);
            Ok(())
        })?;
        if all.is_empty() {
            let what = format!("reading {}", file.display());
            return Err(Failure::new(what, "there is no line", "`metnosctl bench synt --help` shows the form"));
        }
        Ok(Self(all))
    }
}

/// Where executors are drafted.
pub trait Drafters {
    /// Has one drafted, on an instance of its own; `Err` of text where the order itself was refused.
    ///
    /// # Errors
    /// When nothing can be measured any more.
    fn draft(&mut self, order: &DraftOrder) -> Result<Result<DraftReport, String>, Failure>;
}

/// What was found about one wish.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskFound {
    /// The executor's name.
    pub name: String,
    /// Whether a draft passes its own tests.
    pub drafted: bool,
    /// How many hidden cases there are.
    pub hidden: usize,
    /// How many of them hold.
    pub held: usize,
    /// Why there is no draft; empty where there is one.
    pub why: String,
    /// How many drafts were written anew.
    pub candidates: u32,
    /// How many were corrected.
    pub repairs: u32,
    /// Changed copies of the code that were tried.
    pub mutants: u32,
    /// How many of them its tests noticed.
    pub killed: u32,
    /// What does not hold beyond the tests.
    pub weaknesses: Vec<String>,
    /// Capabilities that the manifest of the draft asks for; 1 where it cannot be read.
    pub grants: usize,
    /// Tokens.
    pub tokens: u64,
    /// Their price, in millionths.
    pub micro: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What was found about all.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrowthFound {
    /// How many wishes there are.
    pub tasks: usize,
    /// How many were closed by composing executors; null: that is not measured yet.
    pub composed: Option<usize>,
    /// How many have a draft that passes its own tests.
    pub drafted: usize,
    /// How many of those pass every hidden case.
    pub whole: usize,
    /// The share of `whole` among `drafted`.
    pub whole_of_drafted: f64,
    /// The share of `whole` among all wishes.
    pub whole_of_tasks: f64,
    /// Hidden cases of wishes with a draft.
    pub hidden: usize,
    /// How many of them hold.
    pub held: usize,
    /// Drafts that were corrected, over all.
    pub repairs: u32,
    /// The share of changed copies that the tests noticed.
    pub mutation_score: f64,
    /// Grants beyond the least that would do, counted in the manifests of the drafts: a computation needs none.
    pub grants_beyond: usize,
    /// Drafts that ran outside of the profile `synth`; null: the tests of the set show that, and it is not measured here.
    pub ran_outside: Option<usize>,
    /// Tokens a draft that passes its tests, on average; failed ones are paid by these.
    pub tokens_a_draft: f64,
    /// Money a draft, in millionths.
    pub micro_a_draft: f64,
    /// Seconds a wish, on average.
    pub seconds_a_task: f64,
    /// Each wish.
    pub each: Vec<TaskFound>,
}

/// Has every wish drafted.
///
/// # Errors
/// When nothing can be measured any more.
pub fn growth(
    tasks: &Tasks,
    drafters: &mut impl Drafters,
    mut show: impl FnMut(&str),
) -> Result<Report<GrowthFound>, Failure> {
    let mut each = Vec::new();
    for (at, task) in tasks.0.iter().enumerate() {
        show(&format!("{}/{}: {}", at + 1, tasks.0.len(), task.name));
        let order = DraftOrder {
            wish: task.wish.clone(),
            lang: task.lang,
            name: String::new(),
            examples: task.examples.clone(),
            inputs: task.hidden.iter().map(|case| case.input.clone()).collect(),
        };
        each.push(found(task, drafters.draft(&order)?));
    }
    Ok(report(each))
}

fn found(task: &Task, drafted: Result<DraftReport, String>) -> TaskFound {
    let nothing = |why: String| TaskFound {
        name: task.name.clone(),
        drafted: false,
        hidden: task.hidden.len(),
        held: 0,
        why,
        candidates: 0,
        repairs: 0,
        mutants: 0,
        killed: 0,
        weaknesses: Vec::new(),
        grants: 0,
        tokens: 0,
        micro: 0,
        took_ms: 0,
    };
    let report = match drafted {
        Ok(report) => report,
        Err(why) => return nothing(why),
    };
    let is_drafted = report.end != DraftEnd::Failed;
    let manifest = report.files.get("manifest.toml").and_then(Value::as_str).unwrap_or_default();
    let asked = Manifest::parse(manifest.as_bytes()).map_or(1, |manifest| manifest.sandbox.capabilities.len());
    let grants = if is_drafted { asked } else { 0 };
    let held = task.hidden.iter().zip(&report.outputs).filter(|(case, came)| holds(case.output.as_ref(), came)).count();
    TaskFound {
        drafted: is_drafted,
        held,
        candidates: report.candidates,
        repairs: report.repairs,
        mutants: report.mutants.made,
        killed: report.mutants.killed,
        weaknesses: report.weaknesses,
        grants,
        tokens: report.tokens,
        micro: report.micro,
        took_ms: report.took_ms,
        ..nothing(if is_drafted { String::new() } else { report.why })
    }
}

/// Whether exactly this came; an error that is declared, where one was wanted.
fn holds(wanted: Option<&Map<String, Value>>, came: &TriedInput) -> bool {
    let Some(wanted) = wanted else { return came.outcome == "error" };
    let mut result = came.result.as_object().cloned().unwrap_or_default();
    let is_ok = came.outcome == "ok" && result.remove("ok") == Some(Value::Bool(true));
    is_ok && same(&Value::Object(result), &Value::Object(wanted.clone()))
}

fn share(part: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn report(each: Vec<TaskFound>) -> Report<GrowthFound> {
    let drafted: Vec<&TaskFound> = each.iter().filter(|one| one.drafted).collect();
    let whole = drafted.iter().filter(|one| one.held == one.hidden).count();
    let (made, killed): (u32, u32) = drafted.iter().fold((0, 0), |sum, one| (sum.0 + one.mutants, sum.1 + one.killed));
    let each_draft = |all: u64| if drafted.is_empty() { 0.0 } else { all as f64 / drafted.len() as f64 };
    let took: u64 = each.iter().map(|one| one.took_ms).sum();
    let document = GrowthFound {
        tasks: each.len(),
        composed: None,
        drafted: drafted.len(),
        whole,
        whole_of_drafted: share(whole, drafted.len()),
        whole_of_tasks: share(whole, each.len()),
        hidden: drafted.iter().map(|one| one.hidden).sum(),
        held: drafted.iter().map(|one| one.held).sum(),
        repairs: each.iter().map(|one| one.repairs).sum(),
        mutation_score: share(killed as usize, made as usize),
        grants_beyond: drafted.iter().map(|one| one.grants).sum(),
        ran_outside: None,
        tokens_a_draft: each_draft(each.iter().map(|one| one.tokens).sum()),
        micro_a_draft: each_draft(each.iter().map(|one| one.micro).sum()),
        seconds_a_task: if each.is_empty() { 0.0 } else { took as f64 / 1_000.0 / each.len() as f64 },
        each: Vec::new(),
    };
    let rows = each.iter().map(|one| {
        let state = if one.drafted { "drafted" } else { "-" };
        let cells = [one.name.as_str(), state].map(str::to_owned);
        let counts = [
            format!("{} of {}", one.held, one.hidden),
            one.repairs.to_string(),
            format!("{} of {}", one.killed, one.mutants),
        ];
        cells.into_iter().chain(counts).chain([one.why.chars().take(80).collect()]).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let notes = vec![
        format!(
            "{} of {} wishes have a draft that passes its own tests; {whole} of those pass all hidden cases ({}).",
            document.drafted,
            document.tasks,
            three(document.whole_of_drafted)
        ),
        format!(
            "{} of {} hidden cases hold. Tests notice {} of the changed copies.",
            document.held,
            document.hidden,
            three(document.mutation_score)
        ),
        format!(
            "{:.0} tokens a draft, {:.1} seconds a wish. Compositions are not measured.",
            document.tokens_a_draft, document.seconds_a_task
        ),
    ];
    let heading = &["EXECUTOR", "DRAFT", "HIDDEN CASES", "REPAIRS", "MUTANTS KILLED", "WHY NOT"];
    Report { document: GrowthFound { each, ..document }, heading, rows, notes }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    const LINE: &str = r#"{"name": "double", "wish": "double a number", "lang": "en",
        "examples": [{"in": {"n": 1}, "out": {"twice": 2}}],
        "hidden": [{"in": {"n": 2}, "out": {"twice": 4}}, {"in": {"n": 0}, "out": {"twice": 0}}, {"in": {"n": -1}, "out": null}], "pool": []}"#;

    struct Fixed(Vec<Result<DraftReport, String>>);

    impl Drafters for Fixed {
        fn draft(&mut self, order: &DraftOrder) -> Result<Result<DraftReport, String>, Failure> {
            assert_eq!((order.examples.len(), order.inputs.len()), (1, 3), "what is hidden is no example");
            Ok(self.0.remove(0))
        }
    }

    fn drafted(end: &str, outputs: Value) -> DraftReport {
        serde_json::from_value(json!({
            "name": "double", "version": "1.0.0", "run": "r", "wish": "w", "end": end, "why": "y", "model": "m", "summary": "s",
            "candidates": 1, "repairs": 2, "cases": [], "mutants": {"made": 4, "killed": 3}, "weaknesses": [], "outputs": outputs,
            "tokens": 100, "micro": 7, "took_ms": 2_000, "files": {},
        }))
        .unwrap()
    }

    #[test]
    fn hidden_cases_count_only_where_exactly_the_result_came() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.jsonl");
        let line = LINE.replace('\n', " ");
        std::fs::write(&file, format!("{line}\n{line}\n{line}\n")).unwrap();
        let ok = |n: i32| json!({"outcome": "ok", "result": {"ok": true, "twice": n}});
        let all = vec![
            Ok(drafted("shown", json!([ok(4), ok(0), {"outcome": "error", "result": {"ok": false}}]))),
            Ok(drafted("shown", json!([ok(4), ok(1), {"outcome": "crashed", "result": {"ok": false}}]))),
            Err("refused".to_owned()),
        ];
        let report = growth(&Tasks::read(&file).unwrap(), &mut Fixed(all), |_| {}).unwrap().document;
        assert_eq!((report.tasks, report.drafted, report.whole, report.held, report.hidden), (3, 2, 1, 4, 6));
        assert_eq!((report.whole_of_drafted, report.mutation_score, report.tokens_a_draft), (0.5, 0.75, 100.0));
        assert_eq!(report.each[2].why, "refused");
        assert_eq!((report.grants_beyond, report.ran_outside), (2, None), "a manifest that cannot be read counts");
        std::fs::write(&file, "{\"name\": 1}\n").unwrap();
        assert!(Tasks::read(&file).unwrap_err().to_string().contains("line 1"));
    }
}
