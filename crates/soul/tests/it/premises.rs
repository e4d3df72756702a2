//! True premises are committed or held, twisted ones are not committed.

use metnos_soul::verdict::Verdict;

use crate::data::{HELD, Said, TUNED, add, all, only, turn, with_block};

/// How many of a hundred true premises are committed at least, and of twisted ones at most.
const TRUE_AT_LEAST: usize = 80;
const TWISTED_AT_MOST: usize = 3;

fn verdict(said: &Said) -> Verdict {
    only(&with_block(turn(&said.event), &add(said))).0
}

fn counts(set: &str) {
    let set = all(set);
    let (right, twisted): (Vec<&Said>, Vec<&Said>) = set.iter().partition(|said| said.kind == "true");
    assert!(right.len() > 10 && twisted.len() > 30);
    let count = |all: &[&Said], wanted: Verdict| all.iter().filter(|said| verdict(said) == wanted).count();
    let committed = count(&right, Verdict::Commit);
    println!("true: {committed} of {} committed, {} held", right.len(), count(&right, Verdict::Hold));
    println!("twisted: {} of {} committed", count(&twisted, Verdict::Commit), twisted.len());
    assert!(committed * 100 >= right.len() * TRUE_AT_LEAST, "{committed} of {}", right.len());
    assert!(count(&twisted, Verdict::Commit) * 100 <= twisted.len() * TWISTED_AT_MOST);
    for said in &right {
        assert_ne!(verdict(said), Verdict::Refuse, "a true premise is lost: {said:?}");
    }
}

#[test]
fn premises_of_the_tuned_set_are_told_apart() {
    counts(TUNED);
}

#[test]
fn premises_of_the_held_set_are_told_apart() {
    counts(HELD);
}
