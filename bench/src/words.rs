//! Words becoming calls among two hundred executors, and two hundred executors put in order for words: arithmetic in this process. The
//! executors beyond those of the release are drawn: their contracts with other words in the examples.

mod lattice;

use std::path::Path;

use metnos_proto::envelope::{Candidate, Envelope};
use metnos_proto::executor::{Manifest, Schema};
use metnos_proto::msg::common::Lang;
use metnos_rank::order::{Context, RankedContracts};
use metnos_reflex::Repertoire;
use serde_json::Value;

use crate::stats::{Table, Times};

const EXECUTORS: usize = 200;
const ROUNDS: usize = 10;
const SHOWN: usize = 16;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../executors")
}

fn shipped() -> Vec<Candidate> {
    let mut names: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|place| place.join("manifest.toml").is_file());
    names.sort();
    let read = |place: &Path, file: &str| std::fs::read(place.join(file)).unwrap();
    let of = |place: &std::path::PathBuf| {
        let manifest = Manifest::parse(&read(place, "manifest.toml")).unwrap();
        let schema = Schema::parse(&read(place, "schema.json")).unwrap();
        Candidate::of(&manifest, &schema)
    };
    names.iter().map(of).filter(|one| one.offered).collect()
}

/// As many as wanted: each further one has the contract of one of the release and a word of its own before each example.
fn many() -> Vec<Candidate> {
    let own = shipped();
    let further = (own.len()..EXECUTORS).map(|n| {
        let mut one = own[n % own.len()].clone();
        one.name = format!("{}_{n}", one.name);
        one.examples =
            one.examples.into_iter().map(|own| own.clone().with_words(format!("zorp{n} {}", own.say()))).collect();
        for line in one.patterns.iter_mut().flat_map(|table| &mut table.say) {
            *line = format!("zorp{n} {line}");
        }
        one
    });
    own.iter().cloned().chain(further).map(Candidate::with_digest).collect()
}

fn envelope(candidates: Vec<Candidate>) -> Envelope {
    Envelope::empty(candidates, Lang::En)
}

/// Measures both, and what is proposed to be held true.
pub fn measure(table: &mut Table) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/reflex/tests/data/synthetic.jsonl");
    let text = std::fs::read_to_string(file).unwrap();
    let words: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().to_owned())
        .collect();
    let envelope = envelope(many());
    let mut repertoire = Repertoire::default();
    let mut times = Times::default();
    // Contracts are read once for many turns.
    let _ = repertoire.plan("", &envelope);
    for _ in 0..ROUNDS {
        for words in &words {
            let _ = times.time(|| repertoire.plan(words, &envelope));
        }
    }
    table.times(
        "the reflex among 200 executors, an utterance",
        &times,
        format!("{} utterances", words.len()),
        "≤ 2 ms p99",
    );
    let shelf = RankedContracts::of(many());
    let mut times = Times::default();
    for words in &words {
        let _ = times.time(|| shelf.ranked(words, &Context::default(), SHOWN, 0));
    }
    table.times("200 executors put in order for an utterance", &times, String::new(), "–");
    lattice::measure(table);
}
