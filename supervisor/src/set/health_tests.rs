//! The watch over one daemon, with a clock that is turned by hand.
#![allow(clippy::unwrap_used)]
use super::*;
use proptest::prelude::*;

/// The chance that moves nothing.
const MIDDLE: u64 = JITTER_PERCENT;

fn pause_of(health: &Health, now_ms: u64) -> u64 {
    match health.phase() {
        Phase::Waiting { until_ms } => until_ms - now_ms,
        other @ (Phase::Off
        | Phase::Starting { .. }
        | Phase::Ready { .. }
        | Phase::Draining { .. }
        | Phase::Closing { .. }
        | Phase::Dying) => panic!("{other:?}"),
    }
}

fn ready_at(now_ms: u64) -> Health {
    let mut health = Health::default();
    health.started(now_ms);
    assert!(health.ready(now_ms));
    health
}

#[test]
fn pauses_double_from_a_tenth_of_a_second_to_half_a_minute() {
    let mut health = Health::default();
    let mut pauses = Vec::new();
    for _ in 0..11 {
        health.started(0);
        assert!(health.ended(0, MIDDLE));
        pauses.push(pause_of(&health, 0));
    }
    assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]);
}

#[test]
fn restart_delay_shrinks_with_each_ready_second_and_resets_after_five() {
    for (ready_ms, pause) in [(999, 1600), (1000, 800), (3999, 200), (4999, 100), (5000, 100)] {
        let mut health = Health::default();
        for _ in 0..4 {
            health.started(0);
            health.ended(0, MIDDLE);
        }
        health.started(0);
        health.ready(0);
        health.ended(ready_ms, MIDDLE);
        assert_eq!(pause_of(&health, ready_ms), pause, "after {ready_ms} ms");
    }
    let mut health = Health { doublings: 40, ..Health::default() };
    health.forgive(FORGET_AFTER_MS);
    assert_eq!(health.doublings, 0);
}

#[test]
fn daemon_is_degraded_after_five_failures_a_minute_but_restarted() {
    let mut health = Health::default();
    for failure in 1..=DEGRADED_FAILURES as u64 {
        assert!(!health.degraded(failure));
        health.started(failure);
        health.ended(failure, MIDDLE);
    }
    assert!(health.degraded(5));
    assert_eq!(health.due(5 + BACKOFF_MAX_MS), Some(Due::Start));
    assert!(health.degraded(DEGRADED_WITHIN_MS));
    assert!(!health.degraded(DEGRADED_WITHIN_MS + 1), "the first failure is a minute old");
}

#[test]
fn a_daemon_that_is_not_ready_in_time_is_ended() {
    let mut health = Health::default();
    health.started(1000);
    assert_eq!(health.next_ms(), Some(1000 + READY_WITHIN_MS));
    assert_eq!(health.due(999 + READY_WITHIN_MS), None);
    assert_eq!(health.due(1000 + READY_WITHIN_MS), Some(Due::Kill(Reason::NotReady)));
    health.killed();
    assert_eq!((health.due(u64::MAX), health.next_ms()), (None, None));
    assert!(health.ended(30_000, MIDDLE));
}

#[test]
fn a_daemon_is_pinged_every_half_minute_and_ended_when_it_stays_silent() {
    let mut health = ready_at(12_345);
    assert_eq!(health.next_ms(), Some(PING_EVERY_MS));
    assert_eq!(health.due(PING_EVERY_MS - 1), None);
    assert_eq!(health.due(PING_EVERY_MS), Some(Due::Ping));
    assert_eq!(health.due(PING_EVERY_MS), None);
    health.pong();
    assert_eq!(health.next_ms(), Some(2 * PING_EVERY_MS));
    assert_eq!(health.due(2 * PING_EVERY_MS + 7), Some(Due::Ping));
    assert_eq!(health.next_ms(), Some(2 * PING_EVERY_MS + 7 + PONG_WITHIN_MS));
    assert_eq!(health.due(2 * PING_EVERY_MS + 6 + PONG_WITHIN_MS), None);
    assert_eq!(health.due(2 * PING_EVERY_MS + 7 + PONG_WITHIN_MS), Some(Due::Kill(Reason::Silent)));
}

#[test]
fn a_daemon_that_a_signal_stops_is_ended_unless_it_goes_on_in_time() {
    const { assert!(HALTED_WITHIN_MS <= 10_000) };
    let mut health = ready_at(0);
    health.halted(100, true);
    health.halted(3_000, true);
    assert_eq!(health.next_ms(), Some(100 + HALTED_WITHIN_MS));
    assert_eq!(health.due(99 + HALTED_WITHIN_MS), None);
    assert_eq!(health.due(100 + HALTED_WITHIN_MS), Some(Due::Kill(Reason::Halted)));
    health.halted(100 + HALTED_WITHIN_MS, false);
    assert_eq!(health.due(100 + HALTED_WITHIN_MS), None, "it goes on");
    health.halted(6_000, true);
    health.killed();
    assert_eq!((health.due(u64::MAX), health.next_ms()), (None, None));
    assert!(health.ended(12_000, MIDDLE));
    health.started(12_100);
    assert!(health.ready(12_200) && health.due(20_000).is_none(), "the next process has never been stopped");
}

#[test]
fn all_daemons_are_pinged_at_the_same_instants() {
    assert_eq!(ready_at(1).next_ms(), ready_at(29_999).next_ms());
}

#[test]
fn a_restart_that_was_asked_for_is_no_failure_and_has_no_pause() {
    let mut health = ready_at(0);
    assert!(health.restart(100));
    assert!(!health.restart(150), "it drains already");
    assert!(!health.ended(200, MIDDLE));
    assert_eq!(health.due(200), Some(Due::Start));
    assert!(!health.degraded(200));
}

#[test]
fn a_daemon_that_does_not_drain_is_ended() {
    let mut health = ready_at(0);
    health.restart(100);
    assert_eq!(health.due(99 + DRAIN_WITHIN_MS), None);
    assert_eq!(health.due(100 + DRAIN_WITHIN_MS), Some(Due::Kill(Reason::NotDrained)));
}

#[test]
fn a_daemon_without_a_control_line_has_a_moment_to_end() {
    let mut health = ready_at(0);
    health.closed(100);
    assert_eq!(health.due(99 + CLOSE_WITHIN_MS), None);
    assert_eq!(health.due(100 + CLOSE_WITHIN_MS), Some(Due::Kill(Reason::Deaf)));
    assert!(health.ended(700, MIDDLE), "it is a failure");
    let mut health = ready_at(0);
    health.restart(0);
    health.closed(1);
    assert!(!health.ended(2, MIDDLE), "it was told to finish, and this is how it does");
}

#[test]
fn a_restart_cuts_a_pause_short() {
    let mut health = Health { doublings: 8, ..Health::default() };
    health.started(0);
    health.ended(0, MIDDLE);
    assert_eq!(health.due(1), None);
    assert!(!health.restart(1));
    assert_eq!(health.due(1), Some(Due::Start));
}

#[test]
fn ready_counts_only_once_and_only_from_one_that_starts() {
    let mut health = ready_at(0);
    assert!(!health.ready(1));
    health.off();
    assert!(!health.ready(2));
    assert_eq!(health.due(u64::MAX), None);
}

#[derive(Debug, Clone)]
enum Step {
    Wait(u64),
    Ready,
    Pong,
    Restart,
    Close,
    End(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..40_000).prop_map(Step::Wait),
        Just(Step::Ready),
        Just(Step::Pong),
        Just(Step::Restart),
        Just(Step::Close),
        any::<u64>().prop_map(Step::End),
    ]
}

proptest! {
    #[test]
    fn every_pause_lies_within_the_bounds(doublings in 0u32..200, chance: u64) {
        let pause = pause_ms(doublings, chance);
        prop_assert!((BACKOFF_FIRST_MS * 8 / 10..=BACKOFF_MAX_MS).contains(&pause), "{pause}");
    }

    #[test]
    fn every_daemon_is_always_running_or_scheduled(steps in proptest::collection::vec(step(), 1..60)) {
        let (mut health, mut now, mut alive) = (Health::default(), 0u64, true);
        health.started(now);
        for step in steps {
            match step {
                Step::Wait(ms) => now += ms,
                Step::Ready => { health.ready(now); }
                Step::Pong => health.pong(),
                Step::Restart => { health.restart(now); }
                Step::Close => health.closed(now),
                Step::End(chance) => if alive {
                    alive = false;
                    health.ended(now, chance);
                },
            }
            // The driver's duty: do what is due.
            while let Some(due) = health.due(now) {
                match due {
                    Due::Start => {
                        prop_assert!(!alive, "two processes of one daemon");
                        alive = true;
                        health.started(now);
                    }
                    Due::Ping => prop_assert!(alive),
                    Due::Kill(_) => {
                        prop_assert!(alive);
                        health.killed();
                        alive = false;
                        health.ended(now, 0);
                    }
                }
            }
            // Never forgotten, never due in the past, never further away than its longest bound.
            let next = health.next_ms().unwrap();
            prop_assert!(next > now && next <= now + BACKOFF_MAX_MS, "{next} at {now}");
            prop_assert!(health.failures.len() <= DEGRADED_FAILURES);
            prop_assert_eq!(alive, !matches!(health.phase(), Phase::Waiting { .. }));
        }
    }
}
