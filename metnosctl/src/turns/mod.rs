//! Turns and calls: what the owner asks for, what came of it, and how it is undone.

pub mod ask;
pub(crate) mod chat;
mod input;
pub mod interrupt;
pub mod line_editor;
pub(crate) mod reminded;
pub mod run;
pub(crate) mod show;
pub mod turn;
pub mod undo;
pub mod values;
