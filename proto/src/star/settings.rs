//! What holds where the configuration says nothing, for settings that have a sensible whole.

use crate::control::{BudgetSettings, FolderSettings, HttpSettings, ModelSettings, NetSettings};

impl Default for BudgetSettings {
    /// What a household needs, and a runaway turn does not get far with.
    fn default() -> Self {
        Self {
            concurrent: 16,
            calls_per_day: 10_000,
            writes_per_day: 1_000,
            turn_micro: 500_000,
            day_micro: 2_000_000,
            month_micro: 20_000_000,
            house_day_micro: 5_000_000,
            house_month_micro: 50_000_000,
            tokens_per_turn: 500_000,
            tokens_per_month: 20_000_000,
            tokens_per_day: 2_000_000,
            ask_above_micro: 100_000,
            warn_percent: 80,
            prices: Vec::new(),
        }
    }
}

impl Default for HttpSettings {
    /// Nowhere.
    fn default() -> Self {
        Self { listen: String::new(), per_minute: 300 }
    }
}

impl Default for NetSettings {
    /// Nothing beyond the public net, and the usual place of the authorities on Debian.
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            private: Vec::new(),
            resolvers: Vec::new(),
            ca_bundle: "/etc/ssl/certs/ca-certificates.crt".to_owned(),
        }
    }
}

impl Default for FolderSettings {
    /// None, and nobody's home.
    fn default() -> Self {
        Self { home: String::new(), read: Vec::new(), write: Vec::new() }
    }
}

impl Default for ModelSettings {
    /// None: Metnos works without. A model on a small machine may need long until its first word.
    fn default() -> Self {
        Self {
            substrates: Vec::new(),
            roles: Vec::new(),
            prices: Vec::new(),
            contexts: Vec::new(),
            parallel: 16,
            first_seconds: 120,
            between_seconds: 60,
        }
    }
}
