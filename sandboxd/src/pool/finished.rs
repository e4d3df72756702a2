//! What comes out of a sandbox: how a run ended.

use metnos_proto::msg::common::{Outcome, Resources};

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// `Ok` means: exactly one result came.
    pub outcome: Outcome,
    /// The result, unparsed.
    pub result: Option<Vec<u8>>,
    /// Why, for a person.
    pub detail: String,
    /// What it wrote to its standard output and error.
    pub log: String,
    /// What Python saw of it that no executor has a use for. Said from inside, so it may be a lie, and its absence too.
    pub alarms: Vec<String>,
    /// What it used.
    pub resources: Resources,
}

impl Finished {
    /// It was stopped, for this reason, before anything of it ran.
    #[must_use]
    pub fn never_begun(why: &str) -> Self {
        let detail = why.to_owned();
        let (log, alarms, resources) = (String::new(), Vec::new(), Resources::NONE);
        Self { outcome: Outcome::Killed, result: None, detail, log, alarms, resources }
    }
}
