//! What recall finds, and what it must never find.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::store::{SESSION_GAP_MS, Step, Turn};
use super::*;
use crate::at_rest::Keys;
use crate::chronicle::time::DAY_MS;

const ANNA: &str = "cli:uid:1000";
const GUEST: &str = "telegram:7";
const MAY: u64 = 1_683_504_000_000;

fn told(doc: u64, peer: &'static str, speaker: &'static str, ts_ms: u64, text: &'static str) -> Turn<'static> {
    Turn { doc, peer, session: None, speaker, ts_ms, text, trust: Trust::Owner }
}

fn store(turns: &[Turn<'_>]) -> Store {
    let mut store = Store::ephemeral().unwrap();
    store.apply(turns, &[], turns.last().map_or(0, |turn| turn.doc)).unwrap();
    store
}

fn home() -> Store {
    store(&[
        told(1, ANNA, "owner", MAY, "The plumber came on Wednesday, a valve under the sink was broken."),
        told(2, ANNA, "metnos", MAY + 1000, "Noted. Shall I remind you of the bill?"),
        told(3, GUEST, "guest", MAY + 2000, "My safe's number is 4711, the plumber must not know."),
        told(4, ANNA, "owner", MAY + 3 * DAY_MS, "We bought two bikes for the children."),
        told(5, ANNA, "owner", MAY + 3 * DAY_MS + 60_000, "Domani andiamo al mare con i bambini, città di Ostia."),
        told(6, ANNA, "owner", MAY + 30 * DAY_MS, "What did the doctor say?"),
        told(7, ANNA, "metnos", MAY + 30 * DAY_MS + 1000, "Less salt, and a walk every evening."),
    ])
}

fn found(store: &mut Store, peer: &str, question: &str) -> Vec<u64> {
    search(store, peer, question, Day::of(MAY + 31 * DAY_MS), 5).unwrap().iter().map(|hit| hit.doc.doc).collect()
}

#[test]
fn a_question_handed_over_as_it_is_finds_its_turn() {
    let mut store = home();
    assert_eq!(found(&mut store, ANNA, "When did the plumber come, and what was broken?")[0], 1);
    assert_eq!(found(&mut store, ANNA, "who did we buy bikes for?")[0], 4);
    assert_eq!(found(&mut store, ANNA, "quando andavamo al mare?")[0], 5);
    assert_eq!(found(&mut store, ANNA, "CITTA")[0], 5);
    assert!(found(&mut store, ANNA, "What is it, and why?").is_empty());
    assert!(found(&mut store, ANNA, "").is_empty());
}

/// As many small words and others as a long answer has, without those that are asked for.
fn page(words: usize) -> String {
    "there are several options that you could consider before the weekend ".repeat(words / 10)
}

/// One answer of a page after each of these.
fn with_answers(told: &[&str], answer: impl Fn(&str) -> String) -> Store {
    let mut store = Store::ephemeral().unwrap();
    for (at, text) in (0_u64..).zip(told) {
        let (ts_ms, answer) = (MAY + at * 60_000, answer(text));
        let said = Turn { text, ..told_at(2 * at + 1, "owner", ts_ms) };
        let own = Turn { text: &answer, trust: Trust::Tool, ..told_at(2 * at + 2, "metnos", ts_ms + 1) };
        store.apply(&[said, own], &[], 2 * at + 2).unwrap();
    }
    store
}

fn told_at(doc: u64, speaker: &'static str, ts_ms: u64) -> Turn<'static> {
    told(doc, ANNA, speaker, ts_ms, "")
}

#[test]
fn long_answer_that_repeats_the_words_stands_behind_the_turn() {
    let told = ["The boiler lost water on Monday.", "We painted the fence.", "My sister moved to Lyon."];
    let mut store = with_answers(&told, |text| format!("{} {text} {} {text} {}", page(100), page(100), text.repeat(3)));
    assert_eq!(found(&mut store, ANNA, "which boiler lost water?")[0], 1);
    assert_eq!(found(&mut store, ANNA, "where did my sister move?")[0], 5);
}

#[test]
fn answer_is_found_first_when_the_question_asks_for_it() {
    let told = ["How do I clean the copper pots?", "What about the floor?"];
    let mut store =
        with_answers(&told, |text| format!("{} For copper pots take vinegar and salt. {text} {}", page(60), page(60)));
    assert_eq!(found(&mut store, ANNA, "what did you suggest for the copper pots, vinegar?")[0], 2);
    assert_eq!(found(&mut store, ANNA, "che cosa mi hai consigliato per copper pots, vinegar?")[0], 2);
}

#[test]
fn words_of_one_passage_count_more_than_words_scattered_over_a_page() {
    let near = format!("{} the plumber mended the boiler valve {}", page(200), page(200));
    let far = format!("plumber {} boiler {} valve {}", page(140), page(140), page(140));
    let turn = |doc, text| Turn { text, ..told_at(doc, "owner", MAY + doc * 2 * SESSION_GAP_MS) };
    let mut store = Store::ephemeral().unwrap();
    store.apply(&[turn(1, far.as_str()), turn(2, near.as_str())], &[], 2).unwrap();
    assert_eq!(found(&mut store, ANNA, "plumber boiler valve"), [2, 1]);
}

#[test]
fn turn_that_only_asks_is_found_like_one_that_tells() {
    let mut store = store(&[
        told(1, ANNA, "owner", MAY, "How long must a goose be roasted?"),
        told(2, ANNA, "owner", MAY + 2 * SESSION_GAP_MS, "Somebody else roasted something like a goose long ago."),
    ]);
    assert_eq!(found(&mut store, ANNA, "roasted goose")[0], 1);
}

#[test]
fn a_word_repeated_without_end_is_looked_at_a_bounded_number_of_times() {
    let endless = "boiler ".repeat(4 * store::MAX_TIMES as usize);
    let mut store = Store::ephemeral().unwrap();
    store.apply(&[Turn { text: &endless, ..told_at(1, "owner", MAY) }], &[], 1).unwrap();
    store.scope(ANNA).unwrap();
    let scope = store.held(ANNA).unwrap();
    let stem = &store.stems_of(scope, "boiler").unwrap()[0];
    assert_eq!(store.postings(scope, stem, 9).unwrap().unwrap().len(), store::MAX_TIMES as usize);
    assert_eq!(store.postings(scope, stem, 0).unwrap(), None);
    assert_eq!(found(&mut store, ANNA, "boiler"), [1]);
}

#[test]
fn a_turn_that_shares_no_word_is_found_beside_the_one_that_does() {
    let mut store = home();
    let hits = found(&mut store, ANNA, "what did the doctor say");
    assert!(hits.contains(&6) && hits.contains(&7), "{hits:?}");
}

#[test]
fn a_kind_finds_its_members() {
    let mut store = store(&[
        told(1, ANNA, "owner", MAY, "Biscuit is a puppy from the shelter."),
        told(2, ANNA, "owner", MAY + 1, "The car is at the garage."),
    ]);
    assert_eq!(found(&mut store, ANNA, "which pets are there?")[0], 1);
    assert!(found(&mut store, ANNA, "which instruments are there?").is_empty());
}

#[test]
fn a_day_that_is_named_finds_what_was_said_then_whatever_the_words() {
    let mut store = home();
    let hits = found(&mut store, ANNA, "what happened on 11 May 2023?");
    assert_eq!(hits.iter().take(2).copied().collect::<std::collections::BTreeSet<_>>(), [4, 5].into());
}

#[test]
fn both_paths_run_together_and_what_both_find_stands_first_and_once() {
    let mut store = store(&[
        told(1, ANNA, "owner", MAY, "The boiler lost water again."),
        told(2, ANNA, "owner", MAY + 5 * DAY_MS, "The boiler was mended."),
        told(3, ANNA, "owner", MAY + 5 * DAY_MS + SESSION_GAP_MS + 1, "The children had measles."),
        told(4, ANNA, "owner", MAY + 29 * DAY_MS, "We went to the lake."),
    ]);
    let hits =
        search(&mut store, ANNA, "what about the boiler on 13 May 2023?", Day::of(MAY + 31 * DAY_MS), 5).unwrap();
    let order: Vec<u64> = hits.iter().map(|hit| hit.doc.doc).collect();
    assert_eq!(order[0], 2, "by the words and by the day: {hits:?}");
    assert_eq!(order.iter().collect::<std::collections::BTreeSet<_>>().len(), order.len(), "each once: {order:?}");
    assert!(order.contains(&1) && order.contains(&3) && !order.contains(&4), "{order:?}");
    let parts = |doc| hits.iter().find(|hit: &&Hit| hit.doc.doc == doc).unwrap().parts;
    assert!(parts(2).words > 0.0 && parts(2).date > 0.0);
    assert!(parts(1).words > 0.0 && parts(1).date == 0.0, "the semantic path alone: {:?}", parts(1));
    assert!(parts(3).words == 0.0 && parts(3).date > 0.0, "the chronological path alone: {:?}", parts(3));
    assert!(parts(2).total() > parts(1).total().max(parts(3).total()));
}

#[test]
fn useful_recall_ranks_first_among_equals_and_decays_by_use_only() {
    let twins = || {
        store(&[
            told(1, ANNA, "owner", MAY, "the key hangs by the door"),
            told(2, ANNA, "owner", MAY + 2 * SESSION_GAP_MS, "the key hangs by the door"),
        ])
    };
    let ask = |store: &mut Store| search(store, ANNA, "where is the key?", Day::of(MAY + 31 * DAY_MS), 5).unwrap();
    let salience = |hits: &[Hit], doc: u64| hits.iter().find(|hit| hit.doc.doc == doc).unwrap().parts.salience;
    let (mut store, second) = (twins(), ask(&mut twins())[1].doc.doc);
    for shown in [0.1, 0.19] {
        // Each use adds a tenth of what is left to one.
        store.apply_steps(&[Step::Use(&[second])], 3).unwrap();
        let hits = ask(&mut store);
        assert_eq!(hits[0].doc.doc, second, "{hits:?}");
        assert!((salience(&hits, second) - WEIGHTS.salience * shown).abs() < 1e-12, "{hits:?}");
        assert!(salience(&hits, 3 - second).abs() < 1e-12);
    }
    // Time passes for it by calls; a machine that is idle forgets nothing.
    let calls: Vec<Step<'_>> = (0..2_000).map(|_| Step::Call).collect();
    store.apply_steps(&calls, 4).unwrap();
    let half = salience(&ask(&mut store), second);
    assert!((half - WEIGHTS.salience * 0.095).abs() < 1e-12, "half is left after its half-life: {half}");
}

#[test]
fn recall_never_crosses_principals() {
    let mut store = home();
    assert!(!found(&mut store, ANNA, "what is the number of the safe, 4711?").contains(&3));
    assert_eq!(found(&mut store, GUEST, "plumber"), [3]);
    assert!(found(&mut store, "cli:uid:1", "plumber").is_empty());
    // Nor do the words of one change the order or the scores of another's.
    let score = |store: &mut Store| search(store, ANNA, "plumber sink", Day(19_500), 5).unwrap();
    let before = score(&mut store);
    let many: Vec<Turn<'_>> = (100..150).map(|doc| told(doc, GUEST, "guest", MAY, "plumber plumber sink")).collect();
    store.apply(&many, &[], 150).unwrap();
    assert_eq!(score(&mut store), before);
}

#[test]
fn redacted_text_is_not_recalled() {
    let mut store = home();
    store.apply(&[], &[1], 8).unwrap();
    assert!(!found(&mut store, ANNA, "plumber valve sink").contains(&1));
    assert_eq!(store.count().unwrap(), 6);
}

#[test]
fn a_silence_ends_a_conversation() {
    let mut store = store(&[
        told(1, ANNA, "owner", MAY, "one"),
        told(2, ANNA, "owner", MAY + SESSION_GAP_MS, "two"),
        told(3, ANNA, "owner", MAY + 2 * SESSION_GAP_MS + 1, "three"),
    ]);
    let sessions: Vec<u32> = store.scope(ANNA).unwrap().unwrap().docs.iter().map(|doc| doc.session).collect();
    assert_eq!(sessions, [0, 0, 1]);
}

#[test]
fn words_of_lower_trust_stand_behind_equal_ones() {
    let mut low = told(1, ANNA, "metnos", MAY, "the boiler needs water");
    low.trust = Trust::Web;
    let mut store = store(&[low, told(2, ANNA, "owner", MAY + 2 * SESSION_GAP_MS, "the boiler needs water")]);
    assert_eq!(found(&mut store, ANNA, "boiler water"), [2, 1]);
}

#[test]
fn recall_store_keeps_content_and_position_across_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("recall.sqlite");
    let mut kept = Store::open(&path, Keys::none()).unwrap();
    kept.apply(&[told(1, ANNA, "owner", MAY, "the boiler needs water")], &[], 9).unwrap();
    let before = search(&mut kept, ANNA, "boiler", Day(19_500), 5).unwrap();
    drop(kept);
    let mut again = Store::open(&path, Keys::none()).unwrap();
    assert_eq!(again.applied(), 9);
    assert_eq!(search(&mut again, ANNA, "boiler", Day(19_500), 5).unwrap(), before);
}

#[test]
fn changes_that_cannot_all_be_made_are_not_made() {
    let mut store = home();
    let twice = [told(9, ANNA, "owner", MAY, "new words"), told(1, ANNA, "owner", MAY, "a number that is taken")];
    assert!(store.apply(&twice, &[], 9).is_err());
    assert_eq!((store.count().unwrap(), store.applied()), (7, 7));
    assert!(found(&mut store, ANNA, "new words").is_empty());
    assert_eq!(found(&mut store, ANNA, "plumber")[0], 1);
}

#[test]
fn more_peers_than_are_at_hand_lose_nothing() {
    let peers: Vec<String> = (0..10).map(|n| format!("telegram:{n}")).collect();
    let mut store = Store::ephemeral().unwrap();
    for (doc, peer) in (1_u64..).zip(peers.iter().chain(&peers)) {
        let turn = Turn { peer, ..told(doc, ANNA, "guest", MAY + doc, "the boiler") };
        store.apply(&[turn], &[], doc).unwrap();
    }
    for peer in &peers {
        assert_eq!(found(&mut store, peer, "boiler").len(), 2, "{peer}");
    }
}

proptest! {
    #[test]
    fn no_question_is_a_query(question in "(\\PC{0,12}|\"|\\*|NEAR\\(| OR | AND | NOT |body:|\\^|1e|--|'|\u{0}){0,12}") {
        let mut store = home();
        for hit in search(&mut store, ANNA, &question, Day(19_500), 10).unwrap() {
            prop_assert!(hit.doc.doc != 3 && hit.parts.total().is_finite());
        }
    }
}
