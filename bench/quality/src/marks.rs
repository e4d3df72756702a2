//! The measures of `bench`: pure numbers, as information retrieval defines them.

use std::collections::{BTreeMap, HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::file::spelled;

/// How one question went: recall@5, recall@10, session hit@5, P@1, nDCG@10.
pub type Marks = [f64; 5];

/// The turns of a conversation, as marking needs them.
#[derive(Debug)]
pub struct Recall {
    session_of: HashMap<String, String>,
}

impl Recall {
    /// Reads ids and sessions.
    #[must_use]
    pub fn of(turns: &[Value]) -> Self {
        let session_of = turns.iter().map(|turn| (spelled(&turn["id"]), spelled(&turn["session"]))).collect();
        Self { session_of }
    }

    /// The turns that are named as evidence, each once, several in one text included; what is no turn is none.
    #[must_use]
    pub fn evidence(&self, named: &[Value]) -> HashSet<String> {
        let known = |id: &String| self.session_of.contains_key(id);
        let one = |named: &Value| {
            let text = spelled(named);
            if known(&text) {
                return vec![text];
            }
            text.split([';', ',', ' ']).map(str::to_owned).filter(known).collect()
        };
        named.iter().flat_map(one).collect()
    }

    /// Marks an order of ids against the evidence, of which there is some.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "numbers of turns")]
    pub fn marks(&self, ids: &[String], evidence: &HashSet<String>) -> Marks {
        let all = evidence.len() as f64;
        let hits = |depth: usize| ids.iter().take(depth).filter(|id| evidence.contains(*id)).count() as f64;
        let sessions: HashSet<&String> = evidence.iter().filter_map(|id| self.session_of.get(id)).collect();
        let meets =
            ids.iter().take(5).filter_map(|id| self.session_of.get(id)).any(|session| sessions.contains(session));
        let gain = |place: usize| 1.0 / (place as f64 + 2.0).log2();
        let gained: f64 = ids
            .iter()
            .take(10)
            .enumerate()
            .filter(|(_, id)| evidence.contains(*id))
            .map(|(place, _)| gain(place))
            .sum();
        let ideal: f64 = (0..evidence.len().min(10)).map(gain).sum();
        [hits(5) / all, hits(10) / all, f64::from(u8::from(meets)), hits(1), gained / ideal]
    }
}

/// The means of some questions.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Recall")]
pub struct RecallMeans {
    /// How many.
    pub questions: usize,
    /// The share of the evidence among the first five.
    pub recall_at_5: f64,
    /// The share of the evidence among the first ten.
    pub recall_at_10: f64,
    /// Whether one of the first five is of a session of the evidence.
    pub session_hit_at_5: f64,
    /// Whether the first is evidence.
    pub precision_at_1: f64,
    /// The normalised discounted cumulative gain of the first ten.
    pub ndcg_at_10: f64,
    /// What SQLite's FTS5 finds by itself: the share of the evidence among its first five.
    pub plain_recall_at_5: f64,
}

/// The marks of a category.
#[derive(Debug, Default)]
struct Tally {
    questions: usize,
    sums: Marks,
    plain: f64,
}

impl Tally {
    fn add(&mut self, marks: &Marks, plain: f64) {
        self.questions += 1;
        self.plain += plain;
        for (sum, mark) in self.sums.iter_mut().zip(marks) {
            *sum += mark;
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "numbers of questions")]
    fn means(&self) -> RecallMeans {
        let [recall_at_5, recall_at_10, session_hit_at_5, precision_at_1, ndcg_at_10] =
            self.sums.map(|sum| sum / self.questions.max(1) as f64);
        let (questions, plain_recall_at_5) = (self.questions, self.plain / self.questions.max(1) as f64);
        RecallMeans {
            questions,
            recall_at_5,
            recall_at_10,
            session_hit_at_5,
            precision_at_1,
            ndcg_at_10,
            plain_recall_at_5,
        }
    }
}

/// How recall did.
#[derive(Debug, Default)]
pub struct Quality {
    /// Conversations read.
    pub conversations: usize,
    /// Turns read.
    pub turns: usize,
    /// Questions without evidence among the turns.
    pub skipped: usize,
    categories: BTreeMap<String, Tally>,
    overall: Tally,
}

impl Quality {
    /// Adds a question, and what plain FTS5 found among its first five.
    pub fn add(&mut self, category: &str, marks: Marks, plain: f64) {
        self.overall.add(&marks, plain);
        self.categories.entry(category.to_owned()).or_default().add(&marks, plain);
    }

    /// Questions asked so far.
    #[must_use]
    pub const fn questions(&self) -> usize {
        self.overall.questions
    }

    /// The means of each category, by its name.
    pub fn categories(&self) -> impl Iterator<Item = (&str, RecallMeans)> {
        self.categories.iter().map(|(name, tally)| (name.as_str(), tally.means()))
    }

    /// The means of all questions.
    #[must_use]
    pub fn overall(&self) -> RecallMeans {
        self.overall.means()
    }
}

/// How long questions took, in microseconds.
#[derive(Debug, Default)]
pub struct Latency(Vec<u64>);

impl Latency {
    /// Adds one.
    pub fn add(&mut self, us: u64) {
        self.0.push(us);
    }

    /// Median, 95 %, longest; 0 when nothing was measured.
    #[must_use]
    pub fn points(&self) -> [u64; 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let place = (sorted.len() * percent).div_ceil(100).max(1);
            sorted.get(place - 1).copied().unwrap_or(0)
        };
        [at(50), at(95), at(100)]
    }
}

/// How next-step ranking did: without what was learned, and with it.
#[derive(Debug, Default)]
pub struct Next {
    /// Calls ranked, each as the next step after the one before.
    pub steps: usize,
    /// Messages ranked, each with all its calls.
    pub turns: usize,
    step_at_1: [f64; 2],
    step_at_5: [f64; 2],
    turn_at_5: [f64; 2],
}

impl Next {
    /// Adds a call and the orders before it.
    pub fn step(&mut self, call: &str, without: &[String], with: &[String]) {
        self.steps += 1;
        for (at, order) in [without, with].into_iter().enumerate() {
            let found = |depth: usize| f64::from(u8::from(order.iter().take(depth).any(|name| name == call)));
            self.step_at_1[at] += found(1);
            self.step_at_5[at] += found(5);
        }
    }

    /// Adds a message with its calls, and the orders before the first of them.
    #[allow(clippy::cast_precision_loss, reason = "numbers of calls")]
    pub fn turn(&mut self, calls: &[&str], without: &[String], with: &[String]) {
        self.turns += 1;
        let wanted: HashSet<&str> = calls.iter().copied().collect();
        for (at, order) in [without, with].into_iter().enumerate() {
            let found = order.iter().take(5).filter(|name| wanted.contains(name.as_str())).count();
            self.turn_at_5[at] += found as f64 / wanted.len().max(1) as f64;
        }
    }

    /// recall@5 of the next call: without, with.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "numbers of calls")]
    pub fn recall_at_5(&self) -> [f64; 2] {
        self.step_at_5.map(|sum| sum / self.steps.max(1) as f64)
    }

    /// Each measure: its name, of how many, without and with.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "numbers of calls")]
    pub fn rows(&self) -> Vec<(&'static str, usize, [f64; 2])> {
        let mean = |sums: [f64; 2], count: usize| sums.map(|sum| sum / count.max(1) as f64);
        vec![
            ("next call, recall@5", self.steps, self.recall_at_5()),
            ("next call, first", self.steps, mean(self.step_at_1, self.steps)),
            ("all calls of a message, recall@5", self.turns, mean(self.turn_at_5, self.turns)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn conversation() -> Recall {
        Recall::of(&[
            json!({"id": "a", "session": 1}),
            json!({"id": "b", "session": 1}),
            json!({"id": "c", "session": 2}),
            json!({"id": 4, "session": 2}),
        ])
    }

    #[test]
    fn marks_are_what_their_definitions_say() {
        let of = conversation();
        let evidence = of.evidence(&[json!("b"), json!(4), json!("x"), json!("b")]);
        assert_eq!(evidence.len(), 2);
        assert_eq!(of.evidence(&[json!("a; b,x")]).len(), 2);
        let [r5, r10, session, first, ndcg] = of.marks(&names(&["b", "x1", "x2", "x3", "x4", "4"]), &evidence);
        assert_eq!([r5, r10, session, first], [0.5, 1.0, 1.0, 1.0]);
        // 1/log2(2) and 1/log2(7), beside 1/log2(2) and 1/log2(3).
        assert!((ndcg - (1.0 + 1.0 / 7_f64.log2()) / (1.0 + 1.0 / 3_f64.log2())).abs() < 1e-12);
        assert_eq!(of.marks(&names(&["c", "a"]), &of.evidence(&[json!("b")])), [0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!(of.marks(&[], &evidence), [0.0; 5]);
    }

    #[test]
    fn percentiles_are_measured_values() {
        let mut latency = Latency::default();
        assert_eq!(latency.points(), [0, 0, 0]);
        (1..=100).rev().for_each(|us| latency.add(us));
        assert_eq!(latency.points(), [50, 95, 100]);
    }

    #[test]
    fn a_step_counts_within_the_first_five_and_a_turn_by_its_calls() {
        let mut next = Next::default();
        let order = names(&["a", "b", "c", "d", "e", "f"]);
        next.step("e", &order, &names(&["e"]));
        next.step("f", &order, &order);
        assert_eq!(next.recall_at_5(), [0.5, 0.5]);
        next.turn(&["a", "a", "f"], &order, &names(&["f", "a"]));
        assert_eq!(next.rows()[2], ("all calls of a message, recall@5", 1, [0.5, 1.0]));
        assert_eq!(next.rows()[1].2, [0.0, 0.5]);
    }
}
