//! Webhooks: anyone who holds the secret of one has what the owner has set up for it done. The secrets are the door's alone:
//! it makes them, keeps them in a file of its own, shows each once, and forgets it when the hook is gone. What comes with
//! one is data from outside, whatever it says. [`signed`] judges a request, [`secret_store`] keeps the secrets; both are pure but
//! for the one file. [`registry`] gives and takes secrets, [`fire`] opens the turn of a firing.

pub mod fire;
pub mod registry;
pub mod secret_store;
pub mod signed;

pub use fire::{Firing, MAX_DATA};
pub use registry::Hooks;
