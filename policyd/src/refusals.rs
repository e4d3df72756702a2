//! What is said when something within Metnos does not work: nothing was run, or nothing is known of it.

use metnos_proto::edge::RpcError;
use metnos_proto::msg::common::{Refusal, RefusalCode};

pub(crate) fn internal(why: &str) -> Refusal {
    Refusal::new(RefusalCode::Internal, "policyd.internal", why).remedy("look at `metnosctl audit tail`")
}

/// What is said when a decision could not be recorded: nothing was run.
pub(crate) fn memory_gone(error: &RpcError) -> Refusal {
    let why = format!("the decision could not be recorded, so nothing was run: {error}");
    if let RpcError::Refused(refusal) = error {
        // memoryd is there and says what is wrong and what to do about it.
        return Refusal { why, ..refusal.clone() };
    }
    Refusal::new(RefusalCode::Unavailable, "memory.gone", why)
        .remedy("memoryd is restarted by itself; try again in a moment, or look at `metnosctl status`")
}
