//! Dialogues of a file, replayed call by call: ranked as a turn's candidates are, learned from as a closed turn is.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use metnos_proto::ids::{CallId, SessionId, TurnId};
use metnos_proto::msg::common::{ExecutorId, Outcome, Trust};
use metnos_proto::role::RoleName;
use serde::{Deserialize, Serialize};

use super::{MAX_TOOLS, invalid};
use crate::chronicle::event::{Draft, Event, EventType, GENESIS};
use crate::chronicle::payload::TurnClose;
use crate::chronicle::time::DAY_MS;
use crate::error::Result;
use crate::faults::NoFaults;
use crate::mnestome::clock::CALLS_PER_USE_DAY;
use crate::mnestome::derive::Record;
use crate::mnestome::graph::{Mnestome, Turns};
use crate::traces::{Link, Traces};
use metnos_rank::lexical::{Catalogue, Fields};
use metnos_rank::order::{Context, followers, order};

/// How many names of each order are given back.
const SHOWN: usize = 10;
/// All tools of a file are of one version.
const VERSION: &str = "1";
/// The most dialogues of a file.
const MAX_DIALOGUES: usize = 1_000_000;
/// How many lines are learned from before traces are looked for again.
const TRACE_EVERY: u64 = 25;

#[derive(Debug, Deserialize)]
struct Line {
    dialogue: serde_json::Value,
    message: String,
    calls: Vec<String>,
    tools: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    description: String,
}

/// The tools as they stood before one call of a line.
#[derive(Debug, Serialize)]
pub(super) struct Ranked {
    /// The call that came.
    call: String,
    /// The best by the words alone.
    without: Vec<String>,
    /// The best by the words and what was learned.
    with: Vec<String>,
}

/// What was learned, and where the dialogue stands.
#[derive(Debug)]
pub(super) struct Steps {
    mnestome: Mnestome,
    traces: Traces,
    /// Of each dialogue the call that came last.
    last: HashMap<String, String>,
    lines: u64,
    calls: u64,
}

/// The records of the line that is learned from.
struct Replayed(Vec<Record>);

impl Turns for Replayed {
    fn records(&self, _: &Event) -> Result<Option<Vec<Record>>> {
        Ok(Some(self.0.clone()))
    }
}

fn executor(name: &str) -> ExecutorId {
    ExecutorId { name: name.to_owned(), version: VERSION.to_owned() }
}

impl Steps {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            mnestome: Mnestome::open(Path::new(":memory:"), CALLS_PER_USE_DAY)?,
            traces: Traces::default(),
            last: HashMap::new(),
            lines: 0,
            calls: 0,
        })
    }

    /// Ranks before each call of the line, then learns from it.
    pub(super) fn step(&mut self, text: &str) -> Result<Vec<Ranked>> {
        let line: Line = serde_json::from_str(text).map_err(|error| invalid(format!("a line: {error}")))?;
        if line.tools.len() > MAX_TOOLS || line.calls.len() > MAX_TOOLS {
            return Err(invalid(format!("a line has at most {MAX_TOOLS} tools and as many calls")));
        }
        if line.calls.iter().any(String::is_empty) {
            return Err(invalid("a call without a name"));
        }
        let dialogue = line.dialogue.to_string();
        if self.last.len() >= MAX_DIALOGUES && !self.last.contains_key(&dialogue) {
            return Err(invalid(format!("a file has at most {MAX_DIALOGUES} dialogues")));
        }
        let before = self.last.get(&dialogue).cloned();
        let mut last = before.clone();
        let mut ranked = Vec::with_capacity(line.calls.len());
        for call in &line.calls {
            ranked.push(self.rank(&line, last.as_deref(), call)?);
            last = Some(call.clone());
        }
        self.learn(before.as_deref(), &line.calls)?;
        self.last.extend(last.map(|last| (dialogue, last)));
        Ok(ranked)
    }

    fn rank(&self, line: &Line, last: Option<&str>, call: &str) -> Result<Ranked> {
        let mut seen = HashSet::new();
        let tools: Vec<Fields<'_>> = line
            .tools
            .iter()
            .filter(|tool| seen.insert(tool.name.as_str()))
            .map(|tool| Fields { name: &tool.name, summary: &tool.description, examples: &[], arguments: "" })
            .collect();
        let catalogue = Catalogue::of(&tools);
        let all: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
        let names = |context: &Context| {
            let order = order(&line.message, &catalogue, &all, context);
            order.into_iter().take(SHOWN).map(|at| tools[at].name.to_owned()).collect()
        };
        Ok(Ranked { call: call.to_owned(), without: names(&Context::default()), with: names(&self.context(last)?) })
    }

    fn context(&self, last: Option<&str>) -> Result<Context> {
        let Some(last) = last else { return Ok(Context::default()) };
        let mnests = self.mnestome.neighbours(last, VERSION, MAX_TOOLS)?;
        let trace = self.traces.of(last, VERSION).map_or(&[][..], |trace| &trace.members);
        Ok(Context {
            followers: followers(mnests.into_iter().map(|one| (one.name, one.weight))),
            trace: trace.iter().map(|(name, _)| name.clone()).collect(),
            ..Context::default()
        })
    }

    /// What a turn with these calls, each fed by the one before, would have taught.
    fn learn(&mut self, before: Option<&str>, calls: &[String]) -> Result<()> {
        let mut records = Vec::new();
        for (at, name) in (0_u128..).zip(before.into_iter().chain(calls.iter().map(String::as_str))) {
            let call = |at: u128| CallId::from_bytes((at + 1).to_be_bytes());
            let inputs = at.checked_sub(1).map(call).into_iter().collect();
            records.push(Record::Started { call: call(at), id: executor(name), inputs });
            records.push(Record::Ended { call: call(at), outcome: Outcome::Ok, ts_ms: 0 });
        }
        let mut events: Vec<Event> = Vec::with_capacity(calls.len() + 1);
        for _ in calls {
            // A use-day's calls make a day: the calendar holds nothing up.
            let ts_ms = self.calls / u64::from(CALLS_PER_USE_DAY) * DAY_MS;
            self.calls += 1;
            events.push(self.event(EventType::RunStarted, "{}".to_owned(), ts_ms, events.len()));
        }
        let close = TurnClose { end: "answered".to_owned(), signature: String::new(), wish: String::new() }.encode();
        events.push(self.event(EventType::TurnClose, close, 0, events.len()));
        self.mnestome.apply(&events, &Replayed(records), &mut NoFaults)?;
        self.lines += 1;
        if self.lines.is_multiple_of(TRACE_EVERY) {
            let links: Vec<Link> = self.mnestome.list()?.iter().filter_map(Link::of).collect();
            self.traces = Traces::find(&links, &self.traces, self.mnestome.now());
        }
        Ok(())
    }

    fn event(&self, kind: EventType, payload: String, ts_ms: u64, after: usize) -> Event {
        let draft = Draft {
            parent: None,
            emitter: RoleName::Memoryd,
            session: SessionId::new(),
            turn_id: Some(TurnId::NONE),
            trace_id: None,
            kind,
            channel: None,
            peer: String::new(),
            trust: Trust::System,
            payload,
        };
        Event::seal(draft, self.mnestome.applied() + 1 + after as u64, GENESIS, ts_ms)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn line(dialogue: u32, message: &str, calls: &[&str]) -> String {
        let tool = |name: &str| serde_json::json!({ "name": name, "description": "does it" });
        let tools: Vec<_> = ["alpha", "beta", "gamma", "delta"].into_iter().map(tool).collect();
        serde_json::json!({ "dialogue": dialogue, "message": message, "calls": calls, "tools": tools }).to_string()
    }

    #[test]
    fn usual_follower_ranks_first_and_new_dialogue_has_no_context() {
        let mut steps = Steps::new().unwrap();
        for _ in 0..3 {
            steps.step(&line(1, "go on", &["gamma", "delta"])).unwrap();
        }
        let ranked = steps.step(&line(2, "go on", &["gamma", "delta"])).unwrap();
        assert_eq!(ranked[0].with, ["alpha", "beta", "delta", "gamma"], "nothing came before");
        assert_eq!(ranked[1].with[0], "delta");
        assert_eq!(ranked[1].without[0], "alpha");
        // Learned through the real derivation, with the real weights.
        assert_eq!(steps.mnestome.neighbours("gamma", VERSION, 9).unwrap()[0].name, "delta");
        let mnests = steps.mnestome.list().unwrap();
        assert!(mnests.iter().any(|one| one.dst_executor == "delta" && one.uses == 4));
    }

    #[test]
    fn malformed_rehearsal_line_is_refused() {
        let mut steps = Steps::new().unwrap();
        for bad in ["{", "{}", "{\"dialogue\":1,\"message\":\"\",\"calls\":[\"\"],\"tools\":[]}"] {
            assert!(steps.step(bad).is_err(), "{bad}");
        }
    }
}
