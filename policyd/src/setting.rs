//! What policyd is told about its instance when it is started. It never changes while policyd runs.

use metnos_proto::control::BudgetSettings;
use metnos_proto::msg::common::Lang;

use crate::executors::seeds::Seed;
use crate::paths::Places;

/// What policyd is told about its instance.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Where the instance lives.
    pub places: Places,
    /// Who owns it.
    pub owner_uid: u32,
    /// The language people are spoken to in.
    pub lang: Lang,
    /// Where this machine's clock stands, for people.
    pub zone: String,
    /// Calls a principal may have decided in a minute.
    pub calls_per_minute: u32,
    /// Hosts that may be read without asking, each with its scheme.
    pub hosts: Vec<String>,
    /// Programs that executors may be granted to run, by path.
    pub commands: Vec<String>,
    /// Folders of the workspace that guests read besides `shared`.
    pub guest_folders: Vec<String>,
    /// Whether drafts of executors are only shown, and never put into the pool.
    pub dry_run: bool,
    /// What may be used up.
    pub budget: BudgetSettings,
    /// What is signed without the owner.
    pub seeds: &'static [Seed],
}
