//! How much and how often: the bounds of the channel, rates of requests, and how long a client may take.

pub mod bounds;
pub mod patience;
pub mod rate;
