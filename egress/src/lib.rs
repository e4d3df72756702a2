//! The egress helper (design: sandbox §2): what dials for an executor that has no network of its own. It must never
//! dial a name that this call was not granted, nor an address that a granted name should not lead to.
//!
//! Two kinds of process. The *nursery* is forked from sandboxd before that one locks itself; it receives orders from
//! sandboxd alone and forks a *helper* for each. A helper knows one call's names and nothing else: it holds one end of
//! a few socket pairs, whose other ends the executor holds, and ends with them.
//!
//! On such a pair the executor first writes where to, as one line (`example.org 443`), and is answered by one line: `+`,
//! or `-`, a class and a sentence. From then on the pair is the connection. The authority is that descriptor.
//!
//! # Map
//! [`order`] what sandboxd says · [`address`] which addresses nobody may be led to · [`hello`] the name in the
//! first record of TLS · [`lock`] what they are left with · [`dial`] name → vetted address → connection · [`serve`] one helper · [`nursery`] their parent

pub mod address;
pub mod dial;
pub mod hello;
pub mod lock;
pub mod nursery;
pub mod order;
pub mod serve;
mod sys;
