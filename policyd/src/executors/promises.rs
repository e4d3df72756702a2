//! What the examples of an executor promise, held against the reflex of this build before it is signed. It decides nothing
//! about calls.

use metnos_reflex::examples;

use crate::executors::registry::{Registry, Signed};

/// Why the examples of an executor do not hold, if they do not. One of a release is judged by itself: its release was tested
/// as a whole, and what a household has made since may not keep it out. Any other must not take requests from what is there.
#[must_use]
pub fn broken(signed: &Signed, registry: &Registry) -> Option<String> {
    if !signed.manifest.contract.offered {
        return None;
    }
    let others = if signed.manifest.is_synthesised() { registry.offered() } else { Vec::new() };
    let own = signed.candidate();
    let broken = examples::check(&others, &own).err();
    let broken = broken.or_else(|| examples::taken(&others, &own));
    broken.map(|broken| format!("examples.broken: {broken}"))
}
