//! memoryd remembers: the chronicle, and everything that can be derived from it. It is the only
//! writer of what it keeps, it asks no other daemon, it never acts, and it never rewrites what it has appended.
//!
//! Open [`chronicle`] first: the one log, in its final format. Everything else is a projection of it:
//! the index and the executors' view ([`chronicle::index`], [`chronicle::view`]), the [`mnestome`], the [`ledger`] and the
//! [`schedules`]. What lies on the disk of all that lies encrypted ([`at_rest`]).
//! [`memory`] puts them together in the words of the edges; [`tiers`] builds what a planner may read;
//! [`serve`] answers the edges over [`links`]; [`daemon`] is the loop. Only these three know a socket.

pub mod at_rest;
pub mod chronicle;
pub mod daemon;
pub mod damaged_db;
pub mod error;
pub mod faults;
mod group_commit;
pub mod ledger;
pub mod links;
pub mod memory;
pub mod mnestome;
pub mod recall;
pub mod rehearsal;
pub mod schedules;
pub mod serve;
mod step;
pub mod tiers;
pub mod traces;
