//! The supervisor with real processes: scripted daemons (`src/bin/puppet.rs`) in the place of the real ones, as root
//! where the tests run as root, and as an ordinary user.

mod faults;
mod life;
mod requests;
mod rig;
mod users;
