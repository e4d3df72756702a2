//! Says what is wrong with a cadence that cannot be followed: which field, its value, and what was expected.

use std::fmt;

/// The longest value that an error quotes, in characters.
const QUOTED: usize = 64;

/// Why a cadence cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// The field: "minute", "day of month", "BYDAY".
    pub field: &'static str,
    /// What stands there, cut after 64 characters.
    pub value: String,
    /// What could stand there.
    pub expected: &'static str,
}

impl Invalid {
    /// An error about a field and its value.
    pub(crate) fn new(field: &'static str, value: &str, expected: &'static str) -> Self {
        Self { field, value: value.chars().take(QUOTED).collect(), expected }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} is not {}", self.field, self.value, self.expected)
    }
}

impl std::error::Error for Invalid {}
