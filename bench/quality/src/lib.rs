//! How well recall, ranking and the reflex do on a file of cases, measured through the code that answers for real.
//! `metnosctl bench` calls it and prints what it returns. It needs no instance, touches none, and prints nothing itself; [`ask`] and
//! [`growth`] are given the instances that they ask.

pub mod ask;
mod ephemeral;
mod file;
pub mod growth;
mod marks;
mod next;
mod recall;
mod reflex;
mod route;
pub mod synthetic;

pub use next::{NextFound, next};
pub use recall::{RecallFound, recall};
pub use reflex::{Executor, ReflexFound, reflex};
pub use route::{RouteFound, route};

use metnos_proto::edge::RpcError;

/// What a measurement found: a document for programs, a table and sentences for people.
#[derive(Debug)]
pub struct Report<T> {
    /// For programs.
    pub document: T,
    /// The names of the columns.
    pub heading: &'static [&'static str],
    /// The rows, each with as many cells.
    pub rows: Vec<Vec<String>>,
    /// What is said below the table.
    pub notes: Vec<String>,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A file or a program is not what it should be.
    #[error("{what}: {why}")]
    Failed {
        /// What was being done.
        what: String,
        /// Why it did not work.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// A daemon did not answer.
    #[error(transparent)]
    Memory(#[from] RpcError),
}

impl Failure {
    pub(crate) fn new(what: impl Into<String>, why: impl ToString, remedy: impl Into<String>) -> Self {
        Self::Failed { what: what.into(), why: why.to_string(), remedy: remedy.into() }
    }
}

/// A share with three decimals.
pub(crate) fn three(share: f64) -> String {
    format!("{share:.3}")
}
