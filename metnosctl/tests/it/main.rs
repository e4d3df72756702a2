//! The real metnosctl: what it prints, asks and documents.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;
mod docs;
#[path = "common/documented.rs"]
mod documented;
mod looking;
mod talking;
