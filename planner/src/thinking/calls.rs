//! The calls of a turn and where they stand. Nothing starts twice, nothing starts before what it needs, and what was
//! refused is not asked for again.

use std::collections::{BTreeMap, BTreeSet};

use metnos_proto::ids::HandleId;
use metnos_proto::json;
use metnos_proto::msg::common::{CallRef, Label, Outcome, Refusal, RefusalCode};
use metnos_proto::msg::schedule::frozen_call;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::reply::{Draft, MAX_REFERENCES};
use super::{MAX_CALLS, MAX_PARALLEL, MAX_SAME};

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Not started.
    Pending,
    /// policyd decides, or it runs.
    Running,
    /// It ran.
    Ran(RunResult),
    /// It was refused; the reason, and what to do about it.
    Denied(String),
    /// It waits for a person's word.
    Waits(String),
    /// It was not started, because it could not be; why.
    Skipped(String),
}

/// What a run has left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResult {
    /// Names it; [`HandleId::NONE`] when it cannot be looked at.
    pub handle: HandleId,
    /// How it ended.
    pub outcome: Outcome,
    /// What reading it means.
    pub label: Label,
    /// How large it is.
    pub bytes: u64,
    /// The line of the chronicle that records the call; 0 when it is not known.
    #[serde(default)]
    pub line: u64,
    /// The class of its error, by its contract; empty when it succeeded, and for a class that is not known here.
    #[serde(default)]
    pub class: String,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallEntry {
    /// Its number.
    pub place: CallRef,
    /// The executor.
    pub executor: String,
    /// Its arguments.
    pub arguments: Value,
    /// The calls whose results it uses.
    pub needs: Vec<CallRef>,
    /// Where it stands.
    pub state: State,
    /// Its result was shown to the model.
    #[serde(default)]
    pub seen: bool,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    list: Vec<CallEntry>,
    /// What was refused: digests of executor and arguments.
    denied: BTreeSet<String>,
    /// Why, of those that were refused since this turn was taken up.
    #[serde(skip)]
    refused: BTreeMap<String, Refusal>,
    /// How often each was made.
    made: BTreeMap<String, usize>,
}

/// Why a call was not taken on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallRejection {
    /// For the model to mend.
    Say(String),
    /// It was refused before, in an earlier reply.
    Repeated(Refusal),
    /// The turn makes no more.
    Bound,
}

fn identity(executor: &str, arguments: &Value) -> String {
    frozen_call(executor, arguments).to_string()
}

impl Calls {
    /// The number that the next call will have.
    #[must_use]
    pub fn next(&self) -> CallRef {
        CallRef(u16::try_from(self.list.len() + 1).unwrap_or(u16::MAX))
    }

    /// Takes a call on.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn add(&mut self, draft: Draft) -> Result<CallRef, CallRejection> {
        if self.list.len() >= MAX_CALLS {
            return Err(CallRejection::Bound);
        }
        let identity = identity(&draft.executor, &draft.arguments);
        if self.denied.contains(&identity) {
            let why = self.list.iter().find_map(|one| match &one.state {
                State::Denied(why) if one.identity() == identity => Some(why.clone()),
                State::Pending
                | State::Running
                | State::Ran(_)
                | State::Denied(_)
                | State::Waits(_)
                | State::Skipped(_) => None,
            });
            // What is left of a turn that was suspended has the words alone.
            let plain = || Refusal::new(RefusalCode::Denied, "", why.unwrap_or_default());
            return Err(CallRejection::Repeated(self.refused.get(&identity).cloned().unwrap_or_else(plain)));
        }
        let place = self.next();
        let sites = json::references(&draft.arguments, MAX_REFERENCES)
            .map_err(|error| CallRejection::Say(error.to_string()))?;
        let mut needs: Vec<CallRef> = sites.iter().map(|site| site.call).collect();
        needs.sort_unstable();
        needs.dedup();
        if let Some(wrong) = needs.iter().find(|need| need.0 == 0 || **need >= place) {
            return Err(CallRejection::Say(format!(
                "`{wrong}` is no earlier call than this one, which would be {place}"
            )));
        }
        let made = self.made.entry(identity).or_default();
        if *made >= MAX_SAME {
            let why = format!("this very call was made {MAX_SAME} times in this turn; its results are kept");
            return Err(CallRejection::Say(why));
        }
        *made += 1;
        let Draft { executor, arguments } = draft;
        self.list.push(CallEntry { place, executor, arguments, needs, state: State::Pending, seen: false });
        Ok(place)
    }

    /// The call of this number.
    #[must_use]
    pub fn get(&self, place: CallRef) -> Option<&CallEntry> {
        self.list.get(usize::from(place.0).checked_sub(1)?)
    }

    /// All of them, in order.
    pub fn each(&self) -> impl Iterator<Item = &CallEntry> {
        self.list.iter()
    }

    /// What may start now; it counts as started from here on. The numbers ascend, so what comes after a call that
    /// waits for another is not started before it.
    pub fn start(&mut self) -> Vec<CallRef> {
        self.skip();
        let mut running = self.list.iter().filter(|one| one.state == State::Running).count();
        let mut started = Vec::new();
        for at in 0..self.list.len() {
            if self.list[at].state != State::Pending {
                continue;
            }
            let is_ready = self.list[at].needs.iter().all(|need| self.succeeded(*need));
            if !is_ready || running >= MAX_PARALLEL {
                break;
            }
            running += 1;
            self.list[at].state = State::Running;
            started.push(self.list[at].place);
        }
        started
    }

    /// Gives up what cannot be started any more.
    fn skip(&mut self) {
        for at in 0..self.list.len() {
            if self.list[at].state != State::Pending {
                continue;
            }
            let one = &self.list[at];
            let lost = one.needs.iter().find(|need| match self.get(**need).map(|one| &one.state) {
                Some(State::Pending | State::Running) => false,
                Some(State::Ran(result)) => result.outcome != Outcome::Ok || result.handle == HandleId::NONE,
                Some(State::Denied(_) | State::Waits(_) | State::Skipped(_)) | None => true,
            });
            let why = match lost {
                Some(need) => Some(format!("{need}, which it needs, gave no result that can be passed on")),
                None if self.denied.contains(&one.identity()) => Some("the same call was refused".to_owned()),
                None => None,
            };
            if let Some(why) = why {
                self.list[at].state = State::Skipped(why);
            }
        }
    }

    fn succeeded(&self, place: CallRef) -> bool {
        matches!(self.get(place).map(|one| &one.state), Some(State::Ran(result)) if result.outcome == Outcome::Ok)
    }

    /// A call ran.
    pub fn ran(&mut self, place: CallRef, result: RunResult) {
        self.set(place, State::Ran(result));
    }

    /// A call was refused.
    pub fn denied(&mut self, place: CallRef, refusal: &Refusal) {
        if let Some(one) = self.get(place) {
            let identity = one.identity();
            self.denied.insert(identity.clone());
            self.refused.insert(identity, refusal.clone());
        }
        self.set(place, State::Denied(refusal.to_string()));
    }

    /// A call waits for a person's word.
    pub fn waits(&mut self, place: CallRef, refusal: &Refusal) {
        self.set(place, State::Waits(refusal.to_string()));
    }

    fn set(&mut self, place: CallRef, state: State) {
        if let Some(one) = self.list.iter_mut().find(|one| one.place == place)
            && matches!(one.state, State::Running | State::Waits(_))
        {
            one.state = state;
        }
    }

    /// The result of this call was shown to the model.
    pub fn saw(&mut self, place: CallRef) {
        if let Some(one) = self.list.iter_mut().find(|one| one.place == place) {
            one.seen = true;
        }
    }

    /// Whether another call refers to the result of this one.
    #[must_use]
    pub fn is_passed_on(&self, place: CallRef) -> bool {
        self.list.iter().any(|other| other.needs.contains(&place) && !matches!(other.state, State::Skipped(_)))
    }

    /// Why a call was refused, as policyd has said it; `None` when it was not, or before the turn was taken up.
    #[must_use]
    pub fn refusal(&self, one: &CallEntry) -> Option<&Refusal> {
        self.refused.get(&one.identity())
    }
}

impl CallEntry {
    fn identity(&self) -> String {
        identity(&self.executor, &self.arguments)
    }

    /// Whether nothing more becomes of it by itself.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        !matches!(self.state, State::Pending | State::Running)
    }
}
