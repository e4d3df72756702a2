//! The compiler of the lattice: what a model proposes to hold true is judged here, rule by rule, without a model. Pure: no
//! file, no clock, nothing of an instance (design: soul §3).
//!
//! A model may end its message with one block:
//!
//! ```text
//! <lattice_update nonce=7f3a…>{
//!   "add": [{"ref": "a", "premise": "Anna is allergic to nuts", "node_type": "premise", "evidence": [118]}],
//!   "reinforce": [{"node_id": "01J…", "evidence": [118]}],
//!   "contradict": [],
//!   "edges": [{"source": "a", "target": "01J…", "relation": "supports"}]
//! }</lattice_update>
//! ```
//!
//! [`compile::compile`] asks the rules R01 to R20 in their order and gives one verdict for each operation: *commit*, *hold*
//! (kept for the owner or for more evidence, changes nothing), *refuse*. A model's text is hostile input throughout.
//!
//! # Map
//! [`block`] finds the block (R01) · [`json`] and [`proposal`] read it (R02, R03) · [`premise`] looks at a premise by itself
//! (R05, R06) · [`witness`] at what is cited and who says it (R07 to R09) · [`ground`] at its words (R10) · [`graph`] at edges
//! (R15) · [`mod@compile`] puts them in order and has the rules that need all of the block · [`model`] holds what it is judged
//! against, [`nodes`] a lattice in memory · [`text`] are the words · [`case`] is one case as a line of JSON.

pub mod block;
pub mod case;
pub mod compile;
pub mod graph;
pub mod ground;
pub mod json;
pub mod model;
pub mod nodes;
pub mod premise;
pub mod proposal;
pub mod text;
pub mod verdict;
pub mod witness;
