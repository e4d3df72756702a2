//! Recall on a memory of a hundred thousand turns, and the search for communities, in this process: their cost
//! is arithmetic and a database, and no hop. The texts are drawn, the frequencies of their words after Zipf.

use std::fmt::Write as _;

use metnos_memoryd::chronicle::time::Day;
use metnos_memoryd::recall::search;
use metnos_memoryd::recall::store::{Store, Turn};
use metnos_memoryd::traces::graph::Graph;
use metnos_memoryd::traces::leiden::communities;
use metnos_proto::msg::common::Trust;

use crate::stats::{Table, Times, text};

const TURNS: u64 = 100_000;
const QUESTIONS: usize = 400;
const WORDS: usize = 30_000;
const PEER: &str = "cli:uid:1000";

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// A word: the n-th as often as one in n.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    fn word(&mut self) -> usize {
        let unit = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        ((WORDS as f64).powf(unit) as usize).min(WORDS) - 1
    }
}

/// A made-up word that no stemmer shortens into another.
fn spelled(mut number: usize) -> String {
    let mut word = String::from("z");
    for _ in 0..4 {
        word.push(char::from(b"bdfgkmprtv"[number % 10]));
        word.push(char::from(b"aou"[number % 3]));
        number /= 10;
    }
    word + "x"
}

fn sentence(random: &mut Random, words: usize) -> String {
    let mut sentence = String::new();
    for _ in 0..words {
        let _ = write!(sentence, "{} the ", spelled(random.word()));
    }
    sentence
}

/// Measures.
pub fn measure(table: &mut Table) {
    recall(table);
    traces(table);
}

fn recall(table: &mut Table) {
    let mut random = Random(1);
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("recall.sqlite"), crate::memory::keys(folder.path())).unwrap();
    let mut adding = Times::default();
    for first in (1..=TURNS).step_by(1000) {
        let texts: Vec<String> = (0..1000).map(|_| sentence(&mut random, 12)).collect();
        let turn = |(doc, text)| Turn {
            doc,
            peer: PEER,
            session: None,
            speaker: if doc % 2 == 0 { "metnos" } else { "owner" },
            ts_ms: 1_683_504_000_000 + doc * 600_000,
            text,
            trust: Trust::Owner,
        };
        let turns: Vec<Turn<'_>> = (first..).zip(texts.iter().map(String::as_str)).map(turn).collect();
        adding.time(|| store.apply(&turns, &[], first + 999).unwrap());
    }
    let mut asking = Times::default();
    let today = Day(21_000);
    search(&mut store, PEER, "warm", today, 10).unwrap();
    for _ in 0..QUESTIONS {
        let question = format!("what did the owner say about {}?", sentence(&mut random, 5));
        asking.time(|| search(&mut store, PEER, &question, today, 10).unwrap());
    }
    let number = format!("{} p50, {} p95", text(asking.median()), text(asking.quantile(0.95)));
    table.row("recall among 100,000 turns, five words", number, String::new(), "30 ms p50, 80 ms p95");
    table.times("1,000 turns made findable", &adding, String::new(), "–");
}

fn traces(table: &mut Table) {
    for (edges, nodes, goal) in [(100_000_usize, 10_000_usize, "0.1 s"), (1_000_000, 100_000, "2 s")] {
        let mut random = Random(2);
        let group = 50;
        let drawn: Vec<(u32, u32, f64)> = (0..edges)
            .map(|_| {
                let from = random.below(nodes);
                // Seven tenths of the edges stay inside a community.
                let to =
                    if random.below(10) < 7 { from / group * group + random.below(group) } else { random.below(nodes) };
                (u32::try_from(from).unwrap(), u32::try_from(to).unwrap(), 1.0)
            })
            .collect();
        let graph = Graph::new(u32::try_from(nodes).unwrap(), &drawn);
        let mut times = Times::default();
        let mut found = None;
        for seed in 0..5 {
            let begun = cpu();
            found = Some(communities(&graph, seed, None));
            times.push(cpu().saturating_sub(begun));
        }
        let found = found.unwrap();
        let number = format!("{} of processor time", text(times.median()));
        let beside = format!("modularity {:.3}, {} communities", found.modularity, found.count);
        table.row(&format!("communities of {edges} edges"), number, beside, goal);
    }
}

/// The processor time of this process so far.
fn cpu() -> std::time::Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    std::time::Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}
