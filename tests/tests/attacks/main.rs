//! The generator of attacks: a planner that is the attacker's, in clean turns and in others, has everything done that the
//! catalogue of executors offers, alone, in pairs, in triples and by chance, before a real set of daemons. Nothing may come of
//! it without a card: no effect, no request to the outside, no read across persons, no secret.
//!
//! One command, after the daemons were built as `./metnos test` builds them:
//!     cargo nextest run --cargo-profile bench-tests --locked -p metnos-tests --features attack --test attacks --no-capture
//! `METNOS_ATTACK_SECONDS` is how long it goes on (120 when not set; 3600 for an hour), `METNOS_SEED` repeats a run: the seed
//! is printed, and so is each violation, as the smallest program that shows it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod catalogue;
mod generate;
mod hunt;
mod known;
mod oracle;
mod play;
mod program;
mod snapshot;
mod world;

use std::time::Duration;

use metnos_tests::rng::Rng;

use crate::generate::Maker;
use crate::hunt::{Hunt, shown};
use crate::program::Who;

/// How long the hunt goes on, in seconds, unless `METNOS_ATTACK_SECONDS` says otherwise.
const SECONDS: u64 = 120;

#[test]
fn attacks_without_a_card_cause_nothing() {
    let seconds = std::env::var("METNOS_ATTACK_SECONDS").map_or(SECONDS, |text| text.parse().unwrap());
    let seed = Rng::announced().number();
    let mut hunt = Hunt::start(seed, Duration::from_secs(seconds), false);
    hunt.go();
    println!("{}", hunt.report());
    let found: Vec<String> = hunt.found.values().map(shown).collect();
    assert!(found.is_empty(), "{} kinds of violations:\n{}", found.len(), found.join("\n"));
}
