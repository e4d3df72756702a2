//! Random numbers of the kernel.

use metnos_proto::msg::common::{Refusal, RefusalCode};

/// Random bytes, for a name that need not be secret.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Refusal::new(RefusalCode::Unavailable, "policyd.random", format!("the kernel gives no random numbers: {error}"))
    })?;
    Ok(bytes)
}
