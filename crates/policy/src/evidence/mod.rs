//! What a turn has shown so far: what was typed, what was foreseen, and where data came from.

pub mod context;
pub mod intent;
pub mod results;
