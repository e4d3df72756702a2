//! Which executors fit these words: one order for the envelope, the planner and the benches. Pure: no file, no clock, nothing of an
//! instance; it chooses nothing, it only orders (design: mind §3).
//!
//! Start at [`order`]: [`lexical`] says how well words fit contracts, [`history`] what was used when something like it was asked
//! before, and the mnests of the context are added. Below are [`words`], [`stem`] and [`lexicon`], which recall uses, too, and
//! [`forms`], by which names of files are compared with what was said.

pub mod bridge;
pub mod forms;
pub mod history;
pub mod lexical;
pub mod lexicon;
pub mod order;
pub mod stem;
pub mod topics;
pub mod wish;
pub mod words;
