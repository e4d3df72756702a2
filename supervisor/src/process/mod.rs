//! The processes of the daemons: as whom they run, how they start, and how they report.

pub mod ids;
pub mod line;
pub mod notify;
pub mod spawn;
pub mod sys;
