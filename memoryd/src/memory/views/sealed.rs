//! What the owner is shown of lines that are another person's: who, when, which executor, how much and how it ended, and not a word
//! of what was said or done.

use metnos_proto::chain;
use metnos_proto::msg::common::RefusalCode;
use serde_json::{Map, Value};

use super::super::household::WhoIsWho;
use super::super::journal::{Answer, refused};
use crate::chronicle::event::Event;
use crate::chronicle::line;

/// The keys of payloads that may be shown of anybody: none of them holds words, names of things, or anything that was given to an
/// executor.
const SHOWN: [&str; 25] = [
    "act",
    "call",
    "carrier",
    "cpu_us",
    "decision_seq",
    "end",
    "entry",
    "executor",
    "micro",
    "missed",
    "number",
    "outcome",
    "output_bytes",
    "peak_kib",
    "place",
    "role",
    "rule",
    "stage",
    "started_seq",
    "thought",
    "tokens_in",
    "tokens_out",
    "verdict",
    "version",
    "wall_us",
];
/// The longest text that is shown, in characters: all of those are names.
const MAX_SHOWN: usize = 64;

/// Who looks, and when.
#[derive(Debug, Clone, Copy)]
pub(in crate::memory) struct Seals<'a> {
    who_is_who: &'a WhoIsWho,
    now_ms: u64,
}

impl<'a> Seals<'a> {
    /// The seals as they are at this moment.
    pub(in crate::memory) const fn new(who_is_who: &'a WhoIsWho, now_ms: u64) -> Self {
        Self { who_is_who, now_ms }
    }

    /// Whether what is this principal's is withheld from the owner.
    pub(in crate::memory) fn hold(&self, principal: &str) -> bool {
        self.who_is_who.is_sealed(principal, self.now_ms)
    }

    /// A line as it is shown, without its newline.
    pub(in crate::memory) fn line(&self, event: &Event) -> Vec<u8> {
        let mut line = if self.hold(&event.peer) { line::to_line(&without_words(event)) } else { line::to_line(event) };
        line.pop();
        line
    }

    /// Refuses to show what is this principal's.
    ///
    /// # Errors
    /// When it is withheld.
    pub(in crate::memory) fn admit(&self, principal: &str) -> Answer<()> {
        if !self.hold(principal) {
            return Ok(());
        }
        let why = format!("what {principal} said, and what was done for it, is sealed: it is another person's");
        Err(refused(RefusalCode::Denied, "people.sealed", why))
    }
}

/// The same event with a payload that says how large its own is. Its digest and hash stay, so the chain can be followed all the same.
fn without_words(event: &Event) -> Event {
    let payload: Map<String, Value> = serde_json::from_str(&event.payload).unwrap_or_default();
    let is_name = |value: &Value| match value {
        Value::String(text) => text.chars().count() <= MAX_SHOWN,
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    // What a planner calls where there is no such executor is words of its own.
    let is_call_of_nothing = payload.get("version").is_some_and(|version| version == "");
    let may_be = |key: &str| SHOWN.contains(&key) && !(is_call_of_nothing && key == "executor");
    let shown = payload.into_iter().filter(|(key, value)| may_be(key) && is_name(value)).collect();
    Event { payload: chain::sealed(event.payload.len(), &shown), ..event.clone() }
}
