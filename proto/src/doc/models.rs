//! Documents about language models: what is configured, what servers offer, and whether a model answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nullable;
use crate::{document, names};

/// What is configured, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelList {
    /// Each server.
    pub substrates: Vec<SubstrateRow>,
    /// Each role that has a model.
    pub roles: Vec<RoleModels>,
}

names! {
    /// Where the key of a server comes from.
    pub enum KeyOrigin {
        /// There is none.
        None = "none",
        /// The owner gave it.
        Owner = "owner",
        /// systemd gave it.
        Credential = "credential",
    }
}

/// A server of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubstrateRow {
    /// Its name in the configuration.
    pub name: String,
    /// Which interface it speaks.
    pub kind: String,
    /// Its address.
    pub url: String,
    /// Where its key comes from.
    pub key: KeyOrigin,
    /// Why its key cannot be used; empty when it can.
    pub key_problem: String,
    /// Whether a key may be sent to it.
    pub takes_key: bool,
    /// Whether it answered last.
    pub reachable: bool,
}

/// The models of a role, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleModels {
    /// The role.
    pub role: String,
    /// Its models.
    pub models: Vec<ModelRow>,
}

/// A model that serves a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRow {
    /// As SUBSTRATE/MODEL.
    pub model: String,
    /// Whether its server has it no more.
    pub stale: bool,
    /// Whether it can be called.
    pub callable: bool,
    /// How many tokens it takes.
    pub context: u32,
    /// Whether it can call tools.
    pub tools: bool,
    /// Whether its server holds replies to a schema, so that it is asked in short steps.
    pub constrained: bool,
    /// Its price; null when it is not known.
    #[serde(deserialize_with = "nullable")]
    pub price_per_million: Option<ModelPrice>,
}

/// The price of a million tokens, in millionths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelPrice {
    /// Of what is sent.
    pub micro_in: u64,
    /// Of what is answered.
    pub micro_out: u64,
    /// Of what is sent again.
    pub micro_cached: u64,
}

/// Which models the servers offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelScan {
    /// Each server.
    pub substrates: Vec<ScannedSubstrate>,
}

/// What one server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScannedSubstrate {
    /// Its name in the configuration.
    pub name: String,
    /// Whether it answered.
    pub ok: bool,
    /// Why it did not; empty when it did.
    pub why: String,
    /// Its models.
    pub models: Vec<OfferedModel>,
    /// Models of a role that it has no more.
    pub stale: Vec<String>,
}

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedModel {
    /// As SUBSTRATE/MODEL.
    pub model: String,
    /// Whether its server has it no more.
    pub stale: bool,
    /// Whether it can be called.
    pub callable: bool,
    /// How many tokens it takes.
    pub context: u32,
    /// Whether it can call tools.
    pub tools: bool,
    /// Whether its server holds replies to a schema, so that it is asked in short steps.
    pub constrained: bool,
    /// Its price; null when it is not known.
    #[serde(deserialize_with = "nullable")]
    pub price_per_million: Option<ModelPrice>,
    /// The roles that it serves.
    pub roles: Vec<String>,
}

/// Whether a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelTest {
    /// As SUBSTRATE/MODEL.
    pub model: String,
    /// Whether it answered.
    pub ok: bool,
    /// Why it did not; empty when it did.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
    /// What it answered.
    pub said: String,
    /// How long that took.
    pub took_ms: u64,
    /// Whether its price is known.
    pub price_known: bool,
    /// What it took; null when the server did not count.
    #[serde(deserialize_with = "nullable")]
    pub usage: Option<ModelUsage>,
}

/// What a thought took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelUsage {
    /// Whether the server counted; else it is an estimate.
    pub counted: bool,
    /// What it costs, in millionths.
    pub micro: u64,
    /// Tokens that were sent.
    pub tokens_in: u64,
    /// Tokens that were answered.
    pub tokens_out: u64,
}

document!(ModelList, ModelScan, ModelTest);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn model_documents_keep_every_key_and_miss_none() {
        let row = |rest: &str| {
            format!(
                r#"{{"model": "a/m", "stale": false, "callable": true, "context": 8192, "tools": true, "constrained": false,
                    "price_per_million": null{rest}}}"#
            )
        };
        let price = r#"{"micro_in": 1, "micro_out": 2, "micro_cached": 3}"#;
        let substrate = r#"{"name": "a", "kind": "ollama", "url": "http://127.0.0.1:1", "key": "none", "key_problem": "",
            "takes_key": false, "reachable": true}"#;
        let roles = format!(r#"{{"role": "fast", "models": [{}, {}]}}"#, row(""), row("").replace("null", price));
        round_trip::<ModelList>(&[
            r#"{"substrates": [], "roles": []}"#,
            &format!(r#"{{"substrates": [{substrate}], "roles": [{roles}]}}"#),
        ]);
        round_trip::<ModelRow>(&[&row("")]);
        let offered = row(r#", "roles": ["fast"]"#);
        let scanned = format!(r#"{{"name": "a", "ok": true, "why": "", "models": [{offered}], "stale": ["a/old"]}}"#);
        round_trip::<ModelScan>(&[r#"{"substrates": []}"#, &format!(r#"{{"substrates": [{scanned}]}}"#)]);
        let usage = r#"{"counted": true, "micro": 1, "tokens_in": 2, "tokens_out": 3}"#;
        let test = r#"{"model": "a/m", "ok": true, "why": "", "remedy": "", "said": "ready", "took_ms": 5,
            "price_known": false, "usage": null}"#;
        round_trip::<ModelTest>(&[test, &test.replace("null", usage)]);
    }
}
