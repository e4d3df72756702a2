//! `bench recall`: how often a question finds its evidence among the turns of a conversation.

use std::collections::BTreeMap;
use std::path::Path;

use metnos_proto::msg::memoryd::Rehearse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ephemeral::Memory;
use crate::file::{lines, malformed, spelled};
use crate::marks::{Latency, Quality, Recall, RecallMeans};
use crate::{Failure, Report, synthetic, three};

/// How many turns are counted: the deepest measure is that of the first ten.
const DEPTH: u32 = 10;
/// How many bytes of turns are handed over at once.
const CHUNK_BYTES: usize = 4 * 1024 * 1024;

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
    /// What SQLite's FTS5 finds by itself.
    plain: Vec<String>,
    wall_us: u64,
}

/// How recall did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecallFound {
    /// Conversations read.
    conversations: usize,
    /// Turns read.
    turns: usize,
    /// Questions without evidence among the turns.
    skipped: usize,
    /// Of all questions.
    overall: RecallMeans,
    /// Of the questions of each category.
    categories: BTreeMap<String, RecallMeans>,
    /// How long a question took, in microseconds.
    latency_us: RecallLatency,
}

/// How long a question took, in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecallLatency {
    /// Half of them took less.
    pub p50: u64,
    /// 95 of 100 took less.
    pub p95: u64,
    /// The longest.
    pub max: u64,
}

/// Measures recall on a file of conversations and questions, or without one on the synthetic sets; `progress` is called with
/// how far it is.
///
/// # Errors
/// When the file is not of its form, or memoryd cannot be started.
pub fn recall(file: Option<&Path>, mut progress: impl FnMut(&str)) -> Result<Report<RecallFound>, Failure> {
    let mut memory = Memory::start()?;
    let mut quality = Quality::default();
    let mut latency = Latency::default();
    let mut one = |file: &Path, number: usize, text: &str| {
        let conversation: Conversation = serde_json::from_str(text).map_err(|error| malformed(file, number, error))?;
        one_conversation(&mut memory, &conversation, &mut quality, &mut latency)?;
        progress(&format!("{} questions", quality.questions()));
        Ok(())
    };
    if let Some(file) = file {
        lines(file, |number, text| one(file, number, text))?;
    } else {
        let all = synthetic::sets().into_iter().flat_map(|(_, lines)| lines);
        all.enumerate().try_for_each(|(number, text)| one(Path::new("the synthetic sets"), number, &text))?;
    }
    Ok(report(&quality, &latency))
}

fn report(quality: &Quality, latency: &Latency) -> Report<RecallFound> {
    let [p50, p95, max] = latency.points();
    let mut notes = vec![format!(
        "{} turns in {} conversations; a question took {p50} µs (median), {p95} µs (95 %), {max} µs (longest)",
        quality.turns, quality.conversations
    )];
    if quality.skipped > 0 {
        notes.push(format!("{} questions name no turn as their evidence and were not asked", quality.skipped));
    }
    let row = |(name, of): (&str, RecallMeans)| {
        let means = [
            of.recall_at_5,
            of.recall_at_10,
            of.session_hit_at_5,
            of.precision_at_1,
            of.ndcg_at_10,
            of.plain_recall_at_5,
        ];
        [name.to_owned(), of.questions.to_string()].into_iter().chain(means.map(three)).collect()
    };
    Report {
        heading: &["CATEGORY", "QUESTIONS", "RECALL@5", "RECALL@10", "SESSION@5", "P@1", "NDCG@10", "FTS5@5"],
        rows: quality.categories().chain([("overall", quality.overall())]).map(row).collect(),
        notes,
        document: RecallFound {
            conversations: quality.conversations,
            turns: quality.turns,
            skipped: quality.skipped,
            overall: quality.overall(),
            categories: quality.categories().map(|(name, of)| (name.to_owned(), of)).collect(),
            latency_us: RecallLatency { p50, p95, max },
        },
    }
}

fn one_conversation(
    memory: &mut Memory,
    conversation: &Conversation,
    quality: &mut Quality,
    latency: &mut Latency,
) -> Result<(), Failure> {
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
        let marks = measure.marks(&answer.ids, &evidence);
        quality.add(&spelled(&question.category), marks, measure.marks(&answer.plain, &evidence)[0]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_reported_by_category_and_overall() {
        let mut quality = Quality::default();
        quality.add("1", [1.0; 5], 1.0);
        quality.add("1", [0.0; 5], 1.0);
        quality.add("2", [1.0; 5], 0.0);
        let report = report(&quality, &Latency::default());
        let found = report.document;
        assert_eq!(found.categories["1"].recall_at_5.to_bits(), 0.5_f64.to_bits());
        assert!((found.overall.ndcg_at_10 - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(found.categories["1"].plain_recall_at_5.to_bits(), 1.0_f64.to_bits());
        assert_eq!(found.overall.questions, 3);
        assert_eq!(report.rows.last().map(|row| row[..2].to_vec()), Some(vec!["overall".to_owned(), "3".to_owned()]));
    }
}
