//! The processes of the daemons: as whom they run, how they start, and how they report.

pub mod control_line;
pub mod ids;
pub mod notify;
pub mod spawn;
pub mod sys;
