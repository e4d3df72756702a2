//! The way back: what an act leaves behind before it begins, so that its inverse can be run later, once,
//! on exactly what it has touched (design: policy §6). It decides nothing: an inverse is a call like any other.

pub(crate) mod store;
pub(crate) mod things;

use std::cell::RefCell;
use std::rc::Rc;

use metnos_policy::call::spec;
use metnos_proto::doc::undo::{ActList, ActRow, ActState};
use metnos_proto::edge::RpcError;
use metnos_proto::executor::{Manifest, Role};
use metnos_proto::ids::{CallId, TurnId};
use metnos_proto::json;
use metnos_proto::msg::common::{ExecutorId, Outcome, Refusal, RefusalCode};
use metnos_proto::msg::sandboxd::RunReport;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::arguments::{Arguments, Resolved};
use crate::base::Base;
use crate::calls::turns::Turns;
use crate::clock::DAY_MS;
use crate::decision::KEEP;
use crate::executors::registry::Signed;
use crate::store::StoreError;

/// The argument that names to an inverse which executor had acted.
const OF: &str = "of";
/// How long an act can be taken back, in milliseconds: after it, what was kept is only files in a trash.
pub const KEPT_MS: u64 = 30 * DAY_MS;
/// The most acts that are remembered.
pub const MAX_ACTS: u32 = 10_000;
/// The most acts in a listing.
pub const MAX_LISTED: u32 = 256;

/// Whether the inverse of an act in this state may be begun now. One that was begun before and broke off is begun again: an
/// inverse finds for itself what is left to do.
#[must_use]
pub const fn can_be_undone(state: ActState) -> bool {
    match state {
        ActState::Done | ActState::Unknown | ActState::Undoing => true,
        ActState::Begun | ActState::Failed | ActState::Undone | ActState::Nothing => false,
    }
}

/// An act that has a way back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// The call.
    pub call: CallId,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// Who asked for it.
    pub principal: String,
    /// What acted.
    pub executor: String,
    /// What takes it back.
    pub inverse: String,
    /// The arguments of that, as JSON.
    pub arguments: String,
    /// When it was noted, in milliseconds since the epoch.
    pub at_ms: u64,
    /// Where it stands.
    pub state: ActState,
    /// What it put somewhere or took away, see `things`.
    pub things: String,
}

impl Act {
    /// For people and programs.
    #[must_use]
    pub fn document(&self) -> ActRow {
        ActRow {
            call: self.call.to_string(),
            turn: self.turn.to_string(),
            principal: self.principal.clone(),
            executor: self.executor.clone(),
            inverse: self.inverse.clone(),
            arguments: serde_json::from_str(&self.arguments).unwrap_or_default(),
            at_ms: self.at_ms,
            state: self.state,
        }
    }
}

/// How a call is taken back: known before it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct WayBack {
    /// The executor.
    pub inverse: String,
    /// Its arguments.
    pub arguments: Value,
    /// Under which name the act keeps what that needs.
    pub keep: String,
    /// What it puts somewhere or takes away, see `things`.
    pub things: String,
}

impl WayBack {
    /// The same with the arguments alone that the inverse takes; others only said what the act was about.
    #[must_use]
    pub fn taken_by(mut self, inverse: Option<&Signed>) -> Self {
        let takes = inverse.and_then(|signed| signed.schema.input().get("properties")).and_then(Value::as_object);
        if let (Some(takes), Value::Object(map)) = (takes, &mut self.arguments) {
            map.retain(|name, _| takes.contains_key(name));
        }
        self
    }
}

/// Whether the schema of this executor's arguments has a place for [`KEEP`].
fn keeps(signed: &Signed) -> bool {
    signed.schema.input().get("properties").and_then(|properties| properties.get(KEEP)).is_some()
}

/// Why what this executor does could not be taken back now, although its contract says that it can.
#[must_use]
pub fn missing(manifest: &Manifest, is_callable: impl Fn(&str) -> bool) -> Option<String> {
    let inverse = manifest.contract.undo.as_ref().filter(|inverse| !is_callable(inverse))?;
    Some(format!("it would be allowed, but {inverse}, which takes it back, cannot be called now"))
}

/// The way back of a call of this executor, if it has one. `own` is the path that it is about where it names none.
#[must_use]
pub fn way_back(
    signed: &Signed,
    arguments: &Arguments,
    resolved: &Resolved,
    call: CallId,
    own: Option<&str>,
) -> Option<WayBack> {
    if !keeps(signed) {
        return None;
    }
    let filled = arguments.fill(&signed.spec, resolved)?;
    let mut back = inverse_of(&signed.manifest, &signed.spec, &filled.value, call)?;
    if let (Some(own), Value::Object(map)) = (own, &mut back.arguments) {
        map.insert("path".to_owned(), Value::String(own.to_owned()));
    }
    Some(back)
}

/// The inverse of a call with these values: it learns which executor acted, what its critical arguments
/// were, and under which name it has kept the rest.
fn inverse_of(manifest: &Manifest, roles: &spec::Spec, value: &Value, call: CallId) -> Option<WayBack> {
    let inverse = manifest.contract.undo.clone()?;
    let keep = call.to_string();
    let mut arguments: Map<String, Value> = value
        .as_object()?
        .iter()
        .filter(|(name, _)| spec::is_critical(roles.role(&metnos_proto::json::child("", name))))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    arguments.insert(OF.to_owned(), Value::String(manifest.executor.name.clone()));
    arguments.insert(KEEP.to_owned(), Value::String(keep.clone()));
    let tells = |name: &str| matches!(roles.role(&json::child("", name)), Role::Payload | Role::Selector);
    let payloads = value.as_object()?.iter().filter(|(name, _)| tells(name));
    let things = things::of(payloads.filter_map(|(_, value)| value.as_str()));
    Some(WayBack { inverse, arguments: Value::Object(arguments), keep, things })
}

/// The acts of a turn whose inverses are to be run, in the order of running: the last act first.
#[must_use]
pub fn order(mut acts: Vec<Act>) -> Vec<Act> {
    acts.reverse();
    acts.retain(|act| can_be_undone(act.state));
    acts
}

/// What was done, and can be taken back.
#[derive(Debug)]
pub(crate) struct Undo {
    base: Rc<Base>,
    turns: Rc<RefCell<Turns>>,
    /// Held by anyone who takes something back.
    pub(crate) undoing: Mutex<()>,
}

impl Undo {
    pub(crate) fn new(base: &Rc<Base>, turns: &Rc<RefCell<Turns>>) -> Self {
        Self { base: Rc::clone(base), turns: Rc::clone(turns), undoing: Mutex::default() }
    }

    /// What can be taken back, and what was, newest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) async fn undoable(&self) -> Result<ActList, Refusal> {
        let acts = self.base.store.last_acts(MAX_LISTED).await.map_err(|error| unreadable(&error))?;
        Ok(ActList(acts.iter().map(Act::document).collect()))
    }

    /// Notes an act that can be taken back, before it begins.
    ///
    /// # Errors
    /// When that could not be made durable: the act must not begin then.
    pub(crate) async fn note_act(
        &self,
        turn: TurnId,
        call: CallId,
        executor: &ExecutorId,
        back: &WayBack,
    ) -> Result<(), Refusal> {
        let principal = self.turns.borrow().get(turn).map(|turn| turn.principal.name.clone());
        let act = Act {
            call,
            turn,
            principal: principal.unwrap_or_default(),
            executor: executor.name.clone(),
            inverse: back.inverse.clone(),
            arguments: back.arguments.to_string(),
            at_ms: self.base.clock.wall_ms(),
            state: ActState::Begun,
            things: back.things.clone(),
        };
        self.base.store.note_act(act).await.map_err(|error| {
            let why = format!("how it could be taken back could not be noted, so nothing was run: {error}");
            Refusal::new(RefusalCode::Internal, "policyd.internal", why).remedy("look at `metnosctl doctor`")
        })
    }

    /// Notes how an act ended, as far as anybody has seen it.
    pub(crate) async fn act_ended<T>(&self, call: CallId, answer: &Result<(RunReport, T), RpcError>) {
        let state = match answer {
            Ok((report, _)) => match report.outcome {
                Outcome::Ok => ActState::Done,
                Outcome::Error => ActState::Failed,
                Outcome::Crashed
                | Outcome::BadOutput
                | Outcome::CpuExceeded
                | Outcome::MemoryExceeded
                | Outcome::Timeout
                | Outcome::OutputTooLarge
                | Outcome::ProcessesExceeded
                | Outcome::Killed
                | Outcome::Interrupted
                | Outcome::SandboxFailed
                | Outcome::DiskExceeded
                | Outcome::DiskFull
                | Outcome::Failed => ActState::Unknown,
            },
            Err(RpcError::Refused(_)) => ActState::Failed,
            Err(_) => ActState::Unknown,
        };
        if let Err(error) = self.base.store.move_act(call, &[ActState::Begun], state).await {
            tracing::error!(%error, "how an act ended could not be noted; it counts as unknown after a restart");
        }
    }
}

pub(crate) fn unreadable(error: &StoreError) -> Refusal {
    Refusal::new(RefusalCode::Internal, "policyd.internal", format!("what was done cannot be looked up: {error}"))
        .remedy("look at `metnosctl doctor`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::manifest_text;

    fn act(n: u8, state: ActState) -> Act {
        Act {
            call: CallId::from_bytes([n; 16]),
            turn: TurnId::NONE,
            principal: "cli:uid:1000".into(),
            executor: "fs_delete".into(),
            inverse: "fs_restore".into(),
            arguments: "{}".into(),
            at_ms: 1,
            state,
            things: String::new(),
        }
    }

    #[test]
    fn inverse_is_known_before_the_act_and_holds_only_named_arguments() {
        let text = manifest_text("fs_write", &[("/path", "path"), ("/content", "payload")])
            .replace("side_effects = false", "side_effects = true\nundo = \"fs_restore\"");
        let manifest = Manifest::parse(text.as_bytes()).unwrap();
        let roles = spec::Spec::of(&manifest);
        let call = CallId::from_bytes([7; 16]);
        let back = inverse_of(&manifest, &roles, &json!({"path": "a", "content": {"$ref": "c1#/t"}}), call).unwrap();
        assert_eq!(back.inverse, "fs_restore");
        assert_eq!(back.arguments, json!({"of": "fs_write", "path": "a", "keep": call.to_string()}));
        let without = Manifest::parse(manifest_text("fs_read", &[("/path", "path")]).as_bytes()).unwrap();
        assert_eq!(inverse_of(&without, &roles, &json!({"path": "a"}), call), None);
        assert!(missing(&manifest, |_| true).is_none() && missing(&without, |_| false).is_none());
        assert!(missing(&manifest, |_| false).is_some());
    }

    #[test]
    fn the_last_act_is_taken_back_first_and_what_cannot_be_is_left_out() {
        let acts = vec![
            act(1, ActState::Done),
            act(2, ActState::Failed),
            act(3, ActState::Undoing),
            act(4, ActState::Undone),
            act(5, ActState::Unknown),
        ];
        let order: Vec<u8> = order(acts).iter().map(|act| act.call.to_bytes()[0]).collect();
        assert_eq!(order, [5, 3, 1]);
    }

    #[test]
    fn every_state_has_a_name_of_its_own() {
        for state in ActState::ALL {
            assert_eq!(ActState::named(state.name()), Some(*state));
        }
        assert_eq!(ActState::named("other"), None);
    }
}
