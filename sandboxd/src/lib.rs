//! Executes what policyd hands it, each call in a fresh kernel sandbox (design: sandbox). It
//! decides nothing, opens no network, and reads no memory, key or vault. Open this file first.
//!
//! A call's way: [`pool::registry`] reads the executor's files, [`verify`] holds them against
//! what was signed, [`plan`] is the sandbox as data. A process for it waits in [`warm`] already, or [`process::launch`] starts one,
//! which in [`confine::inner`] builds its own world and becomes the interpreter. Either seals itself by an [`confine::order`] made
//! from the plan; [`process::limits`] watches it to its end, [`verify::output`] looks at what it returned, [`pool::results`] keeps that for later
//! references. [`serve::call`] is that order in one place; [`serve`] are the words of policyd and of
//! the owner; [`daemon`] is start, lock and drain.

pub mod confine;
pub mod machine;
pub mod plan;
pub mod process;
pub mod scratch;
pub mod selftest;
pub mod sys;
pub mod verify;
pub mod warm;

pub mod daemon;
pub mod pool;
pub mod serve;
