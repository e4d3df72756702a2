//! Memory as a whole, played by hand.

mod anchors;
mod answers;
mod asks;
mod calls;
mod chain_head;
mod encrypted;
mod fitness;
mod history;
mod marks;
mod owner;
mod recollect;
mod schedules;
mod sealed;
mod suspended;
mod turns;
