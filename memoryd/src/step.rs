//! The steps on the way of a line to its acknowledgement, by name.

/// A step on the way of a line to its acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A new day's file is created.
    Create,
    /// The lines are written.
    Write,
    /// The file is synced.
    Sync,
    /// The index's transaction is committed.
    Index,
    /// The mnestome's transaction is committed.
    Mnestome,
    /// The answers leave.
    Acknowledge,
    /// A torn line is cut off, after it was copied.
    CutTorn,
    /// A payload is taken out, after the line that says so is durable.
    Redact,
}

impl Step {
    /// Every step.
    pub const ALL: &'static [Self] = &[
        Self::Create,
        Self::Write,
        Self::Sync,
        Self::Index,
        Self::Mnestome,
        Self::Acknowledge,
        Self::CutTorn,
        Self::Redact,
    ];
}
