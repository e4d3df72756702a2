//! `turn show|feedback`: the lines of one turn, and with `--prompt` the very bytes that a model was sent in it. They stand in the
//! chronicle by the planner's word; whether mind said the same is shown beside them.

use std::collections::BTreeSet;

use metnos_proto::ids::Blake3;
use serde_json::{Value, json};

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
        screen.document(&Value::Array(lines))?;
    } else {
        list(screen, &lines)?;
    }
    Ok(Exit::Done)
}

/// What was sent in one thought, and whether all who speak of it agree.
#[derive(Debug, PartialEq)]
struct Sent {
    thought: u64,
    model: String,
    digest: String,
    /// `agrees`, `differs`, or `unknown` when mind's word is not there.
    mind: &'static str,
    encoding: String,
    bytes: Vec<u8>,
}

fn prompts(screen: &mut Screen, lines: &[Value]) -> Result<Exit, CtlError> {
    let sent = sent(lines);
    let exit = if sent.iter().any(|one| one.mind == "differs") { Exit::Failed } else { Exit::Done };
    if screen.json() {
        let list = sent.iter().map(|one| {
            json!({
                "thought": one.thought, "model": one.model, "digest": one.digest, "mind": one.mind,
                "encoding": one.encoding, "sent": String::from_utf8_lossy(&one.bytes),
            })
        });
        screen.document(&Value::Array(list.collect()))?;
        return Ok(exit);
    }
    if sent.is_empty() {
        screen.line("No model was asked in this turn.")?;
    }
    for one in &sent {
        let says = match one.mind {
            "agrees" => "mind sent the same",
            "differs" => "MIND SAYS THAT IT SENT SOMETHING ELSE",
            _ => "mind's word on it is not there",
        };
        let cleaned = if one.encoding == "cleaned" { "; what had the form of a secret was taken out" } else { "" };
        let ink = if one.mind == "differs" { Ink::Bad } else { Ink::Dim };
        screen.aside(ink, &format!("thought {} to {}, {}; {says}{cleaned}", one.thought, one.model, one.digest))?;
        screen.text(&String::from_utf8_lossy(&one.bytes))?;
        screen.end_text(true)?;
    }
    Ok(exit)
}

fn sent(lines: &[Value]) -> Vec<Sent> {
    let told: BTreeSet<&str> = lines
        .iter()
        .filter(|line| line["event_type"] == "cost_entry")
        .filter_map(|line| line["payload"]["sent"].as_str())
        .collect();
    let thoughts = lines.iter().filter(|line| line["event_type"] == "thought");
    let one = |line: &Value| {
        let payload = &line["payload"];
        let text = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
        let (digest, encoding) = (text("digest"), text("encoding"));
        let bytes = match encoding.as_str() {
            "hex" => unhex(&text("sent")),
            _ => text("sent").into_bytes(),
        };
        let is_itself = encoding == "cleaned" || Blake3::of(&bytes).to_string() == digest;
        let mind = match (is_itself, told.is_empty()) {
            (false, _) => "differs",
            (true, true) => "unknown",
            (true, false) if told.contains(digest.as_str()) => "agrees",
            (true, false) => "differs",
        };
        Sent { thought: payload["thought"].as_u64().unwrap_or(0), model: text("model"), digest, mind, encoding, bytes }
    };
    thoughts.map(one).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let pair = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map_while(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thought(sent: &str, digest: &str, encoding: &str) -> Value {
        let payload = json!({"digest": digest, "encoding": encoding, "model": "a/b", "sent": sent, "thought": 1});
        json!({"seq": 1, "event_type": "thought", "payload": payload})
    }

    fn cost(digest: &str) -> Value {
        json!({"seq": 2, "event_type": "cost_entry", "payload": {"sent": digest}})
    }

    #[test]
    fn prompt_digests_of_planner_and_mind_are_compared() {
        let digest = Blake3::of(b"hello").to_string();
        let other = Blake3::of(b"other").to_string();
        let mind = |lines: &[Value]| sent(lines)[0].mind;
        assert_eq!(mind(&[thought("hello", &digest, "utf-8"), cost(&digest)]), "agrees");
        assert_eq!(mind(&[thought("hello", &digest, "utf-8"), cost(&other)]), "differs");
        assert_eq!(mind(&[thought("hello", &digest, "utf-8")]), "unknown");
        assert_eq!(mind(&[thought("hallo", &digest, "utf-8"), cost(&digest)]), "differs");
        assert_eq!(mind(&[thought("68656c6c6f", &digest, "hex"), cost(&digest)]), "agrees");
        assert_eq!(sent(&[thought("68656c6c6f", &digest, "hex")])[0].bytes, b"hello");
    }
}
