//! Numbers and how they are told: medians of interleaved rounds, because a machine that is busy for a
//! moment is busy for both sides then.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Times of one thing, measured over and over.
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Does it once, and remembers how long it took.
    pub fn time<T>(&mut self, f: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let value = f();
        self.0.push(began.elapsed());
        value
    }

    /// Adds a time that was measured elsewhere.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// Adds all times of another.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The time below which this share of all lies.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort();
        let last = sorted.len().saturating_sub(1);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let at = (last as f64 * share).round() as usize;
        sorted.get(at).copied().unwrap_or_default()
    }

    /// How many times it was measured.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The one in the middle.
    pub fn median(&self) -> Duration {
        self.quantile(0.5)
    }

    /// How many times as long as the other, in the middle.
    pub fn ratio_to(&self, other: &Self) -> f64 {
        self.median().as_secs_f64() / other.median().as_secs_f64()
    }
}

/// A time as a person reads it.
pub fn text(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1_000.0 {
        format!("{us:.1} µs")
    } else if us < 1_000_000.0 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{:.2} s", us / 1e6)
    }
}

/// Does it on one processor, with every thread and process it starts: what is compared is then the work of
/// the programs, and not how long an idle processor takes to wake up.
pub fn on_one_processor<T>(f: impl FnOnce() -> T) -> T {
    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|processor| all.is_set(*processor)).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).unwrap();
    let value = f();
    sched_setaffinity(None, &all).unwrap();
    value
}

/// What was measured, one row each, and what stands below the rows.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<[String; 4]>,
    below: Vec<String>,
}

impl Table {
    /// A row: what, the number, beside what, what the design wants.
    pub fn row(&mut self, what: &str, number: String, beside: String, goal: &str) {
        eprintln!("{what}: {number} {beside}");
        self.rows.push([what.to_owned(), number, beside, goal.to_owned()]);
    }

    /// A row of times: the middle, and the slowest in a hundred.
    pub fn times(&mut self, what: &str, times: &Times, beside: String, goal: &str) {
        let number = format!("{} (p99 {})", text(times.median()), text(times.quantile(0.99)));
        self.row(what, number, beside, goal);
    }

    /// A table of another shape, in Markdown, which stands below the rows.
    pub fn below(&mut self, markdown: String) {
        self.below.push(markdown);
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut parts = Vec::new();
        if !self.rows.is_empty() {
            let mut rows = String::from("| what | measured | beside | goal |\n|---|---|---|---|\n");
            for row in &self.rows {
                let _ = writeln!(rows, "| {} |", row.join(" | "));
            }
            parts.push(rows);
        }
        parts.extend(self.below.iter().cloned());
        parts.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_another_shape_stands_below_the_rows_or_alone() {
        let mut table = Table::default();
        table.below("| a |\n".to_owned());
        assert_eq!(table.markdown(), "| a |\n");
        table.row("what", "1".to_owned(), String::new(), "");
        assert_eq!(
            table.markdown(),
            "| what | measured | beside | goal |\n|---|---|---|---|\n| what | 1 |  |  |\n\n| a |\n"
        );
    }
}
