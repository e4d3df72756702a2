//! `bench`: how well recall and ranking do on a file of dialogues, measured on a memoryd of its own
//! ([`crate::bench::ephemeral`]) through the code that answers for real. It needs no instance and touches none.

pub mod ephemeral;
pub mod measure;
pub(crate) mod words;

use std::io::BufRead;
use std::path::Path;

use metnos_proto::edges::CtlMemoryd;
use metnos_proto::ids::TraceId;
use metnos_proto::link::BlockingClient;
use metnos_proto::msg::memoryd::Rehearse;
use metnos_proto::payload::Sealed;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bench::ephemeral::Ephemeral;
use crate::bench::measure::{Latency, Next, Quality, Recall};
use crate::command_line::cli::BenchCommand;
use crate::error::{CtlError, Exit};
use crate::screen::Screen;
use crate::screen::table::{Table, cell};

/// How many turns are counted: the deepest measure is that of the first ten.
const DEPTH: u32 = 10;
/// How many bytes of turns are handed over at once.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;
/// The longest line of a file, in bytes.
const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

/// A conversation and what is asked about it.
#[derive(Debug, Deserialize)]
struct Conversation {
    turns: Vec<Value>,
    #[serde(default)]
    questions: Vec<Question>,
}

#[derive(Debug, Deserialize)]
struct Question {
    q: String,
    #[serde(default)]
    category: Value,
    #[serde(default)]
    evidence: Vec<Value>,
}

/// What memoryd answers a question with.
#[derive(Debug, Deserialize)]
struct Answer {
    ids: Vec<String>,
    wall_us: u64,
}

/// The tools before one call.
#[derive(Debug, Deserialize)]
struct Step {
    call: String,
    without: Vec<String>,
    with: Vec<String>,
}

/// `bench recall|next|reflex|route`.
///
/// # Errors
/// When the file is not of its form, or memoryd cannot be started.
pub fn bench(screen: &mut Screen, command: &BenchCommand) -> Result<Exit, CtlError> {
    match command {
        BenchCommand::Recall { file } => recall(screen, file),
        BenchCommand::Next { file } => next(screen, file),
        BenchCommand::Reflex { file, catalog } => crate::bench::words::reflex(screen, file, catalog.as_deref()),
        BenchCommand::Route { file, learn } => crate::bench::words::route(screen, file, *learn),
    }
}

/// memoryd's end for the time of a measurement.
struct Memory {
    client: BlockingClient<CtlMemoryd>,
    _process: Ephemeral,
}

impl Memory {
    fn start() -> Result<Self, CtlError> {
        let process = Ephemeral::start()?;
        Ok(Self { client: process.connect()?, _process: process })
    }

    fn ask<T: serde::de::DeserializeOwned>(&mut self, ask: Rehearse, beside: &[u8]) -> Result<T, CtlError> {
        let unreadable =
            |why: String| CtlError::failed("the measurement", why, "a line may be too large: 16 MiB go at once");
        let beside = Sealed::new(beside).map_err(|error| unreadable(error.to_string()))?;
        let (_, [found]) = self.client.rehearse(TraceId::NONE, ask, [beside])?;
        let bytes = found.read().map_err(|error| unreadable(error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
    }
}

/// Does something with each line of a file that is not empty.
pub(crate) fn lines(file: &Path, mut each: impl FnMut(usize, &str) -> Result<(), CtlError>) -> Result<(), CtlError> {
    let unreadable =
        |why: String| CtlError::failed(format!("reading {}", file.display()), why, "name a file of JSON lines");
    let opened = std::fs::File::open(file).map_err(|error| unreadable(error.to_string()))?;
    let mut reader = std::io::BufReader::new(opened);
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = u64::try_from(MAX_LINE_BYTES).unwrap_or(u64::MAX);
        let read = std::io::Read::take(&mut reader, limit).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(error.to_string()))? == 0 {
            return Ok(());
        }
        number += 1;
        if line.len() >= MAX_LINE_BYTES {
            return Err(unreadable(format!("line {number} is longer than {MAX_LINE_BYTES} bytes")));
        }
        let text = std::str::from_utf8(&line).map_err(|_| unreadable(format!("line {number} is not UTF-8")))?;
        if !text.trim().is_empty() {
            each(number, text)?;
        }
    }
}

pub(crate) fn malformed(file: &Path, number: usize, why: impl ToString) -> CtlError {
    let what = format!("line {number} of {}", file.display());
    CtlError::failed(what, why, "`metnosctl bench --help` shows the form")
}

fn recall(screen: &mut Screen, file: &Path) -> Result<Exit, CtlError> {
    let mut memory = Memory::start()?;
    let mut quality = Quality::default();
    let mut latency = Latency::default();
    lines(file, |number, text| {
        let conversation: Conversation = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
        one_conversation(&mut memory, &conversation, &mut quality, &mut latency)?;
        screen.progress(&format!("{} questions", quality.questions()))
    })?;
    let document = quality.document(&latency);
    if screen.json() {
        screen.document(&document)?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["CATEGORY", "QUESTIONS", "RECALL@5", "RECALL@10", "SESSION@5", "P@1", "NDCG@10"]);
    for (name, of) in quality.rows() {
        let mut row = vec![cell(name), cell(of.questions.to_string())];
        row.extend(of.means().map(|mean| cell(format!("{mean:.3}"))));
        table.row(row);
    }
    table.show(screen, 0)?;
    let [p50, p95, most] = latency.points();
    screen.line(&format!(
        "{} turns in {} conversations; a question took {p50} µs (median), {p95} µs (95 %), {most} µs (longest)",
        quality.turns, quality.conversations
    ))?;
    if quality.skipped > 0 {
        screen.line(&format!("{} questions name no turn as their evidence and were not asked", quality.skipped))?;
    }
    Ok(Exit::Done)
}

fn one_conversation(
    memory: &mut Memory,
    conversation: &Conversation,
    quality: &mut Quality,
    latency: &mut Latency,
) -> Result<(), CtlError> {
    memory.ask::<Value>(Rehearse::Anew, b"")?;
    let mut chunk = Vec::new();
    for turn in &conversation.turns {
        chunk.extend(serde_json::to_vec(turn).unwrap_or_default());
        chunk.push(b'\n');
        if chunk.len() > CHUNK_BYTES {
            memory.ask::<Value>(Rehearse::Turns, &std::mem::take(&mut chunk))?;
        }
    }
    memory.ask::<Value>(Rehearse::Turns, &chunk)?;
    let measure = Recall::of(&conversation.turns);
    quality.conversations += 1;
    quality.turns += conversation.turns.len();
    for question in &conversation.questions {
        let evidence = measure.evidence(&question.evidence);
        if evidence.is_empty() {
            quality.skipped += 1;
            continue;
        }
        let answer: Answer = memory.ask(Rehearse::Question(DEPTH), question.q.as_bytes())?;
        latency.add(answer.wall_us);
        quality.add(&spelled(&question.category), measure.marks(&answer.ids, &evidence));
    }
    Ok(())
}

/// A text or a number as it is written.
pub(crate) fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

fn next(screen: &mut Screen, file: &Path) -> Result<Exit, CtlError> {
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
        screen.progress(&format!("{} calls", measured.steps))
    })?;
    if screen.json() {
        screen.document(&measured.document())?;
        return Ok(Exit::Done);
    }
    let mut table = Table::new(&["", "CALLS", "WITHOUT", "WITH", "POINTS"]);
    for (name, count, [without, with]) in measured.rows() {
        let points = format!("{:+.1}", 100.0 * (with - without));
        table.row(vec![
            cell(name),
            cell(count.to_string()),
            cell(format!("{without:.3}")),
            cell(format!("{with:.3}")),
            cell(points),
        ]);
    }
    table.show(screen, 0)?;
    Ok(Exit::Done)
}

/// The document of `bench next`, for programs.
impl Next {
    fn document(&self) -> Value {
        let rows = self.rows().into_iter().map(|(name, count, [without, with])| {
            json!({ "measure": name, "count": count, "without": without, "with": with, "gain": with - without })
        });
        let rows: Vec<Value> = rows.collect();
        let [without, with] = self.recall_at_5();
        json!({ "ok": true, "steps": self.steps, "turns": self.turns, "recall_at_5": { "without": without, "with": with, "gain": with - without }, "measures": rows })
    }
}
