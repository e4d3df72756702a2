//! The formula beside a naive sum, what a turn says, and where sight is lost.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::mnestome::weight::USE_DAY;

fn call(n: usize) -> CallId {
    CallId::from_bytes([u8::try_from(n + 1).unwrap(); 16])
}

fn id(name: &str) -> ExecutorId {
    ExecutorId { name: name.to_owned(), version: "1.0.0".to_owned() }
}

/// A turn of these calls: whose, from which earlier ones its arguments came, and how it ended.
fn turn(calls: &[(&str, &[usize], Outcome)]) -> Vec<Record> {
    let records = calls.iter().enumerate().flat_map(|(at, (name, inputs, outcome))| {
        let inputs = inputs.iter().map(|from| call(*from)).collect();
        let started = Record::Started { call: call(at), id: id(name), inputs };
        [started, Record::Ended { call: call(at), outcome: *outcome, ts_ms: 0 }]
    });
    records.collect()
}

/// What leaves an effect here, begins so.
fn effect(id: &ExecutorId) -> bool {
    id.name.starts_with("write")
}

/// The utilities, calls judged and calls of which nothing is known, by name.
fn says(calls: &[(&str, &[usize], Outcome)], goal: Goal, word: Word) -> Vec<(String, f64, u32, u32)> {
    let shares = shares(&turn(calls), goal, word, effect);
    shares.into_iter().map(|one| (one.id.name, one.utility, one.judged, one.unknown)).collect()
}

fn one(name: &str, utility: f64, judged: u32, unknown: u32) -> (String, f64, u32, u32) {
    (name.to_owned(), utility, judged, unknown)
}

const OK: Outcome = Outcome::Ok;

#[test]
fn reached_goal_credits_each_successful_step_with_its_share() {
    let calls: &[(&str, &[usize], Outcome)] =
        &[("read", &[], OK), ("read", &[], OK), ("miss", &[], Outcome::Error), ("count", &[0], OK), ("note", &[], OK)];
    let said = says(calls, Goal::Reached, Word::Unsaid);
    assert_eq!(
        said,
        [one("read", 0.5, 2, 0), one("miss", 0.0, 0, 0), one("count", 0.25, 1, 0), one("note", 0.25, 1, 0)]
    );
}

#[test]
fn missed_goal_credits_used_steps_and_leaves_one_gap() {
    let calls: &[(&str, &[usize], Outcome)] = &[
        ("list", &[], OK),
        ("read", &[], OK),
        ("count", &[1], OK),
        ("write", &[], OK),
        ("move", &[], Outcome::Crashed),
    ];
    for (goal, unknown) in [(Goal::Missed, 1), (Goal::CutOff, 0)] {
        let said = says(calls, goal, Word::Unsaid);
        let expected = [
            one("list", 0.0, 0, unknown),
            one("read", 1.0 / 3.0, 1, 0),
            one("count", 0.0, 0, unknown),
            one("write", 1.0 / 3.0, 1, 0),
            one("move", 0.0, 1, 0),
        ];
        for (said, expected) in said.iter().zip(&expected) {
            assert_eq!((&said.0, said.2, said.3), (&expected.0, expected.2, expected.3), "{goal:?}");
            assert!((said.1 - expected.1).abs() < 1e-12, "{said:?}");
        }
    }
}

#[test]
fn undone_call_is_not_counted_and_others_keep_theirs() {
    let calls: &[(&str, &[usize], Outcome)] = &[("read", &[], OK), ("write", &[0], OK)];
    assert_eq!(says(calls, Goal::Reached, Word::Undone), [one("read", 0.5, 1, 0), one("write", 0.0, 0, 0)]);
}

#[test]
fn the_owners_word_is_about_every_step_alike_and_a_bad_one_counts_double() {
    let calls: &[(&str, &[usize], Outcome)] = &[("read", &[], OK), ("late", &[], Outcome::Timeout), ("say", &[], OK)];
    for goal in [Goal::Reached, Goal::Missed, Goal::CutOff] {
        let good = [one("read", 0.5, 1, 0), one("late", 0.0, 1, 0), one("say", 0.5, 1, 0)];
        assert_eq!(says(calls, goal, Word::Good), good);
        let bad = [one("read", -1.0, 1, 0), one("late", 0.0, 1, 0), one("say", -1.0, 1, 0)];
        assert_eq!(says(calls, goal, Word::Bad), bad);
    }
}

#[test]
fn denials_bad_arguments_and_what_was_stopped_say_nothing() {
    for outcome in [Outcome::Error, Outcome::Killed, Outcome::Interrupted, Outcome::SandboxFailed] {
        for goal in [Goal::Reached, Goal::Missed, Goal::CutOff] {
            for word in [Word::Unsaid, Word::Good, Word::Bad, Word::Undone] {
                assert_eq!(says(&[("write", &[], outcome)], goal, word), [one("write", 0.0, 0, 0)]);
            }
        }
    }
    let unended = &turn(&[("read", &[], OK)])[..1];
    assert_eq!(shares(unended, Goal::Reached, Word::Good, effect)[0].judged, 0);
}

#[test]
fn the_end_of_a_turn_says_what_became_of_its_goal() {
    let goal = |end: TurnEnd, wish: &str| {
        Goal::of(&TurnClose { end: end.name().to_owned(), signature: String::new(), wish: wish.to_owned() })
    };
    assert_eq!(goal(TurnEnd::Answered, ""), Goal::Reached);
    assert_eq!(goal(TurnEnd::Answered, "play music"), Goal::Missed);
    assert_eq!(goal(TurnEnd::Unsuccessful, ""), Goal::Missed);
    assert_eq!(goal(TurnEnd::NotUnderstood, ""), Goal::CutOff);
    for end in [TurnEnd::Denied, TurnEnd::Cancelled, TurnEnd::Suspended, TurnEnd::Broken] {
        assert_eq!(goal(end, ""), Goal::CutOff);
    }
}

#[test]
fn read_only_classes_leave_no_effect() {
    assert!(["read", "net_read", "shell", "", "what is this"].iter().all(|class| !leaves_an_effect(class)));
    assert!(["self_create", "self_modify", "destroy", "send", "money"].iter().all(|class| leaves_an_effect(class)));
}

fn share(utility: f64, judged: u32, unknown: u32) -> Share {
    Share { id: id("a"), utility, judged, unknown }
}

#[test]
fn a_trial_ends_with_the_tenth_call_and_a_signal_begins_it_anew() {
    let mut one = Standing::fresh(0);
    for _ in 1..TRIAL {
        one.used(&share(0.0, 0, 1), 0);
        assert_eq!(one.below(0), None);
    }
    let mut signalled = one;
    signalled.used(&share(1.0, 1, 0), 0);
    assert_eq!((signalled.below(0), signalled.without_signal), (None, 0));
    one.used(&share(0.0, 0, 1), 0);
    assert_eq!(one.below(0), Some(Below::Trial));
    // Renewed use puts it in sight, on a new trial.
    one.used(&share(0.0, 0, 1), 0);
    assert_eq!((one.below(0), one.without_signal), (None, 1));
}

#[test]
fn an_executor_that_was_of_use_is_on_no_trial() {
    let mut one = Standing::fresh(0);
    one.used(&share(5.0, u32::try_from(JUDGED_FIRST).unwrap(), 0), 0);
    for _ in 0..3 * TRIAL {
        one.used(&share(0.0, 0, 1), 0);
        assert_eq!(one.below(0), None);
    }
}

#[test]
fn fitness_counts_from_fifth_judged_call_and_survives_renewed_use() {
    let mut one = Standing::fresh(0);
    for _ in 1..JUDGED_FIRST {
        one.used(&share(-0.1, 1, 0), 0);
        assert_eq!(one.below(0), None);
    }
    one.used(&share(-0.1, 1, 0), 0);
    assert_eq!(one.below(0), Some(Below::Unfit));
    let before = one.sum;
    one.used(&share(0.0, 0, 0), 0);
    assert_eq!((one.below(0), one.judged, one.sum), (None, 0, before));
    let at_the_edge = Standing { sum: THRESHOLD, judged: JUDGED_FIRST, ..Standing::fresh(0) };
    assert_eq!(at_the_edge.below(0), None);
    assert_eq!(Standing { sum: THRESHOLD - 1e-9, ..at_the_edge }.below(0), Some(Below::Unfit));
}

#[test]
fn ninety_use_days_without_a_use_are_too_long() {
    let mut one = Standing::fresh(USE_DAY);
    assert_eq!(one.below(UNUSED_FOR + USE_DAY - 1), None);
    assert_eq!(one.below(UNUSED_FOR + USE_DAY), Some(Below::Disused));
    one.used(&share(0.0, 0, 0), UNUSED_FOR + USE_DAY);
    assert_eq!(one.below(UNUSED_FOR + USE_DAY), None);
}

#[test]
fn exploration_picks_one_in_twenty_deterministically() {
    let explored_in = |n: u16| {
        let mut bytes = [7; 16];
        bytes[14..].copy_from_slice(&n.to_be_bytes());
        let turn = TurnId::from_bytes(bytes);
        let explored = explored(turn, &id("fs_read"));
        assert_eq!(explored, super::explored(turn, &id("fs_read")));
        explored
    };
    let explored = (0..20_000).filter(|n| explored_in(*n)).count();
    assert!((900..1_100).contains(&explored), "{explored}");
}

/// `Σ u · e^(−λ·age)`, each age as it is.
fn naive(judged: &[(UseTime, f64)], now: UseTime) -> f64 {
    judged.iter().map(|(at, utility)| utility * (-0.018 * ((now - at) as f64 / 1e6)).exp()).sum()
}

proptest! {
    #[test]
    fn running_fitness_sum_equals_the_sum_with_decay(
        judged in prop::collection::vec((0..100 * USE_DAY, -2.0..1.0_f64), 1..40), later in 0..100 * USE_DAY,
    ) {
        let (mut one, mut now, mut all) = (Standing::fresh(0), 0, Vec::new());
        for (gap, utility) in judged {
            now += gap;
            one.judge(utility, 1, now, now);
            all.push((now, utility));
            prop_assert!((one.sum - naive(&all, now)).abs() < 1e-9);
        }
        prop_assert!((one.fitness(now + later) - naive(&all, now + later)).abs() < 1e-9);
    }

    #[test]
    fn the_order_in_which_it_is_heard_what_calls_were_worth_changes_nothing(
        judged in prop::collection::vec((0..100 * USE_DAY, -2.0..1.0_f64), 1..20), seed in any::<prop::sample::Index>(), gap in 0..USE_DAY,
    ) {
        let heard = |order: &[(UseTime, f64)]| {
            let (mut one, mut now) = (Standing::fresh(0), 100 * USE_DAY);
            for (then, utility) in order {
                one.judge(*utility, 1, *then, now);
                now += gap;
            }
            one.fitness(200 * USE_DAY)
        };
        let mut turned = judged.clone();
        turned.reverse();
        let at = seed.index(judged.len());
        turned.rotate_left(at);
        prop_assert!((heard(&judged) - heard(&turned)).abs() < 1e-9);
        prop_assert!((heard(&judged) - naive(&judged, 200 * USE_DAY)).abs() < 1e-9);
    }

    #[test]
    fn a_utility_is_clipped_and_no_number_makes_it_more(before in any::<f64>(), after in any::<f64>()) {
        let utility = utility(before, after);
        prop_assert!(utility.is_nan() || (-1.0..=1.0).contains(&utility));
    }

    #[test]
    fn fitness_shares_never_exceed_the_gap_and_feedback_keeps_the_calls(
        calls in prop::collection::vec((0_usize..4, prop::collection::vec(0_usize..12, 0..3), 0_usize..3), 0..12), goal in 0_usize..3,
    ) {
        let names = ["read", "write", "count", "list"];
        let outcomes = [Outcome::Ok, Outcome::Error, Outcome::Crashed];
        let calls: Vec<(&str, &[usize], Outcome)> =
            calls.iter().map(|(name, inputs, outcome)| (names[*name], &inputs[..], outcomes[*outcome])).collect();
        let goal = [Goal::Reached, Goal::Missed, Goal::CutOff][goal];
        let with = |word| says(&calls, goal, word);
        let total = |said: &[(String, f64, u32, u32)]| said.iter().map(|one| one.1).sum::<f64>();
        let (unsaid, good, bad) = (with(Word::Unsaid), with(Word::Good), with(Word::Bad));
        let any = calls.iter().any(|(_, _, outcome)| *outcome == Outcome::Ok);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&total(&unsaid)));
        if any {
            prop_assert!((total(&good) - 1.0).abs() < 1e-9);
            prop_assert!(goal != Goal::Reached || (total(&unsaid) - 1.0).abs() < 1e-9);
        }
        for ((unsaid, good), (bad, undone)) in unsaid.iter().zip(&good).zip(bad.iter().zip(with(Word::Undone))) {
            prop_assert!(unsaid.0 == good.0 && good.0 == bad.0 && bad.0 == undone.0);
            prop_assert!((bad.1 + 2.0 * good.1).abs() < 1e-9, "a bad word counts double");
            prop_assert!(good.2 >= unsaid.2 && good.2 == bad.2 && undone.2 <= unsaid.2, "only undo makes a call unjudged");
            prop_assert!(goal == Goal::Missed || unsaid.3 == 0);
            prop_assert!(undone.1 >= 0.0, "what is taken back is not worse than nothing");
        }
    }
}
