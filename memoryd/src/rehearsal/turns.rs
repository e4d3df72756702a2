//! Conversations of a file, remembered and asked about through the code that answers for real.

use std::collections::HashMap;

use metnos_proto::msg::common::Trust;
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_TURNS, invalid};
use crate::chronicle::time::Day;
use crate::error::{During, Result};
use crate::recall::store::{Store, Turn};
use crate::recall::when;
use crate::recall::{self, OWN_SPEAKERS};

/// The only peer in it.
const PEER: &str = "rehearsal";

const PLAIN: &str = "measuring plain FTS5";

/// A turn as it stands in the file; what else a line holds is not read.
#[derive(Debug, Deserialize)]
struct Line {
    id: Value,
    #[serde(default)]
    session: Value,
    #[serde(default)]
    time: Value,
    #[serde(default)]
    speaker: Value,
    text: Value,
}

/// What a question brought back.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    /// The turns, best first.
    pub(super) ids: Vec<String>,
    /// What SQLite's FTS5 finds by itself, best first: what recall is compared with.
    pub(super) plain: Vec<String>,
    /// How long it took, in microseconds.
    pub(super) wall_us: u64,
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Turns {
    store: Store,
    plain: Connection,
    ids: Vec<String>,
    sessions: HashMap<String, u32>,
    last_ms: u64,
}

/// A text or a number as it is written.
fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    }
}

impl Turns {
    pub(super) fn new() -> Result<Self> {
        let plain = Connection::open_in_memory().during(PLAIN)?;
        plain
            .execute_batch("CREATE VIRTUAL TABLE turns USING fts5 (body, tokenize = 'porter unicode61')")
            .during(PLAIN)?;
        Ok(Self { store: Store::ephemeral()?, plain, ids: Vec::new(), sessions: HashMap::new(), last_ms: 0 })
    }

    /// Remembers turns, one JSON document a line; gives how many.
    pub(super) fn add(&mut self, text: &str) -> Result<usize> {
        let lines = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(|line| serde_json::from_str::<Line>(line).map_err(|error| invalid(format!("a turn: {error}"))))
            .collect::<Result<Vec<_>>>()?;
        if self.ids.len() + lines.len() > MAX_TURNS {
            return Err(invalid(format!("a conversation has at most {MAX_TURNS} turns")));
        }
        let mut turns = Vec::with_capacity(lines.len());
        let words: Vec<(String, String)> =
            lines.iter().map(|line| (spelled(&line.speaker), spelled(&line.text))).collect();
        for (line, (speaker, text)) in lines.iter().zip(&words) {
            let count = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
            let session = *self.sessions.entry(spelled(&line.session)).or_insert(count);
            // A turn without a time that can be read was said when the one before was.
            self.last_ms = when::instant(&spelled(&line.time)).unwrap_or(self.last_ms);
            self.ids.push(spelled(&line.id));
            turns.push(Turn {
                doc: self.ids.len() as u64,
                peer: PEER,
                session: Some(session),
                speaker,
                ts_ms: self.last_ms,
                text,
                // As the chronicle has it: what an answer says may come from anything that was read.
                trust: if OWN_SPEAKERS.contains(&speaker.as_str()) { Trust::Tool } else { Trust::Owner },
            });
        }
        self.store.apply(&turns, &[], self.ids.len() as u64)?;
        let mut add = self.plain.prepare_cached("INSERT INTO turns (rowid, body) VALUES (?1, ?2)").during(PLAIN)?;
        for turn in &turns {
            add.execute(params![turn.doc.cast_signed(), turn.text]).during(PLAIN)?;
        }
        Ok(turns.len())
    }

    /// Asks, on the day of the last turn.
    pub(super) fn answer(&mut self, question: &str, limit: usize) -> Result<Answer> {
        let begun = std::time::Instant::now();
        let found = recall::search(&mut self.store, PEER, question, Day::of(self.last_ms), limit)?;
        let wall_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        let id = |doc: u64| self.ids.get(usize::try_from(doc).ok()?.checked_sub(1)?).cloned();
        let plain = self.plain_answer(question, limit)?.into_iter().filter_map(id).collect();
        Ok(Answer { ids: found.iter().filter_map(|hit| id(hit.doc.doc)).collect(), plain, wall_us })
    }

    /// The same by FTS5 alone: every word of the question, quoted, joined by OR, in the order of its BM25.
    fn plain_answer(&self, question: &str, limit: usize) -> Result<Vec<u64>> {
        let quoted: Vec<String> = question
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| format!("\"{word}\""))
            .collect();
        if quoted.is_empty() {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.plain
            .prepare_cached("SELECT rowid FROM turns WHERE turns MATCH ?1 ORDER BY bm25(turns) LIMIT ?2")
            .and_then(|mut all| {
                let read = |row: &Row<'_>| row.get::<_, i64>(0).map(i64::cast_unsigned);
                all.query_map(params![quoted.join(" OR "), limit], read)?.collect()
            })
            .during(PLAIN)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const CONVERSATION: &str = r#"{"id":"D1:1","session":"s1","time":"1:56 pm on 8 May, 2023","speaker":"Anna","text":"I signed up for a pottery class yesterday."}
{"id":"D1:2","session":"s1","time":"1:56 pm on 8 May, 2023","speaker":"Bruno","text":"How nice, Anna! I prefer running."}
{"id":3,"session":2,"time":"2023-06-01","speaker":"Bruno","text":"We drove to the lake with the children."}"#;

    #[test]
    fn a_conversation_answers_with_the_ids_of_its_file() {
        let mut turns = Turns::new().unwrap();
        assert_eq!(turns.add(CONVERSATION).unwrap(), 3);
        assert_eq!(turns.answer("When did Anna sign up for the pottery class?", 5).unwrap().ids[0], "D1:1");
        assert_eq!(turns.answer("Where did Bruno's kids go?", 1).unwrap().ids, ["3"]);
        assert_eq!(turns.answer("what was said in June 2023?", 1).unwrap().ids, ["3"]);
        assert!(turns.answer("", 5).unwrap().ids.is_empty());
    }

    #[test]
    fn malformed_rehearsal_turn_is_refused_without_change() {
        let mut turns = Turns::new().unwrap();
        for bad in ["{", "{\"id\":1}", "[]", "7"] {
            assert!(turns.add(bad).is_err(), "{bad}");
        }
        assert!(turns.ids.is_empty());
    }

    /// The synthetic sets, ours and plain FTS5: no set may fall below its floor, and none below FTS5.
    #[test]
    fn recall_of_synthetic_sets_holds_its_floor_and_beats_plain_fts5() {
        for ((name, conversations), floor) in metnos_quality::synthetic::sets().into_iter().zip(FLOORS) {
            let (mut asked, mut ours, mut plain) = (0_u32, 0_u32, 0_u32);
            for conversation in conversations.iter().take(2) {
                let conversation: Value = serde_json::from_str(conversation).unwrap();
                let lines: Vec<String> =
                    conversation["turns"].as_array().unwrap().iter().map(Value::to_string).collect();
                let mut turns = Turns::new().unwrap();
                turns.add(&lines.join("\n")).unwrap();
                for question in conversation["questions"].as_array().unwrap() {
                    let answer = turns.answer(question["q"].as_str().unwrap(), 5).unwrap();
                    let evidence = question["evidence"][0].as_str().unwrap();
                    let has = |ids: &[String]| u32::from(ids.iter().any(|id| id == evidence));
                    (asked, ours, plain) = (asked + 1, ours + has(&answer.ids), plain + has(&answer.plain));
                }
            }
            let share = |hits: u32| f64::from(hits) / f64::from(asked);
            assert!(share(ours) >= floor, "{name}: {:.3} of {asked}, FTS5 {:.3}", share(ours), share(plain));
            assert!(ours >= plain, "{name}: {:.3} of {asked}, FTS5 {:.3}", share(ours), share(plain));
        }
    }

    /// In the order of the sets.
    const FLOORS: [f64; 3] = [0.8, 0.7, 0.6];
}
