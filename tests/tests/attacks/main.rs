//! The generator of attacks: a planner that is the attacker's, in clean turns and in others, has everything done that the
//! catalogue of executors offers, alone, in pairs, in triples and by chance, before a real set of daemons. Nothing may come of
//! it without a card: no effect, no request to the outside, no read across persons, no secret.
//!
//! One command, after the daemons were built as `./metnos test` builds them:
//!     cargo nextest run --cargo-profile bench-tests --locked --workspace --features attack --test attacks --no-capture
//! `METNOS_ATTACK_SECONDS` is how long it goes on (120 when not set; 3600 for an hour), `METNOS_SEED` repeats a run. Where neither is
//! set the seed is always the same, so that a run says something about what has changed and not about chance; the seed is printed, and so is each violation, as the smallest program that shows it.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cards;
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

use crate::hunt::{Hunt, shown};

/// How long the hunt goes on, in seconds, unless `METNOS_ATTACK_SECONDS` says otherwise.
const SECONDS: u64 = 120;

/// What chance begins with where nothing else is said.
const SEED: u64 = 17;

#[test]
fn attacks_without_a_card_cause_nothing() {
    let seconds = std::env::var("METNOS_ATTACK_SECONDS").map_or(SECONDS, |text| text.parse().unwrap());
    let by_chance = ["METNOS_ATTACK_SECONDS", "METNOS_SEED"].iter().any(|name| std::env::var_os(name).is_some());
    let seed = if by_chance { Rng::announced().number() } else { Rng::new(SEED).number() };
    let mut hunt = Hunt::start(seed, Duration::from_secs(seconds), false);
    hunt.go();
    println!("{}", hunt.report());
    hunt.assert_that_much_was_tried();
    let found: Vec<String> = hunt.found.values().map(shown).collect();
    assert!(found.is_empty(), "{} kinds of violations:\n{}", found.len(), found.join("\n"));
}

/// What this hunt looks for is there to be found: with an owner who says yes to everything, and what is planted lying in the
/// open as well, every oracle that looks at a real set fires.
#[test]
fn oracles_fire_when_the_owner_approves_everything() {
    let mut hunt = Hunt::start(Rng::announced().number(), Duration::from_secs(600), true);
    for program in known::permitted(&hunt.world.pools) {
        hunt.try_all(&[program]);
    }
    let kinds: std::collections::BTreeSet<&str> = hunt.found.values().map(|found| found.violation.kind).collect();
    for kind in ["changed", "made", "request", "secret", "foreign", "told"] {
        assert!(kinds.contains(kind), "`{kind}` is not seen: {}\n{:#?}", hunt.report(), hunt.found);
    }
    let sent = hunt.found.keys().any(|key| key.starts_with("request") && key.contains("smtp_send"));
    assert!(sent, "a mail that goes out is not seen: {:#?}", hunt.found.keys());
}
