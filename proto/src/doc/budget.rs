//! Documents about budgets: what was used of what may be, and limits that were changed for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nullable;
use crate::document;

/// What an ask about budgets brings: one form an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BudgetAnswer {
    /// What was used.
    Report(BudgetReport),
    /// A limit that was changed for a while.
    Raised(BudgetRaised),
    /// A limit that is what the configuration says again.
    Restored(BudgetRestored),
}

/// What was used of each budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetReport {
    /// One row a budget.
    pub budgets: Vec<BudgetRow>,
    /// How many executors may still be born today.
    pub births_left_today: u8,
    /// How many calls a minute each sender may make.
    pub calls_per_minute: u32,
    /// When the day ends, in milliseconds since the epoch.
    pub day_ends_ms: u64,
}

/// One budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRow {
    /// Whose: `channel:sender`, or `house` for the instance.
    pub principal: String,
    /// Its name, such as `calls.day`.
    pub budget: String,
    /// What was used; money in millionths.
    pub used: u64,
    /// What may be used; money in millionths.
    pub limit: u64,
    /// Whether it counts money.
    pub money: bool,
    /// Until when the limit is another one than configured, in milliseconds since the epoch.
    #[serde(deserialize_with = "nullable")]
    pub changed_until_ms: Option<u64>,
}

/// A limit that was changed for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRaised {
    /// Whose, as it was asked for.
    pub principal: String,
    /// The name of the budget.
    pub budget: String,
    /// The new limit; money in millionths.
    pub limit: u64,
    /// Until when, in milliseconds since the epoch.
    pub until_ms: u64,
}

/// A limit that is what the configuration says again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetRestored {
    /// Whose, as it was asked for.
    pub principal: String,
    /// The name of the budget.
    pub budget: String,
}

document!(BudgetAnswer);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doc::testing::round_trip;

    #[test]
    fn budget_documents_keep_every_key_and_miss_none() {
        let row = r#"{"principal": "p", "budget": "calls.day", "used": 1, "limit": 2, "money": false, "changed_until_ms": null}"#;
        let report = |rows: &str| {
            format!(r#"{{"budgets": [{rows}], "births_left_today": 5, "calls_per_minute": 6, "day_ends_ms": 7}}"#)
        };
        round_trip::<BudgetAnswer>(&[
            &report(""),
            &report(row),
            &report(&row.replace("null", "9")),
            r#"{"principal": "p", "budget": "calls.day", "limit": 3, "until_ms": 4}"#,
        ]);
        round_trip::<BudgetRow>(&[row]);
        round_trip::<BudgetRestored>(&[r#"{"principal": "p", "budget": "calls.day"}"#]);
    }
}
