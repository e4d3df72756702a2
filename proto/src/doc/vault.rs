//! Documents about the vault: which secrets there are, and which executors may be given them; and which accounts persons have.
//! No value stands in one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document;

/// What an ask about the vault brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum VaultAnswer {
    /// Every secret.
    Secrets(Vec<SecretRow>),
    /// A secret that is gone.
    Removed(SecretRemoved),
    /// An executor may be given a secret.
    Granted(SecretGranted),
    /// An executor is not given a secret any more.
    Withdrawn(SecretWithdrawn),
}

/// A secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRow {
    /// Its name.
    pub name: String,
    /// The number of its value.
    pub version: u64,
    /// When it was first put there, in milliseconds since the epoch.
    pub made_ms: u64,
    /// When its value was last changed, in milliseconds since the epoch.
    pub changed_ms: u64,
    /// Which executors may be given it.
    pub given: Vec<SecretGrant>,
}

/// An executor that may be given a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretGrant {
    /// The name of the executor.
    pub executor: String,
    /// The digest of the files for which that holds.
    pub files: String,
    /// Who said so.
    pub by: String,
    /// Since when, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// A value was put into the vault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretVersion {
    /// The name of the secret.
    pub name: String,
    /// The number of the value.
    pub version: u64,
}

/// A secret is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRemoved {
    /// Its name.
    pub name: String,
    /// Whether it was removed.
    pub removed: bool,
}

/// An executor may be given a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretGranted {
    /// The name of the secret.
    pub name: String,
    /// The executor, with its version.
    pub executor: String,
    /// The digest of the files for which that holds.
    pub files: String,
}

/// An executor is not given a secret any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretWithdrawn {
    /// The name of the secret.
    pub name: String,
    /// The name of the executor.
    pub executor: String,
}

/// What an ask about accounts brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum AccountAnswer {
    /// Every account.
    Accounts(Vec<AccountRow>),
    /// An account that is gone.
    Removed(AccountRemoved),
}

/// An account that a person has elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountRow {
    /// Whose; `owner` where the owner is no person yet.
    pub person: String,
    /// What it is for: `mail`, `calendar` or `home`.
    pub kind: String,
    /// What it is called among those of this person and kind.
    pub name: String,
    /// Its server.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user name there.
    pub user: String,
    /// The server that takes mail to be sent; empty where none is used.
    pub smtp_host: String,
    /// Its port; 0 where none is used.
    pub smtp_port: u16,
    /// The address that mail is sent from; empty where none is used.
    pub address: String,
    /// The devices that may be looked at and switched, with commas between; empty where none are.
    pub devices: String,
    /// When it was added, in milliseconds since the epoch.
    pub since_ms: u64,
}

/// An account was added or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountKept {
    /// As it is now.
    pub account: AccountRow,
    /// Whether one of that name was there before.
    pub replaced: bool,
}

/// An account is gone, with its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountRemoved {
    /// Whose it was.
    pub person: String,
    /// What it was for.
    pub kind: String,
    /// What it was called.
    pub name: String,
}

document!(VaultAnswer, SecretVersion, AccountAnswer, AccountKept);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn vault_documents_keep_every_key_and_miss_none() {
        round_trip::<VaultAnswer>(&[
            "[]",
            r#"[{"name": "imap", "version": 1, "made_ms": 2, "changed_ms": 3, "given": [
                {"executor": "mail", "files": "blake3:00", "by": "cli:uid:1", "since_ms": 4}]}]"#,
            r#"{"name": "imap", "removed": true}"#,
            r#"{"name": "imap", "executor": "mail"}"#,
        ]);
        round_trip::<SecretGranted>(&[r#"{"name": "imap", "executor": "mail@1.0.0", "files": "blake3:00"}"#]);
        round_trip::<AccountAnswer>(&[
            "[]",
            r#"[{"person": "Anna", "kind": "mail", "name": "main", "host": "imap.example.org", "port": 993,
                "user": "anna@example.org", "smtp_host": "smtp.example.org", "smtp_port": 465, "address": "anna@example.org",
                "devices": "", "since_ms": 1}]"#,
            r#"{"person": "Anna", "kind": "mail", "name": "main"}"#,
        ]);
        round_trip::<AccountKept>(&[r#"{"account": {"person": "Anna", "kind": "mail", "name": "main",
            "host": "imap.example.org", "port": 993, "user": "anna", "smtp_host": "", "smtp_port": 0, "address": "",
            "devices": "light.*", "since_ms": 1}, "replaced": false}"#]);
        round_trip::<SecretVersion>(&[r#"{"name": "imap", "version": 1}"#]);
    }
}
