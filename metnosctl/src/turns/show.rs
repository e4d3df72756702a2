//! `turn show|feedback`: the lines of one turn, and with `--prompt` the very bytes that a model was sent in it. They stand in the
//! chronicle by the planner's word; whether mind said the same is shown beside them.

use std::collections::BTreeSet;

use metnos_proto::doc::chronicle::EventLine;
use metnos_proto::ids::Blake3;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::list;
use crate::audit::search::turn_lines;
use crate::command_line::cli::TurnCommand;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::executors::fitness::feedback;
use crate::instance::Instance;
use crate::screen::{Ink, Screen};

/// `turn show|feedback`.
///
/// # Errors
/// When there is no such turn, memoryd refuses or cannot be reached.
pub fn turn(screen: &mut Screen, instance: &Instance, command: &TurnCommand) -> Result<Exit, CtlError> {
    let mut reach = Connection::to(instance)?;
    match command {
        TurnCommand::Show { turn, prompt } => show(screen, &mut reach, turn, *prompt),
        TurnCommand::Feedback { turn, word } => feedback(screen, &mut reach, turn, *word),
    }
}

fn show(screen: &mut Screen, reach: &mut Connection, turn: &str, prompt: bool) -> Result<Exit, CtlError> {
    let lines = turn_lines(reach, turn)?;
    if lines.is_empty() {
        let remedy = "`metnosctl audit tail` shows the last ones";
        return Err(CtlError::failed(format!("the turn {turn}"), "there is none", remedy));
    }
    if prompt {
        return prompts(screen, &lines);
    }
    if screen.json() {
        screen.document(&lines)?;
    } else {
        list(screen, &lines)?;
    }
    Ok(Exit::Done)
}

metnos_proto::names! {
    /// What mind says of a prompt.
    pub enum MindSays {
        /// It has sent the same.
        Agrees = "agrees",
        /// It has sent something else.
        Differs = "differs",
        /// Its word is not there.
        Unknown = "unknown",
    }
}

/// What was sent in one thought, and whether all who speak of it agree.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptSent {
    /// The number of the thought in its turn.
    thought: u64,
    /// To which model, as SUBSTRATE/MODEL.
    model: String,
    /// The digest of what was sent.
    digest: String,
    /// What mind says of it.
    mind: MindSays,
    /// How the chronicle has it: `utf-8`, `hex`, or `cleaned` when a secret was taken out.
    encoding: String,
    /// What was sent.
    sent: String,
}

/// What the planner says of a thought.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Thought {
    thought: u64,
    model: String,
    digest: String,
    encoding: String,
    sent: String,
}

/// What mind says of a thought.
#[derive(Deserialize)]
struct Cost {
    sent: String,
}

fn prompts(screen: &mut Screen, lines: &[EventLine]) -> Result<Exit, CtlError> {
    let sent = sent(lines);
    let exit = if sent.iter().any(|one| one.mind == MindSays::Differs) { Exit::Failed } else { Exit::Done };
    if screen.json() {
        screen.document(&sent)?;
        return Ok(exit);
    }
    if lines.iter().any(|line| line.payload.get("sealed").is_some()) {
        screen.line("This turn is another person's, and sealed: `metnosctl seal --help` says more.")?;
    } else if sent.is_empty() {
        screen.line("No model was asked in this turn.")?;
    }
    for one in &sent {
        let says = match one.mind {
            MindSays::Agrees => "mind sent the same",
            MindSays::Differs => "MIND SAYS THAT IT SENT SOMETHING ELSE",
            MindSays::Unknown => "mind's word on it is not there",
        };
        let cleaned = if one.encoding == "cleaned" { "; what had the form of a secret was taken out" } else { "" };
        let ink = if one.mind == MindSays::Differs { Ink::Bad } else { Ink::Dim };
        screen.aside(ink, &format!("thought {} to {}, {}; {says}{cleaned}", one.thought, one.model, one.digest))?;
        screen.text(&one.sent)?;
        screen.end_text(true)?;
    }
    Ok(exit)
}

fn sent(lines: &[EventLine]) -> Vec<PromptSent> {
    let of_type = |name: &'static str| lines.iter().filter(move |line| line.event_type == name);
    let told: BTreeSet<String> =
        of_type("cost_entry").filter_map(|line| Cost::deserialize(&line.payload).ok()).map(|cost| cost.sent).collect();
    let one = |line: &EventLine| {
        let Thought { thought, model, digest, encoding, sent } =
            Thought::deserialize(&line.payload).unwrap_or_default();
        let bytes = if encoding == "hex" { unhex(&sent) } else { sent.into_bytes() };
        let is_itself = encoding == "cleaned" || Blake3::of(&bytes).to_string() == digest;
        let mind = match (is_itself, told.is_empty()) {
            (false, _) => MindSays::Differs,
            (true, true) => MindSays::Unknown,
            (true, false) if told.contains(&digest) => MindSays::Agrees,
            (true, false) => MindSays::Differs,
        };
        PromptSent { thought, model, digest, mind, encoding, sent: String::from_utf8_lossy(&bytes).into_owned() }
    };
    let is_whole = |line: &&EventLine| line.payload.get("sealed").is_none();
    of_type("thought").filter(is_whole).map(one).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pair = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map_while(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn line(event_type: &str, payload: Value) -> EventLine {
        let text = String::new;
        EventLine {
            seq: 1,
            prev_hash: text(),
            parent: None,
            ts: text(),
            emitter: text(),
            session_key: text(),
            turn_id: None,
            trace_id: None,
            event_type: event_type.to_owned(),
            agent_id: text(),
            model: text(),
            channel: None,
            peer: text(),
            trust: text(),
            payload_sha256: text(),
            payload,
            hash: text(),
        }
    }

    fn thought(sent: &str, digest: &str, encoding: &str) -> EventLine {
        let payload = json!({"digest": digest, "encoding": encoding, "model": "a/b", "sent": sent, "thought": 1});
        line("thought", payload)
    }

    fn cost(digest: &str) -> EventLine {
        line("cost_entry", json!({"sent": digest}))
    }

    #[test]
    fn prompt_digests_of_planner_and_mind_are_compared() {
        let digest = Blake3::of(b"hello").to_string();
        let other = Blake3::of(b"other").to_string();
        let mind = |lines: &[EventLine]| sent(lines)[0].mind;
        assert_eq!(mind(&[thought("hello", &digest, "utf-8"), cost(&digest)]), MindSays::Agrees);
        assert_eq!(mind(&[thought("hello", &digest, "utf-8"), cost(&other)]), MindSays::Differs);
        assert_eq!(mind(&[thought("hello", &digest, "utf-8")]), MindSays::Unknown);
        assert_eq!(mind(&[thought("hallo", &digest, "utf-8"), cost(&digest)]), MindSays::Differs);
        assert_eq!(mind(&[thought("68656c6c6f", &digest, "hex"), cost(&digest)]), MindSays::Agrees);
        assert_eq!(sent(&[thought("68656c6c6f", &digest, "hex")])[0].sent, "hello");
    }
}
