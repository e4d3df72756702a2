//! Birth tests: what an executor promises is seen to hold, in its very own sandbox, before
//! anybody signs it. Each case has a workspace of its own; none sees the owner's.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use metnos_proto::control::FolderSettings;
use metnos_proto::doc::draft::TriedInput;
use metnos_proto::executor::Quotas;
use metnos_proto::ids::Blake3;
use metnos_proto::json::{self, Limits};
use metnos_proto::msg::common::Outcome;
use metnos_proto::msg::sandboxd::BirthCase;
use metnos_proto::payload::Filling;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::confine::approved::Approved;
use crate::plan::Plan;
use crate::pool::{Entry, Job, JobFile, Keeper, Keeping, Sandbox, ScratchFolder, Secrets};
use crate::scratch::{FileDescription, content};
use crate::verify::output::{Judged, judge};
use crate::verify::{ExecutorFiles, Texts};

/// The fewest cases that show anything.
pub const MIN_CASES: usize = 3;
/// The most cases.
pub const MAX_CASES: usize = 64;
/// How patient a run of birth tests is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often a case is tried that runs out of time.
    pub tries: u32,
    /// Whether the cases after one that fails are run as well; after one that runs out of time they are not, where it is tried
    /// once.
    pub to_the_end: bool,
}

/// On a busy machine the clock says little about the executor, and one that never ends runs out of time every time. The owner
/// is shown every case.
pub const BIRTH: Patience = Patience { tries: 5, to_the_end: true };
/// What is wrong with a draft is said all at once.
pub const TRIAL: Patience = Patience { tries: 1, to_the_end: true };
/// Of a changed copy one test that notices it says enough.
pub const MUTANT: Patience = Patience { tries: 1, to_the_end: false };
/// How often a draft may run out of time on inputs that no test has.
pub const MAX_TIMEOUTS: u32 = 5;
/// The most bytes of a case's name.
pub const MAX_CASE_NAME: usize = 200;
/// The most bytes of what is said about a case, so that all cases fit one frame.
pub const MAX_DETAIL: usize = 600;
/// The most bytes of all cases together.
pub const MAX_CASES_BYTES: usize = 2 << 20;

/// One case, as `tests/birth.py` describes it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What holds, as a sentence.
    pub name: String,
    /// What lies in its workspace.
    pub files: Map<String, Value>,
    /// What it is called with.
    pub args: Map<String, Value>,
    /// What a model has said about that, where the manifest asks for it: a reply as mind hands it on.
    #[serde(default)]
    pub thought: Option<Map<String, Value>>,
    /// The file that comes with the call, where the manifest takes one; described as those of its workspace.
    #[serde(default)]
    pub file: Option<Value>,
    /// The program that it runs: where the owner does not list that, or it is not there, the case is not tried.
    #[serde(default)]
    pub needs: Option<String>,
    /// What must come.
    pub expect: Expect,
}

impl Case {
    /// Whether this sandbox has what it needs.
    fn can_be_tried(&self, plan: &Plan) -> bool {
        self.needs.as_ref().is_none_or(|program| plan.spec().commands.contains(program))
    }
}

/// What must come of a case.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Success, or an error.
    pub ok: bool,
    /// The class of the error.
    #[serde(default)]
    pub class: Option<String>,
    /// Values at pointers of a successful result.
    #[serde(default)]
    pub values: Map<String, Value>,
    /// The file that a successful call gives, described as those of its workspace; empty where nothing is said.
    #[serde(default)]
    pub file: Option<Value>,
}

/// Reads what `cases()` has returned.
///
/// # Errors
/// In a sentence, why these are no birth tests.
pub fn read_cases(bytes: &[u8]) -> Result<Vec<Case>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cases {
        ok: bool,
        cases: Vec<Case>,
    }
    let limits = Limits { max_bytes: MAX_CASES_BYTES, max_depth: 32 };
    let object = json::parse_object(bytes, limits).map_err(|error| error.to_string())?;
    let Cases { ok, cases } = serde_json::from_value(Value::Object(object)).map_err(|error| error.to_string())?;
    if !ok || !(MIN_CASES..=MAX_CASES).contains(&cases.len()) {
        return Err(format!("{} cases; {MIN_CASES} to {MAX_CASES} are needed", cases.len()));
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        if case.name.is_empty() || case.name.len() > MAX_CASE_NAME || case.name.chars().any(char::is_control) {
            return Err(format!("a case's name is one line of 1 to {MAX_CASE_NAME} bytes"));
        }
        if !names.insert(&case.name) {
            return Err(format!("two cases have the name `{}`", case.name));
        }
        let whole = match (case.expect.ok, &case.expect.class) {
            (true, None) => !case.expect.values.is_empty(),
            (false, Some(_)) => case.expect.values.is_empty() && case.expect.file.is_none(),
            (true, Some(_)) | (false, None) => false,
        };
        if !whole {
            return Err(format!("`{}` must expect either values of a success, or the class of an error", case.name));
        }
        if let Some(bad) = case.expect.values.keys().find(|pointer| !json::is_pointer(pointer)) {
            return Err(format!("`{}` expects a value at `{}`, which is no JSON pointer", case.name, short(bad)));
        }
    }
    Ok(cases)
}

/// What does not hold about a result, if anything.
#[must_use]
pub fn difference(expect: &Expect, judged: &Judged) -> Option<String> {
    let came = || short(&String::from_utf8_lossy(&judged.bytes));
    match (expect.ok, judged.outcome) {
        (true, Outcome::Ok) => expect.values.iter().find_map(|(pointer, wanted)| {
            let found = judged.value.pointer(pointer);
            if found.is_some_and(|found| json::same(found, wanted)) {
                return None;
            }
            let found = found.map_or("nothing".to_owned(), |found| short(&found.to_string()));
            Some(format!("at `{pointer}` {} was expected, {found} came", short(&wanted.to_string())))
        }),
        (false, Outcome::Error) => {
            let wanted = expect.class.as_deref().unwrap_or_default();
            (wanted != judged.error_class)
                .then(|| format!("the error `{wanted}` was expected, `{}` came", judged.error_class))
        }
        (true, _) => Some(format!("a success was expected, {} came: {}", judged.outcome.name(), came())),
        (false, outcome) => {
            let wanted = expect.class.as_deref().unwrap_or_default();
            Some(format!("the error `{wanted}` was expected, {} came: {}", outcome.name(), came()))
        }
    }
}

/// See [`candidate`].
#[derive(Serialize)]
struct CandidateTexts {
    manifest: String,
    code: String,
    schema: String,
}

/// The candidate as policyd looks at it: exactly the bytes that were tested.
///
/// # Errors
/// When a text is none.
pub fn candidate(texts: &Texts) -> Result<Vec<u8>, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
    Ok(json::canonical_of(&CandidateTexts {
        manifest: text(&texts.manifest)?,
        code: text(&texts.code)?,
        schema: text(&texts.schema)?,
    }))
}

/// Has the tests describe their cases, and runs them. `kill` gives each run the end of its life; a killed one
/// ends the birth.
///
/// # Errors
/// In a sentence, why there were no cases to run.
pub async fn run<S: Sandbox>(
    sandbox: &S,
    executor: &ExecutorFiles,
    tests: &[u8],
    patience: Patience,
    mut kill: impl FnMut() -> oneshot::Receiver<()>,
) -> Result<Vec<BirthCase>, String> {
    let quotas = Quotas::default();
    let plan = sandbox.installation().pure_plan("birth", &quotas).map_err(|error| error.to_string())?;
    let secrets = &Secrets::none();
    let (entry, progress, kill_first) = (Entry::Cases, &|_, _| {}, kill());
    let job = Job {
        turn: None,
        plan: &plan,
        code: tests,
        entry,
        secrets,
        progress,
        approved: Approved::ANY,
        covers: None,
        opens: &[],
        kill: kill_first,
        begin: None,
        keeper: None,
    };
    let finished = sandbox.run(job).await;
    let bytes = match (finished.outcome, finished.result) {
        (Outcome::Ok, Some(bytes)) => bytes,
        (outcome, _) => {
            let log = short(finished.log.lines().last().unwrap_or_default());
            return Err(format!(
                "tests/birth.py did not describe its cases ({}): {} {log}",
                outcome.name(),
                finished.detail
            ));
        }
    };
    let cases = read_cases(&bytes).map_err(|why| format!("tests/birth.py: {why}"))?;
    let mut born = Vec::with_capacity(cases.len());
    for case in cases.into_iter().filter(|case| case.can_be_tried(&executor.plan)) {
        let mut judged = run_case(sandbox, executor, &case, kill()).await;
        for _ in 1..patience.tries {
            if !judged.as_ref().is_ok_and(|judged| judged.outcome == Outcome::Timeout) {
                break;
            }
            judged = run_case(sandbox, executor, &case, kill()).await;
        }
        let endless = judged.as_ref().is_ok_and(|judged| judged.outcome == Outcome::Timeout);
        let fault = match judged {
            Ok(judged) if judged.outcome == Outcome::Killed => return Err("the birth was stopped".to_owned()),
            Ok(judged) => difference(&case.expect, &judged),
            Err(why) => Some(why),
        };
        let passed = fault.is_none();
        born.push(BirthCase {
            name: case.name,
            passed,
            detail: fault.map_or_else(String::new, |fault| cut(&fault, MAX_DETAIL)),
        });
        if !passed && (!patience.to_the_end || endless && patience.tries == 1) {
            break;
        }
    }
    Ok(born)
}

/// Calls an executor that is granted nothing with each of these arguments, each call in a workspace of its own. One that has
/// run out of time [`MAX_TIMEOUTS`] times is not called again.
///
/// # Errors
/// In a sentence, why a call could not be made; or that it was stopped.
pub async fn run_inputs<S: Sandbox>(
    sandbox: &S,
    executor: &ExecutorFiles,
    inputs: &[Map<String, Value>],
    mut kill: impl FnMut() -> oneshot::Receiver<()>,
) -> Result<Vec<TriedInput>, String> {
    let mut tried = Vec::with_capacity(inputs.len());
    let mut timeouts = 0;
    for args in inputs {
        if timeouts >= MAX_TIMEOUTS {
            tried.push(TriedInput { outcome: "not_run".to_owned(), result: Value::Null });
            continue;
        }
        let expect = Expect { ok: true, class: None, values: Map::new(), file: None };
        let name = String::new();
        let case = Case { name, files: Map::new(), args: args.clone(), thought: None, file: None, needs: None, expect };
        let judged = run_case(sandbox, executor, &case, kill()).await?;
        if judged.outcome == Outcome::Killed {
            return Err("the trial was stopped".to_owned());
        }
        timeouts += u32::from(judged.outcome == Outcome::Timeout);
        tried.push(TriedInput { outcome: judged.outcome.name().to_owned(), result: judged.value });
    }
    Ok(tried)
}

async fn run_case<S: Sandbox>(
    sandbox: &S,
    executor: &ExecutorFiles,
    case: &Case,
    kill: oneshot::Receiver<()>,
) -> Result<Judged, String> {
    let scratch = sandbox.scratch(&Value::Object(files_of(executor, case)))?;
    let plan = executor.plan.with_scratch(scratch.folder()).map_err(|error| error.to_string())?;
    let args = json::canonical(&Value::Object(case.args.clone()));
    if case.thought.is_some() != executor.manifest.mind.is_some() {
        return Err("a case has a `thought` exactly where the manifest has [mind]".to_owned());
    }
    let thought = case.thought.clone().map(|thought| json::canonical(&Value::Object(thought)));
    let (entry, into) = entered(executor, case, args, thought)?;
    let (code, secrets) = (&executor.code, &Secrets::of_birth(&plan));
    let keeper = executor.manifest.contract.keeps.then_some(&Forgets as &dyn Keeper);
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
        keeper,
    };
    let finished = sandbox.run(job).await;
    if !finished.log.is_empty() {
        tracing::debug!(id = %executor.id, case = %case.name, log = %short(&finished.log), "what a birth test wrote");
    }
    let judged = judge(executor, finished);
    if let Some(into) = into.and_then(Rc::into_inner).filter(|_| judged.outcome == Outcome::Ok) {
        let given = into.into_inner().seal().and_then(|file| file.digest()).map_err(|error| error.to_string())?;
        let wanted = case.expect.file.as_ref().map_or(Ok(Vec::new()), content)?;
        if given != Blake3::of(&wanted) {
            return Err(format!("a file of {} bytes was expected, another one came", wanted.len()));
        }
    }
    Ok(judged)
}

/// What is kept in a birth test is gone with it.
#[derive(Debug)]
struct Forgets;

impl Keeper for Forgets {
    fn keep(&self, _: Vec<u8>) -> Keeping<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Where a file goes that a birth test gives.
type Destination = Rc<RefCell<Filling>>;

/// What is called, and where the file goes that it gives.
fn entered(
    executor: &ExecutorFiles,
    case: &Case,
    args: Vec<u8>,
    thought: Option<Vec<u8>>,
) -> Result<(Entry, Option<Destination>), String> {
    let way = executor.manifest.file;
    let (takes, gives) = (way.and_then(|way| way.takes()), way.and_then(|way| way.gives()));
    if case.file.is_some() != takes.is_some() || (case.expect.file.is_some() && gives.is_none()) {
        return Err(
            "a case has a `file` exactly where the manifest takes one, and expects one where it gives one".to_owned()
        );
    }
    let filled = |most: usize, bytes: &[u8]| {
        let mut filling = Filling::new(most).map_err(|error| error.to_string())?;
        filling.push(bytes).map_err(|error| error.to_string())?;
        Ok::<_, String>(filling)
    };
    match (&case.file, takes, gives) {
        (Some(file), Some(most), _) => {
            let file = filled(most, &content(file)?)?.seal().map_err(|error| error.to_string())?;
            Ok((Entry::Filed { args, file: JobFile::Takes(file) }, None))
        }
        (_, _, Some(most)) => {
            let into = Rc::new(RefCell::new(filled(most, b"")?));
            Ok((Entry::Filed { args, file: JobFile::Gives(Rc::clone(&into)) }, Some(into)))
        }
        (Some(_) | None, _, None) => Ok((Entry::Call { args, thought }, None)),
    }
}

/// The files of a case, those of folders outside the workspace by their whole paths, and these folders where it says nothing
/// of them.
fn files_of(executor: &ExecutorFiles, case: &Case) -> Map<String, Value> {
    let home = executor.plan.spec().home.clone();
    let settings = FolderSettings { home, ..FolderSettings::default() };
    let named = |path: &String| settings.place(path).unwrap_or_else(|| path.clone());
    let mut files: Map<String, Value> =
        case.files.iter().map(|(path, description)| (named(path), description.clone())).collect();
    for folder in executor.plan.outside() {
        files.entry(folder).or_insert_with(|| serde_json::to_value(FileDescription::folder()).unwrap_or_default());
    }
    files
}

fn short(text: &str) -> String {
    cut(text, 300)
}

fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most.saturating_sub('…'.len_utf8()));
    format!("{}…", text.get(..head).unwrap_or_default())
}

#[cfg(test)]
#[path = "birth_tests.rs"]
mod tests;
