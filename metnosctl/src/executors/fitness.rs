//! How useful executors have been, as memoryd reports it, beside what policyd says of them. memoryd can only say of what is
//! active that planners are not shown it: no word of its makes anything active.

use metnos_proto::doc::executor::State;
use metnos_proto::doc::mnestome::{BelowThreshold, ExecutorFitness};
use metnos_proto::ids::TurnId;
use metnos_proto::msg::memoryd::{OwnersAct, Query, TurnJudged};
use schemars::JsonSchema;
use serde::Serialize;

use crate::audit::documents;
use crate::audit::search::{page, turn_lines};
use crate::command_line::cli::Feedback;
use crate::daemons::connection::Connection;
use crate::error::{CtlError, Exit};
use crate::memory::mnest_list::decide;
use crate::screen::Screen;

/// What brings one back that is.
const BACK: &str = "it can be called, and any use puts it in sight again";

/// How useful an executor has been, in its record.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
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

impl Standing {
    /// The number alone, for a column.
    #[must_use]
    pub fn number(&self) -> String {
        format!("{:.2}", self.fitness)
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { fitness, judged, without_signal, used_days_ago } = self;
        format!(
            "{fitness:.2}; calls judged {judged}, without a signal {without_signal}; last used {used_days_ago:.1} use-days ago"
        )
    }
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

    /// How useful this executor has been; and puts into its state what follows.
    pub fn judge(&self, (name, version): (&str, &str), state: &mut State, reason: &mut String) -> Option<Standing> {
        let found = self.0.iter().find(|one| one.name == name && one.version == version)?;
        if let Some(below) = why(found).filter(|_| *state == State::Active) {
            (*state, *reason) = (State::BelowThreshold, below);
        }
        let ExecutorFitness { fitness, judged, without_signal, used_days_ago, .. } = *found;
        Some(Standing { fitness, judged, without_signal, used_days_ago })
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
    let mut names: Vec<String> = turn_lines(reach, end)?.into_iter().filter_map(|line| line.turn_id).collect();
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
    #![allow(clippy::unwrap_used)]
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

    fn judged(below: BelowThreshold, name: &str, mut state: State) -> (State, String, Option<Standing>) {
        let mut why = String::new();
        let standing = standings(below).judge((name, "1.0.0"), &mut state, &mut why);
        (state, why, standing)
    }

    #[test]
    fn hidden_active_executor_shows_reason_and_how_to_restore_it() {
        for (below, part) in [
            (BelowThreshold::Trial, "last 10 calls"),
            (BelowThreshold::Unfit, "too little use"),
            (BelowThreshold::Disused, "90 use-days"),
        ] {
            let (state, why, _) = judged(below, "a", State::Active);
            assert_eq!(state, State::BelowThreshold);
            assert!(why.contains(part) && why.ends_with(BACK), "{why}");
        }
    }

    #[test]
    fn no_word_of_memoryds_changes_any_other_state() {
        for below in [BelowThreshold::No, BelowThreshold::Trial, BelowThreshold::Unfit, BelowThreshold::Disused] {
            for state in [State::Staged, State::Quarantined, State::Archived, State::Revoked] {
                let (after, why, _) = judged(below, "a", state);
                assert_eq!((after, why.as_str()), (state, ""), "{below:?}");
            }
        }
        assert_eq!(judged(BelowThreshold::No, "a", State::Active).0, State::Active);
    }

    #[test]
    fn executor_unknown_to_memoryd_has_no_fitness() {
        let (state, _, standing) = judged(BelowThreshold::Trial, "b", State::Active);
        assert_eq!((state, standing), (State::Active, None));
        let standing = judged(BelowThreshold::No, "a", State::Active).2.unwrap();
        assert_eq!(standing.number(), "0.50");
        assert_eq!(standing.words(), "0.50; calls judged 3, without a signal 10; last used 90.4 use-days ago");
    }
}
