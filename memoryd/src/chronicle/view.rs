//! The executors' view: one line per call and day, for people and their tools. It is a projection and proves nothing.
//!
//! `.audit/executors/YYYY-MM-DD.jsonl` (design: executor §8). A call that was denied, or that
//! waits for a word, has its line when it is decided; a call that ran when it ends; a call
//! that was never seen to end when its turn is closed. The index notes up to which byte the
//! view is written, in the transaction that adds the events, so that no crash leaves a line
//! out or writes it twice. Arguments that the chronicle encrypts are left out; `metnosctl audit` shows them.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;

use metnos_proto::chain;
use metnos_proto::ids::Blake3;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use serde::Serialize;
use serde_json::Value;

use super::event::{Event, EventType};
use super::index::{Index, IndexRow};
use super::log::{Log, Placed, file_name};
use super::payload::{self, PolicyDecision, RunEnded, RunStarted};
use super::time::{Day, instant_text};
use crate::error::{Error, Result};

/// Arguments longer than this appear as their digest.
pub const MAX_INPUT_BYTES: usize = 4096;
/// Texts inside arguments that are longer than this appear as their digest.
pub const MAX_LEAF_BYTES: usize = 256;

#[derive(Debug, Serialize)]
struct ViewLine<'a> {
    ts: String,
    trace_id: String,
    turn_id: String,
    executor: &'a str,
    version: &'a str,
    caller: Caller<'a>,
    input: Value,
    output: Output,
    duration_ms: u64,
    cost: u64,
    exit: &'a str,
}

#[derive(Debug, Serialize)]
struct Caller<'a> {
    kind: &'a str,
    sender: &'a str,
    channel: &'a str,
}

#[derive(Debug, Serialize)]
struct Output {
    size: u64,
    sha: Option<String>,
}

/// How a call came out.
struct Exit<'a> {
    name: &'a str,
    output: Output,
    duration_ms: u64,
}

impl Exit<'_> {
    fn without_output(name: &str) -> Exit<'_> {
        Exit { name, output: Output { size: 0, sha: None }, duration_ms: 0 }
    }
}

/// The folder of the view and the file being written.
#[derive(Debug)]
pub struct View {
    dir: OwnedFd,
    current: Option<(Day, File, u64)>,
}

fn io(what: &str) -> impl FnOnce(rustix::io::Errno) -> Error + '_ {
    move |errno| Error::io(format!("the executors' view: {what}"), errno)
}

impl View {
    /// Opens the folder, and cuts off what was written after `end`; everything when there is no end.
    ///
    /// # Errors
    /// When the folder cannot be made, read or changed.
    pub fn open(path: &Path, end: Option<(Day, u64)>) -> Result<Self> {
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(io("creating the folder")(errno)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let dir = rustix::fs::open(path, flags, Mode::empty()).map_err(io("opening the folder"))?;
        let mut view = Self { dir, current: None };
        view.cut(end)?;
        Ok(view)
    }

    /// Cuts off what was written after `end`.
    ///
    /// # Errors
    /// When a file cannot be removed or cut.
    pub fn cut(&mut self, end: Option<(Day, u64)>) -> Result<()> {
        self.current = None;
        for entry in Dir::read_from(&self.dir).map_err(io("reading the folder"))? {
            let entry = entry.map_err(io("reading the folder"))?;
            let day = entry.file_name().to_str().ok().and_then(|name| Day::parse(name.strip_suffix(".jsonl")?));
            if let Some(day) = day
                && end.is_none_or(|(last, _)| day > last)
            {
                rustix::fs::unlinkat(&self.dir, entry.file_name(), AtFlags::empty()).map_err(io("removing a file"))?;
            }
        }
        if let Some((day, bytes)) = end {
            let file = self.file(day)?;
            // Never longer than it was: a file that was shortened stays short.
            if file.1 > bytes {
                rustix::fs::ftruncate(&file.0, bytes).map_err(io("cutting a file"))?;
                self.current = None;
            }
        }
        Ok(())
    }

    /// Writes a day's file anew from the log: after a payload was taken out, what was copied from it goes, too.
    ///
    /// # Errors
    /// When the day's lines cannot be read, or the view not be written.
    pub fn rewrite(&mut self, index: &Index, log: &Log, day: Day, from: u64) -> Result<()> {
        let Some((first, last)) = index.span_of_day(from, day)? else { return Ok(()) };
        let mut bytes = Vec::new();
        let mut next = first;
        while next <= last {
            let rows = index.rows_from(next, ROWS)?;
            let Some(end) = rows.last().map(|row| row.seq) else { break };
            for row in rows.iter().filter(|row| row.seq <= last && makes_lines(row.kind)) {
                bytes.extend(lines_of(index, log, &log.read(row.place)?)?);
            }
            next = end + 1;
        }
        self.current = None;
        let fresh = format!("{}.new", file_name(day));
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.dir, &fresh, flags, Mode::RUSR | Mode::WUSR).map_err(io("opening a file"))?;
        File::from(fd).write_all(&bytes).map_err(|source| Error::io("writing the executors' view", source))?;
        rustix::fs::renameat(&self.dir, &fresh, &self.dir, file_name(day)).map_err(io("renaming a file"))?;
        match index.view_end()? {
            Some((end, _)) if end == day => index.set_view_end(day, bytes.len() as u64),
            Some(_) | None => Ok(()),
        }
    }

    fn file(&mut self, day: Day) -> Result<(&mut File, u64)> {
        if self.current.as_ref().is_none_or(|current| current.0 != day) {
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let mode = Mode::RUSR | Mode::WUSR;
            let fd = rustix::fs::openat(&self.dir, file_name(day), flags | OFlags::NONBLOCK, mode)
                .map_err(io("opening a file"))?;
            let bytes = rustix::fs::fstat(&fd).map_err(io("looking at a file"))?.st_size.unsigned_abs();
            self.current = Some((day, File::from(fd), bytes));
        }
        match &mut self.current {
            Some((_, file, bytes)) => Ok((file, *bytes)),
            None => Err(Error::io("the executors' view", std::io::ErrorKind::NotFound)),
        }
    }

    /// Writes the lines that follow from one event, which the index already knows.
    ///
    /// # Errors
    /// When a line that it needs cannot be read, or the view not be written.
    pub fn apply(&mut self, index: &Index, log: &Log, placed: &Placed) -> Result<()> {
        let lines = lines_of(index, log, &placed.event)?;
        if lines.is_empty() {
            return Ok(());
        }
        let day = Day::of(placed.event.ts_ms);
        let (file, bytes) = self.file(day)?;
        if let Err(source) = file.write_all(&lines) {
            self.current = None;
            return Err(Error::io("writing the executors' view", source));
        }
        let bytes = bytes + lines.len() as u64;
        if let Some(current) = &mut self.current {
            current.2 = bytes;
        }
        index.set_view_end(day, bytes)
    }
}

/// How many rows of the index are looked at in one step of writing a day anew.
const ROWS: u32 = 1024;

/// Whether events of this type can have lines in the view.
const fn makes_lines(kind: Option<EventType>) -> bool {
    matches!(kind, Some(EventType::PolicyDecision | EventType::RunEnded | EventType::TurnClose))
}

/// The lines that an event adds to the view.
fn lines_of(index: &Index, log: &Log, event: &Event) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    if event.kind == EventType::PolicyDecision
        && let Ok(decision) = PolicyDecision::decode(&event.payload)
        && decision.verdict != "allow"
    {
        let name = if decision.verdict == "ask" { "asked" } else { "denied" };
        push(&mut lines, (index, log), event, &decision, Exit::without_output(name))?;
    }
    if event.kind == EventType::RunEnded
        && let Ok(ended) = RunEnded::decode(&event.payload)
        && !closed_before(index, event)?
        && let Some(decision) =
            payload::call_of(&ended.call).map(|call| decision_of(index, log, call)).transpose()?.flatten()
    {
        let output = Output { size: ended.output_bytes, sha: Some(ended.result.clone()) };
        let exit = Exit { name: &ended.outcome, output, duration_ms: ended.wall_us / 1000 };
        push(&mut lines, (index, log), event, &decision, exit)?;
    }
    if event.kind == EventType::TurnClose {
        for call in unended(index, event)? {
            if let Some(decision) = decision_of(index, log, call)? {
                push(&mut lines, (index, log), event, &decision, Exit::without_output("interrupted"))?;
            }
        }
    }
    Ok(lines)
}

fn closed_before(index: &Index, event: &Event) -> Result<bool> {
    let Some(turn) = event.turn_id else { return Ok(false) };
    Ok(index.turn(turn)?.is_some_and(|facts| facts.closed.is_some_and(|closed| closed < event.seq)))
}

/// The calls of a turn that were started and not seen to end, when this is the event that closed it.
fn unended(index: &Index, event: &Event) -> Result<Vec<metnos_proto::ids::CallId>> {
    let Some(turn) = event.turn_id else { return Ok(Vec::new()) };
    if closed_before(index, event)? {
        return Ok(Vec::new());
    }
    let rows = index.of_turn(turn, event.seq)?;
    let calls =
        |kind: EventType| rows.iter().filter(move |row: &&IndexRow| row.kind == Some(kind)).filter_map(|row| row.call);
    let ended: Vec<_> = calls(EventType::RunEnded).collect();
    Ok(calls(EventType::RunStarted).filter(|call| !ended.contains(call)).collect())
}

/// The decision that a call was started on.
fn decision_of(index: &Index, log: &Log, call: metnos_proto::ids::CallId) -> Result<Option<PolicyDecision>> {
    let Some(row) = index.of_call(call, EventType::RunStarted)? else { return Ok(None) };
    let Ok(started) = RunStarted::decode(&log.read(row.place)?.payload) else { return Ok(None) };
    let Some(row) = index.row(started.decision_seq)? else { return Ok(None) };
    Ok(PolicyDecision::decode(&log.read(row.place)?.payload).ok())
}

fn push(
    lines: &mut Vec<u8>,
    (index, log): (&Index, &Log),
    event: &Event,
    decision: &PolicyDecision,
    exit: Exit<'_>,
) -> Result<()> {
    let direct = match event.turn_id {
        Some(turn) => index.turn(turn)?.is_some_and(|facts| facts.direct),
        None => false,
    };
    let line = ViewLine {
        ts: instant_text(event.ts_ms),
        trace_id: event.trace_id.map(|id| id.to_string()).unwrap_or_default(),
        turn_id: event.turn_id.map(|id| id.to_string()).unwrap_or_default(),
        executor: &decision.executor,
        version: &decision.version,
        caller: Caller {
            kind: if direct { "direct" } else { "planner" },
            sender: &event.peer,
            channel: event.channel.map_or("", metnos_proto::msg::common::Channel::name),
        },
        input: if log.keys().encrypts(&event.peer) { withheld(decision) } else { input_of(decision) },
        output: exit.output,
        duration_ms: exit.duration_ms,
        cost: 0,
        exit: exit.name,
    };
    // Writing into memory has no way to go wrong.
    lines.extend(serde_json::to_vec(&line).unwrap_or_default());
    lines.push(b'\n');
    Ok(())
}

/// The arguments, large bodies by digest.
fn input_of(decision: &PolicyDecision) -> Value {
    let bytes = decision.arguments.len();
    let small = bytes <= MAX_INPUT_BYTES && ["utf-8", payload::CLEANED].contains(&decision.arguments_encoding.as_str());
    match serde_json::from_str::<Value>(&decision.arguments) {
        Ok(mut value) if small => {
            shorten(&mut value);
            value
        }
        _ => large(bytes, decision.arguments_digest.clone()),
    }
}

/// Placeholder for arguments that the chronicle encrypts: their size.
fn withheld(decision: &PolicyDecision) -> Value {
    let sealed = chain::sealed(decision.arguments.len(), &serde_json::Map::new());
    serde_json::from_str(&sealed).unwrap_or_default()
}

/// What stands for a large body: its size and its digest.
#[derive(Serialize)]
struct Large {
    bytes: usize,
    sha: String,
}

fn large(bytes: usize, sha: String) -> Value {
    serde_json::to_value(Large { bytes, sha }).unwrap_or_default()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_LEAF_BYTES => {
            *value = large(text.len(), Blake3::of(text.as_bytes()).to_string());
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn decided(arguments: &str) -> PolicyDecision {
        let text = String::new;
        PolicyDecision {
            arguments: arguments.to_owned(),
            arguments_digest: Blake3::of(arguments.as_bytes()).to_string(),
            arguments_encoding: "utf-8".to_owned(),
            call: text(),
            executor: text(),
            place: text(),
            rule: text(),
            verdict: text(),
            version: text(),
            why: text(),
        }
    }

    #[test]
    fn argument_text_above_size_limit_is_shown_as_digest() {
        let input = |bytes: usize| input_of(&decided(&format!("{{\"a\":[\"{}\"]}}", "x".repeat(bytes))));
        assert!(input(MAX_LEAF_BYTES)["a"][0].is_string());
        let digest = &input(MAX_LEAF_BYTES + 1)["a"][0];
        assert_eq!(digest["bytes"], MAX_LEAF_BYTES + 1);
        assert!(digest["sha"].as_str().unwrap().starts_with("blake3:"));
    }

    #[test]
    fn arguments_may_be_exactly_the_limit_before_they_become_their_digest() {
        let sized = |bytes: usize| {
            format!("[{}1]", "1,".repeat((bytes - 3) / 2) + if bytes.is_multiple_of(2) { " " } else { "" })
        };
        let (fits, over) = (sized(MAX_INPUT_BYTES), sized(MAX_INPUT_BYTES + 1));
        assert_eq!((fits.len(), over.len()), (MAX_INPUT_BYTES, MAX_INPUT_BYTES + 1));
        assert!(input_of(&decided(&fits)).is_array());
        assert_eq!(input_of(&decided(&over))["bytes"], MAX_INPUT_BYTES + 1);
        assert!(input_of(&decided("no json"))["sha"].is_string());
    }
}
