//! What the owner has said for longer than once: always, or never, for one executor as it was signed and
//! one target. A word that is stored answers a question; it never goes above a denial, and it is silent
//! on whatever must be asked each time (design: policy §2, §4).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use metnos_policy::call::paths::{self, Places};
use metnos_policy::call::spec::{Effect, Spec, is_critical};
use metnos_proto::doc::grant::{GrantList, GrantRow, Says, Target as ShownTarget, TargetIs, TargetWithin};
use metnos_proto::executor::{Class, Role};
use metnos_proto::ids::TurnId;
use metnos_proto::json::child;
use metnos_proto::msg::common::{ExecutorDigests, ExecutorId, Refusal, RefusalCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approvals::cards::not_durable;
use crate::approvals::{self, CALL_EXPIRES_MS, Card, PendingAct, no};
use crate::base::Base;
use crate::clock::DAY_MS;
use crate::executors::Executors;
use crate::people::principal::Principal;

/// How long "always" lasts when nothing else is said, in days.
pub const DAYS: u16 = 30;
/// The longest that it can be made to last, in days.
pub const MAX_DAYS: u16 = 365;
/// The most stored words.
pub const MAX_GRANTS: usize = 256;
/// The most uses of a word for one turn.
pub const MAX_PER_TURN: u32 = 16;
/// What one argument must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Target {
    /// Exactly this.
    Is(Value),
    /// A path in this folder, absolute.
    Within(String),
}

/// For which arguments a stored word speaks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// By pointer: every critical argument and every flag; payloads are not in it.
    pub targets: Vec<(String, Target)>,
}

impl Scope {
    /// The scope that the arguments of an act suggest: paths as the folder they lie in, everything else
    /// exactly as it is.
    #[must_use]
    pub fn of(spec: &Spec, value: &Value, places: &Places) -> Self {
        let target = |pointer: &str, value: &Value| match (spec.role(pointer), value.as_str()) {
            (Role::Path, Some(text)) => Target::Within(parent(&paths::resolve(text, places).path).to_owned()),
            _ => Target::Is(value.clone()),
        };
        let targets =
            pointed(spec, value).into_iter().map(|(pointer, value)| (pointer.clone(), target(&pointer, value)));
        Self { targets: targets.collect() }
    }

    /// Whether these arguments are within it: the same places, and in each what it says.
    #[must_use]
    pub fn covers(&self, spec: &Spec, value: &Value, places: &Places) -> bool {
        let found = pointed(spec, value);
        found.len() == self.targets.len()
            && found.iter().all(|(pointer, value)| {
                self.targets.iter().any(|(name, target)| name == pointer && target.admits(value, places))
            })
    }

    /// For people.
    #[must_use]
    pub fn document(&self) -> Vec<ShownTarget> {
        let one = |(pointer, target): &(String, Target)| match target {
            Target::Is(is) => ShownTarget::Is(TargetIs { pointer: pointer.clone(), is: is.clone() }),
            Target::Within(within) => {
                ShownTarget::Within(TargetWithin { pointer: pointer.clone(), within: within.clone() })
            }
        };
        self.targets.iter().map(one).collect()
    }
}

impl Target {
    fn admits(&self, value: &Value, places: &Places) -> bool {
        match self {
            Self::Is(wanted) => wanted == value,
            Self::Within(folder) => value.as_str().is_some_and(|text| {
                let resolved = paths::resolve(text, places);
                !resolved.climbs && paths::within(&resolved.path, folder) && resolved.path != *folder
            }),
        }
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("/", |(folder, _)| if folder.is_empty() { "/" } else { folder })
}

/// The atoms of a document that say what an act is about, with their pointers.
fn pointed<'a>(spec: &Spec, value: &'a Value) -> Vec<(String, &'a Value)> {
    let leaves = spec.effect == Effect::Of(Class::NetRead);
    let mut found = Vec::new();
    let mut waiting = vec![(String::new(), value)];
    while let Some((pointer, value)) = waiting.pop() {
        match value {
            Value::Object(map) => waiting.extend(map.iter().map(|(name, item)| (child(&pointer, name), item))),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                waiting.extend(items.map(|(at, item)| (child(&pointer, &at.to_string()), item)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let role = spec.role(&pointer);
                // A request sends everything that is in it.
                if leaves || is_critical(role) || matches!(role, Role::Flag | Role::Argv) {
                    found.push((pointer, value));
                }
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// A stored word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name: that of the card on which it was given.
    pub id: String,
    /// To whom it was given.
    pub principal: String,
    /// For which executor.
    pub executor: ExecutorId,
    /// What was signed of that: another version asks anew.
    pub digests: ExecutorDigests,
    /// For which arguments.
    pub scope: Scope,
    /// Whether it says yes, or never.
    pub allows: bool,
    /// Only in this turn.
    pub turn: Option<TurnId>,
    /// When it was given, in milliseconds since the epoch.
    pub made_ms: u64,
    /// When it ends.
    pub expires_ms: u64,
    /// How often it has answered since policyd was started.
    #[serde(skip)]
    pub uses: u32,
}

/// A question that a stored word may answer.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Who asks.
    pub principal: &'a str,
    /// In which turn.
    pub turn: TurnId,
    /// The executor.
    pub executor: &'a ExecutorId,
    /// What was signed of it.
    pub digests: &'a ExecutorDigests,
    /// As the rules read it.
    pub spec: &'a Spec,
    /// The arguments.
    pub value: &'a Value,
    /// Where the instance lives.
    pub places: &'a Places,
    /// When, in milliseconds since the epoch.
    pub now_ms: u64,
}

impl Grant {
    /// Whether it is about such a call. Whether an "always" may answer the question that stands, the decision says.
    #[must_use]
    pub fn answers(&self, question: &Question<'_>) -> bool {
        let holds = question.now_ms < self.expires_ms
            && self.principal == question.principal
            && self.executor == *question.executor
            && self.digests == *question.digests;
        let here = self.turn.is_none_or(|turn| turn == question.turn && self.uses < MAX_PER_TURN);
        holds && here && self.scope.covers(question.spec, question.value, question.places)
    }

    /// For people and programs.
    #[must_use]
    pub fn document(&self) -> GrantRow {
        GrantRow {
            id: self.id.clone(),
            principal: self.principal.clone(),
            executor: self.executor.name.clone(),
            version: self.executor.version.clone(),
            scope: self.scope.document(),
            says: if self.allows { Says::Always } else { Says::Never },
            turn: self.turn.map(|turn| turn.to_string()),
            made_ms: self.made_ms,
            expires_ms: self.expires_ms,
            uses: self.uses,
        }
    }
}

/// The stored words.
#[derive(Debug)]
pub(crate) struct Grants {
    base: Rc<Base>,
    executors: Rc<Executors>,
    /// What the owner has said for longer than once, by name.
    pub(crate) all: RefCell<BTreeMap<String, Grant>>,
}

impl Grants {
    pub(crate) fn new(base: &Rc<Base>, executors: &Rc<Executors>, kept: Vec<Grant>) -> Self {
        let all = kept.into_iter().map(|grant| (grant.id.clone(), grant)).collect();
        Self { base: Rc::clone(base), executors: Rc::clone(executors), all: RefCell::new(all) }
    }

    /// Stores a word for longer than once, for each act of a card.
    pub(crate) async fn store_words(
        &self,
        card: &Card,
        allows: bool,
        turn: Option<metnos_proto::ids::TurnId>,
        days: u16,
    ) -> Result<(), Refusal> {
        let now = self.base.clock.wall_ms();
        if days == 0 || days > MAX_DAYS {
            return Err(Refusal::new(
                RefusalCode::Invalid,
                "grants.days",
                format!("1 to {MAX_DAYS} days are possible"),
            ));
        }
        self.all.borrow_mut().retain(|_, grant| now < grant.expires_ms);
        if self.all.borrow().len() + card.acts.len() > MAX_GRANTS {
            let why = format!("{MAX_GRANTS} words are stored, which is the limit; nothing was done");
            return Err(no("grants.full", why).remedy("`metnosctl grant revoke` takes one back"));
        }
        let lasts = if turn.is_some() { CALL_EXPIRES_MS } else { u64::from(days) * DAY_MS };
        let mut words = Vec::new();
        for (at, act) in card.acts.iter().enumerate() {
            let scope = match (&act.always, allows) {
                (Some(scope), _) => scope.clone(),
                (None, false) => self.scope_of(act).ok_or_else(|| approvals::unknown(&card.id))?,
                (None, true) => {
                    let why = format!("{} is asked for each time ({}); nothing was done", act.executor, act.rule);
                    return Err(no("grants.each_time", why).remedy("approve it once"));
                }
            };
            words.push(Grant {
                id: if at == 0 { card.id.clone() } else { format!("{}-{}", card.id, at + 1) },
                principal: card.principal.clone(),
                executor: act.executor.clone(),
                digests: act.digests.clone(),
                scope,
                allows,
                turn,
                made_ms: now,
                expires_ms: now.saturating_add(lasts),
                uses: 0,
            });
        }
        for word in words {
            if turn.is_none() {
                self.base.store.grant(word.clone(), now).await.map_err(|error| not_durable(&error.to_string()))?;
                let says = if allows { "always" } else { "never" };
                self.base.event(
                    "grant",
                    &format!("the owner has said {says} on the card {}: {}", word.id, word.executor),
                    None,
                );
            }
            self.all.borrow_mut().insert(word.id.clone(), word);
        }
        Ok(())
    }

    fn scope_of(&self, act: &PendingAct) -> Option<Scope> {
        let signed = self.executors.registry.borrow().callable(&act.executor.name)?;
        let value: Value = serde_json::from_str(&act.arguments).ok()?;
        Some(Scope::of(&signed.spec, &value, &self.base.setting.places))
    }

    /// The stored words, newest first.
    pub(crate) fn grants(&self) -> GrantList {
        let now = self.base.clock.wall_ms();
        let mut grants: Vec<Grant> =
            self.all.borrow().values().filter(|grant| now < grant.expires_ms).cloned().collect();
        grants.sort_by_key(|grant| std::cmp::Reverse(grant.made_ms));
        GrantList(grants.iter().map(Grant::document).collect())
    }

    /// Takes a stored word back.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(crate) async fn revoke(&self, principal: &Principal, id: &str) -> Result<(), Refusal> {
        let stored = self.base.store.revoke(id.to_owned()).await.map_err(|error| not_durable(&error.to_string()))?;
        let held = self.all.borrow_mut().remove(id).is_some();
        if !stored && !held {
            let why = format!("there is no stored word {}", crate::guard::shown(id));
            return Err(Refusal::new(RefusalCode::Unknown, "grants.unknown", why)
                .remedy("`metnosctl grant list` shows those that there are"));
        }
        self.base.event("grant_revoked", &format!("{} has taken back the word {id}", principal.name), None);
        Ok(())
    }

    /// What the owner has answered for longer than once to such a call: the card, and whether it says always. A never
    /// comes before an always.
    pub(crate) fn stored_word(&self, question: &Question<'_>) -> Option<(String, bool)> {
        let grants = self.all.borrow();
        let fitting = grants.values().filter(|grant| grant.answers(question));
        fitting.min_by_key(|grant| grant.allows).map(|grant| (grant.id.clone(), grant.allows))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::approvals::tests::asked;

    fn spec() -> Spec {
        Spec::from_catalogue(
            "fs_move",
            &json!({"effect": "self_modify", "reversible": true,
                    "args": {"path": "path", "to": "path", "force": "flag", "text": "payload"}}),
        )
    }

    fn places() -> Places {
        Places::of_instance("/srv/metnos")
    }

    fn grant(value: &Value) -> Grant {
        Grant {
            id: "a".into(),
            principal: "cli:uid:1000".into(),
            executor: asked().executor,
            digests: asked().digests,
            scope: Scope::of(&spec(), value, &places()),
            allows: true,
            turn: None,
            made_ms: 0,
            expires_ms: 100,
            uses: 0,
        }
    }

    fn answers(grant: &Grant, change: impl Fn(&mut Question<'_>), value: &Value) -> bool {
        let (spec, places, asked) = (spec(), places(), asked());
        let mut question = Question {
            principal: "cli:uid:1000",
            turn: TurnId::NONE,
            executor: &asked.executor,
            digests: &asked.digests,
            spec: &spec,
            value,
            places: &places,
            now_ms: 99,
        };
        change(&mut question);
        grant.answers(&question)
    }

    #[test]
    fn grant_covers_one_folder_executor_and_principal_until_expiry() {
        let given = grant(&json!({"path": "pictures/a.jpg", "to": "pictures/b.jpg", "text": "x"}));
        let same = json!({"path": "pictures/c.jpg", "to": "pictures/sub/d.jpg", "text": "anything"});
        assert!(answers(&given, |_| {}, &same));
        for other in [
            json!({"path": "notes/c.jpg", "to": "pictures/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures/../notes/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "picturesque/d.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures"}),
            json!({"path": "pictures/c.jpg"}),
            json!({"path": "pictures/c.jpg", "to": "pictures/d.jpg", "force": true}),
        ] {
            assert!(!answers(&given, |_| {}, &other), "{other}");
        }
        assert!(!answers(&given, |question| question.now_ms = 100, &same));
        assert!(!answers(&given, |question| question.principal = "cli:uid:1001", &same));
        let other = ExecutorId { name: "fs_delete".into(), version: "2.0.0".into() };
        assert!(!answers(&Grant { executor: other, ..given.clone() }, |_| {}, &same));
        let mut digests = given.digests.clone();
        digests.code.0[0] ^= 1;
        assert!(!answers(&Grant { digests, ..given }, |_| {}, &same));
    }

    #[test]
    fn a_yes_to_a_request_speaks_for_the_very_same_request() {
        let spec = Spec::from_catalogue("web", &json!({"effect": "net_read", "args": {"url": "url", "q": "query"}}));
        let value = json!({"url": "https://a.example/x", "q": "rome"});
        let given = Grant { scope: Scope::of(&spec, &value, &places()), ..grant(&value) };
        let answers = |value: &Value| given.scope.covers(&spec, value, &places());
        assert!(answers(&value));
        for other in [
            json!({"url": "https://a.example/y", "q": "rome"}),
            json!({"url": "https://a.example/x", "q": "milan"}),
            json!({"url": "https://a.example/x"}),
        ] {
            assert!(!answers(&other), "{other}");
        }
    }

    #[test]
    fn a_word_for_a_turn_ends_with_it_and_after_so_many_uses() {
        let value = json!({"path": "a/b", "to": "a/c"});
        let turn = TurnId::from_bytes([1; 16]);
        let given = Grant { turn: Some(turn), ..grant(&value) };
        assert!(answers(&given, |question| question.turn = turn, &value));
        assert!(!answers(&given, |_| {}, &value), "another turn");
        assert!(!answers(&Grant { uses: MAX_PER_TURN, ..given }, |question| question.turn = turn, &value));
    }
}
