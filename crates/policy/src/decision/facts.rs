//! Everything that a decision depends on, as plain values. Gathering them, which needs the disk, the registry and other
//! daemons, is done before; what was not gathered denies.

use std::collections::BTreeMap;

use metnos_proto::executor::{Capability, Manifest};
use metnos_proto::json::JsonError;
use metnos_proto::msg::common::{CallRef, Refusal, Standing};

use super::Verdict;
use crate::call::arguments::{Arguments, Filled, Resolved};
use crate::call::fields::Files;
use crate::call::spec::Spec;
use crate::evidence::context::{Context, World};
use crate::evidence::results::Output;
use crate::shares::Taken;

/// What an executor is granted.
#[derive(Debug, Clone, Copy)]
pub enum Profile<'a> {
    /// What its signed manifest says.
    Signed(&'a [Capability]),
    /// Nothing is known of it, and nothing runs: a recorded trace is replayed, whose catalogue has no profiles.
    Unrecorded,
}

impl<'a> Profile<'a> {
    /// What a signed profile grants; nothing where none was recorded.
    #[must_use]
    pub const fn capabilities(self) -> &'a [Capability] {
        match self {
            Self::Signed(capabilities) => capabilities,
            Self::Unrecorded => &[],
        }
    }
}

/// An executor that may be called, as the decision sees it.
#[derive(Debug, Clone, Copy)]
pub struct Callable<'a> {
    /// What the rules know of it: its class, its roles, its output.
    pub spec: &'a Spec,
    /// What it is granted.
    pub profile: Profile<'a>,
    /// Whether planners may call it.
    pub offered: bool,
    /// Whether another executor undoes it: then policyd alone sets the argument that names what is kept for that.
    pub undoable: bool,
    /// Whether it is about a file of the person's private folder where no path is given: then policyd alone sets its path.
    pub personal: bool,
    /// A call that names no place is about that of the household, which policyd sets.
    pub at_home: bool,
    /// Whether policyd passes state from one scheduled call to the next: then policyd alone sets that argument.
    pub carries: bool,
}

impl<'a> Callable<'a> {
    /// What a signed manifest says, which `spec` was read from.
    #[must_use]
    pub const fn of(manifest: &'a Manifest, spec: &'a Spec) -> Self {
        Self {
            spec,
            profile: Profile::Signed(manifest.sandbox.capabilities.as_slice()),
            offered: manifest.contract.offered,
            undoable: manifest.contract.undo.is_some(),
            personal: manifest.contract.own_file.is_some(),
            at_home: manifest.contract.home_place,
            carries: manifest.contract.carries,
        }
    }
}

/// The executor that a call names, as the registry knows it.
#[derive(Debug, Clone, Copy, Default)]
pub enum Named<'a> {
    /// There is none of this name, or none that this principal may know of.
    #[default]
    Unknown,
    /// It is known, and may not be called.
    Closed {
        /// The rule: `executor.staged`, `executor.quarantined`, …
        rule: &'static str,
        /// Why.
        why: &'a str,
    },
    /// It may be called.
    Callable(Callable<'a>),
}

/// What was found out about one question.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Finding<'a> {
    /// Nobody looked: the call is denied.
    #[default]
    Unknown,
    /// Nothing speaks against the call.
    Clear,
    /// This does: a verdict that denies or asks.
    Against(&'a Verdict),
}

impl<'a> Finding<'a> {
    /// The finding of a look that came back with `objection`.
    #[must_use]
    pub const fn of(objection: Option<&'a Verdict>) -> Self {
        match objection {
            None => Self::Clear,
            Some(verdict) => Self::Against(verdict),
        }
    }
}

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// As they were parsed, or why they could not be.
    pub parsed: Result<&'a Arguments, &'a JsonError>,
    /// The values of critical references, or why there are none.
    pub resolved: Result<&'a Resolved, &'a Refusal>,
    /// With every critical reference replaced by its value; `None` where a value is missing.
    pub filled: Option<&'a Filled>,
    /// What of `filled` does not fit the schema, in a sentence.
    pub fault: Option<&'a str>,
    /// They held a secret and were replaced by an empty object: nothing about them is looked at.
    pub withheld: bool,
}

/// What of the shared places is taken, by whom.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// The standing of the principal, on which its share depends.
    pub standing: Standing,
    /// Calls of this turn so far, this one included.
    pub calls: u32,
    /// Calls of this turn that run now.
    pub running_in_turn: usize,
    /// Calls that run now.
    pub running: Taken,
    /// Results that are kept now, and those that running calls will add.
    pub handles: Taken,
    /// Bytes of results that are kept now.
    pub kept_bytes: Taken,
    /// Whether the principal's rate has room for this call.
    pub within_rate: bool,
    /// The calls that a principal may have decided in a minute.
    pub calls_per_minute: u32,
}

impl Load {
    /// Nothing runs and nothing is kept.
    #[must_use]
    pub const fn idle(standing: Standing) -> Self {
        let none = Taken { all: 0, others: 0, own: 0 };
        Self {
            standing,
            calls: 1,
            running_in_turn: 0,
            running: none,
            handles: none,
            kept_bytes: none,
            within_rate: true,
            calls_per_minute: 0,
        }
    }
}

/// What the rules on the flow of data look at.
#[derive(Debug, Clone, Copy)]
pub struct Flow<'a> {
    /// The instance, its owner and its level of autonomy for this principal.
    pub world: &'a World,
    /// What was said, foreseen and read in this turn.
    pub context: &'a Context,
    /// The calls of the turn whose results are kept, and where those came from.
    pub results: &'a BTreeMap<CallRef, &'a Output>,
    /// What is known of the files that the arguments name.
    pub files: &'a Files,
}

/// An answer that the owner has given for longer than once, to a call with these targets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Nobody looked, or there is none.
    #[default]
    None,
    /// Never, on the card of this name.
    Never(&'a str),
    /// Always, on the card of this name.
    Always(&'a str),
}

/// What the owner has answered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answers<'a> {
    /// The card on which exactly this call was approved.
    pub card: Option<&'a str>,
    /// The stored answer, a never before an always.
    pub stored: Stored<'a>,
}

/// All facts of one decision. The default knows nothing, and denies.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The name of the executor as the caller gave it.
    pub name: &'a str,
    /// The executor of this name.
    pub executor: Named<'a>,
    /// Whether a planner asks, and not the owner himself or Metnos for him.
    pub by_planner: bool,
    /// Whether everything, or this executor, was switched off.
    pub switches: Finding<'a>,
    /// Whether the turn goes on.
    pub turn: Finding<'a>,
    /// The arguments.
    pub given: Option<Given<'a>>,
    /// Whether an argument holds a secret, and whether the executor is granted the secrets that it names.
    pub secrets: Finding<'a>,
    /// What of the shared places is taken.
    pub load: Option<Load>,
    /// Whether the budgets, and the executor's day, have room.
    pub budgets: Finding<'a>,
    /// Whether the programs and folders that the call needs are listed by the owner.
    pub listed: Finding<'a>,
    /// What the rules on the flow of data look at.
    pub flow: Option<Flow<'a>>,
    /// What the owner has answered.
    pub answers: Answers<'a>,
    /// Whether the price of the call is below the one that asks.
    pub cost: Finding<'a>,
    /// Whether the executor that undoes this one can be called.
    pub way_back: Finding<'a>,
    /// Whether sandboxd is connected and trusts this instance's key.
    pub sandbox_ready: bool,
}
