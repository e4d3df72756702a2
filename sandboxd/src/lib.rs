//! Executes what policyd hands it, each call in a fresh kernel sandbox (design: sandbox). It
//! decides nothing, opens no network, and reads no memory, key or vault. Open this file first.
//!
//! A call's way: [`pool::registry`] reads the executor's files, [`pool::verify`] holds them against
//! what was signed, [`plan`] is the sandbox as data. A process for it waits in [`warm`] already, or [`launch`] starts one,
//! which in [`inner`] builds its own world and becomes the interpreter. Either seals itself by an [`order`] made
//! from the plan; [`limits`] watches it to its end, [`pool::output`] looks at what it returned, [`pool::results`] keeps that for later
//! references. [`pool::call`] is that order in one place; [`serve`] are the words of policyd and of
//! the owner; [`daemon`] is start, lock and drain.

pub mod approved;
pub mod canary;
pub mod commands;
pub mod disk;
pub mod egress;
pub mod elf;
pub mod escape;
pub mod frames;
pub mod groups;
pub mod handed;
pub mod hidden;
pub mod inner;
pub mod interp;
pub mod kernel;
pub mod launch;
pub mod libraries;
pub mod limits;
pub mod masks;
pub mod mounted;
pub mod mounts;
pub mod order;
pub mod plan;
pub mod reaper;
pub mod said;
pub mod scratch;
pub mod seccomp;
pub mod sys;
pub mod userns;
pub mod view;
pub mod walk;
pub mod warm;
pub mod watched;

pub mod daemon;
pub mod pool;
pub mod serve;
