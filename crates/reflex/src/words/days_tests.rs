//! Days by their names, among all executors that are shipped: which day is asked about, and what is no day.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::testing::{envelope as envelope_of, shipped};
use crate::*;

/// 2026-11-26T18:00:00 in Rome.
const NOW: i64 = 1_795_712_400;
const ROME: &str = "Europe/Rome (CET-1CEST,M3.5.0,M10.5.0/3)";

fn day(text: &str, now: i64) -> Option<String> {
    let mut envelope = envelope_of(shipped(), Lang::En);
    envelope.home = metnos_proto::envelope::Home { zone: ROME.into(), now, ..Default::default() };
    match plan(text, &envelope) {
        Reply::Plan(plan) => plan.calls[0].arguments["day"].as_str().map(str::to_owned),
        Reply::Say(_) | Reply::Review(..) | Reply::Schedule(..) | Reply::Cannot(_) | Reply::NotUnderstood(_) => None,
    }
}

#[test]
fn a_day_is_known_by_its_name_where_the_moment_is_known() {
    for (text, wanted) in [
        ("how many days till halloween", "2027-10-31"),
        ("how many days until Christmas?", "2026-12-25"),
        ("How many sleeps till Christmas Eve", "2026-12-24"),
        ("what day of the week was 3 March 2024", "2024-03-03"),
        ("when is Easter", "2027-03-28"),
        ("what day is tomorrow", "2026-11-27"),
        ("how many days until 1 January 2027", "2027-01-01"),
        ("quanti giorni mancano a ferragosto", "2027-08-15"),
        ("quanto manca a Natale?", "2026-12-25"),
        ("che giorno della settimana era il 25 aprile 2020?", "2020-04-25"),
        ("quando cade Pasqua quest'anno", "2027-03-28"),
        ("che giorno è il primo maggio 2027", "2027-05-01"),
    ] {
        assert_eq!(day(text, NOW).as_deref(), Some(wanted), "{text}");
    }
}

#[test]
fn without_the_moment_only_a_day_with_its_year_is_known() {
    assert_eq!(day("what day was 25 April 2020", 0).as_deref(), Some("2020-04-25"));
    for text in ["how many days till halloween", "che giorno è il primo maggio", "what day is tomorrow"] {
        assert_eq!(day(text, 0), None, "{text}");
    }
}

#[test]
fn what_is_no_day_is_none() {
    for text in [
        "when is dinner",
        "how many days until 31 February 2027",
        "what day is it",
        "when is Anna coming",
        "quanto manca",
    ] {
        assert_eq!(day(text, NOW), None, "{text}");
    }
}
