//! When a channel that was closed by a breach of protocol is made again: after a pause that doubles, so that a daemon
//! that only ever lies costs its peer nothing. A pure core. Nobody is restarted on the word of another daemon: else
//! a hijacked planner could have policyd stopped by accusing it.

use std::collections::BTreeMap;

use metnos_proto::edges::EdgeId;

use crate::set::health::pause_ms;

/// After that long without a breach, the pause is short again.
pub const FORGET_AFTER_MS: u64 = 60_000;

#[derive(Debug, Clone, Copy, Default)]
struct Breach {
    doublings: u32,
    last_ms: u64,
    mend_at_ms: Option<u64>,
}

/// The channels that were closed by a breach.
#[derive(Debug, Default)]
pub struct ReconnectBackoff(BTreeMap<EdgeId, Breach>);

impl ReconnectBackoff {
    /// This channel was closed by a breach.
    pub fn broken(&mut self, edge: EdgeId, now_ms: u64, chance: u64) {
        let breach = self.0.entry(edge).or_default();
        if now_ms.saturating_sub(breach.last_ms) >= FORGET_AFTER_MS {
            breach.doublings = 0;
        }
        breach.last_ms = now_ms;
        breach.mend_at_ms = Some(now_ms.saturating_add(pause_ms(breach.doublings, chance)));
        breach.doublings = breach.doublings.saturating_add(1).min(u64::BITS);
    }

    /// A channel whose pause is over, once.
    pub fn due(&mut self, now_ms: u64) -> Option<EdgeId> {
        let (edge, breach) = self.0.iter_mut().find(|(_, breach)| breach.mend_at_ms.is_some_and(|at| now_ms >= at))?;
        breach.mend_at_ms = None;
        Some(*edge)
    }

    /// When [`ReconnectBackoff::due`] is to be asked again.
    #[must_use]
    pub fn next_ms(&self) -> Option<u64> {
        self.0.values().filter_map(|breach| breach.mend_at_ms).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::health::{BACKOFF_MAX_MS, JITTER_PERCENT};

    const EDGE: EdgeId = EdgeId::PlannerPolicyd;

    #[test]
    fn each_breach_doubles_the_pause_and_a_quiet_minute_forgets() {
        let mut reconnect = ReconnectBackoff::default();
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..11 {
            reconnect.broken(EDGE, now, JITTER_PERCENT);
            let due = reconnect.next_ms().unwrap_or_default();
            assert_eq!(reconnect.due(due - 1), None);
            assert_eq!(reconnect.due(due), Some(EDGE));
            assert_eq!(reconnect.due(due), None, "once");
            pauses.push(due - now);
            now = due;
        }
        assert_eq!(pauses[..3], [100, 200, 400]);
        assert_eq!(pauses[10], BACKOFF_MAX_MS);
        reconnect.broken(EDGE, now + FORGET_AFTER_MS, JITTER_PERCENT);
        assert_eq!(reconnect.next_ms(), Some(now + FORGET_AFTER_MS + 100));
    }
}
