//! The supervisor with real processes: scripted daemons (`src/bin/puppet.rs`) in the place of the real ones, as root
//! where the tests run as root, and as an ordinary user.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod asks;
mod faults;
mod life;
mod rig;
mod users;
