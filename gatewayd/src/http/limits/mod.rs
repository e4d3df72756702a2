//! How much and how often: the bounds of the channel, rates of requests, and how long a client may take.

pub mod bounds;
pub mod rate;
pub mod write_timeout;
