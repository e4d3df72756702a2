//! How often, and how long until the next time: tries of a request, and strangers' lines. Pure, but for the chance that is
//! handed in.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::chance::Chance;

/// How often a request is tried.
pub const TRIES: u32 = 6;
/// The first pause between two tries, in milliseconds; each is twice the one before.
pub const FIRST_PAUSE_MS: u64 = 500;
/// The longest pause that is chosen here, in milliseconds.
pub const LONGEST_PAUSE_MS: u64 = 30_000;
/// The first pause after a token was refused, in milliseconds, and the longest; each is twice the one before.
pub const FIRST_REFUSED_MS: u64 = 2_000;
/// See [`FIRST_REFUSED_MS`].
pub const LONGEST_REFUSED_MS: u64 = 600_000;
/// The longest time that Telegram's wish to be left alone is received within a request, in seconds.
pub const MAX_RETRY_AFTER: u64 = 300;
/// How often a stranger is sent a line, in milliseconds (design: interfaces §4).
pub const STRANGER_EVERY_MS: u64 = 60_000;
/// How many codes a stranger may show in that time.
pub const MAX_CODES: u32 = 6;
/// The most strangers that are remembered: of more than these no one is sent anything.
pub const MAX_STRANGERS: usize = 256;

/// How long until try number `tried` + 1. What Telegram asks for counts before everything else.
#[must_use]
pub fn pause(tried: u32, retry_after: Option<u64>, chance: &Chance) -> Duration {
    let doubled = FIRST_PAUSE_MS.saturating_mul(1_u64 << tried.min(16)).min(LONGEST_PAUSE_MS);
    let jitter = chance(doubled / 2 + 1);
    match retry_after {
        Some(seconds) => Duration::from_secs(seconds.min(MAX_RETRY_AFTER)) + Duration::from_millis(jitter.min(500)),
        None => Duration::from_millis(doubled / 2 + jitter),
    }
}

/// How long until a token that was refused so often is shown again.
#[must_use]
pub fn refused(times: u32, chance: &Chance) -> Duration {
    let doubled = FIRST_REFUSED_MS.saturating_mul(1_u64 << times.min(16)).min(LONGEST_REFUSED_MS);
    Duration::from_millis(doubled / 2 + chance(doubled / 2 + 1))
}

/// Who was sent a line lately.
#[derive(Debug, Default)]
pub struct StrangerLimit(BTreeMap<i64, (u64, u32, bool)>);

impl StrangerLimit {
    /// Whether policyd is to be asked for this stranger now: for a line once a minute, for a code a few times.
    pub fn may(&mut self, who: i64, shows_code: bool, now_ms: u64) -> bool {
        self.0.retain(|_, (since, ..)| now_ms < *since + STRANGER_EVERY_MS);
        if !self.0.contains_key(&who) && self.0.len() >= MAX_STRANGERS {
            return false;
        }
        let (_, codes, told) = self.0.entry(who).or_insert((now_ms, 0, false));
        if shows_code {
            *codes += 1;
            *codes <= MAX_CODES
        } else {
            !std::mem::replace(told, true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_to_a_bound_and_what_is_asked_for_is_obeyed() {
        let none = |_: u64| 0;
        let all = |below: u64| below - 1;
        let ms = |tried, chance: &Chance| u64::try_from(pause(tried, None, chance).as_millis()).unwrap_or(u64::MAX);
        assert_eq!([0, 1, 2, 10, 99].map(|tried| ms(tried, &none)), [250, 500, 1_000, 15_000, 15_000]);
        assert_eq!([0, 1, 2, 10].map(|tried| ms(tried, &all)), [500, 1_000, 2_000, 30_000]);
        assert_eq!(pause(0, Some(7), &none), Duration::from_secs(7));
        assert!(pause(0, Some(7), &all) > Duration::from_secs(7));
        assert_eq!(pause(0, Some(u64::MAX), &none), Duration::from_secs(MAX_RETRY_AFTER));
    }

    #[test]
    fn a_refused_token_is_shown_again_ever_more_seldom_and_never_given_up() {
        let ms = |times| u64::try_from(refused(times, &|_| 0).as_millis()).unwrap_or(u64::MAX);
        assert_eq!([0, 1, 2, 12, u32::MAX].map(ms), [1_000, 2_000, 4_000, 300_000, 300_000]);
        assert_eq!(refused(40, &|below| below - 1), Duration::from_millis(LONGEST_REFUSED_MS));
    }

    #[test]
    fn replies_to_strangers_are_limited_per_sender_and_in_total() {
        let mut it = StrangerLimit::default();
        assert!(it.may(1, false, 0) && !it.may(1, false, 59_999) && it.may(2, false, 1));
        assert!((0..MAX_CODES).all(|_| it.may(1, true, 5)) && !it.may(1, true, 6));
        assert!(it.may(1, false, 60_000) && it.may(1, true, 60_001));
        let mut many = StrangerLimit::default();
        let told = (0..10_000).filter(|who| many.may(*who, false, 3)).count();
        assert_eq!(told, MAX_STRANGERS);
        assert!(many.may(20_000, false, 3 + STRANGER_EVERY_MS));
    }
}
