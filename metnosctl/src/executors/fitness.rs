//! How useful executors have been, as memoryd reports it, beside what policyd says of them. memoryd can only say of what is
//! active that planners are not shown it: no word of its makes anything active.

use metnos_proto::doc::mnestome::{BelowThreshold, ExecutorFitness};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::memoryd::{OwnersAct, Query, TurnJudged};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::documents;
use crate::audit::search::{page, turn_lines};
use crate::command_line::cli::Feedback;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::memory::mnest_list::decide;
use crate::screen::Screen;

/// What the state of an executor is called that planners are not shown.
pub const BELOW: &str = "below_threshold";
/// What brings one back that is.
const BACK: &str = "it can be called, and any use puts it in sight again";

/// How useful an executor has been, in its record.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Standing {
    /// Its fitness now.
    pub fitness: f64,
    /// How many of its calls were judged since it was last put in sight.
    pub judged: u64,
    /// Its calls since the last one that was judged.
    pub without_signal: u64,
    /// How many use-days ago it was last used.
    pub used_days_ago: f64,
}

/// How every executor stands.
#[derive(Debug, Default)]
pub struct Standings(Vec<ExecutorFitness>);

impl Standings {
    /// Asks memoryd. Without it nothing is known of this: the registry can be looked at all the same.
    pub fn ask(reach: &mut Connection) -> Self {
        let told = page(reach, Query::Fitness).ok().and_then(|(bytes, _)| documents(&bytes).ok());
        Self(told.unwrap_or_default())
    }

    /// Puts into the record of an executor how it stands, and into its state what follows.
    pub fn put_into(&self, record: &mut Value) {
        let is_its = |one: &&ExecutorFitness| record["name"] == one.name && record["version"] == one.version;
        let Some(found) = self.0.iter().find(is_its) else {
            record["fitness"] = Value::Null;
            return;
        };
        if let Some(why) = why(found).filter(|_| record["state"] == "active") {
            record["state"] = json!(BELOW);
            record["why"] = json!(why);
        }
        let standing = Standing {
            fitness: found.fitness,
            judged: found.judged,
            without_signal: found.without_signal,
            used_days_ago: found.used_days_ago,
        };
        record["fitness"] = serde_json::to_value(standing).unwrap_or_default();
    }
}

/// Why planners are not shown it, and what brings it back; none when they are.
fn why(standing: &ExecutorFitness) -> Option<String> {
    let why = match standing.below {
        BelowThreshold::Trial => format!("its last {} calls gave no sign of being of use", standing.without_signal),
        BelowThreshold::Unfit => "its calls were of too little use".to_owned(),
        BelowThreshold::Disused => format!("it was not used for {:.0} use-days", standing.used_days_ago),
        BelowThreshold::No => return None,
    };
    Some(format!("no planner is shown it, for {why}; {BACK}"))
}

/// The number alone, for a column; a hyphen where it is not known.
#[must_use]
pub fn number(record: &Value) -> String {
    record["fitness"]["fitness"].as_f64().map_or_else(|| "-".to_owned(), |fitness| format!("{fitness:.2}"))
}

/// In words; null where it is not known.
#[must_use]
pub fn words(record: &Value) -> Value {
    let standing = &record["fitness"];
    let (Some(fitness), Some(days)) = (standing["fitness"].as_f64(), standing["used_days_ago"].as_f64()) else {
        return Value::Null;
    };
    let count = |key: &str| standing[key].as_u64().unwrap_or(0);
    let (judged, without) = (count("judged"), count("without_signal"));
    format!("{fitness:.2}; calls judged {judged}, without a signal {without}; last used {days:.1} use-days ago").into()
}

/// `turn feedback`.
///
/// # Errors
/// When there is no such turn, it cannot be judged, or memoryd cannot be reached.
pub fn feedback(screen: &mut Screen, reach: &mut Connection, end: &str, word: Feedback) -> Result<Exit, CtlError> {
    let turn = one(reach, end)?;
    let good = matches!(word, Feedback::Good);
    decide(screen, reach, OwnersAct::Judge(TurnJudged { turn, good }), "What it used is judged by that.")
}

/// The one turn whose name ends like this.
fn one(reach: &mut Connection, end: &str) -> Result<TurnId, CtlError> {
    if let Ok(turn) = end.parse() {
        return Ok(turn);
    }
    let told =
        |why: &str| CtlError::failed(format!("the turn {end}"), why, "`metnosctl audit tail` shows the last ones");
    let mut names: Vec<String> =
        turn_lines(reach, end)?.iter().filter_map(|line| line["turn_id"].as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    match &names[..] {
        [name] => name.parse().map_err(|_| told("its name is none")),
        [] => Err(told("there is none")),
        [_, _, ..] => Err(told("more than one has a name that ends so")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standings(below: BelowThreshold) -> Standings {
        Standings(vec![ExecutorFitness {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            fitness: 0.5,
            judged: 3,
            without_signal: 10,
            used_days_ago: 90.4,
            below,
        }])
    }

    fn record(state: &str) -> Value {
        json!({ "name": "a", "version": "1.0.0", "state": state, "why": "" })
    }

    #[test]
    fn hidden_active_executor_shows_reason_and_how_to_restore_it() {
        for (below, part) in [
            (BelowThreshold::Trial, "last 10 calls"),
            (BelowThreshold::Unfit, "too little use"),
            (BelowThreshold::Disused, "90 use-days"),
        ] {
            let mut shown = record("active");
            standings(below).put_into(&mut shown);
            assert_eq!(shown["state"], BELOW);
            let why = shown["why"].as_str().unwrap_or_default();
            assert!(why.contains(part) && why.ends_with(BACK), "{why}");
        }
    }

    #[test]
    fn no_word_of_memoryds_changes_any_other_state() {
        for below in [BelowThreshold::No, BelowThreshold::Trial, BelowThreshold::Unfit, BelowThreshold::Disused] {
            for state in ["staged", "quarantined", "archived", "revoked"] {
                let mut shown = record(state);
                standings(below).put_into(&mut shown);
                assert_eq!((&shown["state"], &shown["why"]), (&json!(state), &json!("")), "{below:?}");
            }
        }
        let mut shown = record("active");
        standings(BelowThreshold::No).put_into(&mut shown);
        assert_eq!(shown["state"], "active");
    }

    #[test]
    fn executor_unknown_to_memoryd_has_no_fitness() {
        let mut shown = json!({ "name": "b", "version": "1.0.0", "state": "active" });
        standings(BelowThreshold::Trial).put_into(&mut shown);
        assert_eq!((&shown["state"], &shown["fitness"]), (&json!("active"), &Value::Null));
        assert_eq!((number(&shown), words(&shown)), ("-".to_owned(), Value::Null));
        let mut shown = record("active");
        standings(BelowThreshold::No).put_into(&mut shown);
        assert_eq!(number(&shown), "0.50");
        assert_eq!(words(&shown), "0.50; calls judged 3, without a signal 10; last used 90.4 use-days ago");
    }
}
