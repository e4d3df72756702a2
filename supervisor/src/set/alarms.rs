//! What went wrong last, for `status`. Bounded in number and length, cleaned of what could disturb a terminal; and a
//! daemon that cries without end must never push out what was said about another.

use std::collections::VecDeque;

use metnos_proto::control::{Alarm, MAX_ALARMS};
use metnos_proto::role::RoleName;

/// The longest text of an alarm, in bytes.
pub const MAX_ALARM_BYTES: usize = 400;

/// The alarms, oldest first.
#[derive(Debug, Default)]
pub struct Alarms(VecDeque<Alarm>);

impl Alarms {
    /// Adds one. When there is no room, the oldest of the daemon that has most gives way.
    pub fn add(&mut self, at_ms: u64, role: RoleName, what: &str) {
        if self.0.len() >= MAX_ALARMS {
            let count = |role: RoleName| self.0.iter().filter(|alarm| alarm.role == role).count();
            if let Some(loudest) = RoleName::daemons().max_by_key(|role| count(*role)) {
                let oldest = self.0.iter().position(|alarm| alarm.role == loudest);
                oldest.map(|at| self.0.remove(at));
            }
        }
        self.0.push_back(Alarm { at_ms, role, what: clean(what, MAX_ALARM_BYTES) });
    }

    /// A copy for an answer.
    #[must_use]
    pub fn list(&self) -> Vec<Alarm> {
        self.0.iter().cloned().collect()
    }
}

/// A text as it may be kept and shown: without control characters, and at most that many bytes.
#[must_use]
pub fn clean(text: &str, max_bytes: usize) -> String {
    let mut kept = String::new();
    for c in text.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if kept.len() + c.len_utf8() > max_bytes {
            break;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loud_daemon_pushes_out_only_itself() {
        let mut alarms = Alarms::default();
        alarms.add(1, RoleName::Memoryd, "the disk is full");
        for at in 0..1000 {
            alarms.add(at, RoleName::Planner, "noise");
        }
        let list = alarms.list();
        assert_eq!(list.len(), MAX_ALARMS);
        assert!(list.iter().any(|alarm| alarm.what == "the disk is full"));
        assert_eq!(list.last().map(|alarm| alarm.at_ms), Some(999));
    }

    #[test]
    fn a_text_is_cut_at_its_limit_and_disturbs_no_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc", 100), "a [2Jb c");
        assert_eq!(clean("ééé", 5), "éé");
        assert_eq!(clean(&"x".repeat(MAX_ALARM_BYTES), MAX_ALARM_BYTES).len(), MAX_ALARM_BYTES);
        assert_eq!(clean(&"x".repeat(MAX_ALARM_BYTES + 1), MAX_ALARM_BYTES).len(), MAX_ALARM_BYTES);
    }
}
