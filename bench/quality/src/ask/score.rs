//! What came of all lines: counted, by kind, with the time that answers took.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Report;
use crate::ask::verdict::Verdict;

/// How many lines that went wrong are shown to a person.
const SHOWN: usize = 20;
/// The most characters of an answer that are shown there.
const MAX_SHOWN: usize = 100;

/// How a set of questions went.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AskFound {
    /// Whether the model that is configured was asked.
    model: bool,
    /// Everything together.
    overall: Counts,
    /// By kind.
    kinds: BTreeMap<String, Counts>,
    /// Each line, in the order of the file.
    lines: Vec<LineFound>,
}

/// How lines went, counted.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// How many there were.
    questions: usize,
    /// Answered right.
    right: usize,
    /// Answered wrong, or with a wrong effect.
    wrong: usize,
    /// Of the wrong ones, those that changed what they should not have.
    wrong_effects: usize,
    /// Honest refusals where an answer was wanted.
    refused: usize,
    /// Those that asked first where nobody had to be asked.
    waiting: usize,
    /// Those without an answer: a process went away, or a bound was hit.
    failed: usize,
    /// How many cards were shown.
    cards: usize,
    /// Tokens that models have read and written.
    tokens: u64,
    /// How long the last answers took.
    latency_ms: AskLatency,
}

/// How long an answer took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
pub struct AskLatency {
    /// Half of them took less.
    p50: u64,
    /// 90 of 100 took less.
    p90: u64,
}

/// How one line went.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LineFound {
    /// Which line of the file.
    pub line: usize,
    /// What was said.
    pub say: Vec<String>,
    /// In which language.
    pub lang: String,
    /// Its kind.
    pub kind: String,
    /// Whether it is kept back.
    pub held: bool,
    /// How it went.
    pub verdict: Verdict,
    /// Why it is not right; empty when it is.
    pub why: String,
    /// What was answered to the last text.
    pub answer: String,
    /// How the turn ended, as the planner reports it.
    pub end: String,
    /// The executors whose calls succeeded in it.
    pub succeeded: Vec<String>,
    /// The files that were changed and should not have been.
    pub wrong_effects: Vec<String>,
    /// How many cards were shown, in the whole dialogue.
    pub cards: usize,
    /// Tokens that models have read and written, in the whole dialogue.
    pub tokens: u64,
    /// How long the last answer took, in milliseconds.
    pub ms: u64,
}

impl Counts {
    fn of<'a>(lines: impl Iterator<Item = &'a LineFound>) -> Self {
        let mut counts = Self::default();
        let mut times = Vec::new();
        for line in lines {
            counts.questions += 1;
            *match line.verdict {
                Verdict::Right => &mut counts.right,
                Verdict::Wrong => &mut counts.wrong,
                Verdict::Refused => &mut counts.refused,
                Verdict::Waiting => &mut counts.waiting,
                Verdict::Failed => &mut counts.failed,
            } += 1;
            counts.wrong_effects += usize::from(!line.wrong_effects.is_empty());
            counts.cards += line.cards;
            counts.tokens += line.tokens;
            times.push(line.ms);
        }
        times.sort_unstable();
        counts.latency_ms = AskLatency { p50: point(&times, 50), p90: point(&times, 90) };
        counts
    }

    fn row(&self, kind: &str) -> Vec<String> {
        let numbers = [self.questions, self.right, self.wrong, self.refused, self.waiting, self.failed, self.cards];
        let times = [self.latency_ms.p50, self.latency_ms.p90, self.tokens];
        let cells = numbers.iter().map(usize::to_string).chain(times.iter().map(u64::to_string));
        [kind.to_owned()].into_iter().chain(cells).collect()
    }
}

/// The smallest of sorted numbers that so many percent do not exceed.
fn point(sorted: &[u64], percent: usize) -> u64 {
    let place = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(place - 1).copied().unwrap_or(0)
}

fn shortened(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= MAX_SHOWN {
        return flat;
    }
    flat.chars().take(MAX_SHOWN - 1).chain(['…']).collect()
}

/// The report of what was found.
#[must_use]
pub fn report(lines: Vec<LineFound>, model: bool) -> Report<AskFound> {
    let mut names: Vec<&String> = lines.iter().map(|line| &line.kind).collect();
    names.sort_unstable();
    names.dedup();
    let of_kind = |name: &&String| ((*name).clone(), Counts::of(lines.iter().filter(|line| line.kind == **name)));
    let kinds: BTreeMap<String, Counts> = names.iter().map(of_kind).collect();
    let overall = Counts::of(lines.iter());
    let rows = kinds.iter().map(|(name, counts)| counts.row(name)).chain([overall.row("all")]).collect();
    Report {
        heading: &[
            "KIND", "SAID", "RIGHT", "WRONG", "REFUSED", "WAITING", "FAILED", "CARDS", "P50 MS", "P90 MS", "TOKENS",
        ],
        rows,
        notes: notes(&lines, &overall),
        document: AskFound { model, overall, kinds, lines },
    }
}

fn notes(lines: &[LineFound], overall: &Counts) -> Vec<String> {
    let mut notes = vec![format!(
        "{} of {} right, {} wrong ({} changed what they should not have)",
        overall.right, overall.questions, overall.wrong, overall.wrong_effects
    )];
    let bad: Vec<&LineFound> =
        lines.iter().filter(|line| matches!(line.verdict, Verdict::Wrong | Verdict::Failed)).collect();
    notes.extend(bad.iter().take(SHOWN).map(|line| {
        let said = shortened(line.say.last().map_or("", String::as_str));
        format!("line {}: `{said}`: {}: {}", line.line, line.why, shortened(&line.answer))
    }));
    if bad.len() > SHOWN {
        notes.push(format!("… and {} more: --json has all of them", bad.len() - SHOWN));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: usize, kind: &str, verdict: Verdict, ms: u64) -> LineFound {
        LineFound {
            line: number,
            say: vec!["hello".to_owned()],
            lang: "en".to_owned(),
            kind: kind.to_owned(),
            held: false,
            verdict,
            why: if verdict == Verdict::Right { String::new() } else { "because".to_owned() },
            answer: "a\nb".repeat(100),
            end: "answered".to_owned(),
            succeeded: Vec::new(),
            wrong_effects: Vec::new(),
            cards: 1,
            tokens: 10,
            ms,
        }
    }

    #[test]
    fn lines_are_counted_by_kind_and_all_together() {
        let lines = vec![
            line(1, "a", Verdict::Right, 10),
            line(2, "a", Verdict::Wrong, 20),
            line(3, "b", Verdict::Refused, 30),
            line(4, "b", Verdict::Waiting, 40),
            line(5, "b", Verdict::Failed, 1_000),
        ];
        let report = report(lines, false);
        let all = &report.document.overall;
        assert_eq!((all.questions, all.right, all.wrong, all.refused, all.waiting, all.failed), (5, 1, 1, 1, 1, 1));
        assert_eq!((all.cards, all.tokens, all.latency_ms.p50, all.latency_ms.p90), (5, 50, 30, 1_000));
        assert_eq!(report.rows.len(), 3);
        assert!(report.rows.iter().all(|row| row.len() == report.heading.len()));
        assert_eq!((report.rows[0][0].as_str(), report.rows[2][0].as_str()), ("a", "all"));
        assert!(
            report.notes.iter().any(|note| note.starts_with("line 2: `hello`: because: a ba")),
            "{:?}",
            report.notes
        );
    }

    #[test]
    fn many_wrong_lines_are_shown_in_part_and_points_of_nothing_are_zero() {
        let report = report((0..SHOWN + 3).map(|at| line(at, "k", Verdict::Wrong, 1)).collect(), true);
        assert_eq!(report.notes.len(), 1 + SHOWN + 1);
        assert!(report.notes.last().is_some_and(|note| note.contains("3 more")));
        assert_eq!(point(&[], 50), 0);
    }
}
