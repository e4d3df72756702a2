//! Test builds only: a daemon attempts a forbidden act on the supervisor's order and says which errno stopped it.

use metnos_jail::attack::{Attempt, attempt};

/// Registers the performer with the control channel, which knows no lock.
pub(crate) fn register() {
    let _ = metnos_proto::boot::ATTACK.set(perform);
}

fn perform(name: &str, target: &str) -> (i32, String) {
    match name.parse::<Attempt>().map(|act| attempt(act, (!target.is_empty()).then_some(target))) {
        Ok(Ok(achieved)) => (0, achieved),
        Ok(Err(errno)) => (errno, String::new()),
        Err(unknown) => (-1, unknown.to_string()),
    }
}
